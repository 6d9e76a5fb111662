/* tests/unit/text/test_unicode.c - properties, lower case and decomposition of code points that
 * are easy to get wrong, with the expected values of UnicodeData.txt; then those of all code points,
 * compared with digests of what other programs say. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "base/sha256.h"
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

/* Whether cp is in the class of a row of classes.txt: a category by its short name, or a property. */
static int in_class(const char *name, uint32_t cp)
{
	static const char cats[] = "CnCcCfCoCsLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZp";
	const char *at = strlen(name) == 2 ? strstr(cats, name) : NULL;

	if (at)
		return (unicode_set(cp) & UNI_BIT((at - cats) / 2)) != 0;
	assert_true(!strcmp(name, "space") || !strcmp(name, "han"));
	return (unicode_set(cp) & (*name == 's' ? UNI_SPACE : UNI_HAN)) != 0;
}

/* The numbers that a row of classes.txt has a digest of, for one code point: how many, 0 ... 5. */
static int row_of(const char *name, uint32_t cp, uint32_t out[5])
{
	out[0] = cp;
	if (!strcmp(name, "lower"))
		return 2 * ((out[1] = unicode_to_lower(cp)) != cp);
	if (!strcmp(name, "ccc"))
		return 2 * ((out[1] = (uint32_t)unicode_class(cp)) != 0);
	if (!strcmp(name, "nfd")) {
		int n = unicode_decompose(cp, out + 1);
		return n > 1 || out[1] != cp ? n + 1 : 0;
	}
	return in_class(name, cp);
}

/* Every code point: what the packages tokenizers and unicodedata2 say (scripts/golden-unicode.py). */
static void test_classes(void **state)
{
	FILE *f = fopen("tests/golden/unicode/classes.txt", "r");
	char name[16], want[9];
	size_t many, rows = 0;

	(void)state;
	assert_non_null(f);
	for (; fscanf(f, "%15s %zu %8s", name, &many, want) == 3; rows++) {
		struct sha256 h;
		uint8_t sum[32];
		char hex[65];
		size_t n = 0;
		sha256_init(&h);
		for (uint32_t cp = 0; cp < 0x110000; cp++) {
			uint32_t x[5];
			int k = cp >> 11 == 0xd800 >> 11 ? 0 : row_of(name, cp, x);
			for (int i = 0; i < k; i++)
				sha256_add(
					&h,
					(uint8_t[]){ x[i] & 255, x[i] >> 8 & 255, x[i] >> 16, 0 },
					4);
			n += (size_t)k;
		}
		sha256_end(&h, sum);
		sha256_hex(sum, hex);
		if (n != many || strncmp(hex, want, 8))
			fail_msg("%s: %zu numbers, not %zu, or others", name, n, many);
	}
	assert_int_equal(rows, 34);
	fclose(f);
	assert_string_equal(unicode_version, "16.0.0");
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
		                            cmocka_unit_test(test_classes),
		                            cmocka_unit_test(test_lower),
		                            cmocka_unit_test(test_decompose) };
	return nth_group(tests);
}
