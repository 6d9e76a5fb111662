/* tests/unit/api/events.h - streams of named events, put together. */
#ifndef TESTS_JOB_EVENTS_H
#define TESTS_JOB_EVENTS_H
#include "base/jwrite.h"
#include "sum.h"

static void add_begun_call(struct sum *s, const struct json *id, const struct json *name)
{
	buf_putc(&s->ids, '|');
	buf_putc(&s->names, '|');
	buf_putc(&s->args, '|');
	add(&s->ids, id);
	add(&s->names, name);
}

static void add_end(struct sum *s, const struct json *how)
{
	s->ended++;
	snprintf(s->finish, sizeof s->finish, "%.*s", (int)json_bytes(how), json_str(how));
}

/* A block of a message, or an item of a response. */
static void add_block(struct sum *s, const struct json *b, int whole)
{
	const struct json *type = json_get(b, "type"), *first = json_first(json_get(b, "content"));
	const struct json *id = json_get(b, "call_id");

	add(&s->reasoning, json_get(b, "thinking"));
	add(&s->content, json_get(b, "text"));
	add(json_equals(type, "reasoning") ? &s->reasoning : &s->content, json_get(first, "text"));
	if (!json_equals(type, "tool_use") && !json_equals(type, "function_call"))
		return;
	add_begun_call(s, id ? id : json_get(b, "id"), json_get(b, "name"));
	add(&s->args, json_get(b, "arguments"));
	if (whole && json_get(b, "input")) {
		struct jwrite w;

		jw_init(&w, &s->args);
		jw_value(&w, NULL, json_copy(&s->mem, json_get(b, "input")));
	}
}

static void add_event(struct sum *s, const struct json *e)
{
	const struct json *type = json_get(e, "type"), *delta = json_get(e, "delta"),
			  *block = json_get(e, "content_block");

	if (json_equals(type, "message_start") || json_equals(type, "response.created"))
		s->begun++;
	else if (block)
		add_block(s, block, 0);
	else if (json_equals(type, "response.output_item.added"))
		add_block(s, json_get(e, "item"), 0);
	else if (json_equals(type, "response.reasoning_text.delta"))
		add(&s->reasoning, delta);
	else if (json_equals(type, "response.output_text.delta"))
		add(&s->content, delta);
	else if (json_equals(type, "response.function_call_arguments.delta"))
		add(&s->args, delta);
	else if (json_equals(type, "response.completed"))
		add_end(s, json_get(json_get(e, "response"), "status"));
	add(&s->content, json_get(delta, "text"));
	add(&s->reasoning, json_get(delta, "thinking"));
	add(&s->args, json_get(delta, "partial_json"));
	if (json_get(delta, "stop_reason"))
		add_end(s, json_get(delta, "stop_reason"));
}

/* Each is a name, the data and an empty line; the data says its name again. */
static void take_events(struct sum *s, infer_writer *w)
{
	const char *at = infer_writer_text(w).at;
	const struct json *e;

	while (*at) {
		size_t name = strcspn(at + 7, "\n");
		const char *data = at + 7 + name;
		size_t n = strcspn(data + 7, "\n");
		char *one;

		assert_memory_equal(at, "event: ", 7);
		assert_memory_equal(data, "\ndata: ", 7);
		assert_memory_equal(data + 7 + n, "\n\n", 2);
		one = arena_strndup(&s->mem, data + 7, n);
		e = json_need(&s->mem, one);
		assert_int_equal(json_bytes(json_get(e, "type")), name);
		assert_memory_equal(json_get(e, "type")->s, at + 7, name);
		add_event(s, e);
		s->chunks++;
		at = data + 7 + n + 2;
	}
	infer_writer_clear(w);
}

static void add_line(struct sum *s, const struct json *o)
{
	const struct json *m = json_get(o, "message");
	struct jwrite w;

	m = m ? m : o;
	add(&s->content, json_get(m, "content"));
	add(&s->content, json_get(m, "response"));
	add(&s->reasoning, json_get(m, "thinking"));
	json_each(call, json_get(m, "tool_calls")) {
		const struct json *f = json_get(call, "function");

		add_begun_call(s, json_get(call, "id"), json_get(f, "name"));
		jw_init(&w, &s->args);
		jw_value(&w, NULL, json_copy(&s->mem, json_get(f, "arguments")));
	}
	if (json_is(json_get(o, "done"), JSON_TRUE))
		add_end(s, json_get(o, "done_reason"));
	s->chunks++;
}

/* Each line is an object; a whole answer is one without its newline. */
static void take_lines(struct sum *s, infer_writer *w)
{
	const char *at = infer_writer_text(w).at;

	while (*at) {
		size_t n = strcspn(at, "\n");

		add_line(s, json_need(&s->mem, arena_strndup(&s->mem, at, n)));
		at += n + (at[n] == '\n');
	}
	infer_writer_clear(w);
}

static void take_whole(struct sum *s, infer_writer *w)
{
	const struct json *o = json_need(&s->mem, infer_writer_text(w).at);
	const struct json *list =
		json_get(o, "content") ? json_get(o, "content") : json_get(o, "output");

	json_each(b, list)
		add_block(s, b, 1);
	add_end(s, json_get(o, "stop_reason") ? json_get(o, "stop_reason") : json_get(o, "status"));
	infer_writer_clear(w);
}
#endif
