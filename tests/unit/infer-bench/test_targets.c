/* tests/unit/infer-bench/test_targets.c - the adapters of a load, from what a server lists. */
#include "../nth.h"
#include "infer-bench/targets.h"
#include "base/jread.h"

#include <stdio.h>
#include <string.h>

#define CARD(id, parent) "{\"id\":\"" id "\",\"object\":\"model\",\"parent\":\"" parent "\"}"
#define MODELS \
	"[{\"id\":\"m\",\"parent\":null}," CARD("a", "m") "," CARD("b", "m") "," CARD("c", "n") "]"

/* What is listed, the value of the option, and the names; error: a part of the message, if it fails. */
static const struct {
	const char *models, *list, *names[3], *error;
} rows[] = {
	{ MODELS, "all", { "a", "b" }, NULL },
	{ MODELS, "b,a", { "b", "a" }, NULL },
	{ MODELS, "base,b", { "m", "b" }, NULL },
	{ MODELS, "b,m", { "b", "m" }, NULL },
	{ MODELS, "base", { NULL }, NULL },
	{ MODELS, "m", { NULL }, NULL },
	{ MODELS, "a,", { "a" }, NULL },
	{ MODELS, "c", { NULL }, "no adapter 'c'; it has a, b" },
	{ MODELS, "all,a", { NULL }, "no adapter 'all'" },
	{ MODELS, "a,,b", { NULL }, "no adapter ''" },
	{ MODELS, "a,b,a", { NULL }, "'a' is given twice" },
	{ MODELS, "base,m", { NULL }, "'m' is given twice" },
	/* an adapter with a name that has a meaning here */
	{ "[" CARD("base", "m") "," CARD("all", "m") "]", "base,all", { "base", "all" }, NULL },
	{ "[" CARD("base", "m") "," CARD("all", "m") "]", "all", { "base", "all" }, NULL },
	/* servers without adapters, and lists that are none */
	{ "[{\"id\":\"m\"}]", "all", { NULL }, "lists no adapters of 'm'" },
	{ "[{\"id\":\"m\"}]", "a", { NULL }, "lists no adapters of 'm'" },
	{ "[{\"id\":\"m\"}]", "base", { NULL }, NULL },
	{ "[]", "m", { NULL }, NULL },
	{ "null", "a", { NULL }, "lists no adapters" },
	{ "7", "a", { NULL }, "lists no adapters" },
	{ "\"a\"", "a", { NULL }, "lists no adapters" },
	{ "[7,null,\"a\",[],{\"id\":7,\"parent\":\"m\"},{\"parent\":\"m\"}]",
	  "all",
	  { NULL },
	  "lists no adapters" },
	{ "[" CARD("a", "m") "," CARD("a", "m") "]", "all", { NULL }, "'a' is given twice" },
};

static size_t row;

static int case_choose(void)
{
	const struct json *models;
	struct arena json, mem;
	struct targets t;
	infer_error err;
	size_t n = 0;
	int rc;

	arena_init(&json, MEM_BASE);
	arena_init(&mem, MEM_BASE);
	rc = jread(&models, &json, rows[row].models, strlen(rows[row].models), "models", &err);
	if (!rc)
		rc = targets_choose(&t, models, "m", rows[row].list, &mem, &err);
	if (rc == INFER_ENOMEM)
		goto out;
	if (rows[row].error) {
		assert_int_not_equal(rc, INFER_OK);
		if (!strstr(err.message, rows[row].error))
			fail_msg("%s: %s", rows[row].list, err.message);
		rc = INFER_OK;
		goto out;
	}
	assert_int_equal(rc, INFER_OK);
	for (; n < 3 && rows[row].names[n]; n++) {
		assert_true(n < t.n);
		assert_string_equal(t.names[n], rows[row].names[n]);
		assert_int_equal(t.counts[n].completed, 0);
	}
	assert_int_equal(t.n, n);
out:
	arena_fini(&mem);
	arena_fini(&json);
	return rc;
}

static void test_choose(void **state)
{
	struct nth n = { case_choose };
	void *at = &n;

	(void)state;
	for (row = 0; row < sizeof rows / sizeof *rows; row++)
		nth_run(&at);
}

/* Results count for the adapter of their request. */
static void test_count(void **state)
{
	const char *names[] = { "a", "b", "c" };
	struct target_counts counts[3] = { { 0 } };
	struct targets t = { names, counts, 3 }, none = { .n = 0 };
	struct load_done d = { .prompt_tokens = 5, .completion_tokens = 2 };

	(void)state;
	targets_count(&none, 0, &d);
	for (int64_t i = 0; i < 7; i++) {
		d.failed = i == 4;
		targets_count(&t, i, &d);
	}
	assert_int_equal(counts[0].completed, 3);
	assert_int_equal(counts[0].prompt_tokens, 15);
	assert_int_equal(counts[0].completion_tokens, 6);
	assert_int_equal(counts[1].completed, 1);
	assert_int_equal(counts[1].failed, 1);
	assert_int_equal(counts[1].completion_tokens, 2);
	assert_int_equal(counts[2].completed, 2);
}

/* A line of names has at most 80 columns, and says how many it leaves out. */
static void test_show(void **state)
{
	static char text[100][300];
	const char *names[100];
	struct targets t = { names, NULL, 0 };
	struct buf b;

	(void)state;
	for (size_t width = 1; width < 299; width += 7)
		for (t.n = 1; t.n <= 100; t.n += 3) {
			size_t shown = 1, left = 0;

			for (size_t i = 0; i < t.n; i++) {
				memset(text[i], 'x', width);
				text[i][width] = 0;
				names[i] = text[i];
			}
			buf_init(&b, MEM_BASE);
			targets_show(&t, &b);
			assert_true(b.len <= 81 && b.at[b.len - 1] == '\n');
			buf_putc(&b, 0);
			for (const char *p = b.at; *p; p++)
				shown += *p == ',';
			if (strstr(b.at, " and "))
				assert_int_equal(
					sscanf(strstr(b.at, " and "), " and %zu more", &left), 1);
			assert_int_equal(shown + left, t.n);
			buf_fini(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_choose),
		                            cmocka_unit_test(test_count),
		                            cmocka_unit_test(test_show) };

	return nth_group(tests);
}
