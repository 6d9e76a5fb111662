/* record/request.c - a line of JSON becomes a request, or an error that says why not */
#include "record/job.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sha256.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- fields; each is known in some forms */

enum {
	OWN = 1 << INFER_JOB_OWN,
	TEXT = 1 << INFER_JOB_OPENAI,
	CHAT = 1 << INFER_JOB_OPENAI_CHAT,
	OPENAI = TEXT | CHAT,
	ALL = OWN | OPENAI,
	OPENAI_MAX_TOKENS = 16,
	/* off a seed that nobody gave: a reader whose numbers are doubles keeps the 53 bits left */
	SEED_CUT = 11
};

static int take_prompt(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v) && !json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is neither a text nor a list of token ids",
		               key);
	j->prompt_value = v;
	return INFER_OK;
}

static int take_bool(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	return json_is_bool(v) ? INFER_OK
	                       : err_set(err, INFER_EINVAL, "%s is neither true nor false", key);
}

static int take_max_tokens(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.request.max_tokens, key, v, -1, INT32_MAX, err);
}

static int take_n(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.n, key, v, 1, INFER_JOB_MOST, err);
}

static int take_logprobs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.logprobs, key, v, 0, INFER_MAX_TOP, err);
}

static int take_stop(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *s = json_is_array(v) ? v->first : v;
	size_t n = json_is_array(v) ? v->n : 1;
	struct infer_str *stop = arena_alloc(&j->mem, n, sizeof *stop);

	if (!stop || n > INT32_MAX)
		return job_no_memory(err);
	for (size_t i = 0; i < n; i++, s = s->next) {
		if (!json_bytes(s))
			return err_set(err, INFER_EINVAL, "%s: %s is no text, or empty", key,
			               n > 1 ? "an entry" : "it");
		stop[i] = (struct infer_str){ s->s, s->n };
	}
	j->j.request.stop = stop;
	j->j.request.n_stop = (int32_t)n;
	return INFER_OK;
}

/* A list of token ids; the vocabulary is looked at by the engine. */
static int take_ids(struct job *j, int32_t **ids, const char *key, const struct json *v,
                    infer_error *err)
{
	size_t n = json_count(v), i = 0;

	*ids = arena_alloc(&j->mem, n, sizeof **ids);
	if (!*ids || n > INT32_MAX)
		return job_no_memory(err);
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is not a list of token ids", key);
	json_each(id, v) {
		if (!json_is_whole(id))
			return err_set(err, json_is_whole(v->first) ? INFER_EINVAL : INFER_EUNSUP,
			               "%s: entry %zu is not a token id; a request has one prompt",
			               key, i);
		TRY(job_whole(&(*ids)[i++], key, id, 0, INT32_MAX, err));
	}
	return INFER_OK;
}

static int take_stop_ids(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t *ids;

	TRY(take_ids(j, &ids, key, v, err));
	j->j.request.stop_tokens = ids;
	j->j.request.n_stop_tokens = (int32_t)json_count(v);
	return INFER_OK;
}

static int take_ignore_eos(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(take_bool(j, key, v, err));
	j->j.request.flags &= ~(uint32_t)INFER_REQ_IGNORE_EOS;
	j->j.request.flags |= json_is(v, JSON_TRUE) ? INFER_REQ_IGNORE_EOS : 0;
	return INFER_OK;
}

static int pass(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j, (void)key, (void)v, (void)err;
	return INFER_OK;
}

static int take_raw(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(take_bool(j, key, v, err));
	j->raw = j->raw_given = json_is(v, JSON_TRUE);
	return INFER_OK;
}

