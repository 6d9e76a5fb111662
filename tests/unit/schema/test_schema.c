/* tests/unit/schema/test_schema.c - JSON Schema: values that satisfy it, schemas that are refused
 * and where; every admitted text can be completed; memory and budgets. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../values.h"
#include "base/rng.h"
#include "../follow.h"
#include "grammar/grammar.h"

/* ' stands for " everywhere */
struct row {
	const char *schema, *yes[12], *no[12];
};

static const struct row rows[] = {
	{ "{}",
	  { "1", "-0.5e+7", "null", "true", "'a'", "[]", "{}", "[1,{'a':[null]}]", "{'a':1,'':2}" },
	  { "", "01", "1.", ".5", "+1", "nul", "{'a':1,'a':2}", "{'\\u0061':1,'a':2}", "[1,]",
	    "{,}", "'\\x'", "'\\ud800'" } },
	{ "true", { "1" }, { "" } },
	{ "false", { 0 }, { "1", "null", "{}" } },
	{ "{'type':'integer'}",
	  { "0", "-7", "1.0", "1.00", "12e3" },
	  { "1.5", "'1'", "null", "1e-1" } },
	{ "{'type':['null','boolean']}", { "null", "true", "false" }, { "0", "'null'", "tru" } },
	/* a keyword for one type accepts values of other types */
	{ "{'minimum':3}", { "3", "4.5", "'a'", "null", "[]" }, { "2", "-3", "2.999" } },
	{ "{'minLength':2}",
	  { "'ab'", "1", "'\\u00e9\\n'", "'\xc3\xa9\xf0\x9f\x98\x80'" },
	  { "'a'", "''", "'\xf0\x9f\x98\x80'", "'\\ud83d\\ude00'" } },
	{ "{'type':'string','pattern':'b'}",
	  { "'abc'", "'b'", "'\\u0062'" },
	  { "'ac'", "''", "1" } },
	{ "{'type':'string','pattern':'^a+$','maxLength':3}",
	  { "'a'", "'aaa'" },
	  { "'aaaa'", "''", "'ba'" } },
	{ "{'enum':[1,'a',null,[1,2],{'k':[]}]}",
	  { "1", "1.0", "'a'", "null", "[1,2]", "{'k':[]}" },
	  { "2", "'b'", "[1]", "[1,2,3]", "{}", "{'k':[],'l':1}", "{'k':1}", "true" } },
	{ "{'not':{'enum':[1,'a',[2],{'k':3}]}}",
	  { "2", "0.5", "'b'", "null", "[]", "[3]", "[2,2]", "{}", "{'k':4}", "{'k':3,'l':3}" },
	  { "1", "1.0", "'a'", "[2]", "{'k':3}" } },
	/* properties in any order, none twice */
	{ "{'type':'object','properties':{'a':{'type':'integer'},'b':{'type':'string'}},'required':"
	  "['a','b'],"
	  "'additionalProperties':false}",
	  { "{'a':1,'b':'x'}", "{'b':'x','a':1}", "{'\\u0062':'x','a':1}" },
	  { "{}", "{'a':1}", "{'a':1,'b':2}", "{'a':1,'b':'x','c':1}", "{'a':1,'a':1", "{'c'" } },
	{ "{'type':'object','patternProperties':{'^x':{'type':'integer'}},'additionalProperties':{'"
	  "type':'string'}}",
	  { "{}", "{'x1':1,'y':'a'}", "{'y':'','z':''}" },
	  { "{'x1':''}", "{'y':1}", "{'y':'','y':''}" } },
	{ "{'type':'object','propertyNames':{'enum':['a','b']},'minProperties':2}",
	  { "{'a':1,'b':2}", "{'b':0,'a':0}" },
	  { "{}", "{'a':1}", "{'c':1", "{'a':1,'a'" } },
	{ "{'type':'object','propertyNames':{'pattern':'^[ab]$'},'maxProperties':1,'required':['b']"
	  "}",
	  { "{'b':1}" },
	  { "{'a':", "{}", "{'b':1,'a':1}" } },
	{ "{'type':'object','propertyNames':{'maxLength':1}}",
	  { "{'a':1,'b':2,'':3}" },
	  { "{'ab'", "{'a':1,'a'" } },
	{ "{'type':'object','minProperties':1,'maxProperties':2}",
	  { "{'a':1}", "{'a':1,'b':1}" },
	  { "{}", "{'a':1,'b':1,'c':1}" } },
	{ "{'dependentRequired':{'a':['b']}}",
	  { "{}", "{'b':1}", "{'a':1,'b':1}", "3" },
	  { "{'a':1}" } },
	{ "{'dependentSchemas':{'a':{'maxProperties':1}}}",
	  { "{'a':1}", "{'b':1,'c':2}" },
	  { "{'a':1,'b':2}" } },
	{ "{'type':'array','prefixItems':[{'type':'integer'}],'items':{'type':'string'},'minItems':"
	  "1,'maxItems':3}",
	  { "[1]", "[1,'a']", "[1,'a','b']" },
	  { "[]", "['a']", "[1,2]", "[1,'a','b','c']" } },
	{ "{'type':'array','contains':{'const':7},'minContains':2,'maxContains':3}",
	  { "[7,7]", "[7,1,7,7]", "['a',7,7]" },
	  { "[]", "[7]", "[7,7,7,7]", "[1,2]" } },
	/* uniqueItems false always holds, also under not and with unevaluatedItems */
	{ "{'not':{'allOf':[{'uniqueItems':false}],'unevaluatedItems':false}}",
	  { "[1.0,1]", "['a']" },
	  { "[]", "1" } },
	{ "{'type':'array','items':{'enum':[1,2]},'contains':{'const':2},'maxItems':2}",
	  { "[2]", "[1,2]", "[2,1]" },
	  { "[1]", "[1,1", "[]", "[2,2,2]" } },
	{ "{'not':{'type':'array','items':{'type':'integer'}}}",
	  { "1", "['a']", "[1,'a']" },
	  { "[]", "[1]", "[1,2]" } },
	{ "{'anyOf':[{'type':'integer'},{'minLength':2}]}", { "1", "'ab'", "null" }, { "'a'" } },
	{ "{'allOf':[{'minimum':1},{'maximum':3}],'type':'integer'}",
	  { "1", "3", "2.0" },
	  { "0", "4", "2.5" } },
	{ "{'oneOf':[{'type':'integer'},{'minimum':2}]}", { "1", "2.5", "'a'" }, { "3", "1.5" } },
	{ "{'oneOf':[{'properties':{'k':{'const':'a'},'x':{'type':'integer'}},'required':['k','x'],"
	  "'type':'object'},"
	  "{'properties':{'k':{'const':'b'},'y':{'type':'string'}},'required':['k','y'],'type':'"
	  "object'}]}",
	  { "{'k':'a','x':1}", "{'y':'','k':'b'}", "{'x':1,'k':'a','y':3}" },
	  { "{'k':'c'", "{'k':'a'}", "{'k':'b','x':1}" } },
	{ "{'if':{'properties':{'a':{'const':1}},'required':['a']},'then':{'required':['b']},'else'"
	  ":{'required':['c']}}",
	  { "{'a':1,'b':2}", "{'c':1}", "{'a':2,'c':1}", "5" },
	  { "{'a':1}", "{'a':2}", "{}", "{'a':1,'c':1}" } },
	{ "{'$ref':'#/$defs/"
	  "n','$defs':{'n':{'type':'object','properties':{'v':{'type':'integer'},'next':{'$ref':'#/"
	  "$defs/n'}},"
	  "'required':['v'],'additionalProperties':false}}}",
	  { "{'v':1}", "{'next':{'next':{'v':1},'v':2},'v':3}" },
	  { "{'next':{}", "{'v':1,'next':{'v':'a'}}" } },
	{ "{'properties':{'a':true},'unevaluatedProperties':false,'anyOf':[{'properties':{'b':{'"
	  "const':1}}},{'properties':{'c':true}}]}",
	  { "{'a':1}", "{'b':1}", "{'c':1,'b':1}", "{'c':1}" },
	  { "{'d':1}", "{'b':2}" } },
	{ "{'prefixItems':[true],'contains':{'const':1},'unevaluatedItems':{'type':'string'}}",
	  { "[1]", "[0,1,'a']", "['a','b',1]" },
	  { "[]", "[0]", "[0,1,2]", "['a']" } },
	{ "{'$dynamicRef':'#n','$defs':{'x':{'$dynamicAnchor':'n','type':'null'}}}",
	  { "null" },
	  { "1" } },
	{ "{'$schema':'http://json-schema.org/draft-07/"
	  "schema#','items':[{'type':'integer'}],'additionalItems':false}",
	  { "[]", "[1]" },
	  { "['a']", "[1,2]" } },
	{ "{'$schema':'http://json-schema.org/draft-04/schema#','id':'http://a/b','type':'integer',"
	  "'minimum':3,'exclusiveMinimum':true,'maximum':5,'exclusiveMaximum':false}",
	  { "4", "5" },
	  { "3", "6", "4.0", "'a'" } },
	{ "{'$schema':'http://json-schema.org/draft-04/"
	  "schema','items':[{'$ref':'c#x'}],'id':'http://a/"
	  "b','definitions':{'c':{'id':'c','definitions':{'x':{'id':'#x','type':'null'}}}}}",
	  { "[null,1]", "[]", "1" },
	  { "[1]" } },
	{ "{'$schema':'http://json-schema.org/draft-06/schema#','items':[{'const':1}],"
	  "'additionalItems':{'contains':{'exclusiveMinimum':3}}}",
	  { "[1,[4]]", "[1.0]" },
	  { "[2]", "[1,[3]]" } },
	/* up to draft 7 a reference hides the other keywords of its schema */
	{ "{'$schema':'http://json-schema.org/draft-06/schema#','$ref':'#/definitions/a',"
	  "'definitions':{'a':true},'type':'null'}",
	  { "1" },
	  { "" } },
	{ "{'$schema':'https://json-schema.org/draft/2019-09/schema','$ref':'#/$defs/"
	  "a','$defs':{'a':"
	  "{'items':[{'type':'null'}],'additionalItems':false}},'minItems':1}",
	  { "[null]", "1" },
	  { "[]", "[1]", "[null,null]" } },
	/* contains evaluates nothing in 2019-09 */
	{ "{'$schema':'https://json-schema.org/draft/2019-09/schema','contains':true,"
	  "'unevaluatedItems':false}",
	  { "1" },
	  { "[1]", "[]" } },
	{ "{'$schema':'https://json-schema.org/draft/2019-09/schema','$id':'http://a/strict',"
	  "'$recursiveAnchor':true,'$ref':'tree','required':['v'],'$defs':{'t':{'$id':'tree',"
	  "'$recursiveAnchor':true,'type':'object','properties':{'next':{'$recursiveRef':'#'}}}}}",
	  { "{'v':1}", "{'v':1,'next':{'v':2}}" },
	  { "{}", "{'v':1,'next':{}}", "1" } },
	/* $dynamicRef: the outermost anchor of that name */
	{ "{'$id':'http://a/"
	  "r','$dynamicAnchor':'n','$ref':'l','required':['v'],'$defs':{'l':{'$id':'l',"
	  "'$dynamicAnchor':'n','type':'object','properties':{'next':{'$dynamicRef':'#n'}}}}}",
	  { "{'v':1}", "{'v':1,'next':{'v':2}}" },
	  { "{}", "{'v':1,'next':{}}", "1" } },
	{ "{'$id':'http://a/"
	  "r','anyOf':[{'$ref':'x'},{'$ref':'y'}],'$defs':{'l':{'$id':'l','items':{"
	  "'$dynamicRef':'#n'},'$defs':{'d':{'$dynamicAnchor':'n'}}},'x':{'$id':'x','$ref':'l','$"
	  "defs':{"
	  "'d':{'$dynamicAnchor':'n','type':'null'}}},'y':{'$id':'y','$ref':'l','$defs':{'d':{"
	  "'$dynamicAnchor':'n','type':'boolean'}}}}}",
	  { "[null]", "[true,false]", "[]" },
	  { "[null,true]", "[1]" } },
	/* without $schema a value that is valid in an older draft only selects it */
	{ "{'items':[{'type':'null'}],'additionalItems':false,'type':'array'}",
	  { "[]", "[null]" },
	  { "[1]", "[null,null]" } },
	{ "{'items':{'minimum':1,'exclusiveMinimum':true},'type':'array'}",
	  { "[1.5,2]" },
	  { "[1]" } },
	/* annotations */
	{ "{'x-order':1,'markdownDescription':'','nullable':false,'discriminator':{'propertyName':'"
	  "a'},"
	  "'example':1,'readOnly':true,'$comment':'','deprecated':true,'id':'x','type':'null'}",
	  { "null" },
	  { "1" } },
	/* other names, formats and versions that say nothing */
	{ "{'x-order':1,'_minLength':5,'format':'path','version':1,'id':7,'author':{},"
	  "'additionalItems':false,'maxLength':2}",
	  { "'a'", "[1]" },
	  { "'abc'" } },
	{ "{'not':{'format':'path'}}", { 0 }, { "'a'", "1" } },
	/* one $id for several schemas, of which only equal ones may be referred to by it */
	{ "{'properties':{'a':{'$id':'http://a/b','minimum':1},'b':{'$id':'http://a/"
	  "b','type':'null',"
	  "'$defs':{'n':{'type':'null'}},'items':{'$ref':'#/$defs/n'}}}}",
	  { "{'a':1,'b':null}" },
	  { "{'a':0}", "{'b':1}" } },
	{ "{'properties':{'a':{'$id':'http://a/b','minimum':1},'b':{'$id':'http://a/"
	  "b','minimum':1}},"
	  "'items':{'$ref':'http://a/b'}}",
	  { "[1]" },
	  { "[0]", "{'b':0}" } },
	/* more values than an array has elements */
	{ "{'type':'array','uniqueItems':true,'minItems':2,'items':{'type':'object','properties':{'"
	  "a':{"
	  "'type':'integer','minimum':0,'maximum':99999999999999}},'required':['a'],"
	  "'additionalProperties':false}}",
	  { "[{'a':1},{'a':2}]", "[{'a':10},{'a':1},{'a':100}]" },
	  { "[{'a':1},{'a':1}", "[{'a':1}]", "[{'a':12},{'a':1},{'a':12}" } },
	/* schemas of JSON Schema itself */
	{ "{'$ref':'http://json-schema.org/draft-07/schema#'}",
	  { "{'minLength':1}", "true", "{'items':[{},{'type':['null','string']}]}", "{'xyz':1}" },
	  { "{'minLength':-1}", "1", "{'items':[{'type':['nul", "{'type':['null','null']" } },
	{ "{'$schema':'http://json-schema.org/draft-04/schema#','properties':{'a':{'$ref':'https://"
	  "json-schema.org/draft/2020-12/schema'},'b':{'$ref':'http://json-schema.org/draft-04/"
	  "schema#/"
	  "definitions/positiveInteger'}},'type':'object'}",
	  { "{'a':{'$defs':{'x':{'prefixItems':[{'not':false}]}}},'b':0}", "{'a':true}" },
	  { "{'a':{'$defs':{'x':{'prefixItems':[{'not':0}", "{'b':-1}", "{'a':{'minItems':-1}}" } },
	{ "{'$schema':'https://json-schema.org/draft/2019-09/"
	  "schema','$recursiveAnchor':true,'$ref':'https"
	  "://json-schema.org/draft/2019-09/schema','$id':'http://x/"
	  "','maxProperties':1,'type':'object'}",
	  { "{'not':{'not':{}}}" },
	  { "{'not':{'not':{},'if':{}}}", "true" } },
	{ "{'format':'date'}", { "'2024-02-29'", "1" }, { "'2023-02-29'", "'x'" } },
	{ "{'multipleOf':0.5,'minimum':1}", { "1", "1.5", "2.0", "'a'" }, { "0.5", "1.25" } },
};

