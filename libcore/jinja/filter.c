/* jinja/filter.c - filters of one value. */
#include "jinja/run.h"
#include "pyval/case.h"
#include "base/err.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int f_abs(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	if (c->self.type == PY_FLOAT)
		*out = py_float(fabs(c->self.f));
	else if (!py_is_int(c->self) || c->self.i == INT64_MIN)
		return c->self.type == PY_UNDEF ? py_undef_fail(r, c->self)
		                                : py_fail(r, "bad operand type for abs(): '%s'",
		                                          py_type_name(c->self));
	else
		*out = py_int(c->self.i < 0 ? -c->self.i : c->self.i);
	return r->rc;
}

static int f_attr(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *name;
	struct pyval v;

	TRY(py_to_str(r, c->a[0], &name));
	if (c->self.type != PY_DICT)
		return py_attr(r, c->self, name, out);
	TRY(py_dict(r, &v, PY_DICT, 0)); /* an empty dict, so that only methods are found */
	TRY(py_attr(r, v, name, out));
	if (out->type == PY_METHOD)
		out->method->self = c->self;
	return r->rc;
}

static int change_case(struct pyrun *r, struct pycall *c, enum py_case how, struct pyval *out)
{
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	return pystr_to_case(r, s, how, out);
}

static int f_capitalize(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return change_case(r, c, PY_CAPITAL, out);
}
static int f_lower(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return change_case(r, c, PY_LOWER, out);
}
static int f_upper(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return change_case(r, c, PY_UPPER, out);
}

/* Words begin after white space, hyphens and opening brackets; str.title differs. */
static int f_title(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;
	struct pysb b = { .r = r };
	struct pyval part, v;
	uint32_t cp;
	size_t from = 0, i = 0;

	TRY(py_to_str(r, c->self, &s));
	TRY(py_spend(r, s->len / PY_STEP_READ));
	while (i < s->len && !r->rc) {
		size_t n = unicode_next(s->at + i, s->len - i, &cp);
		int breaks = (unicode_set(cp) & UNI_SPACE) ||
		             (cp < 0x80 && cp && strchr("-({[<", (int)cp)) ||
		             (cp >= 0x1c && cp <= 0x1f);
		i += n;
		if (!breaks && i < s->len)
			continue;
		/* the first letter, then the others */
		for (int tail = 0; tail < 2 && from < i; tail++) {
			size_t k = tail ? i - from : unicode_next(s->at + from, s->len - from, &cp);
			TRY(py_sub(r, &part, s, from, k));
			TRY(pystr_to_case(r, part.s, tail ? PY_LOWER : PY_UPPER, &v));
			pysb_str(&b, v.s);
			from += k;
		}
	}
	return pysb_done(&b, out);
}

static int f_center(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;
	struct pycall m = { 0 };
	struct pyval width = c->a[0].type ? c->a[0] : py_int(80);

	TRY(py_to_str(r, c->self, &s));
	m.self = (struct pyval){ .type = PY_STR, .s = s };
	m.pos = &width;
	m.n = 1;
	return pyfn_call(r, pyfn_find(py_str_methods, "center", 6), &m, out);
}

static int f_default(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	if (c->self.type != PY_UNDEF && !(c->a[1].type && py_true(c->a[1]) && !py_true(c->self))) {
		*out = c->self;
		return r->rc;
	}
	if (!c->a[0].type)
		return py_lit(r, out, "");
	*out = c->a[0];
	return r->rc;
}

static int f_escape(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	return py_escape(r, out, s);
}

static int f_forceescape(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	struct pystr plain = *s;
	plain.safe = 0;
	return py_escape(r, out, &plain);
}

static int f_safe(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	struct pystr safe = *s;
	safe.safe = 1;
	return py_sub(r, out, &safe, 0, safe.len);
}

static int f_string(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	*out = (struct pyval){ .type = PY_STR, .s = s };
	return r->rc;
}

/* float(v): returns 0 and *f, or 1 if v cannot be converted. */
static int to_float(struct pyrun *r, struct pyval v, double *f)
{
	*f = 0;
	if (v.type == PY_UNDEF)
		return py_undef_fail(r, v);
	if (v.type == PY_STR)
		return pystr_float(r, v.s, f);
	if (!py_is_num(v))
		return 1;
	*f = py_num(v);
	return 0;
}

