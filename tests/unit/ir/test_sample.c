/* tests/unit/ir/test_sample.c - texts of grammars that are drawn: whole, the same for the same
 * numbers, and of about the length that was asked for. */
#include "../nth.h"
#include <string.h>
#include "../values.h"
#include "../follow.h"
#include "grammar/grammar.h"
#include "ir/sample.h"

/* ' stands for " in schemas */
static const char *const schemas[] = {
	"{}",
	"{'type':'integer','minimum':100,'maximum':999}",
	"{'type':'string','pattern':'^[a-c]{5}$'}",
	"{'enum':[1,'a',null,[1,2],{'k':[]}]}",
	"{'type':'array','contains':{'const':7},'minContains':2,'maxContains':3,'minItems':4}",
	"{'type':'object','oneOf':[{'required':['foo','bar']},{'required':['foo','baz']}]}",
	"{'type':'object','minProperties':3,'propertyNames':{'pattern':'^[xy]z*$'},"
	"'additionalProperties':{'type':'object','required':['v']}}",
	/* an end is only where nothing is repeated */
	"{'$ref':'#/$defs/n','$defs':{'n':{'type':'object','required':['l','r'],'properties':{'l':{"
	"'$ref':'#/$defs/m'},'r':{'$ref':'#/$defs/m'}}},'m':{'anyOf':[{'$ref':'#/$defs/n'},{"
	"'const':'leaf'}]}}}",
	"{'not':{'patternProperties':{'^a':{'type':'null'}}},'type':'object'}",
};
static const char *const rules[] = {
	"root ::= \"(\" root root \")\" | [a-z]{3,5}",
	"root ::= item+\nitem ::= \"- \" [^\\n]+ \"\\n\"",
};

static void check(const struct grammar *g, const char *what)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	infer_error err = { 0 };
	struct match *m;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	for (uint32_t k = 0; k < 8; k++) {
		const uint32_t length = k * 20;
		struct buf b, twin;
		size_t taken;

		buf_init(&b, MEM_TEXT);
		buf_init(&twin, MEM_TEXT);
		if (match_sample(m, 1, k, length, &b, &err))
			fail_msg("%s: %s: %.*s", what, err.message, 100, b.at);
		if (follow(g, MATCH_TIDY, b.at, b.len, &taken, &err) != 1)
			fail_msg("%s: %.*s", what, (int)b.len, b.at);
		if (b.len > length + 150)
			fail_msg("%s: %zu bytes for %u", what, b.len, length);
		assert_int_equal(match_sample(m, 1, k, length, &twin, NULL), INFER_OK);
		assert_int_equal(b.len, twin.len);
		assert_memory_equal(b.at, twin.at, b.len);
		buf_fini(&b);
		buf_fini(&twin);
	}
	match_free(m);
}

static void test_samples(void **state)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g;

	(void)state;
	for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
		struct arena a;

		arena_init(&a, MEM_TEXT);
		assert_int_equal(schema_compile(&g, value(&a, schemas[i]), NULL, &left, NULL),
		                 INFER_OK);
		arena_fini(&a);
		check(g, schemas[i]);
		ir_drop(g, &left);
	}
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		assert_int_equal(gbnf_compile(&g, rules[i], strlen(rules[i]), &left, NULL),
		                 INFER_OK);
		check(g, rules[i]);
		ir_drop(g, &left);
	}
	assert_int_equal(grammar_regex(&g, "(ab|c)+\\d{4,}", 13, &left, NULL), INFER_OK);
	check(g, "a regular expression");
	ir_drop(g, &left);
}

static void test_none(void **state)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g;
	struct match *m;
	struct arena a;
	struct buf b;

	(void)state;
	arena_init(&a, MEM_TEXT);
	buf_init(&b, MEM_TEXT);
	assert_int_equal(schema_compile(&g, value(&a, "false"), NULL, &left, NULL), INFER_OK);
	assert_int_equal(match_new(&m, g, MATCH_TIDY, &left, NULL), INFER_OK);
	assert_int_equal(match_sample(m, 1, 1, 10, &b, NULL), INFER_EEMPTY);
	match_free(m);
	ir_free(g);
	/* the matcher's budget ends it */
	assert_int_equal(schema_compile(&g, value(&a, "{'minLength':5000,'type':'string'}"), NULL,
	                                &left, NULL),
	                 INFER_OK);
	const struct budget small = { 1, 1 << 20 };

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &small, NULL), INFER_OK);
	assert_int_equal(match_sample(m, 1, 1, 10, &b, NULL), INFER_EUNSUP);
	match_free(m);
	ir_free(g);
	buf_fini(&b);
	arena_fini(&a);
}

static int case_memory(void)
{
	const struct budget most = { 1 << 20, 1 << 20 };
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g = NULL;
	struct match *m = NULL;
	struct buf b;
	int rc;

	buf_init(&b, MEM_TEXT);
	nth_ok(gbnf_compile(&g, rules[0], strlen(rules[0]), &left, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(match_sample(m, 3, 4, 30, &b, NULL));
out:
	match_free(m);
	ir_free(g);
	buf_fini(&b);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_none),
		nth_case(case_memory),
	};

	return nth_group(tests);
}
