/* tests/unit/base/test_utf8.c - UTF-8, compared with iconv(3), and the examples of the Unicode
 * standard. */
#include "../nth.h"
#include "base/utf8.h"

#include <iconv.h>
#include <stdlib.h>
#include <string.h>

/* Every code point, and every value that is none. */
static void test_points(void **state)
{
	iconv_t cd = iconv_open("UTF-8", "UTF-32LE");

	(void)state;
	assert_true(cd != (iconv_t)-1);
	for (uint32_t cp = 0; cp < 0x110100; cp++) {
		char want[8], got[4], *in = (char *)&cp, *out = want;
		size_t n_in = 4, n_out = sizeof want;
		size_t rc = iconv(cd, &in, &n_in, &out, &n_out);
		int n = utf8_put(got, cp);
		uint32_t back;

		if (rc == (size_t)-1) {
			iconv(cd, NULL, NULL, NULL, NULL);
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_equal(n, out - want);
		assert_memory_equal(got, want, (size_t)n);
		assert_int_equal(utf8_get(got, (size_t)n, &back), n);
		assert_int_equal(back, cp);
		for (int k = 1; k < n; k++) { /* cut: could go on */
			assert_int_equal(utf8_get(got, (size_t)k, &back), 0);
			assert_int_equal(back, 0xfffd);
			assert_int_equal(utf8_tail(got, (size_t)k), k);
			assert_int_equal(utf8_bad(got, (size_t)k), k);
		}
		assert_int_equal(utf8_tail(got, (size_t)n), 0);
	}
	iconv_close(cd);
	assert_int_equal(utf8_put((char[4]){ 0 }, UINT32_MAX), 0);
}

/* Random bytes that are nearly UTF-8: the valid beginning is as long as iconv finds it. */
static void test_check(void **state)
{
	static const unsigned char some[] = { 'a',  0,    0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
		                              0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
		                              0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff };
	iconv_t cd = iconv_open("UTF-32LE", "UTF-8");
	uint64_t seed = 1;

	(void)state;
	assert_true(cd != (iconv_t)-1);
	for (int round = 0; round < 300000; round++) {
		char s[24], out[128], *in = s, *to = out;
		size_t n = 1 + (size_t)round % sizeof s, left = n, room = sizeof out;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			s[i] = (char)(seed >> 63 ? some[(seed >> 33) % sizeof some]
			                         : 0x80 | (seed >> 40 & 0x3f));
			if (n > 8 && i < n - 8)
				s[i] = (char)(seed >> 36 & 0x7f); /* the fast path */
		}
		iconv(cd, NULL, NULL, NULL, NULL);
		iconv(cd, &in, &left, &to, &room);
		assert_int_equal(utf8_check(s, n), in - s);
	}
	iconv_close(cd);
	assert_int_equal(utf8_check("", 0), 0);
}

/* One U+FFFD for each maximal ill-formed subpart: tables 3-8 to 3-11 of the standard. */
static void test_replacing(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		/* ? stands for U+FFFD */
		{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "????????A" },
		{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "????????A" },
		{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "?????A??B" },
		{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "????A" },
		{ "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", "a???b?c??d" },
	};

	(void)state;
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		char out[32];
		size_t n = strlen(rows[r].in), o = 0;

		for (size_t i = 0; i < n;) {
			uint32_t cp;
			int len = utf8_get(rows[r].in + i, n - i, &cp);

			out[o++] = (char)(len ? cp : '?');
			i += len ? (size_t)len : utf8_bad(rows[r].in + i, n - i);
		}
		out[o] = 0;
		assert_string_equal(out, rows[r].out);
	}
}

static void test_tail(void **state)
{
	static const struct {
		const char *s;
		size_t tail;
	} rows[] = {
		{ "", 0 },
		{ "abc", 0 },
		{ "a\xc3", 1 },
		{ "a\xc3\xa9", 0 },
		{ "\xe2\x82", 2 },
		{ "\xe2", 1 },
		{ "\xf0\x9f\x98", 3 },
		{ "x\xf0\x9f", 2 },
		{ "\x80", 0 },
		{ "\x80\x80\x80\x80", 0 },
		{ "\xe0\x80", 0 },
		{ "\xed\xa0", 0 },
		{ "\xf4\x90", 0 },
		{ "\xc1", 0 },
		{ "\xff", 0 },
		{ "\xf0\x9f\x98\x80", 0 },
	};

	(void)state;
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		assert_int_equal(utf8_tail(rows[r].s, strlen(rows[r].s)), rows[r].tail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_replacing),
		cmocka_unit_test(test_tail),
	};
	return nth_group(tests);
}
