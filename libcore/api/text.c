/* api/text.c - OpenAI's text completions */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TOKENS = 16, TOP_MOST = 20 };

static int take_logprobs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.logprobs, key, v, 0, TOP_MOST, err);
}

static int take_suffix(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->fim.behind = v;
	return json_is_string(v) ? INFER_OK
	                         : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

/* Read best_of, which must equal n: all samples are returned. */
static int take_best_of(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->best_of, key, v, 1, INFER_JOB_MOST, err);
}

static const struct job_field known[] = {
	{ "prompt", job_take_prompt },
	{ "logprobs", take_logprobs },
	{ "echo", job_take_echo },
	{ "best_of", take_best_of },
	{ "suffix", take_suffix },
	/* accepted and ignored: there is one model, and no billing */
	{ "model", job_pass_text },
	{ "user", job_pass_text },
	{ "metadata", job_pass_object },
	{ NULL, NULL },
};
static const struct job_refused refused[] = {
	{ "stream", 0 },
	{ "stream_options", NAN },
	{ NULL, 0 },
};

/* With a suffix, the prompt is the text before the gap. */
static int ready(struct job *j, const char **param, infer_error *err)
{
	*param = "suffix";
	if (!json_bytes(j->fim.behind))
		return INFER_OK;
	if (!json_is_string(j->prompt_value) || j->j.echo || j->extras.most)
		return err_set(err, INFER_EUNSUP,
		               "suffix goes with one text as the prompt, and "
		               "without echo and truncate_prompt_tokens");
	j->fim.before = j->prompt_value;
	j->has_gap = 1;
	return INFER_OK;
}

static const struct job_fields fields = {
	.known = known,
	.refused = refused,
	.max_tokens = MAX_TOKENS,
	.ready = ready,
	.has_extras = 1,
};

static int read_text_completion(struct job *j, const struct json *body)
{
	if (job_read_fields(j, body, &fields))
		return j->j.fault.error.code;
	if (!j->best_of || j->best_of == infer_job_each(&j->j))
		return INFER_OK;
	err_set(&j->j.fault.error, INFER_EINVAL, "best_of is %d: must be equal to n",
	        (int)j->best_of);
	return job_fault(j, "best_of");
}

/* Write the key of token n of a list: its text if it is UTF-8 and no earlier token has the same
 * text, otherwise its id. */
static void token_key(char key[128], const struct infer_answer *a, const struct infer_top *top,
                      int32_t n)
{
	const infer_tokenizer *t = a->tokenizer;
	const char *mine, *other;
	size_t bytes, other_bytes;
	int plain = !a->job->ids_for_texts && !part_token_text(t, top[n].token, &mine, &bytes) &&
	            bytes && bytes < 128 && utf8_check(mine, bytes) == bytes &&
	            !memchr(mine, 0, bytes);

	for (int32_t i = 0; plain && i < n; i++)
		plain = part_token_text(t, top[i].token, &other, &other_bytes) ||
		        other_bytes != bytes || memcmp(mine, other, bytes);
	if (plain)
		snprintf(key, 128, "%.*s", (int)bytes, mine);
	else
		part_token_name(key, top[n].token);
}

/* Write a log-probability: PART_NEVER for -infinity, null for NaN. */
static void put_logprob_or_never(struct jwrite *w, const char *key, float logprob)
{
	jw_num(w, key, isinf(logprob) ? PART_NEVER : (double)logprob);
}

/* Write the most likely tokens, and the sampled token. */
static void put_tops(struct jwrite *w, const struct infer_answer *a, const struct infer_event *ev)
{
	struct infer_top all[INFER_MAX_TOP + 1];
	int32_t n = ev->n_top;
	char key[128];
	int there = 0;

	if (isnan(ev->logprob)) { /* the first token of a prompt has none */
		jw_null(w, NULL);
		return;
	}
	for (int32_t i = 0; i < n; i++) {
		all[i] = ev->top[i];
		there |= all[i].token == ev->token;
	}
	if (!there)
		all[n++] = (struct infer_top){ ev->token, ev->logprob };
	jw_object(w, NULL);
	for (int32_t k = 0; k < n; k++) {
		token_key(key, a, all, k);
		put_logprob_or_never(w, key, all[k].logprob);
	}
	jw_end(w);
}

static void put_top(struct jwrite *w, const struct infer_answer *a,
                    const struct infer_event *tokens, size_t n)
{
	jw_array(w, "top_logprobs");
	for (size_t i = 0; i < n; i++)
		put_tops(w, a, &tokens[i]);
	jw_end(w);
}

/* Write {tokens, token_logprobs, top_logprobs, text_offset}, offsets in characters. */
static void put_logprobs(struct jwrite *w, const struct infer_answer *a,
                         const struct infer_event *tokens, size_t n, size_t offset)
{
	const infer_tokenizer *t = a->tokenizer;
	char name[PART_TOKEN_NAME];
	const char *bytes;
	size_t len;

	jw_object(w, "logprobs");
	jw_array(w, "tokens");
	for (size_t i = 0; i < n; i++)
		if (a->job->ids_for_texts)
			jw_str(w, NULL, part_token_name(name, tokens[i].token));
		else if (!part_token_text(t, tokens[i].token, &bytes, &len))
			jw_strn(w, NULL, bytes, len);
	jw_end(w);
	jw_array(w, "token_logprobs");
	for (size_t i = 0; i < n; i++)
		put_logprob_or_never(w, NULL, tokens[i].logprob);
	jw_end(w);
	put_top(w, a, tokens, n);
	jw_array(w, "text_offset");
	for (size_t i = 0; i < n; i++) {
		jw_uint(w, NULL, offset);
		offset += part_token_chars(t, tokens + i, offset);
	}
	jw_end(w);
	jw_end(w);
}

static int has_logprobs(const infer_tokenizer *t, const struct infer_event *tokens, size_t n)
{
	(void)t, (void)tokens, (void)n;
	return 1;
}

static void put_choice(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	const struct infer_str *text = &a->choices[i].text;

	jw_strn(w, "text", text->len ? text->at : "", text->len);
}

static void put_delta_text(struct jwrite *w, const struct infer_answer *a,
                           const struct infer_delta *d)
{
	(void)a;
	jw_strn(w, "text", d->text.len ? d->text.at : "", d->text.len);
}

static const struct openai_form row = {
	"cmpl-",    "text_completion", "text_completion", 0,
	put_choice, put_delta_text,    has_logprobs,      put_logprobs,
};

static void put_text_completion(struct jwrite *w, const struct api_answer *f)
{
	openai_put(w, f, &row);
}

static void put_text_delta(struct jwrite *w, const struct infer_answer *a,
                           const struct infer_delta *d)
{
	openai_put_delta(w, a, d, &row);
}

const struct infer_api api_text = {
	.name = "text",
	.path = "/v1/completions",
	.read = read_text_completion,
	.fields = &fields,
	.put = put_text_completion,
	.put_delta = put_text_delta,
	.put_error = openai_put_error,
	.end = "[DONE]",
};
