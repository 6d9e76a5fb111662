/* tests/unit/infer-serve/test_route.c - paths, methods, and what the heads of requests say */
#include "../nth.h"
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/head.h"
#include "infer-serve/http/route.h"
#include <string.h>

static const struct row {
	const char *path;
	unsigned method, allowed;
	const char *found, *rest;
} rows[] = {
	{ "/health", ROUTE_GET, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, "/health", NULL },
	{ "/health", ROUTE_HEAD, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, "/health", NULL },
	{ "/health", ROUTE_POST, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, NULL, NULL },
	{ "/health", ROUTE_OPTIONS, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, NULL, NULL },
	{ "/health", 0, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, NULL, NULL },
	{ "/health/", ROUTE_GET, 0, NULL, NULL },
	{ "/healt", ROUTE_GET, 0, NULL, NULL },
	{ "", ROUTE_GET, 0, NULL, NULL },
	{ "/", ROUTE_GET, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, "/", NULL },
	{ "/v1", ROUTE_GET, 0, NULL, NULL },
	{ "/v1/models", ROUTE_GET, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, "/v1/models", NULL },
	{ "/v1/models/", ROUTE_GET, 0, NULL, NULL },
	{ "/v1/models/a/b", ROUTE_GET, ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS, "/v1/models/*",
	  "a/b" },
	{ "/tokenize", ROUTE_POST, ROUTE_POST | ROUTE_OPTIONS, "/tokenize", NULL },
	{ "/tokenize", ROUTE_HEAD, ROUTE_POST | ROUTE_OPTIONS, NULL, NULL },
};

static void test_find(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		unsigned allowed;
		const char *rest;
		const struct endpoint *e =
			route_find(&endpoint_table, r->path, r->method, &allowed, &rest);

		assert_int_equal(allowed, r->allowed);
		assert_int_equal(e != NULL, r->found != NULL);
		if (e)
			assert_string_equal(e->path, r->found);
		assert_int_equal(rest != NULL, r->rest != NULL);
		if (rest)
			assert_string_equal(rest, r->rest);
	}
}

static int is_public(const char *path)
{
	static const char *const all[] = { "/health",    "/v1/health", "/ping",     "/models",
		                           "/v1/models", "/",          "/page.css", "/page.js" };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(path, all[i]))
			return 1;
	return 0;
}

/* Every endpoint is found by its own path and has a function or the flag EP_OFF, and the endpoints
 * without a key are the known ones. */
static void test_table(void **state)
{
	const struct endpoint *e;
	unsigned allowed;
	const char *rest;

	(void)state;
	for (int i = 0; i < endpoint_table.n; i++) {
		e = &endpoint_table.rows[i];
		assert_string_equal(endpoint_path(i), e->path);
		if (!strchr(e->path, '*'))
			assert_ptr_equal(
				route_find(&endpoint_table, e->path, e->method, &allowed, &rest),
				e);
		assert_int_equal(!e->handle, !!(e->flags & EP_OFF));
		assert_int_equal(!!(e->flags & EP_PUBLIC), is_public(e->path));
	}
	assert_string_equal(endpoint_path(-1), "none");
	assert_string_equal(endpoint_path(endpoint_table.n), "none");
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(route_method("GET"), ROUTE_GET);
	assert_int_equal(route_method("get"), 0);
	assert_int_equal(route_method("PATCH"), 0);
	assert_string_equal(route_allow(ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS),
	                    "GET, HEAD, OPTIONS");
	assert_string_equal(route_allow(ROUTE_POST | ROUTE_OPTIONS), "POST, OPTIONS");
	assert_string_equal(route_allow(ROUTE_POST | ROUTE_GET | ROUTE_HEAD | ROUTE_OPTIONS),
	                    "GET, HEAD, POST, OPTIONS");
	assert_int_equal(route_style("/v1/messages"), STYLE_ANTHROPIC);
	assert_int_equal(route_style("/v1/messages/count_tokens"), STYLE_ANTHROPIC);
	assert_int_equal(route_style("/v1/messages2"), STYLE_OPENAI);
	assert_int_equal(route_style("/v1/message"), STYLE_OPENAI);
	assert_int_equal(route_style("/api/x"), STYLE_OLLAMA);
	assert_int_equal(route_style("/apis"), STYLE_OPENAI);
}

