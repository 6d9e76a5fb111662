/* jinja/filter.c - filters over one value. */
#include "jinja/run.h"
#include "pyval/case.h"
#include "base/err.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int f_abs(struct jrun *r, struct jcall *c, struct jv *out)
{
	if (c->self.type == J_FLOAT)
		*out = jv_float(fabs(c->self.f));
	else if (!jv_is_int(c->self) || c->self.i == INT64_MIN)
		return c->self.type == J_UNDEF ? jv_undef_fail(r, c->self)
		                               : jinja_fail(r, "bad operand type for abs(): '%s'",
		                                            jv_type_name(c->self));
	else
		*out = jv_int(c->self.i < 0 ? -c->self.i : c->self.i);
	return r->rc;
}

static int f_attr(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *name;
	struct jv v;

	TRY(jv_to_str(r, c->a[0], &name));
	if (c->self.type != J_DICT)
		return jinja_attr(r, c->self, name, out);
	TRY(jv_dict(r, &v, J_DICT, 0)); /* for a dict its methods only, not its items */
	TRY(jinja_attr(r, v, name, out));
	if (out->type == J_METHOD)
		out->method->self = c->self;
	return r->rc;
}

static int cased(struct jrun *r, struct jcall *c, enum jcase_how how, struct jv *out)
{
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	return jcase_str(r, s, how, out);
}

static int f_capitalize(struct jrun *r, struct jcall *c, struct jv *out)
{
	return cased(r, c, JCASE_CAPITAL, out);
}
static int f_lower(struct jrun *r, struct jcall *c, struct jv *out)
{
	return cased(r, c, JCASE_LOWER, out);
}
static int f_upper(struct jrun *r, struct jcall *c, struct jv *out)
{
	return cased(r, c, JCASE_UPPER, out);
}

/* Words begin after white space, hyphens and opening brackets, which differs slightly from
 * str.title. */
static int f_title(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;
	struct jsb b = { .r = r };
	struct jv part, v;
	uint32_t cp;
	size_t from = 0, i = 0;

	TRY(jv_to_str(r, c->self, &s));
	TRY(jinja_spend(r, s->len / JSTEP_READ));
	while (i < s->len && !r->rc) {
		size_t n = unicode_next(s->at + i, s->len - i, &cp);
		int breaks = (unicode_set(cp) & UNI_SPACE) ||
		             (cp < 0x80 && cp && strchr("-({[<", (int)cp)) ||
		             (cp >= 0x1c && cp <= 0x1f);
		i += n;
		if (!breaks && i < s->len)
			continue;
		/* first the first letter, then the others */
		for (int tail = 0; tail < 2 && from < i; tail++) {
			size_t k = tail ? i - from : unicode_next(s->at + from, s->len - from, &cp);
			TRY(jv_sub(r, &part, s, from, k));
			TRY(jcase_str(r, part.s, tail ? JCASE_LOWER : JCASE_UPPER, &v));
			jsb_str(&b, v.s);
			from += k;
		}
	}
	return jsb_done(&b, out);
}

static int f_center(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;
	struct jcall m = { 0 };
	struct jv width = c->a[0].type ? c->a[0] : jv_int(80);

	TRY(jv_to_str(r, c->self, &s));
	m.self = (struct jv){ .type = J_STR, .s = s };
	m.pos = &width;
	m.n = 1;
	return jfn_call(r, jfn_find(jinja_str_methods, "center", 6), &m, out);
}

static int f_default(struct jrun *r, struct jcall *c, struct jv *out)
{
	if (c->self.type != J_UNDEF && !(c->a[1].type && jv_true(c->a[1]) && !jv_true(c->self))) {
		*out = c->self;
		return r->rc;
	}
	if (!c->a[0].type)
		return jv_lit(r, out, "");
	*out = c->a[0];
	return r->rc;
}

static int f_escape(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	return jv_escape(r, out, s);
}

static int f_forceescape(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	struct jstr plain = *s;
	plain.safe = 0;
	return jv_escape(r, out, &plain);
}

