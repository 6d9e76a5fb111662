/* infer-serve/endpoints/infer.c - POST /v1/infer: a request in our own API format from infer-run,
 * answered with the records that infer-run would print. */
#include <infer/record.h>
#include "infer-serve/http/request.h"
#include "infer-serve/ops/tenant.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <string.h>

endpoint_fn ep_infer;

enum handoff_output {
	HANDOFF_TEXT,   /* events of our own API format */
	HANDOFF_JSONL,  /* one completion record at the end */
	HANDOFF_TOKENS, /* a record for each token */
};
struct handoff {
	struct event_writer events; /* first member, because pointers are cast */
	enum handoff_output output;
	infer_records *records;
	char **flags; /* options for "run" of the record; allocated in mem */
	int n_flags, seed_random;
	char *id; /* allocated in mem */
	struct arena mem;
};

static struct handoff *handoff_of(struct event_writer *w) { return (struct handoff *)(void *)w; }

/* ---- the answer ---- */

/* Append the record in the writer, without its newline, as an event. */
static int put_record_event(struct handoff *h, struct buf *to)
{
	struct infer_str line = infer_records_text(h->records);

	buf_puts(to, "event: record\ndata: ");
	buf_put(to, line.at, line.len - (line.len > 0));
	buf_puts(to, "\n\n");
	infer_records_clear(h->records);
	return to->bad ? INFER_ENOMEM : INFER_OK;
}

static int put_token_record(struct event_writer *w, const struct infer_got *got, struct buf *to,
                            infer_error *err)
{
	struct handoff *h = handoff_of(w);

	if (h->output != HANDOFF_TOKENS || got->event->kind != INFER_EVENT_TOKEN)
		return INFER_OK;
	TRY(infer_write_token(h->records, got->event, err));
	return put_record_event(h, to);
}

static int put_completion_record(struct handoff *h, struct api_request *r,
                                 const struct infer_answer *a, struct buf *to, infer_error *err)
{
	const struct served *m = r->model;
	const struct infer_run_info info = {
		.model = m->model,
		.engine = m->engine,
		.sample = &a->job->request.sample,
		.breakers = a->job->breaker_texts,
		.n_breakers = a->job->n_breaker_texts,
		.bad_words = a->job->bad_words,
		.n_bad_words = a->job->n_bad_words,
		.flags = (const char *const *)h->flags,
		.n_flags = h->n_flags,
		.seed_random = h->seed_random,
	};

	TRY(infer_write_answer(h->records, a, &info, err));
	return put_record_event(h, to);
}

/* Append the last event, with the finish reason. */
static int put_last_event(struct api_request *r, const struct infer_answer *a, struct buf *to,
                          infer_error *err)
{
	const struct infer_delta d = { .kind = INFER_DELTA_END };
	struct infer_str text;
	infer_writer *w;

	TRY(infer_writer_new(&w, err));
	int rc = infer_api_put_events(w, a, &d, &r->gen.stream, err);

	text = infer_writer_text(w);
	buf_put(to, text.at, text.len);
	infer_writer_free(w);
	return rc;
}

static int put_answer_end(struct event_writer *w, struct api_request *r,
                          const struct infer_answer *a, struct buf *to, infer_error *err)
{
	struct handoff *h = handoff_of(w);

	if (h->output == HANDOFF_TEXT)
		return INFER_OK; /* the API format has written the end */
	if (h->output == HANDOFF_JSONL)
		TRY(put_completion_record(h, r, a, to, err));
	return put_last_event(r, a, to, err);
}

static int put_answer_fault(struct event_writer *events, struct api_request *r,
                            const struct infer_fault *f, struct buf *to, infer_error *err)
{
	struct handoff *h = handoff_of(events);
	struct infer_str text;
	infer_writer *w;

	if (h->output != HANDOFF_TEXT) {
		TRY(infer_write_error(h->records, h->id, &f->error, NULL, err));
		TRY(put_record_event(h, to));
	}
	TRY(infer_writer_new(&w, err));
	int rc = infer_api_put_fault_events(w, infer_api_named("own"), f, r->id, &r->gen.stream,
	                                    err);

	text = infer_writer_text(w);
	buf_put(to, text.at, text.len);
	infer_writer_free(w);
	return rc;
}