static const char *plain(char *to, size_t cap, const char *s)
{
	size_t n = strlen(s);

	assert_true(n < cap);
	for (size_t i = 0; i <= n; i++)
		to[i] = s[i] == '\'' ? '"' : s[i];
	return to;
}

static int compile(struct grammar **g, struct arena *a, const char *schema, infer_error *err)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct json *v = value(a, schema);
	int rc;

	*g = NULL;
	if (!v)
		return INFER_ENOMEM;
	rc = schema_compile(g, v, NULL, &left, err);
	assert_true(!rc == (*g != NULL));
	assert_true(*g || left.bytes == BUDGET_BYTES);
	return rc;
}

static void check_text(const struct grammar *g, const char *schema, const char *text, int want)
{
	infer_error err = { 0 };
	char s[512];
	size_t taken;
	int got;

	plain(s, sizeof s, text);
	got = follow(g, MATCH_TIDY, s, strlen(s), &taken, &err);
	/* MATCH_TIDY admits no escapes of letters */
	if (got != (want && !strstr(s, "\\u006")))
		fail_msg("%s: %s is %d after %zu bytes %s", schema, s, got, taken, err.message);
	got = follow(g, MATCH_ANY, s, strlen(s), &taken, &err);
	assert_int_equal(got, want);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		infer_error err = { 0 };
		struct grammar *g;
		struct arena a;

		arena_init(&a, MEM_TEXT);
		if (compile(&g, &a, rows[i].schema, &err))
			fail_msg("%s: %s", rows[i].schema, err.message);
		/* the schema is not needed afterwards */
		arena_fini(&a);
		for (int k = 0; k < 12 && rows[i].yes[k]; k++)
			check_text(g, rows[i].schema, rows[i].yes[k], 1);
		for (int k = 0; k < 12 && rows[i].no[k]; k++)
			check_text(g, rows[i].schema, rows[i].no[k], 0);
		assert_int_equal(ir_is_none(g), !rows[i].yes[0]);
		ir_free(g);
	}
}

