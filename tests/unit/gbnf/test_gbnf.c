/* tests/unit/gbnf/test_gbnf.c - grammars of rules: what they accept, what is refused, and the
 * grammars and cases that llama.cpp has. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../shared.h"
#include "../values.h"
#include "base/rng.h"
#include "../follow.h"
#include "grammar/grammar.h"

struct row {
	const char *grammar, *yes[8], *no[8];
};

static const struct row rows[] = {
	{ "root ::= \"ab\" | [0-9]+", { "ab", "0", "123" }, { "", "a", "ab1", "x", "12a" } },
	{ "root ::= \"ab\"* \"c\"", { "c", "abc", "ababc" }, { "ac", "abb", "ab" } },
	{ "root ::= (\"a\" | \"b\"\n | \"c\")? # remark\n", { "", "a", "c" }, { "d", "ab" } },
	{ "root ::=\n  x |\n  \"q\"\nx ::= \"(\" x \")\" | \"y\"",
	  { "y", "q", "((y))" },
	  { "(q)", "((y)", "y)" } },
	{ "root ::= .{2}",
	  { "ab", "\xc3\xa9\n", "\xf0\x9f\x98\x80x" },
	  { "a", "abc", "\xc3",
	    "\x80"
	    "a" } },
	{ "root ::= [^a\\]\\x41-\\x43]{1,2}",
	  { "b", "Z\n", "\xc3\xa9" },
	  { "a", "]", "B", "", "bbb" } },
	{ "root ::= [\\u00e9-\\U0001F600]",
	  { "\xc3\xa9", "\xf0\x9f\x98\x80" },
	  { "e", "\xf0\x9f\x98\x81", "\xc3\xa8" } },
	{ "root ::= a{2,} b{0}\na ::= \"x\" | \"\"\nb ::= \"b\"",
	  { "", "x", "xxxxx" },
	  { "b", "xb" } },
	{ "root ::= ((\"a\"?)*)* \"b\"", { "b", "aab" }, { "a", "ba" } },
	{ "root ::= \"a\" | b\nb ::= \"b\" b", { "a" }, { "b", "bb", "" } },
	{ "root ::= (\"a\" \"b\"?){3}", { "aaa", "abaab" }, { "aa", "aaaa", "abb" } },
	{ "root ::= [-a]+ | [a-]\"z\"", { "-a-", "-z" }, { "b" } },
	{ "root ::= item+\nitem ::= \"- \" [^\\n]+ \"\\n\"",
	  { "- a\n", "- a\n- bc\n" },
	  { "- \n", "- a", "a\n" } },
};

static int compile(struct grammar **g, const char *text, infer_error *err)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	int rc = gbnf_compile(g, text, strlen(text), &left, err);

	assert_true(!rc == (*g != NULL));
	assert_true(*g || left.bytes == BUDGET_BYTES);
	return rc;
}

static int accepts(const struct grammar *g, const char *s, size_t n, infer_error *err)
{
	size_t taken;
	int tidy = follow(g, MATCH_TIDY, s, n, &taken, err);

	/* white space is what the rules say */
	assert_int_equal(follow(g, MATCH_ANY, s, n, &taken, err), tidy);
	return tidy;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = rows + i;
		infer_error err = { 0 };
		struct grammar *g;

		if (compile(&g, r->grammar, &err))
			fail_msg("%s: %s", r->grammar, err.message);
		for (int k = 0; k < 8 && r->yes[k]; k++)
			if (accepts(g, r->yes[k], strlen(r->yes[k]), &err) != 1)
				fail_msg("%s: not %s %s", r->grammar, r->yes[k], err.message);
		for (int k = 0; k < 8 && r->no[k]; k++)
			if (accepts(g, r->no[k], strlen(r->no[k]), &err) != 0)
				fail_msg("%s: %s", r->grammar, r->no[k]);
		ir_free(g);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *grammar;
		int code;
		const char *message;
	} bad[] = {
		{ "", INFER_EINVAL, "the grammar has no rule root" },
		{ "rot ::= \"a\"", INFER_EINVAL, "the grammar has no rule root" },
		{ "root ::= \"a\" x\n", INFER_EINVAL,
		  "line 1 of the grammar: rule x is not defined" },
		{ "a ::= \"a\"\nroot ::= a\na ::= \"b\"", INFER_EINVAL,
		  "line 3 of the grammar: this rule is defined twice" },
		{ "root ::= \"a", INFER_EINVAL, "line 1 of the grammar: this text has no end" },
		{ "\n\nroot ::= [a", INFER_EINVAL, "line 3 of the grammar: this class has no end" },
		{ "root ::= (\"a\"", INFER_EINVAL, "line 1 of the grammar: ) is missing" },
		{ "root ::= \"a\")", INFER_EINVAL, "line 1 of the grammar: something unexpected" },
		{ "root = \"a\"", INFER_EINVAL, "line 1 of the grammar: ::= is missing" },
		{ "root ::= \"\\q\"", INFER_EINVAL,
		  "line 1 of the grammar: there is no such escape" },
		{ "root ::= \"\\x4\"", INFER_EINVAL,
		  "line 1 of the grammar: too few hexadecimal digits" },
		{ "root ::= \"\\ud800\"", INFER_EINVAL,
		  "line 1 of the grammar: not a Unicode character" },
		{ "root ::= [z-a]", INFER_EINVAL,
		  "line 1 of the grammar: a range of characters is out of order" },
		{ "root ::= \"a\"{3,2}", INFER_EINVAL,
		  "line 1 of the grammar: the minimum is above the maximum" },
		{ "root ::= \"a\"{3", INFER_EINVAL, "line 1 of the grammar: } is missing" },
		{ "root ::= \"a\"{x}", INFER_EINVAL, "line 1 of the grammar: a number is missing" },
		{ "root ::= \"\xff\"", INFER_EINVAL, "line 1 of the grammar: not UTF-8" },
		{ "root ::= <[x]>", INFER_EINVAL, "line 1 of the grammar: a number is missing" },
		{ "root ::= a\na ::= b? a \"x\"\nb ::= \"y\"", INFER_EINVAL,
		  "rule a of the grammar begins with itself (left recursion)" },
		{ "root ::= (\"abc\"{1000}){100000}", INFER_EUNSUP, "the grammar is too large" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		infer_error err = { 0 };
		struct grammar *g;

		assert_int_equal(compile(&g, bad[i].grammar, &err), bad[i].code);
		assert_string_equal(err.message, bad[i].message);
	}
}

