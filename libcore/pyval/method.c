/* pyval/method.c - the methods of strings. */
#include "pyval/case.h"
#include "pyval/method.h"
#include "base/err.h"
#include "text/unicode.h"

#include <string.h>

int jinja_str_arg(struct jrun *r, struct jv self, struct jv v, const struct jstr **s)
{
	*s = self.s;
	if (v.type != J_STR)
		return v.type == J_UNDEF
		               ? jv_undef_fail(r, v)
		               : jinja_fail(r, "expected a string, not '%s'", jv_type_name(v));
	if (self.s->safe && !v.s->safe)
		TRY(jv_escape(r, &v, v.s));
	*s = v.s;
	return r->rc;
}

static int done(struct jsb *b, struct jv self, struct jv *out)
{
	TRY(jsb_done(b, out));
	((struct jstr *)(uintptr_t)out->s)->safe = self.s->safe;
	return INFER_OK;
}

/* ---- case ---- */

static int m_upper(struct jrun *r, struct jcall *c, struct jv *out)
{
	return jcase_str(r, c->self.s, JCASE_UPPER, out);
}
static int m_lower(struct jrun *r, struct jcall *c, struct jv *out)
{
	return jcase_str(r, c->self.s, JCASE_LOWER, out);
}
static int m_title(struct jrun *r, struct jcall *c, struct jv *out)
{
	return jcase_str(r, c->self.s, JCASE_TITLE, out);
}
static int m_capitalize(struct jrun *r, struct jcall *c, struct jv *out)
{
	return jcase_str(r, c->self.s, JCASE_CAPITAL, out);
}
static int m_swapcase(struct jrun *r, struct jcall *c, struct jv *out)
{
	return jcase_str(r, c->self.s, JCASE_SWAP, out);
}

/* ---- strip ---- */

static int in_set(const struct jstr *set, uint32_t cp)
{
	uint32_t x;

	if (!set)
		return jinja_is_space(cp);
	for (size_t i = 0; i < set->len;) {
		i += unicode_next(set->at + i, set->len - i, &x);
		if (x == cp)
			return 1;
	}
	return 0;
}

enum { LEFT = 1, RIGHT = 2 };

static int strip(struct jrun *r, struct jcall *c, int where, struct jv *out)
{
	const struct jstr *s = c->self.s, *set = NULL;
	size_t lo = 0, hi = s->len;
	uint32_t cp;

	if (c->a[0].type > J_NONE)
		TRY(jinja_str_arg(r, c->self, c->a[0], &set));
	while ((where & LEFT) && lo < hi) {
		size_t n = unicode_next(s->at + lo, hi - lo, &cp);
		if (jinja_spend(r, set ? 1 + set->len / JSTEP_READ : 0) || !in_set(set, cp))
			break;
		lo += n;
	}
	while ((where & RIGHT) && lo < hi) {
		size_t at = hi - 1;
		while (at > lo && (s->at[at] & 0xc0) == 0x80)
			at--;
		unicode_next(s->at + at, hi - at, &cp);
		if (jinja_spend(r, set ? 1 + set->len / JSTEP_READ : 0) || !in_set(set, cp))
			break;
		hi = at;
	}
	TRY(jinja_spend(r, (s->len - (hi - lo)) / JSTEP_READ));
	return jv_sub(r, out, s, lo, hi - lo);
}

static int m_strip(struct jrun *r, struct jcall *c, struct jv *out)
{
	return strip(r, c, LEFT | RIGHT, out);
}
static int m_lstrip(struct jrun *r, struct jcall *c, struct jv *out)
{
	return strip(r, c, LEFT, out);
}
static int m_rstrip(struct jrun *r, struct jcall *c, struct jv *out)
{
	return strip(r, c, RIGHT, out);
}

/* ---- looking for ---- */

/* s[start:end] of arguments k and k + 1, and where it begins in characters. */
static int window(struct jrun *r, struct jcall *c, int k, const struct jstr **s, int64_t *at,
                  int *past)
{
	struct jv to[3] = { c->a[k], c->a[k + 1], { 0 } }, part;
	size_t n;

	*s = c->self.s;
	*at = 0;
	*past = 0;
	if (!c->a[k].type)
		return r->rc;
	TRY(jv_len(r, c->self, &n));
	TRY(jint_arg(r, c->a[k], 0, at));
	if (*at < 0)
		*at = *at + (int64_t)n < 0 ? 0 : *at + (int64_t)n;
	*past = *at > (int64_t)n; /* not even the empty string is found there */
	TRY(jinja_slice(r, c->self, to, &part));
	*s = part.s;
	return r->rc;
}

