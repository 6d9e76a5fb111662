/* pyval/format.c - "%s" % x and "{}".format(x). */
#include "pyval/method.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 10000 };

struct spec {
	int minus, plus, space, alt, zero, comma, width, precision;
	char align, type;
	struct pystr fill;
};

static int parse_width(const struct pystr *s, size_t *i)
{
	int n = 0;

	for (; *i < s->len && s->at[*i] >= '0' && s->at[*i] <= '9'; ++*i)
		n = n < WIDEST ? n * 10 + s->at[*i] - '0' : n;
	return n;
}

/* Insert commas between groups of three in the digits that begin at `at`. */
static void insert_commas(char *s, size_t cap, size_t at)
{
	size_t n = strlen(s), digits = strspn(s + at, "0123456789");

	for (size_t i = digits; i > 3 && n + 2 < cap; i -= 3) {
		memmove(s + at + i - 2, s + at + i - 3, n + 1 - (at + i - 3));
		s[at + i - 3] = ',';
		n++;
	}
}

/* Append s, padded to the width of f. side: alignment, < ^ > or = (after the sign). */
static void pad_to_width(struct pysb *b, const struct spec *f, const struct pystr *s, char side)
{
	struct pystr blank = { .at = f->zero ? "0" : " ", .len = 1 };
	const struct pystr *fill = f->fill.len ? &f->fill : &blank;
	size_t n = py_chars(b->r, s), more = f->width > (int)n ? (size_t)f->width - n : 0;
	size_t left = side == '<' ? 0 : side == '^' ? more / 2 : more, sign = 0;

	if (side == '=' && s->len && strchr("+- ", s->at[0]))
		sign = 1;
	pysb_sub(b, s, 0, sign);
	pysb_fill(b, fill, left);
	pysb_sub(b, s, sign, s->len - sign);
	pysb_fill(b, fill, more - left);
}

/* Format a number into s by f->type. Returns 1 if f->type is invalid for this number. */
static int format_number(struct pyrun *r, const struct spec *f, struct pyval v, char *s, size_t cap)
{
	char fmt[16], *at = s;
	double d = py_num(v);
	int precision = f->precision < 0 ? 6 : f->precision > 300 ? 300 : f->precision;
	long long i = v.type == PY_FLOAT ? 0 : v.i;

	TRY(py_spend(r,
	             4 + (strchr("eEfFgG%", f->type) ? PY_STEP_DIGITS + (uint64_t)precision : 0)));
	unsigned long long u = i < 0 ? -(unsigned long long)i : (unsigned long long)i;

	int minus = v.type == PY_FLOAT ? signbit(d) && !isnan(d) : i < 0;
	if (minus || f->plus || f->space)
		*at++ = minus ? '-' : f->plus ? '+' : ' ';
	cap -= (size_t)(at - s);
	if (strchr("di", f->type)) {
		if (v.type == PY_FLOAT && (!isfinite(d) || fabs(d) >= 0x1p63))
			return py_fail(r, "cannot convert this float to an integer");
		snprintf(at, cap, "%llu", v.type == PY_FLOAT ? (unsigned long long)fabs(d) : u);
	} else if (strchr("xXo", f->type) && v.type != PY_FLOAT) {
		snprintf(fmt, sizeof fmt, "%s%%ll%c",
		         f->alt ? f->type == 'o'   ? "0o"
		                  : f->type == 'x' ? "0x"
		                                   : "0X"
		                : "",
		         f->type);
		snprintf(at, cap, fmt, u);
	} else if (f->type == 'b' && v.type != PY_FLOAT) {
		char bits[72];
		size_t n = sizeof bits - 1;
		bits[n] = 0;
		do
			bits[--n] = (char)('0' + (u & 1));
		while (u >>= 1);
		snprintf(at, cap, "%s%s", f->alt ? "0b" : "", bits + n);
	} else if (strchr("eEfFgG%", f->type)) {
		d = fabs(d) * (f->type == '%' ? 100 : 1);
		if (isfinite(d)) {
			snprintf(fmt, sizeof fmt, "%%%s.*%c", f->alt ? "#" : "",
			         f->type == '%' ? 'f' : f->type);
			snprintf(at, cap, fmt, precision, d);
		} else {
			snprintf(at, cap, "%s", isnan(d) ? "nan" : "inf");
		}
		if (f->type == '%')
			strcat(at, "%");
	} else {
		return 1;
	}
	if (f->comma)
		insert_commas(at, cap, 0);
	return 0;
}

