/* tests/unit/grammar/test_parts.c - constraints that are composed of parts: what they accept and
 * what cannot be composed. */
#include "../nth.h"
#include <string.h>
#include "../values.h"
#include "../follow.h"
#include "grammar/parts.h"
#include "grammar/shared.h"

#define TOKEN "\xff"

static const struct dfa_word controls[] = { { "<call>", 6 }, { "<c", 2 }, { "</think>", 8 } };

struct made {
	struct budget left;
	struct parts *p;
	struct arena a;
	infer_error err;
};

static struct parts *begin(struct made *m)
{
	*m = (struct made){ .left = { BUDGET_STEPS, BUDGET_BYTES } };
	arena_init(&m->a, MEM_GRAMMAR);
	assert_int_equal(parts_new(&m->p, controls, 3, &m->left, &m->err), INFER_OK);
	return m->p;
}

/* The texts of a list that ends with NULL are accepted or not; the grammar goes. */
static void check(struct grammar *g, const char *const *yes, const char *const *no)
{
	size_t taken;

	for (size_t i = 0; yes[i]; i++)
		if (follow(g, MATCH_TIDY, yes[i], strlen(yes[i]), &taken, NULL) != 1)
			fail_msg("refused from %zu on: %s", taken, yes[i]);
	for (size_t i = 0; no[i]; i++)
		if (follow(g, MATCH_TIDY, no[i], strlen(no[i]), &taken, NULL))
			fail_msg("accepted: %s", no[i]);
}