static int look(struct jrun *r, struct jcall *c, int right, int must_be, struct jv *out)
{
	const struct jstr *s, *what;
	int64_t base;
	int past;

	TRY(jinja_str_arg(r, c->self, c->a[0], &what));
	TRY(window(r, c, 1, &s, &base, &past));
	size_t at = past    ? SIZE_MAX
	            : right ? jstr_rfind(r, s, 0, s->len, what)
	                    : jstr_find(r, s, 0, s->len, what);
	if (at == SIZE_MAX && must_be)
		return jinja_fail(r, "substring not found");
	struct jstr before = { .at = s->at, .len = at == SIZE_MAX ? 0 : at };
	*out = jv_int(at == SIZE_MAX ? -1 : base + (int64_t)jv_chars(r, &before));
	return r->rc;
}

static int m_find(struct jrun *r, struct jcall *c, struct jv *out) { return look(r, c, 0, 0, out); }
static int m_rfind(struct jrun *r, struct jcall *c, struct jv *out)
{
	return look(r, c, 1, 0, out);
}
static int m_index(struct jrun *r, struct jcall *c, struct jv *out)
{
	return look(r, c, 0, 1, out);
}
static int m_rindex(struct jrun *r, struct jcall *c, struct jv *out)
{
	return look(r, c, 1, 1, out);
}

static int m_count(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s, *what;
	int64_t base, n = 0;
	int past;

	TRY(jinja_str_arg(r, c->self, c->a[0], &what));
	TRY(window(r, c, 1, &s, &base, &past));
	if (!what->len)
		n = past ? 0 : (int64_t)jv_chars(r, s) + 1;
	for (size_t at = 0; what->len && !jinja_spend(r, 1) &&
	                    (at = jstr_find(r, s, at, s->len, what)) != SIZE_MAX;
	     at += what->len)
		n++;
	*out = jv_int(n);
	return r->rc;
}

/* Does s begin (end) with this, or with one of these? */
static int affix(struct jrun *r, struct jcall *c, int end, struct jv *out)
{
	struct jv one = c->a[0];
	struct jlist single = { .at = &one, .n = 1 };
	const struct jlist *l = one.type == J_TUPLE ? one.l : &single;
	const struct jstr *s, *what;
	int64_t base;
	int past, yes = 0;

	TRY(window(r, c, 1, &s, &base, &past));
	for (size_t i = 0; i < l->n && !yes; i++) {
		TRY(jinja_str_arg(r, c->self, l->at[i], &what));
		TRY(jinja_spend(r, 1 + what->len / JSTEP_COPY));
		yes = !past && what->len <= s->len &&
		      !memcmp(end ? s->at + s->len - what->len : s->at, what->at, what->len);
	}
	*out = jv_bool(yes);
	return r->rc;
}

static int m_startswith(struct jrun *r, struct jcall *c, struct jv *out)
{
	return affix(r, c, 0, out);
}
static int m_endswith(struct jrun *r, struct jcall *c, struct jv *out)
{
	return affix(r, c, 1, out);
}

static int remove_affix(struct jrun *r, struct jcall *c, int end, struct jv *out)
{
	const struct jstr *s = c->self.s, *what;

	TRY(jinja_str_arg(r, c->self, c->a[0], &what));
	TRY(jinja_spend(r, what->len / JSTEP_COPY));
	if (what->len > s->len ||
	    memcmp(end ? s->at + s->len - what->len : s->at, what->at, what->len))
		return jv_sub(r, out, s, 0, s->len);
	return jv_sub(r, out, s, end ? 0 : what->len, s->len - what->len);
}

static int m_removeprefix(struct jrun *r, struct jcall *c, struct jv *out)
{
	return remove_affix(r, c, 0, out);
}
static int m_removesuffix(struct jrun *r, struct jcall *c, struct jv *out)
{
	return remove_affix(r, c, 1, out);
}

/* ---- making other strings ---- */

