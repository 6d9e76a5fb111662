/* tests/unit/text/test_normal.c - normal forms: of every code point, alone and among marks, what the package
 * tokenizers says (tests/golden/unicode/normal.txt, made by scripts/golden-unicode.py); and of bytes that are
 * no text. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "base/sha256.h"
#include "text/normal.h"

static const char *const names[] = { "NFC", "NFD", "NFKC", "NFKD" };

/* The text of a code point: alone, or as normal_text of the script makes it. */
static size_t text_of(char out[64], uint32_t cp, int among)
{
	static const char *const after[] = { "\xe1\x84\x80",
		                             "\xe1\x86\xa8"
		                             "e\xcc\x81",
		                             "\xcc\xb4\xcc\x81", "" };
	size_t n = 0;

	if (!among)
		return (size_t)utf8_put(out, cp);
	for (int i = 0; i < 4; i++) {
		n += (size_t)utf8_put(out + n, cp);
		memcpy(out + n, after[i], strlen(after[i]));
		n += strlen(after[i]);
	}
	return n;
}

static void all_points(int form, int among, char hex[65])
{
	struct sha256 h;
	struct buf b;
	uint8_t sum[32];
	char s[64];

	buf_init(&b, MEM_TEXT);
	sha256_init(&h);
	for (uint32_t cp = 0; cp < 0x110000; cp++) {
		if (cp >> 11 == 0xd800 >> 11)
			continue;
		buf_clear(&b);
		unicode_normal(&b, s, text_of(s, cp, among), (enum unicode_form)form);
		assert_false(b.bad);
		sha256_add(&h, b.at, b.len);
	}
	sha256_end(&h, sum);
	sha256_hex(sum, hex);
	buf_fini(&b);
}

static void test_points(void **state)
{
	FILE *f = fopen("tests/golden/unicode/normal.txt", "r");
	char name[8], want[2][9], hex[65];

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(fscanf(f, "%7s %8s %8s", name, want[0], want[1]), 3);
		assert_string_equal(name, names[i]);
		for (int among = 0; among < 2; among++) {
			all_points(i, among, hex);
			if (strncmp(hex, want[among], 8))
				fail_msg("%s of %s", name, among ? "texts" : "code points");
		}
	}
	fclose(f);
}

static void becomes(const char *s, enum unicode_form form, const char *want)
{
	struct buf b;

	buf_init(&b, MEM_TEXT);
	unicode_normal(&b, s, strlen(s), form);
	assert_int_equal(b.len, strlen(want));
	assert_memory_equal(b.at ? b.at : "", want, b.len);
	buf_fini(&b);
}

/* A byte of no valid sequence stays, and separates what is around it. */
static void test_bytes(void **state)
{
	(void)state;
	becomes("", UNICODE_NFC, "");
	becomes("e\xcc\x81", UNICODE_NFC, "\xc3\xa9");
	becomes("e\xff\xcc\x81", UNICODE_NFC, "e\xff\xcc\x81");
	becomes("\xcc", UNICODE_NFKD, "\xcc");
	becomes("a\xe2\x96", UNICODE_NFKC, "a\xe2\x96");
	becomes("\xc3\xa9\x80", UNICODE_NFD, "e\xcc\x81\x80");
}

/* Runs of marks are ordered in linear time, however long. */
static void test_long(void **state)
{
	enum { MARKS = 100000 };
	struct buf b, text;

	(void)state;
	buf_init(&b, MEM_TEXT);
	buf_init(&text, MEM_TEXT);
	for (int i = 0; i < MARKS; i++)
		buf_puts(&text, i & 1 ? "\xcc\xa3" : "\xcc\x81");
	unicode_normal(&b, text.at, text.len, UNICODE_NFC);
	assert_int_equal(b.len, text.len);
	buf_fini(&b);
	buf_fini(&text);
}

static int case_memory(void)
{
	struct buf b;
	int rc;

	buf_init(&b, MEM_TEXT);
	unicode_normal(&b, "a\xcc\x81\xcc\xa3 \xef\xac\x81", 9, UNICODE_NFKC);
	nth_need(!b.bad);
	assert_int_equal(b.len, 8);
out:
	buf_fini(&b);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_points),
		                            cmocka_unit_test(test_bytes),
		                            cmocka_unit_test(test_long), nth_case(case_memory) };

	return nth_group(tests);
}