static const struct {
	const char *schema;
	int code;
	const char *message;
} bad[] = {
	{ "{'properties':{'a':{'not':{'uniqueItems':true}}}}", INFER_EUNSUP,
	  "#/properties/a/not/uniqueItems: is not supported under not" },
	{ "{'items':{'enum':['a','b']},'minItems':3,'uniqueItems':true}", INFER_EUNSUP,
	  "#/uniqueItems: is not supported if minItems requires many of few values" },
	{ "{'contains':{'const':1},'uniqueItems':true}", INFER_EUNSUP,
	  "#/uniqueItems: is not supported with contains if there are few values" },
	{ "{'items':{'maxlength':3}}", INFER_EUNSUP,
	  "#/items/maxlength: is not a keyword of this draft; maxLength is" },
	{ "{'proprety':3,'propreties':{}}", INFER_EUNSUP,
	  "#/propreties: is not a keyword of this draft; properties is" },
	{ "{'divisibleBy':3}", INFER_EUNSUP, "#/divisibleBy: is not a keyword of this draft" },
	{ "{'allOf':[true,{'format':'idn-hostname'}]}", INFER_EUNSUP,
	  "#/allOf/1/format: this format is not supported" },
	{ "{'minlength':1}", INFER_EUNSUP,
	  "#/minlength: is not a keyword of this draft; minLength is" },
	{ "{'inclusiveMinimum':1}", INFER_EUNSUP,
	  "#/inclusiveMinimum: is not a keyword of this draft; minimum is" },
	{ "{'$defs':{'a':{'$id':'http://a/b','minimum':1},'c':{'$id':'http://a/b'}},"
	  "'$ref':'http://a/b'}",
	  INFER_EINVAL, "#/$ref: refers to http://a/b, the $id of several schemas" },
	{ "{'type':'strin'}", INFER_EINVAL, "#/type: is not a type" },
	{ "{'minLength':-1}", INFER_EINVAL, "#/minLength: must be a whole number, at least 0" },
	{ "{'minLength':1.5}", INFER_EINVAL, "#/minLength: must be a whole number, at least 0" },
	{ "{'required':'a'}", INFER_EINVAL, "#/required: must be an array of strings" },
	{ "{'properties':{'a/b~':3}}", INFER_EINVAL, "#/properties/a~1b~0: is not a schema" },
	{ "{'$ref':'#/$defs/x'}", INFER_EINVAL, "#/$ref: there is nothing at this pointer" },
	{ "{'$ref':'#x'}", INFER_EINVAL, "#/$ref: there is no such anchor" },
	{ "{'$ref':'http://a/b'}", INFER_EUNSUP, "#/$ref: refers to another document" },
	{ "{'$schema':'http://json-schema.org/draft-03/schema#'}", INFER_EUNSUP,
	  "#/$schema: names a dialect that is not supported: drafts 4, 6, 7, 2019-09 "
	  "and " },
	{ "{'nullable':true}", INFER_EUNSUP,
	  "#/nullable: is not a keyword: add null to type instead" },
	{ "{'$schema':'http://json-schema.org/draft-04/schema#','const':1}", INFER_EUNSUP,
	  "#/const: is not a keyword of this draft" },
	{ "{'$schema':'http://json-schema.org/draft-06/schema#','if':true}", INFER_EUNSUP,
	  "#/if: is not a keyword of this draft" },
	{ "{'$schema':'http://json-schema.org/draft-04/schema#','exclusiveMinimum':1}",
	  INFER_EINVAL, "#/exclusiveMinimum: must be true or false" },
	{ "{'$schema':'http://json-schema.org/draft-07/schema#','exclusiveMinimum':true}",
	  INFER_EINVAL, "#/exclusiveMinimum: must be a number" },
	{ "{'$schema':'https://json-schema.org/draft/2019-09/schema','prefixItems':[true]}",
	  INFER_EUNSUP, "#/prefixItems: is not a keyword of this draft" },
	{ "{'$ref':'#/title/n','title':{'n':{'properties':[{}]}}}", INFER_EINVAL,
	  "#/title/n/properties: must be an object" },
	{ "{'$schema':'https://json-schema.org/draft/2020-12/schema','items':[true]}", INFER_EINVAL,
	  "#/items: must be a schema; prefixItems takes an array" },
	{ "3", INFER_EINVAL, "#: is not a schema" },
	{ "{'pattern':'('}", INFER_EINVAL, "#/pattern: " },
	{ "{'patternProperties':{'(':true}}", INFER_EINVAL, "#/patternProperties/(: " },
	{ "{'pattern':'(a)\\\\1'}", INFER_EUNSUP, "#/pattern: " },
	{ "{'pattern':'^(a|b)*a(a|b){40}$'}", INFER_EUNSUP, "#/pattern: " },
	{ "{'items':{'minLength':4000000000},'uniqueItems':true}", INFER_EUNSUP,
	  "#/items/minLength: " },
	{ "{'propertyNames':{'maxLength':4000000000}}", INFER_EUNSUP,
	  "#/propertyNames/maxLength: " },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		infer_error err = { 0 };
		struct grammar *g;
		struct arena a;

		arena_init(&a, MEM_TEXT);
		assert_int_equal(compile(&g, &a, bad[i].schema, &err), bad[i].code);
		if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
			fail_msg("%s: %s", bad[i].schema, err.message);
		arena_fini(&a);
	}
}

