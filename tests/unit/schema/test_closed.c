/* tests/unit/schema/test_closed.c - closed objects: which members they may have, that each of their
 * texts satisfies the schema as it is written, and which objects stay open. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../values.h"
#include "../follow.h"
#include "grammar/grammar.h"
#include "ir/sample.h"

#define DEFS "'$defs':{'a':{'properties':{'a':{'type':'boolean'}}}}"

/* Schemas and texts with ' for ".  yes: closed objects; no: objects that satisfy the schema, but are
 * not generated */
static const struct row {
	const char *schema, *yes[6], *no[8];
} rows[] = {
	{ "{'properties':{'city':{'enum':['Oslo']},'n':{'enum':[3]}},'required':['city','n']}",
	  { "{'city':'Oslo','n':3}", "{'n':3,'city':'Oslo'}", "1" },
	  { "{'x':1,'city':'Oslo','n':3}", "{'city':'Oslo','n':3,'':1}" } },
	/* the schema speaks of others */
	{ "{'properties':{'a':true},'additionalProperties':true}", { "{'b':1,'a':2}" }, { 0 } },
	{ "{'properties':{'a':true},'additionalProperties':{}}", { "{'b':1}" }, { 0 } },
	{ "{'properties':{'a':true},'unevaluatedProperties':true}", { "{'b':1}" }, { 0 } },
	{ "{'allOf':[{'properties':{'a':true}}],'unevaluatedProperties':{'type':'null'}}",
	  { "{'b':null}" },
	  { 0 } },
	{ "{'allOf':[{'properties':{'a':true}},{'additionalProperties':{'type':'null'}}]}",
	  { "{'b':null,'a':null}" },
	  { 0 } },
	{ "{'properties':{'a':true},'patternProperties':{'^x':true}}",
	  { "{'a':1,'x2':1}" },
	  { "{'b':1}", "{'a':1,'x':1,'b':1}" } },
	{ "{'patternProperties':{'^x$':true}}", { "{}", "{'x':1}" }, { "{'b':1}" } },
	{ "{'properties':{}}", { "{}" }, { "{'b':1}" } },
	{ "{'properties':{'a':true},'required':['b']}",
	  { "{'b':1}", "{'a':1,'b':1}" },
	  { "{'b':1,'c':1}" } },
	{ "{'properties':{'a':true},'dependentRequired':{'a':['b'],'c':['d']}}",
	  { "{'a':1,'b':1}", "{}" },
	  { "{'c':1,'d':1}", "{'b':1}" } },
	/* nothing is named: free objects */
	{ "{}", { "{'a':1}" }, { 0 } },
	{ "{'type':'object','minProperties':1}", { "{'a':1}" }, { 0 } },
	{ "{'propertyNames':{'pattern':'^x'}}", { "{'x':1}" }, { 0 } },
	{ "{'properties':{'a':true,'b':{'type':'object'}}}",
	  { "{'a':{'c':1},'b':{'c':1}}" },
	  { 0 } },
	/* nested objects, also by reference */
	{ "{'properties':{'a':{'items':{'properties':{'b':true}}}}}",
	  { "{'a':[{'b':1}]}" },
	  { "{'a':[{'c':1}]}" } },
	{ "{'$ref':'#/$defs/a','properties':{'n':{'$ref':'#/$defs/a'}}," DEFS "}",
	  { "{'a':true,'n':{'a':true}}" },
	  { "{'n':{'n':{}}}", "{'b':1}" } },
	/* a schema that is chosen names members */
	{ "{'properties':{'p':true},'allOf':[{'properties':{'q':true}}]}",
	  { "{'p':1,'q':1}" },
	  { "{'r':1}" } },
	{ "{'properties':{'p':true},'anyOf':[{'properties':{'q':{'const':1}},'required':['q']},"
	  "{'properties':{'r':true}}]}",
	  { "{'p':1,'q':1}", "{'r':1}" },
	  { "{'p':1,'s':1}" } },
	{ "{'oneOf':[{'properties':{'k':{'const':1},'x':true},'required':['k']},"
	  "{'properties':{'k':{'const':2},'y':true},'required':['k']}]}",
	  { "{'k':1,'x':1}", "{'y':0,'k':2}" },
	  { "{'k':1,'y':1}", "{'k':2,'x':1}", "{'k':2,'z':1}" } },
	{ "{'properties':{'k':{'enum':[1,2]}},'required':['k'],'if':{'properties':{'k':{'const':1}}"
	  "},"
	  "'then':{'properties':{'x':true}},'else':{'properties':{'y':true}}}",
	  { "{'k':1,'x':1}", "{'k':2,'y':1}" },
	  { "{'k':1,'y':1}", "{'k':2,'x':1}" } },
	{ "{'properties':{'k':{'enum':[1,2]}},'if':{'properties':{'k':{'const':1}},"
	  "'required':['k']},'then':{'properties':{'x':true}}}",
	  { "{'k':1,'x':1}", "{'k':2}" },
	  { "{'k':2,'x':1}", "{'x':1}" } },
	{ "{'properties':{'a':true},'dependentSchemas':{'a':{'properties':{'b':true}}}}",
	  { "{'a':1,'b':1}", "{}" },
	  { "{'b':1}", "{'a':1,'c':1}" } },
	{ "{'properties':{'k':true},'enum':[{'k':1,'z':2},{'k':3}]}",
	  { "{'k':1,'z':2}", "{'k':3}" },
	  { 0 } },
	/* under not, in the other schemas of oneOf and in contains, schemas mean what they say */
	{ "{'properties':{'a':true},'not':{'properties':{'a':{'const':1}},'required':['a']}}",
	  { "{'a':2}", "{}" },
	  { "{'b':1}" } },
	{ "{'properties':{'a':true,'b':true},'oneOf':[{'required':['a']},{'required':['b']}]}",
	  { "{'a':1}", "{'b':1}" },
	  { "{'a':1,'c':1}" } },
	{ "{'type':'array','items':{'properties':{'k':true,'l':true}},"
	  "'contains':{'properties':{'k':{'const':1}},'required':['k']},'maxContains':1}",
	  { "[{'k':1,'l':2},{'k':2}]", "[{'k':1}]" },
	  { "[{'k':1},{'m':1}]" } },
	/* objects that could not exist otherwise */
	{ "{'type':'object','properties':{'a':true},'minProperties':2}",
	  { "{'a':1,'b':1}", "{'b':1,'c':1}" },
	  { 0 } },
	{ "{'type':['object','null'],'properties':{'a':true},'minProperties':2}",
	  { "{'a':1,'b':1}", "null" },
	  { 0 } },
	{ "{'properties':{'p':{'type':'object','properties':{'a':true},'minProperties':2}},"
	  "'required':['p']}",
	  { "{'p':{'a':1,'b':1}}" },
	  { "{'p':{'a':1,'b':1},'q':1}" } },
	{ "{'type':'object','properties':{'a':true},'not':{'properties':{'z':{'const':1}}}}",
	  { "{'z':2}", "{'a':1,'z':2,'y':1}" },
	  { 0 } },
	{ "{'type':'object','properties':{'a':true},'propertyNames':{'pattern':'^x'},"
	  "'minProperties':1}",
	  { "{'x1':1}" },
	  { 0 } },
	{ "{'type':'array','uniqueItems':true,'minItems':4,"
	  "'items':{'properties':{'a':{'type':'boolean'}},'type':'object'}}",
	  { "[{},{'a':true},{'a':false},{'b':1}]" },
	  { 0 } },
	/* of several branches, those that can exist closed are enough */
	{ "{'oneOf':[{'properties':{'k':{'const':1}},'required':['k'],'minProperties':2},"
	  "{'properties':{'k':{'const':2}},'required':['k']}],'type':'object'}",
	  { "{'k':2}" },
	  { "{'k':1,'b':1}" } },
	{ "{'$schema':'http://json-schema.org/draft-07/schema#','$ref':'#/definitions/a',"
	  "'definitions':{'a':{'properties':{'a':true}}}}",
	  { "{'a':1}" },
	  { "{'b':1}" } },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int compile(struct grammar **g, struct arena *a, const char *schema, int closed,
                   infer_error *err)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct schema_opts o = { .closed = closed };
	const struct json *v = value(a, schema);

	*g = NULL;
	return v ? schema_compile(g, v, &o, &left, err) : INFER_ENOMEM;
}

