/* base/yaml.c - build a tree from libyaml's events, or refuse them. */
#include "base/yaml.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/map.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { FEW = 16 }; /* up to so many members of a map are compared pairwise */

struct reader {
	struct arena *a;
	const char *what, *text;
	size_t bytes;
	struct ytree *open[YTREE_DEPTH]; /* lists and maps that are not closed */
	struct ytree *key;               /* key of the innermost map whose value is the next node */
	struct ytree *root;
	int depth, ended;
	uint32_t nodes;
	infer_error *err;
};

static int fail_at(const char *what, size_t line, size_t column, infer_error *err,
                   const char *message)
{
	return err_set(err, INFER_EFORMAT, "%s: line %zu, column %zu: %s", what, line + 1,
	               column + 1, message);
}

static int fail_at_mark(const struct reader *r, yaml_mark_t at, const char *message)
{
	return fail_at(r->what, at.line, at.column, r->err, message);
}

int ytree_fail(const struct ytree *y, const char *what, infer_error *err, int code, const char *fmt,
               ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(err, code, "%s: line %d, column %d: %s", what, y->line, y->column, text);
}

/* Fail at the line and column of a byte. */
static int fail_byte(const char *what, const char *text, size_t at, infer_error *err,
                     const char *message)
{
	size_t line = 0, column = 0;

	for (size_t i = 0; i < at; i++) {
		unsigned char c = (unsigned char)text[i];

		line += c == '\n';
		column = c == '\n' ? 0 : column + ((c & 0xc0) != 0x80);
	}
	return fail_at(what, line, column, err, message);
}

/* ---- the tree ---- */

static struct ytree *new_node(struct reader *r, enum ytree_kind kind, yaml_mark_t at)
{
	struct ytree *y;

	if (++r->nodes > YTREE_NODES) {
		fail_at_mark(r, at, "too many nodes");
		return NULL;
	}
	y = arena_alloc(r->a, 1, sizeof *y);
	if (!y) {
		err_set(r->err, INFER_ENOMEM, "no memory for %s", r->what);
		return NULL;
	}
	y->kind = (uint8_t)kind;
	y->line = (int)at.line + 1;
	y->column = (int)at.column + 1;
	return y;
}

/* Add a node to the open list or map, or make it the root. */
static int attach_node(struct reader *r, struct ytree *y, yaml_mark_t at)
{
	struct ytree *in = r->depth ? r->open[r->depth - 1] : NULL;

	if (!in) {
		r->root = y;
		return INFER_OK;
	}
	if (in->kind == YTREE_MAP && !r->key) {
		if (y->kind != YTREE_SCALAR)
			return fail_at_mark(r, at, "a key is a list or a map");
		r->key = y;
		return INFER_OK;
	}
	y->key = r->key;
	r->key = NULL;
	if (in->last)
		in->last->next = y;
	else
		in->first = y;
	in->last = y;
	in->n++;
	return INFER_OK;
}

static int add_scalar(struct reader *r, const yaml_event_t *e)
{
	struct ytree *y = new_node(r, YTREE_SCALAR, e->start_mark);
	size_t n = e->data.scalar.length;

	if (!y)
		return r->err->code;
	if (memchr(e->data.scalar.value, 0, n))
		return fail_at_mark(r, e->start_mark, "a text has a zero byte");
	y->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	y->n = (uint32_t)n;
	y->at = arena_strndup(r->a, (const char *)e->data.scalar.value, n);
	if (!y->at)
		return err_set(r->err, INFER_ENOMEM, "no memory for %s", r->what);
	return attach_node(r, y, e->start_mark);
}

static int open_node(struct reader *r, enum ytree_kind kind, yaml_mark_t at)
{
	struct ytree *y;

	if (r->depth == YTREE_DEPTH)
		return fail_at_mark(r, at, "lists and maps are nested too deeply");
	y = new_node(r, kind, at);
	if (!y)
		return r->err->code;
	TRY(attach_node(r, y, at));
	r->open[r->depth++] = y;
	return INFER_OK;
}