static void test_options(void **state)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct json *v;
	struct grammar *g;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	v = value(&a, "{'x-note':1,'format':'phone','maxLength':1}");
	assert_int_equal(schema_compile(&g, v, &(struct schema_opts){ .lax = 1, .annotate = 1 },
	                                &left, NULL),
	                 INFER_OK);
	check_text(g, "lax", "'a'", 1);
	check_text(g, "lax", "'ab'", 0);
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	/* lax: a keyword that cannot be enforced is skipped, also under not */
	struct buf ignored;
	const struct schema_opts lax = { .lax = 1, .ignored = &ignored };

	buf_init(&ignored, MEM_TEXT);
	v = value(
		&a,
		"{'not':{'format':'idn-hostname','type':'null'},'pattern':'(a)\\\\1','maxlength':1,"
		"'minLength':2,'nullable':true,'unit':'m','additionalProperties':{'format':'"
		"idn-hostname'}}");
	assert_int_equal(schema_compile(&g, v, &lax, &left, NULL), INFER_OK);
	check_text(g, "lax", "'ab'", 1);
	check_text(g, "lax", "'a'", 0);
	check_text(g, "lax", "null", 0);
	check_text(g, "lax", "{'a':'b'}", 1);
	static const char *const told[] = { "#/maxlength",  "#/nullable",
		                            "#/pattern",    "#/unit",
		                            "#/not/format", "#/additionalProperties/format" };
	size_t n = 0;

	for (size_t at = 0; at < ignored.len; at += strlen(ignored.at + at) + 1, n++) {
		size_t k = 0;

		while (k < 6 && strcmp(told[k], ignored.at + at) != 0)
			k++;
		assert_true(k < 6);
	}
	assert_true(n >= 5 && n <= 6);
	buf_fini(&ignored);
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	/* both drafts have these keywords; an array of items is valid in draft 7 only */
	v = value(&a, "{'items':[{'type':'null'}]}");
	assert_int_equal(
		schema_compile(&g, v, &(struct schema_opts){ .draft = SCHEMA_7 }, &left, NULL),
		INFER_OK);
	check_text(g, "7", "[null,1]", 1);
	check_text(g, "7", "[1]", 0);
	ir_drop(g, &left);
	arena_fini(&a);
}

