/* base/json.c - building and querying JSON values. */
#include "base/json.h"

#include <string.h>

struct json *json_getn(const struct json *o, const char *key, size_t n)
{
	if (!json_is_object(o))
		return NULL;
	for (struct json *v = o->first; v; v = v->next)
		if (v->key_n == n && (!n || !memcmp(v->key, key, n)))
			return v;
	return NULL;
}

struct json *json_get(const struct json *o, const char *key)
{
	return json_getn(o, key, strlen(key));
}

struct json *json_at(const struct json *a, size_t i)
{
	struct json *v = json_first(a);

	while (v && i--)
		v = v->next;
	return v;
}

int json_equals(const struct json *v, const char *s)
{
	return json_is_string(v) && strlen(s) == v->n && !memcmp(v->s, s, v->n);
}

double json_double(const struct json *v)
{
	return json_is(v, JSON_INT)    ? (double)v->i
	       : json_is(v, JSON_UINT) ? (double)v->u
	       : json_is(v, JSON_REAL) ? v->d
	                               : 0;
}

const char *json_cstr(struct arena *a, const struct json *v)
{
	return json_is_string(v) && !memchr(v->s, 0, v->n) ? arena_strndup(a, v->s, v->n) : NULL;
}

struct json *json_new(struct arena *a, enum json_kind kind)
{
	struct json *v = arena_alloc(a, 1, sizeof *v);

	if (v) {
		v->kind = (uint8_t)kind;
		if (kind == JSON_STRING)
			v->s = "";
	}
	return v;
}

struct json *json_new_strn(struct arena *a, const char *s, size_t n)
{
	struct json *v = json_new(a, JSON_STRING);

	if (v && n) {
		if (n > UINT32_MAX) {
			a->bad = 1;
			return NULL;
		}
		v->s = arena_strndup(a, s, n);
		v->n = (uint32_t)n;
	}
	return v && v->s ? v : NULL;
}

struct json *json_new_str(struct arena *a, const char *s) { return json_new_strn(a, s, strlen(s)); }

struct json *json_new_int(struct arena *a, int64_t i)
{
	struct json *v = json_new(a, JSON_INT);

	if (v)
		v->i = i;
	return v;
}

struct json *json_share(struct arena *a, const struct json *v)
{
	struct json *to = v ? arena_alloc(a, 1, sizeof *to) : NULL;

	if (to) {
		*to = *v;
		to->key = NULL;
		to->key_n = 0;
		to->next = NULL;
	}
	return to;
}

/* A copied array or object shares its children with the original until they are copied too; until
 * then its `last` links it to the next such copy. */
struct json *json_copy(struct arena *a, const struct json *v)
{
	struct json *top = json_share(a, v), *todo = NULL;

	if (top && top->kind >= JSON_ARRAY) {
		top->last = NULL;
		todo = top;
	}
	while (todo) {
		struct json *to = todo;
		const struct json *from = to->first;

		todo = to->last;
		to->first = to->last = NULL;
		for (; from; from = from->next) {
			struct json *c = arena_alloc(a, 1, sizeof *c);

			if (!c)
				return NULL;
			*c = *from;
			c->next = NULL;
			*(to->last ? &to->last->next : &to->first) = c;
			to->last = c;
			if (c->kind >= JSON_ARRAY) {
				c->last = todo;
				todo = c;
			}
		}
	}
	return top;
}

void json_append(struct json *array, struct json *v)
{
	if (!array || !v)
		return;
	*(array->last ? &array->last->next : &array->first) = v;
	array->last = v;
	array->n++;
}

void json_insert(struct json *array, size_t at, struct json *v)
{
	struct json **p;

	if (!array || !v)
		return;
	for (p = &array->first; *p && at--; p = &(*p)->next)
		;
	v->next = *p;
	*p = v;
	if (!v->next)
		array->last = v;
	array->n++;
}

void json_set(struct json *o, const char *key, struct json *v)
{
	struct json *before = NULL, *old = json_first(o);
	size_t n = strlen(key);

	if (!o || !v)
		return;
	v->key = key;
	v->key_n = (uint32_t)n;
	for (; old && (old->key_n != n || memcmp(old->key, key, n)); old = old->next)
		before = old;
	if (!old) {
		json_append(o, v);
		return;
	}
	v->next = old->next;
	*(before ? &before->next : &o->first) = v;
	if (o->last == old)
		o->last = v;
	old->next = NULL;
}