static int refuse_duplicate(struct reader *r, const struct ytree *key)
{
	return ytree_fail(key, r->what, r->err, INFER_EFORMAT, "the key '%.60s' is there twice",
	                  key->at);
}

static int check_keys(struct reader *r, const struct ytree *map)
{
	struct map seen;
	int rc = INFER_OK;

	if (map->n <= FEW) {
		for (const struct ytree *y = map->first; y; y = y->next)
			for (const struct ytree *x = map->first; x != y; x = x->next)
				if (!strcmp(x->key->at, y->key->at))
					return refuse_duplicate(r, y->key);
		return INFER_OK;
	}
	if (map_init(&seen, MEM_BASE, map->n))
		return err_set(r->err, INFER_ENOMEM, "no memory for %s", r->what);
	for (const struct ytree *y = map->first; !rc && y; y = y->next) {
		rc = map_put(&seen, y->key->at, y->key->n, 0);
		if (rc == INFER_EINVAL)
			rc = refuse_duplicate(r, y->key);
		else if (rc)
			err_set(r->err, rc, "no memory for %s", r->what);
	}
	map_fini(&seen);
	return rc;
}

static int close_node(struct reader *r)
{
	const struct ytree *y = r->open[--r->depth];

	return y->kind == YTREE_MAP ? check_keys(r, y) : INFER_OK;
}

static int plain_node(const struct reader *r, yaml_mark_t at, const yaml_char_t *anchor,
                      const yaml_char_t *tag)
{
	if (anchor)
		return fail_at_mark(r, at, "anchors are not supported");
	return tag ? fail_at_mark(r, at, "tags are not supported") : INFER_OK;
}

static int handle_event(struct reader *r, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (r->ended++)
			return fail_at_mark(r, e->start_mark, "a second document");
		return e->data.document_start.tag_directives.start !=
		                       e->data.document_start.tag_directives.end
		               ? fail_at_mark(r, e->start_mark, "tags are not supported")
		               : INFER_OK;
	case YAML_ALIAS_EVENT:
		return fail_at_mark(r, e->start_mark, "aliases are not supported");
	case YAML_SCALAR_EVENT:
		TRY(plain_node(r, e->start_mark, e->data.scalar.anchor, e->data.scalar.tag));
		return add_scalar(r, e);
	case YAML_SEQUENCE_START_EVENT:
		TRY(plain_node(r, e->start_mark, e->data.sequence_start.anchor,
		               e->data.sequence_start.tag));
		return open_node(r, YTREE_LIST, e->start_mark);
	case YAML_MAPPING_START_EVENT:
		TRY(plain_node(r, e->start_mark, e->data.mapping_start.anchor,
		               e->data.mapping_start.tag));
		return open_node(r, YTREE_MAP, e->start_mark);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_node(r);
	default:
		return INFER_OK;
	}
}

static int set_parse_error(const struct reader *r, const yaml_parser_t *p)
{
	if (p->error == YAML_MEMORY_ERROR)
		return err_set(r->err, INFER_ENOMEM, "no memory for %s", r->what);
	if (p->error == YAML_READER_ERROR) /* this error has only an offset */
		return fail_byte(r->what, r->text,
		                 p->problem_offset < r->bytes ? p->problem_offset : r->bytes,
		                 r->err, p->problem ? p->problem : "cannot be read");
	return fail_at_mark(r, p->problem_mark, p->problem ? p->problem : "no YAML");
}

static int read_events(struct reader *r, yaml_parser_t *p)
{
	yaml_event_t e;

	for (;;) {
		if (!yaml_parser_parse(p, &e))
			return set_parse_error(r, p);
		int last = e.type == YAML_STREAM_END_EVENT, rc = handle_event(r, &e);

		yaml_event_delete(&e);
		if (rc || last)
			return rc;
	}
}

