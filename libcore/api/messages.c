/* api/messages.c - Anthropic's /v1/messages: answers, their streams, and the count of a prompt */
#include "api/messages.h"
#include "api/api.h"
#include "base/err.h"

#include <string.h>

/* ---- parts ---- */

/* Write the usage: input_tokens are those that were not cached. */
static void put_message_usage(struct jwrite *w, const struct infer_usage *u, int64_t output)
{
	jw_object(w, "usage");
	jw_int(w, "input_tokens", u->prompt_tokens - u->cached_tokens);
	jw_int(w, "cache_creation_input_tokens", 0);
	jw_int(w, "cache_read_input_tokens", u->cached_tokens);
	jw_int(w, "output_tokens", output);
	jw_end(w);
}

static void put_stop(struct jwrite *w, const struct infer_answer *a)
{
	const struct infer_choice *c = a->choices;
	const struct infer_request *q = &a->job->request;
	struct infer_reply_parts p = { .n_calls = 0 };
	const int cut = c->finish == INFER_FINISH_LENGTH;

	if (c->reply)
		infer_reply_get(c->reply, &p);
	/* if the answer has fewer tokens than max_tokens, the context ended it */
	jw_str(w, "stop_reason",
	       cut && (q->max_tokens < 0 || c->usage.completion_tokens < q->max_tokens)
	               ? "model_context_window_exceeded"
	       : cut          ? "max_tokens"
	       : p.n_calls    ? "tool_use"
	       : c->stop >= 0 ? "stop_sequence"
	                      : "end_turn");
	if (!cut && !p.n_calls && c->stop >= 0 && c->stop < q->n_stop)
		jw_strn(w, "stop_sequence", q->stop[c->stop].at, q->stop[c->stop].len);
	else
		jw_null(w, "stop_sequence");
}

static void put_message_head(struct jwrite *w, const struct infer_answer *a)
{
	part_name(w, "id", "msg_", a->job);
	jw_str(w, "type", "message");
	jw_str(w, "role", "assistant");
	jw_strn(w, "model", a->model.at, a->model.len);
}

static void put_thinking(struct jwrite *w, const char *text, size_t n)
{
	jw_str(w, "type", "thinking");
	jw_strn(w, "thinking", n ? text : "", n);
	jw_str(w, "signature", "");
}

static void put_text_block(struct jwrite *w, const char *text, size_t n)
{
	jw_str(w, "type", "text");
	jw_strn(w, "text", n ? text : "", n);
}

static void put_call(struct jwrite *w, const struct infer_answer *a, size_t i)
{
	struct infer_reply_call call;

	infer_reply_call(a->choices->reply, i, &call);
	jw_str(w, "type", "tool_use");
	part_call_id(w, "id", "toolu_", &call, a->job, 0, i);
	jw_strn(w, "name", call.name.at, call.name.len);
}

static void put_input(struct jwrite *w, const struct infer_answer *a, size_t i)
{
	struct infer_reply_call call;

	infer_reply_call(a->choices->reply, i, &call);
	part_arguments(w, "input", &call);
}

/* ---- a whole answer ---- */

static void put_blocks(struct jwrite *w, const struct infer_answer *a)
{
	const struct infer_choice *c = a->choices;
	struct infer_reply_parts p = { .n_calls = 0 };

	if (c->reply)
		infer_reply_get(c->reply, &p);
	jw_array(w, "content");
	if (p.reasoning.len) {
		jw_object(w, NULL);
		put_thinking(w, p.reasoning.at, p.reasoning.len);
		jw_end(w);
	}
	if (c->text.len || (!p.reasoning.len && !p.n_calls)) {
		jw_object(w, NULL);
		put_text_block(w, c->text.at, c->text.len);
		jw_end(w);
	}
	for (size_t i = 0; i < p.n_calls; i++) {
		jw_object(w, NULL);
		put_call(w, a, i);
		put_input(w, a, i);
		jw_end(w);
	}
	jw_end(w);
}

static void put_whole_message(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;

	put_message_head(w, a);
	put_blocks(w, a);
	put_stop(w, a);
	put_message_usage(w, &a->choices->usage, a->choices->usage.completion_tokens);
	if (f->more)
		f->more(w, f->user);
}

/* ---- a stream ---- */

static struct jwrite *begin_typed_event(infer_writer *to, const char *type)
{
	struct jwrite *w = event_begin(to, type);

	jw_str(w, "type", type);
	return w;
}

static void put_start(infer_writer *to, const struct infer_answer *a)
{
	struct jwrite *w = begin_typed_event(to, "message_start");

	jw_object(w, "message");
	put_message_head(w, a);
	jw_array(w, "content");
	jw_end(w);
	jw_null(w, "stop_reason");
	jw_null(w, "stop_sequence");
	put_message_usage(w, &a->choices->usage, 0);
	jw_end(w);
	event_end(to);
}

