/* api/responses.c - OpenAI's /v1/responses: answers as lists of items, and their streams */
#include "api/responses.h"
#include "api/api.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* The state of an answer: in progress, or how it ended. */
enum state { MAKING, COMPLETED, INCOMPLETE };

static enum state state_of(const struct infer_answer *a)
{
	return a->choices->finish == INFER_FINISH_LENGTH ? INCOMPLETE : COMPLETED;
}

static const char *status_word(enum state s)
{
	static const char *const words[] = { "in_progress", "completed", "incomplete" };

	return words[s];
}

/* Write the id of an item, derived from the request: all events of a stream have the same. */
static void put_item_id(struct jwrite *w, const char *key, const struct infer_answer *a, int kind,
                        int32_t item)
{
	const char *prefix = kind == INFER_DELTA_REASONING ? "rs_"
	                     : kind == INFER_DELTA_TEXT    ? "msg_"
	                                                   : "fc_";
	const struct infer_reply_call none = { .id = { "", 0 } };

	part_call_id(w, key, prefix, &none, a->job, -1, (size_t)item);
}

/* ---- items ---- */

/* Write a part of a message.  whole 1: of a complete response, with log-probabilities. */
static void put_content_part(struct jwrite *w, const char *key, struct infer_str text, int whole)
{
	jw_object(w, key);
	jw_str(w, "type", "output_text");
	jw_strn(w, "text", text.len ? text.at : "", text.len);
	jw_array(w, "annotations");
	jw_end(w);
	if (whole) {
		jw_array(w, "logprobs");
		jw_end(w);
	}
	jw_end(w);
}

static void put_call(struct jwrite *w, const struct infer_answer *a, size_t i, enum state s)
{
	struct infer_reply_call call;

	infer_reply_call(a->choices->reply, i, &call);
	part_call_id(w, "call_id", "call_", &call, a->job, 0, i);
	jw_strn(w, "name", call.name.at, call.name.len);
	if (s == MAKING)
		jw_str(w, "arguments", "");
	else
		jw_strn(w, "arguments", call.arguments.at, call.arguments.len);
}

static void put_reasoning(struct jwrite *w, struct infer_str text, enum state s)
{
	jw_array(w, "summary");
	jw_end(w);
	jw_array(w, "content");
	if (s != MAKING) {
		jw_object(w, NULL);
		jw_str(w, "type", "reasoning_text");
		jw_strn(w, "text", text.at, text.len);
		jw_end(w);
	}
	jw_end(w);
}

struct item {
	int kind; /* INFER_DELTA_REASONING, _TEXT, _CALL */
	int32_t index;
	size_t call;
	struct infer_str text;
	int whole;
};

static void put_item(struct jwrite *w, const char *key, const struct infer_answer *a,
                     const struct item *i, enum state s)
{
	jw_object(w, key);
	put_item_id(w, "id", a, i->kind, i->index);
	jw_str(w, "type",
	       i->kind == INFER_DELTA_REASONING ? "reasoning"
	       : i->kind == INFER_DELTA_TEXT    ? "message"
	                                        : "function_call");
	jw_str(w, "status", status_word(s));
	if (i->kind == INFER_DELTA_REASONING) {
		put_reasoning(w, i->text, s);
	} else if (i->kind == INFER_DELTA_TEXT) {
		jw_str(w, "role", "assistant");
		jw_array(w, "content");
		if (s != MAKING)
			put_content_part(w, NULL, i->text, i->whole);
		jw_end(w);
	} else {
		put_call(w, a, i->call, s);
	}
	jw_end(w);
}