static const struct field {
	const char *key;
	unsigned forms;
	job_take *take;
} fields[] = {
	{ "prompt", OWN | TEXT, take_prompt },
	{ "raw", OWN, take_raw },
	{ "messages", OWN | CHAT, job_take_messages },
	{ "tools", OWN | CHAT, job_take_tools },
	{ "tool_choice", CHAT, job_take_tool_choice },
	{ "template_args", OWN, job_take_args },
	{ "chat_template_kwargs", CHAT, job_take_args },
	{ "think", OWN, job_take_think },
	{ "max_tokens", ALL, take_max_tokens },
	{ "max_completion_tokens", CHAT, take_max_tokens },
	{ "n", ALL, take_n },
	{ "logprobs", OWN | TEXT, take_logprobs },
	{ "logprobs", CHAT, job_take_chat_logprobs },
	{ "top_logprobs", CHAT, job_take_chat_logprobs },
	{ "stop", ALL, take_stop },
	{ "stop_token_ids", ALL, take_stop_ids },
	{ "ignore_eos", ALL, take_ignore_eos },
	{ "id", OWN, pass },
	{ "kind", OWN, pass },
	{ "v", OWN, pass },
	/* there is one model, and nobody to bill */
	{ "model", OPENAI, pass },
	{ "user", OPENAI, pass },
	{ "metadata", OPENAI, pass },
	{ "store", CHAT, pass },
	{ "service_tier", CHAT, pass },
	{ "safety_identifier", CHAT, pass },
	{ "prompt_cache_key", CHAT, pass },
};

/* What is known and not supported, but for the value that asks for nothing; NAN: there is none. */
static const struct refused {
	const char *key;
	unsigned forms;
	double nothing;
} refused[] = {
	{ "response_format", ALL, NAN },
	{ "grammar", ALL, NAN },
	{ "json_schema", ALL, NAN },
	{ "regex", ALL, NAN },
	{ "choice", ALL, NAN },
	{ "lora", ALL, NAN },
	{ "suffix", TEXT, NAN },
	{ "stream", OPENAI, 0 },
	{ "stream_options", OPENAI, NAN },
	{ "echo", OPENAI, 0 },
	{ "best_of", TEXT, 1 },
	{ "min_tokens", ALL, 0 },
	{ "tfs_z", ALL, 1 },
	{ "include_stop_str_in_output", ALL, 0 },
	{ "parallel_tool_calls", CHAT, 1 },
	{ "reasoning_effort", CHAT, NAN },
	{ "functions", CHAT, NAN },
	{ "function_call", CHAT, NAN },
	{ "modalities", CHAT, NAN },
	{ "prediction", CHAT, NAN },
	{ "verbosity", CHAT, NAN },
	{ "web_search_options", CHAT, NAN },
};

static int take_field(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	unsigned form = 1u << j->j.form;
	int known;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].forms & form && !strcmp(key, fields[i].key))
			return json_is_null(v) ? INFER_OK : fields[i].take(j, key, v, err);
	TRY(job_sampling(j, key, v, &known, err));
	for (size_t i = 0; !known && i < sizeof refused / sizeof *refused; i++) {
		const struct refused *r = &refused[i];

		if (!(r->forms & form) || strcmp(key, r->key))
			continue;
		if (json_is_null(v) || (json_is_number(v)        ? json_double(v)
		                        : json_is(v, JSON_TRUE)  ? 1
		                        : json_is(v, JSON_FALSE) ? 0
		                                                 : NAN) == r->nothing)
			return INFER_OK;
		return err_set(err, INFER_EUNSUP, "%s is not supported in a batch", key);
	}
	return known ? INFER_OK
	             : err_set(err, INFER_EINVAL, "'%.80s' is no field of a request", key);
}

static int fault(struct job *j, const char *param)
{
	j->j.param = param ? arena_strndup(&j->mem, param, strlen(param)) : NULL;
	return j->j.error.code;
}

static int unknown_field(struct job *j, const struct json *v)
{
	err_set(&j->j.error, INFER_EINVAL, "'%.*s' is no field of a request",
	        v->key_n < 80 ? (int)v->key_n : 80, v->key);
	j->j.param = arena_strndup(&j->mem, v->key, v->key_n);
	return j->j.error.code;
}

static int take_fields(struct job *j, const struct json *o)
{
	json_each(v, o) {
		const char *key = arena_strndup(&j->mem, v->key, v->key_n);

		if (!key)
			return job_no_memory(&j->j.error);
		if (strlen(key) != v->key_n)
			return unknown_field(j, v);
		if (take_field(j, key, v, &j->j.error))
			return fault(j, key);
	}
	return INFER_OK;
}

/* ---- the whole of it */