static void handoff_free(struct event_writer *w)
{
	struct handoff *h = handoff_of(w);

	infer_records_free(h->records);
	arena_fini(&h->mem);
	mem_free(h);
}

/* ---- the request ---- */

/* The members of the body; NULL: not given. */
struct members {
	const struct json *request, *output, *id, *flags, *fields, *seed_random, *model, *now,
		*follows;
};

static int read_members(struct members *a, const struct json *body, const char **param,
                        infer_error *err)
{
	const struct {
		const char *key;
		const struct json **to;
		enum json_kind kind;
	} rows[] = {
		{ "request", &a->request, JSON_OBJECT },
		{ "output", &a->output, JSON_STRING },
		{ "id", &a->id, JSON_STRING },
		{ "flags", &a->flags, JSON_ARRAY },
		{ "fields", &a->fields, JSON_STRING },
		{ "seed_random", &a->seed_random, JSON_TRUE },
		{ "model", &a->model, JSON_STRING },
		{ "now", &a->now, JSON_INT },
		{ "follows", &a->follows, JSON_TRUE },
	};
	size_t i;

	*param = NULL;
	if (!json_is_object(body))
		return err_set(err, INFER_EINVAL, "the body must be an object");
	json_each(v, body) {
		for (i = 0; i < sizeof rows / sizeof *rows; i++)
			if (v->key_n == strlen(rows[i].key) &&
			    !memcmp(v->key, rows[i].key, v->key_n))
				break;
		if (i == sizeof rows / sizeof *rows)
			return err_set(err, INFER_EINVAL, "'%.*s' is not a field of a request",
			               v->key_n < 80 ? (int)v->key_n : 80, v->key);
		*param = rows[i].key;
		if (v->kind != rows[i].kind)
			return err_set(err, INFER_EINVAL, "%s has the wrong type", rows[i].key);
		*rows[i].to = v;
	}
	*param = "request";
	return a->request ? INFER_OK : err_set(err, INFER_EINVAL, "request is missing");
}

static int read_flags(struct handoff *h, const struct json *flags, infer_error *err)
{
	h->flags = arena_alloc(&h->mem, json_count(flags), sizeof *h->flags);
	if (!h->flags)
		return err_nomem(err);
	json_each(v, flags) {
		if (!json_is_string(v))
			return err_set(err, INFER_EINVAL, "flags must be a list of strings");
		h->flags[h->n_flags] = arena_strndup(&h->mem, v->s, v->n);
		if (!h->flags[h->n_flags++])
			return err_nomem(err);
	}
	return INFER_OK;
}

static int read_output(struct handoff *h, const struct json *v, infer_error *err)
{
	static const char *const words[] = { "text", "jsonl", "tokens" };

	for (int i = 0; v && i < 3; i++)
		if (json_equals(v, words[i])) {
			h->output = i;
			return INFER_OK;
		}
	return v ? err_set(err, INFER_EINVAL, "output must be text, jsonl or tokens") : INFER_OK;
}

/* True if `name` is the name of the model, or of its file, with or without the folder. */
static int is_model_named(const struct served *m, const struct json *name)
{
	const char *path = infer_file_path(infer_model_file(m->model)), *slash = strrchr(path, '/');

	return json_equals(name, m->name) || (m->called && json_equals(name, m->called)) ||
	       json_equals(name, path) || json_equals(name, slash ? slash + 1 : path) ||
	       infer_adapters_have(m->adapters, name->s, name->n);
}

