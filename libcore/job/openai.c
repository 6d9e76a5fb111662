/* job/openai.c - the common parts of the two OpenAI forms: the head of an answer, its choices, its
 * usage */
#include "job/form.h"

static void put_head(struct jwrite *w, const struct infer_answer *a, const char *prefix,
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

/* The counted tokens include no rejected guesses, so the prediction counts are 0. */
static void put_details(struct jwrite *w, int64_t reasoning)
{
	jw_object(w, "completion_tokens_details");
	jw_int(w, "reasoning_tokens", reasoning);
	jw_int(w, "accepted_prediction_tokens", 0);
	jw_int(w, "rejected_prediction_tokens", 0);
	jw_end(w);
}

/* A chunk has details where there is something in them. */
static void put_usage(struct jwrite *w, const struct infer_answer *a, int whole)
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

void openai_put(struct jwrite *w, const struct form_answer *f, const struct openai_form *o)
{
	const struct infer_answer *a = f->a;

	put_head(w, a, o->prefix, o->object, a->fingerprint);
	jw_array(w, "choices");
	for (int32_t i = 0; i < a->job->n; i++) {
		const struct infer_choice *c = &a->choices[i];

		jw_object(w, NULL);
		jw_int(w, "index", i);
		o->put_choice(w, a, i);
		if (a->job->logprobs >= 0)
			o->put_logprobs(w, a->tokenizer, c->tokens, c->n_tokens, 0);
		else
			jw_null(w, "logprobs");
		jw_str(w, "finish_reason", part_finish(c));
		jw_end(w);
	}
	jw_end(w);
	put_usage(w, a, 1);
	if (a->fingerprint)
		part_timings(w, &a->choices->usage);
	if (f->more)
		f->more(w, f->user);
}

void openai_put_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d,
                      const struct openai_form *o)
{
	const infer_tokenizer *t = a->tokenizer;

	put_head(w, a, o->prefix, o->chunk, o->marks_chunks ? a->fingerprint : NULL);
	jw_array(w, "choices");
	if (d->kind == INFER_DELTA_USAGE) {
		jw_end(w);
		put_usage(w, a, 0);
		if (a->job->each_timings)
			part_timings(w, &a->choices->usage);
		return;
	}
	jw_object(w, NULL);
	jw_int(w, "index", d->index);
	o->put_part(w, a, d);
	if (a->job->logprobs >= 0 && o->has_logprobs(t, d->tokens, d->n_tokens))
		o->put_logprobs(w, t, d->tokens, d->n_tokens, d->offset);
	else
		jw_null(w, "logprobs");
	if (d->kind == INFER_DELTA_END)
		jw_str(w, "finish_reason", part_finish(&a->choices[d->index]));
	else
		jw_null(w, "finish_reason");
	jw_end(w);
	jw_end(w);
	if (a->job->each_usage)
		put_usage(w, a, 0);
	if (a->job->each_timings && d->kind != INFER_DELTA_BEGIN)
		part_timings(w, &a->choices[d->index].usage);
}