static void check(const struct grammar *g, const char *schema, const char *text, int want)
{
	infer_error err = { 0 };
	char s[200];
	size_t taken;

	snprintf(s, sizeof s, "%s", text);
	for (char *p = s; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	if (follow(g, MATCH_ANY, s, strlen(s), &taken, &err) != want)
		fail_msg("%s: %s must be %s, and is not after %zu bytes %s", schema, text,
		         want ? "admitted" : "refused", taken, err.message);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *r = rows + i;
		struct grammar *closed, *open;
		infer_error err = { 0 };
		struct arena a;

		arena_init(&a, MEM_TEXT);
		if (compile(&closed, &a, r->schema, 1, &err) ||
		    compile(&open, &a, r->schema, 0, &err))
			fail_msg("%s: %s", r->schema, err.message);
		for (int k = 0; k < 6 && r->yes[k]; k++) {
			check(closed, r->schema, r->yes[k], 1);
			check(open, r->schema, r->yes[k], 1);
		}
		for (int k = 0; k < 8 && r->no[k]; k++) {
			check(closed, r->schema, r->no[k], 0);
			check(open, r->schema, r->no[k], 1);
		}
		ir_free(closed);
		ir_free(open);
		arena_fini(&a);
	}
}

/* A text of the closed grammar satisfies the schema as it is written. */
static void test_texts(void **state)
{
	const struct budget most = { 1 << 22, 1 << 26 };

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		struct grammar *closed, *open;
		infer_error err = { 0 };
		struct arena a;

		arena_init(&a, MEM_TEXT);
		assert_int_equal(compile(&closed, &a, rows[i].schema, 1, &err), INFER_OK);
		assert_int_equal(compile(&open, &a, rows[i].schema, 0, &err), INFER_OK);
		for (uint64_t k = 0; k < 20; k++) {
			struct match *m;
			struct buf b;
			size_t taken;

			buf_init(&b, MEM_TEXT);
			assert_int_equal(match_new(&m, closed, MATCH_TIDY, &most, &err), INFER_OK);
			if (match_sample(m, i, k, 60, &b, &err))
				fail_msg("%s: %s", rows[i].schema, err.message);
			match_free(m);
			if (follow(open, MATCH_ANY, b.at, b.len, &taken, &err) != 1)
				fail_msg("%s: %.*s", rows[i].schema, (int)b.len, b.at);
			buf_fini(&b);
		}
		ir_free(closed);
		ir_free(open);
		arena_fini(&a);
	}
}

/* An object that is opened, and a schema that is compiled again for open objects. */
static int case_memory(void)
{
	static const char *const schemas[] = {
		"{'properties':{'p':{'type':'object','properties':{'a':true},'minProperties':2}},"
		"'required':['p'],'type':'object'}",
		"{'uniqueItems':true,'minItems':4,'type':'array','items':{'type':'object',"
		"'properties':{'a':{'enum':[1]}}}}",
	};
	struct grammar *g = NULL;
	struct arena a;
	int rc;

	arena_init(&a, MEM_TEXT);
	for (int i = 0; i < 2; i++) {
		nth_ok(compile(&g, &a, schemas[i], 1, NULL));
		ir_free(g);
		g = NULL;
	}
out:
	ir_free(g);
	arena_fini(&a);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		                            cmocka_unit_test(test_texts), nth_case(case_memory) };

	return nth_group(tests);
}
