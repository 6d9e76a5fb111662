/* tests/unit/automata/test_dfa.c - automata: operations against all words up to a length, minimal
 * forms, words, counting, samples, budgets. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"
#include "automata/regex.h"
#include "sound.h"

/* The automaton of a whole-match pattern. */
static struct dfa *re(const char *pattern)
{
	struct budget left = PLENTY;
	infer_error err;
	struct dfa *d;

	if (regex_dfa(&d, pattern, strlen(pattern), REGEX_WHOLE, &left, &err))
		fail_msg("%s: %s", pattern, err.message);
	return d;
}

typedef int binary(struct dfa **, const struct dfa *, const struct dfa *, struct budget *,
                   infer_error *);

static struct dfa *op(binary *f, const struct dfa *a, const struct dfa *b)
{
	struct budget left = PLENTY;
	struct dfa *d;

	assert_int_equal(f(&d, a, b, &left, NULL), INFER_OK);
	assert_int_equal(left.bytes + d->bytes, BUDGET_BYTES);
	sound(d);
	return d;
}

static struct dfa * not(const struct dfa *a)
{
	struct budget left = PLENTY;
	struct dfa *d;

	assert_int_equal(dfa_not(&d, a, &left, NULL), INFER_OK);
	assert_int_equal(left.bytes + d->bytes, BUDGET_BYTES);
	sound(d);
	return d;
}

static struct dfa *counted(const struct dfa *a, uint32_t lo, uint32_t hi)
{
	struct budget left = PLENTY;
	struct dfa *d, *length;

	assert_int_equal(dfa_lengths(&length, lo, hi, &left, NULL), INFER_OK);
	assert_int_equal(dfa_and(&d, a, length, &left, NULL), INFER_OK);
	dfa_drop(length, &left);
	assert_int_equal(left.bytes + d->bytes, BUDGET_BYTES);
	sound(d);
	return d;
}

/* -- every word of at most 6 letters a, b, c ------------------------------------------------- */

enum { LETTERS = 3, LONGEST = 6, WORDS = 1093 };

/* Word i: 0 is empty, then by length. */
static size_t word(uint32_t i, char *s)
{
	size_t n = 0;

	for (; i; i = (i - 1) / LETTERS)
		s[n++] = (char)('a' + (i - 1) % LETTERS);
	return n;
}

static void members(const struct dfa *d, uint8_t *in)
{
	char s[LONGEST + 1];

	for (uint32_t i = 0; i < WORDS; i++)
		in[i] = (uint8_t)dfa_match(d, s, word(i, s));
}

