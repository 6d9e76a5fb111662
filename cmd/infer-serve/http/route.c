/* infer-serve/http/route.c - find the endpoint that a request names. */
#include "infer-serve/http/route.h"

#include <stddef.h>
#include <string.h>

/* Compare a path with the pattern of an endpoint.  *rest: what the star stands for. */
static int match_path(const char *pattern, const char *path, const char **rest)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] != '*')
		return !strcmp(pattern, path);
	if (strncmp(pattern, path, n - 1) || !path[n - 1])
		return 0;
	*rest = path + n - 1;
	return 1;
}

const struct endpoint *route_find(const struct route_table *t, const char *path, unsigned method,
                                  unsigned *allowed, const char **rest)
{
	const struct endpoint *found = NULL;
	unsigned asked = method & ROUTE_HEAD ? ROUTE_GET : method;

	*allowed = 0;
	*rest = NULL;
	for (int i = 0; i < t->n; i++) {
		const struct endpoint *e = &t->rows[i];

		if (!match_path(e->path, path, rest))
			continue;
		*allowed |= e->method | ROUTE_OPTIONS | (e->method & ROUTE_GET ? ROUTE_HEAD : 0);
		found = e->method & asked ? e : found;
	}
	return found;
}

static const struct {
	const char *name;
	unsigned method;
} methods[] = {
	{ "GET", ROUTE_GET },         { "HEAD", ROUTE_HEAD },     { "POST", ROUTE_POST },
	{ "OPTIONS", ROUTE_OPTIONS }, { "DELETE", ROUTE_DELETE },
};

unsigned route_method(const char *name)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (!strcmp(methods[i].name, name))
			return methods[i].method;
	return 0;
}

const char *route_allow(unsigned allowed)
{
	/* by GET, POST and DELETE; HEAD goes with GET, OPTIONS with all */
	static const char *const words[2][2][2] = {
		{ { "OPTIONS", "DELETE, OPTIONS" }, { "POST, OPTIONS", "POST, DELETE, OPTIONS" } },
		{ { "GET, HEAD, OPTIONS", "GET, HEAD, DELETE, OPTIONS" },
		  { "GET, HEAD, POST, OPTIONS", "GET, HEAD, POST, DELETE, OPTIONS" } },
	};

	return words[!!(allowed & ROUTE_GET)][!!(allowed & ROUTE_POST)][!!(allowed & ROUTE_DELETE)];
}

/* True if the path is `top` or below it. */
static int is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !strncmp(path, top, n) && (!path[n] || path[n] == '/');
}

enum api_style route_style(const char *path)
{
	return is_below(path, "/v1/messages") ? STYLE_ANTHROPIC
	       : is_below(path, "/api")       ? STYLE_OLLAMA
	                                      : STYLE_OPENAI;
}
