/* tests/unit/lark/test_lark.c - Lark grammars: what llguidance accepts and refuses under them, what is refused by
 * name, memory, hostile grammars. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../follow.h"
#include "../values.h"
#include "base/buf.h"
#include "lark/lark.h"
#include "schema/schema.h"

static const struct schema_opts json = { .canonical = 1 };

static int compile(struct grammar **g, const char *text, size_t n, infer_error *err)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	int rc = lark_compile(g, text, n, &json, NULL, &left, err);

	assert_true(!rc == (*g != NULL));
	assert_true(*g || left.bytes == BUDGET_BYTES);
	return rc;
}

/* Count the texts that the grammar decides otherwise than llguidance; *unsure: those without an answer. */
static int check_texts(const struct grammar *g, const struct json *row, const char *key, int want,
                       int *unsure)
{
	int wrong = 0;

	json_each(s, json_get(row, key)) {
		infer_error err = { 0 };
		size_t taken;
		const int got = follow(g, MATCH_TIDY, s->s, s->n, &taken, &err);

		*unsure += got < 0;
		if (got == want || got < 0)
			continue;
		print_error("%.*s\n\"%.*s\" is %d at %zu\n",
		            (int)json_bytes(json_get(row, "grammar")),
		            json_str(json_get(row, "grammar")), (int)s->n, s->s, got, taken);
		wrong++;
	}
	return wrong;
}

static void test_llguidance(void **state)
{
	FILE *f = fopen("tests/golden/lark/texts.jsonl", "rb");
	int wrong = 0, unsure = 0, rows = 0;
	char *line = NULL;
	size_t cap = 0;
	struct arena a;

	(void)state;
	assert_non_null(f);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; rows++) {
		const struct json *row, *text;
		infer_error err = { 0 };
		struct grammar *g;

		arena_init(&a, MEM_TEXT);
		row = value_n(&a, line, (size_t)n);
		text = json_get(row, "grammar");
		assert_non_null(text);
		if (compile(&g, text->s, text->n, &err))
			fail_msg("%.*s\n%s", (int)text->n, text->s, err.message);
		wrong += check_texts(g, row, "yes", 1, &unsure);
		wrong += check_texts(g, row, "no", 0, &unsure);
		ir_free(g);
		arena_fini(&a);
	}
	free(line);
	fclose(f);
	assert_int_equal(wrong, 0);
	assert_in_range(unsure, 0, 10); /* of very ambiguous grammars: the steps are used up */
	assert_in_range(rows, 250, 10000);
}