static int f_safe(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	struct jstr safe = *s;
	safe.safe = 1;
	return jv_sub(r, out, &safe, 0, safe.len);
}

static int f_string(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	*out = (struct jv){ .type = J_STR, .s = s };
	return r->rc;
}

/* Python's float(v): 0 and *f, or 1 if it is not possible. */
static int to_float(struct jrun *r, struct jv v, double *f)
{
	*f = 0;
	if (v.type == J_UNDEF)
		return jv_undef_fail(r, v);
	if (v.type == J_STR)
		return jstr_float(r, v.s, f);
	if (!jv_is_num(v))
		return 1;
	*f = jv_num(v);
	return 0;
}

static int f_float(struct jrun *r, struct jcall *c, struct jv *out)
{
	double f;

	*out = to_float(r, c->self, &f) ? c->a[0].type ? c->a[0] : jv_float(0) : jv_float(f);
	return r->rc;
}

static int f_int(struct jrun *r, struct jcall *c, struct jv *out)
{
	int64_t base, i;
	double f;

	TRY(jint_arg(r, c->a[1], 10, &base));
	if (jv_is_int(c->self)) {
		*out = jv_int(c->self.i);
		return r->rc;
	}
	if (c->self.type == J_STR && (base == 0 || (base >= 2 && base <= 36)) &&
	    !jstr_int(r, c->self.s, (int)base, &i)) {
		*out = jv_int(i);
		return r->rc;
	}
	if (r->rc || to_float(r, c->self, &f) || !isfinite(f)) {
		*out = c->a[0].type ? c->a[0] : jv_int(0);
		return r->rc;
	}
	if (fabs(f) >= 0x1p63)
		return jinja_fail(r, "an integer beyond 64 bits is not supported");
	*out = jv_int((int64_t)f);
	return r->rc;
}

static int f_format(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;
	struct jv args;

	TRY(jv_to_str(r, c->self, &s));
	if (c->n && c->nkw)
		return jinja_fail(r,
		                  "can't handle positional and keyword arguments at the same time");
	TRY(c->nkw ? jv_dict(r, &args, J_DICT, c->nkw) : jv_list(r, &args, J_TUPLE, c->n));
	for (uint32_t i = 0; i < c->nkw; i++)
		TRY(jdict_put(r, args.d, (struct jv){ .type = J_STR, .s = c->name[i] }, c->kw[i]));
	for (uint32_t i = 0; i < c->n; i++)
		TRY(jv_push(r, args, c->pos[i]));
	return jinja_percent(r, s, args, out);
}

/* Lines of s without their ends; of "\n" behind them none. */
static int lines_of(struct jrun *r, const struct jstr *s, struct jv *out)
{
	struct jcall m = { .self = { .type = J_STR, .s = s } };

	return jfn_call(r, jfn_find(jinja_str_methods, "splitlines", 10), &m, out);
}

static int f_indent(struct jrun *r, struct jcall *c, struct jv *out)
{
	static const struct jstr space = { .at = " ", .len = 1 }, nl = { .at = "\n", .len = 1 };
	struct jsb b = { .r = r }, w = { .r = r };
	struct jv width, lines, whole;
	int64_t n;

	if (c->self.type != J_STR)
		return c->self.type == J_UNDEF ? jv_undef_fail(r, c->self)
		                               : jinja_fail(r, "indent wants a string, not '%s'",
		                                            jv_type_name(c->self));
	if (c->a[0].type == J_STR) {
		width = c->a[0];
	} else {
		if (c->a[0].type == J_NONE)
			return jinja_fail(r, "indent wants a number");
		TRY(jint_arg(r, c->a[0], 4, &n));
		jsb_fill(&w, &space, n > 0 ? (size_t)n : 0);
		TRY(jsb_done(&w, &width));
	}
	struct jstr plain = *c->self.s;
	plain.safe = 0;
	TRY(jv_concat(r, &whole, &plain, &nl));
	TRY(lines_of(r, whole.s, &lines));
	for (size_t i = 0; i < lines.l->n && !r->rc; i++) {
		const struct jstr *s = lines.l->at[i].s;
		if (i)
			jsb_put(&b, "\n", 1, JFROM_TEMPLATE);
		if (i ? s->len || jv_true(c->a[2]) : jv_true(c->a[1]))
			jsb_str(&b, width.s);
		jsb_str(&b, s);
	}
	TRY(jsb_done(&b, out));
	((struct jstr *)(uintptr_t)out->s)->safe = c->self.s->safe;
	return r->rc;
}