/* Write the items of an answer, if it has ended. */
static void put_output(struct jwrite *w, const struct infer_answer *a, enum state s)
{
	const struct infer_choice *c = a->choices;
	struct infer_reply_parts p = { .n_calls = 0 };
	struct item i = { .whole = 1 };

	jw_array(w, "output");
	if (c->reply && s != MAKING)
		infer_reply_get(c->reply, &p);
	if (p.reasoning.len) {
		i.kind = INFER_DELTA_REASONING;
		i.text = p.reasoning;
		put_item(w, NULL, a, &i, s);
		i.index++;
	}
	if (s != MAKING && (c->text.len || (!p.n_calls && !p.reasoning.len))) {
		i.kind = INFER_DELTA_TEXT;
		i.text = c->text;
		put_item(w, NULL, a, &i, s);
		i.index++;
	}
	for (i.kind = INFER_DELTA_CALL; i.call < p.n_calls; i.call++, i.index++)
		put_item(w, NULL, a, &i, i.call + 1 < p.n_calls ? COMPLETED : s);
	jw_end(w);
}

/* ---- a response ---- */

static void put_response_usage(struct jwrite *w, const struct infer_answer *a, enum state s)
{
	const struct infer_usage *u = &a->choices->usage;

	if (s == MAKING) {
		jw_null(w, "usage");
		return;
	}
	jw_object(w, "usage");
	jw_int(w, "input_tokens", u->prompt_tokens);
	jw_object(w, "input_tokens_details");
	jw_int(w, "cached_tokens", u->cached_tokens);
	/* the rest of the prompt is computed, and cached with it */
	jw_int(w, "cache_write_tokens", u->prompt_tokens - u->cached_tokens);
	jw_end(w);
	jw_int(w, "output_tokens", u->completion_tokens);
	jw_object(w, "output_tokens_details");
	jw_int(w, "reasoning_tokens", a->choices->reasoning_tokens);
	jw_end(w);
	jw_int(w, "total_tokens", u->prompt_tokens + u->completion_tokens);
	jw_end(w);
}

/* Write a field of the request, or `absent`, its default as JSON. */
static void put_asked(struct jwrite *w, const struct infer_answer *a, const char *key,
                      const char *absent)
{
	const struct json *v = json_get(a->job->body, key);
	struct json alone;

	if (!v || json_is_null(v)) {
		jw_raw(w, key, absent, strlen(absent));
		return;
	}
	alone = *v;
	alone.key = NULL;
	alone.next = NULL;
	jw_value(w, key, &alone);
}

static void put_sampling(struct jwrite *w, const struct infer_answer *a, const char *name)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++)
		if (!strcmp(p->name, name))
			part_number(w, p, &a->job->request.sample);
}

static void put_times(struct jwrite *w, const struct infer_answer *a, enum state s)
{
	const struct infer_usage *u = &a->choices->usage;

	jw_int(w, "created_at", a->created);
	if (s == MAKING)
		jw_null(w, "completed_at");
	else
		jw_int(w, "completed_at",
		       a->created + (u->first_token_ns + u->decode_ns) / 1000000000);
}

static void put_members(struct jwrite *w, const struct infer_answer *a, enum state s)
{
	part_name(w, "id", "resp_", a->job);
	jw_str(w, "object", "response");
	put_times(w, a, s);
	jw_str(w, "status", status_word(s));
	jw_null(w, "error");
	if (s == INCOMPLETE) {
		jw_object(w, "incomplete_details");
		jw_str(w, "reason", "max_output_tokens");
		jw_end(w);
	} else {
		jw_null(w, "incomplete_details");
	}
	put_asked(w, a, "instructions", "null");
	put_asked(w, a, "max_output_tokens", "null");
	jw_strn(w, "model", a->model.at, a->model.len);
	put_output(w, a, s);
	put_asked(w, a, "parallel_tool_calls", "true");
	jw_str(w, "previous_response_id", a->job->previous);
	put_asked(w, a, "reasoning", "{\"effort\":null,\"summary\":null}");
	jw_bool(w, "store", a->job->store);
	put_sampling(w, a, "temperature");
	put_asked(w, a, "text", "{\"format\":{\"type\":\"text\"}}");
	put_asked(w, a, "tool_choice", "\"auto\"");
	put_asked(w, a, "tools", "[]");
	put_sampling(w, a, "top_p");
	put_asked(w, a, "truncation", "\"disabled\"");
	put_response_usage(w, a, s);
	if (json_is_string(json_get(a->job->body, "user")))
		put_asked(w, a, "user", "");
	put_asked(w, a, "metadata", "{}");
}

