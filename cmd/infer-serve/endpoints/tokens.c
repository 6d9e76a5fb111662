/* infer-serve/endpoints/tokens.c - text to token ids, and back. */
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "base/utf8.h"

#include <string.h>

endpoint_fn ep_tokenize, ep_detokenize;

/* Parse the body, an object, into mem.  NULL: r was answered with an error. */
static const struct json *read_body(struct http_request *r, struct arena *mem)
{
	const struct json *body;
	infer_error err = { 0 };
	int rc = jread(&body, mem, r->api.body.at ? r->api.body.at : "", r->api.body.len, "request",
	               &err);

	if (!rc && json_is_object(body))
		return body;
	api_refuse(&r->api, rc == INFER_ENOMEM ? INFER_FAULT_SERVER : INFER_FAULT_INVALID, NULL,
	           "%s", rc ? err.message : "the body must be an object");
	return NULL;
}

/* Read a boolean; *flag stays if it is absent or null. Returns 0 if r was answered with an error. */
static int read_flag(struct http_request *r, const struct json *body, const char *key, int *flag)
{
	const struct json *v = json_get(body, key);

	if (!v || json_is_null(v))
		return 1;
	if (json_is_bool(v)) {
		*flag = json_is(v, JSON_TRUE);
		return 1;
	}
	api_refuse(&r->api, INFER_FAULT_INVALID, key, "%s must be true or false", key);
	return 0;
}

struct tokenize {
	const char *text;
	size_t n;
	int add, special, pieces;
	int of_vllm; /* 1: vLLM's names prompt and add_special_tokens; 0: content and add_special */
};

static int read_tokenize_text(struct http_request *r, const struct json *body, struct tokenize *t)
{
	const struct json *v = json_get(body, "content"), *prompt = json_get(body, "prompt");
	const char *key = "content";

	t->of_vllm = !v && prompt;
	if (t->of_vllm)
		v = prompt, key = "prompt";
	if (v && !json_is_null(v) && !json_is_string(v)) {
		api_refuse(&r->api, INFER_FAULT_INVALID, key, "%s must be a string", key);
		return 0;
	}
	t->text = v ? json_str(v) : "";
	t->n = json_bytes(v);
	t->add = t->of_vllm;
	t->special = 1;
	return read_flag(r, body, t->of_vllm ? "add_special_tokens" : "add_special", &t->add) &&
	       read_flag(r, body, "parse_special", &t->special) &&
	       read_flag(r, body, "with_pieces", &t->pieces);
}

static void put_piece(struct jwrite *w, const infer_tokenizer *t, int32_t id)
{
	const char *bytes = "";
	size_t n = 0;

	(void)infer_token_bytes(t, id, INFER_DECODE_SPECIAL, &bytes, &n, NULL);
	jw_object(w, NULL);
	jw_int(w, "id", id);
	if (utf8_check(bytes, n) == n) {
		jw_strn(w, "piece", n ? bytes : "", n);
	} else {
		jw_array(w, "piece");
		for (size_t i = 0; i < n; i++)
			jw_int(w, NULL, (unsigned char)bytes[i]);
		jw_end(w);
	}
	jw_end(w);
}

static void put_tokens(struct http_request *r, const struct tokenize *t, const int32_t *ids,
                       size_t n)
{
	struct infer_engine_info e;
	struct jwrite w;

	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	if (t->of_vllm) {
		infer_engine_info(r->api.model->engine, &e);
		jw_uint(&w, "count", n);
		jw_int(&w, "max_model_len", e.ctx);
	}
	jw_array(&w, "tokens");
	for (size_t i = 0; i < n; i++)
		if (t->pieces)
			put_piece(&w, infer_model_tokenizer(r->api.model->model), ids[i]);
		else
			jw_int(&w, NULL, ids[i]);
	jw_end(&w);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

/* Answer with the tokens of a conversation's prompt. */
static void tokenize_conversation(struct http_request *r)
{
	const struct tokenize t = { .of_vllm = 1 };
	infer_job *job = endpoint_job(r);

	if (!job)
		return;
	put_tokens(r, &t, job->request.prompt, job->request.n_prompt);
	infer_job_free(job);
}

void ep_tokenize(struct http_request *r)
{
	struct tokenize t = { .n = 0 };
	struct arena mem;
	const struct json *body;
	infer_error err;
	int32_t *ids;
	size_t n;

	arena_init(&mem, MEM_BASE);
	body = read_body(r, &mem);
	if (json_get(body, "messages")) {
		arena_fini(&mem);
		tokenize_conversation(r);
		return;
	}
	if (body && read_tokenize_text(r, body, &t)) {
		uint32_t flags =
			(t.add ? INFER_ENCODE_ADD : 0) | (t.special ? INFER_ENCODE_SPECIAL : 0);
		int rc = infer_encode(infer_model_tokenizer(r->api.model->model), t.text, t.n,
		                      flags, &ids, &n, &err);

		if (rc)
			api_refuse(&r->api, infer_fault_kind(rc), t.of_vllm ? "prompt" : "content",
			           "%s", err.message);
		else
			put_tokens(r, &t, ids, n);
		if (!rc)
			infer_ids_free(ids);
	}
	arena_fini(&mem);
}

static int detokenize_one(struct buf *text, infer_detok *d, const struct json *id, infer_error *err)
{
	const char *bytes;
	size_t n;

	if (!json_is(id, JSON_INT) || id->i < 0 || id->i > INT32_MAX)
		return err_set(err, INFER_EINVAL, "tokens must be a list of token ids");
	TRY(infer_detok_put(d, (int32_t)id->i, &bytes, &n, err));
	buf_put(text, bytes, n);
	return INFER_OK;
}

static int detokenize(struct buf *text, const struct served *m, const struct json *tokens,
                      infer_error *err)
{
	infer_detok *d;
	const char *bytes;
	size_t n;
	int rc;

	if (!json_is_array(tokens))
		return err_set(err, INFER_EINVAL, "tokens must be a list of token ids");
	TRY(infer_detok_new(&d, infer_model_tokenizer(m->model), INFER_DECODE_SPECIAL, -1, err));
	rc = INFER_OK;
	json_each(id, tokens)
		if ((rc = detokenize_one(text, d, id, err)))
			break;
	if (!rc && !(rc = infer_detok_end(d, &bytes, &n, err)))
		buf_put(text, bytes, n);
	infer_detok_free(d);
	return rc;
}

void ep_detokenize(struct http_request *r)
{
	struct arena mem;
	const struct json *body;
	infer_error err;
	struct jwrite w;
	struct buf text;

	arena_init(&mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	body = read_body(r, &mem);
	if (body) {
		int rc = detokenize(&text, r->api.model, json_get(body, "tokens"), &err);

		if (rc || text.bad) {
			api_refuse(&r->api, rc ? infer_fault_kind(rc) : INFER_FAULT_SERVER,
			           "tokens", "%s", rc ? err.message : "out of memory");
		} else {
			jw_init(&w, &r->out);
			jw_object(&w, NULL);
			jw_strn(&w, "content", text.at ? text.at : "", text.len);
			jw_end(&w);
			http_answer(r, 200, http_json);
		}
	}
	buf_fini(&text);
	arena_fini(&mem);
}
