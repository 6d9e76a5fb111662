/* pyval/str.c - strings that know where their bytes come from: growing, joining, str() and
 * repr(). */
#include "pyval/str.h"
#include "base/err.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- growing ---- */

static int grow(struct jsb *b, size_t more)
{
	struct jrun *r = b->r;
	size_t cap = b->cap ? b->cap * 2 : 64;

	if (r->rc)
		return r->rc;
	if (more > r->bytes_max - r->bytes)
		return jinja_full(r);
	if (cap < b->len + more)
		cap = b->len + more;
	char *at = jinja_take(r, cap, 1);
	uint8_t *mask = b->from == JFROM_MIXED ? jinja_take(r, cap, 1) : NULL;
	if (r->rc)
		return r->rc;
	if (b->len) {
		memcpy(at, b->at, b->len);
		if (mask)
			memcpy(mask, b->mask, b->len);
	}
	b->at = at;
	b->mask = mask;
	b->cap = cap;
	return INFER_OK;
}

/* Make room for n bytes from `from`, known byte by byte where that is mixed. */
static int room(struct jsb *b, size_t n, enum jfrom from)
{
	if (n > b->cap - b->len && grow(b, n))
		return b->r->rc;
	if (!b->len) {
		b->from = (uint8_t)from;
		if (from == JFROM_MIXED)
			b->mask = jinja_take(b->r, b->cap, 1);
	} else if (b->from != from && b->from != JFROM_MIXED) {
		b->mask = jinja_take(b->r, b->cap, 1);
		if (b->mask)
			memset(b->mask, b->from, b->len);
		b->from = JFROM_MIXED;
	}
	return jinja_spend(b->r, n / JSTEP_COPY);
}

void jsb_put(struct jsb *b, const char *s, size_t n, enum jfrom from)
{
	if (!n || room(b, n, from))
		return;
	memcpy(b->at + b->len, s, n);
	if (b->from == JFROM_MIXED)
		memset(b->mask + b->len, from, n);
	b->len += n;
}

void jsb_sub(struct jsb *b, const struct jstr *s, size_t at, size_t n)
{
	if (s->from != JFROM_MIXED) {
		jsb_put(b, s->at + at, n, s->from);
	} else if (n && !room(b, n, JFROM_MIXED)) {
		memcpy(b->at + b->len, s->at + at, n);
		memcpy(b->mask + b->len, s->mask + at, n);
		b->len += n;
	}
}

void jsb_lit(struct jsb *b, const char *s) { jsb_put(b, s, strlen(s), JFROM_TEMPLATE); }

void jsb_cp(struct jsb *b, uint32_t cp, enum jfrom from)
{
	char s[4];

	jsb_put(b, s, (size_t)utf8_put(s, cp), from);
}

void jsb_fill(struct jsb *b, const struct jstr *s, size_t times)
{
	size_t n;

	if (__builtin_mul_overflow(s->len, times, &n))
		n = SIZE_MAX / 2;
	if (!n || room(b, n, s->from)) /* refused here before a single byte is written */
		return;
	/* what was put already is put again, twice as much each time */
	for (size_t done = 0, part; done < n; done += part) {
		part = !done ? s->len : n - done < done ? n - done : done;
		memcpy(b->at + b->len, done ? b->at + b->len - done : s->at, part);
		if (b->from == JFROM_MIXED && done)
			memcpy(b->mask + b->len, b->mask + b->len - done, part);
		else if (b->from == JFROM_MIXED && s->from == JFROM_MIXED)
			memcpy(b->mask + b->len, s->mask, part);
		else if (b->from == JFROM_MIXED)
			memset(b->mask + b->len, s->from, part);
		b->len += part;
	}
}

int jsb_done(struct jsb *b, struct jv *out)
{
	if (b->r->rc)
		return b->r->rc;
	struct jstr s = {
		.at = b->at ? b->at : "", .len = b->len, .from = b->from, .mask = b->mask
	};
	if (!s.len)
		s.from = JFROM_TEMPLATE;
	if (s.from != JFROM_MIXED)
		s.mask = NULL;
	return jv_sub(b->r, out, &s, 0, s.len);
}