static void put_response_object(struct jwrite *w, const struct api_answer *f)
{
	put_members(w, f->a, state_of(f->a));
	if (f->more)
		f->more(w, f->user);
}

/* ---- a stream ---- */

static struct jwrite *begin_numbered_event(infer_writer *to, const char *type,
                                           struct infer_stream *s)
{
	struct jwrite *w = event_begin(to, type);

	jw_str(w, "type", type);
	jw_int(w, "sequence_number", s->sequence++);
	return w;
}

static struct jwrite *put_made(infer_writer *to, const struct infer_answer *a, const char *type,
                               enum state state, struct infer_stream *s)
{
	struct jwrite *w = begin_numbered_event(to, type, s);

	jw_object(w, "response");
	put_members(w, a, state);
	jw_end(w);
	return w;
}

static void put_response(infer_writer *to, const struct infer_answer *a, const char *type,
                         enum state state, struct infer_stream *s)
{
	(void)put_made(to, a, type, state, s);
	event_end(to);
}

/* Begin an event of the open item. */
static struct jwrite *begin_of_item(infer_writer *to, const struct infer_answer *a,
                                    const char *type, struct infer_stream *s)
{
	struct jwrite *w = begin_numbered_event(to, type, s);

	put_item_id(w, "item_id", a, s->open, s->items - 1);
	jw_int(w, "output_index", s->items - 1);
	if (s->open != INFER_DELTA_CALL)
		jw_int(w, "content_index", 0);
	return w;
}

/* Return the open item with its text so far. */
static struct item opened(const struct infer_answer *a, const struct infer_stream *s)
{
	const struct infer_choice *c = a->choices;
	struct infer_reply_parts p = { .n_calls = 0 };
	struct item i = { .kind = s->open, .index = s->items - 1, .call = s->call };
	struct infer_str all = c->text;

	if (c->reply)
		infer_reply_get(c->reply, &p);
	if (s->open == INFER_DELTA_REASONING)
		all = p.reasoning;
	i.text = (struct infer_str){ all.len ? all.at + s->from : "", all.len - s->from };
	return i;
}

static void put_text_done(infer_writer *to, const struct infer_answer *a, const struct item *i,
                          struct infer_stream *s)
{
	struct jwrite *w = begin_of_item(to, a, "response.output_text.done", s);

	jw_strn(w, "text", i->text.at, i->text.len);
	jw_array(w, "logprobs");
	jw_end(w);
	event_end(to);
	w = begin_of_item(to, a, "response.content_part.done", s);
	put_content_part(w, "part", i->text, 0);
	event_end(to);
}

static void put_arguments_done(infer_writer *to, const struct infer_answer *a, const struct item *i,
                               struct infer_stream *s)
{
	struct jwrite *w = begin_of_item(to, a, "response.function_call_arguments.done", s);
	struct infer_reply_call call;

	infer_reply_call(a->choices->reply, i->call, &call);
	jw_strn(w, "name", call.name.at, call.name.len);
	jw_strn(w, "arguments", call.arguments.at, call.arguments.len);
	event_end(to);
}

static void end_item(infer_writer *to, const struct infer_answer *a, enum state state,
                     struct infer_stream *s)
{
	struct item i = opened(a, s);
	struct jwrite *w;

	if (!s->open)
		return;
	if (s->open == INFER_DELTA_TEXT) {
		put_text_done(to, a, &i, s);
	} else if (s->open == INFER_DELTA_CALL) {
		put_arguments_done(to, a, &i, s);
	} else {
		w = begin_of_item(to, a, "response.reasoning_text.done", s);
		jw_strn(w, "text", i.text.at, i.text.len);
		event_end(to);
	}
	w = begin_numbered_event(to, "response.output_item.done", s);
	jw_int(w, "output_index", i.index);
	put_item(w, "item", a, &i, state);
	event_end(to);
	s->open = 0;
}

