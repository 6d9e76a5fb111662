/* pyval/str.c - strings with the origin of their bytes: builders, joining, searching, str(),
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

static int grow_builder(struct pysb *b, size_t more)
{
	struct pyrun *r = b->r;
	size_t cap = b->cap ? b->cap * 2 : 64;

	if (r->rc)
		return r->rc;
	if (more > r->bytes_max - r->bytes)
		return py_fail_bytes(r);
	if (cap < b->len + more)
		cap = b->len + more;
	char *at = py_alloc(r, cap, 1);
	uint8_t *mask = b->from == PY_FROM_MIXED ? py_alloc(r, cap, 1) : NULL;
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

/* Make room for n more bytes of this origin. Start to record the origin of each byte if it differs
 * from that of earlier bytes. */
static int reserve_bytes(struct pysb *b, size_t n, enum py_origin from)
{
	if (n > b->cap - b->len && grow_builder(b, n))
		return b->r->rc;
	if (!b->len) {
		b->from = (uint8_t)from;
		if (from == PY_FROM_MIXED)
			b->mask = py_alloc(b->r, b->cap, 1);
	} else if (b->from != from && b->from != PY_FROM_MIXED) {
		b->mask = py_alloc(b->r, b->cap, 1);
		if (b->mask)
			memset(b->mask, b->from, b->len);
		b->from = PY_FROM_MIXED;
	}
	return py_spend(b->r, n / PY_STEP_COPY);
}

void pysb_put(struct pysb *b, const char *s, size_t n, enum py_origin from)
{
	if (!n || reserve_bytes(b, n, from))
		return;
	memcpy(b->at + b->len, s, n);
	if (b->from == PY_FROM_MIXED)
		memset(b->mask + b->len, from, n);
	b->len += n;
}

void pysb_sub(struct pysb *b, const struct pystr *s, size_t at, size_t n)
{
	if (s->from != PY_FROM_MIXED) {
		pysb_put(b, s->at + at, n, s->from);
	} else if (n && !reserve_bytes(b, n, PY_FROM_MIXED)) {
		memcpy(b->at + b->len, s->at + at, n);
		memcpy(b->mask + b->len, s->mask + at, n);
		b->len += n;
	}
}

void pysb_lit(struct pysb *b, const char *s) { pysb_put(b, s, strlen(s), PY_FROM_TEMPLATE); }

void pysb_cp(struct pysb *b, uint32_t cp, enum py_origin from)
{
	char s[4];

	pysb_put(b, s, (size_t)utf8_put(s, cp), from);
}

void pysb_fill(struct pysb *b, const struct pystr *s, size_t times)
{
	size_t n;

	if (__builtin_mul_overflow(s->len, times, &n))
		n = SIZE_MAX / 2;
	if (!n || reserve_bytes(b, n, s->from))
		return;
	/* copy what was appended so far, doubling it each time */
	for (size_t done = 0, part; done < n; done += part) {
		part = !done ? s->len : n - done < done ? n - done : done;
		memcpy(b->at + b->len, done ? b->at + b->len - done : s->at, part);
		if (b->from == PY_FROM_MIXED && done)
			memcpy(b->mask + b->len, b->mask + b->len - done, part);
		else if (b->from == PY_FROM_MIXED && s->from == PY_FROM_MIXED)
			memcpy(b->mask + b->len, s->mask, part);
		else if (b->from == PY_FROM_MIXED)
			memset(b->mask + b->len, s->from, part);
		b->len += part;
	}
}

int pysb_done(struct pysb *b, struct pyval *out)
{
	if (b->r->rc)
		return b->r->rc;
	struct pystr s = {
		.at = b->at ? b->at : "", .len = b->len, .from = b->from, .mask = b->mask
	};
	if (!s.len)
		s.from = PY_FROM_TEMPLATE;
	if (s.from != PY_FROM_MIXED)
		s.mask = NULL;
	return py_sub(b->r, out, &s, 0, s.len);
}

/* ---- joining two ---- */