/* ---- joining two ---- */

/* Bytes with spare capacity.  A string that ends at the end of the used part can be appended to in
 * place: the bytes before are not changed, so strings that share them stay valid, and building a
 * string piece by piece takes linear time. */
struct jchunk {
	struct jsb b;
};

static int concat_new(struct jrun *r, struct jchunk **out, const struct jstr *a,
                      const struct jstr *b)
{
	struct jchunk *c = jinja_take(r, 1, sizeof *c);

	if (!c)
		return r->rc;
	c->b.r = r;
	if (a->len + b->len > 256) {
		c->b.cap = 2 * (a->len + b->len);
		if (c->b.cap > r->bytes_max - r->bytes)
			c->b.cap = a->len + b->len;
		c->b.at = jinja_take(r, c->b.cap, 1);
		if (!c->b.at)
			return r->rc;
	}
	jsb_str(&c->b, a);
	*out = c;
	return r->rc;
}

int jv_concat(struct jrun *r, struct jv *out, const struct jstr *a, const struct jstr *b)
{
	struct jchunk *c = a->chunk;
	struct jstr s = { 0 };

	if (a->safe != b->safe) {
		struct jv v;
		TRY(jv_escape(r, &v, a->safe ? b : a));
		return a->safe ? jv_concat(r, out, a, v.s) : jv_concat(r, out, v.s, b);
	}
	if (!a->len && !b->len)
		return jv_sub(r, out, a, 0, 0); /* a chunk of no bytes has no address */
	if (!c || a->at + a->len != c->b.at + c->b.len || b->len > c->b.cap - c->b.len)
		TRY(concat_new(r, &c, a, b));
	size_t end = c->b.len;
	jsb_str(&c->b, b);
	if (r->rc)
		return r->rc;
	s.at = c->b.at + end - a->len;
	s.from = c->b.from;
	s.mask = s.from == JFROM_MIXED ? c->b.mask + end - a->len : NULL;
	s.chunk = c;
	s.safe = a->safe;
	return jv_sub(r, out, &s, 0, a->len + b->len);
}

/* Compare, and charge for it, wherever the first byte matches.  memmem is not used, since its time
 * depends on the contents of the strings. */
size_t jstr_find(struct jrun *r, const struct jstr *s, size_t from, size_t to,
                 const struct jstr *what)
{
	size_t n = what->len, end = to - from >= n ? to - n + 1 : from, i = from;

	if (!n)
		return from;
	for (const char *p; i < end && (p = memchr(s->at + i, what->at[0], end - i)); i++) {
		if (jinja_spend(r, 1 + ((size_t)(p - s->at) - i + n) / JSTEP_COPY))
			return SIZE_MAX;
		i = (size_t)(p - s->at);
		if (!memcmp(p, what->at, n))
			return i;
	}
	jinja_spend(r, (to - i) / JSTEP_COPY);
	return SIZE_MAX;
}

size_t jstr_rfind(struct jrun *r, const struct jstr *s, size_t from, size_t to,
                  const struct jstr *what)
{
	size_t n = what->len, i = to - from >= n ? to - n + 1 : from;

	if (!n)
		return to;
	for (const char *p; i > from && (p = memrchr(s->at + from, what->at[0], i - from));
	     i = (size_t)(p - s->at)) {
		if (jinja_spend(r, 1 + (i - (size_t)(p - s->at) + n) / JSTEP_COPY))
			return SIZE_MAX;
		if (!memcmp(p, what->at, n))
			return (size_t)(p - s->at);
	}
	jinja_spend(r, (i - from) / JSTEP_COPY);
	return SIZE_MAX;
}

