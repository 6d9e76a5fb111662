/* tests/fuzz/reply.c - any bytes as an answer, in any way to write calls: read in pieces and whole
 * the same, the parts only growing, no larger than the bytes can make them.  First byte: the way;
 * second: flags; third: how it is cut; then the answer. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <infer/reply.h>
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const signs[] = {
	"<tool_call>",
	"<function= <parameter=",
	"<|channel|> <|message|>",
	"<|tool_call>call: <channel|>",
	"<｜DSML｜ invoke",
	"<｜tool▁call▁begin｜> <｜tool▁sep｜>",
	"<|tool_call_begin|> <|tool_call_argument_begin|>",
	"[TOOL_CALLS] [/THINK]",
	"<arg_key> <arg_value>",
	"<minimax:tool_call>",
	"<function= </function>",
	">>>all",
	"<use_mcp_tool>",
	"<|START_ACTION|> <|END_THINKING|>",
	"Action: ```json",
	"<|tools_prefix|> <|inner_suffix|>",
	"<|tool_call|>",
	"<|function_call|>",
	"function call<|role_sep|>",
	"<tool_calls>[ [BEGIN FINAL RESPONSE]",
	"<TOOLCALL>",
	"functools[",
	"List of tools: ",
	"\"parameters\": ",
	"",
};
static const char tools[] =
	"[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"string\"},\"l\":{"
	"\"type\":\"array\"},"
	"\"n\":{\"type\":[\"string\",\"null\"]}}}},{\"name\":\"f_more\"},{\"name\":\"python\"}]";

struct sizes {
	size_t content, reasoning, calls, arguments;
	char first[2];
};

/* Nothing gets shorter, and where a part begins stays. */
static void grow(const infer_reply *r, struct sizes *s)
{
	struct infer_reply_parts p;
	struct infer_reply_call c = { 0 };

	infer_reply_get(r, &p);
	must(p.content.len >= s->content && p.reasoning.len >= s->reasoning &&
	     p.n_calls >= s->calls);
	if (p.n_calls)
		infer_reply_call(r, p.n_calls - 1, &c);
	must(p.n_calls > s->calls || c.arguments.len >= s->arguments);
	must(!s->content || *p.content.at == s->first[0]);
	must(!s->reasoning || *p.reasoning.at == s->first[1]);
	*s = (struct sizes){ p.content.len,
		             p.reasoning.len,
		             p.n_calls,
		             c.arguments.len,
		             { p.content.len ? *p.content.at : 0,
		               p.reasoning.len ? *p.reasoning.at : 0 } };
}

static infer_reply *read_answer(const infer_chat *chat, const struct infer_reply_options *o,
                                const char *s, size_t n, uint32_t cut)
{
	struct sizes sizes = { 0 };
	infer_reply *r;

	must(infer_reply_new(&r, chat, o, NULL) == INFER_OK);
	for (size_t i = 0, k; i < n; i += k) {
		k = cut ? 1 + (cut = cut * 1664525u + 1013904223u) % 9 / 2 : n;
		k = k < n - i ? k : n - i;
		must(infer_reply_put(r, s + i, k, NULL) == INFER_OK);
		grow(r, &sizes);
	}
	must(infer_reply_end(r, NULL) == INFER_OK);
	grow(r, &sizes);
	return r;
}

static void same(struct infer_str a, struct infer_str b)
{
	must(a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len)));
}

static void compare(const infer_reply *a, const infer_reply *b, size_t n)
{
	struct infer_reply_parts p, q;
	size_t all;

	infer_reply_get(a, &p);
	infer_reply_get(b, &q);
	same(p.content, q.content);
	same(p.reasoning, q.reasoning);
	must(p.n_calls == q.n_calls && p.n_calls <= INFER_REPLY_MAX_CALLS);
	all = p.content.len + p.reasoning.len;
	for (size_t i = 0; i < p.n_calls; i++) {
		struct infer_reply_call c, d;
		infer_reply_call(a, i, &c);
		infer_reply_call(b, i, &d);
		same(c.name, d.name);
		same(c.id, d.id);
		same(c.arguments, d.arguments);
		must(c.whole == d.whole);
		all += c.arguments.len;
	}
	must(all <= 6 * n + 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { SIGNS = sizeof signs / sizeof *signs };
	static infer_chat *chats[SIGNS];
	static infer_tools *read;
	static const char *const prompts[] = { "", "<think>\n", ">>>", "<|start|>assistant" };
	char source[256];

	if (size < 3)
		return 0;
	if (!read)
		must(!infer_tools_read(&read, tools, sizeof tools - 1, NULL));
	size_t way = data[0] % SIGNS;
	if (!chats[way]) {
		size_t n = (size_t)snprintf(
			source, sizeof source,
			"{# %s #}{%% for m in messages %%}{{ m.content }}{%% endfor %%}",
			signs[way]);
		must(infer_chat_open(&chats[way], source, n, "fuzz", NULL) == INFER_OK);
	}
	const char *prompt = prompts[data[1] >> 2 & 3];
	struct infer_reply_options o = {
		.tools = read, .prompt = prompt, .prompt_n = strlen(prompt), .flags = data[1] & 3
	};
	infer_reply *whole = read_answer(chats[way], &o, (const char *)data + 3, size - 3, 0);
	infer_reply *parts =
		read_answer(chats[way], &o, (const char *)data + 3, size - 3, data[2] + 1u);
	compare(whole, parts, size);
	infer_reply_free(whole);
	infer_reply_free(parts);
	return 0;
}
