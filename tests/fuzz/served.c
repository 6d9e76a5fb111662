/* tests/fuzz/served.c - any bytes as the body of a request to an endpoint of infer-serve: it is
 * answered, with JSON.  The first byte chooses the endpoint.
 *
 * The functions of libmicrohttpd that parse forms are replaced here: parts arrive in pieces that
 * the bytes choose. */
#include "infer-serve/batch/batch_lines.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/batch/batches.h"
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"
#include "infer-serve/http/upload.h"
#include "base/err.h"
#include "base/jread.h"

#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- forms ---- */

struct MHD_PostProcessor {
	MHD_PostDataIterator on_part;
	void *user;
	uint64_t off; /* of the part that has begun */
};

const char *MHD_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind,
                                        const char *key)
{
	(void)c, (void)kind;
	return !strcmp(key, "Content-Type") ? "multipart/form-data; boundary=x" : NULL;
}

struct MHD_PostProcessor *MHD_create_post_processor(struct MHD_Connection *c, size_t most,
                                                    MHD_PostDataIterator on_part, void *user)
{
	struct MHD_PostProcessor *p = calloc(1, sizeof *p);

	(void)c, (void)most;
	must(p);
	*p = (struct MHD_PostProcessor){ on_part, user, 0 };
	return p;
}

/* A piece: a byte that says of which part it is, whether the part goes on, and how long the name of
 * the file is; a byte with the length of its data; the name, and the data. */
enum MHD_Result MHD_post_process(struct MHD_PostProcessor *p, const char *data, size_t n)
{
	static const char *const keys[] = { "file", "purpose", "other", NULL };

	while (n >= 2) {
		unsigned char how = (unsigned char)data[0], length = (unsigned char)data[1];
		size_t name_n = how >> 3, data_n = length;
		char name[32];

		data += 2, n -= 2;
		name_n = name_n < n ? name_n : n;
		memcpy(name, data, name_n);
		name[name_n] = 0;
		data += name_n, n -= name_n;
		data_n = data_n < n ? data_n : n;
		if (!(how & 4))
			p->off = 0;
		must(p->on_part(p->user, MHD_POSTDATA_KIND, keys[how & 3], name_n ? name : NULL,
		                NULL, NULL, data, p->off, data_n) == MHD_YES);
		p->off += data_n;
		data += data_n, n -= data_n;
	}
	return n ? MHD_NO : MHD_YES;
}

enum MHD_Result MHD_destroy_post_processor(struct MHD_PostProcessor *p)
{
	free(p);
	return MHD_YES;
}

/* ---- the server ---- */

enum model { DEMO, GAP, ENCODER, RANKS, MODELS };
static const struct {
	const char *path;
	enum model model;
} endpoints[] = {
	{ "/tokenize", DEMO },
	{ "/detokenize", DEMO },
	{ "/apply-template", DEMO },
	{ "/infill", GAP },
	{ "/completion", GAP },
	{ "/v1/embeddings", ENCODER },
	{ "/v1/rerank", RANKS },
	{ "/v1/score", RANKS },
	{ "/v1/files", DEMO },
	{ "/v1/batches", DEMO },
	{ "/tokenize", ENCODER },
	{ "/detokenize", RANKS },
	{ "/v1/chat/completions", DEMO },
	{ NULL, DEMO }, /* lines of a batch */
	{ "/v1/completions", DEMO },
	{ "/v1/responses", DEMO },
	{ "/v1/messages", DEMO },
	{ "/v1/messages/count_tokens", DEMO },
	{ "/v1/responses/input_tokens", DEMO },
	{ "/v1/chat/completions/input_tokens", DEMO },
	{ "/v1/infer", DEMO },
};
enum { ENDPOINTS = sizeof endpoints / sizeof *endpoints };

static struct serve_opts opts = { .chat = CHAT_ARGS,
	                          .embed = -1,
	                          .max_tokens = -1,
	                          .parallel = 32,
	                          .max_queue = 4,
	                          .max_body = 1 << 20,
	                          .max_file = 1 << 20 };
static struct batches batches;
static struct server server = {
	.o = &opts, .access = { .fd = -1 }, .otlp_fd = -1, .batches = &batches
};
static struct served *models[MODELS];
static char folder[] = "/tmp/fuzz-served-XXXXXX";

static void clean(void)
{
	char command[sizeof folder + 16];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	must(!system(command));
}

