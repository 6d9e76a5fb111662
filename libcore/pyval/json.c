/* pyval/json.c - the filter tojson: Python's json.dumps. */
#include "pyval/call.h"
#include "base/err.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct dump {
	struct pysb b;
	struct pyrun *r;
	const struct pystr *item, *key, *indent; /* separators; indent NULL: one line */
	int ascii, sort, level;
};

static void dump_char(struct pysb *b, uint32_t cp, enum py_origin from)
{
	char s[16];

	if (cp >= 0x10000)
		snprintf(s, sizeof s, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (cp >> 10)),
		         (unsigned)(0xdc00 | (cp & 0x3ff)));
	else
		snprintf(s, sizeof s, "\\u%04x", (unsigned)cp);
	pysb_put(b, s, strlen(s), from);
}

static void dump_str(struct dump *d, const struct pystr *s)
{
	static const char plain[] = "\"\"\\\\\nn\rr\tt\bb\ff";
	size_t from = 0;

	if (py_spend(d->r, s->len / PY_STEP_READ))
		return;
	pysb_lit(&d->b, "\"");
	for (size_t i = 0, next; i < s->len && !d->r->rc; i = next) {
		uint32_t cp;
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		const char *p = plain;
		while (*p && (unsigned char)*p != cp)
			p += 2;
		if (!*p && cp >= ' ' && !(d->ascii && cp >= 0x7f))
			continue;
		pysb_sub(&d->b, s, from, i - from);
		from = next;
		py_spend(d->r, 2);
		char two[2] = { '\\', p[*p != 0] };
		if (*p)
			pysb_put(&d->b, two, 2, pystr_origin(s, i));
		else
			dump_char(&d->b, cp, pystr_origin(s, i));
	}
	pysb_sub(&d->b, s, from, s->len - from);
	pysb_lit(&d->b, "\"");
}

static void dump_newline(struct dump *d)
{
	if (!d->indent)
		return;
	pysb_lit(&d->b, "\n");
	pysb_fill(&d->b, d->indent, (size_t)d->level);
}

static int dump_value(struct dump *d, struct pyval v);

static int dump_list(struct dump *d, const struct pylist *l)
{
	pysb_lit(&d->b, "[");
	d->level++;
	for (size_t i = 0; i < l->n && !d->r->rc; i++) {
		if (i)
			pysb_str(&d->b, d->item);
		dump_newline(d);
		dump_value(d, l->at[i]);
	}
	d->level--;
	if (l->n)
		dump_newline(d);
	pysb_lit(&d->b, "]");
	return d->r->rc;
}

static int dump_key(struct dump *d, struct pyval k)
{
	if (k.type == PY_STR)
		dump_str(d, k.s);
	else if (k.type == PY_NONE || py_is_num(k)) {
		pysb_lit(&d->b, "\"");
		dump_value(d, k);
		pysb_lit(&d->b, "\"");
	} else
		return py_fail(d->r, "keys must be str, int, float, bool or None, not %s",
		               py_type_name(k));
	return d->r->rc;
}

static int dump_dict(struct dump *d, const struct pydict *o)
{
	struct pydict sorted = *o;

	if (d->sort && o->n) {
		struct pyval all;
		TRY(py_spend(d->r, 1));
		TRY(pydict_sorted(d->r, o, PY_SORT_KEEP_CASE, &all));
		if (!(sorted.at = py_alloc(d->r, o->n, sizeof *sorted.at)))
			return d->r->rc;
		for (size_t i = 0; i < o->n; i++)
			sorted.at[i] =
				(struct pypair){ all.l->at[i].l->at[0], all.l->at[i].l->at[1] };
	}
	pysb_lit(&d->b, "{");
	d->level++;
	for (size_t i = 0; i < o->n && !d->r->rc; i++) {
		if (i)
			pysb_str(&d->b, d->item);
		dump_newline(d);
		TRY(dump_key(d, sorted.at[i].k));
		pysb_str(&d->b, d->key);
		dump_value(d, sorted.at[i].v);
	}
	d->level--;
	if (o->n)
		dump_newline(d);
	pysb_lit(&d->b, "}");
	return d->r->rc;
}

static int dump_any(struct dump *d, struct pyval v)
{
	char s[40];

	switch (v.type) {
	case PY_NONE:
		pysb_lit(&d->b, "null");
		return d->r->rc;
	case PY_BOOL:
		pysb_lit(&d->b, v.i ? "true" : "false");
		return d->r->rc;
	case PY_INT:
		pysb_lit(&d->b, py_int_repr(s, v.i));
		return d->r->rc;
	case PY_FLOAT:
		py_spend(d->r, PY_STEP_DIGITS);
		py_float_repr(s, v.f);
		pysb_lit(&d->b, isnan(v.f)   ? "NaN"
		                : isinf(v.f) ? v.f < 0 ? "-Infinity" : "Infinity"
		                             : s);
		return d->r->rc;
	case PY_STR:
		dump_str(d, v.s);
		return d->r->rc;
	case PY_LIST:
	case PY_TUPLE:
		return dump_list(d, v.l);
	case PY_DICT:
		return dump_dict(d, v.d);
	default:
		return py_fail(d->r, "Object of type %s is not JSON serializable", py_type_name(v));
	}
}

static int dump_value(struct dump *d, struct pyval v)
{
	TRY(py_spend(d->r, 1));
	TRY(py_enter(d->r));
	int rc = dump_any(d, v);
	d->r->depth--;
	return rc;
}

int py_tojson(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	static const struct pystr comma = { .at = ", ", .len = 2 }, tight = { .at = ",", .len = 1 },
				  colon = { .at = ": ", .len = 2 }, space = { .at = " ", .len = 1 };
	struct dump d = { .b = { .r = r }, .r = r, .item = &comma, .key = &colon };
	struct pysb w = { .r = r };
	struct pyval width, seps;
	int64_t n;

	d.ascii = py_true(c->a[0]);
	d.sort = py_true(c->a[3]);
	if (c->a[1].type == PY_STR) {
		d.indent = c->a[1].s;
	} else if (c->a[1].type > PY_NONE) {
		TRY(py_int_arg(r, c->a[1], 0, &n));
		pysb_fill(&w, &space, n > 0 ? (size_t)n : 0);
		TRY(pysb_done(&w, &width));
		d.indent = width.s;
	}
	if (d.indent)
		d.item = &tight;
	if (c->a[2].type > PY_NONE) {
		TRY(py_to_list(r, &seps, c->a[2]));
		if (seps.l->n != 2 || seps.l->at[0].type != PY_STR || seps.l->at[1].type != PY_STR)
			return py_fail(r, "separators are two strings");
		d.item = seps.l->at[0].s;
		d.key = seps.l->at[1].s;
	}
	TRY(dump_value(&d, c->self));
	return pysb_done(&d.b, out);
}
