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
	return allowed & ROUTE_DELETE    ? "GET, HEAD, DELETE, OPTIONS"
	       : !(allowed & ROUTE_POST) ? "GET, HEAD, OPTIONS"
	       : !(allowed & ROUTE_GET)  ? "POST, OPTIONS"
	                                 : "GET, HEAD, POST, OPTIONS";
}

int route_is_anthropic(const char *path)
{
	static const char messages[] = "/v1/messages";
	size_t n = sizeof messages - 1;

	return !strncmp(path, messages, n) && (!path[n] || path[n] == '/');
}
