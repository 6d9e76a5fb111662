/* infer-serve/ops/served.c - a served model: opening and closing its file, engine and readers. */
#include "infer-serve/ops/lora.h"
#include "infer-serve/ops/server.h"
#include "common/progress.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/clock.h"
#include "base/err.h"

#include <string.h>

struct served *served_new(struct server *s, const struct serve_opts *o)
{
	struct served *m = mem_zalloc(MEM_BASE, 1, sizeof *m);

	if (!m)
		return NULL;
	m->server = s;
	m->o = *o;
	m->ended_ns = clock_now_ns();
	arena_init(&m->mem, MEM_BASE);
	return m;
}

void served_free(struct served *m)
{
	if (!m)
		return;
	served_close(m);
	for (struct fair_user *u = m->users, *next; u; u = next) {
		next = u->next;
		mem_free(u);
	}
	keys_fini(&m->keys);
	named_lora_free_all(m);
	mem_free(m->name);
	mem_free(m->called);
	arena_fini(&m->mem);
	mem_free(m);
}

/* ---- opening ---- */

static uint64_t min_bytes(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Compute the bytes that the engine will need. Without a given size, the cache fills the model's share of
 * the memory, but holds at least one whole context if that fits.
 * INFER_ENOMEM  the model does not fit */
static int plan_memory(struct served *m, struct infer_engine_opts *eo, uint64_t lora_bytes,
                       uint64_t *bytes, infer_error *err)
{
	const struct server *s = m->server;
	struct infer_engine_opts single = *eo;
	struct infer_engine_need all, one;
	uint64_t share, fixed, room, n = 0;

	single.max_seqs = 1;
	TRY(infer_engine_need(m->model, eo, &all, err));
	TRY(infer_engine_need(m->model, &single, &one, err));
	for (const struct served *k = s->models; k; k = k->next)
		n += !k->retired;
	fixed = all.weight_bytes + all.workspace_bytes + eo->swap_bytes + lora_bytes;
	share = s->memory / (n ? n : 1);
	room = share > fixed ? share - fixed : 0;
	if (room < one.kv_bytes)
		room = min_bytes(one.kv_bytes, s->memory > fixed ? s->memory - fixed : 0);
	if (!eo->kv_bytes)
		eo->kv_bytes = min_bytes(all.kv_bytes, room);
	*bytes = fixed + eo->kv_bytes;
	if (*bytes <= s->memory && eo->kv_bytes)
		return INFER_OK;
	return err_set(err, INFER_ENOMEM,
	               "%s needs %.0f MiB, and models may take %.0f: give it less --ctx or "
	               "--kv-bytes",
	               m->name, (double)*bytes / (1 << 20), (double)s->memory / (1 << 20));
}

static int open_engine(struct served *m, served_room_fn *room, infer_error *err)
{
	const struct serve_opts *o = &m->o;
	struct infer_engine_opts eo;
	uint64_t bytes, lora_bytes;
	int32_t rank;

	if (!m->slots)
		m->slots = arena_alloc(&m->mem, (size_t)o->parallel, sizeof *m->slots);
	if (!m->slots)
		return err_nomem(err);
	TRY(engine_args_take(&eo, &o->engine, err));
	TRY(served_open_loras(m, &rank, &lora_bytes, err));
	eo.lora_rank = rank;
	eo.log = say_log;
	eo.max_seqs = m->fair.room = (int32_t)o->parallel;
	eo.flags |= INFER_ENGINE_EVEN;
	/* high enough never to refuse: the server limits requests, each of up to INFER_JOB_MOST
	 * samples */
	eo.max_queue = (int32_t)(o->max_queue + o->parallel + 1) * INFER_JOB_MOST;
	/* --config: models open in the sandbox, which forbids files and calls of a GPU driver */
	if (room) {
		TRY(engine_keep_cpu(&eo, "--config", err));
		TRY(plan_memory(m, &eo, lora_bytes, &bytes, err));
		TRY(room(m, bytes, err));
	}
	TRY(room ? infer_engine_open(&m->engine, m->model, &eo, err)
	         : engine_open_shown(&m->engine, m->model, &eo, err));
	return infer_runner_new(&m->runner, m->engine, m->model, err);
}

static int open_model(struct served *m, served_room_fn *room, infer_error *err)
{
	const struct serve_opts *o = &m->o;
	struct infer_model_opts mo = { .ctx = (int32_t)o->engine.ctx, .log = say_log };
	const char *path;

	TRY(model_path(&path, o->model, MODEL_NAMED, err));
	m->o.model = path;
	if (!room) {
		mo.watch = model_watch;
		sig_mapped(path);
	}
	TRY(infer_model_open(&m->model, path, &mo, err));
	if (!infer_model_tokenizer(m->model))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", path);
	TRY(sampling_take(&m->sampling, &o->sampling, m->model, err));
	return open_engine(m, room, err);
}

static int open_reader(struct served *m, infer_error *err)
{
	static const int embeds[] = { INFER_EMBED_NONE, INFER_EMBED_MEAN, INFER_EMBED_LAST,
		                      INFER_EMBED_CLS };
	const struct serve_opts *o = &m->o;
	const uint32_t seeded = o->sampling.seed.given ? INFER_JOB_SEEDED : 0;
	struct infer_engine_info info;

	infer_engine_info(m->engine, &info);
	TRY(chat_take(&m->chat, &o->chat, infer_model_file(m->model),
	              infer_model_tokenizer(m->model), err));
	m->has_own_chat = !m->chat.is_chatml;
	TRY(chat_warn_calls(&m->chat, m->name, err));
	struct infer_job_opts jo = {
		.model = m->model,
		.ctx = info.ctx,
		.sample = m->sampling.o,
		.breaker_texts = m->sampling.breaker_texts,
		.n_breaker_texts = m->sampling.n_breaker_texts,
		.max_tokens = (int32_t)o->max_tokens,
		.max_tokens_given = o->max_tokens >= 0,
		.logprobs = -1,
		.chat = m->chat.template,
		.chat_tools = m->chat.with_tools,
		.conversation = m->chat.c,
		.reason_limit = m->chat.reason_limit,
		.now = chat_local_now,
		.encode = INFER_ENCODE_SPECIAL,
		.calls = INFER_CALLS_AUTO,
		.embed = embeds[o->embed + 1],
		.where = " by this server",
		.adapters = m->adapters,
		.reads = INFER_JOB_STREAM | INFER_JOB_LENIENT | seeded,
	};
	TRY(infer_job_reader_new(&m->reader, &jo, err));
	jo.messages_only = !m->has_own_chat; /* as in infer-run */
	jo.max_tokens_given = 1;
	jo.encode = 0;
	jo.calls = INFER_CALLS_FREE;
	jo.reads = seeded;
	return infer_job_reader_new(&m->own_reader, &jo, err);
}

/* True if a shell and a URL take the byte as it is. */
static int is_plain(char c)
{
	return (unsigned char)c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("._:/@+=,", c));
}