/* Begin an item, after ending the open one.  Text of the open item's kind continues it. */
static void open_item(infer_writer *to, const struct infer_answer *a, const struct infer_delta *d,
                      int kind, struct infer_stream *s)
{
	const struct infer_str none = { "", 0 };
	struct jwrite *w;
	struct item i;

	if (s->open == kind && kind != INFER_DELTA_CALL)
		return;
	end_item(to, a, COMPLETED, s);
	s->open = kind;
	s->call = d->call;
	s->from = 0;
	i = (struct item){ .kind = kind, .index = s->items++, .call = d->call };
	if (kind == INFER_DELTA_TEXT && a->choices->text.len)
		s->from = (size_t)(d->text.at - a->choices->text.at);
	w = begin_numbered_event(to, "response.output_item.added", s);
	jw_int(w, "output_index", i.index);
	put_item(w, "item", a, &i, MAKING);
	event_end(to);
	if (kind != INFER_DELTA_TEXT)
		return;
	w = begin_of_item(to, a, "response.content_part.added", s);
	put_content_part(w, "part", none, 0);
	event_end(to);
}

static void put_item_delta(infer_writer *to, const struct infer_answer *a, const char *type,
                           struct infer_str text, struct infer_stream *s)
{
	struct jwrite *w = begin_of_item(to, a, type, s);

	jw_strn(w, "delta", text.at, text.len);
	if (s->open == INFER_DELTA_TEXT) {
		jw_array(w, "logprobs");
		jw_end(w);
	}
	event_end(to);
}

static void put_events(infer_writer *to, const struct infer_answer *a, const struct infer_delta *d,
                       struct infer_stream *s)
{
	const struct infer_delta empty = { .text = { "", 0 } };
	enum state end = state_of(a);

	switch (d->kind) {
	case INFER_DELTA_BEGIN:
		put_response(to, a, "response.created", MAKING, s);
		put_response(to, a, "response.in_progress", MAKING, s);
		break;
	case INFER_DELTA_READ:
		part_progress(put_made(to, a, "response.in_progress", MAKING, s), a, a->choices);
		event_end(to);
		break;
	case INFER_DELTA_REASONING:
		open_item(to, a, d, d->kind, s);
		put_item_delta(to, a, "response.reasoning_text.delta", d->text, s);
		break;
	case INFER_DELTA_TEXT:
		open_item(to, a, d, d->kind, s);
		put_item_delta(to, a, "response.output_text.delta", d->text, s);
		break;
	case INFER_DELTA_CALL:
		open_item(to, a, d, d->kind, s);
		break;
	case INFER_DELTA_ARGUMENTS:
		put_item_delta(to, a, "response.function_call_arguments.delta", d->text, s);
		break;
	case INFER_DELTA_END:
		if (!s->items)
			open_item(to, a, &empty, INFER_DELTA_TEXT, s);
		end_item(to, a, end, s);
		put_response(to, a,
		             end == INCOMPLETE ? "response.incomplete" : "response.completed", end,
		             s);
		break;
	case INFER_DELTA_USAGE:
		break;
	}
}

static void put_fault_event(infer_writer *to, const struct infer_fault *f, const char *request_id,
                            struct infer_stream *s)
{
	struct jwrite *w = event_begin(to, "error");

	(void)request_id;
	jw_str(w, "type", "error");
	jw_str(w, "code", part_code(f));
	jw_str(w, "message", f->error.message);
	jw_str(w, "param", f->param);
	jw_int(w, "sequence_number", s->sequence++);
	event_end(to);
}

const struct infer_api api_responses = {
	.name = "responses",
	.path = "/v1/responses",
	.flags = API_BEGINS | API_TALKS,
	.read = responses_read,
	.fields = &responses_fields,
	.put = put_response_object,
	.put_events = put_events,
	.put_error = openai_put_error,
	.put_fault_event = put_fault_event,
};