static void finish(struct made *m, uint32_t root, const char *const *yes, const char *const *no)
{
	struct grammar *g;

	if (parts_build(&g, m->p, root))
		fail_msg("%s", m->err.message);
	check(g, yes, no);
	ir_drop(g, &m->left);
	assert_int_equal(m->left.bytes, BUDGET_BYTES);
	arena_fini(&m->a);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_literals(void **state)
{
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	finish(&m,
	       parts_sequence(p, 3, parts_string(p, "a<call>\xc3\xa9"),
	                      parts_either(p, 3, parts_string(p, ""), parts_control(p, "x", 1),
	                                   parts_string(p, "<cc")),
	                      parts_repeat(p, parts_string(p, "ab"), 1, 3)),
	       LIST("a" TOKEN "<call>\xc3\xa9"
	            "ab",
	            "a" TOKEN "<call>\xc3\xa9" TOKEN "xabab",
	            "a" TOKEN "<call>\xc3\xa9" TOKEN "<ccababab"),
	       LIST("a<call>\xc3\xa9"
	            "ab",
	            "a" TOKEN "<call>\xc3\xa9",
	            "a" TOKEN "<call>\xc3\xa9"
	            "xab",
	            "a" TOKEN "<call>\xc3\xa9"
	            "abababab"));
}

static const char schema[] = "{\"type\":\"object\",\"properties\":{\"z\":{\"type\":\"integer\"},"
			     "\"a\":{\"enum\":[\"x\",null]},\"m\":{\"type\":\"number\"}},"
			     "\"required\":[\"z\",\"m\"]}";

/* Values in a row, of which one ends only when the next thing begins. */
static void test_schema(void **state)
{
	struct made m;
	struct parts *p = begin(&m);
	const uint32_t number = parts_schema(p, value(&m.a, "{\"type\":\"integer\"}"), NULL);
	const uint32_t object =
		parts_schema(p, value(&m.a, schema), &(struct schema_opts){ .ordered = 1 });

	(void)state;
	finish(&m,
	       parts_sequence(p, 3, number, parts_repeat(p, parts_string(p, ";"), 0, 2),
	                      parts_repeat(p, object, 0, DFA_FOREVER)),
	       LIST("12", "1;", "-1;;{\"z\":1,\"m\":2}", "1{\"z\":1,\"a\":\"x\",\"m\":2}",
	            "1;{\"z\":1,\"a\":null,\"m\":2}{\"z\": 0, \"m\": 1e5}"),
	       LIST("", "1;;;", "1;{}", "1{\"m\":1,\"z\":2}", "1{\"z\":1,\"m\":1,\"a\":null}",
	            "1{\"z\":1,\"a\":\"x\"}", "1{\"z\":1,\"m\":1,\"other\":2}",
	            "1 {\"z\":1,\"m\":1}"));
}

static void test_order(void **state)
{
	static const char text[] =
		"{\"properties\":{\"b\":{},\"a\":{},\"ab\":{},\"aa\":{}},\"required\":[\"ab\"],"
		"\"additionalProperties\":{\"type\":\"integer\"},\"minProperties\":2,"
		"\"type\":\"object\"}";
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	finish(&m, parts_schema(p, value(&m.a, text), &(struct schema_opts){ .ordered = 1 }),
	       LIST("{\"b\":1,\"ab\":1}", "{\"a\":1,\"ab\":1,\"aa\":3,\"q\":1,\"c\":2}",
	            "{\"ab\":1,\"c\":2}", "{\"ab\":1,\"aa\":[]}"),
	       LIST("{\"aa\":1,\"ab\":1}", "{\"ab\":1}", "{\"ab\":1,\"a\":1}",
	            "{\"ab\":1,\"c\":2,\"aa\":1}", "{\"b\":1,\"a\":1}",
	            "{\"b\":1,\"c\":1,\"ab\":1}", "{\"ab\":1,\"c\":[]}"));
}

static void test_free_text(void **state)
{
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	finish(&m, parts_sequence(p, 2, parts_until(p, "</think>"), parts_string(p, "x")),
	       LIST(TOKEN "</think>x", "a</thin\xc3\xa9" TOKEN "</think>x"),
	       LIST("</think>x", "x", TOKEN "</think>", "a</think>" TOKEN "</think>x",
	            TOKEN "<call>" TOKEN "</think>x"));
	p = begin(&m);
	finish(&m, parts_sequence(p, 2, parts_until(p, "aba"), parts_string(p, "x")),
	       LIST("abax", "aabax", "xyabax", "abcabax"),
	       LIST("x", "aba", "ababax", "abaabax", "abxabx"));
	p = begin(&m);
	finish(&m, parts_without(p, &(struct dfa_word){ "ab", 2 }, 1),
	       LIST("", "a", "ba", "aa\n", "axb"), LIST("ab", "xabx", TOKEN "x"));
}

/* Tags in free text: once or many times, some of them tokens. */
static void test_tags(void **state)
{
	struct part_tag tags[2];
	struct made m;
	struct parts *p;

	(void)state;
	for (unsigned flags = 0; flags < 4; flags++) {
		p = begin(&m);
		tags[0] = (struct part_tag){ "<f>", parts_regex(p, "[0-9]+</f>") };
		tags[1] = (struct part_tag){ "<call>", parts_string(p, "{}") };
		const uint32_t root = parts_tags(p, tags, 2, parts_control(p, "<eot>", 5), flags);
		const int once = flags & PART_TAGS_ONCE, some = flags & PART_TAGS_SOME;
		const char *const free[] = { "", "hello <f", "a" TOKEN "<eot>b", NULL },
				  *const one[] = { "<f>12</f>", "a" TOKEN "<eot>b<f>1</f>",
			                           "a<" TOKEN "<call>{}", NULL },
				  *const more[] = { "<f>1</f>x", "<f>1</f>" TOKEN "<call>{}",
			                            "<f>1</f><f>1</f>" TOKEN "<eot>", NULL },
				  *const never[] = { "<f>",           "<f>x</f>", "a<f></f>",
			                             "<call>",        "<call>{}", TOKEN "<call>",
			                             TOKEN "<other>", NULL },
				  *const none[] = { NULL };
		struct grammar *g;

		assert_int_equal(parts_build(&g, m.p, root), INFER_OK);
		check(g, one, never);
		check(g, some ? none : free, some ? free : none);
		check(g, once ? none : more, once ? more : none);
		ir_drop(g, &m.left);
		arena_fini(&m.a);
	}
}

/* -- other spellings ------------------------------------------------------------------------ */

static const struct part_spelling nested = { .object = { "{", "}" },
	                                     .comma = ", ",
	                                     .name = { "", ": " },
	                                     .word = { "None", "False", "True" },
	                                     .quote = "\"",
	                                     .list = { "[", "]" },
	                                     .escapes = 1 },
				  python = { .object = { "(", ")" },
	                                     .comma = ", ",
	                                     .name = { "", "=" },
	                                     .word = { "None", "False", "True" },
	                                     .quote = "\"",
	                                     .list = { "[", "]" },
	                                     .escapes = 1,
	                                     .nested = &nested };

static void test_python(void **state)
{
	static const char text[] =
		"{'type':'object','properties':{'s':{'type':'string','maxLength':3},"
		"'n':{'type':['number','null','boolean']},'l':{'type':'array','items':{'anyOf':["
		"{'type':'object','properties':{'k':{'$ref':'#/properties/l'}},'minProperties':1},"
		"{'const':7}]},'minItems':1,'maxItems':2}},'required':['n']}";
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	finish(&m, parts_spelled(p, value(&m.a, text), NULL, &python, "f"),
	       LIST("(n=1.5)", "(s=\"a\\\"b\", n=None)", "(n=True, l=[{\"k\": [{\"k\": [7]}, 7]}])",
	            "(s=\"\xc3\xa9'\", n=False)", "(n=1, l=[7, 7])"),
	       LIST("()", "(s=\"a\")", "(n=1, s=\"a\")", "(s=\"abcd\", n=1)", "(s=\"\\n\", n=1)",
	            "(n=true)", "(n=1, l=[])", "(n=1, l=[{}])", "(n=1,)", "(n=1, l=[7, 7, 7])",
	            "(n=1, l=[{\"k\": 1}])", "(n=1, l=[7)"));
}

static enum part_value kind(const void *user, const char *name, size_t n)
{
	(void)user;
	(void)n;
	return *name == 'j' ? PART_JSON : *name == 'n' ? PART_RAW_OR_NULL : PART_RAW;
}

static const struct part_spelling tags = { .object = { "", "</f>" },
	                                   .comma = "",
	                                   .name = { "<p=", ">" },
	                                   .raw = { "", "</p>" },
	                                   .json = { "", "</p>" },
	                                   .end = "</p>",
	                                   .value = kind };

static void test_raw(void **state)
{
	static const char text[] =
		"{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"string\",\"pattern\":\"^[^"
		"x]\"},"
		"\"n\":{\"type\":[\"string\",\"null\"]},\"j\":{}},\"required\":[\"t\"]}";
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	finish(&m, parts_spelled(p, value(&m.a, text), NULL, &tags, "f"),
	       LIST("<p=t>a</p></f>", "<p=t>\"</</p><p=n>nul</p></f>",
	            "<p=t>a\n</p><p=n>null</p><p=j>{\"a\": [1, \"<p>\"]}</p></f>"),
	       LIST("</f>", "<p=t></p></f>", "<p=t>x</p></f>", "<p=t>a</p><p=n>True</p></f>",
	            "<p=t>a</p><p=j>a</p></f>", "<p=t>a</p><p=j>\"</p>\"</p></f>",
	            "<p=t>a</p><p=j>{\"</p>\":1}</p></f>", "<p=n>a</p><p=t>a</p></f>"));
}

static void refused(const char *text, const struct part_spelling *how, const char *message)
{
	struct grammar *g;
	struct made m;
	struct parts *p = begin(&m);

	assert_int_equal(parts_build(&g, m.p, parts_spelled(p, value(&m.a, text), NULL, how, "f")),
	                 INFER_EUNSUP);
	assert_null(g);
	assert_string_equal(m.err.message, message);
	assert_int_equal(m.left.bytes, BUDGET_BYTES);
	arena_fini(&m.a);
}

static void test_refused(void **state)
{
	struct grammar *g;
	struct made m;
	struct parts *p;

	(void)state;
	refused("{\"type\":\"object\"}", &python,
	        "f: parameters without a name of their own, in this format");
	refused("{\"type\":\"object\",\"properties\":{\"a=\":{}}}", &tags,
	        "f: a name of a parameter that this format cannot write");
	refused("{\"type\":\"object\",\"properties\":{\"a\":{\"contains\":{\"type\":\"null\"}}}}",
	        &python, "f: contains, in this format");
	p = begin(&m);
	assert_int_equal(parts_build(&g, p, parts_string(p, "\xff")), INFER_EINVAL);
	p = begin(&m);
	assert_int_equal(parts_build(&g, p, parts_schema(p, value(&m.a, "{\"type\":7}"), NULL)),
	                 INFER_EINVAL);
	arena_fini(&m.a);
	p = begin(&m);
	assert_int_equal(parts_refuse(p, INFER_EUNSUP, "no %d", 7), PART_NONE);
	assert_int_equal(parts_build(&g, p, parts_string(p, "a")), INFER_EUNSUP);
	assert_string_equal(m.err.message, "no 7");
	/* nothing is left of it */
	p = begin(&m);
	assert_int_equal(parts_build(&g, p,
	                             parts_sequence(p, 2, parts_string(p, "a"),
	                                            parts_schema(p, value(&m.a, "false"), NULL))),
	                 INFER_OK);
	assert_true(ir_is_none(g));
	ir_drop(g, &m.left);
	assert_int_equal(m.left.bytes, BUDGET_BYTES);
	arena_fini(&m.a);
	p = begin(&m);
	parts_free(p);
	assert_int_equal(m.left.bytes, BUDGET_BYTES);
	m.left.steps = 10;
	assert_int_equal(parts_new(&p, NULL, 0, &m.left, &m.err), INFER_OK);
	assert_int_equal(parts_build(&g, p, parts_until(p, "abc")), INFER_EUNSUP);
}

/* Compiled grammars are parts: goals, code and automata get other numbers. */
static int case_merged(void)
{
	static const char *const texts[] = { "[1,2]{\"m\":1,\"z\":2}",
		                             "[1,2]aaaab",
		                             "[3]xyx",
		                             "{\"z\":2}",
		                             "[1]x",
		                             "[1]b",
		                             "[5]{}" };
	static const char list[] = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},"
				   "\"minItems\":1}",
			  rules[] = "root ::= \"a\" root | b\nb ::= [bc]";
	const struct infer_grammar_source sources[] = {
		{ .form = INFER_GRAMMAR_SCHEMA, .text = { schema, sizeof schema - 1 } },
		{ .form = INFER_GRAMMAR_RULES, .text = { rules, sizeof rules - 1 } },
		{ .form = INFER_GRAMMAR_REGEX, .text = { "xy+x", 4 } },
	};
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct grammar *g = NULL, *one;
	uint32_t part[3], first;
	struct parts *p = NULL;
	struct arena a;
	size_t taken;
	int rc;

	arena_init(&a, MEM_GRAMMAR);
	const struct json *v = value(&a, list);

	nth_need(v != NULL);
	nth_ok(parts_new(&p, controls, 3, &left, NULL));
	first = parts_schema(p, v, NULL);
	for (int i = 0; i < 3; i++) {
		nth_ok(grammar_compile(&one, sources + i, &left, NULL));
		part[i] = parts_grammar(p, one);
	}
	rc = parts_build(&g, p,
	                 parts_sequence(p, 2, first,
	                                parts_either(p, 4, part[0], part[1], part[2],
	                                             parts_shared(p, part[1]))));
	p = NULL;
	nth_ok(rc);
	for (int i = 0; i < 7; i++) {
		int whole = follow(g, MATCH_TIDY, texts[i], strlen(texts[i]), &taken, NULL);

		nth_need(whole >= 0);
		assert_int_equal(whole, i < 3 || i == 5);
	}
out:
	parts_free(p);
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	arena_fini(&a);
	return rc;
}

