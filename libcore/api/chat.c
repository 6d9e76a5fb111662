/* api/chat.c - OpenAI's chat completions */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"

#include <math.h>

static int take_parallel(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int several;

	TRY(job_take_bool(&several, key, v, err));
	j->single = !several;
	return INFER_OK;
}

static int take_modalities(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	json_each(m, v)
		if (!json_equals(m, "text"))
			return err_set(err, INFER_EUNSUP, "%s: only text is supported", key);
	return INFER_OK;
}

static const struct job_field known[] = {
	{ "messages", job_take_messages },
	{ "tools", job_take_tools },
	{ "tool_choice", job_take_tool_choice },
	{ "parallel_tool_calls", take_parallel },
	{ "chat_template_kwargs", job_take_args },
	{ "add_generation_prompt", job_take_prefill },
	{ "continue_final_message", job_take_prefill },
	{ "reasoning_effort", job_take_effort },
	{ "reasoning_format", job_take_reasoning },
	{ "reasoning_budget_tokens", job_take_thinking_budget },
	{ "thinking_budget_tokens", job_take_thinking_budget },
	{ "thinking_token_budget", job_take_thinking_budget },
	{ "max_completion_tokens", job_take_max_tokens },
	{ "echo", job_take_echo },
	{ "logprobs", job_take_chat_logprobs },
	{ "top_logprobs", job_take_chat_logprobs },
	/* accepted and ignored: there is one model, and no billing */
	{ "model", job_pass_text },
	{ "user", job_pass_text },
	{ "metadata", job_pass_object },
	{ "store", job_pass_bool },
	{ "service_tier", job_pass_text },
	{ "safety_identifier", job_pass_text },
	{ "prompt_cache_key", job_pass_text },
	{ "prediction", job_pass_object },
	{ "web_search_options", job_pass_object },
	{ "modalities", take_modalities },
	{ NULL, NULL },
};
static const struct job_refused refused[] = {
	{ "stream", 0 },          { "stream_options", NAN },  { "functions", NAN },
	{ "function_call", NAN }, { "verbosity", NAN },       { "documents", NAN },
	{ "chat_template", NAN }, { "include_reasoning", 1 }, { NULL, 0 },
};

static const struct job_fields fields = {
	.known = known,
	.refused = refused,
	.max_tokens = -1,
	.has_extras = 1,
};

static int read_chat(struct job *j, const struct json *body)
{
	return job_read_fields(j, body, &fields);
}

static void put_logprob(struct jwrite *w, const struct infer_answer *a, int32_t id, float logprob)
{
	char name[PART_TOKEN_NAME];
	const char *bytes;
	size_t n;

	if (part_token_text(a->tokenizer, id, &bytes, &n))
		n = 0;
	if (a->job->ids_for_texts)
		jw_str(w, "token", part_token_name(name, id));
	else
		jw_strn(w, "token", n ? bytes : "", n);
	jw_num(w, "logprob", isinf(logprob) ? PART_NEVER : (double)logprob);
	jw_array(w, "bytes");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, (unsigned char)bytes[i]);
	jw_end(w);
}

/* Write {content: [{token, logprob, bytes, top_logprobs}]}, one element per token of the text. */
static void put_logprobs(struct jwrite *w, const struct infer_answer *a,
                         const struct infer_event *tokens, size_t n, size_t offset)
{
	(void)offset;
	jw_object(w, "logprobs");
	jw_array(w, "content");
	for (size_t i = 0; i < n; i++) {
		const struct infer_event *ev = &tokens[i];

		if (infer_token_is_eog(a->tokenizer, ev->token))
			continue;
		jw_object(w, NULL);
		put_logprob(w, a, ev->token, ev->logprob);
		jw_array(w, "top_logprobs");
		for (int32_t k = 0; k < ev->n_top; k++) {
			jw_object(w, NULL);
			put_logprob(w, a, ev->top[k].token, ev->top[k].logprob);
			jw_end(w);
		}
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
	jw_null(w, "refusal");
	jw_end(w);
}

static int has_logprobs(const infer_tokenizer *t, const struct infer_event *tokens, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!infer_token_is_eog(t, tokens[i].token))
			return 1;
	return 0;
}

static void put_message(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	const struct infer_choice *c = &a->choices[i];
	struct infer_reply_parts p = { .n_calls = 0 };

	if (c->reply)
		infer_reply_get(c->reply, &p);
	jw_object(w, "message");
	jw_str(w, "role", "assistant");
	if (!c->text.len && p.n_calls)
		jw_null(w, "content");
	else
		jw_strn(w, "content", c->text.len ? c->text.at : "", c->text.len);
	if (p.reasoning.len)
		jw_strn(w, "reasoning_content", p.reasoning.at, p.reasoning.len);
	if (p.n_calls)
		part_calls(w, c->reply, a->job, i);
	jw_null(w, "refusal");
	jw_end(w);
}

static void put_delta_message(struct jwrite *w, const struct infer_answer *a,
                              const struct infer_delta *d)
{
	jw_object(w, "delta");
	switch (d->kind) {
	case INFER_DELTA_BEGIN:
		jw_str(w, "role", "assistant");
		jw_null(w, "content");
		break;
	case INFER_DELTA_REASONING:
		jw_strn(w, "reasoning_content", d->text.at, d->text.len);
		break;
	case INFER_DELTA_TEXT:
		jw_strn(w, "content", d->text.at, d->text.len);
		break;
	case INFER_DELTA_CALL:
	case INFER_DELTA_ARGUMENTS:
		part_call_delta(w, a, d);
		break;
	case INFER_DELTA_READ:
	case INFER_DELTA_END:
	case INFER_DELTA_USAGE:
		break;
	}
	jw_end(w);
}

static const struct openai_form row = {
	"chatcmpl-",  "chat.completion", "chat.completion.chunk", 1, put_message, put_delta_message,
	has_logprobs, put_logprobs,
};

static void put_chat(struct jwrite *w, const struct api_answer *f) { openai_put(w, f, &row); }

static void put_chat_delta(struct jwrite *w, const struct infer_answer *a,
                           const struct infer_delta *d)
{
	openai_put_delta(w, a, d, &row);
}

const struct infer_api api_chat = {
	.name = "chat",
	.path = "/v1/chat/completions",
	.flags = API_BEGINS | API_TALKS,
	.read = read_chat,
	.fields = &fields,
	.put = put_chat,
	.put_delta = put_chat_delta,
	.put_error = openai_put_error,
	.end = "[DONE]",
};
