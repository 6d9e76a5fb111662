/* tests/unit/text/test_unicode.c - properties, lower case and decomposition of code points that
 * are easy to get wrong.  The expected values are from UnicodeData.txt; the tables of PCRE2 are
 * a second opinion on categories. */
#include "../nth.h"
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include "text/unicode.h"

static void test_sets(void **state)
{
	(void)state;
	assert_true(unicode_set('A') == UNI_BIT(UNI_LU));
	assert_true(unicode_set('a') == UNI_BIT(UNI_LL));
	assert_true(unicode_set(0x1c5) == UNI_BIT(UNI_LT));
	assert_true(unicode_set(0x2b0) == UNI_BIT(UNI_LM));
	assert_true(unicode_set(0x5d0) == UNI_BIT(UNI_LO));
	assert_true(unicode_set(0x4e2d) == (UNI_BIT(UNI_LO) | UNI_HAN));
	assert_true(unicode_set(0x3007) == (UNI_BIT(UNI_NL) | UNI_HAN));
	assert_true(unicode_set(0x2e80) == (UNI_BIT(UNI_SO) | UNI_HAN));
	assert_true(unicode_set(' ') == (UNI_BIT(UNI_ZS) | UNI_SPACE));
	assert_true(unicode_set('\t') == (UNI_BIT(UNI_CC) | UNI_SPACE));
	assert_true(unicode_set(0x85) == (UNI_BIT(UNI_CC) | UNI_SPACE));
	assert_true(unicode_set(0x2028) == (UNI_BIT(UNI_ZL) | UNI_SPACE));
	assert_true(unicode_set(0x1c) == UNI_BIT(UNI_CC));
	assert_true(unicode_set(0x180e) == UNI_BIT(UNI_CF));
	assert_true(unicode_set(0x301) == UNI_BIT(UNI_MN));
	assert_true(unicode_set(0x903) == UNI_BIT(UNI_MC));
	assert_true(unicode_set(0x661) == UNI_BIT(UNI_ND));
	assert_true(unicode_set('_') == UNI_BIT(UNI_PC));
	assert_true(unicode_set('$') == UNI_BIT(UNI_SC));
	assert_true(unicode_set(0xe000) == UNI_BIT(UNI_CO));
	assert_true(unicode_set(0xd800) == UNI_BIT(UNI_CS));
	assert_true(unicode_set(0x10ffff) == UNI_BIT(UNI_CN));
	assert_true(unicode_set(UNI_BAD) == UNI_BIT(UNI_CN));
	assert_true(unicode_set(UINT32_MAX) == UNI_BIT(UNI_CN));
}

/* How often a class of PCRE2 and ours differ, over code points that PCRE2 has: it may know a newer
 * version than we. */
static int differ(const char *pattern, uint32_t set)
{
	int code, n = 0;
	PCRE2_SIZE at;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
	                               PCRE2_UTF | PCRE2_UCP, &code, &at, NULL);
	pcre2_match_data *m = pcre2_match_data_create(1, NULL);

	assert_non_null(re);
	assert_non_null(m);
	for (uint32_t cp = 0; cp < 0x110000; cp++) {
		char s[4];
		int k = utf8_put(s, cp);
		if (k && !(unicode_set(cp) & UNI_BIT(UNI_CN)))
			n += (pcre2_match(re, (PCRE2_SPTR)s, (size_t)k, 0, 0, m, NULL) >= 0) !=
			     ((unicode_set(cp) & set) != 0);
	}
	pcre2_match_data_free(m);
	pcre2_code_free(re);
	return n;
}

static void test_pcre2(void **state)
{
	(void)state;
	assert_true(differ("^\\p{L}", UNI_L) < 20);
	assert_true(differ("^\\p{N}", UNI_N) < 20);
	assert_true(differ("^\\p{M}", UNI_M) < 20);
	assert_true(differ("^\\p{P}", UNI_P) < 20);
	assert_true(differ("^\\p{S}", UNI_S) < 20);
	assert_true(differ("^\\p{Lu}", UNI_BIT(UNI_LU)) < 20);
	assert_true(differ("^\\s", UNI_SPACE) <= 1); /* PCRE2 counts U+180E */
}

static void test_lower(void **state)
{
	(void)state;
	assert_int_equal(unicode_to_lower('Z'), 'z');
	assert_int_equal(unicode_to_lower('['), '[');
	assert_int_equal(unicode_to_lower(0xc9), 0xe9);
	assert_int_equal(unicode_to_lower(0x130), 'i');
	assert_int_equal(unicode_to_lower(0x1c5), 0x1c6);
	assert_int_equal(unicode_to_lower(0x3a3), 0x3c3);
	assert_int_equal(unicode_to_lower(0x212a), 'k');
	assert_int_equal(unicode_to_lower(0x10400), 0x10428);
	assert_int_equal(unicode_to_lower(0xdf), 0xdf);
	assert_int_equal(unicode_to_lower(0x10ffff), 0x10ffff);
}

static void decomposes(uint32_t cp, int n, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t out[4] = { 0 };

	assert_int_equal(unicode_decompose(cp, out), n);
	assert_int_equal(out[0], a);
	assert_true(n < 2 || out[1] == b);
	assert_true(n < 3 || out[2] == c);
}

static void test_decompose(void **state)
{
	uint32_t marks[] = { 'a', 0x301, 0x323, 0x308, 'b', 0x323, 0x301 };
	const uint32_t want[] = { 'a', 0x323, 0x301, 0x308, 'b', 0x323, 0x301 };

	(void)state;
	decomposes('a', 1, 'a', 0, 0);
	decomposes(0xe9, 2, 'e', 0x301, 0);
	decomposes(0x1ed9, 3, 'o', 0x323, 0x302);
	decomposes(0xac00, 2, 0x1100, 0x1161, 0);
	decomposes(0xd7a3, 3, 0x1112, 0x1175, 0x11c2);
	decomposes(0xf900, 1, 0x8c48, 0, 0);
	decomposes(0x37e, 1, ';', 0, 0);
	decomposes(0xfb01, 1, 0xfb01, 0, 0); /* only compatible */
	unicode_order(marks, 7); /* below (220) goes before above (230), which keep their order */
	assert_memory_equal(marks, want, sizeof want);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sets),
		                            cmocka_unit_test(test_pcre2),
		                            cmocka_unit_test(test_lower),
		                            cmocka_unit_test(test_decompose) };
	return nth_group(tests);
}