/* Lists of any length need no stack; brackets do. */
static void test_deep(void **state)
{
	const struct budget most = { 1 << 16, 1 << 15 };
	struct match_state at = { 0 };
	struct grammar *g;
	struct match *m;
	int rc = 0, n = 0;

	(void)state;
	assert_int_equal(compile(&g, "root ::= \"x\" root | \"(\" root \")\" | \"\"", NULL),
	                 INFER_OK);
	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(match_byte(m, &at, 'x', NULL), INFER_OK);
	assert_true(match_may_end(m, &at));
	for (; !rc && n < 10000; n++)
		rc = match_byte(m, &at, '(', NULL);
	assert_int_equal(rc, INFER_EUNSUP);
	assert_true(match_live(&at) && n > 20);
	match_drop(m, &at);
	match_free(m);
	ir_free(g);
}

static int case_memory(void)
{
	static const char text[] = "root ::= (\"a\" | b){2,} [^x]?\nb ::= \"(\" root \")\"";
	const struct budget most = { 1 << 20, 1 << 20 };
	struct match_state at = { 0 };
	struct grammar *g = NULL;
	struct match *m = NULL;
	int rc;

	nth_ok(compile(&g, text, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	for (const char *s = "a(aa\xc3\xa9)"; *s; s++) {
		nth_ok(match_byte(m, &at, (uint8_t)*s, NULL));
		assert_true(match_live(&at));
	}
	assert_true(match_may_end(m, &at));
out:
	if (m)
		match_drop(m, &at);
	match_free(m);
	ir_free(g);
	return rc;
}

/* -- what llama.cpp has --------------------------------------------------------------------- */

static char *read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *s = malloc(1 << 16);

	assert_non_null(f);
	assert_non_null(s);
	*n = fread(s, 1, 1 << 16, f);
	fclose(f);
	return s;
}

/* Any admitted byte after any other: no dead end. */
static void walk(const struct grammar *g, const char *name, uint64_t seed)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	struct match_state at = { 0 }, try = { 0 };
	struct match *m;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (int i = 0; i < 100; i++) {
		uint32_t r[4], n = 0;
		uint8_t bytes[256];

		for (int b = 0; b < 256; b++) {
			assert_int_equal(match_copy(m, &try, &at, NULL), INFER_OK);
			assert_int_equal(match_byte(m, &try, (uint8_t)b, NULL), INFER_OK);
			if (match_live(&try))
				bytes[n++] = (uint8_t)b;
		}
		if (!n && !match_may_end(m, &at))
			fail_msg("%s: a dead end after %d bytes", name, i);
		if (!n)
			break;
		rng_block(r, seed, (uint64_t)i);
		assert_int_equal(match_byte(m, &at, bytes[r[0] % n], NULL), INFER_OK);
	}
	match_drop(m, &try);
	match_drop(m, &at);
	match_free(m);
}

static void test_files(void **state)
{
	static const char *const names[] = { "arithmetic", "c",    "chess",    "english",
		                             "japanese",   "json", "json_arr", "list" };
	static const char *const texts[] = { "a = 1 + (b*2)\n",
		                             "int main(){ return 1; }",
		                             "1. e4 e5\n2. Nf3 Nc6\n",
		                             "This is English; or not. ",
		                             "\xe3\x81\x82\xe3\x80\x82",
		                             "{\"a\": [1, 2.5e3, null]} ",
		                             "[\n1 ]",
		                             "- one\n- two\n" };
	const int whole[] = { 0, 0, 1, 0, 0, 1, 0, 1 };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		char path[SHARED_PATH], rel[64];
		infer_error err = { 0 };
		struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
		struct grammar *g;
		size_t n;
		char *s;

		snprintf(rel, sizeof rel, "data/grammars/%s.gbnf", names[i]);
		shared_need(rel, 8, path);
		s = read_all(path, &n);
		if (gbnf_compile(&g, s, n, &left, &err))
			fail_msg("%s: %s", names[i], err.message);
		free(s);
		if (whole[i])
			assert_int_equal(accepts(g, texts[i], strlen(texts[i]), &err), 1);
		for (uint64_t seed = 0; seed < 4; seed++)
			walk(g, names[i], seed);
		ir_free(g);
	}
}

