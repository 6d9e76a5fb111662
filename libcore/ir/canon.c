/* ir/canon.c - the canonical form of a JSON text: equal values have equal bytes. */
#include "ir/match_differ.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 512 };

struct reader {
	const char *at, *end;
	struct slab_buf *out;
	int depth;
};

/* a member in the buffer: offset, length, length of the name */
struct member {
	size_t at, n, name;
	const char *bytes;
};

static void skip_json_space(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

/* Copy a string after its opening quote, up to and with the closing one. */
static void copy_string(struct reader *r)
{
	struct decoder d = { 0 };

	while (r->at < r->end) {
		char bytes[4];
		uint32_t cp;
		const enum decoded got = decode_json(&d, (uint8_t)*r->at++, &cp);

		if (got == DECODE_QUOTE) {
			slab_buf_putc(r->out, '"');
			return;
		}
		if (got != DECODE_CHAR)
			continue;
		if (cp == '"' || cp == '\\')
			slab_buf_putc(r->out, '\\');
		slab_buf_put(r->out, bytes, (size_t)utf8_put(bytes, cp));
	}
}

/* Copy a literal, or a number without trailing zeros of its fraction. */
static void copy_number(struct reader *r)
{
	const char *from = r->at, *point, *end;

	while (r->at < r->end && !memchr(" \t\r\n,]}", *r->at, 7))
		r->at++;
	end = r->at;
	point = memchr(from, '.', (size_t)(end - from));
	while (point && end[-1] == '0')
		end--;
	if (point == end - 1)
		end = point;
	if (end - from == 2 && !memcmp(from, "-0", 2))
		from++;
	slab_buf_put(r->out, from, (size_t)(end - from));
}

static int copy_value(struct reader *r);

static int copy_array(struct reader *r)
{
	slab_buf_putc(r->out, '[');
	for (skip_json_space(r); r->at < r->end && *r->at != ']'; skip_json_space(r)) {
		TRY(copy_value(r));
		slab_buf_putc(r->out, ',');
		skip_json_space(r);
		r->at += r->at < r->end && *r->at == ',';
	}
	r->at++;
	slab_buf_putc(r->out, ']');
	return INFER_OK;
}

static int compare_names(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	const int cmp = memcmp(a->bytes, b->bytes, a->name < b->name ? a->name : b->name);

	return cmp ? cmp : (a->name > b->name) - (a->name < b->name);
}

/* Sort the members p[0 .. n), whose bytes begin at `from`. */
static int sort_members(struct reader *r, struct member *p, size_t n, size_t from)
{
	const size_t len = r->out->len - from;
	char *copy = slab_alloc(r->out->slab, len + 1, 1);

	if (!copy)
		return INFER_ENOMEM;
	if (len)
		memcpy(copy, r->out->at + from, len);
	for (size_t i = 0; i < n; i++)
		p[i].bytes = copy + (p[i].at - from);
	qsort(p, n, sizeof *p, compare_names);
	r->out->len = from;
	for (size_t i = 0; i < n; i++)
		slab_buf_put(r->out, p[i].bytes, p[i].n);
	slab_free(r->out->slab, copy);
	return INFER_OK;
}

static int copy_members(struct reader *r, struct member **p, size_t *n)
{
	size_t cap = 0;

	for (skip_json_space(r); r->at < r->end && *r->at != '}'; skip_json_space(r)) {
		struct member *x;

		if (*n == cap) {
			cap = cap * 2 + 8;
			x = slab_realloc(r->out->slab, *p, cap, sizeof *x);
			if (!x)
				return INFER_ENOMEM;
			*p = x;
		}
		x = *p + *n;
		*x = (struct member){ .at = r->out->len };
		r->at++;
		slab_buf_putc(r->out, '"');
		copy_string(r);
		x->name = r->out->len - x->at;
		slab_buf_putc(r->out, ':');
		skip_json_space(r);
		r->at++; /* the colon */
		TRY(copy_value(r));
		slab_buf_putc(r->out, ',');
		x = *p + (*n)++;
		x->n = r->out->len - x->at;
		skip_json_space(r);
		r->at += r->at < r->end && *r->at == ',';
	}
	r->at++;
	return INFER_OK;
}

static int copy_object(struct reader *r)
{
	struct member *p = NULL;
	size_t n = 0, from;
	int rc;

	slab_buf_putc(r->out, '{');
	from = r->out->len;
	rc = copy_members(r, &p, &n);
	if (!rc && !r->out->bad && n)
		rc = sort_members(r, p, n, from);
	slab_free(r->out->slab, p);
	slab_buf_putc(r->out, '}');
	return rc;
}

static int copy_value(struct reader *r)
{
	int rc = INFER_OK;

	if (++r->depth > MOST_DEEP)
		return INFER_EUNSUP;
	skip_json_space(r);
	if (r->at < r->end && *r->at == '"') {
		r->at++;
		slab_buf_putc(r->out, '"');
		copy_string(r);
	} else if (r->at < r->end && *r->at == '[') {
		r->at++;
		rc = copy_array(r);
	} else if (r->at < r->end && *r->at == '{') {
		r->at++;
		rc = copy_object(r);
	} else {
		copy_number(r);
	}
	r->depth--;
	return rc;
}

int canonical_json(struct slab_buf *out, const char *text, uint32_t n)
{
	struct reader r = { text, text + n, out, 0 };

	return copy_value(&r);
}

void canonical_string_prefix(struct slab_buf *out, const char *text, uint32_t n)
{
	struct reader r = { text, text + n, out, 0 };

	skip_json_space(&r);
	r.at += r.at < r.end;
	slab_buf_putc(out, '"');
	copy_string(&r);
}
