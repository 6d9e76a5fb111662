/* Lines broken between words: where, whatever the pieces; what stays whole; what is held back. */
#include "../nth.h"
#include "infer-run/chat/wrap.h"

#include <locale.h>
#include <string.h>

static const struct shown {
	int cols;
	const char *text, *shown;
} cases[] = {
	{ 10, "one two three", "one two\nthree" },
	{ 10, "0123456789 one", "0123456789\none" },
	{ 10, "one 012345 two", "one 012345\ntwo" },
	{ 10, "one 0123456 two", "one\n0123456\ntwo" },
	{ 10, "one  two   three", "one  two\nthree" },
	{ 10, "one two   \nthree", "one two   \nthree" },
	{ 10, "012345678   \nthree", "012345678\nthree" },
	{ 10, "one\n\ntwo\n", "one\n\ntwo\n" },
	{ 10, "one two ", "one two " },
	{ 10, "", "" },
	{ 10, " - one two three", " - one two\nthree" },
	{ 0, "one two three four", "one two three four" },
	{ 1, "ab c", "ab\nc" },
	/* a word longer than the line: the terminal's */
	{ 10, "0123456789abcdef one", "0123456789abcdef one" },
	{ 10, "see 0123456789abcdef one", "see\n0123456789abcdef one" },
	{ 10, "0123456789abcdef 01234", "0123456789abcdef\n01234" },
	{ 10, "- 0123456789abcdef", "-\n0123456789abcdef" },
	/* tabs */
	{ 10, "a\tb", "a\tb" },
	{ 10, "a\tbcd", "a\nbcd" },
	/* code */
	{ 10, "```\none two three four\n```\none two three",
	  "```\none two three four\n```\none two\nthree" },
	{ 10, "~~~ c\nint  a = 0;  \n```\none two three\n~~~\none two three",
	  "~~~ c\nint  a = 0;  \n```\none two three\n~~~\none two\nthree" },
	{ 10, "````\n```\none two three\n````\none two three",
	  "````\n```\none two three\n````\none two\nthree" },
	{ 10, "```one``` two\none two three", "```one``` two\none two\nthree" },
	{ 10, "`one` two three", "`one` two\nthree" },
	{ 10, "    one two three", "    one two three" },
	{ 10, "\tone two three\none two three", "\tone two three\none two\nthree" },
	/* two cells */
	{ 10, "日本語日本語", "日本語日本\n語" },
	{ 9, "日本語日本語", "日本語日\n本語" },
	{ 10, "ab日本語日本語", "ab日本語日\n本語" },
	{ 10, "日本語日本。語", "日本語日\n本。語" },
	{ 10, "日本語日「本」", "日本語日\n「本」" },
	{ 10, "日本語日abc de", "日本語日\nabc de" },
	{ 10, "日本 語日本語", "日本 語日\n本語" },
	{ 10, "12345678 \xf0\x9f\x98\x80", "12345678\n\xf0\x9f\x98\x80" },
	/* a family of three joined, a thumb with its tone */
	{ 8, "1234 \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",
	  "1234\n\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7" },
	{ 6, "1234\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", "1234\n\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd" },
	/* none: a letter with its accent behind it */
	{ 5, "ab cde\xcc\x81 f", "ab\ncde\xcc\x81 f" },
	{ 6, "ab cde\xcc\x81 f", "ab cde\xcc\x81\nf" },
};

/* The text in pieces of characters, each at most `most` long. */
static void put_pieces(struct wrap *w, const char *text, size_t most, int cols, struct buf *out)
{
	for (size_t n = strlen(text), i = 0, k; i < n; i += k) {
		k = n - i < most ? n - i : most;
		while (i + k < n && (text[i + k] & 0xc0) == 0x80)
			k++;
		wrap_put(w, text + i, k, cols, out);
	}
	wrap_flush(w, cols, out);
}