/* ---- % ---- */

struct percent {
	struct pyrun *r;
	struct pyval args;
	size_t next;
	int used, safe;
};

static int next_arg(struct percent *p, struct pyval *v)
{
	if (p->args.type == PY_TUPLE) {
		if (p->next >= p->args.l->n)
			return py_fail(p->r, "not enough arguments for format string");
		*v = p->args.l->at[p->next++];
		return p->r->rc;
	}
	if (p->next++)
		return py_fail(p->r, "not enough arguments for format string");
	*v = p->args;
	return p->r->rc;
}

static int key_arg(struct percent *p, const struct pystr *s, size_t *i, struct pyval *v)
{
	size_t from = ++*i, at;
	struct pyval key;

	while (*i < s->len && s->at[*i] != ')')
		++*i;
	if (*i >= s->len || p->args.type != PY_DICT)
		return py_fail(p->r, *i >= s->len ? "incomplete format key"
		                                  : "format requires a mapping");
	TRY(py_sub(p->r, &key, s, from, *i - from));
	++*i;
	TRY(pydict_find(p->r, p->args.d, key, &at));
	if (at >= p->args.d->n)
		return py_fail(p->r, "no such key in the arguments of a format");
	*v = p->args.d->at[at].v;
	p->used = 1;
	return p->r->rc;
}

static int star_or_number(struct percent *p, const struct pystr *s, size_t *i, int *n)
{
	struct pyval v;

	if (*i >= s->len || s->at[*i] != '*') {
		*n = parse_width(s, i);
		return p->r->rc;
	}
	++*i;
	TRY(next_arg(p, &v));
	if (!py_is_int(v) || v.i > WIDEST || v.i < -WIDEST)
		return py_fail(p->r, "* needs a small integer");
	*n = (int)v.i;
	return p->r->rc;
}

static int percent_text(struct percent *p, struct pysb *b, const struct spec *f, struct pyval v)
{
	struct pysb t = { .r = p->r };
	struct pyval text;

	if (f->type == 'c' && v.type == PY_INT) {
		if (v.i < 0 || v.i > 0x10ffff)
			return py_fail(p->r, "%%c arg not in range(0x110000)");
		pysb_cp(&t, (uint32_t)v.i, PY_FROM_TEMPLATE);
	} else if (f->type == 'r' || f->type == 'a') {
		py_repr(&t, v);
	} else {
		py_text(&t, v);
	}
	TRY(pysb_done(&t, &text));
	if (p->safe)
		TRY(py_escape(p->r, &text, text.s));
	if (f->type == 'c' && py_chars(p->r, text.s) != 1)
		return py_fail(p->r, "%%c requires int or char");
	if (f->precision >= 0 && f->type != 'c') {
		const struct pyval to[3] = { { 0 }, py_int(f->precision), { 0 } };
		TRY(py_slice(p->r, text, to, &text));
	}
	pad_to_width(b, f, text.s, f->minus ? '<' : '>');
	return p->r->rc;
}

