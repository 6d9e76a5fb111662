/* tests/unit/json.h - JSON that a test knows to be valid.  Reading it does not fail: allocations
 * that were meant to fail succeed here. */
#ifndef TESTS_JSON_H
#define TESTS_JSON_H
#include "base/jread.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* text, which is copied, as a value; lives as long as a. */
__attribute__((unused)) static const struct json *json_need(struct arena *a, const char *text)
{
	size_t n = strlen(text);
	const struct json *v;
	const char *own;
	infer_error err;

	mem_fail_at(0);
	own = arena_strndup(a, text, n);
	if (!own || jread(&v, a, own, n, "JSON", &err))
		fail_msg("%s", own ? err.message : "no memory");
	return v;
}

__attribute__((unused)) static const struct json *json_need_file(struct arena *a, const char *path)
{
	FILE *f = fopen(path, "r");
	const struct json *v;
	char *text = NULL;
	size_t cap = 0;

	if (!f || getdelim(&text, &cap, 0, f) < 0)
		fail_msg("%s: cannot be read", path);
	fclose(f);
	v = json_need(a, text);
	free(text);
	return v;
}

/* A whole number, or 0. */
__attribute__((unused)) static int64_t json_int(const struct json *v)
{
	return json_is(v, JSON_INT) ? v->i : 0;
}

/* v is the string `want`, which may not be NULL. */
#define assert_json_string(v, want) assert_json_string_at(v, want, __FILE__, __LINE__)
__attribute__((unused)) static void assert_json_string_at(const struct json *v, const char *want,
                                                          const char *file, int line)
{
	if (json_equals(v, want))
		return;
	print_error("%s is '%.*s', not '%s'\n",
	            json_is_string(v) ? "the string" : "what is no string", (int)json_bytes(v),
	            json_str(v), want);
	_fail(file, line);
}
#endif
