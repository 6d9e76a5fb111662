/* schema/fail.c - messages that begin with the JSON pointer of a keyword. */
#include "schema/compile.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append_escaped(char *to, size_t cap, const char *s, size_t n)
{
	size_t at = strlen(to);

	for (size_t i = 0; i < n; i++) {
		const char *two = s[i] == '~' ? "~0" : s[i] == '/' ? "~1" : NULL;

		if (at + 3 >= cap)
			break;
		if (two)
			to[at++] = two[0];
		to[at++] = two ? two[1] : (unsigned char)s[i] < 32 ? '?' : s[i];
	}
	to[at] = 0;
}

/* Append the JSON pointer of v relative to `at`, found by search. Returns 0 if v is not below
 * `at`. */
static int append_pointer(const struct json *at, const struct json *v, char *to, size_t cap,
                          int depth)
{
	const size_t n = strlen(to);
	uint32_t i = 0;

	if (at == v)
		return 1;
	if (depth > 1000)
		return 0;
	json_each(m, at) {
		char number[16];

		if (n + 2 < cap)
			strcpy(to + n, "/");
		snprintf(number, sizeof number, "%u", i++);
		if (m->key)
			append_escaped(to, cap, m->key, m->key_n);
		else
			append_escaped(to, cap, number, strlen(number));
		if (append_pointer(m, v, to, cap, depth + 1))
			return 1;
		to[n] = 0;
	}
	return 0;
}

/* Write the JSON pointer of v, after the URI if v is in a metaschema. */
static void write_location(const struct schema *c, const struct json *v, char *to, size_t cap)
{
	strcpy(to, "#");
	if (append_pointer(c->root, v, to, cap, 0))
		return;
	for (uint32_t r = 0; r < c->n_resources; r++) {
		snprintf(to, cap, "%.*s#", (int)c->resource[r].n, c->resource[r].uri);
		if (append_pointer(c->resource[r].root, v, to, cap, 0))
			return;
	}
	strcpy(to, "#");
}

int schema_fail(struct schema *c, int code, const struct json *v, const char *fmt, ...)
{
	char where[120], why[120];
	va_list ap;

	write_location(c, v, where, sizeof where);
	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return err_set(c->w.err, code, "%s: %s", where, why);
}

int schema_none(const struct json *schema, infer_error *err)
{
	char names[100] = "";
	int n = 0;

	json_each(m, schema) {
		const struct keyword_row *row = m->key ? keyword_find(m) : NULL;
		const size_t at = strlen(names);

		if (row && keyword_constrains(row) && ++n)
			snprintf(names + at, sizeof names - at, n > 1 ? ", %s" : "%s", row->name);
	}
	if (n < 2)
		return err_set(err, INFER_EEMPTY, "#%s%s: no text satisfies it", n ? "/" : "",
		               names);
	return err_set(err, INFER_EEMPTY, "#: no text satisfies all of %s", names);
}

/* Append the JSON pointer of v to a list, once. A list has at most about `most` bytes, because each
 * pointer takes a search of the document. */
static void list_location(const struct schema *c, const struct json *v, struct buf *b, size_t most)
{
	char where[120];

	if (!b || b->len > most)
		return;
	write_location(c, v, where, sizeof where);
	/* a keyword may be ignored in several branches */
	for (size_t at = 0; at < b->len; at += strlen(b->at + at) + 1)
		if (!strcmp(b->at + at, where))
			return;
	buf_put(b, where, strlen(where) + 1);
}

void schema_ignore(struct schema *c, const struct json *v)
{
	list_location(c, v, c->opts.ignored, 4096);
}

void schema_note(struct schema *c, const struct json *v)
{
	list_location(c, v, c->opts.annotations, 1024);
}
