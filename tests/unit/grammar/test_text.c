/* tests/unit/grammar/test_text.c - a regular expression or a choice as the whole of a text. */
#include "../nth.h"
#include <string.h>
#include "../follow.h"
#include "grammar/grammar.h"

static void accepts(const struct grammar *g, const char *s, int want)
{
	size_t taken;

	assert_int_equal(follow(g, MATCH_TIDY, s, strlen(s), &taken, NULL), want);
	assert_int_equal(follow(g, MATCH_ANY, s, strlen(s), &taken, NULL), want);
}

static void test_regex(void **state)
{
	static const char pattern[] = "a+|\\p{Lu}(?!x)[^a]";
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	infer_error err;
	struct grammar *g;

	(void)state;
	assert_int_equal(grammar_regex(&g, pattern, strlen(pattern), &left, NULL), INFER_OK);
	assert_false(ir_is_none(g));
	accepts(g, "a", 1);
	accepts(g, "aaa", 1);
	accepts(g, "Bc", 1);
	accepts(g, "\xc3\x89\n", 1);
	accepts(g, "", 0);
	accepts(g, "ba", 0);
	accepts(g, "Bx", 0);
	accepts(g, "B\xc3", 0);
	accepts(g, "\xc3\xa9q", 0);
	accepts(g, "a ", 0);
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	assert_int_equal(grammar_regex(&g, "(", 1, &left, &err), INFER_EINVAL);
	assert_null(g);
	assert_int_equal(grammar_regex(&g, "a(?!.|$)", 8, &left, NULL), INFER_OK);
	assert_true(ir_is_none(g));
	accepts(g, "a", 0);
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
}

static int case_choice(void)
{
	const struct dfa_word words[] = {
		{ "yes", 3 }, { "no", 2 }, { "n\xc3\xb6", 3 }, { "yes!", 4 }
	};
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct budget most = { 1 << 16, 1 << 16 };
	struct match_state at = { 0 };
	struct grammar *g = NULL;
	struct match *m = NULL;
	int rc;

	nth_ok(grammar_choice(&g, words, 4, &left, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	for (const char *s = "yes"; *s; s++) {
		assert_false(match_may_end(m, &at));
		nth_ok(match_byte(m, &at, (uint8_t)*s, NULL));
	}
	assert_true(match_may_end(m, &at));
	nth_ok(match_byte(m, &at, '!', NULL));
	assert_true(match_may_end(m, &at));
	nth_ok(match_byte(m, &at, '!', NULL));
	assert_false(match_live(&at));
	nth_ok(match_begin(m, &at, NULL));
	for (const char *s = "n\xc3"; *s; s++)
		nth_ok(match_byte(m, &at, (uint8_t)*s, NULL));
	assert_true(match_live(&at) && !match_may_end(m, &at));
	nth_ok(match_byte(m, &at, 0xa9, NULL));
	assert_false(match_live(&at));
out:
	if (m)
		match_drop(m, &at);
	match_free(m);
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_regex), nth_case(case_choice) };

	return nth_group(tests);
}
