/* tests/unit/tok/test_form.c - expressions of tokenizer.json: which are those of the list, and what PCRE2 is given
 * for the others. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "tok/pretok.h"

static void test_same(void **state)
{
	static const struct {
		const char *a, *b;
		int same;
	} row[] = {
		{ "a", "a", 1 },
		{ "a", "b", 0 },
		{ "", "", 1 },
		{ "a", "", 0 },
		{ "[\\x{4e00}-\\x{9fa5}]", "[\xe4\xb8\x80-\xe9\xbe\xa5]", 1 },
		{ "\\x{4e00", "\xe4\xb8\x80", 0 },
		{ "\\x{zz}", "\\x{zz}", 1 },
		{ "x(?:(?i:'s|'t|'re|'ve|'m|'ll|'d))?", "x(?i:'s|'t|'re|'ve|'m|'ll|'d)?", 1 },
		{ "\\p{sc:Han}", "\\p{Han}", 1 },
		{ "[^a]?b", "[^a]?+b", 1 },
		{ "\\s+(?!\\S)", "\\s++(?!\\S)", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (pretok_same(row[i].a, row[i].b, strlen(row[i].b)) != row[i].same)
			fail_msg("%s and %s", row[i].a, row[i].b);
}

/* A stage is found by the way that files write it. */
static void test_find(void **state)
{
	static const char o2[] =
		"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}"
		"\\p{M}]+"
		"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}"
		"\\p{M}]+"
		"[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}|"
		" ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

	(void)state;
	assert_ptr_equal(pretok_stage_find(o2, strlen(o2))->scan,
	                 pretok_find("gpt-4o", 6)->stage[0].scan);
	assert_null(pretok_stage_find(o2, strlen(o2) - 1));
	assert_non_null(pretok_stage_find("\\p{N}", 5));
}

static void test_translate(void **state)
{
	static const struct {
		const char *in, *out, *what; /* out NULL: refused, because of what */
	} row[] = {
		{ "", "", NULL },
		{ "\\s+a", "[\\s\\x{85}]+a", NULL },
		{ "[\\sa]\\S", "[\\s\\x{85}a][^\\s\\x{85}]", NULL },
		{ "\\p{L}+\\p{Han}\\P{Lu}\\p{^Lu}", "\\p{L}+\\p{sc:Han}\\P{Lu}\\p{^Lu}", NULL },
		{ "(?i:a)(?=b)(?!c)(?<=d)(?<!e)(?>f)(?:g)",
		  "(?i:a)(?=b)(?!c)(?<=d)(?<!e)(?>f)(?:g)", NULL },
		{ "a{2,3}\\{,", "a{2,3}\\{,", NULL },
		{ "\\Aa\\z", "\\Aa\\z", NULL },
		{ "\\w", NULL, "an escape" },
		{ "\\b", NULL, "an escape" },
		{ "\\h", NULL, "an escape" },
		{ "\\1", NULL, "an escape" },
		{ "\\", NULL, "a backslash at the end" },
		{ "[^\\S]", NULL, "a negated class or a place in brackets" },
		{ "[[:alpha:]]", NULL, "brackets in brackets" },
		{ "[a&&b]", NULL, "&& in brackets" },
		{ "(?m:a)", NULL, "a group" },
		{ "(?<n>a)", NULL, "a group" },
		{ "a{,3}", NULL, "{,n}" },
		{ "a{3}+", NULL, "{n}+" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const char *what;
		char *out;
		int rc = pretok_translate(row[i].in, strlen(row[i].in), &out, &what);
		if (rc != (row[i].out ? INFER_OK : INFER_EUNSUP) ||
		    (row[i].out ? strcmp(out, row[i].out) : strcmp(what, row[i].what)))
			fail_msg("%s: %s", row[i].in, out ? out : what);
		mem_free(out);
	}
}

static int put_place(void *user, size_t from, size_t to, infer_error *err)
{
	char *s = user;

	(void)err;
	snprintf(s + strlen(s), 64, "%zu-%zu ", from, to);
	return INFER_OK;
}

/* The matches of an expression that PCRE2 runs, also of lines, of no bytes, and next to bytes that are no
 * text. */
static void test_each(void **state)
{
	static const struct {
		const char *re, *text, *want;
	} row[] = {
		{ "\\s\\p{L}+",
		  " ab\xc2\x85"
		  "c d",
		  "0-3 3-6 6-8 " },
		{ "^b$", "a\nb\nc", "2-3 " },
		{ "\\Aa", "aa\na", "0-1 " },
		{ "(?=b)", "abb", "1-1 2-2 " },
		{ "\\p{L}", "a\xff\xc3\xa9", "0-1 2-4 " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct pretok def = { .names = "re" };
		struct pretok_code *c;
		const char *what;
		char *re, have[256] = "";
		assert_false(pretok_translate(row[i].re, strlen(row[i].re), &re, &what));
		def.stage[0].pattern = re;
		assert_false(pretok_new(&c, &def, PRETOK_FOREIGN, NULL));
		assert_false(
			pretok_each(c, row[i].text, strlen(row[i].text), put_place, have, NULL));
		assert_string_equal(have, row[i].want);
		pretok_free(c);
		mem_free(re);
	}
}

static int count_match(void *user, size_t from, size_t to, infer_error *err)
{
	(void)from;
	(void)to;
	(void)err;
	(*(size_t *)user)++;
	return INFER_OK;
}

/* An expression whose cost grows with the square of the text is stopped; usual ones are not. */
static void test_limit(void **state)
{
	enum { N = 200000 };
	static const struct {
		const char *re, *text;
		int rc;
	} row[] = {
		{ "(?=(?=(?=a*)a*)a*)a", "a", INFER_EUNSUP },
		{ "(?:a*a*a*b)|a", "a", INFER_EUNSUP },
		{ "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,4}|"
		  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
		  "It's 5.", INFER_OK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct pretok def = { .names = "re" };
		size_t n = strlen(row[i].text), matches = 0;
		char *re, *text = mem_alloc(MEM_TOK, N, 1);
		struct pretok_code *c;
		infer_error err = { 0 };
		const char *what;

		assert_non_null(text);
		for (size_t at = 0; at < N; at++)
			text[at] = row[i].text[at % n];
		assert_false(pretok_translate(row[i].re, strlen(row[i].re), &re, &what));
		def.stage[0].pattern = re;
		assert_false(pretok_new(&c, &def, PRETOK_FOREIGN, NULL));
		assert_int_equal(pretok_each(c, text, N, count_match, &matches, &err), row[i].rc);
		if (row[i].rc)
			assert_non_null(strstr(err.message, "re: PCRE2 reached a limit"));
		else
			assert_true(matches > N / 4);
		pretok_free(c);
		mem_free(re);
		mem_free(text);
	}
}

static int case_memory(void)
{
	struct pretok def = { .names = "re" };
	struct pretok_code *c = NULL;
	const char *what;
	char *re = NULL, have[256] = "";
	int rc;

	nth_ok(pretok_translate("\\sa|b", 5, &re, &what));
	def.stage[0].pattern = re;
	nth_ok(pretok_new(&c, &def, PRETOK_FOREIGN, NULL));
	nth_ok(pretok_each(c,
	                   " a\xff"
	                   "b",
	                   4, put_place, have, NULL));
	assert_string_equal(have, "0-2 3-4 ");
out:
	pretok_free(c);
	mem_free(re);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),      cmocka_unit_test(test_find),
		cmocka_unit_test(test_translate), cmocka_unit_test(test_each),
		cmocka_unit_test(test_limit),     nth_case(case_memory)
	};

	return nth_group(tests);
}
