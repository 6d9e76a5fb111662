/* tests/unit/schema/test_limits.c - limits on the length of strings: those that are counted accept the
 * same texts as those that are automata, whatever the other conditions; none costs more for its size. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../values.h"
#include "../follow.h"
#include "base/rng.h"
#include "grammar/grammar.h"
#include "ir/sample.h"

#define WIDE "'pattern':'^(?:[a-z]{150}x|[\\u00e9\\\\u{1f600}]{120})?[0-9]*$'"

/* Schemas of strings whose limit is counted: it is high, or the automaton is large. */
static const char *const schemas[] = {
	"{'type':'string','maxLength':3000}",
	"{'type':'string','maxLength':200," WIDE "}",
	"{'type':'string','maxLength':151," WIDE "}",
	"{'type':'string','maxLength':150," WIDE "}",
	"{'type':'string','maxLength':130," WIDE "}",
	"{'type':'string','not':{'minLength':201}," WIDE "}",
	"{'type':'string','minLength':130,'maxLength':160," WIDE "}",
	"{'type':['string','null'],'anyOf':[{'maxLength':180," WIDE "},{'maxLength':2}]}",
	"{'type':'string','format':'email','maxLength':100}",
	"{'type':'string','maxLength':2000,'pattern':'^a*$'}",
	"{'type':'string','minLength':300}",
	"{'type':'string','not':{'maxLength':299}}",
	"{'type':'string','minLength':300,'maxLength':330}",
	"{'type':'string','minLength':300,'maxLength':300}",
	"{'type':'string','minLength':257,'pattern':'^(?:a{270}|b{255}|c*)$'}",
	"{'type':'string','minLength':300,'maxLength':310,'pattern':'^[ab]*c$'}",
	/* not words of all lengths */
	"{'type':'string','minLength':260,'maxLength':290,'pattern':'^(?:abcdefg)*$'}",
	"{'type':'string','minLength':260,'maxLength':300,'pattern':'^(?:(?:ab)*|c{299})$'}",
	"{'type':['string','null'],'anyOf':[{'minLength':280},{'maxLength':2}]}",
	"{'type':'string','pattern':'^.{0,3000}$'}",
	"{'type':'string','pattern':'^[a-c\\\\]x]{2,1500}$'}",
	"{'type':'string','pattern':'^\\\\d{1001}$'}",
	"{'type':'string','pattern':'^[^x]{1001,}$','maxLength':1100}",
	"{'type':'string','pattern':'^[a-z]{0,1200}$','allOf':[{'pattern':'^[b-z]{0,1300}$'}]}",
};
enum { N_SCHEMAS = sizeof schemas / sizeof *schemas };

/* strings: NULL, or what strings must match: then limits are automata */
static struct grammar *compile_with(const char *schema, struct schema_opts o)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g = NULL;
	infer_error err = { 0 };
	struct arena a;

	arena_init(&a, MEM_TEXT);
	if (schema_compile(&g, value(&a, schema), &o, &left, &err))
		fail_msg("%s: %s", schema, err.message);
	arena_fini(&a);
	return g;
}

static struct grammar *compile(const char *schema, const struct dfa *strings)
{
	return compile_with(schema, (struct schema_opts){ .strings = strings });
}

static void draw(const struct grammar *g, uint64_t seed, uint32_t length, struct buf *b)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	infer_error err = { 0 };
	struct match *m;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, &err), INFER_OK);
	if (match_sample(m, seed, 1, length, b, &err))
		fail_msg("%s", err.message);
	match_free(m);
}

/* Both accept, or refuse at the same byte. */
static void compare(const struct grammar *a, const struct grammar *b, const char *s, size_t n,
                    const char *schema)
{
	infer_error err = { 0 };
	size_t in_a, in_b;
	const int yes = follow(a, MATCH_ANY, s, n, &in_a, &err);

	if (follow(b, MATCH_ANY, s, n, &in_b, &err) != yes || in_a != in_b || yes < 0)
		fail_msg("%s: %.*s: after %zu bytes, %zu as an automaton %s", schema, (int)n, s,
		         in_a, in_b, err.message);
}

/* True if the limit of a string is counted. */
static int counts(const struct grammar *g)
{
	const struct goal *x = g->goal + g->root;

	for (uint32_t k = 0; k < x->n; k++)
		if (x->alt[k].most || x->alt[k].fewest)
			return 1;
	return 0;
}

