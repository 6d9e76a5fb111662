/* infer-serve/endpoints/file_upload.c - files that arrive as forms, in pieces, on the HTTP thread. */
#include "infer-serve/batch/files.h"
#include "infer-serve/http/head.h"
#include "infer-serve/serve.h"
#include "base/err.h"
#include "base/utf8.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

endpoint_fn ep_file_upload;

enum { FIELD_MOST = 512, PIECE = 32 << 10 };
static const char prefix[] = FILES_PREFIX;

struct upload {
	struct store *store;
	struct MHD_PostProcessor *post;
	int fd, over, files;
	char half[STORE_NAME];
	int64_t bytes;
	char purpose[FIELD_MOST], filename[FIELD_MOST];
	int broken; /* the form is none */
	int too_long;
	infer_error err; /* of the disk; code 0: none */
};

static void add(char to[FIELD_MOST], struct upload *u, const char *at, size_t n)
{
	size_t have = strlen(to);

	if (have + n >= FIELD_MOST || memchr(at, 0, n)) {
		u->too_long = 1;
		return;
	}
	memcpy(to + have, at, n);
	to[have + n] = 0;
}

static enum MHD_Result on_part(void *user, enum MHD_ValueKind kind, const char *key,
                               const char *filename, const char *type, const char *encoding,
                               const char *data, uint64_t off, size_t n)
{
	struct upload *u = user;

	(void)kind, (void)type, (void)encoding;
	if (u->err.code || !key)
		return MHD_YES;
	if (!strcmp(key, "purpose")) {
		add(u->purpose, u, data, n);
	} else if (!strcmp(key, "file")) {
		if (!off && !u->files++ && filename)
			add(u->filename, u, filename, strlen(filename));
		if (u->fd < 0)
			u->fd = store_begin(u->store, u->half, &u->err);
		if (u->fd >= 0 && n)
			(void)store_write(u->fd, data, n, "the upload", &u->err);
		u->bytes += (int64_t)n;
	}
	return MHD_YES;
}

static struct upload *upload_new(struct exchange *x, struct MHD_Connection *c)
{
	struct upload *u = mem_zalloc(MEM_BASE, 1, sizeof *u);

	if (!u)
		return NULL;
	u->store = &x->server->store;
	u->fd = -1;
	u->post = MHD_create_post_processor(c, PIECE, on_part, u);
	if (u->post)
		return u;
	mem_free(u);
	return NULL;
}

uint64_t upload_most(const struct exchange *x)
{
	const struct serve_opts *o = x->server->o;

	return x->endpoint && x->endpoint->flags & EP_UPLOAD ? o->max_file : o->max_body;
}

const char *upload_refused(struct exchange *x, struct MHD_Connection *c, int64_t length, int *kind)
{
	static const char form[] = "multipart/form-data";
	const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");

	*kind = INFER_FAULT_MEDIA_TYPE;
	if (!type || strncasecmp(type, form, sizeof form - 1))
		return "the body must be multipart/form-data";
	*kind = INFER_FAULT_TOO_LARGE;
	if (length > (int64_t)upload_most(x))
		return "the body is longer than --max-file";
	*kind = INFER_FAULT_INVALID;
	x->upload = upload_new(x, c);
	return x->upload ? NULL : "the form cannot be read: it has no boundary";
}

static char *argument(struct MHD_Connection *c, const char *name)
{
	const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);

	return text ? mem_strndup(MEM_BASE, text, strlen(text)) : NULL;
}

void query_take(struct exchange *x, struct MHD_Connection *c)
{
	const char *slot = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "fail_on_no_slot");

	x->demands_slot = slot && !strcmp(slot, "1");
	x->query.after = argument(c, "after");
	x->query.purpose = argument(c, "purpose");
	x->query.model = argument(c, "model");
	x->query.limit =
		head_length(MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "limit"));
	if (x->query.limit < 0)
		x->query.limit = 0;
}

int upload_put(struct upload *u, const char *at, size_t n)
{
	if (!u->broken && MHD_post_process(u->post, at, n) != MHD_YES)
		u->broken = 1;
	return 1;
}

void upload_free(struct upload **at)
{
	struct upload *u = *at;

	*at = NULL;
	if (!u)
		return;
	if (u->post)
		(void)MHD_destroy_post_processor(u->post);
	if (u->fd >= 0)
		store_drop(u->store, u->fd, u->half);
	mem_free(u);
}

/* Why the form cannot be taken; *param: the part at fault.  NULL: it can. */
static const char *wrong(const struct upload *u, const char **param)
{
	static const char *const purposes[] = { "batch",  "assistants", "fine-tune",
		                                "vision", "user_data",  "evals" };
	size_t i = 0;

	*param = NULL;
	if (u->broken)
		return "the body is no whole form";
	*param = "file";
	if (!u->files)
		return "there is no file";
	if (u->files > 1)
		return "there are several files";
	*param = "purpose";
	if (!*u->purpose)
		return "there is no purpose";
	while (i < sizeof purposes / sizeof *purposes && strcmp(purposes[i], u->purpose))
		i++;
	if (i == sizeof purposes / sizeof *purposes)
		return "purpose is none of batch, assistants, fine-tune, vision, user_data, evals";
	*param = "file";
	return u->too_long || utf8_check(u->filename, strlen(u->filename)) != strlen(u->filename)
	               ? "the name of the file is too long, or no text"
	               : NULL;
}

static int keep(const struct exchange *x, struct upload *u, char name[STORE_NAME], infer_error *err)
{
	if (u->err.code)
		return err_set(err, u->err.code, "%s", u->err.message);
	if (!u->bytes)
		return err_set(err, INFER_EINVAL, "the file is empty");
	store_name(u->store, name, prefix);
	TRY(files_describe(u->store, name, x->owner, u->bytes, *u->filename ? u->filename : "file",
	                   u->purpose, err));
	int fd = u->fd;

	u->fd = -1;
	return store_keep(u->store, fd, u->half, name, err);
}

void ep_file_upload(struct exchange *x)
{
	struct upload *u = x->upload;
	char name[STORE_NAME];
	const char *param, *why;
	infer_error err = { 0 };
	int rc;

	if (MHD_destroy_post_processor(u->post) != MHD_YES)
		u->broken = 1;
	u->post = NULL;
	why = wrong(u, &param);
	if (why) {
		exchange_refuse(x, INFER_FAULT_INVALID, param, "%s", why);
	} else if ((rc = keep(x, u, name, &err)) ||
	           (rc = files_said(&x->server->store, name, x->owner, &x->out, &err))) {
		exchange_refuse(x,
		                rc == INFER_EAGAIN ? INFER_FAULT_UNAVAILABLE : infer_fault_kind(rc),
		                "file", "%s", err.message);
	} else {
		exchange_answer(x, 200, exchange_json);
	}
	exchange_done(x);
}
