/* tests/tools/reply.c - parsing answers for scripts: many in one process.
 *
 * Standard input: a JSON object a line: {"template": text, "tools": [...], "messages": [...],
 * "think": bool, "inline": bool, "json": bool, "prompt": text, "input": text}; all but the template
 * and the input may be left out, and without a prompt it is the template's.  Output: a line each:
 * {"format": ..., "open": ..., "reads": ..., "prompt": ..., "content": ..., "reasoning": ..., "tool_calls": [...],
 * "streamed": whether the answer is the same byte by byte}, or {"error": ...}. */
#include <infer/reply.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "base/mem.h"

static int is_true(const struct json *v) { return json_is(v, JSON_TRUE); }

static void put_str(struct jwrite *w, const char *key, struct infer_str s)
{
	jw_strn(w, key, s.at, s.len);
}

/* Append what is read of `input`, given in pieces of `step` bytes, to a JSON object. */
static int read_answer(struct buf *to, const infer_chat *chat, const struct infer_reply_options *o,
                       const struct json *input, size_t step, infer_error *err)
{
	const size_t n = json_bytes(input);
	struct infer_reply_parts p;
	struct infer_reply_call c;
	infer_reply *r = NULL;
	struct jwrite w;
	int rc = infer_reply_new(&r, chat, o, err);

	for (size_t i = 0; !rc && i < n; i += step)
		rc = infer_reply_put(r, json_str(input) + i, n - i < step ? n - i : step, err);
	if (!rc)
		rc = infer_reply_end(r, err);
	if (!rc) {
		infer_reply_get(r, &p);
		jw_init(&w, to);
		jw_object(&w, NULL);
		put_str(&w, "content", p.content);
		put_str(&w, "reasoning", p.reasoning);
		jw_array(&w, "tool_calls");
		for (size_t i = 0; i < p.n_calls; i++) {
			infer_reply_call(r, i, &c);
			jw_object(&w, NULL);
			put_str(&w, "name", c.name);
			put_str(&w, "id", c.id);
			put_str(&w, "arguments", c.arguments);
			jw_bool(&w, "whole", c.whole);
			jw_end(&w);
		}
		jw_end(&w);
		jw_end(&w);
	}
	infer_reply_free(r);
	return rc;
}

static const char *text_of(struct arena *a, const struct json *v, size_t *n)
{
	struct buf b;
	struct jwrite w;
	const char *s;

	buf_init(&b, MEM_TEXT);
	jw_init(&w, &b);
	jw_value(&w, NULL, v);
	*n = b.len;
	s = arena_strndup(a, b.at, b.len);
	buf_fini(&b);
	return s;
}

/* The answer as JSON in `whole`, and again byte by byte in `bytes`; *prompt: infer_chat_free */
static int one(struct arena *a, const struct json *in, infer_chat **chat, infer_tools **tools,
               char **prompt, struct infer_reply_options *o, struct buf *whole, struct buf *bytes,
               infer_error *err)
{
	const struct json *t = json_get(in, "template"), *think = json_get(in, "think"),
			  *given = json_get(in, "prompt"), *input = json_get(in, "input");
	struct infer_conversation c = { .user = "Hey there!", .user_n = 10 };
	size_t n;

	TRY(infer_chat_open(chat, json_str(t), json_bytes(t), "template", err));
	if (json_count(json_get(in, "tools"))) {
		const char *s = text_of(a, json_get(in, "tools"), &n);

		TRY(infer_tools_read(tools, s, n, err));
	}
	if (json_get(in, "messages")) {
		c.messages = text_of(a, json_get(in, "messages"), &c.messages_n);
		c.user = NULL;
	}
	c.tools = o->tools = *tools;
	c.think = think ? is_true(think) ? INFER_THINK_ON : INFER_THINK_OFF : INFER_THINK_DEFAULT;
	if (given) {
		o->prompt = json_str(given);
		o->prompt_n = json_bytes(given);
	} else {
		TRY(infer_chat_render(*chat, NULL, &c, prompt, NULL, &o->prompt_n, err));
		o->prompt = *prompt;
	}
	o->flags = (is_true(json_get(in, "inline")) ? INFER_REPLY_INLINE : 0u) |
	           (is_true(json_get(in, "json")) ? INFER_REPLY_JSON : 0u);
	TRY(read_answer(whole, *chat, o, input, json_bytes(input) + 1, err));
	return read_answer(bytes, *chat, o, input, 1, err);
}

static void answer(struct arena *a, const struct json *in, struct buf *line)
{
	struct infer_reply_options o = { 0 };
	const char *format, *open;
	infer_error err = { 0 };
	infer_tools *tools = NULL;
	infer_chat *chat = NULL;
	struct buf whole, bytes;
	char *prompt = NULL;
	struct jwrite w;
	int reads;

	buf_init(&whole, MEM_TEXT);
	buf_init(&bytes, MEM_TEXT);
	jw_init(&w, line);
	jw_object(&w, NULL);
	if (one(a, in, &chat, &tools, &prompt, &o, &whole, &bytes, &err)) {
		jw_str(&w, "error", err.message);
	} else {
		infer_reply_format(chat, &format, &open);
		jw_str(&w, "format", format);
		jw_str(&w, "open", open);
		jw_bool(&w, "reads", !infer_reply_reads(chat, &reads, NULL) && reads);
		jw_strn(&w, "prompt", o.prompt, o.prompt_n);
		jw_bool(&w, "streamed",
		        whole.len == bytes.len && !memcmp(whole.at, bytes.at, whole.len));
		jw_raw(&w, "answer", whole.at, whole.len);
	}
	jw_end(&w);
	jw_line(&w);
	infer_chat_free(prompt);
	infer_tools_free(tools);
	infer_chat_close(&chat);
	buf_fini(&whole);
	buf_fini(&bytes);
}

int main(void)
{
	char *at = NULL;
	size_t cap = 0;
	struct buf line;
	struct arena a;

	arena_init(&a, MEM_TEXT);
	buf_init(&line, MEM_TEXT);
	for (ssize_t n; (n = getline(&at, &cap, stdin)) > 0;) {
		const struct json *in = NULL;
		infer_error err = { 0 };

		buf_clear(&line);
		if (jread(&in, &a, at, (size_t)n, "line", &err)) {
			fprintf(stderr, "reply: %s\n", err.message);
			return 2;
		}
		answer(&a, in, &line);
		fwrite(line.at, 1, line.len, stdout);
		fflush(stdout);
		arena_reset(&a);
	}
	arena_fini(&a);
	buf_fini(&line);
	free(at);
	return 0;
}