/* formats that are not known, and names that are not meant to be keywords */
static void test_annotations(void **state)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct json *v;
	struct grammar *g;
	struct arena a;
	struct buf notes;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct schema_opts strict = { .strict_formats = 1 },
				 noted = { .annotations = &notes };

	buf_init(&notes, MEM_TEXT);
	v = value(&a, "{'format':'path','_a':1,'properties':{'format':{'x-b':1}}}");
	assert_int_equal(schema_compile(&g, v, &noted, &left, NULL), INFER_OK);
	ir_drop(g, &left);
	assert_int_equal(notes.len, 9 + 5 + 24);
	assert_memory_equal(notes.at, "#/format\0#/_a\0#/properties/format/x-b", notes.len);
	buf_fini(&notes);
	assert_int_equal(schema_compile(&g, v, &strict, &left, NULL), INFER_EUNSUP);
	arena_fini(&a);
}

/* canonical spellings of numbers, if the schema allows any */
static void test_usual(void **state)
{
	static const struct {
		const char *schema, *yes[8], *no[8];
	} cases[] = {
		{ "{'type':'integer'}",
		  { "0", "-7", "120", "9223372036854775807", "-9223372036854775808",
		    "8999999999999999999", "-9199999999999999999" },
		  { "-0", "1.0", "1e2", "-0e-1004", "9223372036854775808", "-9223372036854775809",
		    "9300000000000000000", "10000000000000000000" } },
		/* beyond 64 bits only if no other value is left */
		{ "{'type':'integer','minimum':9223372036854775800}",
		  { "9223372036854775806" },
		  { "9223372036854775799", "9223372036854775808", "10000000000000000000" } },
		{ "{'type':'integer','exclusiveMinimum':9223372036854775807}",
		  { "9223372036854775808", "100000000000000000000000" },
		  { "9223372036854775807", "1e30", "10000000000000000000.0" } },
		{ "{'const':1e300}", { 0 }, { "1e300", "10" } },
		{ "{'type':'integer','minimum':0,'maximum':120}",
		  { "0", "120" },
		  { "-0", "-0e-1004", "121", "1.0" } },
		{ "{'type':'number'}",
		  { "0", "-7", "10.00", "-0.5", "1.5e-3", "2E+279", "0.0" },
		  { "-0", "1e1000", "-0e5", "1.", "2e308", "2e280", "1000000000000000000" } },
		{ "{'type':'number','multipleOf':0.5}", { "0", "1.5", "-2.0" }, { "0.3", "-0" } },
		{ "{'type':'number','multipleOf':2}", { "0", "-2" }, { "2.0", "-0" } },
		{ "{'enum':[1,2.5,1e20]}",
		  { "1", "2.5", "100000000000000000000" },
		  { "3", "25e-1", "1.0", "2.50", "1e20" } },
		{ "{'type':['integer','string']}", { "3", "'a'" }, { "3.0", "3e1" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
		infer_error err = { 0 };
		struct grammar *g;
		struct arena a;

		arena_init(&a, MEM_TEXT);
		if (schema_compile(&g, value(&a, cases[i].schema),
		                   &(struct schema_opts){ .canonical = 1 }, &left, &err))
			fail_msg("%s: %s", cases[i].schema, err.message);
		for (int k = 0; k < 8 && cases[i].yes[k]; k++)
			check_text(g, cases[i].schema, cases[i].yes[k], 1);
		for (int k = 0; k < 8 && cases[i].no[k]; k++)
			check_text(g, cases[i].schema, cases[i].no[k], 0);
		ir_drop(g, &left);
		assert_int_equal(left.bytes, BUDGET_BYTES);
		arena_fini(&a);
	}
}

/* -- white space ---------------------------------------------------------------------------- */

static void test_spaces(void **state)
{
	static const struct {
		const char *text;
		int tidy, any;
	} texts[] = {
		{ "{\"a\":[1,2]}", 1, 1 },
		{ "{ \"a\": [ 1, 2]}", 1, 1 },
		{ "{\n\t\"a\":\n  [\n1,\n 2]}", 1, 1 },
		{ "{}", 1, 1 },
		{ "{ }", 1, 1 },
		{ "[\n]", 1, 1 },
		{ "{  \"a\":1}", 0, 1 },
		{ "{\n\n\"a\":1}", 0, 1 },
		{ " {}", 0, 1 },
		{ "{} ", 0, 1 },
		{ "{\"a\" :1}", 0, 1 },
		{ "[1 ]", 0, 1 },
		{ "[1 ,2]", 0, 1 },
		{ "[\t1]", 0, 1 },
		{ "[1,\r\n2]", 0, 1 },
		{ "[\v1]", 0, 0 },
		{ "1 ", 0, 1 },
		{ "\n1", 0, 1 },
	};
	struct grammar *g;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	assert_int_equal(compile(&g, &a, "{}", NULL), INFER_OK);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *s = texts[i].text;
		size_t taken;

		assert_int_equal(follow(g, MATCH_TIDY, s, strlen(s), &taken, NULL), texts[i].tidy);
		assert_int_equal(follow(g, MATCH_ANY, s, strlen(s), &taken, NULL), texts[i].any);
	}
	ir_free(g);
	arena_fini(&a);
}

/* -- walks ---------------------------------------------------------------------------------- */

/* List the bytes that may follow. */
static uint32_t next_bytes(struct match *m, const struct match_state *at, uint8_t *bytes)
{
	struct match_state try = { 0 };
	uint32_t n = 0;

	for (int b = 0; b < 256; b++) {
		assert_int_equal(match_copy(m, &try, at, NULL), INFER_OK);
		assert_int_equal(match_byte(m, &try, (uint8_t)b, NULL), INFER_OK);
		if (match_live(&try))
			bytes[n++] = (uint8_t)b;
	}
	match_drop(m, &try);
	return n;
}

static int has_exponent(const char *s, int n)
{
	for (int i = 1; i < n; i++)
		if ((s[i] | 32) == 'e' && s[i - 1] >= '0' && s[i - 1] <= '9')
			return 1;
	return 0;
}

/* Append random admitted bytes: there is always one more, or the text is complete, and then it is
 * JSON. */
static void walk(const struct grammar *g, uint64_t seed, int steps)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	struct match_state at = { 0 };
	char text[512];
	uint8_t bytes[256];
	struct arena a;
	struct match *m;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	arena_init(&a, MEM_TEXT);
	for (int i = 0; i < steps; i++) {
		const uint32_t n = next_bytes(m, &at, bytes);
		uint32_t r[4];

		/* an exponent may exceed the range of a double */
		if (match_may_end(m, &at) && !value_n(&a, text, (size_t)i) &&
		    !has_exponent(text, i))
			fail_msg("%.*s may end", i, text);
		if (!n && !match_may_end(m, &at))
			fail_msg("%.*s is a dead end", i, text);
		if (!n)
			break;
		rng_block(r, seed, (uint64_t)i);
		/* prefer brackets, quotes and the like, which are few among 256 bytes */
		uint8_t b = bytes[r[0] % n];

		for (uint32_t k = 0; k < 4 && r[1] % 3; k++)
			if (!strchr("\",:{}[]", b))
				b = bytes[r[2] / (k + 1) % n];
		text[i] = (char)b;
		assert_int_equal(match_byte(m, &at, b, NULL), INFER_OK);
		assert_true(match_live(&at));
	}
	arena_fini(&a);
	match_drop(m, &at);
	match_free(m);
}