static int case_cases(void)
{
	struct wrap w;
	struct buf b;
	int rc = INFER_OK;

	wrap_init(&w);
	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t most = 1; most < 40; most = 2 * most + 1) {
			const struct shown *c = &cases[i];

			buf_clear(&b);
			wrap_begin(&w);
			put_pieces(&w, c->text, most, c->cols, &b);
			nth_need(!b.bad);
			if (strcmp(b.len ? b.at : "", c->shown))
				fail_msg("%d columns, \"%s\" in pieces of %zu: \"%s\"", c->cols,
				         c->text, most, b.at);
		}
out:
	wrap_fini(&w);
	buf_fini(&b);
	return rc;
}

/* A word is written as soon as nothing can move it any more. */
static void test_held(void **state)
{
	static const struct {
		const char *piece, *written;
	} steps[] = {
		{ "one", "one" },        { " ", "one" },
		{ "tw", "one" },         { "o", "one" },
		{ " ", "one two" },      { "th", "one two" },
		{ "r", "one two\nthr" }, { "ee", "one two\nthree" },
	};
	struct wrap w;
	struct buf b;

	(void)state;
	wrap_init(&w);
	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		wrap_put(&w, steps[i].piece, strlen(steps[i].piece), 10, &b);
		assert_string_equal(b.at, steps[i].written);
	}
	wrap_fini(&w);
	buf_fini(&b);
}

/* A window that becomes narrower or wider: what comes is broken for the new width. */
static void test_resize(void **state)
{
	static const char first[] = "one two three ", then[] = "four five six seven";
	static const struct {
		int cols;
		const char *shown;
	} cases_of[] = {
		{ 20, "one two three four\nfive six seven" },
		{ 10, "one two three four\nfive six\nseven" },
		{ 80, "one two three four five six seven" },
	};
	struct wrap w;
	struct buf b;

	(void)state;
	wrap_init(&w);
	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof cases_of / sizeof *cases_of; i++) {
		buf_clear(&b);
		wrap_begin(&w);
		wrap_put(&w, first, strlen(first), 20, &b);
		wrap_put(&w, then, strlen(then), cases_of[i].cols, &b);
		wrap_flush(&w, cases_of[i].cols, &b);
		assert_string_equal(b.at, cases_of[i].shown);
	}
	wrap_fini(&w);
	buf_fini(&b);
}

enum { WIDTH = 17, CHARS = 120, TEXTS = 4000 };

static int is_space(char c) { return c == ' ' || c == '\n'; }

/* No line of words that fit is longer than the terminal is wide, and each line is as full as it can
 * be; the words are those of the text, in its order. */
static void check_shown(const char *text, const char *shown)
{
	const char *t = text, *s = shown;

	while (*t || *s) {
		size_t blanks = strspn(t, " \n"), n;

		t += blanks;
		s += strspn(s, " \n");
		n = strcspn(t, " \n");
		if (strncmp(t, s, n) || (s[n] && !is_space(s[n])))
			fail_msg("\"%s\" shown as \"%s\"", text, shown);
		t += n;
		s += n;
	}
	for (s = shown; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		size_t n = strcspn(s, "\n"), next = s[n] ? strcspn(s + n + 1, " \n") : WIDTH;

		if (n > WIDTH)
			fail_msg("\"%s\" shown as \"%s\"", text, shown);
		if (s[n] && n + 1 + next <= WIDTH && next)
			fail_msg("\"%s\" is broken early: \"%s\"", text, shown);
	}
}

static void test_random(void **state)
{
	uint64_t seed = 1;
	struct wrap w;
	struct buf b;

	(void)state;
	wrap_init(&w);
	buf_init(&b, MEM_BASE);
	for (int i = 0; i < TEXTS; i++) {
		char text[CHARS + 1];
		int n = 0, word = 0;

		while (n < CHARS) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			int ends = word == WIDTH || (word && (seed >> 33) % 4 == 0);

			text[n++] = ends ? ' ' : (char)('a' + (seed >> 40) % 26);
			word = ends ? 0 : word + 1;
		}
		text[n] = 0;
		buf_clear(&b);
		wrap_begin(&w);
		put_pieces(&w, text, 1 + (seed >> 50) % 7, WIDTH, &b);
		check_shown(text, b.at);
	}
	wrap_fini(&w);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_cases),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_random),
	};
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return nth_group(tests);
}