static void test_types(void **state)
{
	static const char *const json[] = {
		"application/json",     "Application/JSON",  "application/json;charset=utf-8",
		"application/json ; x", " application/json", "application/vnd.a+json",
		"a/b+JSON; q=1"
	};
	static const char *const other[] = { "",
		                             "text/plain",
		                             "application/x-www-form-urlencoded",
		                             "application/jsonx",
		                             "application/jso",
		                             "+json",
		                             "a+json",
		                             "json",
		                             "text/json" };

	(void)state;
	assert_true(head_is_json(NULL));
	for (size_t i = 0; i < sizeof json / sizeof *json; i++)
		assert_true(head_is_json(json[i]));
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		assert_false(head_is_json(other[i]));
}

static void test_ids(void **state)
{
	char id[130];

	(void)state;
	memset(id, 'a', sizeof id);
	id[128] = 0;
	assert_true(head_is_id(id));
	id[128] = 'a';
	id[129] = 0;
	assert_false(head_is_id(id));
	assert_true(head_is_id("req_1-2.3:4/Z"));
	assert_false(head_is_id(""));
	assert_false(head_is_id("a b"));
	assert_false(head_is_id("a\"b"));
	assert_false(head_is_id("a\xc3\xa4"));
}

static void test_parent(void **state)
{
	static const char one[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			  other[] = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-fe";
	char id[17];

	(void)state;
	assert_true(head_parent(id, one));
	assert_string_equal(id, "b7ad6b7169203331");
	assert_false(head_parent(id, other));
	assert_string_equal(id, "00f067aa0ba902b7");
}

static void test_seconds(void **state)
{
	static const char *const bad[] = { "",
		                           "0",
		                           "-1",
		                           ".5",
		                           "1e3",
		                           " 1",
		                           "a",
		                           "0.",
		                           "1s",
		                           "1.2.3",
		                           "123456789012345678",
		                           "1000001",
		                           "999999999999999" };
	double s;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(head_seconds(&s, bad[i]));
	assert_true(head_seconds(&s, NULL));
	assert_true(s == 0);
	assert_true(head_seconds(&s, "2.5"));
	assert_true(s == 2.5);
	assert_true(head_seconds(&s, "600"));
	assert_true(s == 600);
	assert_true(head_seconds(&s, "1000000"));
	assert_true(s == HEAD_SECONDS);
}

static void test_unescape(void **state)
{
	static const char *const texts[][2] = {
		{ "", "" },         { "/a%20b", "/a b" },     { "%41%4a%4A", "AJJ" },
		{ "%2500", "%00" }, { "file%00", "file%00" }, { "%00%00a%2f", "%00%00a/" },
		{ "a%", "a%" },     { "a%4", "a%4" },         { "a%4g%g4", "a%4g%g4" },
		{ "%%41", "%A" },   { "%ff", "\xff" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[32];

		strcpy(text, texts[i][0]);
		assert_int_equal(head_unescape(NULL, NULL, text), strlen(texts[i][1]));
		assert_string_equal(text, texts[i][1]);
	}
}

static void test_lengths(void **state)
{
	(void)state;
	assert_int_equal(head_length(NULL), -1);
	assert_int_equal(head_length(""), -1);
	assert_int_equal(head_length("-1"), -1);
	assert_int_equal(head_length("1 "), -1);
	assert_int_equal(head_length("0"), 0);
	assert_int_equal(head_length("00123"), 123);
	assert_true(head_length("9223372036854775799") >= INT64_MAX - 9);
	assert_int_equal(head_length("99999999999999999999999999"), INT64_MAX);
}

static void test_trace(void **state)
{
#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
	static const char *const bad[] = {
		"",
		"00-" TRACE "-00f067aa0ba902b7",
		"00-" TRACE "-00f067aa0ba902b7-0",
		"00-" TRACE "-00f067aa0ba902b7-01-more",
		"00-" TRACE "-00f067aa0ba902b7-01x",
		"ff-" TRACE "-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-" TRACE "-0000000000000000-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
	};
	char id[33];

	(void)state;
	assert_true(head_trace(id, "00-" TRACE "-00f067aa0ba902b7-01"));
	assert_string_equal(id, TRACE);
	assert_true(head_trace(id, "cc-" TRACE "-00f067aa0ba902b7-01-what-comes-later"));
	assert_false(head_trace(id, NULL));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(head_trace(id, bad[i]));
#undef TRACE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace),    cmocka_unit_test(test_find),
		cmocka_unit_test(test_table),    cmocka_unit_test(test_names),
		cmocka_unit_test(test_types),    cmocka_unit_test(test_ids),
		cmocka_unit_test(test_lengths),  cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_unescape), cmocka_unit_test(test_parent),
	};
	return nth_group(tests);
}