/* *param: the field at fault. */
static int fill_prompt(struct job *j, const char **param, infer_error *err)
{
	const struct json *v = j->prompt_value;
	size_t n = json_count(v);
	int32_t *ids;

	if (job_is_talk(j)) {
		TRY(job_talk(j, param, err));
		j->j.request.prompt = j->prompt;
		return j->j.request.n_prompt
		               ? INFER_OK
		               : err_set(err, INFER_EFORMAT, "the chat template writes nothing");
	}
	*param = j->j.form == INFER_JOB_OPENAI_CHAT ? "messages" : "prompt";
	if (!v)
		return err_set(err, INFER_EINVAL, "there is no %s",
		               j->j.form == INFER_JOB_OWN ? "prompt, and there are no messages"
		                                          : *param);
	TRY(job_no_talk(j, param, err));
	if (json_is_string(v)) {
		TRY(infer_encode(infer_model_tokenizer(j->o->model), v->s, v->n,
		                 INFER_ENCODE_ADD | j->o->encode, &j->prompt, &n, err));
		ids = j->prompt;
	} else {
		TRY(take_ids(j, &ids, "prompt", v, err));
	}
	j->j.request.prompt = ids;
	j->j.request.n_prompt = n;
	return n ? INFER_OK : err_set(err, INFER_EINVAL, "the prompt is empty");
}

static void fill_defaults(struct job *j)
{
	const struct infer_job_opts *o = j->o;

	j->j.n = 1;
	j->raw = o->raw;
	j->top_logprobs = -1;
	j->j.logprobs = o->logprobs;
	j->j.breaker_texts = o->breaker_texts;
	j->j.n_breaker_texts = o->n_breaker_texts;
	j->j.request = (struct infer_request){
		.max_tokens = j->j.form == INFER_JOB_OPENAI && !o->max_tokens_given
		                      ? OPENAI_MAX_TOKENS
		                      : o->max_tokens,
		.sample = o->sample,
		.stop = o->stop,
		.n_stop = o->n_stop,
		.flags = o->flags,
		.stop_tokens = o->stop_tokens,
		.n_stop_tokens = o->n_stop_tokens,
	};
}

static int text_is(const struct json *o, const char *key, const char *want)
{
	return json_equals(json_get(o, key), want);
}

/* {custom_id, method, url, body}: what is around the body. */
static int check_envelope(struct job *j)
{
	static const char *const keys[] = { "custom_id", "method", "url", "body" };
	infer_error *err = &j->j.error;
	const struct json *url = json_get(j->json, "url");

	json_each(v, j->json) {
		size_t i = 0;

		while (i < sizeof keys / sizeof *keys &&
		       (v->key_n != strlen(keys[i]) || memcmp(v->key, keys[i], v->key_n)))
			i++;
		if (i == sizeof keys / sizeof *keys)
			return unknown_field(j, v);
	}
	if (!text_is(j->json, "method", "POST")) {
		err_set(err, INFER_EINVAL, "method is not POST");
		return fault(j, "method");
	}
	if (j->j.form != INFER_JOB_OPENAI_CHAT && !text_is(j->json, "url", "/v1/completions"))
		err_set(err, INFER_EUNSUP,
		        "url: '%.*s' is not answered in a batch; /v1/chat/completions and "
		        "/v1/completions are",
		        json_bytes(url) < 80 ? (int)json_bytes(url) : 80, json_str(url));
	if (err->code)
		return fault(j, "url");
	if (json_is_object(json_get(j->json, "body")))
		return INFER_OK;
	err_set(err, INFER_EINVAL, "body is not an object");
	return fault(j, "body");
}

/* The id, which every later fault is reported under. */
static int take_id(struct job *j)
{
	const char *key = j->j.form == INFER_JOB_OWN ? "id" : "custom_id";
	const struct json *v = json_get(j->json, key);
	const char *id = json_cstr(&j->mem, v);
	char number[24] = "";

	if (j->j.form == INFER_JOB_OWN && (!v || json_is_null(v)))
		snprintf(number, sizeof number, "%lld", (long long)j->j.line);
	j->j.id_whole = j->j.form == INFER_JOB_OWN && json_is_whole(v);
	if (j->j.id_whole && v->kind == JSON_INT)
		snprintf(number, sizeof number, "%lld", (long long)v->i);
	else if (j->j.id_whole)
		snprintf(number, sizeof number, "%llu", (unsigned long long)v->u);
	if (*number)
		id = arena_strndup(&j->mem, number, strlen(number));
	if (!id || !*id) {
		err_set(&j->j.error, INFER_EINVAL, "%s is %s", key,
		        json_is_string(v)            ? "empty, or holds a NUL"
		        : j->j.form == INFER_JOB_OWN ? "neither a text nor a whole number"
		                                     : "not a text");
		return fault(j, key);
	}
	j->j.id = id;
	return INFER_OK;
}

