/* job/extras.c - fields of text and chat completions that vLLM's server has beside OpenAI's */
#include "job/form.h"
#include "job/job.h"
#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { TOP_MOST = 20, TO_CONTEXT = -1 };

/* ---- what an answer contains ---- */

static int take_ids(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.token_ids, key, v, err);
}

static int take_names(struct job *j, const char *key, const struct json *v, infer_error *err)
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
	TRY(job_whole(&j->extras.most, key, v, TO_CONTEXT, INT32_MAX, err));
	return j->extras.most
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL, "%s is 0: from 1, or %d", key, TO_CONTEXT);
}

int job_take_side(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->extras.keeps_first = json_equals(v, "right");
	j->extras.keeps_last = json_equals(v, "left");
	return j->extras.keeps_first || j->extras.keeps_last
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL, "%s is neither left nor right", key);
}

static int take_add(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int add;

	TRY(job_take_bool(&add, key, v, err));
	if (j->j.form->flags & FORM_TALKS && add)
		return err_set(err, INFER_EUNSUP, "%s: the chat template adds them", key);
	j->extras.bare = !add;
	return INFER_OK;
}

static int take_salt(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_bytes(v))
		return err_set(err, INFER_EINVAL, "%s is no text, or empty", key);
	j->j.request.salt = rng_hash(2, v->s, v->n) | 1;
	return INFER_OK;
}

int job_cut_prompt(const struct job *j, struct infer_prompt *p, infer_error *err)
{
	const int64_t most = j->extras.most, answer = j->j.request.max_tokens,
		      left = j->o->ctx - (answer > 1 ? answer : 1);
	size_t n = (size_t)(most > 0 ? most : left > 0 ? left : 0);

	if (!most)
		return INFER_OK;
	if (most == TO_CONTEXT && !j->o->ctx)
		return err_set(err, INFER_EUNSUP,
		               "truncate_prompt_tokens is -1: the length is a server's to say");
	if (!n)
		return err_set(err, INFER_EINVAL,
		               "truncate_prompt_tokens is -1: max_tokens leaves no room");
	if (p->n <= n)
		return INFER_OK;
	p->ids += j->extras.keeps_first ? 0 : p->n - n;
	p->n = n;
	return INFER_OK;
}

/* ---- sampling ---- */

/* Hugging Face's penalty counts all tokens, unless repeat_last_n says otherwise. */
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
		return err_set(err, INFER_EINVAL, "%s is not a list of token ids with one in it",
		               key);
	j->extras.allowed = arena_alloc(&j->mem, (size_t)n, sizeof *j->extras.allowed);
	if (!j->extras.allowed)
		return job_no_memory(err);
	memset(j->extras.allowed, 0, (size_t)n);
	json_each(token, v) {
		TRY(job_take_id(&id, j, key, token, err));
		j->extras.allowed[id] = 1;
	}
	return INFER_OK;
}

/* Tokens that are not listed get no probability. */
static int forbid_others(struct job *j, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;
	const int32_t n_vocab = job_vocabulary(j);
	struct infer_logit_bias *bias;
	int32_t n = o->n_bias;

	bias = arena_alloc(&j->mem, (size_t)n + (size_t)n_vocab, sizeof *bias);
	if (!bias)
		return job_no_memory(err);
	if (n)
		memcpy(bias, o->bias, (size_t)n * sizeof *bias);
	for (int32_t i = 0; i < n_vocab; i++)
		if (!j->extras.allowed[i])
			bias[n++] = (struct infer_logit_bias){ i, -INFINITY };
	o->bias = bias;
	o->n_bias = n;
	return INFER_OK;
}

int job_extras_end(struct job *j, const char **param, infer_error *err)
{
	*param = "prompt_logprobs";
	if (j->j.prompt_logprobs && j->j.stream)
		return err_set(err, INFER_EINVAL, "prompt_logprobs are not in streams");
	if (j->j.prompt_logprobs - 1 > j->j.request.top)
		j->j.request.top = j->j.prompt_logprobs - 1;
	*param = "allowed_token_ids";
	return j->extras.allowed ? forbid_others(j, err) : INFER_OK;
}

static const struct job_field known[] = {
	{ "return_token_ids", take_ids },
	{ "return_tokens_as_token_ids", take_names },
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
	{ "use_beam_search", 0 },
	{ "length_penalty", 1 },
	{ "bad_words", NAN },
	{ "logprob_token_ids", NAN },
	{ "prompt_embeds", NAN },
	{ "priority", 0 },
	{ "repetition_detection", NAN },
	{ "kv_transfer_params", NAN },
	{ "logits_processors", NAN },
	{ NULL, 0 },
};

const struct job_field *job_extras(void) { return known; }

const struct job_refused *job_refused_extras(void) { return refused; }
