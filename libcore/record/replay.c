/* record/replay.c - read a record to run it again: its request, and how it was made */
#include "record/replay.h"
#include "base/err.h"
#include "job/job.h"

#include <stdio.h>
#include <string.h>

/* ---- how it was made ---- */

static int64_t whole_or(const struct json *o, const char *key, int64_t otherwise)
{
	const struct json *v = json_get(o, key);

	return json_is(v, JSON_INT) ? v->i : otherwise;
}

/* True if the end of the context ended the sample, or the record has no finish_reason. */
static int cut_by_context(const struct infer_replay *p, const struct json *sample, int64_t tokens)
{
	const struct json *finish = json_get(sample, "finish_reason");
	int64_t most = whole_or(p->request, "max_tokens", -1);

	return !finish || (json_equals(finish, "length") && (most < 0 || tokens < most));
}

static int64_t ctx_least(const struct infer_replay *p)
{
	const struct json *usage = json_get(p->body, "usage"),
			  *choices = json_get(p->body, "choices");
	int64_t prompt = whole_or(usage, "prompt_tokens", -1),
		tokens = whole_or(usage, "completion_tokens", -1), n = whole_or(p->request, "n", 1);

	if (p->scored || prompt < 0 || tokens < 0 || n < 1 || prompt > INT32_MAX ||
	    tokens > INT32_MAX * n)
		return 0;
	/* only the total of all samples is known, an upper bound of each */
	if (!choices && cut_by_context(p, p->body, tokens))
		return 0;
	json_each(c, choices)
		if (cut_by_context(p, c, whole_or(json_get(c, "usage"), "completion_tokens", -1)))
			return 0;
	return prompt + tokens + 1;
}

static const char *copy_text(struct infer_replay *p, const struct json *v)
{
	const char *s = json_cstr(&p->mem, v);

	return s ? s : "";
}

/* Copy the adapters of the record. */
static void fill_adapters(struct infer_replay *p)
{
	const struct json *list = json_get(p->run, "adapters");
	size_t n = json_is_array(list) ? json_count(list) : 0;
	struct infer_replay_adapter *a = arena_alloc(&p->mem, n, sizeof *a);

	p->made.adapters = a;
	if (!a || !n)
		return;
	json_each(v, list) {
		const struct json *scale = json_get(v, "scale");

		a[p->made.n_adapters++] = (struct infer_replay_adapter){
			.name = copy_text(p, json_get(v, "name")),
			.sha256 = copy_text(p, json_get(v, "sha256")),
			.scale = json_is_number(scale) ? (float)json_double(scale) : 0,
		};
	}
}

static void fill_made(struct infer_replay *p)
{
	const struct json *act = json_get(p->run, "act_type");

	p->made = (struct infer_replay_made){
		.id = p->id,
		.line = p->line,
		.model_id = copy_text(p, json_get(json_get(p->run, "model"), "id")),
		.kv_type = copy_text(p, json_get(p->run, "kv_type")),
		.act_type = act ? copy_text(p, act) : "f32",
		.placement = copy_text(p, json_get(p->run, "placement")),
		.version = copy_text(p, json_get(p->run, "version")),
		.ctx = (int32_t)whole_or(p->run, "ctx", 0),
		.ctx_least = ctx_least(p),
		.tokens = p->tokens,
		.n_tokens = p->n_tokens,
	};
	fill_adapters(p);
}

void infer_replay_made(const infer_replay *p, struct infer_replay_made *made) { *made = p->made; }

/* ---- reading ---- */

static int is_kind(const struct json *o, enum infer_kind kind)
{
	return json_equals(json_get(o, "kind"), infer_record_kind(kind)->name);
}

/* Find the answer in a record.  Returns 0 if it cannot be run again. */
static int find_answer(struct infer_replay *p, const struct json *o)
{
	const struct json *response = json_get(o, "response"), *status, *object;

	p->id_value = json_get(o, "id");
	p->body = o;
	p->api = &api_own;
	p->scored = is_kind(o, INFER_KIND_SCORE);
	if (p->scored || is_kind(o, INFER_KIND_COMPLETION))
		return 1;
	p->id_value = json_get(o, "custom_id");
	status = json_get(response, "status_code");
	p->body = json_get(response, "body");
	object = json_get(p->body, "object");
	p->api = json_equals(object, "chat.completion") ? &api_chat : &api_text;
	return !json_get(o, "kind") && p->id_value && json_is(status, JSON_INT) && status->i == 200;
}

