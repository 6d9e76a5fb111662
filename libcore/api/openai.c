/* api/openai.c - the common parts of the two OpenAI formats: the head of an answer, its choices,
 * its usage */
#include "api/api.h"

#include <math.h>
#include <stdio.h>

static void put_openai_head(struct jwrite *w, const struct infer_answer *a, const char *prefix,
                            const char *object, const char *fingerprint)
{
	part_name(w, "id", prefix, a->job);
	jw_str(w, "object", object);
	jw_int(w, "created", a->created);
	jw_strn(w, "model", a->model.at, a->model.len);
	if (fingerprint)
		jw_str(w, "system_fingerprint", fingerprint);
}

static int64_t count_reasoning(const struct infer_answer *a)
{
	int64_t n = 0;

	for (int32_t i = 0; i < a->job->n; i++)
		n += a->choices[i].reasoning_tokens;
	return n;
}

/* Write the details of the usage.  The counts of predictions are 0: speculation is not reported. */
static void put_details(struct jwrite *w, int64_t reasoning)
{
	jw_object(w, "completion_tokens_details");
	jw_int(w, "reasoning_tokens", reasoning);
	jw_int(w, "accepted_prediction_tokens", 0);
	jw_int(w, "rejected_prediction_tokens", 0);
	jw_end(w);
}

/* Write the usage of all samples.  whole 0 (a chunk): details only if there was reasoning. */
static void put_openai_usage(struct jwrite *w, const struct infer_answer *a, int whole)
{
	struct infer_usage u = part_total(a);

	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", u.prompt_tokens);
	jw_int(w, "completion_tokens", u.completion_tokens);
	jw_int(w, "total_tokens", u.prompt_tokens + u.completion_tokens);
	jw_object(w, "prompt_tokens_details");
	jw_int(w, "cached_tokens", u.cached_tokens);
	jw_end(w);
	if (a->fingerprint && (whole || count_reasoning(a)))
		put_details(w, count_reasoning(a));
	jw_end(w);
}

static void put_prompt_ids(struct jwrite *w, const struct infer_job *j, int32_t i)
{
	struct infer_prompt p = infer_job_prompt(j, i);

	jw_array(w, "prompt_token_ids");
	for (size_t k = 0; k < p.n; k++)
		jw_int(w, NULL, p.ids[k]);
	jw_end(w);
}

/* Write the ids of the answer, including the end token, without the ids of the prompt. */
static void put_ids(struct jwrite *w, const struct infer_event *tokens, size_t n)
{
	jw_array(w, "token_ids");
	for (size_t i = 0; i < n; i++)
		if (tokens[i].kind == INFER_EVENT_TOKEN)
			jw_int(w, NULL, tokens[i].token);
	jw_end(w);
}

static void put_scored(struct jwrite *w, const infer_tokenizer *t, int32_t id, float logprob,
                       int32_t rank)
{
	char key[PART_TOKEN_NAME];
	const char *bytes;
	size_t n;

	snprintf(key, sizeof key, "%d", (int)id);
	jw_object(w, key);
	jw_num(w, "logprob", isinf(logprob) ? PART_NEVER : (double)logprob);
	if (rank)
		jw_int(w, "rank", rank);
	if (part_token_text(t, id, &bytes, &n))
		n = 0;
	jw_strn(w, "decoded_token", n ? bytes : "", n);
	jw_end(w);
}

/* Write [null, {id: {logprob, rank, decoded_token}}, ...]: for each position of the prompt after
 * the first, its token and the most likely tokens. */
static void put_prompt_logprobs(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	const struct infer_choice *c = &a->choices[i];

	jw_array(w, "prompt_logprobs");
	jw_null(w, NULL);
	for (size_t k = 0; k < c->n_prompt_tokens; k++) {
		const struct infer_event *ev = &c->prompt_tokens[k];

		jw_object(w, NULL);
		put_scored(w, a->tokenizer, ev->token, ev->logprob, c->ranks[k]);
		for (int32_t m = 0; m < ev->n_top && m < a->job->prompt_logprobs - 1; m++)
			if (ev->top[m].token != ev->token)
				put_scored(w, a->tokenizer, ev->top[m].token, ev->top[m].logprob,
				           m + 1);
		jw_end(w);
	}
	jw_end(w);
}