/* where this differs from llguidance on purpose */
static void test_own(void **state)
{
	static const struct {
		const char *grammar, *yes, *no;
	} rows[] = {
		/* a terminal that no text follows is not followed */
		{ "start: B+ | C x\nB: /./\nC: /c+/\nx: x", "ccc", "" },
		/* a lazy terminal ends with its first byte too */
		{ "start: /c+/ l \"b\"\nl[lazy]: /[ab]+/", "cab", "caab" },
		/* terminals do not exclude a value */
		{ "start: \"{}\" \"x\" | %json {\"type\": \"object\"} \"y\"", "{}y", "{}z" },
		/* what is not valid UTF-8 matches nothing, not even a negation */
		{ "start: ~\"a\"", "bc", "\xff" },
		{ "start: (\"a\" | \"b\"){0}", "", "a" },
		/* remarks between alternatives */
		{ "start: \"a\" // one\n  // two\n\n  | \"b\"", "b", "c" },
		{ "start: %json {\"type\": \"object\", \"properties\": {\"a\": {\"type\": "
		  "\"null\"}, "
		  "\"b\": {\"const\": 1}}, \"required\": [\"b\", \"a\"]}",
		  "{\"b\":1,\"a\":null}", "{\"a\":null}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		infer_error err = { 0 };
		struct grammar *g;
		size_t taken;

		if (compile(&g, rows[i].grammar, strlen(rows[i].grammar), &err))
			fail_msg("%s: %s", rows[i].grammar, err.message);
		if (follow(g, MATCH_TIDY, rows[i].yes, strlen(rows[i].yes), &taken, &err) != 1)
			fail_msg("%s: not %s", rows[i].grammar, rows[i].yes);
		if (follow(g, MATCH_TIDY, rows[i].no, strlen(rows[i].no), &taken, &err) != 0)
			fail_msg("%s: %s", rows[i].grammar, rows[i].no);
		ir_free(g);
	}
}

static const struct {
	const char *grammar;
	int code;
	const char *message;
} bad[] = {
	{ "", INFER_EINVAL, "the grammar has no rule start" },
	{ "x: \"a\"", INFER_EINVAL, "the grammar has no rule start" },
	{ "start: \"a\"\nstart: \"b\"", INFER_EINVAL,
	  "line 2 of the grammar: start is defined twice" },
	{ "start: \"a\" x", INFER_EINVAL, "line 1 of the grammar: x is not defined" },
	{ "start: A\nA: B\nB: A", INFER_EINVAL,
	  "line 3 of the grammar: the terminal A contains itself" },
	{ "start: A\nA: b\nb: \"x\"", INFER_EINVAL,
	  "line 2 of the grammar: a terminal cannot contain the rule b" },
	{ "start: A\nA: <x>", INFER_EINVAL,
	  "line 2 of the grammar: a terminal cannot contain the token <x>" },
	{ "start: x & \"a\"\nx: \"b\"", INFER_EINVAL,
	  "line 1 of the grammar: & is for terminals; write the name of the rule in upper "
	  "case" },
	{ "start.2: \"a\"", INFER_EUNSUP, "line 1 of the grammar: priorities are not supported" },
	{ "start: a{\"x\"}\na{y}: y", INFER_EUNSUP,
	  "line 1 of the grammar: templates are not supported" },
	{ "a{y}: y", INFER_EUNSUP, "line 1 of the grammar: templates are not supported" },
	{ "%declare A\nstart: A", INFER_EUNSUP,
	  "line 1 of the grammar: %declare is not supported here" },
	{ "%override start: \"a\"", INFER_EUNSUP,
	  "line 1 of the grammar: %override is not supported here" },
	{ "%import common.NONE\nstart: NONE", INFER_EUNSUP,
	  "line 1 of the grammar: common has no terminal NONE" },
	{ "%import python.X\nstart: X", INFER_EUNSUP,
	  "line 1 of the grammar: imports other than from common are not supported" },
	{ "start: @json", INFER_EUNSUP,
	  "line 1 of the grammar: @json: other grammars are not supported; use %lark or "
	  "%json" },
	{ "start: x\nx[stop=\"b\"]: /a*/", INFER_EUNSUP,
	  "line 2 of the grammar: stop= is not supported: it would take back text that is "
	  "written; use suffix= or lazy" },
	{ "start: x\nx[max_tokens=3]: /a*/", INFER_EUNSUP,
	  "line 2 of the grammar: max_tokens= is not supported: a grammar does not count "
	  "tokens; limit the text, as in /.{1,9}/" },
	{ "start: x\nx[temperature=0.5]: /a*/", INFER_EUNSUP,
	  "line 2 of the grammar: temperature= is not supported: it is one for the whole "
	  "answer" },
	{ "start: x\nx[suffix=\"\"]: /a*/", INFER_EUNSUP,
	  "line 2 of the grammar: an empty suffix is not supported" },
	{ "start: x\nx[stop_capture=\"y\"]: /a*/", INFER_EINVAL,
	  "line 2 of the grammar: stop_capture= needs suffix=" },
	{ "start: x\nx[suffix=\"b\", stop_capture]: /a*/", INFER_EINVAL,
	  "line 2 of the grammar: = is missing" },
	{ "start: x::1\nx::_[lazy]: /a*b/", INFER_EUNSUP,
	  "line 2 of the grammar: a rule with a parameter cannot have lazy or suffix=" },
	{ "start: x\nx[fast]: /a*/", INFER_EINVAL,
	  "line 2 of the grammar: not an attribute of a rule: fast" },
	{ "%llguidance {\"fast\": true}\nstart: \"a\"", INFER_EUNSUP,
	  "line 1 of the grammar: %llguidance: fast: not supported" },
	{ "%llguidance {\"allow_invalid_utf8\": true}\nstart: \"a\"", INFER_EUNSUP,
	  "line 1 of the grammar: %llguidance: allow_invalid_utf8: not supported" },
	{ "start: %lark { start: \"a\" }\n%ignore \" \"", INFER_EUNSUP,
	  "line 1 of the grammar: %ignore together with %lark is not supported" },
	{ "start: %json {\"type\": 3}", INFER_EINVAL, NULL },
	{ "start: %regex {\"type\": \"number\"}", INFER_EUNSUP,
	  "line 1 of the grammar: %regex: type: not supported" },
	{ "start: /a(?=b)/", INFER_EUNSUP,
	  "line 1 of the grammar: the expression, character 2: look-ahead is not "
	  "supported" },
	{ "start: /a\\b/", INFER_EUNSUP,
	  "line 1 of the grammar: the expression, character 2: this anchor is not "
	  "supported" },
	{ "start: /a^b/", INFER_EUNSUP,
	  "line 1 of the grammar: the expression, character 2: an anchor within an "
	  "expression is not supported" },
	{ "start: /^a/m \"b\"", INFER_EUNSUP,
	  "line 1 of the grammar: the expression, character 1: an anchor of lines (the "
	  "modifier m) is not supported" },
	{ "start: /(?m)a$/", INFER_EUNSUP,
	  "line 1 of the grammar: the expression, character 6: an anchor of lines (the "
	  "modifier m) is not supported" },
	{ "start: /[a/", INFER_EINVAL,
	  "line 1 of the grammar: the expression, character 1: [ without ]" },
	{ "start: \"a\"{3,2}", INFER_EINVAL,
	  "line 1 of the grammar: the minimum is above the maximum" },
	{ "start: 'a'", INFER_EINVAL, "line 1 of the grammar: something unexpected" },
	{ "start: \"a", INFER_EINVAL, "line 1 of the grammar: this text has no end" },
	{ "start: \"\\q\"", INFER_EINVAL, "line 1 of the grammar: there is no such escape" },
	{ "start: \"b\"..\"a\"", INFER_EINVAL,
	  "line 1 of the grammar: a range must be of two ascending characters" },
	{ "start: (\"a\"", INFER_EINVAL, "line 1 of the grammar: ) is missing" },
	{ "start: \"a\" %if bit_set(1)", INFER_EINVAL,
	  "line 1 of the grammar: a condition needs a rule with a parameter" },
	{ "start: x\nx::_: \"a\"", INFER_EINVAL,
	  "line 1 of the grammar: the rule x needs a parameter" },
	{ "start: x::3\nx: \"a\"", INFER_EINVAL,
	  "line 1 of the grammar: the rule x has no parameter" },
	{ "start: x::incr(_)\nx::_: \"a\"", INFER_EINVAL,
	  "line 1 of the grammar: this rule has no parameter to compute with" },
	{ "start: x::0\nx::_: \"a\" x::incr(_) | \"\"", INFER_EUNSUP, "the grammar is too large" },
	{ "start: <[3-1]>", INFER_EINVAL, "line 1 of the grammar: not a set of tokens: <[3-1]>" },
	{ "start: (((\"a\" \"b\"){1000} \"c\"){1000} \"d\"){1000000} \"e\"", INFER_EUNSUP,
	  "the grammar is too large" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		infer_error err = { 0 };
		struct grammar *g;

		if (compile(&g, bad[i].grammar, strlen(bad[i].grammar), &err) != bad[i].code)
			fail_msg("%s: %d %s", bad[i].grammar, err.code, err.message);
		if (bad[i].message)
			assert_string_equal(err.message, bad[i].message);
	}
}

static void test_which(void **state)
{
	(void)state;
	assert_true(lark_is("start: \"a\"", 10));
	assert_true(lark_is("\n// x\n?start : \"a\"", 17));
	assert_true(lark_is("# x\n%import common.INT\nstart: INT", 32));
	assert_true(lark_is("p::_ : \"a\"", 10));
	assert_true(lark_is("x[lazy]: /a/", 12));
	assert_false(lark_is("root ::= \"a:\"", 13));
	assert_false(lark_is("# start: x\nroot::=x", 18));
	assert_false(lark_is("", 0));
	assert_false(lark_is("abc", 3));
}

/* Nested without end, or of a size that grows with each line: refused or compiled, within the budget. */
static void test_hostile(void **state)
{
	static const struct {
		const char *head, *open, *middle, *close;
	} rows[] = {
		{ "start: ", "(", "\"a\"", ")" },
		{ "start: ", "[", "\"a\"", "]" },
		{ "start: ", "~", "\"a\"", "" },
		{ "start: ", "%lark { start: ", "\"a\"", "}" },
		{ "start: /", "(", "a", ")/" },
		{ "start: /", "[", "a", "]" },
		{ "start: x::1\nx::_ : \"a\" %if ", "not(", "true", ")" },
		{ "start: %json ", "[", "1", "]" },
		{ "start: ", "\"a\"+ ", "\"b\"", "" },
		{ "start: ", "\"a\" | ", "\"b\"", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		infer_error err = { 0 };
		struct grammar *g;
		struct buf b;

		buf_init(&b, MEM_TEXT);
		buf_puts(&b, rows[i].head);
		for (int k = 0; k < 20000; k++)
			buf_puts(&b, rows[i].open);
		buf_puts(&b, rows[i].middle);
		for (int k = 0; k < 20000; k++)
			buf_puts(&b, rows[i].close);
		if (!compile(&g, b.at, b.len, &err))
			ir_free(g);
		else
			assert_true(err.message[0]);
		buf_fini(&b);
	}
}

/* A list of any length needs no deeper stack, whichever way it recurs. */
static void test_long(void **state)
{
	static const char *const rows[] = { "start: start \"a\" | \"a\"",
		                            "start: \"a\" start | \"a\"", "start: \"a\"+",
		                            "start: /a+/", "start: x\nx: y | \"a\"\ny: x \"a\"" };
	static char text[20000];

	(void)state;
	memset(text, 'a', sizeof text);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		infer_error err = { 0 };
		struct grammar *g;
		size_t taken;

		assert_int_equal(compile(&g, rows[i], strlen(rows[i]), &err), INFER_OK);
		assert_int_equal(follow(g, MATCH_TIDY, text, sizeof text, &taken, &err), 1);
		ir_free(g);
	}
}

static int case_memory(void)
{
	static const char text[] =
		"%import common.INT\nstart: (x | A)+ <[3]> <t> p::1\n"
		"x: x \"a\" | \"b\"i | /[a-c&&[^b]]+/\nA: /a/ & ~\"b\" \"c\"~1..2\n"
		"p::_ : \"p\" INT %if bit_set(0)\n%ignore \" \"\n"
		"y[suffix=\";\", stop_capture=\"e\"]: /.*/\n"
		"z: %json {\"type\":\"null\"} %lark { start: \"q\" }\n";
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g = NULL;
	struct buf ignored;
	int rc;

	buf_init(&ignored, MEM_TEXT);
	nth_ok(lark_compile(&g, text, sizeof text - 1, &json, &ignored, &left, NULL));
out:
	ir_free(g);
	buf_fini(&ignored);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_llguidance),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_long),
		nth_case(case_memory),
	};
	return nth_group(tests);
}