static int read_object(struct job *j)
{
	const struct json *kind = json_get(j->json, "kind");

	if (!json_is_object(j->json))
		return err_set(&j->j.error, INFER_EFORMAT, "the line is not an object");
	if (json_get(j->json, "custom_id"))
		j->j.form = text_is(j->json, "url", "/v1/chat/completions") ? INFER_JOB_OPENAI_CHAT
		                                                            : INFER_JOB_OPENAI;
	j->j.is_other = kind && j->j.form == INFER_JOB_OWN && !text_is(j->json, "kind", "request");
	return j->j.is_other ? INFER_OK : take_id(j);
}

static void read_request(struct job *j)
{
	infer_error *err = &j->j.error;
	const char *param = NULL;

	fill_defaults(j);
	if (j->j.form != INFER_JOB_OWN && check_envelope(j))
		return;
	if (take_fields(j, j->j.form == INFER_JOB_OWN ? j->json : json_get(j->json, "body")))
		return;
	if (fill_prompt(j, &param, err)) {
		fault(j, param);
		return;
	}
	if (job_chat_end(j, err)) {
		fault(j, "top_logprobs");
		return;
	}
	if (!j->seeded)
		j->j.request.sample.seed =
			rng_hash(j->o->sample.seed, j->j.id, strlen(j->j.id)) >> SEED_CUT;
	j->j.request.top = j->j.logprobs > 0 ? j->j.logprobs : 0;
	if (job_sampling_end(j, err))
		fault(j, NULL);
}

static int start(struct job **out, int64_t number, infer_error *err)
{
	struct job *j = mem_zalloc(MEM_RECORD, 1, sizeof *j);

	*out = NULL;
	if (!j)
		return job_no_memory(err);
	arena_init(&j->mem, MEM_RECORD);
	j->j.line = number;
	*out = j;
	return INFER_OK;
}

static void name_line(char hex[65], const char *line, size_t n)
{
	while (n && line[n - 1] == '\r')
		n--;
	sha256_name(hex, line, n);
}

int infer_job_read(infer_job **out, const char *line, size_t bytes, int64_t number, uint32_t flags,
                   const struct infer_job_opts *o, infer_error *err)
{
	struct job *j;
	char *text;

	*out = NULL;
	TRY(start(&j, number, err));
	j->o = o;
	name_line(j->j.request_sha256, line, bytes);
	text = arena_raw(&j->mem, bytes);
	if (text && bytes)
		memcpy(text, line, bytes);
	if (text && !jread(&j->json, &j->mem, text, bytes, "request", &j->j.error) &&
	    !read_object(j) && !j->j.is_other && !(flags & INFER_JOB_ID))
		read_request(j);
	if ((j->j.error.code == INFER_ENOMEM && !j->too_long) || j->mem.bad) {
		infer_job_free(&j->j);
		return job_no_memory(err);
	}
	*out = &j->j;
	return INFER_OK;
}

int infer_job_bad(infer_job **out, int64_t number, const infer_error *why, infer_error *err)
{
	struct job *j;

	*out = NULL;
	TRY(start(&j, number, err));
	j->j.error = *why;
	*out = &j->j;
	return INFER_OK;
}

void infer_job_free(infer_job *job)
{
	struct job *j = (struct job *)(void *)job; /* its first member */

	if (!j)
		return;
	infer_breakers_free(j->breakers);
	infer_ids_free(j->prompt);
	arena_fini(&j->mem);
	mem_free(j);
}

uint64_t infer_job_seed(const infer_job *j, int32_t i)
{
	uint64_t index = (uint64_t)i, seed = j->request.sample.seed;

	return i ? rng_hash(seed, &index, sizeof index) >> SEED_CUT : seed;
}