static void test_same(void **state)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct dfa *all;

	(void)state;
	assert_int_equal(dfa_all(&all, &left, NULL), INFER_OK);
	for (size_t i = 0; i < N_SCHEMAS; i++) {
		struct grammar *counted = compile(schemas[i], NULL),
			       *listed = compile(schemas[i], all);

		if (!counts(counted) || counts(listed))
			fail_msg("%s: counted %d, as an automaton %d", schemas[i], counts(counted),
			         counts(listed));
		for (uint64_t k = 0; k < 40; k++) {
			static const char extra[] = "\"0ax\\u00e9\\n\xc3\xa9\xf0\x9f\x98\x80,";
			uint32_t r[4];
			struct buf b;

			buf_init(&b, MEM_TEXT);
			draw(k & 1 ? counted : listed, i * 100 + k, (uint32_t)k * 6, &b);
			compare(counted, listed, b.at, b.len, schemas[i]);
			/* and with other bytes at some place */
			rng_block(r, i, k);
			b.len = r[0] % (b.len + 1);
			buf_puts(&b, extra + r[1] % (sizeof extra - 1));
			buf_puts(&b, extra);
			compare(counted, listed, b.at, b.len, schemas[i]);
			buf_fini(&b);
		}
		ir_free(counted);
		ir_free(listed);
	}
	dfa_free(all);
}

/* The longest string, and one character more, also as an escape. */
static void test_last(void **state)
{
	struct grammar *g = compile("{'type':'string','maxLength':3000}", NULL);
	static const char *const ends[] = { "\xc3\xa9", "\\n", "\\ud83d\\ude00", "z" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		infer_error err = { 0 };
		char s[3100] = "\"";
		size_t n = 1, taken;

		memset(s + n, 'a', 2999);
		n += 2999;
		n += (size_t)snprintf(s + n, sizeof s - n, "%s\"", ends[i]);
		assert_int_equal(follow(g, MATCH_ANY, s, n, &taken, &err), 1);
		memset(s + 1, 'b', 2999);
		snprintf(s + 3000, sizeof s - 3000, "z%s\"", ends[i]);
		assert_int_equal(follow(g, MATCH_ANY, s, strlen(s), &taken, &err), 0);
		assert_int_equal(taken, 3001);
	}
	ir_free(g);
}

/* A pattern whose bounds are counted accepts the same texts as that pattern in a group, whose bounds are part
 * of the automaton. */
