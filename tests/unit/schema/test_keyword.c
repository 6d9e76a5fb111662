/* tests/unit/schema/test_keyword.c - every row of schema/keyword_list.h: found by its name, refused
 * with a wrong value and in other drafts, and enforced by its function. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../values.h"
#include "../follow.h"
#include "schema/keyword.h"
#include "schema/schema.h"

#define BUDGET \
	{ \
		1 << 22, 1 << 26 \
	}

static const struct list_row {
	const char *name;
	int constrains, drafts, value;
} list[] = {
#define KEYWORD(prefix, name, drafts, types, value, branches, verdict) \
	{ prefix #name, 1, drafts, value },
#define ANNOTATION(prefix, name, drafts, value) { prefix #name, 0, drafts, value },
#define UNSUPPORTED(prefix, name) { prefix #name, 0, 0, V_ANY },
#include "schema/keyword_list.h"
};
enum { N_LIST = sizeof list / sizeof *list };

/* A schema with the keyword, a value that satisfies it and one that does not because of the
 * keyword.  ' stands for " everywhere.
 * wrong   a value that the keyword does not take; "": it takes any
 * drafts  the drafts that have the keyword, independently of its row */
static const struct example {
	const char *name, *schema, *yes, *no, *wrong;
	int drafts;
} examples[] = {
	{ "$dynamicRef",
	  "{'$id':'a:','$dynamicRef':'#n','$defs':{'x':{'$dynamicAnchor':'n','type':'null'}}}",
	  "null", "1", "1", IN_2020 },
	{ "$recursiveRef",
	  "{'$schema':'https://json-schema.org/draft/2019-09/"
	  "schema','$id':'a:','items':{'$recursiveRef':'#'},'maxItems':1}",
	  "[[]]", "[[1,2]]", "1", IN_2019 },
	{ "$ref", "{'$id':'a:','$ref':'#/$defs/n','$defs':{'n':{'type':'null'}}}", "null", "1", "1",
	  ALL_DRAFTS },
	{ "additionalItems",
	  "{'$schema':'http://json-schema.org/draft-07/"
	  "schema#','$id':'a:','items':[true],'additionalItems':false}",
	  "[1]", "[1,2]", "1", TO_2019 },
	{ "additionalProperties", "{'properties':{'a':true},'additionalProperties':false}",
	  "{'a':1}", "{'b':1}", "1", ALL_DRAFTS },
	{ "allOf", "{'allOf':[{'minimum':1},{'maximum':3}]}", "2", "4", "{}", ALL_DRAFTS },
	{ "anyOf", "{'anyOf':[{'minimum':3},{'maximum':1}]}", "3", "2", "{}", ALL_DRAFTS },
	{ "const", "{'const':'a'}", "'a'", "'b'", "", FROM_6 },
	{ "contains", "{'contains':{'const':1}}", "[2,1]", "[2]", "1", FROM_6 },
	{ "dependencies", "{'dependencies':{'a':['b']}}", "{'a':1,'b':1}", "{'a':1}", "1",
	  ALL_DRAFTS },
	{ "dependentRequired", "{'dependentRequired':{'a':['b']}}", "{'a':1,'b':1}", "{'a':1}",
	  "{'a':1}", FROM_2019 },
	{ "dependentSchemas", "{'dependentSchemas':{'a':{'maxProperties':1}}}", "{'a':1}",
	  "{'a':1,'b':1}", "[]", FROM_2019 },
	{ "else", "{'if':{'type':'null'},'else':{'minimum':3}}", "3", "2", "1", FROM_7 },
	{ "enum", "{'enum':[1,'a']}", "'a'", "2", "{}", ALL_DRAFTS },
	{ "exclusiveMaximum", "{'exclusiveMaximum':3}", "2", "3", "'1'", ALL_DRAFTS },
	{ "exclusiveMinimum", "{'exclusiveMinimum':3}", "4", "3", "'1'", ALL_DRAFTS },
	{ "format", "{'format':'date'}", "'2024-02-29'", "'2023-02-29'", "1", ALL_DRAFTS },
	{ "if", "{'if':{'type':'null'},'then':false}", "1", "null", "1", FROM_7 },
	{ "items", "{'items':{'type':'null'}}", "[null]", "[1]", "1", ALL_DRAFTS },
	{ "maxContains", "{'contains':{'const':1},'maxContains':1}", "[1]", "[1,1]", "-1",
	  FROM_2019 },
	{ "maxItems", "{'maxItems':1}", "[1]", "[1,2]", "-1", ALL_DRAFTS },
	{ "maxLength", "{'maxLength':1}", "'a'", "'ab'", "-1", ALL_DRAFTS },
	{ "maxProperties", "{'maxProperties':1}", "{'a':1}", "{'a':1,'b':1}", "-1", ALL_DRAFTS },
	{ "maximum", "{'maximum':3}", "3", "4", "'1'", ALL_DRAFTS },
	{ "minContains", "{'contains':{'const':1},'minContains':2}", "[1,1]", "[1]", "-1",
	  FROM_2019 },
	{ "minItems", "{'minItems':2}", "[1,2]", "[1]", "-1", ALL_DRAFTS },
	{ "minLength", "{'minLength':2}", "'ab'", "'a'", "-1", ALL_DRAFTS },
	{ "minProperties", "{'minProperties':2}", "{'a':1,'b':1}", "{'a':1}", "-1", ALL_DRAFTS },
	{ "minimum", "{'minimum':3}", "3", "2", "'1'", ALL_DRAFTS },
	{ "multipleOf", "{'multipleOf':3}", "6", "7", "0", ALL_DRAFTS },
	{ "not", "{'not':{'type':'null'}}", "1", "null", "1", ALL_DRAFTS },
	{ "oneOf", "{'oneOf':[{'minimum':1},{'maximum':3}]}", "4", "2", "{}", ALL_DRAFTS },
	{ "pattern", "{'pattern':'^a'}", "'ab'", "'ba'", "1", ALL_DRAFTS },
	{ "patternProperties", "{'patternProperties':{'^a':{'type':'null'}}}", "{'a':null}",
	  "{'a':1}", "[]", ALL_DRAFTS },
	{ "prefixItems", "{'prefixItems':[{'type':'null'}]}", "[null]", "[1]", "{}", IN_2020 },
	{ "properties", "{'properties':{'a':{'type':'null'}}}", "{'a':null}", "{'a':1}", "[]",
	  ALL_DRAFTS },
	{ "propertyNames", "{'propertyNames':{'maxLength':1}}", "{'a':1}", "{'ab':1}", "1",
	  FROM_6 },
	{ "required", "{'required':['a']}", "{'a':1}", "{'b':1}", "[1]", ALL_DRAFTS },
	{ "then", "{'if':{'type':'number'},'then':{'minimum':3}}", "3", "2", "1", FROM_7 },
	{ "type", "{'type':'integer'}", "1", "1.5", "'x'", ALL_DRAFTS },
	{ "unevaluatedItems", "{'prefixItems':[true],'unevaluatedItems':false}", "[1]", "[1,2]",
	  "1", FROM_2019 },
	{ "unevaluatedProperties", "{'properties':{'a':true},'unevaluatedProperties':false}",
	  "{'a':1}", "{'b':1}", "1", FROM_2019 },
	{ "uniqueItems", "{'uniqueItems':true}", "[1,2]", "[1,1]", "1", ALL_DRAFTS },
};
enum { N_EXAMPLES = sizeof examples / sizeof *examples };

