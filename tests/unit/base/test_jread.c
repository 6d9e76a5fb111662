/* tests/unit/base/test_jread.c - untrusted JSON: what is refused and where, every digit of
 * numbers, and failing allocations at every place. */
#include "../nth.h"
#include "../json.h"
#include "../shared.h"
#include "base/jwrite.h"

#include <float.h>
#include <math.h>

static int case_fields(void)
{
	static const char text[] = "{\"i\": -7, \"x\": 1.5, \"s\": \"a\\u0000b\", \"t\": "
				   "\"plain\", \"n\": null, \"big\": "
				   "9223372036854775807, \"u\": 18446744073709551615, \"a\": [1, "
				   "{\"k\": \"\\u00e9\"}]}";
	const struct json *o;
	struct arena a;
	infer_error err;
	int64_t i = 5;
	double x = 5;
	const char *s = NULL;
	size_t len = 0;
	int rc;

	arena_init(&a, MEM_BASE);
	nth_ok(jread(&o, &a, text, strlen(text), "f.json", &err));
	nth_ok(jread_i64(o, "i", &i, -10, 10, "f.json", &err));
	assert_int_equal(i, -7);
	nth_ok(jread_i64(o, "absent", &i, 0, 0, "f.json", &err));
	nth_ok(jread_i64(o, "n", &i, 0, 0, "f.json", &err));
	assert_int_equal(i, -7);
	assert_int_equal(jread_i64(o, "i", &i, 0, 10, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: i is -7, not in 0 ... 10");
	assert_int_equal(jread_i64(o, "u", &i, 0, 10, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: u is 18446744073709551615, not in 0 ... 10");
	assert_int_equal(jread_i64(o, "x", &i, 0, 10, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: x is not an integer");
	assert_int_equal(i, -7);
	nth_ok(jread_i64(o, "big", &i, INT64_MIN, INT64_MAX, "f.json", NULL));
	assert_true(i == INT64_MAX);
	nth_ok(jread_f64(o, "x", &x, 0, 2, "f.json", &err));
	assert_true(x == 1.5);
	nth_ok(jread_f64(o, "u", &x, 0, 1e30, "f.json", &err));
	assert_true(x == 0x1p64);
	nth_ok(jread_f64(o, "i", &x, -10, 2, "f.json", &err));
	assert_true(x == -7);
	assert_int_equal(jread_f64(o, "x", &x, 2, 3, "f.json", &err), INFER_EFORMAT);
	assert_int_equal(jread_f64(o, "t", &x, 2, 3, "f.json", &err), INFER_EFORMAT);
	assert_true(x == -7);
	nth_ok(jread_str(o, "s", &s, &len, "f.json", &err));
	assert_int_equal(len, 3);
	assert_memory_equal(s, "a\0b", 3);
	nth_ok(jread_str(o, "t", &s, &len, "f.json", &err));
	assert_int_equal(len, 5);
	assert_ptr_equal(s, strstr(text, "plain")); /* borrowed */
	assert_int_equal(jread_str(o, "a", &s, &len, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: a is not a string");
out:
	arena_fini(&a);
	return rc;
}

/* The text read from a block of its own size, so that a sanitizer sees a byte behind it that is
 * looked at; then its text of jw_value, in *out if that is wanted. */
static int reads(const char *text, size_t n, struct buf *out, infer_error *err)
{
	const struct json *v = (const struct json *)(const void *)text; /* not NULL */
	char *tight = malloc(n + !n);
	struct jwrite w;
	struct arena a;
	int rc;

	assert_non_null(tight);
	memcpy(tight, text, n);
	arena_init(&a, MEM_BASE);
	rc = jread(&v, &a, tight, n, "f.json", err);
	assert_true(rc ? !v : v != NULL);
	if (!rc && out) {
		buf_clear(out);
		jw_init(&w, out);
		jw_value(&w, NULL, v);
		rc = out->bad ? INFER_ENOMEM : INFER_OK;
	}
	arena_fini(&a);
	free(tight);
	return rc;
}

static const struct {
	const char *text, *again;
} case_values_rows[] = {
	{ "0", "0" },
	{ " \"x\" ", "\"x\"" },
	{ "null", "null" },
	{ "\t[\r\n]", "[]" },
	{ "{ }", "{}" },
	{ "true", "true" },
	{ "-0", "0" },
	{ "-0.0", "-0.0" },
	{ "-1.5e3", "-1500.0" },
	{ "1E+2", "100.0" },
	{ "9223372036854775807", "9223372036854775807" },
	{ "9223372036854775808", "9223372036854775808" },
	{ "-9223372036854775808", "-9223372036854775808" },
	{ "18446744073709551615", "18446744073709551615" },
	{ "18446744073709551616", "1.8446744073709552e+19" },
	{ "18446744073709551625", "1.8446744073709552e+19" },
	{ "-9223372036854775809", "-9.223372036854776e+18" },
	{ "\"\\ud83d\\ude00\\u00e9\\u20AC\\/\\b\\f\\n\\r\\t\\\"\\\\\"",
	  "\"\xf0\x9f\x98\x80\xc3\xa9\xe2\x82\xac/\\b\\f\\n\\r\\t\\\"\\\\\"" },
	{ "\"\\u0000\x7f\"", "\"\\u0000\x7f\"" },
	{ "[[],{},[{}],1,\"\"]", "[[],{},[{}],1,\"\"]" },
	{ "{\"b\":1,\"a\":{\"b\":[2,3]},\"\":0}", "{\"b\":1,\"a\":{\"b\":[2,3]},\"\":0}" },
	{ "{\"\\u0061\\n\":1}", "{\"a\\n\":1}" },
	{ "\"0123456789abcdef\xf4\x8f\xbf\xbf"
	  "01234567\xdf\xbf\xef\xbf\xbf\"",
	  "\"0123456789abcdef\xf4\x8f\xbf\xbf"
	  "01234567\xdf\xbf\xef\xbf\xbf\"" },
};

static int case_values(void)
{
	struct buf b;
	infer_error err;
	int rc = INFER_OK;

	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof case_values_rows / sizeof *case_values_rows; i++) {
		nth_ok(reads(case_values_rows[i].text, strlen(case_values_rows[i].text), &b, &err));
		assert_string_equal(b.at, case_values_rows[i].again);
	}
out:
	buf_fini(&b);
	return rc;
}

static const struct {
	const char *text, *says;
} case_refused_rows[] = {
	{ "", "1, column 1: the text ends too early" },
	{ " \n ", "2, column 2: the text ends too early" },
	{ "[1,]", "1, column 4: no JSON value" },
	{ "{\"a\":1,}", "1, column 8: no key in quotes" },
	{ "{a:1}", "1, column 2: no key in quotes" },
	{ "1 2", "1, column 3: more text after the value" },
	{ "[] x", "1, column 4: more text after the value" },
	{ "[1 2]", "1, column 4: neither a comma nor the end of an array" },
	{ "[1}", "1, column 3: neither a comma nor the end of an array" },
	{ "{\"a\":1]", "1, column 7: neither a comma nor the end of an object" },
	{ "{\"a\" 1}", "1, column 6: a key must be followed by a colon" },
	{ "'a'", "1, column 1: no JSON value" },
	{ "01", "1, column 2: more text after the value" },
	{ "+1", "1, column 1: no JSON value" },
	{ ".5", "1, column 1: no JSON value" },
	{ "1.", "1, column 1: no JSON number" },
	{ "-", "1, column 1: no JSON number" },
	{ "1e", "1, column 1: no JSON number" },
	{ "1e+", "1, column 1: no JSON number" },
	{ "nul", "1, column 1: no JSON value" },
	{ "\"\\x\"", "1, column 2: no such escape in a string" },
	{ "\"\\u12g4\"", "1, column 2: no such escape in a string" },
	{ "\"\\u12\"", "1, column 2: no such escape in a string" },
	{ "\"a", "1, column 3: the text ends too early" },
	{ "\"\\", "1, column 3: the text ends too early" },
	{ "[", "1, column 2: the text ends too early" },
	{ "{\"a\"", "1, column 5: the text ends too early" },
	{ "NaN", "1, column 1: no JSON value" },
	{ "Infinity", "1, column 1: no JSON value" },
	{ "\"\\ud800\"", "1, column 2: half of a surrogate pair" },
	{ "\"\\udc00\\ud800\"", "1, column 2: half of a surrogate pair" },
	{ "\"x\\ud800\\u0041\"", "1, column 3: half of a surrogate pair" },
	{ "\"\t\"", "1, column 2: a control character in a string" },
	{ "\"\xff\"", "1, column 2: not UTF-8" },
	{ "\"12345678\xed\xa0\x80\"", "1, column 10: not UTF-8" },
	{ "\"\xc3", "1, column 2: not UTF-8" },
	{ "{\"a\":1,\"b\":2,\"\\u0061\":1}", "1, column 23: duplicate key 'a'" },
	{ "1e999", "1, column 1: a number beyond double" },
	{ "[-1e309]", "1, column 2: a number beyond double" },
	{ "/**/1", "1, column 1: no JSON value" },
	{ "\xef\xbb\xbf\x31", "1, column 1: no JSON value" },
	{ "{\n\"a\": 1,\n  x}", "3, column 3: no key in quotes" },
	{ "[,1]", "1, column 2: no JSON value" },
	{ "]", "1, column 1: no JSON value" },
	{ "[1,,2]", "1, column 4: no JSON value" },
	{ "{,}", "1, column 2: no key in quotes" },
	{ "{\"a\":}", "1, column 6: no JSON value" },
};

static int case_refused(void)
{
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof case_refused_rows / sizeof *case_refused_rows; i++) {
		nth_fails(reads(case_refused_rows[i].text, strlen(case_refused_rows[i].text), NULL,
		                &err),
		          INFER_EFORMAT);
		assert_memory_equal(err.message, "f.json: line ", 13);
		assert_string_equal(err.message + 13, case_refused_rows[i].says);
	}
	nth_fails(reads("1\0"
	                "2",
	                3, NULL, &err),
	          INFER_EFORMAT);
	nth_fails(reads("\"\0\"", 3, NULL, &err), INFER_EFORMAT);
	nth_fails(reads("{\"a\\u0000b\":1,\"a\\u0000b\":2}", 26, NULL, &err), INFER_EFORMAT);
	nth_ok(reads("{\"a\\u0000b\":1,\"a\\u0000c\":2}", 27, NULL, &err));
out:
	return rc;
}

/* 1000 levels, no more, of any kind, and a million cost no more memory; brackets inside strings do
 * not count. */
static int case_depth(void)
{
	enum { MOST = 1000000 };
	static char text[MOST];
	struct arena a;
	const struct json *v;
	infer_error err;
	int rc;

	arena_init(&a, MEM_BASE);
	memset(text, '[', 1000);
	memset(text + 1000, ']', 1000);
	nth_ok(reads(text, 2000, NULL, &err));
	memset(text, '[', 1001);
	memset(text + 1001, ']', 1001);
	nth_fails(reads(text, 2002, NULL, &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: line 1, column 1001: nested deeper than 1000");
	memset(text, '[', MOST);
	nth_fails(jread(&v, &a, text, MOST, "f.json", &err), INFER_EFORMAT);
	assert_true(a.size <= 1 << 16);
	for (size_t i = 0; i + 5 <= MOST; i += 5)
		memcpy(text + i, "{\"a\":", 5);
	nth_fails(reads(text, MOST, NULL, &err), INFER_EFORMAT);
	memset(text, '[', 1200);
	text[0] = '"';
	memcpy(text + 10, "\\\"", 2);
	text[1199] = '"';
	nth_ok(reads(text, 1200, NULL, &err));
out:
	arena_fini(&a);
	return rc;
}

/* An object of n keys; the last is the first again where that is asked for. */
static void many(struct buf *b, int n, int twice)
{
	buf_clear(b);
	for (int i = 0; i < n; i++)
		buf_printf(b, "%s\"key %d\":%d", i ? "," : "{", twice && i == n - 1 ? 0 : i, i);
	buf_puts(b, "}");
}

static int case_twice(void)
{
	static const int sizes[] = { 2, 16, 17, 18, 64, 65, 66, 1000 };
	struct buf b;
	infer_error err;
	char says[120];
	int rc = INFER_OK;

	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		many(&b, sizes[i], 0);
		nth_need(!b.bad);
		nth_ok(reads(b.at, b.len, NULL, &err));
		many(&b, sizes[i], 1);
		nth_need(!b.bad);
		nth_fails(reads(b.at, b.len, NULL, &err), INFER_EFORMAT);
		snprintf(says, sizeof says, "f.json: line 1, column %zu: duplicate key 'key 0'",
		         b.len - (size_t)snprintf(NULL, 0, "%d", sizes[i] - 1));
		assert_string_equal(err.message, says);
	}
out:
	buf_fini(&b);
	return rc;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Keys of 8 bytes that meet in one place of the reader's table, as one who knows its hash would
 * make them, are told apart by order instead, for which it allocates once more. */
static void test_flood(void **state)
{
	enum { KEYS = 2000, SLOTS = 4096 };
	const uint64_t k = 0x9e3779b97f4a7c15, h = mix(8 ^ k, 0xbf58476d1ce4e5b9);
	uint64_t calls[2], n = 0;
	struct buf b;
	infer_error err;

	(void)state;
	buf_init(&b, MEM_BASE);
	for (int flood = 0; flood < 2; flood++) {
		buf_clear(&b);
		for (int found = 0; found < KEYS; n++) {
			char key[9];
			uint64_t w;

			snprintf(key, sizeof key, "%08u", (unsigned)n);
			memcpy(&w, key, 8);
			if (flood && mix(h ^ w, k) & (SLOTS - 1))
				continue;
			buf_printf(&b, "%s\"%s\":0", found ? "," : "{", key);
			found++;
		}
		buf_putc(&b, '}');
		calls[flood] = mem_calls(MEM_BASE);
		assert_int_equal(reads(b.at, b.len, NULL, &err), INFER_OK);
		calls[flood] = mem_calls(MEM_BASE) - calls[flood];
		memcpy(b.at + 1 + 13 * (KEYS - 1), b.at + 1 + 13 * 1000, 12);
		assert_int_equal(reads(b.at, b.len, NULL, &err), INFER_EFORMAT);
		assert_non_null(strstr(err.message, "line 1, column 26000: duplicate key '"));
	}
	assert_int_equal(calls[1], calls[0] + 1);
	buf_fini(&b);
}

/* With one allocation failing it says so, or gives what the text holds: never another string, as a
 * reader does that goes on. */
static void test_no_other_text(void **state)
{
	static const char text[] = "{\"prompt\":\"Once upon a time there was a little fox who "
				   "lived in a hollow tree near the r\\u0069ver\"}";
	static const char want[] = "{\"prompt\":\"Once upon a time there was a little fox who "
				   "lived in a hollow tree near the river\"}";
	int rc = INFER_ENOMEM, n;

	(void)state;
	for (n = 1; rc && n < 100; n++) {
		const struct json *v;
		infer_error err;
		struct jwrite w;
		struct arena a;
		struct buf b;

		mem_fail_at((uint64_t)n);
		arena_init(&a, MEM_BASE);
		rc = jread(&v, &a, text, sizeof text - 1, "f.json", &err);
		mem_fail_at(0);
		buf_init(&b, MEM_BASE);
		jw_init(&w, &b);
		if (rc) {
			assert_int_equal(rc, INFER_ENOMEM);
			assert_string_equal(err.message, "f.json: no memory for the JSON value");
			assert_null(v);
		} else {
			jw_value(&w, NULL, v);
			assert_string_equal(b.at, want);
		}
		buf_fini(&b);
		arena_fini(&a);
	}
	assert_int_equal(rc, INFER_OK);
	assert_true(n > 2);
}

/* ---- numbers */

/* Infinity where it is refused. */
static double number(const char *text)
{
	struct json v;
	size_t n = strlen(text);

	if (jread_num(&v, text, n) != n)
		fail_msg("%s is no number", text);
	return v.kind == JSON_NULL ? INFINITY : json_double(&v);
}

/* One half below is m, one half above m + 1: just the middle, and a digit either side of it. */
static void check_middle(double m)
{
	double above = nextafter(m, INFINITY);
	long double middle = ((long double)m + (long double)above) / 2;
	char text[1200], *e;
	int even;
	uint64_t bits;

	memcpy(&bits, &m, 8);
	even = !(bits & 1);
	/* exact: long double has the bits, and there are digits enough */
	snprintf(text, sizeof text, "%.800Le", middle);
	e = strchr(text, 'e');
	if (number(text) != (even ? m : above))
		fail_msg("the middle above %a is %a", m, number(text));
	memmove(e + 1, e, strlen(e) + 1);
	*e = '1';
	if (number(text) != above)
		fail_msg("just above the middle above %a is %a", m, number(text));
	snprintf(text, sizeof text, "%.800Le", middle);
	e = strchr(text, 'e');
	while (*--e == '0')
		*e = '9';
	if (*e == '.')
		e--;
	*e -= 1;
	if (number(text) != m)
		fail_msg("just below the middle above %a is %a", m, number(text));
}

/* libc knows too (this test leaves the C locale alone): random bits by 17 digits and by all of
 * them, middles, powers of ten. */
static void test_numbers(void **state)
{
	uint64_t seed = 1;
	char text[1200];

	(void)state;
	for (int i = 0; i < (NTH_SANITIZED ? 2000 : 20000); i++) {
		uint64_t bits;
		double x;

		seed = seed * 6364136223846793005 + 1442695040888963407;
		bits = (seed ^ seed >> 31) & INT64_MAX;
		memcpy(&x, &bits, 8);
		if (!isfinite(x))
			continue;
		for (int digits = 1; digits < 25; digits += 3) {
			snprintf(text, sizeof text, "%.*e", digits, x);
			assert_true(number(text) == strtod(text, NULL));
		}
		snprintf(text, sizeof text, "%.800e", x);
		assert_true(number(text) == x);
		if (LDBL_MANT_DIG >= 64 && i % 16 == 0 && x < DBL_MAX)
			check_middle(x);
	}
	for (int e = -400; e <= 308; e++)
		for (int m = 1; m < 10; m += 2) {
			snprintf(text, sizeof text, "%de%d", m, e);
			assert_true(number(text) == strtod(text, NULL));
		}
	if (LDBL_MANT_DIG >= 64)
		for (int i = -1074; i < 1000; i += 7)
			check_middle(ldexp(1, i));
	assert_true(number("5e-324") == 0x1p-1074 && number("2.4703282292062327e-324") == 0 &&
	            number("2.4703282292062328e-324") == 0x1p-1074);
	assert_true(number("2.2250738585072011e-308") == 0x0.fffffffffffffp-1022 &&
	            number("0.000000000000000000000000000e999") == 0);
	assert_true(number("1.7976931348623158e308") == DBL_MAX &&
	            number("9007199254740993.0") == 0x1p53);
	assert_true(number("9007199254740993."
	                   "00000000000000000000000000000000000000000000000000000000000000001") ==
	            0x1p53 + 2);
}

/* Zeros and exponents of any length make each other good. */
static void test_long_numbers(void **state)
{
	enum { ZEROS = 100000 };
	char *text = malloc(ZEROS + 40);
	struct json v;

	(void)state;
	assert_non_null(text);
	text[0] = '1';
	memset(text + 1, '0', ZEROS);
	strcpy(text + 1 + ZEROS, "e-100000");
	assert_true(number(text) == 1);
	memcpy(text, "0.", 2);
	strcpy(text + 2 + ZEROS - 1, "1e100000");
	assert_true(number(text) == 1);
	memset(text, '9', ZEROS);
	text[ZEROS] = 0;
	assert_int_equal(jread_num(&v, text, ZEROS), ZEROS);
	assert_int_equal(v.kind, JSON_NULL);
	assert_int_equal(jread_num(&v, "1e99999999999999999999999999", 28), 28);
	assert_int_equal(v.kind, JSON_NULL);
	assert_true(number("1e-99999999999999999999999999") == 0);
	assert_int_equal(jread_num(&v, "12x", 3), 2);
	assert_true(v.kind == JSON_INT && v.i == 12);
	assert_int_equal(jread_num(&v, "-", 1), 0);
	assert_int_equal(jread_num(&v, "", 0), 0);
	free(text);
}

/* ---- the public cases */

static size_t base64(unsigned char *out, const char *in, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0, have = 0;
	size_t len = 0;

	for (size_t i = 0; i < n && in[i] != '='; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digit, in[i]) - digit);
		if ((have += 6) >= 8)
			out[len++] = (unsigned char)(bits >> (have -= 8));
	}
	return len;
}

/* Two that a parser must take by those cases have a key twice, which we refuse. */
static void test_public(void **state)
{
	enum { CASES = 318 };
	char path[SHARED_PATH], *line = NULL;
	size_t cap = 0;
	int done = 0, twice = 0;

	(void)state;
	shared_need("data/json/parsing.jsonl", CASES, path);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	for (; getline(&line, &cap, f) > 0; done++) {
		struct arena a;
		infer_error err;

		arena_init(&a, MEM_BASE);
		const struct json *row = json_need(&a, line), *b64 = json_get(row, "b64"),
				  *name = json_get(row, "name"), *want = json_get(row, "want");
		char *bytes = malloc(json_bytes(b64) + 1);
		int rc =
			reads(bytes, base64((unsigned char *)bytes, json_str(b64), json_bytes(b64)),
		              NULL, &err);

		if (rc == INFER_EFORMAT && strstr(err.message, "duplicate key"))
			twice++;
		else if ((json_equals(want, "accept") && rc) ||
		         (json_equals(want, "reject") && rc != INFER_EFORMAT))
			fail_msg("%.*s: %s", (int)json_bytes(name), json_str(name),
			         rc ? err.message : "taken");
		free(bytes);
		arena_fini(&a);
	}
	assert_int_equal(done, CASES);
	assert_int_equal(twice, 2);
	free(line);
	fclose(f);
}

/* tests/golden/json/cases.jsonl, by scripts/check-json.py: texts, and what Python makes of them. */
static void test_golden(void **state)
{
	FILE *f = fopen("tests/golden/json/cases.jsonl", "r");
	char *line = NULL;
	size_t cap = 0;
	int done = 0;

	(void)state;
	assert_non_null(f);
	for (; getline(&line, &cap, f) > 0; done++) {
		struct arena a;
		struct buf b;

		arena_init(&a, MEM_BASE);
		buf_init(&b, MEM_BASE);
		const struct json *row = json_need(&a, line), *text = json_get(row, "text"),
				  *again = json_get(row, "again");
		int rc = reads(json_str(text), json_bytes(text), &b, NULL);

		if (rc != (again ? INFER_OK : INFER_EFORMAT) ||
		    (again && (b.len != again->n || memcmp(b.at, again->s, b.len))))
			fail_msg("%.*s: %s", (int)json_bytes(text), json_str(text),
			         rc ? "refused" : b.at);
		buf_fini(&b);
		arena_fini(&a);
	}
	assert_true(done > 200);
	free(line);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_fields),
		nth_case(case_values),
		nth_case(case_refused),
		nth_case(case_depth),
		nth_case(case_twice),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_no_other_text),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_long_numbers),
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_golden),
	};
	return nth_group(tests);
}
