/* tests/unit/tok/test_pretok.c - the scanners of the pre-tokenizers find what PCRE2 finds with
 * the expression beside them, in random strings. */
#include "../nth.h"
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "base/utf8.h"
#include "tok/pretok.h"

/* What the alphabets are made of: one code point for each case that an expression tells apart. */
static const uint32_t letters[] = {
	' ',     ' ',     ' ',      '\n',   '\r',   '\t',   0xa0,   0x3000, 0x2028, 'a',    's',
	't',     'r',     'e',      'v',    'l',    'm',    'd',    'S',    'L',    'E',    'Z',
	'R',     '\'',    '\'',     '1',    '2',    '3',    '9',    '0',    0xbd,   0x2160, 0x661,
	'!',     '.',     '/',      '/',    '_',    '$',    '+',    '<',    '`',    '|',    '~',
	'^',     '(',     '-',      ',',    0x2019, 0xff01, 0xff0c, 0x3001, 0x2026, 0xe9,   0xc9,
	0x1c5,   0x2b0,   0x5d0,    0x4e2d, 0x6587, 0x3042, 0x30a2, 0xac00, 0x3131, 0x3105, 0xe01,
	0x17f,   0x301,   0x308,    0x903,  0x20dd, 0x2e80, 0x3007, 0xe000, 1,      0x200d, 0x1f600,
	0x1d400, 0x10400, 0x10ffff, 'I',    'M',    'G',    'A',    'B',    'Z',
};
enum { LETTERS = sizeof letters / sizeof *letters, BYTES = 96 };

struct got {
	size_t n, len[4 * BYTES];
};

static int note(void *user, const char *s, size_t n, infer_error *err)
{
	struct got *g = user;

	(void)s;
	(void)err;
	/* pieces are not empty, so there are no more than bytes */
	assert_true(n && g->n < sizeof g->len / sizeof *g->len);
	g->len[g->n++] = n;
	return INFER_OK;
}

/* A string of the case's number.  PCRE2 10.42 has no marks in \w, Oniguruma has: where keep is 0
 * they stay out. */
static size_t make(char *s, uint64_t seed, uint64_t i, int keep)
{
	uint64_t base = rng_hash(seed, &i, sizeof i), n = base % 24, few = 2 + base / 32 % 12;
	size_t len = 0;

	for (uint64_t k = 0; k < n; k++) {
		uint64_t at = rng_hash(base, &k, sizeof k) % (i & 1 ? few : LETTERS);
		uint32_t cp = letters[i & 1 ? rng_hash(base + 1, &at, sizeof at) % LETTERS : at];
		if (keep || (cp != 0x301 && cp != 0x308 && cp != 0x903 && cp != 0x20dd))
			len += (size_t)utf8_put(s + len, cp);
	}
	return len;
}

