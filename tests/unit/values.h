/* tests/unit/values.h - JSON in tests: read from literals and lines, compared, written for
 * messages. */
#ifndef TESTS_VALUES_H
#define TESTS_VALUES_H
#include <string.h>
#include "base/jread.h"
#include "base/jwrite.h"

/* The value, in a, its strings borrowed from s; NULL: it is not JSON. */
__attribute__((unused)) static const struct json *value_n(struct arena *a, const char *s, size_t n)
{
	const struct json *v;

	return jread(&v, a, s, n, "test", NULL) ? NULL : v;
}

/* A literal with ' for ". */
__attribute__((unused)) static const struct json *value(struct arena *a, const char *s)
{
	char *t = arena_strndup(a, s, strlen(s));

	for (char *p = t; t && *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return t ? value_n(a, t, strlen(t)) : NULL;
}

/* v as JSON text, in a; NULL: no memory. */
__attribute__((unused)) static const char *written(struct arena *a, const struct json *v)
{
	struct jwrite w;
	struct buf b;
	char *s;

	buf_init(&b, MEM_TEXT);
	jw_init(&w, &b);
	if (v)
		jw_value(&w, NULL, v);
	s = b.bad ? NULL : arena_strndup(a, b.at ? b.at : "", b.len);
	buf_fini(&b);
	return s;
}

/* Members of objects may stand in any order. */
__attribute__((unused)) static int same_value(const struct json *a, const struct json *b)
{
	if (!a || !b || a->kind != b->kind || (a->kind >= JSON_STRING && a->n != b->n))
		return a == b;
	if (a->kind == JSON_STRING)
		return !memcmp(json_str(a), json_str(b), a->n);
	if (json_is_number(a))
		return a->i == b->i;
	const struct json *y = json_first(b);
	json_each(x, a) {
		if (!same_value(x, json_is_object(a) ? json_getn(b, x->key, x->key_n) : y))
			return 0;
		y = y->next;
	}
	return 1;
}

/* A NUL behind it; NULL: no string. */
__attribute__((unused)) static const char *text_of(struct arena *a, const struct json *v)
{
	return json_is_string(v) ? json_cstr(a, v) : NULL;
}
#endif