static int percent_one(struct percent *p, struct pysb *b, struct spec *f, struct pyval v)
{
	char s[700];

	if (strchr("sracb", f->type) && f->type != 'b') {
		f->zero = 0;
		return percent_text(p, b, f, v);
	}
	f->type = f->type == 'u' ? 'd' : f->type;
	if (!strchr("dixXoeEfFgG", f->type))
		return py_fail(p->r, "unsupported format character '%c'",
		               f->type >= ' ' && f->type < 127 ? f->type : '?');
	if (!py_is_num(v))
		return v.type == PY_UNDEF
		               ? py_undef_fail(p->r, v)
		               : py_fail(p->r, "%%%c format: a number is required, not %s", f->type,
		                         py_type_name(v));
	if (format_number(p->r, f, v, s, sizeof s))
		return py_fail(p->r, "%%%c format: an integer is required, not %s", f->type,
		               py_type_name(v));
	f->zero = f->zero && !f->minus;
	pad_to_width(b, f, &(struct pystr){ .at = s, .len = strlen(s) },
	             f->minus  ? '<'
	             : f->zero ? '='
	                       : '>');
	return p->r->rc;
}

static int parse_conversion(struct percent *p, struct pysb *b, const struct pystr *s, size_t *i)
{
	struct spec f = { .precision = -1 };
	struct pyval v = { 0 };
	const char *flag;

	TRY(py_spend(p->r, 1));
	if (*i < s->len && s->at[*i] == '(')
		TRY(key_arg(p, s, i, &v));
	for (; *i < s->len && s->at[*i] && (flag = strchr("-+ #0", s->at[*i])); ++*i)
		*(*flag == '-'   ? &f.minus
		  : *flag == '+' ? &f.plus
		  : *flag == ' ' ? &f.space
		  : *flag == '#' ? &f.alt
		                 : &f.zero) = 1;
	TRY(star_or_number(p, s, i, &f.width));
	if (f.width < 0) {
		f.minus = 1;
		f.width = -f.width;
	}
	if (*i < s->len && s->at[*i] == '.') {
		++*i;
		TRY(star_or_number(p, s, i, &f.precision));
		f.precision = f.precision < 0 ? 0 : f.precision;
	}
	while (*i < s->len && (s->at[*i] == 'l' || s->at[*i] == 'h' || s->at[*i] == 'L'))
		++*i;
	if (*i >= s->len)
		return py_fail(p->r, "incomplete format");
	f.type = s->at[(*i)++];
	if (f.type == '%') {
		pysb_lit(b, "%");
		return p->r->rc;
	}
	if (!v.type)
		TRY(next_arg(p, &v));
	return f.type ? percent_one(p, b, &f, v) : py_fail(p->r, "unsupported format character");
}

int py_percent(struct pyrun *r, const struct pystr *s, struct pyval args, struct pyval *out)
{
	struct percent p = { r, args, 0, 0, s->safe };
	struct pysb b = { .r = r };

	TRY(py_spend(r, s->len / PY_STEP_READ));
	for (size_t i = 0; i < s->len && !r->rc;) {
		const char *at = memchr(s->at + i, '%', s->len - i);
		size_t n = at ? (size_t)(at - s->at) - i : s->len - i;
		pysb_sub(&b, s, i, n);
		i += n + 1;
		if (at)
			TRY(parse_conversion(&p, &b, s, &i));
	}
	size_t given = args.type == PY_TUPLE ? args.l->n : 1;
	if (p.next < given && args.type != PY_DICT && args.type != PY_LIST &&
	    args.type != PY_RANGE && args.type != PY_UNDEF)
		return py_fail(r, "not all arguments converted during string formatting");
	TRY(pysb_done(&b, out));
	((struct pystr *)(uintptr_t)out->s)->safe = s->safe;
	return INFER_OK;
}

/* ---- format ---- */

struct field {
	struct pyrun *r;
	struct pycall *c;
	int64_t next;
	int depth, numbered;
};

/* Evaluate a field name, s[from .. to), such as 0.name[key]. */
static int field_value(struct field *f, const struct pystr *s, size_t from, size_t to,
                       struct pyval *v)
{
	size_t i = from;
	int64_t k;

