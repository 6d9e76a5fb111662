/* api/extras.c - fields that vLLM's server adds to OpenAI's text and chat completions */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { TOP_MOST = 20 };

/* ---- what an answer contains ---- */

static int take_ids(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.token_ids, key, v, err);
}

static int take_ids_for_texts(struct job *j, const char *key, const struct json *v,
                              infer_error *err)
{
	return job_take_bool(&j->j.ids_for_texts, key, v, err);
}

static int take_prompt_logprobs(struct job *j, const char *key, const struct json *v,
                                infer_error *err)
{
	TRY(job_whole(&j->j.prompt_logprobs, key, v, 0, TOP_MOST, err));
	j->j.prompt_logprobs++;
	return INFER_OK;
}

static int take_skip(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int skip;

	TRY(job_take_bool(&skip, key, v, err));
	j->j.request.flags |= skip ? 0 : INFER_REQ_SPECIAL_TEXT;
	return INFER_OK;
}

/* ---- the prompt ---- */

int job_take_most(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_whole(&j->extras.most, key, v, JOB_TO_CONTEXT, INT32_MAX, err));
	return j->extras.most ? INFER_OK
	                      : err_set(err, INFER_EINVAL, "%s is 0: must be at least 1, or %d",
	                                key, JOB_TO_CONTEXT);
}

int job_take_side(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->extras.keeps_first = json_equals(v, "right");
	j->extras.keeps_last = json_equals(v, "left");
	return j->extras.keeps_first || j->extras.keeps_last
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL, "%s must be left or right", key);
}

static int take_add(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int add;

	TRY(job_take_bool(&add, key, v, err));
	if (j->j.api->flags & API_TALKS && add)
		return err_set(err, INFER_EUNSUP, "%s: the chat template adds them", key);
	j->extras.bare = !add;
	return INFER_OK;
}

static int take_salt(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_bytes(v))
		return err_set(err, INFER_EINVAL, "%s must be a string that is not empty", key);
	j->j.request.salt = rng_hash(2, v->s, v->n) | 1;
	return INFER_OK;
}

/* ---- sampling ---- */

/* Read Hugging Face's penalty: repeat_penalty over all tokens, unless repeat_last_n is given. */
static int take_repetition(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *window = json_get(j->j.body, "repeat_last_n");
	struct json all = { .kind = JSON_INT, .i = -1 };
	int known;

	TRY(job_sampling(j, "repeat_penalty", v, &known, err));
	(void)key;
	return window && !json_is_null(window)
	               ? INFER_OK
	               : job_sampling(j, "repeat_last_n", &all, &known, err);
}

static int take_allowed(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const int32_t n = job_vocabulary(j);
	int32_t id;

	if (!json_is_array(v) || !json_count(v))
		return err_set(err, INFER_EINVAL, "%s must be a list of at least one token id",
		               key);
	j->extras.allowed = arena_alloc(&j->mem, (size_t)n, sizeof *j->extras.allowed);
	if (!j->extras.allowed)
		return err_nomem(err);
	memset(j->extras.allowed, 0, (size_t)n);
	json_each(token, v) {
		TRY(job_take_id(&id, j, key, token, err));
		j->extras.allowed[id] = 1;
	}
	return INFER_OK;
}

static const struct job_field known[] = {
	{ "return_token_ids", take_ids },
	{ "return_tokens_as_token_ids", take_ids_for_texts },
	{ "prompt_logprobs", take_prompt_logprobs },
	{ "skip_special_tokens", take_skip },
	{ "truncate_prompt_tokens", job_take_most },
	{ "truncation_side", job_take_side },
	{ "add_special_tokens", take_add },
	{ "cache_salt", take_salt },
	{ "repetition_penalty", take_repetition },
	{ "allowed_token_ids", take_allowed },
	{ NULL, NULL },
};
static const struct job_refused refused[] = {
	{ "use_beam_search", 0 },        { "length_penalty", 1 },
	{ "logprob_token_ids", NAN },    { "prompt_embeds", NAN },
	{ "repetition_detection", NAN }, { "kv_transfer_params", NAN },
	{ "logits_processors", NAN },    { NULL, 0 },
};

const struct job_field *job_extras(void) { return known; }

const struct job_refused *job_refused_extras(void) { return refused; }