static void test_walks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct grammar *g;
		struct arena a;

		arena_init(&a, MEM_TEXT);
		assert_int_equal(compile(&g, &a, rows[i].schema, NULL), INFER_OK);
		for (uint64_t seed = 0; seed < 6 && !ir_is_none(g); seed++)
			walk(g, seed, 60);
		ir_free(g);
		arena_fini(&a);
	}
}

/* -- memory, budgets ------------------------------------------------------------------------ */

static int case_memory(void)
{
	static const char schema[] =
		"{'type':'object','properties':{'a':{'enum':[1,'x']},'b':{'$ref':'#'}},"
		"'required':['a'],'anyOf':[{'required':['b']},{'minProperties':1}]}";
	static const char text[] = "{\"b\":{\"a\":1},\"c\":[],\"a\":\"x\"}";
	const struct budget most = { 1 << 20, 1 << 20 };
	struct match_state at = { 0 }, was = { 0 };
	struct grammar *g = NULL;
	struct match *m = NULL;
	struct arena a;
	int rc;

	arena_init(&a, MEM_TEXT);
	nth_ok(compile(&g, &a, schema, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	for (size_t i = 0; text[i]; i++) {
		/* a byte that is refused, then back to the state before */
		nth_ok(match_copy(m, &was, &at, NULL));
		nth_ok(match_byte(m, &at, '@', NULL));
		nth_ok(match_copy(m, &at, &was, NULL));
		assert_true(match_same(&at, &was));
		nth_ok(match_byte(m, &at, (uint8_t)text[i], NULL));
	}
	assert_true(match_may_end(m, &at));
out:
	if (m) {
		match_drop(m, &at);
		match_drop(m, &was);
	}
	match_free(m);
	ir_free(g);
	arena_fini(&a);
	return rc;
}

static void test_budget(void **state)
{
	static const char schema[] = "{'oneOf':[{'required':['a']},{'required':['b']},{'minItems':"
				     "2}],'contains':{'const':1}}";
	struct budget all = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g;
	struct arena a;
	uint64_t steps;

	(void)state;
	arena_init(&a, MEM_TEXT);
	assert_int_equal(schema_compile(&g, value(&a, schema), NULL, &all, NULL), INFER_OK);
	steps = BUDGET_STEPS - all.steps;
	ir_drop(g, &all);
	for (uint64_t part = 0; part < 8; part++) {
		struct budget left = { steps * part / 8, BUDGET_BYTES };
		infer_error err = { 0 };

		assert_int_equal(schema_compile(&g, value(&a, schema), NULL, &left, &err),
		                 INFER_EUNSUP);
		char want[64];

		snprintf(want, sizeof want, "the schema needs more than %llu steps",
		         (unsigned long long)(steps * part / 8));
		if (*err.message == '#')
			assert_non_null(strstr(err.message, "needs more than"));
		else
			assert_string_equal(err.message, want);
		assert_int_equal(left.bytes, BUDGET_BYTES);
	}
	/* the stacks of a text of unbounded nesting */
	assert_int_equal(compile(&g, &a, "{}", NULL), INFER_OK);
	const struct budget most = { 1 << 16, 1 << 14 };
	struct match_state at = { 0 };
	struct match *m;
	int rc, n = 0;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	while (!(rc = match_byte(m, &at, '[', NULL)) && n < 100000)
		n++;
	assert_int_equal(rc, INFER_EUNSUP);
	assert_true(n > 20 && n < 10000);
	/* the state is unchanged */
	for (; n; n--)
		assert_int_equal(match_byte(m, &at, ']', NULL), INFER_OK);
	assert_true(match_may_end(m, &at));
	match_drop(m, &at);
	match_free(m);
	ir_free(g);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_options), cmocka_unit_test(test_annotations),
		cmocka_unit_test(test_usual),   cmocka_unit_test(test_spaces),
		cmocka_unit_test(test_walks),   nth_case(case_memory),
		cmocka_unit_test(test_budget),
	};

	return nth_group(tests);
}
