/* tests/unit/mask/test_mask.c - forced bytes, going back, and masks. */
#include "../nth.h"
#include <string.h>
#include "../values.h"
#include "grammar/grammar.h"
#include "mask/mask.h"

static const struct budget most = { 1 << 22, 1 << 26 };

/* The forced bytes behind a text; "-" where it is not admitted. */
static const char *forced(const struct grammar *g, const char *text, uint32_t cap)
{
	static char bytes[64];
	struct match_state at = { 0 };
	struct match *m;
	uint32_t n = 7;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (; *text; text++)
		assert_int_equal(match_byte(m, &at, (uint8_t)*text, NULL), INFER_OK);
	assert_int_equal(mask_forced(m, &at, bytes, cap, &n, NULL), INFER_OK);
	assert_in_range(n, 0, cap);
	bytes[n] = 0;
	match_drop(m, &at);
	match_free(m);
	return bytes;
}

static struct grammar *schema(const char *text)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g;
	struct arena a;

	arena_init(&a, MEM_TEXT);
	assert_int_equal(schema_compile(&g, value(&a, text), NULL, &left, NULL), INFER_OK);
	arena_fini(&a);
	return g;
}

static void test_forced(void **state)
{
	struct grammar *g = schema("{'type':'object','properties':{'alpha':{'enum':['xyz']},"
	                           "'beta':{'const':true}},'required':['alpha','beta'],"
	                           "'additionalProperties':false}");

	(void)state;
	assert_string_equal(forced(g, "", 63), "{");
	/* a space may follow, or an escape */
	assert_string_equal(forced(g, "{", 63), "");
	assert_string_equal(forced(g, "{\"beta\":t", 63), "rue,");
	assert_string_equal(forced(g, "{\"beta\":t", 2), "ru");
	assert_string_equal(forced(g, "{\"beta\":true,\"alpha\":\"xyz\"", 63), "}");
	assert_string_equal(forced(g, "{\"beta\":true,\"alpha\":\"xyz\"}", 63), "");
	assert_string_equal(forced(g, "{\"beta\":x", 63), "");
	ir_free(g);
}

static int case_memory(void)
{
	static const char text[] = "root ::= \"ab\" | \"a\" [0-9] | \"xyz\"";
	const struct vocab_token tokens[] = { { "b", 1 },  { "a", 1 },  { "", 0 },
		                              { "ab", 2 }, { "a7", 2 }, { "a7a", 3 } };
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct mask_past past = { 0 };
	struct match_state at = { 0 }, first = { 0 };
	struct grammar *g = NULL;
	struct match *m = NULL;
	struct vocab *v = NULL;
	struct mask *k = NULL;
	uint64_t bits = 0;
	char bytes[8];
	infer_error err;
	int rc, takes;
	uint32_t n;

	nth_ok(gbnf_compile(&g, text, strlen(text), &left, NULL));
	nth_ok(vocab_new(&v, tokens, 6, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(mask_new(&k, g, v, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	nth_ok(match_copy(m, &first, &at, NULL));
	nth_fails(mask_try_fill(k, m, &at, &bits, &left, NULL), INFER_EAGAIN);
	nth_ok(mask_fill(k, m, &at, &bits, &left, NULL));
	nth_ok(mask_try_fill(k, m, &at, &bits, &left, NULL));
	assert_int_equal(bits, 1 << 1 | 1 << 3 | 1 << 4);
	nth_ok(mask_take(&past, m, &at, "c", 1, &takes, NULL));
	assert_false(takes);
	nth_ok(mask_take(&past, m, &at, "a", 1, &takes, NULL));
	assert_true(takes);
	nth_ok(mask_fill(k, m, &at, &bits, &left, NULL));
	assert_int_equal(bits, 1);
	nth_ok(mask_take(&past, m, &at, "b", 1, &takes, NULL));
	assert_true(takes);
	nth_ok(mask_fill(k, m, &at, &bits, &left, NULL));
	assert_true(!bits && match_may_end(m, &at));
	mask_back(&past, m, &at, 2);
	assert_true(match_same(&at, &first));
	nth_ok(mask_take(&past, m, &at, "x", 1, &takes, NULL));
	nth_ok(mask_forced(m, &at, bytes, sizeof bytes, &n, NULL));
	assert_int_equal(n, 2);
	assert_memory_equal(bytes, "yz", 2);
	/* no steps: no mask */
	left.steps = 0;
	bits = 1;
	nth_fails(mask_fill(k, m, &at, &bits, &left, &err), INFER_EUNSUP);
	assert_int_equal(bits, 0);
out:
	if (m) {
		mask_past_drop(&past, m);
		match_drop(m, &first);
		match_drop(m, &at);
	}
	match_free(m);
	mask_free(k);
	vocab_free(v);
	ir_free(g);
	return rc;
}

static struct grammar *made;

/* Masks of names, some of which were there before. */
static int case_names(void)
{
	static const char text[] = "{\"b\":1,\"";
	const struct vocab_token tokens[] = { { "b\"", 2 },  { "b", 1 },        { "\"", 1 },
		                              { "c\":", 3 }, { "\":{", 3 },     { "1", 1 },
		                              { "a\"", 2 },  { "\\u0062\"", 7 } };
	struct match_state at = { 0 };
	struct match *m = NULL;
	struct vocab *v = NULL;
	struct mask *k = NULL;
	struct grammar *g = made;
	uint64_t bits = 0;
	int rc;

	nth_ok(vocab_new(&v, tokens, 8, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(mask_new(&k, g, v, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	for (const char *p = text; *p; p++)
		nth_ok(match_byte(m, &at, (uint8_t)*p, NULL));
	for (int i = 0; i < 2; i++) {
		struct budget left = most;

		nth_ok(mask_fill(k, m, &at, &bits, &left, NULL));
		assert_int_equal(bits, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6);
	}
out:
	if (m)
		match_drop(m, &at);
	match_free(m);
	mask_free(k);
	vocab_free(v);
	return rc;
}

static void test_names(void **state)
{
	(void)state;
	made = schema("{'type':'object','properties':{'a':{'type':'integer'}}}");
	for (uint64_t n = 0; n < 200; n++) {
		const uint64_t live = mem_live();

		mem_fail_at(n);
		case_names();
		mem_fail_at(0);
		assert_int_equal(mem_live(), live);
	}
	ir_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forced), nth_case(case_memory),
		                            cmocka_unit_test(test_names) };

	return nth_group(tests);
}
