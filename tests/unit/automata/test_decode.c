/* tests/unit/automata/test_decode.c - JSON strings and UTF-8 byte by byte: every character in every
 * spelling, and what a beginning can become is exactly what some ending makes of it. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"
#include "automata/decode.h"

typedef enum decoded decode_fn(struct decoder *, uint8_t, uint32_t *);

/* The characters that begin with bytes decode to cp, and after each byte cp is among the ranges. */
static void decodes(decode_fn *f, const char *s, size_t n, uint32_t cp)
{
	struct decoder d = { 0 };
	struct dfa_range r[DECODE_RANGES];
	uint32_t got = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		int in = 0;

		assert_int_equal(f(&d, (uint8_t)s[i], &got), DECODE_MORE);
		for (int k = decode_ranges(&d, r); k--;) {
			assert_true(r[k].lo <= r[k].hi && r[k].hi <= DFA_MOST_CP);
			in |= cp >= r[k].lo && cp <= r[k].hi;
		}
		assert_true(in);
	}
	assert_int_equal(f(&d, (uint8_t)s[n - 1], &got), DECODE_CHAR);
	assert_int_equal(got, cp);
	assert_int_equal(d.mode, 0);
}

static void test_every_character(void **state)
{
	char s[16];

	(void)state;
	for (uint32_t cp = 0; cp <= DFA_MOST_CP; cp++) {
		const int n = utf8_put(s, cp);

		if (!n)
			continue;
		decodes(decode_utf8, s, (size_t)n, cp);
		if (cp >= 0x20 && cp != '"' && cp != '\\')
			decodes(decode_json, s, (size_t)n, cp);
		if (cp < 0x10000)
			snprintf(s, sizeof s, cp % 2 ? "\\u%04x" : "\\u%04X", cp);
		else
			snprintf(s, sizeof s, "\\u%04x\\u%04X", 0xd800 + ((cp - 0x10000) >> 10),
			         0xdc00 + (cp & 0x3ff));
		decodes(decode_json, s, strlen(s), cp);
		if (cp < 0x20 || cp >= 0x7f)
			decodes(decode_tidy, s, strlen(s), cp);
	}
	decodes(decode_tidy, "\\\"", 2, '"');
	decodes(decode_tidy, "\\\\", 2, '\\');
	decodes(decode_tidy, "\\n", 2, '\n');
}

/* Every text of a few bytes that is no character is refused at the first byte that rules it out. */
static void test_every_text(void **state)
{
	(void)state;
	for (uint32_t v = 0; v < UINT32_C(1) << 24; v += v < 0x10000 ? 1 : 7) {
		const char s[4] = { (char)(v >> 16), (char)(v >> 8), (char)v, (char)0x80 };
		struct decoder d = { 0 };
		enum decoded last = DECODE_MORE;
		uint32_t cp, want;
		int n = 0;

		while (last == DECODE_MORE && n < 4)
			last = decode_utf8(&d, (uint8_t)s[n++], &cp);
		assert_int_equal(last == DECODE_CHAR ? n : 0, utf8_get(s, 4, &want));
		if (last == DECODE_CHAR)
			assert_int_equal(cp, want);
	}
}

static void test_strings(void **state)
{
	static const struct {
		const char *text;
		enum decoded last;
		uint32_t cp;
	} texts[] = {
		{ "\"", DECODE_QUOTE, 0 },        { "\\\"", DECODE_CHAR, '"' },
		{ "\\\\", DECODE_CHAR, '\\' },    { "\\/", DECODE_CHAR, '/' },
		{ "\\b", DECODE_CHAR, 8 },        { "\\f", DECODE_CHAR, 12 },
		{ "\\n", DECODE_CHAR, 10 },       { "\\r", DECODE_CHAR, 13 },
		{ "\\t", DECODE_CHAR, 9 },        { "\\x", DECODE_BAD, 0 },
		{ "\n", DECODE_BAD, 0 },          { "\x1f", DECODE_BAD, 0 },
		{ "\x7f", DECODE_CHAR, 0x7f },    { "\\ug", DECODE_BAD, 0 },
		{ "\\u00", DECODE_MORE, 0 },      { "\\ud83d", DECODE_MORE, 0 },
		{ "\\ud83dx", DECODE_BAD, 0 },    { "\\ud83d\\n", DECODE_BAD, 0 },
		{ "\\ud83d\\u0", DECODE_BAD, 0 }, { "\\ud83d\\ud8", DECODE_BAD, 0 },
		{ "\\udc", DECODE_BAD, 0 },       { "\\ud", DECODE_MORE, 0 },
		{ "\x80", DECODE_BAD, 0 },        { "\xc3\"", DECODE_BAD, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct decoder d = { 0 };
		enum decoded last = DECODE_MORE;
		uint32_t cp = 0;

		for (const char *s = texts[i].text; *s; s++) {
			assert_int_equal(last, DECODE_MORE);
			last = decode_json(&d, (uint8_t)*s, &cp);
		}
		assert_int_equal(last, texts[i].last);
		if (last == DECODE_CHAR)
			assert_int_equal(cp, texts[i].cp);
	}
}

/* Printable characters of ASCII are refused at the first byte that makes them one. */
static void test_tidy(void **state)
{
	static const char *const texts[] = { "\\/", "\\u002", "\\u003", "\\u006", "\\u007e" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct decoder d = { 0 };
		const char *s = texts[i];
		uint32_t cp;

		for (; s[1]; s++)
			assert_int_equal(decode_tidy(&d, (uint8_t)*s, &cp), DECODE_MORE);
		assert_int_equal(decode_tidy(&d, (uint8_t)*s, &cp), DECODE_BAD);
	}
}

static void test_reaches(void **state)
{
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	const struct dfa_word words[] = { { "b", 1 },
		                          { "\xc3\xa9", 2 },
		                          { "\xc5\x80"
		                            "x",
		                            3 } };
	struct dfa *d;

	(void)state;
	assert_int_equal(dfa_words(&d, words, 3, &left, NULL), INFER_OK);
	for (uint32_t lo = 0; lo < 300; lo++)
		for (uint32_t hi = lo; hi < 300; hi++)
			assert_int_equal(dfa_reaches(d, d->start, lo, hi, SPAN_ANY),
			                 (lo <= 'b' && hi >= 'b') || (lo <= 0xe9 && hi >= 0xe9));
	assert_int_equal(dfa_reaches(d, d->start, 300, 319, SPAN_ANY), 0);
	assert_int_equal(dfa_reaches(d, d->start, 321, DFA_MOST_CP, SPAN_ANY), 0);
	/* of the word of two characters one is missing after the first */
	assert_int_equal(dfa_reaches(d, d->start, 320, 320, (struct span){ 0, 0 }), 0);
	assert_int_equal(dfa_reaches(d, d->start, 320, 320, (struct span){ 0, 1 }), 1);
	assert_int_equal(dfa_reaches(d, d->start, 'b', 'b', (struct span){ 0, 0 }), 1);
	assert_int_equal(dfa_reaches(d, d->start, 320, 320, (struct span){ 2, 9 }), 0);
	dfa_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_character), cmocka_unit_test(test_every_text),
		cmocka_unit_test(test_strings),         cmocka_unit_test(test_tidy),
		cmocka_unit_test(test_reaches),
	};

	return nth_group(tests);
}