/* A buffer with spare capacity. A string that ends at the end of its used part is appended to in
 * place. Its bytes do not change, so strings that share them stay valid. So building a string piece
 * by piece takes linear time. */
struct pychunk {
	struct pysb b;
};

static int concat_new(struct pyrun *r, struct pychunk **out, const struct pystr *a,
                      const struct pystr *b)
{
	struct pychunk *c = py_alloc(r, 1, sizeof *c);

	if (!c)
		return r->rc;
	c->b.r = r;
	if (a->len + b->len > 256) {
		c->b.cap = 2 * (a->len + b->len);
		if (c->b.cap > r->bytes_max - r->bytes)
			c->b.cap = a->len + b->len;
		c->b.at = py_alloc(r, c->b.cap, 1);
		if (!c->b.at)
			return r->rc;
	}
	pysb_str(&c->b, a);
	*out = c;
	return r->rc;
}

int py_concat(struct pyrun *r, struct pyval *out, const struct pystr *a, const struct pystr *b)
{
	struct pychunk *c = a->chunk;
	struct pystr s = { 0 };

	if (a->safe != b->safe) {
		struct pyval v;
		TRY(py_escape(r, &v, a->safe ? b : a));
		return a->safe ? py_concat(r, out, a, v.s) : py_concat(r, out, v.s, b);
	}
	if (!a->len && !b->len)
		return py_sub(r, out, a, 0, 0); /* an empty chunk has no address */
	if (!c || a->at + a->len != c->b.at + c->b.len || b->len > c->b.cap - c->b.len)
		TRY(concat_new(r, &c, a, b));
	size_t end = c->b.len;
	pysb_str(&c->b, b);
	if (r->rc)
		return r->rc;
	s.at = c->b.at + end - a->len;
	s.from = c->b.from;
	s.mask = s.from == PY_FROM_MIXED ? c->b.mask + end - a->len : NULL;
	s.chunk = c;
	s.safe = a->safe;
	return py_sub(r, out, &s, 0, a->len + b->len);
}

/* memmem is not used: its time depends on the contents of the strings, but steps must bound it. */
size_t pystr_find(struct pyrun *r, const struct pystr *s, size_t from, size_t to,
                  const struct pystr *what)
{
	size_t n = what->len, end = to - from >= n ? to - n + 1 : from, i = from;

	if (!n)
		return from;
	for (const char *p; i < end && (p = memchr(s->at + i, what->at[0], end - i)); i++) {
		if (py_spend(r, 1 + ((size_t)(p - s->at) - i + n) / PY_STEP_COPY))
			return SIZE_MAX;
		i = (size_t)(p - s->at);
		if (!memcmp(p, what->at, n))
			return i;
	}
	py_spend(r, (to - i) / PY_STEP_COPY);
	return SIZE_MAX;
}

size_t pystr_rfind(struct pyrun *r, const struct pystr *s, size_t from, size_t to,
                   const struct pystr *what)
{
	size_t n = what->len, i = to - from >= n ? to - n + 1 : from;

	if (!n)
		return to;
	for (const char *p; i > from && (p = memrchr(s->at + from, what->at[0], i - from));
	     i = (size_t)(p - s->at)) {
		if (py_spend(r, 1 + (i - (size_t)(p - s->at) + n) / PY_STEP_COPY))
			return SIZE_MAX;
		if (!memcmp(p, what->at, n))
			return (size_t)(p - s->at);
	}
	py_spend(r, (i - from) / PY_STEP_COPY);
	return SIZE_MAX;
}

int py_escape(struct pyrun *r, struct pyval *out, const struct pystr *s)
{
	static const char *const to[] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&#34;", ['\''] = "&#39;"
	};
	struct pysb b = { .r = r };
	size_t from = 0;

	if (s->safe)
		return py_sub(r, out, s, 0, s->len);
	TRY(py_spend(r, s->len / PY_STEP_LOOK));
	for (size_t i = 0; i <= s->len && !r->rc; i++) {
		unsigned char c = i < s->len ? (unsigned char)s->at[i] : 0;
		if (i < s->len && (c >= sizeof to / sizeof *to || !to[c]))
			continue;
		pysb_sub(&b, s, from, i - from);
		from = i + 1;
		py_spend(r, 1);
		if (i < s->len)
			pysb_put(&b, to[c], strlen(to[c]), pystr_origin(s, i));
	}
	TRY(pysb_done(&b, out));
	((struct pystr *)(uintptr_t)out->s)->safe = 1; /* new, so nothing else refers to it */
	return INFER_OK;
}