	while (i < to && s->at[i] != '.' && s->at[i] != '[')
		i++;
	struct pystr part = { .at = s->at + from, .len = i - from };
	int named = part.len && pystr_int(f->r, &part, 10, &k);
	TRY(f->r->rc);
	if (!named && (part.len ? f->next > 0 : f->numbered))
		return py_fail(f->r, "cannot switch between manual and automatic field numbering");
	if (!named && part.len)
		f->numbered = 1;
	if (!part.len)
		k = f->next++;
	if (!named) {
		if (k < 0 || k >= (int64_t)f->c->n)
			return py_fail(
				f->r,
				"Replacement index %lld out of range for positional args tuple",
				(long long)k);
		*v = f->c->pos[k];
	} else {
		uint32_t at = 0;
		TRY(py_spend(f->r, f->c->nkw / PY_STEP_ITEMS));
		while (at < f->c->nkw && (f->c->name[at]->len != part.len ||
		                          memcmp(f->c->name[at]->at, part.at, part.len)))
			at++;
		if (at == f->c->nkw)
			return py_fail(f->r, "no argument '%.*s' for a format",
			               (int)(part.len & 63), part.at);
		*v = f->c->kw[at];
	}
	while (i < to && !py_spend(f->r, 1)) {
		size_t end = i + 1;
		struct pyval key, got;
		while (end < to && (s->at[i] == '[' ? s->at[end] != ']'
		                                    : s->at[end] != '.' && s->at[end] != '['))
			end++;
		if ((s->at[i] != '.' && s->at[i] != '[') || (s->at[i] == '[' && end >= to))
			return py_fail(f->r, "malformed field in a format");
		struct pystr name = { .at = s->at + i + 1, .len = end - i - 1 };
		TRY(py_sub(f->r, &key, &name, 0, name.len));
		if (s->at[i] == '[' && !pystr_int(f->r, &name, 10, &k))
			key = py_int(k);
		TRY(f->r->rc);
		TRY(s->at[i] == '.' ? py_attr(f->r, *v, key.s, &got)
		                    : py_item(f->r, *v, key, &got));
		i = end + (s->at[i] == '[');
		*v = got;
	}
	return f->r->rc;
}

/* Parse [[fill]align][sign][#][0][width][,][.precision][type]. */
static int parse_spec(struct pyrun *r, const struct pystr *s, struct spec *f)
{
	size_t i = 0, k = 1;

	*f = (struct spec){ .precision = -1 };
	while (k < s->len && (s->at[k] & 0xc0) == 0x80)
		k++;
	if (k < s->len && strchr("<>^=", s->at[k])) {
		f->fill = *s;
		f->fill.len = k;
		f->align = s->at[k];
		i = k + 1;
	} else if (s->len && s->at[0] && strchr("<>^=", s->at[0])) {
		f->align = s->at[i++];
	}
	if (i < s->len && s->at[i] && strchr("+- ", s->at[i])) {
		f->plus = s->at[i] == '+';
		f->space = s->at[i++] == ' ';
	}
	if (i < s->len && s->at[i] == '#')
		f->alt = !!++i;
	if (i < s->len && s->at[i] == '0')
		f->zero = !!++i;
	f->width = parse_width(s, &i);
	if (i < s->len && s->at[i] == ',')
		f->comma = !!++i;
	if (i < s->len && s->at[i] == '.') {
		i++;
		f->precision = parse_width(s, &i);
	}
	if (i < s->len)
		f->type = s->at[i++];
	return i < s->len ? py_fail(r, "invalid format specifier") : r->rc;
}