int jv_escape(struct jrun *r, struct jv *out, const struct jstr *s)
{
	static const char *const to[] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&#34;", ['\''] = "&#39;"
	};
	struct jsb b = { .r = r };
	size_t from = 0;

	if (s->safe)
		return jv_sub(r, out, s, 0, s->len);
	TRY(jinja_spend(r, s->len / JSTEP_LOOK));
	for (size_t i = 0; i <= s->len && !r->rc; i++) {
		unsigned char c = i < s->len ? (unsigned char)s->at[i] : 0;
		if (i < s->len && (c >= sizeof to / sizeof *to || !to[c]))
			continue;
		jsb_sub(&b, s, from, i - from);
		from = i + 1;
		jinja_spend(r, 1);
		if (i < s->len)
			jsb_put(&b, to[c], strlen(to[c]), jstr_from(s, i));
	}
	TRY(jsb_done(&b, out));
	((struct jstr *)(uintptr_t)out->s)->safe = 1; /* made here, not seen by anybody yet */
	return INFER_OK;
}

/* ---- str() and repr() ---- */

/* The shortest digits that read back as f: fewer than 15 are what 15 begin with. */
static int digits(char s[40], double f)
{
	char t[40];
	int prec = fabs(f) < 0x1p-1022 ? 1 : 15; /* the smallest numbers hold fewer */

	for (; prec <= 17; prec++) {
		snprintf(t, sizeof t, "%.*e", prec - 1, f);
		if (strtod(t, NULL) == f)
			break;
	}
	char *e = strchr(t, 'e');
	int n = 0;
	for (char *p = t; p < e; p++)
		if (*p >= '0' && *p <= '9')
			s[n++] = *p;
	while (n > 1 && s[n - 1] == '0')
		n--;
	s[n] = 0;
	return atoi(e + 1);
}

const char *jinja_int(char s[40], int64_t i)
{
	uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;
	char *p = s + 39;

	*p = 0;
	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (i < 0)
		*--p = '-';
	return p;
}

