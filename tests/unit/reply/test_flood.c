/* tests/unit/reply/test_flood.c - hostile answers: time and memory stay proportional to their
 * length. */
#include "../nth.h"
#include <infer/reply.h>
#include "marked.h"
#include <time.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One text, over and over: time and memory stay in proportion, and what is not a call is all
 * there. */
static void flood(const char *mark, const char *unit, size_t bytes, size_t piece, size_t least)
{
	infer_chat *chat = marked_chat(mark);
	infer_tools *tools = read_tools(tool_f);
	struct infer_reply_options o = { .tools = tools };
	struct infer_reply_parts p;
	size_t n = strlen(unit), held = bytes / n * n, given;
	char *s = malloc(held);
	infer_reply *r;
	double from = seconds();

	assert_non_null(s);
	for (size_t i = 0; i < held; i += n)
		memcpy(s + i, unit, n);
	assert_int_equal(infer_reply_new(&r, chat, &o, NULL), INFER_OK);
	for (size_t i = 0; i < held; i += piece)
		assert_int_equal(
			infer_reply_put(r, s + i, held - i < piece ? held - i : piece, NULL),
			INFER_OK);
	assert_int_equal(infer_reply_end(r, NULL), INFER_OK);
	infer_reply_get(r, &p);
	given = p.content.len + p.reasoning.len;
	for (size_t i = 0; i < p.n_calls; i++) {
		struct infer_reply_call c;
		infer_reply_call(r, i, &c);
		given += c.arguments.len;
	}
	if (given < held * least / 100)
		fail_msg("%s: of %zu bytes %zu are left", unit, held, given);
	assert_true(p.n_calls <= INFER_REPLY_MAX_CALLS);
	if (seconds() - from > (NTH_SANITIZED ? 60 : 12))
		fail_msg("%s: %zu bytes by %zu in %.1f s", unit, held, piece, seconds() - from);
	free(s);
	infer_reply_free(r);
	infer_tools_free(tools);
	infer_chat_close(&chat);
}

static const struct {
	int mark;
	const char *unit;
	size_t least;
} hostile_floods[] = {
	{ 0, "<tool_call>", 100 },
	{ 0, "<tool_call>{\"a\":\"", 100 },
	{ 0, "<tool_call>{\"a\":[", 100 },
	{ 0, "<tool_call>                ", 100 },
	{ 0, "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"\xff\"}}</tool_call>", 75 },
	{ 0, "<think>", 99 },
	{ 0, "\n", 100 },
	{ 1, "<function=f>", 95 },
	{ 1, "<function=f><parameter=a>\n</parameter", 100 },
	{ 1, "<function=f><parameter=l>[", 99 },
	{ 2, "[f(a=", 100 },
	{ 2, "[f(a=[", 100 },
	{ 2, "[", 100 },
	{ 2, "[f()]", 95 },
	{ 2, "f(", 100 },
	{ 3, "<|start|>assistant<|channel|>", 100 },
	{ 3, "<|channel|>analysis<|message|>", 0 },
	{ 3, "<|end|>", 0 },
	{ 4, "<|channel>", 0 },
	{ 4, "<|tool_call>call:f{a:<|\"|>", 90 },
	{ 4, "<|tool_call>call:f{a:{", 90 },
	{ 5, "{\"name\":", 100 },
	{ 5, ";{", 100 },
	{ 6, "[TOOL_CALLS]f[CALL_ID]", 100 },
	{ 6, "[TOOL_CALLS][{\"name\":\"f\",", 90 },
	{ 7, "<tool_call>f<arg_key>", 95 },
	{ 7, "\x80\xe2<", 100 },
};

static void test_hostile(void **state)
{
	const size_t bytes = 1 << 20;

	(void)state;
	for (size_t i = 0; i < sizeof hostile_floods / sizeof *hostile_floods; i++) {
		flood(marked[hostile_floods[i].mark], hostile_floods[i].unit, bytes, bytes,
		      hostile_floods[i].least);
		flood(marked[hostile_floods[i].mark], hostile_floods[i].unit, bytes / 4, 1,
		      hostile_floods[i].least);
	}
	flood(marked[0], "<tool_call>", NTH_SANITIZED ? bytes : 100 << 20, 1 << 20, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile),
	};

	return nth_group(tests);
}