static int put_field(struct field *f, struct pysb *b, struct pyval v, const struct pystr *spec)
{
	struct spec how;
	char s[700];

	if (!spec->len) {
		py_text(b, v);
		return f->r->rc;
	}
	TRY(parse_spec(f->r, spec, &how));
	if (py_is_num(v) && v.type != PY_BOOL) {
		if (!how.type && v.type == PY_FLOAT && how.precision < 0) {
			TRY(py_spend(f->r, PY_STEP_DIGITS));
			py_float_repr(s, v.f);
		} else {
			if (!how.type)
				how.type = v.type == PY_FLOAT ? 'g' : 'd';
			if ((how.type == 'd' && v.type == PY_FLOAT) ||
			    format_number(f->r, &how, v, s, sizeof s))
				return py_fail(f->r, "unknown format code for '%s'",
				               py_type_name(v));
		}
		char side = how.align ? how.align : how.zero ? '=' : '>';
		pad_to_width(b, &how, &(struct pystr){ .at = s, .len = strlen(s) }, side);
		return f->r->rc;
	}
	if (v.type != PY_STR || (how.type && how.type != 's') || how.align == '=' || how.comma ||
	    how.plus || how.space)
		return py_fail(f->r, "unsupported format specifier for '%s'", py_type_name(v));
	if (how.precision >= 0) {
		const struct pyval to[3] = { { 0 }, py_int(how.precision), { 0 } };
		TRY(py_slice(f->r, v, to, &v));
	}
	pad_to_width(b, &how, v.s, how.align ? how.align : '<');
	return f->r->rc;
}

static int format_fields(struct field *f, struct pysb *b, const struct pystr *s);

/* Append the replacement of {name!r:spec}. *i: offset after the opening brace, set to that after
 * the closing one. */
static int format_replacement(struct field *f, struct pysb *b, const struct pystr *s, size_t *i)
{
	size_t from = *i, end = from, nest = 1, name, spec;
	struct pysb t = { .r = f->r };
	struct pyval v, text;

	for (; end < s->len; end++) {
		nest += s->at[end] == '{';
		nest -= s->at[end] == '}';
		if (!nest)
			break;
	}
	if (end >= s->len)
		return py_fail(f->r, "expected '}' before end of string");
	for (name = from; name < end && s->at[name] != '!' && s->at[name] != ':'; name++)
		;
	spec = name + (s->at[name] == '!' ? 2 : 0);
	*i = end + 1;
	TRY(field_value(f, s, from, name, &v));
	if (s->at[name] == '!') {
		if (spec > end || !strchr("rsa", s->at[name + 1]))
			return py_fail(f->r, "unknown conversion specifier in a format");
		if (s->at[name + 1] == 's')
			py_text(&t, v);
		else
			py_repr(&t, v);
		TRY(pysb_done(&t, &v));
	}
	if (spec < end && s->at[spec] != ':')
		return py_fail(f->r, "expected ':' after conversion specifier");
	struct pystr how = *s;
	how.at += spec < end ? spec + 1 : end;
	how.len = spec < end ? end - spec - 1 : 0;
	how.mask = s->mask ? s->mask + (how.at - s->at) : NULL;
	t = (struct pysb){ .r = f->r };
	TRY(format_fields(f, &t, &how));
	TRY(pysb_done(&t, &text));
	return put_field(f, b, v, text.s);
}

static int format_fields(struct field *f, struct pysb *b, const struct pystr *s)
{
	if (++f->depth > 2)
		return py_fail(f->r, "Max string recursion exceeded");
	TRY(py_spend(f->r, s->len / PY_STEP_READ));
	for (size_t i = 0; i < s->len && !f->r->rc;) {
		size_t n = i;
		while (n < s->len && s->at[n] != '{' && s->at[n] != '}')
			n++;
		pysb_sub(b, s, i, n - i);
		py_spend(f->r, 1);
		i = n;
		if (i < s->len && i + 1 < s->len && s->at[i + 1] == s->at[i]) {
			pysb_sub(b, s, i, 1);
			i += 2;
		} else if (i < s->len && s->at[i++] == '}') {
			return py_fail(f->r, "single '}' encountered in format string");
		} else if (i <= s->len && n < s->len) {
			TRY(format_replacement(f, b, s, &i));
		}
	}
	f->depth--;
	return f->r->rc;
}

int py_format(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct field f = { .r = r, .c = c };
	struct pysb b = { .r = r };

	if (c->self.s->safe)
		return py_fail(r, "format of a safe string is not supported");
	TRY(format_fields(&f, &b, c->self.s));
	return pysb_done(&b, out);
}
