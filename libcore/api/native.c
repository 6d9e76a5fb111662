/* api/native.c - write answers in the format of llama.cpp's server: /completion and /infill */
#include "api/native.h"
#include "api/api.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/jread.h"

#include <math.h>
#include <string.h>

/* ---- parts ---- */

/* Write a token, and its log-probability, or its probability after all sampler stages. */
static void put_token_probs(struct jwrite *w, const struct infer_answer *a, int32_t id,
                            float logprob)
{
	const infer_tokenizer *t = a->tokenizer;
	const char *bytes;
	size_t n;

	if (part_token_text(t, id, &bytes, &n))
		n = 0;
	jw_int(w, "id", id);
	jw_strn(w, "token", n ? bytes : "", n);
	jw_array(w, "bytes");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, (unsigned char)bytes[i]);
	jw_end(w);
	if (a->job->request.flags & INFER_REQ_AFTER)
		jw_num(w, "prob", fm_exp((double)logprob));
	else
		jw_num(w, "logprob", isinf(logprob) ? PART_NEVER : (double)logprob);
}

static void put_probs(struct jwrite *w, const struct infer_answer *a,
                      const struct infer_event *tokens, size_t n)
{
	const int after = a->job->request.flags & INFER_REQ_AFTER;

	if (a->job->logprobs <= 0)
		return;
	jw_array(w, "completion_probabilities");
	for (size_t i = 0; i < n; i++) {
		jw_object(w, NULL);
		put_token_probs(w, a, tokens[i].token, tokens[i].logprob);
		jw_array(w, after ? "top_probs" : "top_logprobs");
		for (int32_t k = 0; k < tokens[i].n_top; k++) {
			jw_object(w, NULL);
			put_token_probs(w, a, tokens[i].top[k].token, tokens[i].top[k].logprob);
			jw_end(w);
		}
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

static void put_tokens(struct jwrite *w, const struct infer_event *tokens, size_t n)
{
	jw_array(w, "tokens");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, tokens[i].token);
	jw_end(w);
}

static void put_one_bias(struct jwrite *w, int32_t token, float bias)
{
	jw_object(w, NULL);
	if (isinf(bias))
		jw_null(w, "bias");
	else
		jw_num(w, "bias", (double)bias);
	jw_int(w, "token", token);
	jw_end(w);
}

/* Write the logit bias; with ignore_eos, tokens that end a turn are forbidden too. */
static void put_bias(struct jwrite *w, const struct infer_answer *a)
{
	const struct infer_request *q = &a->job->request;
	const int32_t n = q->flags & INFER_REQ_IGNORE_EOS ? infer_tokenizer_count(a->tokenizer) : 0;

	jw_array(w, "logit_bias");
	for (int32_t i = 0; i < q->sample.n_bias; i++)
		put_one_bias(w, q->sample.bias[i].token, q->sample.bias[i].bias);
	for (int32_t id = 0; id < n; id++)
		if (infer_token_is_eog(a->tokenizer, id))
			put_one_bias(w, id, -INFINITY);
	jw_end(w);
}

static void put_settings(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	const struct infer_request *q = &a->job->request;
	const struct infer_sample_param *p;

	jw_object(w, "generation_settings");
	jw_int(w, "seed", (int64_t)infer_job_seed(a->job, i));
	for (int k = 0; (p = infer_sample_param(k)); k++)
		part_number(w, p, &q->sample);
	part_stages(w, "samplers", &q->sample);
	part_texts(w, "stop", q->stop, (size_t)q->n_stop);
	jw_int(w, "max_tokens", q->max_tokens);
	jw_int(w, "n_predict", q->max_tokens);
	jw_int(w, "n_probs", a->job->logprobs);
	jw_bool(w, "post_sampling_probs", (q->flags & INFER_REQ_AFTER) != 0);
	put_bias(w, a);
	jw_bool(w, "ignore_eos", (q->flags & INFER_REQ_IGNORE_EOS) != 0);
	jw_bool(w, "stream", a->job->stream);
	part_constraint(w, a->job);
	jw_end(w);
}

/* Write the prompt as text, including control tokens. */
static void put_prompt_text(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	struct infer_prompt p = infer_job_prompt(a->job, i);
	struct buf text;

	buf_init(&text, MEM_JOB);
	for (size_t k = 0; k < p.n; k++) {
		const char *bytes;
		size_t n;

		if (!part_token_text(a->tokenizer, p.ids[k], &bytes, &n) && n)
			buf_put(&text, bytes, n);
	}
	jw_strn(w, "prompt", text.len ? text.at : "", text.len);
	w->to->bad |= text.bad;
	buf_fini(&text);
}

static void put_stop(struct jwrite *w, const struct infer_answer *a, const struct infer_choice *c)
{
	const struct infer_request *q = &a->job->request;
	const int word = c->stop >= 0 && c->stop < q->n_stop;

	jw_str(w, "stop_type",
	       c->finish == INFER_FINISH_LENGTH ? "limit"
	       : word                           ? "word"
	       : c->finish == INFER_FINISH_STOP ? "eos"
	                                        : "none");
	if (word)
		jw_strn(w, "stopping_word", q->stop[c->stop].at, q->stop[c->stop].len);
	else
		jw_str(w, "stopping_word", "");
}

static void put_native_head(struct jwrite *w, int32_t i, struct infer_str content)
{
	jw_int(w, "index", i);
	jw_strn(w, "content", content.len ? content.at : "", content.len);
}

static void put_counts(struct jwrite *w, const struct infer_choice *c)
{
	jw_int(w, "tokens_predicted", c->usage.completion_tokens);
	jw_int(w, "tokens_evaluated", c->usage.prompt_tokens);
}

/* True if the end of the context ended the answer. */
static int is_cut(const struct infer_answer *a, const struct infer_choice *c)
{
	const int32_t most = a->job->request.max_tokens;

	return c->finish == INFER_FINISH_LENGTH && (most < 0 || c->usage.completion_tokens < most);
}

/* Write the result of sample i.  streamed: without the text and tokens, which were streamed. */
static void put_result(struct jwrite *w, const struct infer_answer *a, int32_t i, int streamed)
{
	const struct infer_choice *c = &a->choices[i];
	const struct infer_str none = { "", 0 };
	const struct infer_usage *u = &c->usage;

	put_native_head(w, i, streamed ? none : c->text);
	put_tokens(w, c->tokens, streamed || !a->job->tokens ? 0 : c->n_tokens);
	jw_bool(w, "stop", 1);
	put_stop(w, a, c);
	jw_int(w, "id_slot", a->job->slot ? a->job->slot - 1 : i);
	jw_strn(w, "model", a->model.at, a->model.len);
	put_counts(w, c);
	put_settings(w, a, i);
	put_prompt_text(w, a, i);
	jw_bool(w, "truncated", is_cut(a, c));
	jw_bool(w, "has_new_line", c->text.len && memchr(c->text.at, '\n', c->text.len) != NULL);
	jw_int(w, "tokens_cached",
	       u->prompt_tokens + u->completion_tokens - (u->completion_tokens > 0));
	part_timings(w, u);
	if (!streamed)
		put_probs(w, a, c->tokens, c->n_tokens);
}

/* ---- chosen fields ---- */

/* Return the value at a path such as "a/b", or NULL. */
static const struct json *at_path(const struct json *v, const struct json *path)
{
	const char *at = path->s, *end = at + path->n;

	for (;;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));

		v = json_getn(v, at, (size_t)((slash ? slash : end) - at));
		if (!slash || !v)
			return v;
		at = slash + 1;
	}
}

