/* api/ollama.c - answers of Ollama's /api/chat and /api/generate: one JSON object, or JSON lines */
#include "api/ollama.h"
#include "api/api.h"

#include <stdio.h>
#include <time.h>

/* ---- parts ---- */

/* Write the time as RFC 3339. */
static void put_created(struct jwrite *w, int64_t created)
{
	time_t at = (time_t)created;
	char text[40] = "";
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		*text = 0;
	jw_str(w, "created_at", text);
}

/* Write the model, under the name that the request has for it, and the time. */
static void put_ollama_head(struct jwrite *w, const struct infer_answer *a)
{
	const struct json *asked = json_get(a->job->body, "model");

	if (json_bytes(asked))
		jw_strn(w, "model", asked->s, asked->n);
	else
		jw_strn(w, "model", a->model.at, a->model.len);
	put_created(w, a->created);
}

static void put_token_logprob(struct jwrite *w, const struct infer_answer *a, int32_t id,
                              float logprob)
{
	const char *bytes;
	size_t n;

	if (part_token_text(a->tokenizer, id, &bytes, &n))
		n = 0;
	jw_strn(w, "token", n ? bytes : "", n);
	/* NaN and infinity have no JSON */
	jw_num(w, "logprob", logprob > (float)PART_NEVER ? (double)logprob : PART_NEVER);
	jw_array(w, "bytes");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, (unsigned char)bytes[i]);
	jw_end(w);
}

