/* tests/unit/base/test_jread.c */
#include "../nth.h"
#include "base/jread.h"

#include <stdlib.h>
#include <string.h>

static int case_fields(void)
{
	static const char text[] = "{\"i\": -7, \"x\": 1.5, \"s\": \"a\\u0000b\", \"t\": \"plain\", \"n\": null, \"big\": "
	                           "9223372036854775807, \"a\": [1, {\"k\": \"\\u00e9\"}]}";
	json_t *o = NULL;
	infer_error err;
	int64_t i = 5;
	double x = 5;
	const char *s = NULL;
	size_t len = 0;
	int rc;

	nth_ok(jread(&o, text, strlen(text), "f.json", &err));
	nth_ok(jread_i64(o, "i", &i, -10, 10, "f.json", &err));
	assert_int_equal(i, -7);
	nth_ok(jread_i64(o, "absent", &i, 0, 0, "f.json", &err));
	nth_ok(jread_i64(o, "n", &i, 0, 0, "f.json", &err));
	assert_int_equal(i, -7);
	assert_int_equal(jread_i64(o, "i", &i, 0, 10, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: i is -7, not in 0 ... 10");
	assert_int_equal(jread_i64(o, "x", &i, 0, 10, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: x is not an integer");
	assert_int_equal(i, -7);
	nth_ok(jread_i64(o, "big", &i, INT64_MIN, INT64_MAX, "f.json", NULL));
	assert_true(i == INT64_MAX);
	nth_ok(jread_f64(o, "x", &x, 0, 2, "f.json", &err));
	assert_true(x == 1.5);
	nth_ok(jread_f64(o, "i", &x, -10, 2, "f.json", &err));
	assert_true(x == -7);
	assert_int_equal(jread_f64(o, "x", &x, 2, 3, "f.json", &err), INFER_EFORMAT);
	assert_int_equal(jread_f64(o, "t", &x, 2, 3, "f.json", &err), INFER_EFORMAT);
	assert_true(x == -7);
	nth_ok(jread_str(o, "s", &s, &len, "f.json", &err));
	assert_int_equal(len, 3);
	assert_memory_equal(s, "a\0b", 3);
	assert_int_equal(jread_str(o, "s", &s, NULL, "f.json", &err), INFER_EFORMAT);
	nth_ok(jread_str(o, "t", &s, NULL, "f.json", &err));
	assert_string_equal(s, "plain");
	assert_int_equal(jread_str(o, "a", &s, &len, "f.json", &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: a is not a string");
out:
	json_decref(o);
	return rc;
}

static int reads(const char *text, size_t n, infer_error *err)
{
	json_t *o = (json_t *)text;   /* not NULL */
	int rc = jread(&o, text, n, "f.json", err);

	assert_true(rc ? !o : o != NULL);
	json_decref(o);
	return rc;
}

/* RFC 8259's values, nothing behind them, no key twice. */
static int case_values(void)
{
	static const char *const good[] = { "0", " \"x\" ", "null", "[]", "{}", "true", "-1.5e3", "\"\\ud83d\\ude00\"" };
	static const char *const bad[] = { "", " ", "[1,]", "{\"a\":1,}", "{a:1}", "1 2", "[] x", "'a'", "01", "+1", ".5",
		"1.", "\"\\x\"", "\"a", "[", "{\"a\"", "nul", "NaN", "Infinity", "\"\\ud800\"", "\"\t\"", "\"\xff\"",
		"\"\xed\xa0\x80\"", "{\"a\":1,\"b\":2,\"a\":1}", "1e999", "9223372036854775808", "/**/1", "\xef\xbb\xbf\x31" };
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		nth_ok(reads(good[i], strlen(good[i]), &err));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		nth_fails(reads(bad[i], strlen(bad[i]), &err), INFER_EFORMAT);
		assert_memory_equal(err.message, "f.json: line 1, column ", 23);
	}
	nth_fails(reads("1\0" "2", 3, &err), INFER_EFORMAT);
	nth_fails(reads("{\n\"a\": 1,\n  x}", 14, &err), INFER_EFORMAT);
	assert_memory_equal(err.message, "f.json: line 3, column 3: ", 26);
out:
	return rc;
}

/* 256 levels, no more, of any kind; brackets inside strings do not count. */
static int case_depth(void)
{
	char text[1200];
	infer_error err;
	int rc;

	memset(text, '[', 256);
	memset(text + 256, ']', 256);
	nth_ok(reads(text, 512, &err));
	memset(text, '[', 257);
	memset(text + 257, ']', 257);
	nth_fails(reads(text, 514, &err), INFER_EFORMAT);
	assert_string_equal(err.message, "f.json: nested deeper than 256 at byte 256");
	memset(text, '[', sizeof text);
	text[0] = '"';
	memcpy(text + 10, "\\\"", 2);
	text[1199] = '"';
	nth_ok(reads(text, 1200, &err));
	memset(text, ']', 1000);
	nth_fails(reads(text, 1000, &err), INFER_EFORMAT);
	nth_fails(reads("\"\\", 2, &err), INFER_EFORMAT);
out:
	return rc;
}

static int countdown;
static int64_t live;

static void *failing_alloc(size_t n)
{
	void *p = countdown-- ? malloc(n) : NULL;

	live += !!p;
	return p;
}

static void counting_free(void *p)
{
	live -= !!p;
	free(p);
}

/* jansson runs out of memory at every place: never a value, nothing left; mostly we can tell that it was memory. */
static void test_memory(void **state)
{
	static const char text[] = "{\"x\": 1.5, \"s\": \"a\", \"a\": [1, {\"k\": \"b\"}], \"t\": true}";
	int rc = -1, told = 0, n;
	infer_error err;

	(void)state;
	json_set_alloc_funcs(failing_alloc, counting_free);
	for (n = 0; rc && n < 1000; n++) {
		countdown = n;
		rc = reads(text, sizeof text - 1, &err);
		assert_int_equal(live, 0);
		assert_true(rc == INFER_OK || rc == INFER_ENOMEM || rc == INFER_EFORMAT);
		told += rc == INFER_ENOMEM;
	}
	json_set_alloc_funcs(nth_json_alloc, nth_json_free);
	assert_int_equal(rc, INFER_OK);
	assert_true(n > 10 && told > n / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_fields), nth_case(case_values), nth_case(case_depth), cmocka_unit_test(test_memory),
	};
	return nth_group(tests);
}
