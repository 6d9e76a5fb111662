/* base/json.h - JSON values in an arena: read by base/jread.h, built here, written by
 * base/jwrite.h.  Confined.  A value is immutable once it is shared; until then, the code that
 * builds it may change it.  Every function that takes a value accepts NULL, which means no value:
 * it has no kind, no members, no elements and no bytes. */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_INT,  /* a whole number of 64 bits, signed */
	JSON_UINT, /* a whole number above INT64_MAX, up to UINT64_MAX */
	JSON_REAL, /* any other number: the nearest double, always finite */
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json {
	uint8_t kind;   /* enum json_kind */
	uint32_t n;     /* bytes of a string, elements of an array, members of an object */
	uint32_t key_n; /* bytes of key */
	uint32_t at;    /* offset in the text that was read; 0 for a value that was built */
	/* UTF-8, the key of an object member, otherwise NULL.  Not NUL-terminated */
	const char *key;
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *s;      /* UTF-8, n bytes, may contain NUL; not NUL-terminated */
		struct json *first; /* first child of an array or object */
	};
	struct json *next; /* next child of the same array or object */
	struct json *last; /* last child of an array or object */
};

/* Iterate: json_each(v, parent) ... is a for statement over the elements or members. */
#define json_each(v, parent) for (const struct json *v = json_first(parent); v; v = v->next)

static inline int json_is(const struct json *v, enum json_kind kind)
{
	return v && v->kind == kind;
}
static inline int json_is_null(const struct json *v) { return json_is(v, JSON_NULL); }
static inline int json_is_bool(const struct json *v)
{
	return v && (v->kind == JSON_FALSE || v->kind == JSON_TRUE);
}
static inline int json_is_whole(const struct json *v)
{
	return v && (v->kind == JSON_INT || v->kind == JSON_UINT);
}
static inline int json_is_number(const struct json *v)
{
	return v && v->kind >= JSON_INT && v->kind <= JSON_REAL;
}
static inline int json_is_string(const struct json *v) { return json_is(v, JSON_STRING); }
static inline int json_is_array(const struct json *v) { return json_is(v, JSON_ARRAY); }
static inline int json_is_object(const struct json *v) { return json_is(v, JSON_OBJECT); }
static inline struct json *json_first(const struct json *v)
{
	return v && v->kind >= JSON_ARRAY ? v->first : NULL;
}
/* elements of an array or members of an object, else 0 */
static inline size_t json_count(const struct json *v)
{
	return v && v->kind >= JSON_ARRAY ? v->n : 0;
}
/* bytes of a string, else 0 */
static inline size_t json_bytes(const struct json *v) { return json_is_string(v) ? v->n : 0; }
/* the bytes of a string, else "" */
static inline const char *json_str(const struct json *v) { return json_is_string(v) ? v->s : ""; }

/* Return the member `key`, or NULL; O(members).  o: any value */
struct json *json_get(const struct json *o, const char *key);
struct json *json_getn(const struct json *o, const char *key, size_t n);
/* Return element i, from 0, or NULL; O(i).  a: any value */
struct json *json_at(const struct json *a, size_t i);
/* True if v is a string of these bytes. */
int json_equals(const struct json *v, const char *s);
/* The double nearest to a number; 0 if v is not a number. */
double json_double(const struct json *v);
/* Return a NUL-terminated copy of the string v in a; NULL: v is not a string, contains a NUL, or
 * allocation failed (a->bad). */
const char *json_cstr(struct arena *a, const struct json *v);

/* Building values.  If allocation fails, each function returns NULL and sets a->bad; a NULL
 * argument counts as an earlier failure.  So a tree can be built without a test at every step,
 * followed by one test of a->bad. */
/* Create the empty value of a kind: [], {}, "", null, false, true or 0. */
struct json *json_new(struct arena *a, enum json_kind kind);
/* Copy a string; s may be NULL if n is 0. */
struct json *json_new_str(struct arena *a, const char *s);
struct json *json_new_strn(struct arena *a, const char *s, size_t n);
struct json *json_new_int(struct arena *a, int64_t i);
/* Return a copy of v without sibling and key, to insert elsewhere; its children are shared. */
struct json *json_share(struct arena *a, const struct json *v);
/* Return a deep copy of v; only the bytes of strings are shared with v.  No recursion. */
struct json *json_copy(struct arena *a, const struct json *v);
/* Insert v, which has no sibling yet, as the last element, or before the element at index `at` (at
 * <= count). */
void json_append(struct json *array, struct json *v);
void json_insert(struct json *array, size_t at, struct json *v);
/* Set the member `key` of o to v, replacing an existing member, or else appending it.  key:
 * borrowed for the lifetime of o. */
void json_set(struct json *o, const char *key, struct json *v);
#endif
