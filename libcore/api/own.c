/* api/own.c - our own format: reading the lines of a batch, writing completion records */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"

#include <math.h>

const struct job_field job_own[] = {
	{ "v", job_pass, job_put_nothing },
	{ "kind", job_pass, job_put_kind },
	{ "id", job_pass, job_put_id },
	{ "prompt", job_take_prompt, job_put_prompt },
	{ "model", job_pass_text, job_put_nothing },
	{ "raw", job_take_raw, job_put_raw },
	{ "messages", job_take_messages, job_put_messages },
	{ "tools", job_take_tools, job_put_tools },
	{ "tool_choice", job_take_tool_choice, job_put_tool_choice },
	{ "template_args", job_take_args, job_put_args },
	{ "template_sha256", job_take_template, job_put_template },
	{ "think", job_take_think, job_put_think },
	{ "think_budget", job_take_thinking_budget, job_put_think_budget },
	{ "now", job_take_now, job_put_now },
	{ "logprobs", job_take_logprobs, job_put_logprobs },
	{ NULL, NULL, NULL },
};
static const struct job_refused refused[] = { { NULL, 0 } };

static int read_own(struct job *j, const struct json *body)
{
	static const struct job_fields fields = { job_own, refused, -1 };

	return j->o->reads & INFER_JOB_EMBED ? embed_read_own(j, body)
	                                     : job_read_fields(j, body, &fields);
}

/* Write tokens per second, or null if nothing was timed. */
static void put_tok_s(struct jwrite *w, const char *key, int64_t n, int64_t ns)
{
	if (n > 0 && ns > 0)
		jw_num(w, key, (double)n * 1e9 / (double)ns);
	else
		jw_null(w, key);
}

static void put_counts(struct jwrite *w, const struct infer_usage *u)
{
	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", u->prompt_tokens);
	jw_int(w, "completion_tokens", u->completion_tokens);
	jw_int(w, "cached_tokens", u->cached_tokens);
	jw_end(w);
}

static void put_usage_timings(struct jwrite *w, const struct infer_usage *u, double load_ms)
{
	put_counts(w, u);
	jw_object(w, "timings");
	jw_num(w, "load_ms", load_ms);
	jw_num(w, "queue_ms", (double)u->queue_ns / 1e6);
	jw_num(w, "prefill_ms", (double)u->prefill_ns / 1e6);
	jw_num(w, "ttft_ms", (double)u->first_token_ns / 1e6);
	jw_num(w, "decode_ms", (double)u->decode_ns / 1e6);
	put_tok_s(w, "prefill_tok_s", u->prompt_tokens - u->cached_tokens, u->prefill_ns);
	put_tok_s(w, "decode_tok_s", u->completion_tokens - 1, u->decode_ns);
	jw_end(w);
}

static void put_tokens(struct jwrite *w, const struct infer_event *tokens, size_t n)
{
	int any = 0;

	jw_array(w, "tokens");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, tokens[i].token);
	jw_end(w);
	jw_array(w, "logprobs");
	for (size_t i = 0; i < n; i++) {
		jw_num(w, NULL, (double)tokens[i].logprob);
		any |= tokens[i].n_top > 0;
	}
	jw_end(w);
	if (!any)
		return;
	jw_array(w, "top");
	for (size_t i = 0; i < n; i++)
		part_top(w, NULL, tokens[i].top, tokens[i].n_top);
	jw_end(w);
}

/* Write the text, reasoning and calls, and how the answer ended. */
static void put_parts(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	const struct infer_choice *c = &a->choices[i];
	struct infer_reply_parts p = { .n_calls = 0 };

	part_text(w, c->text.at, c->text.len);
	if (c->reply)
		infer_reply_get(c->reply, &p);
	if (p.reasoning.len)
		jw_strn(w, "reasoning", p.reasoning.at, p.reasoning.len);
	if (p.n_calls)
		part_calls(w, c->reply, a->job, i);
	jw_str(w, "finish_reason", part_finish(c));
	put_usage_timings(w, &c->usage, a->load_ms);
}

static void put_fault(struct jwrite *w, const struct infer_choice *c)
{
	if (!c->code)
		return;
	jw_object(w, "error");
	jw_str(w, "code", infer_status_name(c->code));
	jw_str(w, "message", c->message);
	jw_end(w);
}

static void put_more(struct jwrite *w, const struct api_answer *f)
{
	if (f->more)
		f->more(w, f->user);
}

/* Write several samples of one prompt: the fields of each are in `choices`. */
static void put_samples(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;
	struct infer_usage u = part_total(a);

	jw_array(w, "choices");
	for (int32_t i = 0; i < a->job->n; i++) {
		jw_object(w, NULL);
		jw_int(w, "index", i);
		jw_int(w, "seed", (int64_t)infer_job_seed(a->job, i));
		put_parts(w, a, i);
		if (a->job->logprobs >= 0)
			put_tokens(w, a->choices[i].tokens, a->choices[i].n_tokens);
		jw_end(w);
	}
	jw_end(w);
	put_counts(w, &u);
	part_constraint(w, a->job);
	put_more(w, f);
}

static void put_completion(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;

	if (a->job->request.embed) {
		embed_put_own(w, f);
		return;
	}
	part_id(w, a->job);
	jw_int(w, "created", a->created);
	if (a->job->n > 1) {
		put_samples(w, f);
		return;
	}
	put_parts(w, a, 0);
	put_fault(w, a->choices);
	part_constraint(w, a->job);
	put_more(w, f);
	if (a->job->logprobs >= 0)
		put_tokens(w, a->choices->tokens, a->choices->n_tokens);
}

static void put_sample_end(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	if (a->job->n > 1)
		jw_int(w, "seed", (int64_t)infer_job_seed(a->job, i));
	jw_str(w, "finish_reason", part_finish(&a->choices[i]));
	put_usage_timings(w, &a->choices[i].usage, a->load_ms);
	put_fault(w, &a->choices[i]);
}

static void put_own_delta(struct jwrite *w, const struct infer_answer *a,
                          const struct infer_delta *d)
{
	struct infer_usage u;

	part_id(w, a->job);
	if (d->kind == INFER_DELTA_USAGE) {
		u = part_total(a);
		put_counts(w, &u);
		return;
	}
	jw_int(w, "index", d->index);
	if (d->kind == INFER_DELTA_TEXT)
		part_text(w, d->text.at, d->text.len);
	else if (d->kind == INFER_DELTA_REASONING)
		jw_strn(w, "reasoning", d->text.at, d->text.len);
	else if (d->kind == INFER_DELTA_CALL || d->kind == INFER_DELTA_ARGUMENTS)
		part_call_delta(w, a, d);
	else if (d->kind == INFER_DELTA_END)
		put_sample_end(w, a, d->index);
	if (a->job->logprobs >= 0 && d->n_tokens)
		put_tokens(w, d->tokens, d->n_tokens);
}

static void put_error(struct jwrite *w, const struct infer_fault *f)
{
	jw_str(w, "code", infer_status_name(f->error.code));
	jw_str(w, "message", f->error.message);
	jw_str(w, "param", f->param);
}

const struct infer_api api_own = {
	.name = "own",
	.read = read_own,
	.put = put_completion,
	.put_delta = put_own_delta,
	.put_error = put_error,
};