/* Write the log-probabilities of the tokens of the text, if they were requested. */
static void put_ollama_logprobs(struct jwrite *w, const struct infer_answer *a,
                                const struct infer_event *tokens, size_t n)
{
	if (a->job->logprobs < 0)
		return;
	jw_array(w, "logprobs");
	for (size_t i = 0; i < n; i++) {
		const struct infer_event *ev = &tokens[i];

		if (ev->kind != INFER_EVENT_TOKEN || infer_token_is_eog(a->tokenizer, ev->token))
			continue;
		jw_object(w, NULL);
		put_token_logprob(w, a, ev->token, ev->logprob);
		if (ev->n_top)
			jw_array(w, "top_logprobs");
		for (int32_t k = 0; k < ev->n_top; k++) {
			jw_object(w, NULL);
			put_token_logprob(w, a, ev->top[k].token, ev->top[k].logprob);
			jw_end(w);
		}
		if (ev->n_top)
			jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

static void put_ollama_calls(struct jwrite *w, const struct infer_answer *a, size_t from, size_t to)
{
	jw_array(w, "tool_calls");
	for (size_t i = from; i < to; i++) {
		struct infer_reply_call call;

		infer_reply_call(a->choices->reply, i, &call);
		jw_object(w, NULL);
		part_call_id(w, "id", "call_", &call, a->job, 0, i);
		jw_object(w, "function");
		jw_uint(w, "index", i);
		jw_strn(w, "name", call.name.at, call.name.len);
		part_arguments(w, "arguments", &call);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

/* A text, reasoning and calls to write. */
struct said {
	struct infer_str text, thinking;
	size_t from, to; /* the calls */
};

/* Write a piece of an answer, or all of it. */
static void put_said(struct jwrite *w, const struct infer_answer *a, const struct said *s)
{
	const int chat = a->job->api == &api_ollama_chat;

	if (chat) {
		jw_object(w, "message");
		jw_str(w, "role", "assistant");
	}
	jw_strn(w, chat ? "content" : "response", s->text.len ? s->text.at : "", s->text.len);
	if (s->thinking.len)
		jw_strn(w, "thinking", s->thinking.at, s->thinking.len);
	if (s->to > s->from)
		put_ollama_calls(w, a, s->from, s->to);
	if (chat)
		jw_end(w);
}

/* Write the ids of prompt and answer, which continue the conversation in a later request. */
static void put_context(struct jwrite *w, const struct infer_answer *a)
{
	const struct infer_prompt p = infer_job_prompt(a->job, 0);
	const struct infer_choice *c = a->choices;

	if (!a->job->token_ids)
		return;
	jw_array(w, "context");
	for (size_t i = 0; i < p.n; i++)
		jw_int(w, NULL, p.ids[i]);
	for (size_t i = 0; i < c->n_tokens; i++)
		if (c->tokens[i].kind == INFER_EVENT_TOKEN)
			jw_int(w, NULL, c->tokens[i].token);
	jw_end(w);
}

/* Write the members that only the last object has.  Durations are in nanoseconds. */
static void put_done(struct jwrite *w, const struct infer_answer *a)
{
	const struct infer_usage *u = &a->choices->usage;
	const int64_t load_ns = (int64_t)(a->load_ms * 1e6);

	jw_bool(w, "done", 1);
	jw_str(w, "done_reason", a->choices->finish == INFER_FINISH_LENGTH ? "length" : "stop");
	put_context(w, a);
	jw_int(w, "total_duration", load_ns + u->queue_ns + u->prefill_ns + u->decode_ns);
	jw_int(w, "load_duration", load_ns);
	jw_int(w, "prompt_eval_count", u->prompt_tokens);
	jw_int(w, "prompt_eval_duration", u->prefill_ns);
	jw_int(w, "eval_count", u->completion_tokens);
	jw_int(w, "eval_duration", u->decode_ns);
}

/* ---- whole answers ---- */

static void put_ollama(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;
	const struct infer_choice *c = a->choices;
	struct infer_reply_parts p = { .n_calls = 0 };

	if (c->reply)
		infer_reply_get(c->reply, &p);
	put_ollama_head(w, a);
	put_said(w, a, &(struct said){ c->text, p.reasoning, 0, p.n_calls });
	put_ollama_logprobs(w, a, c->tokens, c->n_tokens);
	put_done(w, a);
	if (f->more)
		f->more(w, f->user);
}

/* ---- streams ---- */

static struct jwrite *begin_line(infer_writer *to)
{
	jw_init(&to->w, &to->text);
	jw_object(&to->w, NULL);
	return &to->w;
}

static void end_line(infer_writer *to)
{
	jw_end(&to->w);
	jw_line(&to->w);
}

static void put_piece(infer_writer *to, const struct infer_answer *a, const struct infer_delta *d,
                      const struct said *s)
{
	struct jwrite *w = begin_line(to);

	put_ollama_head(w, a);
	put_said(w, a, s);
	if (d->n_tokens)
		put_ollama_logprobs(w, a, d->tokens, d->n_tokens);
	jw_bool(w, "done", 0);
	end_line(to);
}

/* Write the calls before call `to` that were not written yet: they are complete. */
static void put_complete_calls(infer_writer *to, const struct infer_answer *a,
                               const struct infer_delta *d, size_t n, struct infer_stream *s)
{
	const struct said calls = { .from = s->call, .to = n };

	/* log-probabilities are written with the text that has their tokens */
	if (n > s->call || (a->job->logprobs >= 0 && d->n_tokens))
		put_piece(to, a, d, &calls);
	s->call = n > s->call ? n : s->call;
}

static void put_last_line(infer_writer *to, const struct infer_answer *a,
                          const struct infer_delta *d)
{
	struct jwrite *w = begin_line(to);

	put_ollama_head(w, a);
	put_said(w, a, &(struct said){ .from = 0 });
	if (d->n_tokens)
		put_ollama_logprobs(w, a, d->tokens, d->n_tokens);
	put_done(w, a);
	end_line(to);
}

static void put_ollama_lines(infer_writer *to, const struct infer_answer *a,
                             const struct infer_delta *d, struct infer_stream *s)
{
	const struct infer_delta none = { .text = { "", 0 } };
	struct infer_reply_parts p = { .n_calls = 0 };

	switch (d->kind) {
	case INFER_DELTA_REASONING:
		put_piece(to, a, d, &(struct said){ .thinking = d->text });
		break;
	case INFER_DELTA_TEXT:
		put_piece(to, a, d, &(struct said){ .text = d->text });
		break;
	case INFER_DELTA_CALL:
	case INFER_DELTA_ARGUMENTS:
		put_complete_calls(to, a, d, d->call, s);
		break;
	case INFER_DELTA_END:
		if (a->choices->reply)
			infer_reply_get(a->choices->reply, &p);
		put_complete_calls(to, a, &none, p.n_calls, s);
		put_last_line(to, a, d);
		break;
	case INFER_DELTA_BEGIN:
	case INFER_DELTA_READ:
	case INFER_DELTA_USAGE:
		break;
	}
}

/* ---- errors ---- */

void ollama_put_error(struct jwrite *w, const struct infer_fault *f)
{
	jw_str(w, "error", f->error.message);
}

static void put_fault_line(infer_writer *to, const struct infer_fault *f, const char *request_id,
                           struct infer_stream *s)
{
	(void)request_id, (void)s;
	ollama_put_error(begin_line(to), f);
	end_line(to);
}

const struct infer_api api_ollama_chat = {
	.name = "ollama_chat",
	.path = "/api/chat",
	.flags = API_TALKS | API_LINES,
	.read = ollama_read_chat,
	.fields = &ollama_chat_fields,
	.put = put_ollama,
	.put_events = put_ollama_lines,
	.put_error = ollama_put_error,
	.put_fault_event = put_fault_line,
};
const struct infer_api api_ollama_generate = {
	.name = "ollama_generate",
	.path = "/api/generate",
	.flags = API_LINES,
	.read = ollama_read_generate,
	.fields = &ollama_generate_fields,
	.put = put_ollama,
	.put_events = put_ollama_lines,
	.put_error = ollama_put_error,
	.put_fault_event = put_fault_line,
};