/* ---- str() and repr() ---- */

/* Write the shortest digits that read back as f to s; returns the decimal exponent. If fewer than
 * 15 digits suffice, they are the first of the 15, followed by zeros. */
static int shortest_digits(char s[40], double f)
{
	char t[40];
	int prec = fabs(f) < 0x1p-1022 ? 1 : 15; /* subnormal numbers have fewer digits */

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

const char *py_int_repr(char s[40], int64_t i)
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

void py_float_repr(char out[40], double f)
{
	char d[40];

	if (!isfinite(f)) {
		strcpy(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
		return;
	}
	int e = shortest_digits(d, f), n = (int)strlen(d);
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

static int is_printable(uint32_t cp) { return cp == ' ' || !(unicode_set(cp) & (UNI_C | UNI_Z)); }

static void repr_cp(struct pysb *b, uint32_t cp, char quote, enum py_origin from)
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
	pysb_put(b, s, strlen(s), from);
}

static void repr_str(struct pysb *b, const struct pystr *s)
{
	char quote[2] = "'";
	uint32_t cp;

	if (py_spend(b->r, s->len / PY_STEP_READ))
		return;
	if (memchr(s->at, '\'', s->len) && !memchr(s->at, '"', s->len))
		quote[0] = '"';
	if (s->safe)
		pysb_lit(b, "Markup(");
	pysb_lit(b, quote);
	size_t plain = 0; /* start of the pending characters that need no escape */
	for (size_t i = 0, next; i < s->len && !b->r->rc; i = next) {
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		if (cp != (unsigned char)quote[0] && cp != '\\' && is_printable(cp))
			continue;
		pysb_sub(b, s, plain, i - plain);
		repr_cp(b, cp, quote[0], pystr_origin(s, i));
		plain = next;
		py_spend(b->r, 2);
	}
	pysb_sub(b, s, plain, s->len - plain);
	pysb_lit(b, quote);
	if (s->safe)
		pysb_lit(b, ")");
}

static void repr_list(struct pysb *b, const struct pylist *l, const char *open, const char *close)
{
	pysb_lit(b, open);
	for (size_t i = 0; i < l->n && !b->r->rc; i++) {
		if (i)
			pysb_lit(b, ", ");
		py_repr(b, l->at[i]);
	}
	if (l->n == 1 && *open == '(')
		pysb_lit(b, ",");
	pysb_lit(b, close);
}

static void repr_dict(struct pysb *b, const struct pydict *d, enum py_view what)
{
	pysb_lit(b, what == PY_PAIRS ? "{" : "[");
	for (size_t i = 0; i < d->n && !b->r->rc; i++) {
		if (i)
			pysb_lit(b, ", ");
		if (what == PY_ITEMS)
			pysb_lit(b, "(");
		if (what != PY_VALUES)
			py_repr(b, d->at[i].k);
		if (what == PY_PAIRS || what == PY_ITEMS)
			pysb_lit(b, what == PY_PAIRS ? ": " : ", ");
		if (what != PY_KEYS)
			py_repr(b, d->at[i].v);
		if (what == PY_ITEMS)
			pysb_lit(b, ")");
	}
	pysb_lit(b, what == PY_PAIRS ? "}" : "]");
}

static void repr_other(struct pysb *b, struct pyval v)
{
	char s[96];

	if (v.type == PY_MACRO) {
		pysb_lit(b, "<Macro ");
		repr_str(b, b->r->host->macro_name(v));
		pysb_lit(b, ">");
		return;
	}
	if (v.type == PY_SELF) {
		pysb_lit(b, "<TemplateReference None>");
		return;
	}
	if (v.type != PY_RANGE) { /* Python prints an address */
		py_fail(b->r, "the text of a %s is not supported", py_type_name(v));
		return;
	}
	snprintf(s, sizeof s, v.range->step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
	         (long long)v.range->start, (long long)v.range->stop, (long long)v.range->step);
	pysb_lit(b, s);
}

static void repr_nested(struct pysb *b, struct pyval v)
{
	if (py_enter(b->r))
		return;
	switch (v.type) {
	case PY_LIST:
		repr_list(b, v.l, "[", "]");
		break;
	case PY_TUPLE:
		repr_list(b, v.l, "(", ")");
		break;
	case PY_DICT:
		repr_dict(b, v.d, PY_PAIRS);
		break;
	case PY_NS:
		pysb_lit(b, "<Namespace ");
		repr_dict(b, v.d, PY_PAIRS);
		pysb_lit(b, ">");
		break;
	default:
		pysb_lit(b, v.view->what == PY_KEYS     ? "dict_keys("
		            : v.view->what == PY_VALUES ? "dict_values("
		                                        : "dict_items(");
		repr_dict(b, v.view->d, v.view->what);
		pysb_lit(b, ")");
	}
	b->r->depth--;
}

void py_repr(struct pysb *b, struct pyval v)
{
	char s[40];

	if (py_spend(b->r, 1))
		return;
	switch (v.type) {
	case PY_UNDEF:
		pysb_lit(b, "Undefined");
		return;
	case PY_NONE:
		pysb_lit(b, "None");
		return;
	case PY_BOOL:
		pysb_lit(b, v.i ? "True" : "False");
		return;
	case PY_INT:
		pysb_lit(b, py_int_repr(s, v.i));
		return;
	case PY_FLOAT:
		py_spend(b->r, PY_STEP_DIGITS);
		py_float_repr(s, v.f);
		pysb_lit(b, s);
		return;
	case PY_STR:
		repr_str(b, v.s);
		return;
	case PY_LIST:
	case PY_TUPLE:
	case PY_DICT:
	case PY_NS:
	case PY_VIEW:
		repr_nested(b, v);
		return;
	default:
		repr_other(b, v);
	}
}

void py_text(struct pysb *b, struct pyval v)
{
	if (v.type == PY_STR)
		pysb_str(b, v.s);
	else if (v.type != PY_UNDEF)
		py_repr(b, v);
}

int py_to_str(struct pyrun *r, struct pyval v, const struct pystr **s)
{
	struct pysb b = { .r = r };
	struct pyval out;

	*s = NULL;
	if (v.type == PY_STR) {
		*s = v.s;
		return r->rc;
	}
	py_text(&b, v);
	TRY(pysb_done(&b, &out));
	*s = out.s;
	return INFER_OK;
}

/* ---- numbers in strings ---- */

/* Copy s without surrounding white space and without underscores between digits. Returns the
 * length, or 0 if it is too long or is not a number. */
static size_t clean_number(const struct pystr *s, char *out, size_t cap)
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

int pystr_float(struct pyrun *r, const struct pystr *s, double *f)
{
	char t[400], *end, *p = t;
	const char *point = localeconv()->decimal_point;

	*f = 0;
	TRY(py_spend(r, PY_STEP_DIGITS + s->len / PY_STEP_READ));
	/* strtod accepts hexadecimal and nan(...), Python does not */
	if (!clean_number(s, t, sizeof t) || strpbrk(t, "xXpP(_"))
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

int pystr_int(struct pyrun *r, const struct pystr *s, int base, int64_t *v)
{
	char t[400], *p = t;
	int minus;

	*v = 0;
	TRY(py_spend(r, s->len / PY_STEP_READ));
	if (!clean_number(s, t, sizeof t))
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
			return py_fail(r, "an integer beyond 64 bits is not supported");
	}
	if (!minus && __builtin_sub_overflow((int64_t)0, *v, v))
		return py_fail(r, "an integer beyond 64 bits is not supported");
	return 0;
}