/* Replace each run of other bytes by one "-", and remove it at the ends. A name of such bytes alone stays. */
static void make_pasteable(char *name)
{
	char *to = name;

	for (const char *p = name; *p; p++) {
		if (!is_plain(*p))
			continue;
		if (to > name && !is_plain(p[-1]))
			*to++ = '-';
		*to++ = *p;
	}
	if (to > name)
		*to = 0;
}

/* If the configuration has no name, set it to --alias or to the name in the model file, in a form that needs
 * no quotes. */
static int set_model_name(struct served *m, infer_error *err)
{
	struct infer_str called;

	if (m->name)
		return INFER_OK;
	called = infer_model_called(m->model);
	m->name = m->o.alias ? mem_strndup(MEM_BASE, m->o.alias, strlen(m->o.alias))
	                     : mem_strndup(MEM_BASE, called.at, called.len);
	if (m->name && !m->o.alias) {
		m->called = mem_strndup(MEM_BASE, called.at, called.len);
		make_pasteable(m->name);
	}
	return m->name && (m->called || m->o.alias)
	               ? INFER_OK
	               : err_set(err, INFER_ENOMEM, "out of memory for the server");
}

int served_open(struct served *m, served_room_fn *room, infer_error *err)
{
	int rc = open_model(m, room, err);

	if (!rc)
		rc = open_reader(m, err);
	if (!rc)
		rc = set_model_name(m, err);
	if (rc)
		served_close(m);
	return rc;
}

void served_close(struct served *m)
{
	infer_runner_free(m->runner);
	m->runner = NULL;
	infer_engine_close(&m->engine);
	infer_job_reader_free(m->reader);
	infer_job_reader_free(m->own_reader);
	m->reader = m->own_reader = NULL;
	served_close_loras(m);
	chat_fini(&m->chat);
	m->chat = (struct chat){ 0 };
	sampling_fini(&m->sampling);
	m->sampling = (struct sampling){ .n_breaker_texts = 0 };
	infer_model_close(&m->model);
	m->failed = 0;
}

/* ---- names ---- */

static int is_same_name(const char *name, const char *at, size_t n)
{
	return strlen(name) == n && !memcmp(name, at, n);
}

int served_is_called(const struct served *m, const char *name, size_t n)
{
	if ((m->name && is_same_name(m->name, name, n)) ||
	    (m->called && is_same_name(m->called, name, n)))
		return 1;
	for (int i = 0; i < m->aliases.n; i++)
		if (is_same_name(m->aliases.at[i], name, n))
			return 1;
	return 0;
}

struct served *served_by_name(struct server *s, const char *name, size_t n)
{
	for (struct served *m = s->models; m; m = m->next)
		if (!m->retired && served_is_called(m, name, n))
			return m;
	for (struct served *m = s->models; m; m = m->next)
		if (!m->retired && served_has_lora(m, name, n))
			return m;
	return NULL;
}

struct served *served_by_file(struct server *s, const char *path, size_t n)
{
	for (struct served *m = s->models; m; m = m->next) {
		const char *slash = strrchr(m->o.model, '/');

		if (!m->retired && (is_same_name(m->o.model, path, n) ||
		                    (m->ref && is_same_name(m->ref, path, n)) ||
		                    is_same_name(slash ? slash + 1 : m->o.model, path, n)))
			return m;
	}
	return NULL;
}

/* Return the first loaded model from m on. Caller holds the lock. */
static struct served *first_loaded(struct served *m)
{
	while (m && m->state != SERVED_LOADED)
		m = m->next;
	return m;
}

struct served *served_first(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	struct served *m = first_loaded(s->models);

	pthread_mutex_unlock(&s->lock);
	return m;
}

struct served *served_next(struct served *m)
{
	struct server *s = m->server;

	pthread_mutex_lock(&s->lock);
	m = first_loaded(m->next);
	pthread_mutex_unlock(&s->lock);
	return m;
}
