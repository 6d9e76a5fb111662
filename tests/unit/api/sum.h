/* tests/unit/api/sum.h - the chunks of a stream, put together. */
#ifndef TESTS_JOB_SUM_H
#define TESTS_JOB_SUM_H
#include <infer/api.h>
#include "../json.h"
#include "base/buf.h"

/* The chunks of one sample, put together. */
struct sum {
	struct arena mem;
	struct buf content, reasoning, ids, names, args, logprobs, offsets;
	int chunks, begun, ended;
	char finish[16];
};

static void sum_init(struct sum *s)
{
	struct buf *all[] = { &s->content, &s->reasoning, &s->ids,    &s->names,
		              &s->args,    &s->logprobs,  &s->offsets };

	*s = (struct sum){ .chunks = 0 };
	arena_init(&s->mem, MEM_BASE);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		buf_init(all[i], MEM_BASE);
		buf_puts(all[i], "");
	}
}

static void sum_fini(struct sum *s)
{
	arena_fini(&s->mem);
	buf_fini(&s->content);
	buf_fini(&s->reasoning);
	buf_fini(&s->ids);
	buf_fini(&s->names);
	buf_fini(&s->args);
	buf_fini(&s->logprobs);
	buf_fini(&s->offsets);
}

static void add(struct buf *b, const struct json *v) { buf_put(b, json_str(v), json_bytes(v)); }

/* {tool_calls}, of a message or of what is new of it: the parts of each call behind those of the
 * last, a bar between calls. */
static void add_calls(struct sum *s, const struct json *calls)
{
	json_each(c, calls) {
		const struct json *f = json_get(c, "function");

		if (json_get(c, "id")) {
			assert_json_string(json_get(c, "type"), "function");
			buf_putc(&s->ids, '|');
			buf_putc(&s->names, '|');
			buf_putc(&s->args, '|');
		}
		add(&s->ids, json_get(c, "id"));
		add(&s->names, json_get(f, "name"));
		add(&s->args, json_get(f, "arguments"));
	}
}

static void add_logprobs(struct sum *s, const struct json *choice)
{
	const struct json *l = json_get(choice, "logprobs");
	const struct json *list = json_is_array(l)         ? l
	                          : json_get(l, "content") ? json_get(l, "content")
	                                                   : json_get(l, "token_logprobs"),
			  *offsets = json_get(l, "text_offset");

	json_each(v, list) {
		const struct json *x = json_is_object(v) ? json_get(v, "logprob") : v;
		buf_printf(&s->logprobs, "%.9g ", json_double(x));
	}
	json_each(v, offsets)
		buf_printf(&s->offsets, "%lld ", (long long)json_int(v));
}

/* message: {content, reasoning_content, tool_calls}, of a whole or of what is new */
static void add_choice(struct sum *s, const struct json *choice)
{
	const struct json *m = json_get(choice, "message"), *finish;

	m = m ? m : json_get(choice, "delta");
	m = m ? m : choice;
	finish = json_get(choice, "finish_reason");
	finish = finish ? finish : json_get(choice, "stop_type");
	s->begun += json_get(m, "role") != NULL;
	add(&s->content, json_get(m, "content"));
	add(&s->content, json_get(m, "text"));
	add(&s->reasoning, json_get(m, "reasoning_content"));
	add(&s->reasoning, json_get(m, "reasoning"));
	add_calls(s, json_get(m, "tool_calls"));
	add_logprobs(s, choice);
	if (json_is_string(finish)) {
		s->ended++;
		snprintf(s->finish, sizeof s->finish, "%.*s", (int)finish->n, finish->s);
	}
}

static void take_json(struct sum *s, infer_writer *w)
{
	const struct json *o = json_need(&s->mem, infer_writer_text(w).at), *first;

	first = json_get(o, "choices") ? json_at(json_get(o, "choices"), 0) : o;
	add_choice(s, first);
	s->chunks++;
	infer_writer_clear(w);
}
#endif