static int listed(const struct json *list, const struct json *s)
{
	json_each(e, list)
		if (e->n == s->n && !memcmp(e->s, s->s, s->n))
			return 1;
	return 0;
}

static int check_list(const struct grammar *g, const struct json *row, const char *key, int want,
                      const char *but, enum match_spaces spaces)
{
	int wrong = 0;

	json_each(s, json_get(row, key)) {
		infer_error err = { 0 };
		size_t taken;
		int got;

		if (listed(json_get(row, but), s))
			continue;
		got = follow(g, spaces, s->s, s->n, &taken, &err);
		if (got == want)
			continue;
		print_error("%.*s: %.*s is %d at %zu %s\n", (int)json_bytes(json_get(row, "name")),
		            json_str(json_get(row, "name")), (int)s->n, s->s, got, taken,
		            err.message);
		wrong++;
	}
	return wrong;
}

/* A schema of these files that is refused for a reason: prefixItems is an array. */
static int refused(int rc, const char *why)
{
	return rc == INFER_EINVAL && strstr(why, "/prefixItems: must be an array of schemas");
}

static int check_row(struct arena *a, const struct json *row)
{
	const struct json *text = json_get(row, "grammar"), *schema = json_get(row, "schema");
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	infer_error err = { 0 };
	struct grammar *g;
	int rc, wrong;

	if (text) {
		rc = gbnf_compile(&g, text->s, text->n, &left, &err);
		if (json_equals(json_get(row, "kind"), "gbnf_invalid")) {
			assert_int_equal(rc, INFER_EINVAL);
			return 0;
		}
	} else {
		rc = schema_compile(&g, value_n(a, schema->s, schema->n), NULL, &left, &err);
	}
	if (refused(rc, err.message))
		return 0;
	if (rc)
		fail_msg("%.*s: %s", (int)json_bytes(json_get(row, "name")),
		         json_str(json_get(row, "name")), err.message);
	wrong = check_list(g, row, "accept", 1, "accept_invalid_per_spec", MATCH_ANY) +
	        check_list(g, row, "reject", 0, "reject_valid_per_spec", MATCH_ANY);
	ir_free(g);
	return wrong;
}

typedef int row_fn(struct arena *a, const struct json *row);

/* Each line of a file is a row; returns how many are wrong. */
static int check_file(const char *name, int cases, row_fn *check)
{
	char path[SHARED_PATH];
	char *line = NULL;
	size_t cap = 0;
	int wrong = 0, n_rows = 0;
	struct arena a;
	FILE *f;

	shared_need(name, cases, path);
	f = fopen(path, "rb");
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; arena_reset(&a)) {
		const struct json *row = value_n(&a, line, (size_t)n);

		assert_non_null(row);
		wrong += check(&a, row);
		n_rows++;
	}
	assert_int_equal(n_rows, cases);
	arena_fini(&a);
	free(line);
	fclose(f);
	return wrong;
}

static void test_cases(void **state)
{
	(void)state;
	assert_int_equal(check_file("data/extracted/grammar_integration.jsonl", 52, check_row), 0);
}

/* The rows that are Lark are in a language that this does not read. */
static int check_guidance(struct arena *a, const struct json *row)
{
	return json_equals(json_get(row, "kind"), "lark") ? 0 : check_row(a, row);
}

static void test_guidance(void **state)
{
	(void)state;
	assert_int_equal(check_file("data/extracted/llguidance.jsonl", 42, check_guidance), 0);
}

/* A schema compiles where it did there. */
static int check_compiles(struct arena *a, const struct json *row)
{
	const struct json *schema = json_get(row, "schema"), *name = json_get(row, "name");
	const int fails = json_equals(json_get(row, "status"), "FAILURE");
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	infer_error err = { 0 };
	struct grammar *g = NULL;
	int rc = schema_compile(&g, value_n(a, schema->s, schema->n), NULL, &left, &err);

	ir_free(g);
	if (!rc == !fails || refused(rc, err.message))
		return 0;
	print_error("%.*s: %d %s\n", (int)json_bytes(name), json_str(name), rc, err.message);
	return 1;
}

static void test_compiles(void **state)
{
	(void)state;
	assert_int_equal(check_file("data/extracted/schema_to_grammar.jsonl", 75, check_compiles),
	                 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deep),     nth_case(case_memory),
		cmocka_unit_test(test_files),    cmocka_unit_test(test_cases),
		cmocka_unit_test(test_guidance), cmocka_unit_test(test_compiles),
	};

	return nth_group(tests);
}