static int f_float(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	double f;

	*out = to_float(r, c->self, &f) ? c->a[0].type ? c->a[0] : py_float(0) : py_float(f);
	return r->rc;
}

static int f_int(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	int64_t base, i;
	double f;

	TRY(py_int_arg(r, c->a[1], 10, &base));
	if (py_is_int(c->self)) {
		*out = py_int(c->self.i);
		return r->rc;
	}
	if (c->self.type == PY_STR && (base == 0 || (base >= 2 && base <= 36)) &&
	    !pystr_int(r, c->self.s, (int)base, &i)) {
		*out = py_int(i);
		return r->rc;
	}
	if (r->rc || to_float(r, c->self, &f) || !isfinite(f)) {
		*out = c->a[0].type ? c->a[0] : py_int(0);
		return r->rc;
	}
	if (fabs(f) >= 0x1p63)
		return py_fail(r, "an integer beyond 64 bits is not supported");
	*out = py_int((int64_t)f);
	return r->rc;
}

static int f_format(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;
	struct pyval args;

	TRY(py_to_str(r, c->self, &s));
	if (c->n && c->nkw)
		return py_fail(r, "can't handle positional and keyword arguments at the same time");
	TRY(c->nkw ? py_dict(r, &args, PY_DICT, c->nkw) : py_list(r, &args, PY_TUPLE, c->n));
	for (uint32_t i = 0; i < c->nkw; i++)
		TRY(pydict_put(r, args.d, (struct pyval){ .type = PY_STR, .s = c->name[i] },
		               c->kw[i]));
	for (uint32_t i = 0; i < c->n; i++)
		TRY(py_push(r, args, c->pos[i]));
	return py_percent(r, s, args, out);
}

/* Split s into lines without their ends. A newline at the end begins no further line. */
static int split_lines(struct pyrun *r, const struct pystr *s, struct pyval *out)
{
	struct pycall m = { .self = { .type = PY_STR, .s = s } };

	return pyfn_call(r, pyfn_find(py_str_methods, "splitlines", 10), &m, out);
}

static int f_indent(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	static const struct pystr space = { .at = " ", .len = 1 }, nl = { .at = "\n", .len = 1 };
	struct pysb b = { .r = r }, w = { .r = r };
	struct pyval width, lines, whole;
	int64_t n;

	if (c->self.type != PY_STR)
		return c->self.type == PY_UNDEF ? py_undef_fail(r, c->self)
		                                : py_fail(r, "indent needs a string, not '%s'",
		                                          py_type_name(c->self));
	if (c->a[0].type == PY_STR) {
		width = c->a[0];
	} else {
		if (c->a[0].type == PY_NONE)
			return py_fail(r, "indent needs a number");
		TRY(py_int_arg(r, c->a[0], 4, &n));
		pysb_fill(&w, &space, n > 0 ? (size_t)n : 0);
		TRY(pysb_done(&w, &width));
	}
	struct pystr plain = *c->self.s;
	plain.safe = 0;
	TRY(py_concat(r, &whole, &plain, &nl));
	TRY(split_lines(r, whole.s, &lines));
	for (size_t i = 0; i < lines.l->n && !r->rc; i++) {
		const struct pystr *s = lines.l->at[i].s;
		if (i)
			pysb_put(&b, "\n", 1, PY_FROM_TEMPLATE);
		if (i ? s->len || py_true(c->a[2]) : py_true(c->a[1]))
			pysb_str(&b, width.s);
		pysb_str(&b, s);
	}
	TRY(pysb_done(&b, out));
	((struct pystr *)(uintptr_t)out->s)->safe = c->self.s->safe;
	return r->rc;
}

static int f_length(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	size_t n;

	TRY(py_len(r, c->self, &n));
	*out = py_int((int64_t)n);
	return r->rc;
}

static int f_replace(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pycall m = { 0 };
	const struct pystr *s[3];
	struct pyval arg[3];

	TRY(py_to_str(r, c->self, &s[0]));
	TRY(py_to_str(r, c->a[0], &s[1]));
	TRY(py_to_str(r, c->a[1], &s[2]));
	struct pystr plain = *s[0];
	plain.safe = 0;
	for (int i = 0; i < 2; i++)
		arg[i] = (struct pyval){ .type = PY_STR, .s = s[1 + i] };
	arg[2] = c->a[2].type > PY_NONE ? c->a[2] : py_int(-1);
	TRY(py_sub(r, &m.self, &plain, 0, plain.len));
	m.pos = arg;
	m.n = 3;
	return pyfn_call(r, pyfn_find(py_str_methods, "replace", 7), &m, out);
}

