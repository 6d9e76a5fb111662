/* tests/unit/schema/test_unique.c - uniqueItems: which values are equal, and that every admitted
 * prefix can be completed. */
#include "../nth.h"
#include <string.h>
#include "../values.h"
#include "../follow.h"
#include "grammar/grammar.h"
#include "ir/sample.h"

static char *quoted(struct arena *a, const char *s)
{
	char *to = arena_strndup(a, s, strlen(s));

	assert_non_null(to);
	for (char *p = to; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return to;
}

static struct grammar *compile(struct arena *a, const char *schema, int usual)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct schema_opts o = { .canonical = usual };
	infer_error err = { 0 };
	struct grammar *g;

	if (schema_compile(&g, value(a, schema), &o, &left, &err))
		fail_msg("%s: %s", schema, err.message);
	return g;
}

#define FEW \
	"{'type':'array','uniqueItems':true,'items':{'type':'object','required':['a','b']," \
	"'additionalProperties':false,'properties':{'a':{'enum':[1,2]},'b':{'type':'boolean'" \
	"}}}}"

/* Texts with ' for ". at: offset of the first byte that is not admitted; -1: all are */
static const struct {
	const char *schema, *text;
	int at;
} rows[] = {
	{ "{'uniqueItems':true}", "[1,2,'1',[1],{'a':1,'b':2},{'b':1,'a':2},true,null,[]]", -1 },
	{ "{'uniqueItems':true}", "[{'a':1,'b':2},{'b':2, 'a': 1}]", 29 },
	{ "{'uniqueItems':true}", "[[1,[2]],[1,[2]]]", 15 },
	{ "{'uniqueItems':true}", "[1,12,1]", 7 },
	{ "{'uniqueItems':true}", "[1,12,123]", -1 },
	{ "{'uniqueItems':true}", "['a\\u00e9','a\xc3\xa9']", 15 },
	{ "{'uniqueItems':true}", "['a\\\"b','a\\\"','a\\\"b']", 19 },
	{ "{'uniqueItems':true}", "[true,true]", 6 },
	{ "{'uniqueItems':true}", "[[],[ ]]", 6 },
	{ "{'uniqueItems':true}", "['',[''],'']", 10 },
	/* numbers have no exponent there; zeros at the end make no difference */
	{ "{'uniqueItems':true}", "[1.5,15e-1]", 7 },
	{ "{'uniqueItems':true}", "[{'a':1.0},{'a':1.50},-0.0,1]", -1 },
	{ "{'uniqueItems':true}", "[{'a':1.50},{'a':1.5}]", 20 },
	{ "{'uniqueItems':true}", "[2, 1.00,1, 0.0]", 10 },
	{ "{'uniqueItems':true}", "[-0.0,0,", 7 },
	{ "{'uniqueItems':true,'items':{'type':'integer'}}", "[1, 1.0]", 5 },
	{ "{'uniqueItems':true,'items':{'type':'integer'}}", "[1.0,12,-0.0,2]", -1 },
	{ "{'uniqueItems':true,'items':{'enum':[1,12]}}", "[1, 12.0]", -1 },
	{ "{'uniqueItems':true,'items':{'enum':[1,12]}}", "[12, 1.00,", 9 },
	{ "{'uniqueItems':true,'items':{'enum':[1,12]}}", "[1.0,12.", -1 },
	{ "{'uniqueItems':true,'items':{'type':'array','items':{'enum':[1,12]},'maxItems':1}}",
	  "[[1.0],[12.0],[1", 15 },
	{ "{'uniqueItems':true,'maxItems':1}", "[1.0]", -1 },
	{ "{'uniqueItems':false}", "[1,1,1.0]", -1 },
	/* few values: after the last, neither a comma nor a prefix of an earlier element is
	 * admitted */
	{ "{'uniqueItems':true,'items':{'enum':['ab','ac','b']}}", "['ab','ac','b',", 14 },
	{ "{'uniqueItems':true,'items':{'enum':['ab','ac','b']}}", "['b','ac','ac'", 12 },
	{ "{'uniqueItems':true,'items':{'enum':['ab','ac','b']}}", "['b','b", 6 },
	{ "{'uniqueItems':true,'items':{'enum':[1,10,'a']},'minItems':2}", "[10,1,'a']", -1 },
	{ "{'uniqueItems':true,'items':{'enum':[1,10,'a']},'minItems':2}", "[1,10]", -1 },
	{ "{'uniqueItems':true,'items':{'enum':[1,10,'a']},'minItems':2}", "['a']", 4 },
	{ "{'uniqueItems':true,'items':{'enum':['\xc3\xa9','a']}}", "['\xc3\xa9','\xc3", 7 },
	{ "{'uniqueItems':true,'items':{'type':'boolean'}}", "[true,f", -1 },
	{ "{'uniqueItems':true,'items':{'type':'boolean'}}", "[true,false,", 11 },
	{ "{'uniqueItems':true,'items':{'type':'string','maxLength':1,'pattern':'^[ab]'}}",
	  "['a','a", 6 },
	{ "{'uniqueItems':true,'items':{'type':'string','pattern':'^(a|b.*)$'}}", "['a','a", 6 },
	{ FEW, "[{'a':1,'b':true},{'b':false,'a':1},{'a':2,'b':true},{'b':false,'a':2}]", -1 },
	{ FEW, "[{'a':1,'b':true},{'b':true,'a':1", 32 },
	{ FEW, "[{'a':1,'b':true},{'b':false,'a':1},{'a':1", 41 },
	{ FEW, "[{'a':1,'b':true},{'b':false,'a':1},{'a':2,'b':true},{'b':false,'a':2},", 70 },
	{ "{'uniqueItems':true,'items':{'uniqueItems':true,'items':{'enum':[1,2]},'type':'array'}}",
	  "[[1],[2,1],[],[1,2],[2],", 23 },
	{ "{'uniqueItems':true,'items':{'uniqueItems':true,'items':{'enum':[1,2]},'type':'array'}}",
	  "[[1],[2,1],[],[1,2],[2]]", -1 },
	{ "{'uniqueItems':true,'prefixItems':[{'enum':[1,2]},{'enum':[1,2,3]}],'minItems':2}",
	  "[1,1", 3 },
	{ "{'uniqueItems':true,'prefixItems':[{'enum':[1]}],'items':{'type':'string'}}",
	  "[1,'a','b']", -1 },
	{ "{'uniqueItems':true,'contains':{'type':'string'},'items':{'type':['string','array']}}",
	  "[[],'a']", -1 },
	{ "{'type':'object','additionalProperties':{'uniqueItems':true,'items':{'enum':['a']}}}",
	  "{'x':['a'],'y':['a'],'z':['a',", 29 },
	{ "{'$ref':'#/$defs/t','$defs':{'t':{'type':'array','uniqueItems':true,"
	  "'items':{'$ref':'#/$defs/t'}}}}",
	  "[[[]],[],[[],[[]]],[[[]", -1 },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena a;
		infer_error err = { 0 };
		struct grammar *g;
		size_t taken;
		char *text;

		arena_init(&a, MEM_TEXT);
		g = compile(&a, rows[i].schema, 0);
		text = quoted(&a, rows[i].text);
		if (follow(g, MATCH_ANY, text, strlen(text), &taken, &err) < 0)
			fail_msg("%s: %s: %s", rows[i].schema, text, err.message);
		if (taken != (rows[i].at < 0 ? strlen(text) : (size_t)rows[i].at))
			fail_msg("%s: %s: %zu", rows[i].schema, text, taken);
		arena_fini(&a);
		ir_free(g);
	}
}

/* Every admitted prefix can be completed. */
static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct budget most = { 1 << 22, 1 << 26 };
		struct arena a;
		infer_error err = { 0 };
		struct grammar *g;
		struct match *m;

		arena_init(&a, MEM_TEXT);
		g = compile(&a, rows[i].schema, i & 1);
		for (uint64_t k = 0; k < 6; k++) {
			struct buf b;
			size_t taken;

			buf_init(&b, MEM_TEXT);
			assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, &err), INFER_OK);
			if (match_sample(m, i, k, 40, &b, &err))
				fail_msg("%s: %.*s: %s", rows[i].schema, (int)b.len, b.at,
				         err.message);
			match_free(m);
			assert_int_equal(follow(g, MATCH_ANY, b.at, b.len, &taken, &err), 1);
			buf_fini(&b);
		}
		arena_fini(&a);
		ir_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		                            cmocka_unit_test(test_ends) };

	return nth_group(tests);
}
