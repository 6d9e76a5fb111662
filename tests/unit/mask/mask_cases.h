/* tests/unit/mask/mask_cases.h - constraints of all kinds, and vocabularies to mask by them. */
#ifndef TESTS_MASK_CASES_H
#define TESTS_MASK_CASES_H
#include <stdio.h>
#include "../values.h"
#include "base/rng.h"
#include "grammar/grammar.h"
#include "grammar/parts.h"
#include "lark/lark.h"
#include "mask/vocab.h"

/* a schema with ' for ", unless the first character says otherwise: = rules, % rules of Lark, / a
 * pattern, | a choice of words, * parts */
static const char *const mask_cases[] = {
	"{}",
	"{'type':'object'}",
	"{'type':'array'}",
	"{'type':'string'}",
	"{'type':'number'}",
	"{'type':'integer'}",
	"{'type':'boolean'}",
	"{'type':['string','null']}",
	"{'const':{'a':[1,'b']}}",
	"{'enum':['ab','a\\u00e9',1,12,null,{'kind':true}]}",
	("{'type':'object','properties':{'name':{'type':'string'},'a':{'type':'integer'}},"
	 "'required':['name'],'additionalProperties':false}"),
	("{'type':'object','properties':{'name':{'type':'string'},'a':{'type':'integer'}},"
	 "'required':['name']}"),
	"{'type':'object','properties':{'a':{},'ab':{},'name':{},'\\u00e9':{},'':{}}}",
	("{'type':'object','properties':{'a':{},'ab':{},'name':{},'\\u00e9':{},'a\\\"b':{}},"
	 "'additionalProperties':false,'minProperties':2,'maxProperties':3}"),
	"{'type':'object','additionalProperties':{'type':'integer'}}",
	"{'type':'object','additionalProperties':{'type':'string'},'maxProperties':2}",
	"{'type':'object','propertyNames':{'enum':['a','b','ab','name']},'minProperties':3}",
	"{'type':'object','propertyNames':{'pattern':'^[ab]?$'},'minProperties':3}",
	"{'type':'object','propertyNames':{'maxLength':1},'minProperties':2}",
	"{'type':'object','patternProperties':{'^a':{'type':'integer'},'b$':{'minimum':3}}}",
	"{'type':'object','required':['x1','kind']}",
	("{'type':'object','properties':{'a':{'type':'object','additionalProperties':{}}},"
	 "'additionalProperties':{'type':'array'}}"),
	"{'type':'array','items':{'type':'integer'},'minItems':2,'maxItems':4}",
	"{'type':'array','items':{'enum':['ab','a\\u00e9',1,12,null,{'kind':true}]},'minItems':2}",
	"{'type':'array','prefixItems':[{'type':'string'},{'type':'integer'}],'items':false}",
	"{'type':'array','contains':{'const':1},'minContains':2}",
	"{'type':'array','items':{'type':'array','items':{'type':'number'}}}",
	"{'type':'array','items':{'type':'string'},'uniqueItems':true}",
	"{'type':'array','items':{'type':'string','maxLength':2},'minItems':4,'uniqueItems':true}",
	"{'type':'array','items':{'enum':['a','ab','a1',1,12]},'minItems':3,'uniqueItems':true}",
	("{'type':'array','items':{'type':'object','properties':{'a':{'enum':['a','ab']},'kind':"
	 "{'type':'boolean'}},'required':['a'],'additionalProperties':false},'uniqueItems':true}"),
	("{'type':'array','items':{'type':'object','properties':{'a':{'type':'string'}},"
	 "'required':['a'],'additionalProperties':false},'uniqueItems':true}"),
	"{'type':'array','items':{'type':'integer','maximum':20,'minimum':0},'uniqueItems':true}",
	"{'oneOf':[{'type':'object','required':['a']},{'type':'array','contains':{'const':1}}]}",
	"{'anyOf':[{'type':'string','maxLength':2},{'type':'string','pattern':'^a.*b$'}]}",
	"{'type':'string','pattern':'^[a-z\\u00e9]{2,}$','maxLength':4}",
	"{'type':'string','maxLength':3}",
	"{'type':'string','minLength':2}",
	"{'type':'string','minLength':1,'maxLength':40}",
	/* counted: the limit is near from the beginning, then far */
	"{'type':'string','pattern':'^(?:[a-f ]{150}|[0-9]{149}x)?[ab ]*$','maxLength':160}",
	"{'type':['string','integer'],'maxLength':5000}",
	"{'type':'string','minLength':260,'pattern':'^(?:[a-f ]{270}|[ab1]{250}|[ab ]*)$'}",
	"{'type':['string','integer'],'minLength':300,'maxLength':5000}",
	"{'type':'string','pattern':'ab'}",
	"{'type':'string','format':'date'}",
	"{'type':'string','format':'email'}",
	"{'type':'integer','minimum':0,'maximum':112}",
	"{'type':'number','multipleOf':0.5,'minimum':-1}",
	("{'$ref':'#/$defs/t','$defs':{'t':{'type':'object','properties':{'x1':{'type':'integer'},"
	 "'kind':{'type':'array','items':{'$ref':'#/$defs/t'}}},'required':['kind'],"
	 "'additionalProperties':false}}}"),
	"{'not':{'type':'string'}}",
	"%start: \"a\" | NAME \"=\" NAME | \"ab\" NAME\nNAME: /[a-z]+/\n%ignore /[ \\n]+/",
	"%start: e\ne: e \"+\" t | t\nt: \"{\" e \"}\" | N | \"name\"\nN: "
	"/[0-9]+(\\.[0-9]+)?/\n%ignore \" \"",
	"%start: (f | g)* t\nt: T\nT: /(.|\\n)*/\nh[lazy]: T \"[[\"\nf: h \"1\" ANY\ng: h "
	"\"ab\"\nANY: /./",
	"%start: \"a\" %json {\"type\":\"object\"} \"name\" | \"[\" %json {\"type\":\"number\"} "
	"\"]\"\n%ignore \" \"",
	"%start: x+ \"}\"\nx: A | B | /\\xe9+/ | \"k\"i\nA: /[^ab1]+/\nB: \"ab\" \"b\"* | \"1\" A?",
	"%start: \"a\" \"b\" \"1\"\n%llguidance "
	"{\"ignore_once\":true,\"allow_initial_skip\":true}\n%ignore /[ ]{1,3}/",
	"%start: %regex {\"substring_chunks\":[\"name\",\"a\",\"b\",\"1\",\" \"]} "
	"x*\nx[suffix=\"]\"]: /[^b]*/",
	"=root ::= (\"a\" | \"ab\" | [^a-z])+ \"x1\"",
	"=root ::= \"{\" root \"}\" | \"\xc3\xa9\" | [0-9]*",
	"=root ::= word (\", \" word)*\nword ::= letter letter*\nletter ::= [a-z] | \"-\"",
	"=root ::= \"\\\"\" ([^\"\\\\] | \"\\\\\" [nu\"])* \"\\\"\"",
	"=root ::= [^a]{2,5} | [^\\n]{0,20} \"\\n\"",
	("=root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\" | s | [0-9]+\ns ::= \"\\\"\" [^\"]* "
	 "\"\\\"\""),
	"=root ::= jp+ ([ \\n] jp+)*\njp ::= [\\u3041-\\u309f] | [\\u4e00-\\u9fff]",
	"/[0-9]{1,3}(\\.[0-9]+)?",
	"/[^\"]*",
	"/(a|ab|name)+: .{1,5}",
	"/\\w+",
	"*a",
	"*b",
	"*c",
	"*d",
	"*e",
	"|true null name ab abab a1 12 1.5 kind x1 x12",
};
enum { MASK_CASES = sizeof mask_cases / sizeof *mask_cases };

