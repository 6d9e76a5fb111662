/* pyval/json.c - the filter tojson, which is Python's json.dumps. */
#include "pyval/call.h"
#include "base/err.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct dump {
	struct jsb b;
	struct jrun *r;
	const struct jstr *item, *key, *indent; /* separators; NULL: on one line */
	int ascii, sort, level;
};

static void dump_char(struct jsb *b, uint32_t cp, enum jfrom from)
{
	char s[16];

	if (cp >= 0x10000)
		snprintf(s, sizeof s, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (cp >> 10)),
		         (unsigned)(0xdc00 | (cp & 0x3ff)));
	else
		snprintf(s, sizeof s, "\\u%04x", (unsigned)cp);
	jsb_put(b, s, strlen(s), from);
}

static void dump_str(struct dump *d, const struct jstr *s)
{
	static const char plain[] = "\"\"\\\\\nn\rr\tt\bb\ff";
	size_t from = 0;

	if (jinja_spend(d->r, s->len / JSTEP_READ))
		return;
	jsb_lit(&d->b, "\"");
	for (size_t i = 0, next; i < s->len && !d->r->rc; i = next) {
		uint32_t cp;
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		const char *p = plain;
		while (*p && (unsigned char)*p != cp)
			p += 2;
		if (!*p && cp >= ' ' && !(d->ascii && cp >= 0x7f))
			continue;
		jsb_sub(&d->b, s, from, i - from);
		from = next;
		jinja_spend(d->r, 2);
		char two[2] = { '\\', p[*p != 0] };
		if (*p)
			jsb_put(&d->b, two, 2, jstr_from(s, i));
		else
			dump_char(&d->b, cp, jstr_from(s, i));
	}
	jsb_sub(&d->b, s, from, s->len - from);
	jsb_lit(&d->b, "\"");
}

static void line(struct dump *d)
{
	if (!d->indent)
		return;
	jsb_lit(&d->b, "\n");
	jsb_fill(&d->b, d->indent, (size_t)d->level);
}

static int dump_value(struct dump *d, struct jv v);

static int dump_list(struct dump *d, const struct jlist *l)
{
	jsb_lit(&d->b, "[");
	d->level++;
	for (size_t i = 0; i < l->n && !d->r->rc; i++) {
		if (i)
			jsb_str(&d->b, d->item);
		line(d);
		dump_value(d, l->at[i]);
	}
	d->level--;
	if (l->n)
		line(d);
	jsb_lit(&d->b, "]");
	return d->r->rc;
}

static int dump_key(struct dump *d, struct jv k)
{
	if (k.type == J_STR)
		dump_str(d, k.s);
	else if (k.type == J_NONE || jv_is_num(k)) {
		jsb_lit(&d->b, "\"");
		dump_value(d, k);
		jsb_lit(&d->b, "\"");
	} else
		return jinja_fail(d->r, "keys must be str, int, float, bool or None, not %s",
		                  jv_type_name(k));
	return d->r->rc;
}

static int dump_dict(struct dump *d, const struct jdict *o)
{
	struct jdict sorted = *o;

	if (d->sort && o->n) {
		struct jv all;
		TRY(jinja_spend(d->r, 1));
		TRY(jdict_sorted(d->r, o, JSORT_KEEP_CASE, &all));
		if (!(sorted.at = jinja_take(d->r, o->n, sizeof *sorted.at)))
			return d->r->rc;
		for (size_t i = 0; i < o->n; i++)
			sorted.at[i] =
				(struct jpair){ all.l->at[i].l->at[0], all.l->at[i].l->at[1] };
	}
	jsb_lit(&d->b, "{");
	d->level++;
	for (size_t i = 0; i < o->n && !d->r->rc; i++) {
		if (i)
			jsb_str(&d->b, d->item);
		line(d);
		TRY(dump_key(d, sorted.at[i].k));
		jsb_str(&d->b, d->key);
		dump_value(d, sorted.at[i].v);
	}
	d->level--;
	if (o->n)
		line(d);
	jsb_lit(&d->b, "}");
	return d->r->rc;
}

static int dump_any(struct dump *d, struct jv v)
{
	char s[40];

	switch (v.type) {
	case J_NONE:
		jsb_lit(&d->b, "null");
		return d->r->rc;
	case J_BOOL:
		jsb_lit(&d->b, v.i ? "true" : "false");
		return d->r->rc;
	case J_INT:
		jsb_lit(&d->b, jinja_int(s, v.i));
		return d->r->rc;
	case J_FLOAT:
		jinja_spend(d->r, JSTEP_DIGITS);
		jinja_float(s, v.f);
		jsb_lit(&d->b, isnan(v.f)   ? "NaN"
		               : isinf(v.f) ? v.f < 0 ? "-Infinity" : "Infinity"
		                            : s);
		return d->r->rc;
	case J_STR:
		dump_str(d, v.s);
		return d->r->rc;
	case J_LIST:
	case J_TUPLE:
		return dump_list(d, v.l);
	case J_DICT:
		return dump_dict(d, v.d);
	default:
		return jinja_fail(d->r, "Object of type %s is not JSON serializable",
		                  jv_type_name(v));
	}
}

static int dump_value(struct dump *d, struct jv v)
{
	TRY(jinja_spend(d->r, 1));
	TRY(jinja_enter(d->r));
	int rc = dump_any(d, v);
	d->r->depth--;
	return rc;
}

int jinja_tojson(struct jrun *r, struct jcall *c, struct jv *out)
{
	static const struct jstr comma = { .at = ", ", .len = 2 }, tight = { .at = ",", .len = 1 },
				 colon = { .at = ": ", .len = 2 }, space = { .at = " ", .len = 1 };
	struct dump d = { .b = { .r = r }, .r = r, .item = &comma, .key = &colon };
	struct jsb w = { .r = r };
	struct jv width, seps;
	int64_t n;

	d.ascii = jv_true(c->a[0]);
	d.sort = jv_true(c->a[3]);
	if (c->a[1].type == J_STR) {
		d.indent = c->a[1].s;
	} else if (c->a[1].type > J_NONE) {
		TRY(jint_arg(r, c->a[1], 0, &n));
		jsb_fill(&w, &space, n > 0 ? (size_t)n : 0);
		TRY(jsb_done(&w, &width));
		d.indent = width.s;
	}
	if (d.indent)
		d.item = &tight;
	if (c->a[2].type > J_NONE) {
		TRY(jv_to_list(r, &seps, c->a[2]));
		if (seps.l->n != 2 || seps.l->at[0].type != J_STR || seps.l->at[1].type != J_STR)
			return jinja_fail(r, "separators are two strings");
		d.item = seps.l->at[0].s;
		d.key = seps.l->at[1].s;
	}
	TRY(dump_value(&d, c->self));
	return jsb_done(&d.b, out);
}