/* Return 1 if the tokens ids[0 .. n) are a whole answer; token i has the byte 'a' + i. */
static int follow_tokens(const struct grammar *g, const uint64_t *bits, const uint32_t *ids, int n)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	struct match_state at = { 0 };
	struct match *m;
	int whole;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	match_set_tokens(m, bits, 1);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (int i = 0; i < n; i++) {
		const char byte = (char)('a' + ids[i]);

		assert_int_equal(match_token(m, &at, ids[i], 0, &byte, 1, NULL), INFER_OK);
	}
	whole = match_live(&at) && match_may_end(m, &at);
	match_drop(m, &at);
	match_free(m);
	return whole;
}

/* Tokens of compiled grammars: each grammar keeps its own sets after they are numbered again. */
static void test_tokens(void **state)
{
	static const char *const rules[] = { "root ::= <[3]> \"a\" | !<t> \"b\"",
		                             "root ::= <[4]> \"c\" | <u>" };
	static const uint64_t bits[] = { 1 << 3, 1 << 5, 1 << 4, 1 << 6 };
	static const uint32_t yes[][3] = { { 3, 0, 4 }, { 3, 0, 6 }, { 5, 1, 4 }, { 5, 1, 6 } };
	static const uint32_t no[][3] = { { 4, 0, 4 }, { 3, 1, 4 }, { 3, 0, 3 }, { 5, 0, 4 } };
	struct grammar *g, *one;
	uint32_t part[2];
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct infer_grammar_source s = {
			.form = INFER_GRAMMAR_RULES,
			.text = { rules[i], strlen(rules[i]) },
		};

		assert_int_equal(grammar_compile(&one, &s, &m.left, &m.err), INFER_OK);
		part[i] = parts_grammar(p, one);
	}
	assert_int_equal(parts_build(&g, p, parts_sequence(p, 2, part[0], part[1])), INFER_OK);
	assert_int_equal(g->n_token_sets, 4);
	assert_int_equal(g->token_set[0].range[0].lo, 3);
	assert_int_equal(g->token_set[1].negated, 1);
	assert_memory_equal(g->token_set[1].name, "<t>", 3);
	assert_int_equal(g->token_set[2].range[0].lo, 4);
	assert_memory_equal(g->token_set[3].name, "<u>", 3);
	for (int i = 0; i < 4; i++) {
		/* "c" is the last byte of what begins with token 4 */
		uint32_t ids[4] = { yes[i][0], yes[i][1], yes[i][2], 2 };

		assert_int_equal(follow_tokens(g, bits, ids, ids[2] == 4 ? 4 : 3), 1);
		memcpy(ids, no[i], sizeof no[i]);
		assert_int_equal(follow_tokens(g, bits, ids, 4), 0);
	}
	ir_drop(g, &m.left);
	assert_int_equal(m.left.bytes, BUDGET_BYTES);
	arena_fini(&m.a);
}