static int m_replace(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s = c->self.s, *old, *new;
	struct jsb b = { .r = r };
	size_t from = 0, at;
	int64_t most;

	TRY(jinja_str_arg(r, c->self, c->a[0], &old));
	TRY(jinja_str_arg(r, c->self, c->a[1], &new));
	TRY(jint_arg(r, c->a[2], -1, &most));
	if (!old->len) { /* between all characters, and at both ends */
		for (size_t i = 0; most-- != 0 && !r->rc; i = from) {
			uint32_t cp;
			jsb_str(&b, new);
			if (i >= s->len)
				break;
			from = i + unicode_next(s->at + i, s->len - i, &cp);
			jsb_sub(&b, s, i, from - i);
			jinja_spend(r, 1);
		}
	}
	while (old->len && most-- != 0 && !r->rc &&
	       (at = jstr_find(r, s, from, s->len, old)) != SIZE_MAX) {
		jsb_sub(&b, s, from, at - from);
		jsb_str(&b, new);
		from = at + old->len;
		jinja_spend(r, 1);
	}
	jsb_sub(&b, s, from, s->len - from);
	return done(&b, c->self, out);
}

static int m_join(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jsb b = { .r = r };
	struct jiter it;
	struct jv v;
	int n = 0;

	TRY(jiter_init(r, &it, c->a[0]));
	while (jiter_next(r, &it, &v)) {
		const struct jstr *s;
		if (v.type != J_STR)
			return jinja_fail(r, "sequence item %d: expected str instance, %s found", n,
			                  jv_type_name(v));
		TRY(jinja_str_arg(r, c->self, v, &s));
		if (n++)
			jsb_str(&b, c->self.s);
		jsb_str(&b, s);
	}
	return done(&b, c->self, out);
}

/* To a width: `left` of the filling before, the rest behind. */
static int pad(struct jrun *r, struct jcall *c, int side, struct jv *out)
{
	struct jstr fill = { .at = " ", .len = 1 };
	const struct jstr *f = &fill;
	struct jsb b = { .r = r };
	size_t n;
	int64_t width;

	TRY(jint_arg(r, c->a[0], 0, &width));
	TRY(jv_len(r, c->self, &n));
	if (c->a[1].type)
		TRY(jinja_str_arg(r, c->self, c->a[1], &f));
	if (jv_chars(r, f) != 1)
		return jinja_fail(r, "the fill character must be exactly one character long");
	int64_t more = width > (int64_t)n ? width - (int64_t)n : 0;
	/* as CPython centers */
	int64_t left = side == LEFT ? 0 : side == RIGHT ? more : more / 2 + (more & width & 1);
	jsb_fill(&b, f, (size_t)left);
	jsb_str(&b, c->self.s);
	jsb_fill(&b, f, (size_t)(more - left));
	return done(&b, c->self, out);
}

static int m_center(struct jrun *r, struct jcall *c, struct jv *out) { return pad(r, c, 0, out); }
static int m_ljust(struct jrun *r, struct jcall *c, struct jv *out) { return pad(r, c, LEFT, out); }
static int m_rjust(struct jrun *r, struct jcall *c, struct jv *out)
{
	return pad(r, c, RIGHT, out);
}

static int m_zfill(struct jrun *r, struct jcall *c, struct jv *out)
{
	static const struct jstr zero = { .at = "0", .len = 1 };
	const struct jstr *s = c->self.s;
	struct jsb b = { .r = r };
	int64_t width;
	size_t n, sign = s->len && (s->at[0] == '-' || s->at[0] == '+');

	TRY(jint_arg(r, c->a[0], 0, &width));
	TRY(jv_len(r, c->self, &n));
	jsb_sub(&b, s, 0, sign);
	jsb_fill(&b, &zero, width > (int64_t)n ? (size_t)width - n : 0);
	jsb_sub(&b, s, sign, s->len - sign);
	return done(&b, c->self, out);
}

/* ---- of what kind ---- */

static int all_in(struct jrun *r, struct jcall *c, uint32_t set, struct jv *out)
{
	uint32_t cp;
	int yes = c->self.s->len > 0;

	TRY(jinja_spend(r, c->self.s->len / JSTEP_READ));
	for (size_t i = 0; yes && i < c->self.s->len;) {
		i += unicode_next(c->self.s->at + i, c->self.s->len - i, &cp);
		yes = (unicode_set(cp) & set) || ((set & UNI_SPACE) && jinja_is_space(cp));
	}
	*out = jv_bool(yes);
	return r->rc;
}

static int m_isalpha(struct jrun *r, struct jcall *c, struct jv *out)
{
	return all_in(r, c, UNI_L, out);
}
static int m_isdigit(struct jrun *r, struct jcall *c, struct jv *out)
{
	return all_in(r, c, UNI_BIT(UNI_ND), out);
}
static int m_isnumeric(struct jrun *r, struct jcall *c, struct jv *out)
{
	return all_in(r, c, UNI_N, out);
}
static int m_isalnum(struct jrun *r, struct jcall *c, struct jv *out)
{
	return all_in(r, c, UNI_L | UNI_N, out);
}
static int m_isspace(struct jrun *r, struct jcall *c, struct jv *out)
{
	return all_in(r, c, UNI_SPACE, out);
}