static int f_length(struct jrun *r, struct jcall *c, struct jv *out)
{
	size_t n;

	TRY(jv_len(r, c->self, &n));
	*out = jv_int((int64_t)n);
	return r->rc;
}

static int f_replace(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jcall m = { 0 };
	const struct jstr *s[3];
	struct jv arg[3];

	TRY(jv_to_str(r, c->self, &s[0]));
	TRY(jv_to_str(r, c->a[0], &s[1]));
	TRY(jv_to_str(r, c->a[1], &s[2]));
	struct jstr plain = *s[0];
	plain.safe = 0;
	for (int i = 0; i < 2; i++)
		arg[i] = (struct jv){ .type = J_STR, .s = s[1 + i] };
	arg[2] = c->a[2].type > J_NONE ? c->a[2] : jv_int(-1);
	TRY(jv_sub(r, &m.self, &plain, 0, plain.len));
	m.pos = arg;
	m.n = 3;
	return jfn_call(r, jfn_find(jinja_str_methods, "replace", 7), &m, out);
}

/* Round the exact decimal value half to even, as Python does. */
static double round_to(double f, int digits)
{
	char s[400];

	/* there are no digits at that place */
	if (!isfinite(f) || digits > 300 || (digits >= 0 && fabs(f) >= 0x1p52))
		return f;
	if (digits < 0) {
		double p = 1;
		for (int i = digits; i < 0 && i > -400; i++)
			p *= 10;
		return isinf(p) ? 0 : nearbyint(f / p) * p;
	}
	snprintf(s, sizeof s, "%.*f", digits, f);
	return strtod(s, NULL);
}

static int f_round(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jstr common = { .at = "common", .len = 6 };
	const struct jstr *how = c->a[1].type == J_STR ? c->a[1].s : &common;
	int64_t digits;
	double p = 1;

	TRY(jinja_spend(r, 2 * JSTEP_DIGITS));
	TRY(jint_arg(r, c->a[0], 0, &digits));
	if (!jv_is_num(c->self))
		return c->self.type == J_UNDEF ? jv_undef_fail(r, c->self)
		                               : jinja_fail(r, "round wants a number");
	if (digits > 300 || digits < -300)
		return jinja_fail(r, "round to so many digits is not supported");
	int up = how->len == 4 && !memcmp(how->at, "ceil", 4),
	    down = how->len == 5 && !memcmp(how->at, "floor", 5);
	if (!up && !down && (how->len != 6 || memcmp(how->at, "common", 6)))
		return jinja_fail(r, "method must be common, ceil or floor");
	if (!up && !down) {
		*out = jv_is_int(c->self) && digits >= 0
		               ? jv_int(c->self.i)
		               : jv_float(round_to(jv_num(c->self), (int)digits));
		if (jv_is_int(c->self) && digits < 0)
			*out = jv_int((int64_t)out->f);
		return r->rc;
	}
	for (int64_t i = 0; i < (digits < 0 ? -digits : digits); i++)
		p *= 10;
	if (digits < 0)
		p = 1 / p;
	*out = jv_float((up ? ceil(jv_num(c->self) * p) : floor(jv_num(c->self) * p)) / p);
	return r->rc;
}

static int f_trim(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jcall m = { 0 };
	const struct jstr *s;

	TRY(jv_to_str(r, c->self, &s));
	m.self = (struct jv){ .type = J_STR, .s = s };
	m.pos = &c->a[0];
	m.n = c->a[0].type ? 1 : 0;
	return jfn_call(r, jfn_find(jinja_str_methods, "strip", 5), &m, out);
}

