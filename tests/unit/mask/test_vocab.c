/* tests/unit/mask/test_vocab.c - masks of a vocabulary are what following each token alone says,
 * all along texts under schemas and rules. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../values.h"
#include "base/rng.h"
#include "../follow.h"
#include "grammar/grammar.h"
#include "mask/vocab.h"

enum { TOKENS = 700, WORDS = (TOKENS + 63) / 64 };

static const char *const pieces[] = {
	"{",        "}",        "[",      "]",     "\"", ":",      ",",    " ",    "\n",
	"{\"",      "\":",      "\",\"",  "\"}",   "]}", "}}",     "tr",   "true", "null",
	"fal",      "se",       "0",      "1",     "12", "-",      ".5",   "e+",   "a",
	"ab",       "name",     "\\",     "\\u00", "61", "\\n",    "\xc3", "\xa9", "\xf0\x9f",
	"\x98\x80", "\xc3\xa9", "  ",     ": ",    ", ", "\": \"", "[[",   "]]",   "\n\t",
	"x1",       "kind",     "\"a\":", "1,",    "-1", "2]",     "{}",
};

/* Every byte, the pieces, pairs of them, and some that are never admitted. */
static void make_tokens(struct vocab_token *t, char (*bytes)[32])
{
	const uint32_t n_pieces = sizeof pieces / sizeof *pieces;

	for (uint32_t id = 0; id < TOKENS; id++) {
		uint32_t r[4];

		rng_block(r, 7, id);
		if (id < 256)
			bytes[id][0] = (char)id;
		else if (id < 256 + n_pieces)
			strcpy(bytes[id], pieces[id - 256]);
		else
			snprintf(bytes[id], sizeof *bytes, "%s%s%s", pieces[r[0] % n_pieces],
			         pieces[r[1] % n_pieces], r[3] % 2 ? pieces[r[2] % n_pieces] : "");
		t[id] = (struct vocab_token){ bytes[id], id < 256 ? 1
			                                 : id % 29 == 0
			                                         ? 0
			                                         : (uint32_t)strlen(bytes[id]) };
	}
}

static void brute(struct match *m, const struct match_state *at, const struct vocab_token *t,
                  uint64_t *bits)
{
	struct match_state try = { 0 };

	memset(bits, 0, WORDS * sizeof *bits);
	for (uint32_t id = 0; id < TOKENS; id++) {
		assert_int_equal(match_copy(m, &try, at, NULL), INFER_OK);
		for (uint32_t i = 0; i < t[id].n; i++)
			assert_int_equal(match_byte(m, &try, (uint8_t)t[id].at[i], NULL), INFER_OK);
		if (t[id].n && match_live(&try))
			bits[id / 64] |= UINT64_C(1) << id % 64;
	}
	match_drop(m, &try);
}

static void along(const struct grammar *g, const struct vocab *v, const struct vocab_token *t,
                  uint64_t seed)
{
	const struct budget most = { 1 << 22, 1 << 26 };
	struct match_state at = { 0 };
	struct match *m;

	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (uint64_t i = 0; i < 12; i++) {
		struct budget left = most;
		uint64_t bits[WORDS], want[WORDS];
		uint32_t r[4], n = 0, id = 0;

		assert_int_equal(vocab_mask(v, m, &at, bits, &left, NULL), INFER_OK);
		brute(m, &at, t, want);
		assert_memory_equal(bits, want, sizeof bits);
		for (uint32_t k = 0; k < TOKENS; k++)
			n += bits[k / 64] >> k % 64 & 1;
		/* every byte is a token, so only an end has none */
		assert_true(n || match_may_end(m, &at));
		if (!n)
			break;
		rng_block(r, seed, i);
		for (n = r[0] % n + 1; n; id += n > 0)
			n -= bits[id / 64] >> id % 64 & 1;
		for (uint32_t k = 0; k < t[id].n; k++)
			assert_int_equal(match_byte(m, &at, (uint8_t)t[id].at[k], NULL), INFER_OK);
		assert_true(match_live(&at));
	}
	match_drop(m, &at);
	match_free(m);
}

static void test_brute_force(void **state)
{
	static const char *const schemas[] = {
		"{}",
		"{'type':'object','properties':{'name':{'type':'string'},'a':{'type':'integer'}},"
		"'required':['name'],'additionalProperties':false}",
		"{'type':'array','items':{'enum':['ab','a\\u00e9',1,12,null,{'kind':true}]},'"
		"minItems':2}",
		"{'type':'string','pattern':'^[a-z\\u00e9]{2,}$','maxLength':4}",
		"{'oneOf':[{'type':'object','required':['a']},{'type':'array','contains':{'const':"
		"1}}]}",
	};
	static const char *const rules[] = {
		"root ::= (\"a\" | \"ab\" | [^a-z])+ \"x1\"",
		"root ::= \"{\" root \"}\" | \"\xc3\xa9\" | [0-9]*",
	};
	static char bytes[TOKENS][32];
	static struct vocab_token tokens[TOKENS];
	struct vocab *v;

	(void)state;
	make_tokens(tokens, bytes);
	assert_int_equal(vocab_new(&v, tokens, TOKENS, NULL), INFER_OK);
	assert_int_equal(vocab_words(v), WORDS);
	for (size_t i = 0; i < 7; i++) {
		struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
		struct grammar *g;
		struct arena a;

		arena_init(&a, MEM_TEXT);
		if (i < 5)
			assert_int_equal(
				schema_compile(&g, value(&a, schemas[i]), NULL, &left, NULL),
				INFER_OK);
		else
			assert_int_equal(
				gbnf_compile(&g, rules[i - 5], strlen(rules[i - 5]), &left, NULL),
				INFER_OK);
		for (uint64_t seed = 0; seed < 5; seed++)
			along(g, v, tokens, seed);
		ir_free(g);
		arena_fini(&a);
	}
	vocab_free(v);
}

static int case_memory(void)
{
	static const char text[] = "root ::= \"ab\" | \"a\" [0-9]";
	const struct vocab_token tokens[] = { { "b", 1 },  { "a", 1 },  { "", 0 },
		                              { "ab", 2 }, { "a7", 2 }, { "a7a", 3 } };
	const struct budget most = { 1 << 16, 1 << 16 };
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct match_state at = { 0 };
	struct grammar *g = NULL;
	struct match *m = NULL;
	struct vocab *v = NULL;
	uint64_t bits = 0;
	infer_error err;
	int rc;

	nth_ok(gbnf_compile(&g, text, strlen(text), &left, NULL));
	nth_ok(vocab_new(&v, tokens, 6, NULL));
	nth_ok(match_new(&m, g, MATCH_TIDY, &most, NULL));
	nth_ok(match_begin(m, &at, NULL));
	nth_ok(vocab_mask(v, m, &at, &bits, &left, NULL));
	assert_int_equal(bits, 1 << 1 | 1 << 3 | 1 << 4);
	nth_ok(match_byte(m, &at, 'a', NULL));
	nth_ok(vocab_mask(v, m, &at, &bits, &left, NULL));
	assert_int_equal(bits, 1);
	/* no steps: no mask */
	left.steps = 2;
	nth_fails(vocab_mask(v, m, &at, &bits, &left, &err), INFER_EUNSUP);
	assert_int_equal(bits, 0);
	assert_string_equal(err.message, "a mask of the vocabulary needs too many steps");
out:
	if (m)
		match_drop(m, &at);
	match_free(m);
	vocab_free(v);
	ir_free(g);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_brute_force),
		                            nth_case(case_memory) };

	return nth_group(tests);
}