static const char *const patterns[] = {
	"",          "[]",          "[^]*",          "a*",         "(a|b)*",
	"a(b|c)*a",  "(ab|bc)*c?",  "[^b]*",         "(a|b|c){3}", ".{2,4}",
	"(?!a)[^]*", "[^]*abc[^]*", "((a|b)(a|c))*", "a?b?c?",     "(aa|b)*c",
	"\\w*",      "\u00e9|a*",
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static void test_operations(void **state)
{
	static uint8_t a[WORDS], b[WORDS], c[WORDS];
	struct dfa *d[PATTERNS], *r;

	(void)state;
	for (int i = 0; i < PATTERNS; i++)
		d[i] = re(patterns[i]);
	for (int i = 0; i < PATTERNS; i++)
		for (int k = 0; k < PATTERNS; k++) {
			members(d[i], a);
			members(d[k], b);
			r = op(dfa_and, d[i], d[k]);
			members(r, c);
			for (int w = 0; w < WORDS; w++)
				assert_int_equal(c[w], a[w] && b[w]);
			dfa_free(r);
			r = op(dfa_or, d[i], d[k]);
			members(r, c);
			for (int w = 0; w < WORDS; w++)
				assert_int_equal(c[w], a[w] || b[w]);
			dfa_free(r);
			r = op(dfa_minus, d[i], d[k]);
			members(r, c);
			for (int w = 0; w < WORDS; w++)
				assert_int_equal(c[w], a[w] && !b[w]);
			dfa_free(r);
		}
	for (int i = 0; i < PATTERNS; i++)
		dfa_free(d[i]);
}

/* Equal languages are equal automata, in whichever way they are made. */
static void test_laws(void **state)
{
	struct dfa *d[PATTERNS], *n[PATTERNS], *x, *y, *z;

	(void)state;
	for (int i = 0; i < PATTERNS; i++) {
		d[i] = re(patterns[i]);
		n[i] = not(d[i]);
		x = not(n[i]);
		assert_true(dfa_equal(x, d[i]));
		dfa_free(x);
		x = op(dfa_and, d[i], n[i]);
		assert_true(dfa_is_none(x));
		assert_int_equal(x->n_states, 1);
		dfa_free(x);
		x = op(dfa_or, d[i], n[i]);
		assert_true(dfa_is_all(x));
		assert_int_equal(x->n_states, 2);
		assert_int_equal(x->n_classes, 1);
		dfa_free(x);
	}
	for (int i = 0; i < PATTERNS; i++)
		for (int k = 0; k < PATTERNS; k++) {
			/* not (a and b) is not a or not b; a minus b is a and not b */
			x = op(dfa_and, d[i], d[k]);
			y = not(x);
			z = op(dfa_or, n[i], n[k]);
			assert_true(dfa_equal(y, z));
			dfa_free(x);
			dfa_free(y);
			dfa_free(z);
			x = op(dfa_minus, d[i], d[k]);
			y = op(dfa_and, d[i], n[k]);
			assert_true(dfa_equal(x, y));
			assert_int_equal(dfa_equal(d[i], d[k]), i == k);
			dfa_free(x);
			dfa_free(y);
		}
	for (int i = 0; i < PATTERNS; i++) {
		dfa_free(d[i]);
		dfa_free(n[i]);
	}
}

static void test_equal_patterns(void **state)
{
	static const char *const same[][2] = {
		{ "(a|b)*", "(a*b*)*" },
		{ "a+", "aa*" },
		{ "a{2,4}", "aa|aaa|aaaa" },
		{ "(?:ab)*a", "a(?:ba)*" },
		{ "[^\\ud800-\\udfff]", "[^]" },
		{ "[\\ud800-\\udfff]", "[]" },
		{ "\\d|[^\\d]", "[^]" },
		{ "x(?=y)z", "[]" },
		{ "(?!b)[ab]", "a" },
		{ "a??b*?", "b*|ab*" },
		{ "\\u{10ffff}|[^\\u{10ffff}]", "[^]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		struct dfa *a = re(same[i][0]), *b = re(same[i][1]);

		assert_true(dfa_equal(a, b));
		assert_int_equal(a->bytes, b->bytes);
		dfa_free(a);
		dfa_free(b);
	}
}

/* Sizes that are known: the nth letter from the end needs 2^n states. */
static void test_minimal(void **state)
{
	char pattern[64];
	struct dfa *d;

	(void)state;
	for (int n = 0; n < 12; n++) {
		snprintf(pattern, sizeof pattern, "[ab]*a[ab]{%d}", n);
		d = re(pattern);
		sound(d);
		assert_int_equal(d->n_states, (2u << n) + 1);
		assert_int_equal(d->n_classes, 3);
		dfa_free(d);
	}
	d = re("(?:[ab][ab])*|(?:[ab][ab][ab])*");
	assert_int_equal(d->n_states, 7);
	dfa_free(d);
	d = re("a{0,3000}");
	assert_int_equal(d->n_states, 3002);
	assert_int_equal(d->greatest[d->start], 3000);
	dfa_free(d);
}

/* -- lengths -------------------------------------------------------------------------------- */

static void test_counted(void **state)
{
	static uint8_t a[WORDS], b[WORDS];
	char s[LONGEST + 1];

	(void)state;
	for (int i = 0; i < PATTERNS; i++)
		for (uint32_t lo = 0; lo < 5; lo++)
			for (uint32_t hi = lo; hi < 7; hi++) {
				const uint32_t most = hi == 6 ? DFA_FOREVER : hi;
				struct dfa *d = re(patterns[i]), *r = counted(d, lo, most);

				members(d, a);
				members(r, b);
				for (uint32_t w = 0; w < WORDS; w++) {
					size_t n = word(w, s);

					assert_int_equal(b[w], a[w] && n >= lo && n <= most);
				}
				assert_true(dfa_is_none(r) || hi == 6 ||
				            r->greatest[r->start] <= hi);
				dfa_free(d);
				dfa_free(r);
			}
}

static void test_length_alone(void **state)
{
	struct budget left = PLENTY;
	struct dfa *d;

	(void)state;
	assert_int_equal(dfa_lengths(&d, 2, 3, &left, NULL), INFER_OK);
	sound(d);
	assert_false(dfa_match(d, "\xc3\xa9", 2)); /* code points, not bytes */
	assert_true(dfa_match(d, "\xc3\xa9\xf0\x9f\x98\x80", 6));
	assert_false(dfa_match(d, "ab\xff", 3));
	dfa_drop(d, &left);
	assert_int_equal(dfa_lengths(&d, 3, 2, &left, NULL), INFER_OK);
	assert_true(dfa_is_none(d));
	dfa_drop(d, &left);
	assert_int_equal(dfa_lengths(&d, 100000, 100000, &left, NULL), INFER_OK);
	assert_int_equal(d->least[d->start], 100000);
	assert_int_equal(d->greatest[d->start], 100000);
	dfa_drop(d, &left);
	assert_int_equal(dfa_all(&d, &left, NULL), INFER_OK);
	assert_true(dfa_is_all(d) && !dfa_is_none(d) && !dfa_is_finite(d));
	dfa_drop(d, &left);
	assert_int_equal(dfa_none(&d, &left, NULL), INFER_OK);
	assert_true(dfa_is_none(d) && !dfa_is_all(d) && dfa_is_finite(d));
	assert_false(dfa_match(d, "", 0));
	dfa_drop(d, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	dfa_drop(NULL, &left);
}

/* -- words ---------------------------------------------------------------------------------- */

struct heard {
	uint32_t n, stop;
	char text[64][32];
};

static int hear(void *user, const uint32_t *cp, uint32_t n)
{
	struct heard *h = user;
	char *s = h->text[h->n];

	for (uint32_t i = 0; i < n; i++)
		s += utf8_put(s, cp[i]);
	*s = 0;
	return ++h->n == h->stop ? 77 : 0;
}

static struct dfa *words(const char *const *at, size_t n)
{
	struct budget left = PLENTY;
	struct dfa_word w[32];
	struct dfa *d;

	for (size_t i = 0; i < n; i++)
		w[i] = (struct dfa_word){ at[i], strlen(at[i]) };
	assert_int_equal(dfa_words(&d, w, n, &left, NULL), INFER_OK);
	sound(d);
	return d;
}

static void test_words(void **state)
{
	static const char *const list[] = { "red",  "green", "blue",       "",     "re",    "red",
		                            "reed", "é",     "\U0001f600", "blué", "greeno" },
				 *const sorted[] = { "",   "blue", "blué", "green", "greeno",
		                                     "re", "red",  "reed", "é",     "\U0001f600" };
	struct heard h = { 0 };
	struct dfa *d = words(list, 11), *e = words(sorted, 10);
	uint64_t n;

	(void)state;
	assert_true(dfa_equal(d, e));
	assert_int_equal(dfa_count(&n, d, NULL), INFER_OK);
	assert_int_equal(n, 10);
	assert_int_equal(dfa_list(d, 100, hear, &h, NULL), 0);
	assert_int_equal(h.n, 10);
	for (int i = 0; i < 10; i++) {
		assert_string_equal(h.text[i], sorted[i]);
		assert_true(dfa_match(d, sorted[i], strlen(sorted[i])));
	}
	h.n = 0;
	assert_int_equal(dfa_list(d, 4, hear, &h, NULL), 0);
	assert_int_equal(h.n, 4);
	h = (struct heard){ .stop = 2 };
	assert_int_equal(dfa_list(d, 4, hear, &h, NULL), 77);
	assert_false(dfa_match(d, "gree", 4));
	dfa_free(d);
	dfa_free(e);
	d = words(NULL, 0);
	assert_true(dfa_is_none(d));
	dfa_free(d);
	d = words((const char *[]){ "" }, 1);
	assert_int_equal(d->n_states, 2);
	assert_true(dfa_match(d, "", 0));
	dfa_free(d);
}

static void test_bad_words(void **state)
{
	struct budget left = PLENTY;
	infer_error err;
	struct dfa *d;

	(void)state;
	assert_int_equal(dfa_words(&d, &(struct dfa_word){ "a\xff", 2 }, 1, &left, &err),
	                 INFER_EINVAL);
	assert_string_equal(err.message, "a list of words: word 1 is not UTF-8");
	assert_null(d);
	assert_int_equal(dfa_words(&d, &(struct dfa_word){ "a\0b", 3 }, 1, &left, &err), INFER_OK);
	assert_true(dfa_match(d, "a\0b", 3));
	assert_false(dfa_match(d, "a", 1));
	dfa_free(d);
}

/* -- counting and listing ------------------------------------------------------------------- */

static uint64_t count(const char *pattern)
{
	struct dfa *d = re(pattern);
	uint64_t n;

	assert_int_equal(dfa_count(&n, d, NULL), INFER_OK);
	dfa_free(d);
	return n;
}

static void test_count(void **state)
{
	struct heard h = { 0 };
	infer_error err;
	struct dfa *d;

	(void)state;
	assert_int_equal(count("[]"), 0);
	assert_int_equal(count(""), 1);
	assert_int_equal(count("[ab]{3}"), 8);
	assert_int_equal(count("[ab]{0,3}"), 15);
	assert_int_equal(count("a|ab|abc|b*"), UINT64_MAX);
	assert_int_equal(count("(?:a|b|ab){2}"), 9);
	assert_int_equal(count("[^]"), 0x110000 - 0x800);
	assert_int_equal(count("[\\ud7ff-\\ue000]"), 2);
	assert_int_equal(count("[^]{2}"), UINT64_C(1112064) * 1112064);
	assert_int_equal(count("[^]{4}"), UINT64_MAX); /* more than 2^64 */
	assert_int_equal(count("\\d{4}-\\d{2}"), 1000000);
	d = re("[\\ud7fe-\\ue001]");
	assert_int_equal(dfa_list(d, 10, hear, &h, NULL), 0);
	assert_int_equal(h.n, 4);
	assert_string_equal(h.text[1], "\xed\x9f\xbf");
	assert_string_equal(h.text[2], "\xee\x80\x80");
	dfa_free(d);
	d = re("a*");
	assert_int_equal(dfa_list(d, 10, hear, &h, &err), INFER_EINVAL);
	assert_string_equal(err.message, "the language is infinite");
	dfa_free(d);
}

/* -- budgets -------------------------------------------------------------------------------- */

/* What an operation takes suffices for it, and one step or byte less does not. */
static void test_budget(void **state)
{
	struct dfa *a = re("[ab]*a[ab]{5}"), *b = re("(?:[ab]{7})*"), *r;
	struct budget left = PLENTY;
	infer_error err;
	uint64_t steps;

	(void)state;
	assert_int_equal(dfa_and(&r, a, b, &left, NULL), INFER_OK);
	dfa_free(r);
	steps = BUDGET_STEPS - left.steps;
	left = (struct budget){ steps, BUDGET_BYTES };
	assert_int_equal(dfa_and(&r, a, b, &left, NULL), INFER_OK);
	assert_int_equal(left.steps, 0);
	dfa_free(r);
	left = (struct budget){ steps - 1, BUDGET_BYTES };
	assert_int_equal(dfa_and(&r, a, b, &left, &err), INFER_EUNSUP);
	assert_null(r);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	assert_memory_equal(err.message, "an intersection needs more than ", 32);
	assert_non_null(strstr(err.message, " steps"));
	left = (struct budget){ BUDGET_STEPS, 20000 };
	assert_int_equal(dfa_and(&r, a, b, &left, &err), INFER_EUNSUP);
	assert_string_equal(err.message, "an intersection needs more than 20000 bytes");
	assert_int_equal(left.bytes, 20000);
	/* every budget ends, and gives all back */
	for (uint64_t n = 0; n < steps; n += 97) {
		left = (struct budget){ n, BUDGET_BYTES };
		assert_int_equal(dfa_or(&r, a, b, &left, NULL), INFER_EUNSUP);
		assert_int_equal(left.bytes, BUDGET_BYTES);
	}
	left = (struct budget){ BUDGET_STEPS, BUDGET_BYTES };
	assert_int_equal(dfa_lengths(&r, 0, 2000000000, &left, &err), INFER_EUNSUP);
	assert_non_null(strstr(err.message, "a length needs more than"));
	dfa_free(a);
	dfa_free(b);
}

/* -- memory --------------------------------------------------------------------------------- */

static int case_operations(void)
{
	static const struct dfa_word list[] = { { "ab", 2 }, { "abc", 3 }, { "b", 1 } };
	struct budget left = PLENTY;
	struct dfa *d[6] = { 0 };
	struct heard h = { 0 };
	uint64_t n;
	int rc;

	nth_ok(dfa_words(d, list, 3, &left, NULL));
	nth_ok(dfa_lengths(d + 1, 2, DFA_FOREVER, &left, NULL));
	nth_ok(dfa_not(d + 2, d[0], &left, NULL));
	nth_ok(dfa_and(d + 3, d[0], d[1], &left, NULL));
	nth_ok(dfa_or(d + 4, d[0], d[2], &left, NULL));
	assert_true(dfa_is_all(d[4]));
	nth_ok(dfa_minus(d + 5, d[2], d[1], &left, NULL));
	nth_ok(dfa_count(&n, d[3], NULL));
	assert_int_equal(n, 2);
	nth_ok(dfa_list(d[3], 9, hear, &h, NULL));
	assert_int_equal(h.n, 2);
out:
	for (int i = 0; i < 6; i++)
		dfa_drop(d[i], &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_laws),
		cmocka_unit_test(test_equal_patterns),
		cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_length_alone),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_bad_words),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_budget),
		nth_case(case_operations),
	};

	return nth_group(tests);
}