static void compare(const struct pretok *p, uint64_t n)
{
	struct pretok_code *scan, *pcre2;
	char s[BYTES + 1];

	assert_int_equal(pretok_new(&scan, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
	assert_int_equal(pretok_new(&pcre2, p, PRETOK_WITH_PCRE2, NULL), INFER_OK);
	for (uint64_t i = 0; i < n; i++) {
		struct got a = { 0 }, b = { 0 };
		size_t len = make(s, 1, i, !strstr(p->names, "tiny_aya"));
		assert_int_equal(pretok_run(scan, s, len, note, &a, NULL), INFER_OK);
		assert_int_equal(pretok_run(pcre2, s, len, note, &b, NULL), INFER_OK);
		if (a.n != b.n || memcmp(a.len, b.len, a.n * sizeof *a.len)) {
			print_message("%s, string %llu: \"%.*s\"\n", p->names,
			              (unsigned long long)i, (int)len, s);
			for (size_t k = 0; k < a.n || k < b.n; k++)
				print_message("  %zu %zu\n", k < a.n ? a.len[k] : 0,
				              k < b.n ? b.len[k] : 0);
			fail();
		}
	}
	pretok_free(scan);
	pretok_free(pcre2);
}

static void test_scanners(void **state)
{
	const struct pretok *p;

	(void)state;
	for (size_t i = 0; (p = pretok_at(i)); i++)
		compare(p, 4000);
}

static void test_names(void **state)
{
	(void)state;
	assert_non_null(pretok_find("llama-bpe", 9));
	assert_ptr_equal(pretok_find("pixtral", 7), pretok_find("lfm2", 4));
	assert_null(pretok_find("llama", 5));
	assert_null(pretok_find("", 0));
	assert_null(pretok_find("llama-bpe falcon3", 17));
}

/* The pieces of s under a pre-tokenizer, joined with '/'. */
static void pieces(const char *name, const char *s, size_t n, const char *want)
{
	const struct pretok *p = pretok_find(name, strlen(name));
	struct pretok_code *c;
	struct got g = { 0 };
	char out[256];
	size_t at = 0, k = 0;

	assert_non_null(p);
	assert_int_equal(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
	assert_int_equal(pretok_run(c, s, n, note, &g, NULL), INFER_OK);
	for (size_t i = 0; i < g.n; i++) {
		memcpy(out + k, s + at, g.len[i]);
		at += g.len[i];
		k += g.len[i];
		out[k++] = '/';
	}
	out[k ? k - 1 : 0] = 0;
	assert_int_equal(at, n);
	assert_string_equal(out, want);
	pretok_free(c);
}

/* Answers worked out by hand from the expressions. */
static void test_pieces(void **state)
{
	(void)state;
	pieces("gpt-2", "I'll  go 12!", 12, "I/'ll/ / go/ 12/!");
	pieces("gpt-2", "I'LL", 4, "I/'/LL");
	pieces("llama-bpe", "I'LL \n\n x1234", 13, "I/'LL/ \n\n/ x/123/4");
	pieces("qwen2", "a12", 3, "a/1/2");
	pieces("gpt-4o", "HelloWORLDs ABC'S/", 18, "Hello/WORLDs/ ABC'S//");
	pieces("deepseek-v3", "x.abc 12345", 11, "x/.abc/ /123/45");
	pieces("superbpe", "a1234567 12", 11, "a/1/234/567/ /12");
	pieces("tiny_aya", "1234567 1234a", 13, "1/234/567/ /123/4/a");
	pieces("afmoe", "12345", 5, "12/345");
	pieces("exaone-moe", "one two  3.\n\n", 13, "one two/ / /3/.\n/\n");
	pieces("falcon", "12345+-a", 8, "123/45/+-/a");
	pieces("whitespace", " a b ", 5, " /a/ /b/ ");
	pieces("gpt-2",
	       "a\xff\xfe"
	       "b",
	       4, "a/\xff\xfe/b");
	pieces("poro-chat", "a b\xff.c", 6, "a/ b\xff/./c");
}

static int case_run(void)
{
	const struct pretok *p = pretok_find("chameleon", 9);
	struct pretok_code *c = NULL;
	struct got g = { 0 };
	int rc;

	nth_ok(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL));
	nth_ok(pretok_run(c, "<sentinel:12>IMGIMGABZ 5\xff", 25, note, &g, NULL));
	assert_int_equal(g.len[0], 1); /* "<": what a stage finds the next ones may cut */
	assert_int_equal(g.len[1], 8);
	assert_int_equal(g.len[6], 9); /* the image code, letters only, stays whole */
out:
	pretok_free(c);
	return rc;
}

static int stop(void *user, const char *s, size_t n, infer_error *err)
{
	(void)user;
	(void)s;
	(void)n;
	(void)err;
	return 77;
}

static int case_stop(void)
{
	struct pretok_code *c = NULL;
	int rc;

	nth_ok(pretok_new(&c, pretok_find("viking", 6), PRETOK_WITH_SCANNERS, NULL));
	rc = pretok_run(c, "a b", 3, stop, NULL, NULL);
	assert_true(rc == 77 || rc == INFER_ENOMEM);
	rc = rc == 77 ? INFER_OK : rc;
out:
	pretok_free(c);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scanners),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_pieces),
		nth_case(case_run),
		nth_case(case_stop),
	};
	return nth_group(tests);
}