static int read_handoff(struct handoff *h, const struct members *a, const char **param,
                        infer_error *err)
{
	*param = "output";
	TRY(read_output(h, a->output, err));
	*param = "flags";
	TRY(read_flags(h, a->flags, err));
	h->seed_random = a->seed_random != NULL;
	h->id = a->id ? arena_strndup(&h->mem, a->id->s, a->id->n) : arena_strndup(&h->mem, "1", 1);
	*param = NULL;
	if (!h->id)
		return err_nomem(err);
	TRY(infer_records_new(&h->records, err));
	if (a->follows)
		infer_records_continue(h->records);
	const char *fields = a->fields ? json_cstr(&h->mem, a->fields) : NULL;

	*param = "fields";
	if (fields)
		return infer_records_select(h->records, fields, err);
	return a->fields ? err_set(err, INFER_EINVAL, "fields must be a list of names") : INFER_OK;
}

/* Append the request as JSON. Add the client's time to a conversation, for templates. INFER_ENOMEM */
static int copy_request(struct buf *to, struct arena *mem, const struct served *m,
                        const struct members *a, infer_error *err)
{
	int talks = m->has_own_chat && !json_is(json_get(a->request, "raw"), JSON_TRUE);
	struct json *r = json_copy(mem, a->request);
	struct jwrite w;

	if (r && talks && a->now && !json_get(r, "now"))
		json_set(r, "now", json_new_int(mem, a->now->i));
	if (r && a->model && !json_get(r, "lora") &&
	    infer_adapters_have(m->adapters, a->model->s, a->model->n))
		json_set(r, "model", json_share(mem, a->model));
	if (!r || mem->bad)
		return err_nomem(err);
	r->key = NULL;
	r->next = NULL;
	jw_init(&w, to);
	jw_value(&w, NULL, r);
	return to->bad ? err_nomem(err) : INFER_OK;
}

/* Make the job stream. For token records, do not parse tool calls and reasoning. */
static void prepare_job(infer_job *j, const struct handoff *h)
{
	j->stream = 1;
	if (h->output != HANDOFF_TOKENS)
		return;
	j->chat = NULL;
	j->request.flags &= ~(uint32_t)INFER_REQ_SPECIAL_TEXT;
}

/* Read the body into h and r->api.gen.job, or set *f.  Returns the code of the error. */
static int read_body(struct http_request *r, struct handoff *h, struct infer_fault *f)
{
	struct served *m = r->api.model;
	infer_error *err = &f->error;
	struct members a = { .request = NULL };
	const struct json *body;
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = jread(&body, &h->mem, r->api.body.at ? r->api.body.at : "", r->api.body.len,
	               "request", err);

	if (!rc)
		rc = read_members(&a, body, &f->param, err);
	if (!rc && a.model && !r->api.server->o->config && !is_model_named(m, a.model)) {
		f->param = "model";
		rc = err_set(err, INFER_EINVAL, "the model here is %.80s, not %.*s", m->name,
		             a.model->n < 80 ? (int)a.model->n : 80, a.model->s);
	}
	if (!rc)
		rc = read_handoff(h, &a, &f->param, err);
	if (!rc)
		rc = copy_request(&text, &h->mem, m, &a, err);
	if (!rc)
		rc = infer_job_read(&r->api.gen.job, m->own_reader, infer_api_named("own"),
		                    tenant_salt(&r->api, 0), h->id, text.at, text.len, err);
	buf_fini(&text);
	f->kind = rc ? infer_fault_kind(rc) : INFER_FAULT_NONE;
	if (!rc && r->api.gen.job->fault.kind) {
		*f = r->api.gen.job->fault;
		rc = f->error.code;
	}
	return rc;
}

void ep_infer(struct http_request *r)
{
	struct infer_fault f = { .param = NULL };
	struct handoff *h = mem_zalloc(MEM_BASE, 1, sizeof *h);

	if (!h) {
		api_refuse(&r->api, INFER_FAULT_SERVER, NULL, "out of memory for a request");
		return;
	}
	arena_init(&h->mem, MEM_BASE);
	h->events = (struct event_writer){ NULL, put_answer_end, put_answer_fault, handoff_free };
	r->api.gen.events = &h->events;
	if (read_body(r, h, &f)) {
		api_fault(&r->api, &f);
		infer_job_free(r->api.gen.job);
		r->api.gen.job = NULL;
		return;
	}
	if (h->output != HANDOFF_TEXT)
		h->events.event = put_token_record;
	prepare_job(r->api.gen.job, h);
}