static int f_truncate(struct jrun *r, struct jcall *c, struct jv *out)
{
	int64_t length, leeway;
	struct jv end = c->a[2], cut, to[3] = { { 0 }, { 0 }, { 0 } };
	size_t n, ne;

	TRY(jint_arg(r, c->a[0], 255, &length));
	TRY(jint_arg(r, c->a[3], 5, &leeway));
	if (!end.type)
		TRY(jv_lit(r, &end, "..."));
	TRY(jv_len(r, c->self, &n));
	TRY(jv_len(r, end, &ne));
	if (length < (int64_t)ne || leeway < 0)
		return jinja_fail(
			r, "truncate: the length is below that of the end, or the leeway below 0");
	if ((int64_t)n <= length || (int64_t)n - length <= leeway) {
		*out = c->self;
		return r->rc;
	}
	if (end.type != J_STR || c->self.type != J_STR)
		return jinja_fail(r, "truncate wants a string");
	to[1] = jv_int(length - (int64_t)ne);
	TRY(jinja_slice(r, c->self, to, &cut));
	const char *space = jv_true(c->a[1]) ? NULL : memrchr(cut.s->at, ' ', cut.s->len);
	if (space)
		TRY(jv_sub(r, &cut, cut.s, 0, (size_t)(space - cut.s->at)));
	return jv_concat(r, out, cut.s, end.s);
}

static int f_wordcount(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;
	int64_t n = 0;
	int inside = 0;
	uint32_t cp;

	TRY(jv_to_str(r, c->self, &s));
	TRY(jinja_spend(r, s->len / JSTEP_READ));
	for (size_t i = 0; i < s->len;) {
		i += unicode_next(s->at + i, s->len - i, &cp);
		int word = cp == '_' || (unicode_set(cp) & (UNI_L | UNI_N));
		n += word && !inside;
		inside = word;
	}
	*out = jv_int(n);
	return r->rc;
}

const struct jfn jinja_filters[] = {
	{ "abs", f_abs, "", 0, 0 },
	{ "attr", f_attr, "name", 1, 0 },
	{ "capitalize", f_capitalize, "", 0, 0 },
	{ "center", f_center, "width", 0, 0 },
	{ "count", f_length, "", 0, 0 },
	{ "d", f_default, "default_value boolean", 0, 0 },
	{ "default", f_default, "default_value boolean", 0, 0 },
	{ "e", f_escape, "", 0, 0 },
	{ "escape", f_escape, "", 0, 0 },
	{ "filesizeformat", NULL, NULL, 0, 0 },
	{ "float", f_float, "default", 0, 0 },
	{ "forceescape", f_forceescape, "", 0, 0 },
	{ "format", f_format, NULL, 0, 0 },
	{ "indent", f_indent, "width first blank", 0, 0 },
	{ "int", f_int, "default base", 0, 0 },
	{ "length", f_length, "", 0, 0 },
	{ "lower", f_lower, "", 0, 0 },
	{ "pprint", NULL, NULL, 0, 0 },
	{ "random", NULL, NULL, 0, 0 },
	{ "replace", f_replace, "old new count", 2, 0 },
	{ "round", f_round, "precision method", 0, 0 },
	{ "safe", f_safe, "", 0, 0 },
	{ "string", f_string, "", 0, 0 },
	{ "striptags", NULL, NULL, 0, 0 },
	{ "title", f_title, "", 0, 0 },
	{ "tojson", jinja_tojson, "ensure_ascii indent separators sort_keys", 0, 0 },
	{ "trim", f_trim, "chars", 0, 0 },
	{ "truncate", f_truncate, "length killwords end leeway", 0, 0 },
	{ "upper", f_upper, "", 0, 0 },
	{ "urlencode", NULL, NULL, 0, 0 },
	{ "urlize", NULL, NULL, 0, 0 },
	{ "wordcount", f_wordcount, "", 0, 0 },
	{ "wordwrap", NULL, NULL, 0, 0 },
	{ "xmlattr", NULL, NULL, 0, 0 },
	{ NULL }
};