/* A model with tokens for a gap, made by the tool beside this program. */
static const char *with_gap(void)
{
	static char path[sizeof folder + 16];
	char self[PATH_MAX], command[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	must(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(path, sizeof path, "%s/gap.gguf", folder);
	snprintf(command, sizeof command, "'%s/../tools/mkmodel' --fim %s", self, path);
	must(!system(command));
	return path;
}

/* A file that bodies may name, and that stays when what came behind it is removed. */
static const char known[] = FILES_PREFIX "00000000000000000000000000000000";

static int forget(void *store, const char *name)
{
	char said[STORE_NAME + 8];

	if (!strcmp(name, known))
		return 0;
	snprintf(said, sizeof said, "%s.json", name);
	(void)store_remove(store, said);
	return store_remove(store, name) ? -1 : 0;
}

static void open_all(void)
{
	infer_error err;

	must(mkdtemp(folder) && !atexit(clean));
	const char *const paths[MODELS] = { [DEMO] = "demo",
		                            [GAP] = with_gap(),
		                            [ENCODER] = "tests/golden/encoders/bert.gguf",
		                            [RANKS] = "tests/golden/encoders/xlm-rank.gguf" };

	pthread_mutex_init(&server.lock, NULL);
	pthread_cond_init(&server.engine_wake, NULL);
	pthread_cond_init(&batches.wake, NULL);
	must(!infer_writer_new(&server.writer, NULL));
	server.store = (struct store){ .dir = -1, .lock = -1 };
	opts.files_dir = folder;
	must(!store_open(&server.store, folder, &err));
	must(!files_describe(&server.store, known, "", 2, "known", "batch", &err));
	must(!store_put(&server.store, known, "{}", 2, &err));
	for (int i = MODELS - 1; i >= 0; i--) {
		struct serve_opts o = opts;

		o.model = paths[i];
		o.engine.threads = 1;
		o.engine.ctx = i < ENCODER ? 256 : 0;
		models[i] = served_new(&server, &o);
		must(models[i]);
		must(!served_open(models[i], NULL, &err));
		models[i]->state = SERVED_LOADED;
		models[i]->next = server.models;
		server.models = models[i];
	}
}

/* ---- one request ---- */

static void check_json(const char *at, size_t n)
{
	const struct json *v;
	struct arena mem;
	infer_error err;

	arena_init(&mem, MEM_BASE);
	must(!jread(&v, &mem, at, n, "answer", &err));
	arena_fini(&mem);
}

/* Compute what needs no drawing, and forget the rest. */
static void run(struct api_request *r)
{
	infer_job *j = r->gen.job;
	struct infer_answer a = { .model = { "m", 1 } };
	struct infer_got got;
	infer_task *task;
	infer_error err;

	r->gen.job = NULL;
	if (!j->request.embed) {
		infer_job_free(j);
		return;
	}
	must(!infer_runner_start(&task, r->model->runner, j, NULL, INFER_TASK_OWNS_JOB, &err));
	while (!infer_task_ended(task)) {
		must(!infer_runner_step(r->model->runner, &err));
		do
			must(!infer_runner_next(r->model->runner, &got, &err));
		while (got.task);
	}
	infer_writer_clear(server.writer);
	if (!infer_task_fault(task)->kind) {
		infer_task_answer(task, &a);
		must(!infer_api_put(server.writer, &a, &err));
		check_json(infer_writer_text(server.writer).at,
		           infer_writer_text(server.writer).len);
	}
	infer_task_free(task);
}

/* Its lines as the input of a batch. */
static void validate(const char *at, size_t n)
{
	struct batch b = { .endpoint = "/v1/completions" };
	infer_error err;
	char *faults;
	int64_t total;
	int fd = memfd_create("lines", 0);

	must(fd >= 0 && write(fd, at, n) == (ssize_t)n);
	if (!batch_validate(&faults, &total, &b, fd, 4096, &err) && faults) {
		check_json(faults, strlen(faults));
		mem_free(faults);
	}
	close(fd);
}

static void ask(int which, const char *at, size_t n)
{
	struct http_request *r = http_request_new(&server);
	struct served *m = models[endpoints[which].model];
	unsigned allowed;
	const char *why;
	int kind;

	must(r);
	r->endpoint =
		route_find(&endpoint_table, endpoints[which].path, ROUTE_POST, &allowed, &r->rest);
	must(r->endpoint);
	r->api.format = r->endpoint->format ? infer_api_named(r->endpoint->format) : NULL;
	r->api.model = m;
	m->refs++;
	r->refs = 2; /* the HTTP side, and the worker */
	if (r->endpoint->flags & EP_UPLOAD) {
		why = upload_begin(r, NULL, (int64_t)n, &kind);
		must(!why);
		upload_put(r->upload, at, n);
	} else {
		buf_put(&r->api.body, at, n);
	}
	http_run_endpoint(r);
	if (&r->api == server.inbox) {
		server.inbox = server.inbox_last = NULL;
		run(&r->api);
		api_done(&r->api);
	} else {
		must(r->is_ended && r->status >= 200 && r->status < 502 && r->status != 500);
		check_json(r->out.at, r->out.len);
	}
	pthread_mutex_lock(&server.lock);
	http_request_drop(r);
	pthread_mutex_unlock(&server.lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data + 1;

	if (!size)
		return 0;
	if (!server.models)
		open_all();
	if (endpoints[*data % ENDPOINTS].path)
		ask(*data % ENDPOINTS, at, size - 1);
	else
		validate(at, size - 1);
	must(!server.http_requests && !server.n_active && !server.inbox);
	for (const struct batch *b = batches.first; b; b = b->next)
		must(!store_remove(&server.store, b->id));
	batches_close(&server);
	must(!store_each(&server.store, FILES_PREFIX, forget, &server.store));
	return 0;
}