static int m_isascii(struct jrun *r, struct jcall *c, struct jv *out)
{
	int yes = 1;

	TRY(jinja_spend(r, c->self.s->len / JSTEP_LOOK));
	for (size_t i = 0; i < c->self.s->len && yes; i++)
		yes = (unsigned char)c->self.s->at[i] < 0x80;
	*out = jv_bool(yes);
	return INFER_OK;
}

static int m_islower(struct jrun *r, struct jcall *c, struct jv *out)
{
	TRY(jinja_spend(r, c->self.s->len / JSTEP_READ));
	*out = jv_bool(jcase_is(c->self.s, JCASE_LOWER));
	return INFER_OK;
}

static int m_isupper(struct jrun *r, struct jcall *c, struct jv *out)
{
	TRY(jinja_spend(r, c->self.s->len / JSTEP_READ));
	*out = jv_bool(jcase_is(c->self.s, JCASE_UPPER));
	return INFER_OK;
}

const struct jfn jinja_str_methods[] = { { "capitalize", m_capitalize, "", 0, 0 },
	                                 { "casefold", NULL, NULL, 0, 0 },
	                                 { "center", m_center, "width fill", 1, 0 },
	                                 { "count", m_count, "sub start end", 1, 0 },
	                                 { "encode", NULL, NULL, 0, 0 },
	                                 { "endswith", m_endswith, "suffix start end", 1, 0 },
	                                 { "expandtabs", NULL, NULL, 0, 0 },
	                                 { "find", m_find, "sub start end", 1, 0 },
	                                 { "format", jinja_format, NULL, 0, 0 },
	                                 { "format_map", NULL, NULL, 0, 0 },
	                                 { "index", m_index, "sub start end", 1, 0 },
	                                 { "isalnum", m_isalnum, "", 0, 0 },
	                                 { "isalpha", m_isalpha, "", 0, 0 },
	                                 { "isascii", m_isascii, "", 0, 0 },
	                                 { "isdecimal", m_isdigit, "", 0, 0 },
	                                 { "isdigit", m_isdigit, "", 0, 0 },
	                                 { "isidentifier", NULL, NULL, 0, 0 },
	                                 { "islower", m_islower, "", 0, 0 },
	                                 { "isnumeric", m_isnumeric, "", 0, 0 },
	                                 { "isprintable", NULL, NULL, 0, 0 },
	                                 { "isspace", m_isspace, "", 0, 0 },
	                                 { "istitle", NULL, NULL, 0, 0 },
	                                 { "isupper", m_isupper, "", 0, 0 },
	                                 { "join", m_join, "iterable", 1, 0 },
	                                 { "ljust", m_ljust, "width fill", 1, 0 },
	                                 { "lower", m_lower, "", 0, 0 },
	                                 { "lstrip", m_lstrip, "chars", 0, 0 },
	                                 { "maketrans", NULL, NULL, 0, 0 },
	                                 { "partition", jinja_partition, "sep", 1, 0 },
	                                 { "removeprefix", m_removeprefix, "prefix", 1, 0 },
	                                 { "removesuffix", m_removesuffix, "suffix", 1, 0 },
	                                 { "replace", m_replace, "old new count", 2, 0 },
	                                 { "rfind", m_rfind, "sub start end", 1, 0 },
	                                 { "rindex", m_rindex, "sub start end", 1, 0 },
	                                 { "rjust", m_rjust, "width fill", 1, 0 },
	                                 { "rpartition", jinja_rpartition, "sep", 1, 0 },
	                                 { "rsplit", jinja_rsplit, "sep maxsplit", 0, 0 },
	                                 { "rstrip", m_rstrip, "chars", 0, 0 },
	                                 { "split", jinja_split, "sep maxsplit", 0, 0 },
	                                 { "splitlines", jinja_splitlines, "keepends", 0, 0 },
	                                 { "startswith", m_startswith, "prefix start end", 1, 0 },
	                                 { "strip", m_strip, "chars", 0, 0 },
	                                 { "swapcase", m_swapcase, "", 0, 0 },
	                                 { "title", m_title, "", 0, 0 },
	                                 { "translate", NULL, NULL, 0, 0 },
	                                 { "upper", m_upper, "", 0, 0 },
	                                 { "zfill", m_zfill, "width", 1, 0 },
	                                 { NULL } };