static void put_block_delta(infer_writer *to, const struct infer_stream *s, const char *type,
                            const char *key, struct infer_str text)
{
	struct jwrite *w = begin_typed_event(to, "content_block_delta");

	jw_int(w, "index", s->items - 1);
	jw_object(w, "delta");
	jw_str(w, "type", type);
	jw_strn(w, key, text.at, text.len);
	jw_end(w);
	event_end(to);
}

static void end_block(infer_writer *to, struct infer_stream *s)
{
	struct jwrite *w;

	if (!s->open)
		return;
	if (s->open == INFER_DELTA_REASONING)
		put_block_delta(to, s, "signature_delta", "signature", (struct infer_str){ "", 0 });
	w = begin_typed_event(to, "content_block_stop");
	jw_int(w, "index", s->items - 1);
	event_end(to);
	s->open = 0;
}

/* Begin a block, after ending the open one.  Text of the open block's kind continues it. */
static void open_block(infer_writer *to, const struct infer_answer *a, int kind, size_t call,
                       struct infer_stream *s)
{
	struct jwrite *w;

	if (s->open == kind && kind != INFER_DELTA_CALL)
		return;
	end_block(to, s);
	s->open = kind;
	w = begin_typed_event(to, "content_block_start");
	jw_int(w, "index", s->items++);
	jw_object(w, "content_block");
	if (kind == INFER_DELTA_REASONING) {
		put_thinking(w, "", 0);
	} else if (kind == INFER_DELTA_TEXT) {
		put_text_block(w, "", 0);
	} else {
		put_call(w, a, call);
		jw_object(w, "input");
		jw_end(w);
	}
	jw_end(w);
	event_end(to);
}

static void put_message_end(infer_writer *to, const struct infer_answer *a, struct infer_stream *s)
{
	struct jwrite *w;

	if (!s->items)
		open_block(to, a, INFER_DELTA_TEXT, 0, s);
	end_block(to, s);
	w = begin_typed_event(to, "message_delta");
	jw_object(w, "delta");
	put_stop(w, a);
	jw_end(w);
	jw_object(w, "usage");
	jw_int(w, "output_tokens", a->choices->usage.completion_tokens);
	jw_end(w);
	event_end(to);
	begin_typed_event(to, "message_stop");
	event_end(to);
}

static void put_events(infer_writer *to, const struct infer_answer *a, const struct infer_delta *d,
                       struct infer_stream *s)
{
	switch (d->kind) {
	case INFER_DELTA_BEGIN:
		put_start(to, a);
		break;
	case INFER_DELTA_REASONING:
		open_block(to, a, d->kind, 0, s);
		put_block_delta(to, s, "thinking_delta", "thinking", d->text);
		break;
	case INFER_DELTA_TEXT:
		open_block(to, a, d->kind, 0, s);
		put_block_delta(to, s, "text_delta", "text", d->text);
		break;
	case INFER_DELTA_CALL:
		open_block(to, a, d->kind, d->call, s);
		break;
	case INFER_DELTA_ARGUMENTS:
		put_block_delta(to, s, "input_json_delta", "partial_json", d->text);
		break;
	case INFER_DELTA_END:
		put_message_end(to, a, s);
		break;
	case INFER_DELTA_READ:
	case INFER_DELTA_USAGE:
		break;
	}
}

static void put_error(struct jwrite *w, const struct infer_fault *f)
{
	jw_str(w, "type", "error");
	part_anthropic_error(w, f);
}

static void put_fault_event(infer_writer *to, const struct infer_fault *f, const char *request_id,
                            struct infer_stream *s)
{
	(void)request_id, (void)s;
	put_error(event_begin(to, "error"), f);
	event_end(to);
}

const struct infer_api api_messages = {
	.name = "messages",
	.path = "/v1/messages",
	.flags = API_BEGINS | API_TALKS,
	.read = messages_read,
	.fields = &messages_fields,
	.put = put_whole_message,
	.put_events = put_events,
	.put_error = put_error,
	.put_fault_event = put_fault_event,
};

/* ---- the count of a prompt ---- */

static int read_count(struct job *j, const struct json *body)
{
	j->counts = 1;
	if (messages_read(j, body))
		return j->j.fault.error.code;
	j->j.stream = 0;
	j->j.request.max_tokens = 0;
	return INFER_OK;
}

static void put_count(struct jwrite *w, const struct api_answer *f)
{
	jw_int(w, "input_tokens", (int64_t)f->a->job->request.n_prompt);
}

const struct infer_api api_count = {
	.name = "count",
	.path = "/v1/messages/count_tokens",
	.flags = API_TALKS | API_COUNTS,
	.read = read_count,
	.put = put_count,
	.put_events = put_events,
	.put_error = put_error,
	.put_fault_event = put_fault_event,
};