/* Round the exact decimal value half to even, as Python does. */
static double round_decimal(double f, int digits)
{
	char s[400];

	/* the number has no digits at that place */
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

static int f_round(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pystr common = { .at = "common", .len = 6 };
	const struct pystr *how = c->a[1].type == PY_STR ? c->a[1].s : &common;
	int64_t digits;
	double p = 1;

	TRY(py_spend(r, 2 * PY_STEP_DIGITS));
	TRY(py_int_arg(r, c->a[0], 0, &digits));
	if (!py_is_num(c->self))
		return c->self.type == PY_UNDEF ? py_undef_fail(r, c->self)
		                                : py_fail(r, "round needs a number");
	if (digits > 300 || digits < -300)
		return py_fail(r, "round to so many digits is not supported");
	int up = how->len == 4 && !memcmp(how->at, "ceil", 4),
	    down = how->len == 5 && !memcmp(how->at, "floor", 5);
	if (!up && !down && (how->len != 6 || memcmp(how->at, "common", 6)))
		return py_fail(r, "method must be common, ceil or floor");
	if (!up && !down) {
		*out = py_is_int(c->self) && digits >= 0
		               ? py_int(c->self.i)
		               : py_float(round_decimal(py_num(c->self), (int)digits));
		if (py_is_int(c->self) && digits < 0)
			*out = py_int((int64_t)out->f);
		return r->rc;
	}
	for (int64_t i = 0; i < (digits < 0 ? -digits : digits); i++)
		p *= 10;
	if (digits < 0)
		p = 1 / p;
	*out = py_float((up ? ceil(py_num(c->self) * p) : floor(py_num(c->self) * p)) / p);
	return r->rc;
}

static int f_trim(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pycall m = { 0 };
	const struct pystr *s;

	TRY(py_to_str(r, c->self, &s));
	m.self = (struct pyval){ .type = PY_STR, .s = s };
	m.pos = &c->a[0];
	m.n = c->a[0].type ? 1 : 0;
	return pyfn_call(r, pyfn_find(py_str_methods, "strip", 5), &m, out);
}

static int f_truncate(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	int64_t length, leeway;
	struct pyval end = c->a[2], cut, to[3] = { { 0 }, { 0 }, { 0 } };
	size_t n, ne;

	TRY(py_int_arg(r, c->a[0], 255, &length));
	TRY(py_int_arg(r, c->a[3], 5, &leeway));
	if (!end.type)
		TRY(py_lit(r, &end, "..."));
	TRY(py_len(r, c->self, &n));
	TRY(py_len(r, end, &ne));
	if (length < (int64_t)ne || leeway < 0)
		return py_fail(
			r, "truncate: the length is below that of the end, or the leeway below 0");
	if ((int64_t)n <= length || (int64_t)n - length <= leeway) {
		*out = c->self;
		return r->rc;
	}
	if (end.type != PY_STR || c->self.type != PY_STR)
		return py_fail(r, "truncate needs a string");
	to[1] = py_int(length - (int64_t)ne);
	TRY(py_slice(r, c->self, to, &cut));
	const char *space = py_true(c->a[1]) ? NULL : memrchr(cut.s->at, ' ', cut.s->len);
	if (space)
		TRY(py_sub(r, &cut, cut.s, 0, (size_t)(space - cut.s->at)));
	return py_concat(r, out, cut.s, end.s);
}

static int f_wordcount(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;
	int64_t n = 0;
	int inside = 0;
	uint32_t cp;

	TRY(py_to_str(r, c->self, &s));
	TRY(py_spend(r, s->len / PY_STEP_READ));
	for (size_t i = 0; i < s->len;) {
		i += unicode_next(s->at + i, s->len - i, &cp);
		int word = cp == '_' || (unicode_set(cp) & (UNI_L | UNI_N));
		n += word && !inside;
		inside = word;
	}
	*out = py_int(n);
	return r->rc;
}

const struct pyfn jinja_filters[] = {
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
	{ "tojson", py_tojson, "ensure_ascii indent separators sort_keys", 0, 0 },
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