int ytree_read(struct ytree **out, struct arena *a, const char *text, size_t bytes,
               const char *what, infer_error *err)
{
	infer_error own = { 0 };
	struct reader r = {
		.a = a, .what = what, .text = text, .bytes = bytes, .err = err ? err : &own
	};
	yaml_parser_t p;

	*out = NULL;
	if (bytes > YTREE_BYTES)
		return err_set(err, INFER_EFORMAT, "%s: %zu bytes, of at most %d", what, bytes,
		               YTREE_BYTES);
	if (utf8_check(text, bytes) != bytes)
		return fail_byte(what, text, utf8_check(text, bytes), err, "not UTF-8");
	if (!yaml_parser_initialize(&p))
		return err_set(err, INFER_ENOMEM, "no memory for %s", what);
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p, (const unsigned char *)text, bytes);
	int rc = read_events(&r, &p);

	yaml_parser_delete(&p);
	if (!rc)
		*out = r.root;
	return rc;
}

/* ---- reading nodes ---- */

const struct ytree *ytree_get(const struct ytree *y, const char *key)
{
	for (const struct ytree *m = y->first; m; m = m->next)
		if (!strcmp(m->key->at, key))
			return m;
	return NULL;
}

int ytree_is(const struct ytree *y, const char *word)
{
	return y->kind == YTREE_SCALAR && !strcmp(y->at, word);
}

int ytree_map(const struct ytree *y, const char *what, infer_error *err)
{
	return y->kind == YTREE_MAP
	               ? INFER_OK
	               : ytree_fail(y, what, err, INFER_EFORMAT, "not a map of keys and values");
}

int ytree_list(const struct ytree *y, const char *what, infer_error *err)
{
	return y->kind == YTREE_LIST ? INFER_OK
	                             : ytree_fail(y, what, err, INFER_EFORMAT, "not a list");
}

int ytree_text(const char **v, const struct ytree *y, const char *what, infer_error *err)
{
	if (y->kind != YTREE_SCALAR)
		return ytree_fail(y, what, err, INFER_EFORMAT, "not a text");
	if (!y->n)
		return ytree_fail(y, what, err, INFER_EFORMAT, "an empty text");
	*v = y->at;
	return INFER_OK;
}

/* Read a scalar that is a number as a whole. */
static int scalar_number(struct json *v, const struct ytree *y)
{
	return y->kind == YTREE_SCALAR && y->plain && y->n && jread_num(v, y->at, y->n) == y->n;
}

int ytree_u64(uint64_t *v, const struct ytree *y, uint64_t lo, uint64_t hi, const char *what,
              infer_error *err)
{
	struct json n;
	uint64_t u;

	if (!scalar_number(&n, y) || !json_is_whole(&n) || (n.kind == JSON_INT && n.i < 0))
		return ytree_fail(y, what, err, INFER_EFORMAT, "not a whole number");
	u = n.kind == JSON_INT ? (uint64_t)n.i : n.u;
	if (u < lo || u > hi)
		return ytree_fail(y, what, err, INFER_EFORMAT, "%s is not between %llu and %llu",
		                  y->at, (unsigned long long)lo, (unsigned long long)hi);
	*v = u;
	return INFER_OK;
}

int ytree_f64(double *v, const struct ytree *y, double lo, double hi, const char *what,
              infer_error *err)
{
	struct json n;

	if (!scalar_number(&n, y) || !json_is_number(&n))
		return ytree_fail(y, what, err, INFER_EFORMAT, "not a number");
	double d = n.kind == JSON_INT ? (double)n.i : n.kind == JSON_UINT ? (double)n.u : n.d;

	if (!(d >= lo && d <= hi))
		return ytree_fail(y, what, err, INFER_EFORMAT, "%s is not between %g and %g", y->at,
		                  lo, hi);
	*v = d;
	return INFER_OK;
}