static int compile(struct grammar **g, const char *schema, int draft, infer_error *err)
{
	const struct schema_opts opts = { .draft = draft };
	struct budget left = BUDGET;
	struct arena a;
	int rc;

	arena_init(&a, MEM_TEXT);
	rc = schema_compile(g, value(&a, schema), &opts, &left, err);
	arena_fini(&a);
	return rc;
}

static int admits(const struct grammar *g, const char *text)
{
	infer_error err = { 0 };
	char s[200];
	size_t taken;

	snprintf(s, sizeof s, "%s", text);
	for (char *p = s; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return follow(g, MATCH_ANY, s, strlen(s), &taken, &err);
}

static void test_sorted(void **state)
{
	(void)state;
	for (int i = 0; i < N_LIST; i++) {
		const struct json m = { .key = list[i].name,
			                .key_n = (uint32_t)strlen(list[i].name) };

		if (i && strcmp(list[i - 1].name, list[i].name) >= 0)
			fail_msg("keyword_list.h: %s must be above %s", list[i].name,
			         list[i - 1].name);
		assert_string_equal(keyword_find(&m)->name, list[i].name);
	}
}

static const struct {
	int draft, bit;
} drafts[] = { { SCHEMA_4, IN_4 },
	       { SCHEMA_6, IN_6 },
	       { SCHEMA_7, IN_7 },
	       { SCHEMA_2019, IN_2019 },
	       { SCHEMA_2020, IN_2020 } };

/* null is a wrong value for every keyword that does not take any value. */
static void test_values(void **state)
{
	(void)state;
	for (int i = 0; i < N_LIST; i++)
		for (int k = 0; k < 5; k++) {
			const struct list_row *r = list + i;
			const int any = r->value == V_ANY ||
			                (r->value == V_ID && drafts[k].draft != SCHEMA_4);
			/* without an array of items additionalItems has no effect */
			const int free = !strcmp(r->name, "additionalItems");
			const int want = !(r->drafts & drafts[k].bit) || r->value == V_FALSE
			                         ? (free ? INFER_OK : INFER_EUNSUP)
			                 : any ? INFER_OK
			                       : INFER_EINVAL;
			infer_error err = { 0 };
			struct grammar *g;
			char schema[64];
			int rc;

			snprintf(schema, sizeof schema, "{'%s':null}", r->name);
			rc = compile(&g, schema, drafts[k].draft, &err);
			ir_free(g);
			if (rc != want)
				fail_msg("%s of draft %d: %d, not %d: %s", r->name, drafts[k].draft,
				         rc, want, err.message);
		}
}

static const struct example *example_of(const char *name)
{
	for (int i = 0; i < N_EXAMPLES; i++)
		if (!strcmp(examples[i].name, name))
			return examples + i;
	return NULL;
}

static int has_row(const char *name)
{
	for (int i = 0; i < N_LIST; i++)
		if (!strcmp(list[i].name, name))
			return 1;
	return 0;
}

static int compile_value(struct grammar **g, const char *name, const char *text, int draft,
                         infer_error *err)
{
	char schema[100];

	snprintf(schema, sizeof schema, "{'%s':%s}", name, text);
	return compile(g, schema, draft, err);
}

/* The row of an example has its drafts; it refuses the wrong value in each, and a boolean that is
 * false constrains nothing. */
static void check_row(const struct list_row *r, const struct example *e)
{
	infer_error err = { 0 };
	struct grammar *g;

	if (!e->wrong || !e->drafts)
		fail_msg("%s: the example here has no wrong value or no drafts", r->name);
	if (e->drafts != r->drafts)
		fail_msg("%s: keyword_list.h has drafts %#x, the example here %#x", r->name,
		         (unsigned)r->drafts, (unsigned)e->drafts);
	for (int k = 0; *e->wrong && k < 5; k++) {
		if (!(e->drafts & drafts[k].bit))
			continue;
		if (compile_value(&g, r->name, e->wrong, drafts[k].draft, &err) != INFER_EINVAL)
			fail_msg("%s: %s is not refused as a wrong value", r->name, e->wrong);
	}
	if (r->value != V_BOOL)
		return;
	if (compile_value(&g, r->name, "false", 0, &err))
		fail_msg("%s: false: %s", r->name, err.message);
	if (admits(g, e->yes) != 1 || admits(g, e->no) != 1)
		fail_msg("%s: false must admit %s and %s", r->name, e->yes, e->no);
	ir_free(g);
}

/* Every function is reached, enforces its keyword, and the negation of its keyword. */
static void test_enforced(void **state)
{
	(void)state;
	for (int k = 0; k < N_EXAMPLES; k++)
		if (!has_row(examples[k].name))
			fail_msg("%s: has an example here and no row in keyword_list.h",
			         examples[k].name);
	for (int i = 0; i < N_LIST; i++) {
		const struct example *e = example_of(list[i].name);
		infer_error err = { 0 };
		struct grammar *g;
		char negated[400];
		int rc;

		if (!e && list[i].constrains)
			fail_msg("%s: has no example here", list[i].name);
		if (!e)
			continue;
		check_row(list + i, e);
		if (compile(&g, e->schema, 0, &err))
			fail_msg("%s: %s", e->name, err.message);
		if (admits(g, e->yes) != 1 || admits(g, e->no) != 0)
			fail_msg("%s: %s must be admitted and %s must not", e->schema, e->yes,
			         e->no);
		ir_free(g);
		snprintf(negated, sizeof negated, "{'not':{'$ref':'#/$defs/s'},'$defs':{'s':%s}}",
		         e->schema);
		rc = compile(&g, negated, 0, &err);
		if (rc ? strcmp(e->name, "uniqueItems") != 0
		       : admits(g, e->yes) != 0 || admits(g, e->no) != 1)
			fail_msg("%s: the opposite must be admitted; %s", negated, err.message);
		ir_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sorted),
		                            cmocka_unit_test(test_values),
		                            cmocka_unit_test(test_enforced) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
