/* tests/unit/base/test_jwrite.c - written JSON, byte by byte. */
#include "../left_out.h"
#include "../nth.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int case_all(void)
{
	struct buf b;
	struct jwrite w;
	int rc = INFER_OK;

	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	jw_object(&w, NULL);
	jw_int(&w, "i", INT64_MIN);
	jw_uint(&w, "u", UINT64_MAX);
	jw_array(&w, "a");
	jw_num(&w, NULL, -0.25);
	jw_num(&w, NULL, 1.0 / 3);
	jw_num(&w, NULL, 1e300);
	jw_num(&w, NULL, NAN);
	jw_num(&w, NULL, -INFINITY);
	jw_object(&w, NULL);
	jw_end(&w);
	jw_array(&w, NULL);
	jw_end(&w);
	jw_end(&w);
	jw_bool(&w, "yes", 2);
	jw_bool(&w, "no", 0);
	jw_null(&w, "nil");
	jw_str(&w, "none", NULL);
	jw_raw(&w, "raw", "[1, 2]", 6);
	jw_object(&w, "o\n");
	jw_str(&w, "s", "");
	jw_end(&w);
	jw_end(&w);
	jw_line(&w);
	jw_str(&w, NULL, "second");
	jw_line(&w);
	nth_need(!b.bad);
	assert_string_equal(b.at, "{\"i\":-9223372036854775808,\"u\":18446744073709551615,\"a\":[-"
	                          "0.25,0.333333333,1e+300,null,null,{},[]],"
	                          "\"yes\":true,\"no\":false,\"nil\":null,\"none\":null,\"raw\":[1,"
	                          " 2],\"o\\n\":{\"s\":\"\"}}\n\"second\"\n");
out:
	buf_fini(&b);
	return rc;
}

/* RFC 8259, 7: what must be escaped is, what need not be is not; and the same bytes are read
 * back. */
static int case_strings(void)
{
	static const struct {
		const char *in;
		size_t n;
		const char *out;
	} rows[] = {
		{ "a\"b\\c/", 6, "\"a\\\"b\\\\c/\"" },
		{ "\b\f\n\r\t\0\x1f\x7f", 8, "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "x\xff\xe2\x82y\xed\xa0\x80", 8,
		  "\"x\xef\xbf\xbd\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xf0\x9f\x98", 3, "\"\xef\xbf\xbd\"" },
	};
	struct buf b;
	struct jwrite w;
	const struct json *o;
	struct arena a;
	int rc = INFER_OK;

	arena_init(&a, MEM_BASE);
	buf_init(&b, MEM_BASE);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		buf_clear(&b);
		jw_init(&w, &b);
		jw_strn(&w, NULL, rows[r].in, rows[r].n);
		nth_need(!b.bad);
		assert_string_equal(b.at, rows[r].out);
		nth_ok(jread(&o, &a, b.at, b.len, "x", NULL));
		if (r < 3) {
			assert_int_equal(json_bytes(o), rows[r].n);
			assert_memory_equal(json_str(o), rows[r].in, rows[r].n);
		}
	}
out:
	arena_fini(&a);
	buf_fini(&b);
	return rc;
}

/* RFC 4648, 10 */
static int case_base64(void)
{
	static const char *const want[] = { "\"\"",        "\"Zg==\"",     "\"Zm8=\"",
		                            "\"Zm9v\"",    "\"Zm9vYg==\"", "\"Zm9vYmE=\"",
		                            "\"Zm9vYmFy\"" };
	struct buf b;
	struct jwrite w;
	int rc = INFER_OK;

	buf_init(&b, MEM_BASE);
	for (size_t n = 0; n < 7; n++) {
		buf_clear(&b);
		jw_init(&w, &b);
		jw_base64(&w, NULL, "foobar", n);
		nth_need(!b.bad);
		assert_string_equal(b.at, want[n]);
	}
	buf_clear(&b);
	jw_init(&w, &b);
	jw_base64(&w, NULL, "\xfb\xef\xff", 3);
	nth_need(!b.bad);
	assert_string_equal(b.at, "\"++//\"");
out:
	buf_fini(&b);
	return rc;
}

/* 63 levels of mixed kinds come out closed by the right brackets. */
static void test_deep(void **state)
{
	struct buf b;
	struct jwrite w;
	const struct json *o;
	struct arena a;

	(void)state;
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	for (int i = 0; i < 63; i++)
		(i % 3 ? jw_array : jw_object)(&w, i && (i - 1) % 3 == 0 ? "k" : NULL);
	for (int i = 62; i >= 0; i--) {
		jw_int(&w, i % 3 ? NULL : "n", i);
		jw_end(&w);
	}
	arena_init(&a, MEM_BASE);
	assert_int_equal(jread(&o, &a, b.at, b.len, "x", NULL), 0);
	arena_fini(&a);
	buf_fini(&b);
}

/* A comma for a decimal point in the caller's locale stays out of our numbers. */
static void test_locale(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
	struct buf b;
	struct jwrite w;
	size_t i;

	(void)state;
	for (i = 0; i < 4 && !setlocale(LC_NUMERIC, names[i]); i++)
		;
	if (i == 4)
		left_out("needs a locale with a decimal comma (package locales-all)");
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	jw_num(&w, NULL, -1.5e-30);
	setlocale(LC_NUMERIC, "C");
	assert_string_equal(b.at, "-1.5e-30");
	buf_fini(&b);
}

static void misuse(int how)
{
	struct buf b;
	struct jwrite w;

	close(2);
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	if (how == 0)
		jw_end(&w);
	if (how == 1)
		jw_int(&w, "key", 1);
	jw_object(&w, NULL);
	if (how == 2)
		jw_int(&w, NULL, 1);
	if (how == 3)
		jw_line(&w);
	if (how == 4)
		for (int i = 0; i < 63; i++)
			jw_object(&w, "k");
	buf_fini(&b);
	_exit(0);
}

static void test_misuse(void **state)
{
	int status;

	(void)state;
	for (int how = 0; how < 5; how++) {
		pid_t pid = fork();

		if (!pid)
			misuse(how);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_all),
		nth_case(case_strings),
		nth_case(case_base64),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_misuse),
	};
	return nth_group(tests);
}