static void put_field(struct jwrite *w, struct arena *mem, const struct json *all,
                      const struct json *path)
{
	const struct json *v = at_path(all, path);
	const char *key = arena_strndup(mem, path->s, path->n);

	if (v && key)
		jw_value(w, key, json_share(mem, v));
}

/* Write the fields of put_result() that the request selected. */
static void put_chosen(struct jwrite *w, const struct infer_answer *a, int32_t i, int streamed)
{
	const struct json *fields = json_get(a->job->body, "response_fields"), *all;
	struct jwrite whole;
	struct arena mem;
	struct buf text;

	if (!json_count(fields)) {
		put_result(w, a, i, streamed);
		return;
	}
	buf_init(&text, MEM_JOB);
	arena_init(&mem, MEM_JOB);
	jw_init(&whole, &text);
	jw_object(&whole, NULL);
	put_result(&whole, a, i, streamed);
	jw_end(&whole);
	if (!text.bad && !jread(&all, &mem, text.at, text.len, "answer", NULL))
		json_each(path, fields)
			put_field(w, &mem, all, path);
	else
		w->to->bad = 1;
	w->to->bad |= mem.bad;
	arena_fini(&mem);
	buf_fini(&text);
}

/* ---- answers ---- */

static void put_native(struct jwrite *w, const struct api_answer *f)
{
	put_chosen(w, f->a, 0, 0);
	if (f->more)
		f->more(w, f->user);
}

/* Write several answers as a list. */
static void put_list(struct jwrite *w, const struct infer_answer *a)
{
	jw_array(w, NULL);
	for (int32_t i = 0; i < a->job->n; i++) {
		jw_object(w, NULL);
		put_chosen(w, a, i, 0);
		jw_end(w);
	}
	jw_end(w);
}

static void put_native_delta(struct jwrite *w, const struct infer_answer *a,
                             const struct infer_delta *d)
{
	const struct infer_choice *c = &a->choices[d->index];

	if (d->kind == INFER_DELTA_END) {
		put_chosen(w, a, d->index, 1);
		return;
	}
	put_native_head(w, d->index, d->text);
	put_tokens(w, d->tokens, d->n_tokens);
	jw_bool(w, "stop", 0);
	jw_int(w, "id_slot", a->job->slot ? a->job->slot - 1 : d->index);
	put_counts(w, c);
	if (d->kind == INFER_DELTA_READ)
		part_progress(w, a, c);
	else if (a->job->each_timings)
		part_timings(w, &c->usage);
	put_probs(w, a, d->tokens, d->n_tokens);
}

const struct infer_api api_native = {
	.name = "native",
	.path = "/completion",
	.read = native_read,
	.flags = API_LISTS,
	.fields = &native_fields,
	.put = put_native,
	.put_list = put_list,
	.put_delta = put_native_delta,
	.put_error = openai_put_error,
};
const struct infer_api api_infill = {
	.name = "infill",
	.path = "/infill",
	.read = gap_read,
	.flags = API_LISTS,
	.fields = &gap_fields,
	.put = put_native,
	.put_list = put_list,
	.put_delta = put_native_delta,
	.put_error = openai_put_error,
};