/* Write the ids and log-probabilities of the prompt of sample i, if they were requested. */
static void put_of_prompt(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	if (a->job->token_ids)
		put_prompt_ids(w, a->job, i);
	if (a->job->prompt_logprobs)
		put_prompt_logprobs(w, a, i);
}

void openai_put(struct jwrite *w, const struct api_answer *f, const struct openai_form *o)
{
	const struct infer_answer *a = f->a;

	put_openai_head(w, a, o->prefix, o->object, a->fingerprint);
	jw_array(w, "choices");
	for (int32_t i = 0; i < a->job->n; i++) {
		const struct infer_choice *c = &a->choices[i];

		jw_object(w, NULL);
		jw_int(w, "index", i);
		o->put_choice(w, a, i);
		if (a->job->logprobs >= 0)
			o->put_logprobs(w, a, c->tokens, c->n_tokens, 0);
		else
			jw_null(w, "logprobs");
		jw_str(w, "finish_reason", part_finish(c));
		if (a->job->token_ids)
			put_ids(w, c->tokens, c->n_tokens);
		if (!o->is_chat)
			put_of_prompt(w, a, i);
		jw_end(w);
	}
	jw_end(w);
	if (o->is_chat)
		put_of_prompt(w, a, 0);
	put_openai_usage(w, a, 1);
	if (a->fingerprint)
		part_timings(w, &a->choices->usage);
	if (f->more)
		f->more(w, f->user);
}

void openai_put_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d,
                      const struct openai_form *o)
{
	const infer_tokenizer *t = a->tokenizer;

	put_openai_head(w, a, o->prefix, o->chunk, o->is_chat ? a->fingerprint : NULL);
	jw_array(w, "choices");
	if (d->kind == INFER_DELTA_USAGE) {
		jw_end(w);
		put_openai_usage(w, a, 0);
		if (a->job->each_timings)
			part_timings(w, &a->choices->usage);
		return;
	}
	jw_object(w, NULL);
	jw_int(w, "index", d->index);
	o->put_part(w, a, d);
	if (a->job->logprobs >= 0 && o->has_logprobs(t, d->tokens, d->n_tokens))
		o->put_logprobs(w, a, d->tokens, d->n_tokens, d->offset);
	else
		jw_null(w, "logprobs");
	if (a->job->token_ids && d->kind != INFER_DELTA_BEGIN && d->kind != INFER_DELTA_READ)
		put_ids(w, d->tokens, d->n_tokens);
	/* in the first chunk of a sample only: that chunk has all tokens so far */
	if (a->job->token_ids && !o->is_chat && d->kind != INFER_DELTA_READ &&
	    d->n_tokens == a->choices[d->index].n_tokens)
		put_prompt_ids(w, a->job, d->index);
	if (d->kind == INFER_DELTA_END)
		jw_str(w, "finish_reason", part_finish(&a->choices[d->index]));
	else
		jw_null(w, "finish_reason");
	jw_end(w);
	jw_end(w);
	if (a->job->token_ids && d->kind == INFER_DELTA_BEGIN && !d->index)
		put_prompt_ids(w, a->job, 0);
	if (d->kind == INFER_DELTA_READ)
		part_progress(w, a, &a->choices[d->index]);
	if (a->job->each_usage)
		put_openai_usage(w, a, 0);
	else if (a->job->include_usage)
		jw_null(w, "usage");
	if (a->job->each_timings && d->kind != INFER_DELTA_BEGIN && d->kind != INFER_DELTA_READ)
		part_timings(w, &a->choices[d->index].usage);
}