void jinja_float(char out[40], double f)
{
	char d[40];

	if (!isfinite(f)) {
		strcpy(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
		return;
	}
	int e = digits(d, f), n = (int)strlen(d);
	if (signbit(f))
		*out++ = '-';
	if (e < -4 || e >= 16) {
		snprintf(out, 39, n > 1 ? "%c.%.20se%c%02d" : "%c%.20se%c%02d", d[0], d + 1,
		         e < 0 ? '-' : '+', e < 0 ? -e : e);
	} else if (e < 0) {
		snprintf(out, 39, "0.%.*s%.20s", -e - 1, "0000", d);
	} else {
		for (int i = 0; i <= e; i++)
			*out++ = i < n ? d[i] : '0';
		snprintf(out, 20, ".%s", n > e + 1 ? d + e + 1 : "0");
	}
}

static int printable(uint32_t cp) { return cp == ' ' || !(unicode_set(cp) & (UNI_C | UNI_Z)); }

static void repr_cp(struct jsb *b, uint32_t cp, char quote, enum jfrom from)
{
	char s[16];

	if (cp == (unsigned char)quote || cp == '\\')
		snprintf(s, sizeof s, "\\%c", (char)cp);
	else if (cp == '\n' || cp == '\r' || cp == '\t')
		snprintf(s, sizeof s, "\\%c", cp == '\n' ? 'n' : cp == '\r' ? 'r' : 't');
	else
		snprintf(s, sizeof s,
		         cp < 0x100     ? "\\x%02x"
		         : cp < 0x10000 ? "\\u%04x"
		                        : "\\U%08x",
		         (unsigned)cp);
	jsb_put(b, s, strlen(s), from);
}

static void repr_str(struct jsb *b, const struct jstr *s)
{
	char quote[2] = "'";
	uint32_t cp;

	if (jinja_spend(b->r, s->len / JSTEP_READ))
		return;
	if (memchr(s->at, '\'', s->len) && !memchr(s->at, '"', s->len))
		quote[0] = '"';
	if (s->safe)
		jsb_lit(b, "Markup(");
	jsb_lit(b, quote);
	size_t plain = 0; /* from here on nothing is escaped */
	for (size_t i = 0, next; i < s->len && !b->r->rc; i = next) {
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		if (cp != (unsigned char)quote[0] && cp != '\\' && printable(cp))
			continue;
		jsb_sub(b, s, plain, i - plain);
		repr_cp(b, cp, quote[0], jstr_from(s, i));
		plain = next;
		jinja_spend(b->r, 2);
	}
	jsb_sub(b, s, plain, s->len - plain);
	jsb_lit(b, quote);
	if (s->safe)
		jsb_lit(b, ")");
}

static void repr_list(struct jsb *b, const struct jlist *l, const char *open, const char *close)
{
	jsb_lit(b, open);
	for (size_t i = 0; i < l->n && !b->r->rc; i++) {
		if (i)
			jsb_lit(b, ", ");
		jv_repr(b, l->at[i]);
	}
	if (l->n == 1 && *open == '(')
		jsb_lit(b, ",");
	jsb_lit(b, close);
}

static void repr_dict(struct jsb *b, const struct jdict *d, char what)
{
	jsb_lit(b, what == 'd' ? "{" : "[");
	for (size_t i = 0; i < d->n && !b->r->rc; i++) {
		if (i)
			jsb_lit(b, ", ");
		if (what == 'i')
			jsb_lit(b, "(");
		if (what != 'v')
			jv_repr(b, d->at[i].k);
		if (what == 'd' || what == 'i')
			jsb_lit(b, what == 'd' ? ": " : ", ");
		if (what != 'k')
			jv_repr(b, d->at[i].v);
		if (what == 'i')
			jsb_lit(b, ")");
	}
	jsb_lit(b, what == 'd' ? "}" : "]");
}

static void repr_other(struct jsb *b, struct jv v)
{
	char s[96];

	if (v.type == J_MACRO) {
		jsb_lit(b, "<Macro ");
		repr_str(b, b->r->host->macro_name(v));
		jsb_lit(b, ">");
		return;
	}
	if (v.type == J_SELF) {
		jsb_lit(b, "<TemplateReference None>");
		return;
	}
	if (v.type != J_RANGE) { /* Python prints its address */
		jinja_fail(b->r, "the text of a %s is not supported", jv_type_name(v));
		return;
	}
	snprintf(s, sizeof s, v.range->step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
	         (long long)v.range->start, (long long)v.range->stop, (long long)v.range->step);
	jsb_lit(b, s);
}

static void repr_nested(struct jsb *b, struct jv v)
{
	if (jinja_enter(b->r))
		return;
	switch (v.type) {
	case J_LIST:
		repr_list(b, v.l, "[", "]");
		break;
	case J_TUPLE:
		repr_list(b, v.l, "(", ")");
		break;
	case J_DICT:
		repr_dict(b, v.d, 'd');
		break;
	case J_NS:
		jsb_lit(b, "<Namespace ");
		repr_dict(b, v.d, 'd');
		jsb_lit(b, ">");
		break;
	default:
		jsb_lit(b, v.view->what == 'k'   ? "dict_keys("
		           : v.view->what == 'v' ? "dict_values("
		                                 : "dict_items(");
		repr_dict(b, v.view->d, v.view->what);
		jsb_lit(b, ")");
	}
	b->r->depth--;
}

void jv_repr(struct jsb *b, struct jv v)
{
	char s[40];

	if (jinja_spend(b->r, 1))
		return;
	switch (v.type) {
	case J_UNDEF:
		jsb_lit(b, "Undefined");
		return;
	case J_NONE:
		jsb_lit(b, "None");
		return;
	case J_BOOL:
		jsb_lit(b, v.i ? "True" : "False");
		return;
	case J_INT:
		jsb_lit(b, jinja_int(s, v.i));
		return;
	case J_FLOAT:
		jinja_spend(b->r, JSTEP_DIGITS);
		jinja_float(s, v.f);
		jsb_lit(b, s);
		return;
	case J_STR:
		repr_str(b, v.s);
		return;
	case J_LIST:
	case J_TUPLE:
	case J_DICT:
	case J_NS:
	case J_VIEW:
		repr_nested(b, v);
		return;
	default:
		repr_other(b, v);
	}
}

void jv_text(struct jsb *b, struct jv v)
{
	if (v.type == J_STR)
		jsb_str(b, v.s);
	else if (v.type != J_UNDEF)
		jv_repr(b, v);
}

int jv_to_str(struct jrun *r, struct jv v, const struct jstr **s)
{
	struct jsb b = { .r = r };
	struct jv out;

	*s = NULL;
	if (v.type == J_STR) {
		*s = v.s;
		return r->rc;
	}
	jv_text(&b, v);
	TRY(jsb_done(&b, &out));
	*s = out.s;
	return INFER_OK;
}

/* ---- numbers in strings ---- */

/* s without white space around it and underscores between digits; 0: too long, or it cannot be a
 * number. */
static size_t number_text(const struct jstr *s, char *out, size_t cap)
{
	size_t i = 0, n = s->len, k = 0;

	while (i < n && strchr(" \t\n\r\f\v", s->at[i]) && s->at[i])
		i++;
	while (n > i && strchr(" \t\n\r\f\v", s->at[n - 1]) && s->at[n - 1])
		n--;
	for (; i < n; i++) {
		char c = s->at[i];
		if (c == '_' && k && i + 1 < n && s->at[i + 1] != '_' && s->at[i - 1] != '_' &&
		    s->at[i - 1] != '+' && s->at[i - 1] != '-')
			continue;
		if (c == '_' || !c || k + 1 >= cap)
			return 0;
		out[k++] = c;
	}
	out[k] = 0;
	return k;
}

int jstr_float(struct jrun *r, const struct jstr *s, double *f)
{
	char t[400], *end, *p = t;
	const char *point = localeconv()->decimal_point;

	*f = 0;
	TRY(jinja_spend(r, JSTEP_DIGITS + s->len / JSTEP_READ));
	/* C's hexadecimal and nan(...) are not Python's */
	if (!number_text(s, t, sizeof t) || strpbrk(t, "xXpP(_"))
		return 1;
	if (*point != '.' && !point[1] && strchr(t, '.'))
		*strchr(t, '.') = *point;
	*f = strtod(p, &end);
	return *end || end == t;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 10
	       : c >= 'A' && c <= 'Z' ? c - 'A' + 10
	                              : 99;
}

int jstr_int(struct jrun *r, const struct jstr *s, int base, int64_t *v)
{
	char t[400], *p = t;
	int minus;

	*v = 0;
	TRY(jinja_spend(r, s->len / JSTEP_READ));
	if (!number_text(s, t, sizeof t))
		return 1;
	minus = *p == '-';
	p += *p == '-' || *p == '+';
	int had = *p == '0' ? p[1] | 32 : 0, prefix = had == 'x'   ? 16
	                                              : had == 'o' ? 8
	                                              : had == 'b' ? 2
	                                                           : 0;
	if (prefix && (base == prefix || base == 0)) {
		base = prefix;
		p += 2;
	} else if (base == 0) {
		base = 10;
		if (*p == '0' && strspn(p, "0") != strlen(p))
			return 1;
	}
	if (!*p)
		return 1;
	for (; *p; p++) {
		int d = digit_of(*p);
		if (d >= base)
			return 1;
		if (__builtin_mul_overflow(*v, (int64_t)base, v) ||
		    __builtin_sub_overflow(*v, (int64_t)d, v))
			return jinja_fail(r, "an integer beyond 64 bits is not supported");
	}
	if (!minus && __builtin_sub_overflow((int64_t)0, *v, v))
		return jinja_fail(r, "an integer beyond 64 bits is not supported");
	return 0;
}