/* Text, control tokens, values of JSON and free text, composed. */
static int mask_parts(struct grammar **g, char which, struct budget *left)
{
	const struct dfa_word control = { "end", 3 };
	const struct schema_opts ordered = { .ordered = 1 };
	struct part_tag tag[2] = { { "name" }, { "{}x1" } };
	uint32_t root, number, object, end;
	struct parts *p;
	struct arena a;
	int rc = parts_new(&p, &control, 1, left, NULL);

	if (rc)
		return rc;
	arena_init(&a, MEM_TEXT);
	number = parts_schema(p, value(&a, "{'type':'number'}"), NULL);
	object = parts_schema(p,
	                      value(&a, "{'properties':{'a':{},'b':{'type':'integer'},'kind':"
	                                "{'const':1}},'required':['b'],'type':'object'}"),
	                      which == 'a' ? NULL : &ordered);
	end = parts_control(p, "end", 3);
	tag[0].then = parts_sequence(p, 2, number, end);
	tag[1].then = parts_sequence(p, 2, object, parts_string(p, "x1"));
	if (which == 'a')
		root = parts_repeat(p, parts_sequence(p, 3, parts_string(p, "ab"), object, end), 1,
		                    DFA_FOREVER);
	else if (which == 'b')
		root = parts_sequence(p, 3, number, parts_either(p, 2, parts_string(p, "1x"), end),
		                      parts_repeat(p, object, 0, 2));
	else if (which == 'c')
		root = parts_sequence(p, 3, parts_until(p, "kind"), end,
		                      parts_regex(p, "[0-9]+a?"));
	else
		root = parts_tags(p, tag, 2, end, which == 'd' ? 0 : PART_TAGS_SOME);
	arena_fini(&a);
	return parts_build(g, p, root);
}