static void test_patterns(void **state)
{
	static const struct {
		const char *class, *bounds;
		unsigned least, most;
	} row[] = {
		{ ".", "{0,1100}", 0, 1100 },      { "[a-c\\\\]x]", "{2,1500}", 2, 1500 },
		{ "\\\\w", "{1001}", 1001, 1001 }, { "[^x]", "{1001,}", 1001, 1001 },
		{ "a", "{1,1001}", 1, 1001 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char a[200], b[200], s[1600];
		struct grammar *counted, *listed;

		snprintf(a, sizeof a, "{'type':'string','pattern':'^%s%s$'}", row[i].class,
		         row[i].bounds);
		snprintf(b, sizeof b, "{'type':'string','pattern':'^(?:%s%s)$'}", row[i].class,
		         row[i].bounds);
		counted = compile(a, NULL);
		listed = compile(b, NULL);
		assert_true(counts(counted) && !counts(listed));
		for (int k = -1; k < 4; k++) {
			const size_t n = (k < 2 ? row[i].least : row[i].most - 2) + (size_t)k;

			if (k < 0 && !row[i].least)
				continue;
			memset(s, 'a', sizeof s);
			s[0] = s[n + 1] = '"';
			compare(counted, listed, s, n + 2, a);
			s[n / 2 + 1] = n ? '-' : '"';
			compare(counted, listed, s, n + 2, a);
		}
		ir_free(counted);
		ir_free(listed);
	}
}

/* Elements are counted up to a million; each costs a byte. */
static void test_contains(void **state)
{
	static const char *const schema[] = {
		"{'type':'array','contains':{'type':'string'},'minContains':1500}",
		"{'type':'array','contains':{'type':'string'},'minContains':3,'maxContains':1500}",
		"{'type':'array','contains':{'type':'string'},'minContains':1000000}",
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct grammar *g = compile(schema[i], NULL);
		static char s[4 * 1500 + 16];
		infer_error err = { 0 };
		size_t n = 1, taken;

		*s = '[';
		for (int k = 0; k < 1499; k++, n += 4)
			memcpy(s + n, k % 2 ? "\"a\"," : "\"b\",", 4);
		memcpy(s + n, "1]", 2);
		assert_int_equal(follow(g, MATCH_ANY, s, n + 2, &taken, &err), i == 1);
		memcpy(s + n, "\"a\"]", 4);
		assert_int_equal(follow(g, MATCH_ANY, s, n + 4, &taken, &err), i < 2);
		memcpy(s + n, "\"a\",\"a\"]", 8);
		assert_int_equal(follow(g, MATCH_ANY, s, n + 8, &taken, &err), i == 0);
		ir_free(g);
	}
}

/* Return whether a name of n letters is accepted by a grammar of objects. */
static int takes_name(const struct grammar *g, size_t n)
{
	char s[4200] = "{\"";
	infer_error err = { 0 };
	size_t taken;

	memset(s + 2, 'a', n);
	snprintf(s + 2 + n, sizeof s - 2 - n, "\":1}");
	return follow(g, MATCH_ANY, s, strlen(s), &taken, &err);
}

/* Names are shortened where that is asked for, and never where a longer one is to be rejected. */
static void test_names(void **state)
{
	static const struct {
		const char *schema;
		int short_names;
		size_t yes[3], no[3]; /* 0: none */
	} row[] = {
		{ "{'type':'object','propertyNames':{'maxLength':1000000}}",
		  1,
		  { 1, 1024 },
		  { 1025 } },
		{ "{'type':'object','propertyNames':{'minLength':5,'maxLength':4e9}}",
		  1,
		  { 5, 1024 },
		  { 4, 1025 } },
		{ "{'type':'object','propertyNames':{'maxLength':1100}}",
		  0,
		  { 1025, 1100 },
		  { 1101 } },
		{ "{'type':'object','propertyNames':{'maxLength':1000}}", 1, { 1000 }, { 1001 } },
		{ "{'type':'object','propertyNames':{'minLength':1090,'maxLength':1100}}",
		  1,
		  { 1090, 1100 },
		  { 1089, 1101 } },
		{ "{'type':'object','not':{'propertyNames':{'maxLength':1100}}}",
		  1,
		  { 1101 },
		  { 1024, 1025, 1100 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct grammar *g = compile_with(
			row[i].schema, (struct schema_opts){ .short_names = row[i].short_names });

		for (int k = 0; k < 3; k++) {
			if (row[i].yes[k] && takes_name(g, row[i].yes[k]) != 1)
				fail_msg("%s: %zu", row[i].schema, row[i].yes[k]);
			if (row[i].no[k] && takes_name(g, row[i].no[k]) != 0)
				fail_msg("%s: not %zu", row[i].schema, row[i].no[k]);
		}
		ir_free(g);
	}
}

/* A limit costs the same whatever it is. */
static void test_cost(void **state)
{
	static const char *const high[] = {
		"{'type':'string','maxLength':2147483647}",
		"{'type':'string','maxLength':1e300}",
		"{'type':'string','maxLength':9007199254740991,'pattern':'^a[b-z]+$'}",
		"{'type':'string','maxLength':100000,'format':'uri'}",
		"{'type':'array','maxItems':2147483647,'items':{'type':'string','maxLength':99999}"
		"}",
		"{'type':'object','maxProperties':2147483647}",
		"{'type':'string','minLength':2147483647}",
		"{'type':'string','minLength':1e300}",
		"{'type':'string','minLength':1000000,'maxLength':2000000,'pattern':'^[a-z]*$'}",
		"{'type':'string','not':{'maxLength':1000000}}",
		"{'type':'string','pattern':'^.{0,100000}$'}",
		"{'type':'string','pattern':'^[a-z]{5,999999999}$'}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof high / sizeof *high; i++) {
		struct grammar *g = compile(high[i], NULL);

		assert_true(ir_bytes(g) < 100000);
		ir_free(g);
	}
}

static int case_memory(void)
{
	static const char text[] = "\"0123\"";
	const struct budget most = { 1 << 20, 1 << 20 };
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct match_state at = { 0 };
	struct grammar *g = NULL;
	struct match *m = NULL;
	const struct json *v;
	struct arena a;
	int rc;

	arena_init(&a, MEM_TEXT);
	v = value(&a, schemas[0]);
	nth_need(v != NULL);
	nth_ok(schema_compile(&g, v, NULL, &left, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	for (size_t i = 0; text[i]; i++)
		nth_ok(match_byte(m, &at, (uint8_t)text[i], NULL));
	assert_true(match_may_end(m, &at));
out:
	if (m)
		match_drop(m, &at);
	match_free(m);
	ir_free(g);
	arena_fini(&a);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same),
		                            cmocka_unit_test(test_last),
		                            cmocka_unit_test(test_patterns),
		                            cmocka_unit_test(test_contains),
		                            cmocka_unit_test(test_names),
		                            cmocka_unit_test(test_cost),
		                            nth_case(case_memory) };

	return nth_group(tests);
}