static int read_score_tokens(struct infer_replay *p, infer_error *err)
{
	const struct json *list = json_get(p->body, "tokens");
	size_t n = json_count(list), i = 0;

	p->tokens = arena_alloc(&p->mem, n, sizeof *p->tokens);
	if (!p->tokens)
		return err_nomem(err);
	json_each(v, list) {
		if (!json_is(v, JSON_INT) || v->i < 0 || v->i > INT32_MAX)
			return err_set(
				err, INFER_EINVAL,
				"line %lld: the record of '%.80s': tokens[%zu] must be a token id",
				(long long)p->line, p->id, i);
		p->tokens[i++] = (int32_t)v->i;
	}
	p->n_tokens = n;
	return n >= 2 ? INFER_OK
	              : err_set(err, INFER_EINVAL,
	                        "line %lld: the record of '%.80s' has no tokens to score",
	                        (long long)p->line, p->id);
}

static int read_record(struct infer_replay *p, const char *line, size_t n, int *is,
                       infer_error *err)
{
	char what[32];
	const struct json *o;
	char *own = arena_raw(&p->mem, n);

	if (!own)
		return err_nomem(err);
	if (n)
		memcpy(own, line, n);
	snprintf(what, sizeof what, "line %lld", (long long)p->line);
	TRY(job_read_json(&o, &p->mem, own, n, what, err));
	if (!json_is_object(o))
		return err_set(err, INFER_EFORMAT, "%s is not a record", what);
	*is = find_answer(p, o);
	if (!*is)
		return INFER_OK;
	p->id = record_id(&p->mem, p->id_value);
	p->request = json_get(p->body, "request");
	p->run = json_get(p->body, "run");
	if (p->mem.bad)
		return err_nomem(err);
	p->id = p->id ? p->id : "";
	if (!p->scored && !json_is_object(p->request))
		return err_set(err, INFER_EINVAL,
		               "%s: the record of '%.80s' has no request; --with-request puts it "
		               "there",
		               what, p->id);
	if (!json_is_object(p->run))
		return err_set(
			err, INFER_EINVAL,
			"%s: the record of '%.80s' does not say how it was computed: it has no "
			"run",
			what, p->id);
	if (p->scored)
		TRY(read_score_tokens(p, err));
	fill_made(p);
	return p->mem.bad ? err_nomem(err) : INFER_OK;
}

int infer_replay_read(infer_replay **out, const char *line, size_t bytes, int64_t number,
                      infer_error *err)
{
	infer_replay *p = mem_zalloc(MEM_RECORD, 1, sizeof *p);
	int is = 0;

	*out = NULL;
	if (!p)
		return err_nomem(err);
	arena_init(&p->mem, MEM_RECORD);
	p->line = number;
	int rc = read_record(p, line, bytes, &is, err);

	if (rc || !is)
		infer_replay_free(p);
	else
		*out = p;
	return rc;
}

void infer_replay_free(infer_replay *p)
{
	if (!p)
		return;
	arena_fini(&p->mem);
	mem_free(p);
}

/* ---- asking again ---- */

int infer_replay_job(infer_job **out, const infer_replay *p, const infer_job_reader *r,
                     infer_error *err)
{
	struct jwrite w;
	struct buf line;
	int rc = INFER_OK;

	*out = NULL;
	buf_init(&line, MEM_RECORD);
	jw_init(&w, &line);
	jw_value(&w, NULL, p->request);
	if (line.bad)
		rc = err_nomem(err);
	else
		rc = infer_line_read(out, line.at, line.len, p->line, 0, r, err);
	buf_fini(&line);
	if (rc)
		return rc;
	if ((*out)->is_other) {
		(*out)->fault.kind = INFER_FAULT_INVALID;
		err_set(&(*out)->fault.error, INFER_EINVAL, "request is a record of another kind");
	}
	(*out)->api = p->api;
	return INFER_OK;
}
