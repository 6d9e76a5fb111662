/* tests/unit/infer-serve/test_origin.c - names of hosts, and origins of pages */
#include "../nth.h"
#include "infer-serve/http/origin.h"

static void test_hosts(void **state)
{
	static const struct {
		const char *host, *name;
		int is;
	} rows[] = {
		{ "localhost", "localhost", 1 },
		{ "LocalHost:8080", "localhost", 1 },
		{ "localhost:", "localhost", 1 },
		{ "localhost:80x", "localhost", 0 },
		{ "localhost:80:80", "localhost", 0 },
		{ "localhost.", "localhost", 0 },
		{ "localhost.evil.example", "localhost", 0 },
		{ "evil-localhost", "localhost", 0 },
		{ "local", "localhost", 0 },
		{ "", "localhost", 0 },
		{ ":80", "localhost", 0 },
		{ "", "", 0 },
		{ "user@localhost", "localhost", 0 },
		{ "[::1]", "[::1]", 1 },
		{ "[::1]:65535", "[::1]", 1 },
		{ "[::1]x", "[::1]", 0 },
		{ "[::1", "[::1]", 0 },
		{ "::1", "[::1]", 0 },
		{ "[::1].evil.example", "[::1]", 0 },
		{ "127.0.0.1:1", "127.0.0.1", 1 },
		{ "127.0.0.1.evil.example", "127.0.0.1", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!origin_host_is(rows[i].host, rows[i].name) != !rows[i].is)
			fail_msg("'%s' and '%s'", rows[i].host, rows[i].name);
}

static void test_own(void **state)
{
	static const struct {
		const char *origin, *host;
		int is;
	} rows[] = {
		{ "http://localhost:8080", "localhost:8080", 1 },
		{ "http://LOCALHOST:8080", "localhost:8080", 1 },
		{ "http://localhost:8080", "localhost:8081", 0 },
		{ "http://localhost:3000", "localhost", 0 },
		{ "http://localhost", "localhost:80", 1 },
		{ "http://localhost:80", "localhost", 1 },
		{ "https://infer.example", "infer.example:443", 1 },
		{ "https://infer.example", "infer.example", 1 },
		{ "https://infer.example", "infer.example:80", 0 },
		{ "http://infer.example", "infer.example:443", 0 },
		{ "https://infer.example:8443", "infer.example:8443", 1 },
		{ "https://infer.example.evil", "infer.example", 0 },
		{ "https://infer.exampl", "infer.example", 0 },
		{ "http://[::1]:8080", "[::1]:8080", 1 },
		{ "null", "localhost", 0 },
		{ "ftp://localhost", "localhost", 0 },
		{ "http://", "", 0 },
		{ "http", "localhost", 0 },
		{ "", "localhost", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!origin_is_own(rows[i].origin, rows[i].host) != !rows[i].is)
			fail_msg("'%s' and '%s'", rows[i].origin, rows[i].host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
