/* tests/unit/grammar/test_compile.c - why a constraint is refused: a cause for each kind of mistake. */
#include "../nth.h"
#include <infer/grammar.h>

#include <string.h>

static const struct {
	int form;
	const char *text;
	uint64_t budget;
	enum infer_grammar_cause cause;
	const char *message; /* its beginning */
} rows[] = {
	{ INFER_GRAMMAR_SCHEMA, "{\"type\":\"string\"}", 0, INFER_GRAMMAR_ACCEPTED, NULL },
	{ INFER_GRAMMAR_OBJECT, "", 0, INFER_GRAMMAR_ACCEPTED, NULL },
	{ INFER_GRAMMAR_SCHEMA, "{\"type\":", 0, INFER_GRAMMAR_UNREADABLE, "json_schema" },
	{ INFER_GRAMMAR_SCHEMA, "{\"type\":\"text\"}", 0, INFER_GRAMMAR_INVALID, "#/type" },
	{ INFER_GRAMMAR_SCHEMA, "{\"$ref\":\"https://example.org/a\"}", 0,
	  INFER_GRAMMAR_UNSUPPORTED, "#/$ref" },
	{ INFER_GRAMMAR_SCHEMA, "{\"enum\":[]}", 0, INFER_GRAMMAR_UNSATISFIABLE, "#" },
	{ INFER_GRAMMAR_SCHEMA, "false", 0, INFER_GRAMMAR_UNSATISFIABLE, "#" },
	{ INFER_GRAMMAR_SCHEMA, "{\"type\":\"string\",\"pattern\":\"(a|b)*a(a|b){20}$\"}", 100000,
	  INFER_GRAMMAR_TOO_LARGE, "#" },
	{ INFER_GRAMMAR_RULES, "root ::= \"a\"", 0, INFER_GRAMMAR_ACCEPTED, NULL },
	{ INFER_GRAMMAR_RULES, "root ::= (", 0, INFER_GRAMMAR_UNREADABLE, "line 1" },
	{ INFER_GRAMMAR_RULES, "root ::= <[1]>", 0, INFER_GRAMMAR_ACCEPTED, NULL },
	{ INFER_GRAMMAR_RULES, "start: \"a\"", 0, INFER_GRAMMAR_ACCEPTED, NULL },
	{ INFER_GRAMMAR_RULES, "start: (", 0, INFER_GRAMMAR_UNREADABLE, "line 1" },
	{ INFER_GRAMMAR_RULES, "start.1: \"a\"", 0, INFER_GRAMMAR_UNSUPPORTED, "line 1" },
	{ INFER_GRAMMAR_RULES, "start: \"a\" start", 0, INFER_GRAMMAR_UNSATISFIABLE, "grammar" },
	{ INFER_GRAMMAR_RULES, "start: /(a|b)*a(a|b){20}/", 100000, INFER_GRAMMAR_TOO_LARGE,
	  "the grammar needs more than" },
	{ INFER_GRAMMAR_RULES, "root ::= \"a\" root", 0, INFER_GRAMMAR_UNSATISFIABLE, "grammar" },
	{ INFER_GRAMMAR_RULES, "root ::= \"a\"{100000}", 1000, INFER_GRAMMAR_TOO_LARGE,
	  "the grammar needs more than" },
	{ INFER_GRAMMAR_REGEX, "a(", 0, INFER_GRAMMAR_UNREADABLE, "the pattern" },
	{ INFER_GRAMMAR_REGEX, "(a)\\1", 0, INFER_GRAMMAR_UNSUPPORTED, "the pattern" },
	{ INFER_GRAMMAR_REGEX, "[]", 0, INFER_GRAMMAR_UNSATISFIABLE, "regex" },
	{ INFER_GRAMMAR_REGEX, "[ab]*a[ab]{20}", 100000, INFER_GRAMMAR_TOO_LARGE, "the pattern" },
	{ INFER_GRAMMAR_CHOICE, "[\"a\",\"b\"]", 0, INFER_GRAMMAR_ACCEPTED, NULL },
	{ INFER_GRAMMAR_CHOICE, "[\"a\",1]", 0, INFER_GRAMMAR_UNREADABLE, "choice" },
	{ INFER_GRAMMAR_CHOICE, "[\"a\"", 0, INFER_GRAMMAR_UNREADABLE, "choice" },
};

static void test_causes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct infer_grammar_source s = {
			.form = rows[i].form,
			.text = { rows[i].text, strlen(rows[i].text) },
			.budget = rows[i].budget,
		};
		enum infer_grammar_cause cause = INFER_GRAMMAR_INVALID;
		infer_error err = { 0 };
		infer_grammar *g;
		const int rc = infer_grammar_compile(&g, &s, &cause, &err);

		if (cause != rows[i].cause)
			print_error("%s: %s\n", rows[i].text, err.message);
		assert_int_equal(cause, rows[i].cause);
		assert_int_equal(rc, cause ? INFER_EEMPTY : INFER_OK);
		assert_int_equal(err.code, rc);
		assert_true(!rc == !!g);
		if (rc && strncmp(err.message, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("%s: %s", rows[i].text, err.message);
		infer_grammar_free(g);
	}
}

/* Memory that runs out is not a fault of the constraint, whatever the cache holds. */
static int case_cache(void)
{
	const struct infer_grammar_source s = { .form = INFER_GRAMMAR_CHOICE,
		                                .text = { "[\"a\"]", 5 } };
	enum infer_grammar_cause cause = INFER_GRAMMAR_ACCEPTED;
	infer_grammar *g = NULL, *same = NULL;
	infer_grammars *c = NULL;
	int rc;

	nth_ok(infer_grammars_new(&c, NULL));
	nth_ok(infer_grammars_get(&g, c, 0, &s, &cause, NULL));
	nth_ok(infer_grammars_get(&same, c, 0, &s, &cause, NULL));
	assert_ptr_equal(g, same);
out:
	assert_int_equal(cause, INFER_GRAMMAR_ACCEPTED);
	infer_grammar_free(same);
	infer_grammar_free(g);
	infer_grammars_free(c);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_causes), nth_case(case_cache) };

	return nth_group(tests);
}