/* A Lark grammar is no part: it is refused by name, with what to write instead. */
static void test_lark(void **state)
{
	static const char rules[] = "start: A\nA: /a+/";
	const struct infer_grammar_source s = { .form = INFER_GRAMMAR_RULES,
		                                .text = { rules, sizeof rules - 1 } };
	struct grammar *g = NULL, *one;
	struct made m;
	struct parts *p = begin(&m);

	(void)state;
	assert_int_equal(grammar_compile(&one, &s, &m.left, &m.err), INFER_OK);
	assert_int_equal(parts_build(&g, p, parts_grammar(p, one)), INFER_EUNSUP);
	assert_null(g);
	assert_string_equal(m.err.message, "a Lark grammar together with tools is not supported; "
	                                   "write it in GBNF");
	assert_int_equal(m.left.bytes, BUDGET_BYTES);
	arena_fini(&m.a);
}

static int case_memory(void)
{
	static const char text[] = "x" TOKEN "<call>{\"m\":1,\"z\":2}(z=1, m=2)";
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct part_tag tag = { "<call>", 0 };
	struct grammar *g = NULL;
	struct arena a;
	struct parts *p;
	size_t taken;
	int rc, whole;

	arena_init(&a, MEM_GRAMMAR);
	const struct json *v = value(&a, schema);

	nth_need(v != NULL);
	nth_ok(parts_new(&p, controls, 3, &left, NULL));
	tag.then = parts_sequence(p, 2, parts_schema(p, v, NULL),
	                          parts_spelled(p, v, NULL, &python, "f"));
	nth_ok(parts_build(&g, p, parts_tags(p, &tag, 1, PART_NONE, 0)));
	whole = follow(g, MATCH_TIDY, text, strlen(text), &taken, NULL);
	nth_need(whole >= 0);
	assert_int_equal(whole, 1);
out:
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	arena_fini(&a);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literals), cmocka_unit_test(test_schema),
		cmocka_unit_test(test_order),    cmocka_unit_test(test_free_text),
		cmocka_unit_test(test_tags),     cmocka_unit_test(test_python),
		cmocka_unit_test(test_raw),      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_tokens),   cmocka_unit_test(test_lark),
		nth_case(case_memory),           nth_case(case_merged),
	};

	return nth_group(tests);
}
