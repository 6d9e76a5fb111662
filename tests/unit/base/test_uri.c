/* tests/unit/base/test_uri.c - the examples of RFC 3986, 5.4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/uri.h"

static const char *const examples[][2] = {
	{ "g:h", "g:h" },
	{ "g", "http://a/b/c/g" },
	{ "./g", "http://a/b/c/g" },
	{ "g/", "http://a/b/c/g/" },
	{ "/g", "http://a/g" },
	{ "//g", "http://g" },
	{ "?y", "http://a/b/c/d;p?y" },
	{ "g?y", "http://a/b/c/g?y" },
	{ "#s", "http://a/b/c/d;p?q" },
	{ "g#s", "http://a/b/c/g" },
	{ ";x", "http://a/b/c/;x" },
	{ "", "http://a/b/c/d;p?q" },
	{ ".", "http://a/b/c/" },
	{ "..", "http://a/b/" },
	{ "../g", "http://a/b/g" },
	{ "../../g", "http://a/g" },
	{ "../../../g", "http://a/g" },
	{ "/./g", "http://a/g" },
	{ "/../g", "http://a/g" },
	{ "g.", "http://a/b/c/g." },
	{ "..g", "http://a/b/c/..g" },
	{ "./g/.", "http://a/b/c/g/" },
	{ "g/../h", "http://a/b/c/h" },
	{ "g;x=1/../y", "http://a/b/c/y" },
};

static void test_examples(void **state)
{
	static const char base[] = "http://a/b/c/d;p?q";
	char to[100], path[100];

	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		const char *ref = examples[i][0];

		to[uri_resolve(to, path, base, strlen(base), ref, strlen(ref))] = 0;
		assert_string_equal(to, examples[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_examples) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