/* INFER_OK, or why not; the grammar is freed by the caller */
static int mask_case(struct grammar **g, const char *text)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct dfa_word words[32];
	struct arena a;
	size_t n = 0;
	int rc;

	if (*text == '=')
		return gbnf_compile(g, text + 1, strlen(text + 1), &left, NULL);
	if (*text == '%')
		return lark_compile(g, text + 1, strlen(text + 1), NULL, NULL, &left, NULL);
	if (*text == '/')
		return grammar_regex(g, text + 1, strlen(text + 1), &left, NULL);
	if (*text == '*')
		return mask_parts(g, text[1], &left);
	for (const char *w = text; *text == '|' && *w; n++) {
		words[n] = (struct dfa_word){ w + 1, strcspn(w + 1, " ") };
		w += 1 + words[n].n;
	}
	if (n)
		return grammar_choice(g, words, n, &left, NULL);
	arena_init(&a, MEM_TEXT);
	rc = schema_compile(g, value(&a, text), NULL, &left, NULL);
	arena_fini(&a);
	return rc;
}

static const char *const mask_pieces[] = {
	"{",      "}",      "[",    "]",        "\"",       ":",        ",",          " ",
	"\n",     "{\"",    "\":",  "\",\"",    "\"}",      "]}",       "}}",         "tr",
	"true",   "null",   "fal",  "se",       "0",        "1",        "12",         "-",
	".5",     "e+",     "a",    "ab",       "name",     "\\",       "\\u00",      "61",
	"\\n",    "\xc3",   "\xa9", "\xf0\x9f", "\x98\x80", "\xc3\xa9", "  ",         ": ",
	", ",     "\": \"", "[[",   "]]",       "\n\t",     "x1",       "kind",       "\"a\":",
	"1,",     "-1",     "2]",   "{}",       "\"\":",    "a\":1,\"", "b",          "\\\"",
	"\"b\":", "\",",    "@",    "\xe4\xb8", "\x96 \"",  "x1\"",     "\xff\x65nd",
};
enum { MASK_BYTES = 40 };

/* Every byte, the pieces, two to four of them in a row, and some tokens without bytes. */
static void mask_vocabulary(struct vocab_token *t, char (*bytes)[MASK_BYTES], uint32_t n,
                            uint64_t seed)
{
	const uint32_t pieces = sizeof mask_pieces / sizeof *mask_pieces;

	for (uint32_t id = 0; id < n; id++) {
		uint32_t r[4];

		rng_block(r, seed, id);
		if (id < 256)
			bytes[id][0] = (char)id;
		else
			snprintf(bytes[id], sizeof *bytes, "%s%s%s%s",
			         mask_pieces[(id < 256 + pieces ? id : r[0]) % pieces],
			         id < 256 + pieces ? "" : mask_pieces[r[1] % pieces],
			         id < 256 + pieces || r[3] % 3 ? "" : mask_pieces[r[2] % pieces],
			         id < 256 + pieces || r[3] % 5 ? ""
			                                       : mask_pieces[r[3] / 5 % pieces]);
		t[id].at = bytes[id];
		t[id].n = id < 256 ? 1 : id % 97 ? (uint32_t)strlen(bytes[id]) : 0;
	}
}
#endif
