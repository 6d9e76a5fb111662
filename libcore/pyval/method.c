/* pyval/method.c - the methods of strings. */
#include "pyval/case.h"
#include "pyval/method.h"
#include "base/err.h"
#include "text/unicode.h"

#include <string.h>

int py_str_arg(struct pyrun *r, struct pyval self, struct pyval v, const struct pystr **s)
{
	*s = self.s;
	if (v.type != PY_STR)
		return v.type == PY_UNDEF
		               ? py_undef_fail(r, v)
		               : py_fail(r, "expected a string, not '%s'", py_type_name(v));
	if (self.s->safe && !v.s->safe)
		TRY(py_escape(r, &v, v.s));
	*s = v.s;
	return r->rc;
}

static int done(struct pysb *b, struct pyval self, struct pyval *out)
{
	TRY(pysb_done(b, out));
	((struct pystr *)(uintptr_t)out->s)->safe = self.s->safe;
	return INFER_OK;
}

/* ---- case ---- */

static int m_upper(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pystr_to_case(r, c->self.s, PY_UPPER, out);
}
static int m_lower(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pystr_to_case(r, c->self.s, PY_LOWER, out);
}
static int m_title(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pystr_to_case(r, c->self.s, PY_TITLE, out);
}
static int m_capitalize(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pystr_to_case(r, c->self.s, PY_CAPITAL, out);
}
static int m_swapcase(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pystr_to_case(r, c->self.s, PY_SWAP, out);
}

/* ---- strip ---- */

static int in_set(const struct pystr *set, uint32_t cp)
{
	uint32_t x;

	if (!set)
		return py_is_space(cp);
	for (size_t i = 0; i < set->len;) {
		i += unicode_next(set->at + i, set->len - i, &x);
		if (x == cp)
			return 1;
	}
	return 0;
}

enum { LEFT = 1, RIGHT = 2 };

static int strip_chars(struct pyrun *r, struct pycall *c, int where, struct pyval *out)
{
	const struct pystr *s = c->self.s, *set = NULL;
	size_t lo = 0, hi = s->len;
	uint32_t cp;

	if (c->a[0].type > PY_NONE)
		TRY(py_str_arg(r, c->self, c->a[0], &set));
	while ((where & LEFT) && lo < hi) {
		size_t n = unicode_next(s->at + lo, hi - lo, &cp);
		if (py_spend(r, set ? 1 + set->len / PY_STEP_READ : 0) || !in_set(set, cp))
			break;
		lo += n;
	}
	while ((where & RIGHT) && lo < hi) {
		size_t at = hi - 1;
		while (at > lo && (s->at[at] & 0xc0) == 0x80)
			at--;
		unicode_next(s->at + at, hi - at, &cp);
		if (py_spend(r, set ? 1 + set->len / PY_STEP_READ : 0) || !in_set(set, cp))
			break;
		hi = at;
	}
	TRY(py_spend(r, (s->len - (hi - lo)) / PY_STEP_READ));
	return py_sub(r, out, s, lo, hi - lo);
}

static int m_strip(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return strip_chars(r, c, LEFT | RIGHT, out);
}
static int m_lstrip(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return strip_chars(r, c, LEFT, out);
}
static int m_rstrip(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return strip_chars(r, c, RIGHT, out);
}

/* ---- looking for ---- */

/* Return s[start:end] for arguments k and k + 1, and *at, its start in characters. *past: start is
 * after the end of the string. */
static int search_slice(struct pyrun *r, struct pycall *c, int k, const struct pystr **s,
                        int64_t *at, int *past)
{
	struct pyval to[3] = { c->a[k], c->a[k + 1], { 0 } }, part;
	size_t n;

	*s = c->self.s;
	*at = 0;
	*past = 0;
	if (!c->a[k].type)
		return r->rc;
	TRY(py_len(r, c->self, &n));
	TRY(py_int_arg(r, c->a[k], 0, at));
	if (*at < 0)
		*at = *at + (int64_t)n < 0 ? 0 : *at + (int64_t)n;
	*past = *at > (int64_t)n; /* beyond the end, not even an empty string is found */
	TRY(py_slice(r, c->self, to, &part));
	*s = part.s;
	return r->rc;
}

static int find_in_slice(struct pyrun *r, struct pycall *c, int right, int must_be,
                         struct pyval *out)
{
	const struct pystr *s, *what;
	int64_t base;
	int past;

	TRY(py_str_arg(r, c->self, c->a[0], &what));
	TRY(search_slice(r, c, 1, &s, &base, &past));
	size_t at = past    ? SIZE_MAX
	            : right ? pystr_rfind(r, s, 0, s->len, what)
	                    : pystr_find(r, s, 0, s->len, what);
	if (at == SIZE_MAX && must_be)
		return py_fail(r, "substring not found");
	struct pystr before = { .at = s->at, .len = at == SIZE_MAX ? 0 : at };
	*out = py_int(at == SIZE_MAX ? -1 : base + (int64_t)py_chars(r, &before));
	return r->rc;
}

static int m_find(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return find_in_slice(r, c, 0, 0, out);
}
static int m_rfind(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return find_in_slice(r, c, 1, 0, out);
}
static int m_index(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return find_in_slice(r, c, 0, 1, out);
}
static int m_rindex(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return find_in_slice(r, c, 1, 1, out);
}

static int m_count(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s, *what;
	int64_t base, n = 0;
	int past;

	TRY(py_str_arg(r, c->self, c->a[0], &what));
	TRY(search_slice(r, c, 1, &s, &base, &past));
	if (!what->len)
		n = past ? 0 : (int64_t)py_chars(r, s) + 1;
	for (size_t at = 0;
	     what->len && !py_spend(r, 1) && (at = pystr_find(r, s, at, s->len, what)) != SIZE_MAX;
	     at += what->len)
		n++;
	*out = py_int(n);
	return r->rc;
}

/* str.startswith, or endswith if `end`, for one affix or a tuple of affixes. */
static int has_affix(struct pyrun *r, struct pycall *c, int end, struct pyval *out)
{
	struct pyval one = c->a[0];
	struct pylist single = { .at = &one, .n = 1 };
	const struct pylist *l = one.type == PY_TUPLE ? one.l : &single;
	const struct pystr *s, *what;
	int64_t base;
	int past, yes = 0;

	TRY(search_slice(r, c, 1, &s, &base, &past));
	for (size_t i = 0; i < l->n && !yes; i++) {
		TRY(py_str_arg(r, c->self, l->at[i], &what));
		TRY(py_spend(r, 1 + what->len / PY_STEP_COPY));
		yes = !past && what->len <= s->len &&
		      !memcmp(end ? s->at + s->len - what->len : s->at, what->at, what->len);
	}
	*out = py_bool(yes);
	return r->rc;
}

static int m_startswith(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return has_affix(r, c, 0, out);
}
static int m_endswith(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return has_affix(r, c, 1, out);
}

static int remove_affix(struct pyrun *r, struct pycall *c, int end, struct pyval *out)
{
	const struct pystr *s = c->self.s, *what;

	TRY(py_str_arg(r, c->self, c->a[0], &what));
	TRY(py_spend(r, what->len / PY_STEP_COPY));
	if (what->len > s->len ||
	    memcmp(end ? s->at + s->len - what->len : s->at, what->at, what->len))
		return py_sub(r, out, s, 0, s->len);
	return py_sub(r, out, s, end ? 0 : what->len, s->len - what->len);
}

static int m_removeprefix(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return remove_affix(r, c, 0, out);
}
static int m_removesuffix(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return remove_affix(r, c, 1, out);
}

/* ---- making other strings ---- */

static int m_replace(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s = c->self.s, *old, *new;
	struct pysb b = { .r = r };
	size_t from = 0, at;
	int64_t most;

	TRY(py_str_arg(r, c->self, c->a[0], &old));
	TRY(py_str_arg(r, c->self, c->a[1], &new));
	TRY(py_int_arg(r, c->a[2], -1, &most));
	if (!old->len) { /* insert between all characters and at both ends */
		for (size_t i = 0; most-- != 0 && !r->rc; i = from) {
			uint32_t cp;
			pysb_str(&b, new);
			if (i >= s->len)
				break;
			from = i + unicode_next(s->at + i, s->len - i, &cp);
			pysb_sub(&b, s, i, from - i);
			py_spend(r, 1);
		}
	}
	while (old->len && most-- != 0 && !r->rc &&
	       (at = pystr_find(r, s, from, s->len, old)) != SIZE_MAX) {
		pysb_sub(&b, s, from, at - from);
		pysb_str(&b, new);
		from = at + old->len;
		py_spend(r, 1);
	}
	pysb_sub(&b, s, from, s->len - from);
	return done(&b, c->self, out);
}

static int m_join(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pysb b = { .r = r };
	struct pyiter it;
	struct pyval v;
	int n = 0;

	TRY(pyiter_init(r, &it, c->a[0]));
	while (pyiter_next(r, &it, &v)) {
		const struct pystr *s;
		if (v.type != PY_STR)
			return py_fail(r, "sequence item %d: expected str instance, %s found", n,
			               py_type_name(v));
		TRY(py_str_arg(r, c->self, v, &s));
		if (n++)
			pysb_str(&b, c->self.s);
		pysb_str(&b, s);
	}
	return done(&b, c->self, out);
}

/* Append `left` fill characters, the string, and the rest of the fill characters. */
static int pad_str(struct pyrun *r, struct pycall *c, int side, struct pyval *out)
{
	struct pystr fill = { .at = " ", .len = 1 };
	const struct pystr *f = &fill;
	struct pysb b = { .r = r };
	size_t n;
	int64_t width;

	TRY(py_int_arg(r, c->a[0], 0, &width));
	TRY(py_len(r, c->self, &n));
	if (c->a[1].type)
		TRY(py_str_arg(r, c->self, c->a[1], &f));
	if (py_chars(r, f) != 1)
		return py_fail(r, "the fill character must be exactly one character long");
	int64_t more = width > (int64_t)n ? width - (int64_t)n : 0;
	/* CPython's rounding */
	int64_t left = side == LEFT ? 0 : side == RIGHT ? more : more / 2 + (more & width & 1);
	pysb_fill(&b, f, (size_t)left);
	pysb_str(&b, c->self.s);
	pysb_fill(&b, f, (size_t)(more - left));
	return done(&b, c->self, out);
}

static int m_center(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pad_str(r, c, 0, out);
}
static int m_ljust(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pad_str(r, c, LEFT, out);
}
static int m_rjust(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return pad_str(r, c, RIGHT, out);
}

static int m_zfill(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	static const struct pystr zero = { .at = "0", .len = 1 };
	const struct pystr *s = c->self.s;
	struct pysb b = { .r = r };
	int64_t width;
	size_t n, sign = s->len && (s->at[0] == '-' || s->at[0] == '+');

	TRY(py_int_arg(r, c->a[0], 0, &width));
	TRY(py_len(r, c->self, &n));
	pysb_sub(&b, s, 0, sign);
	pysb_fill(&b, &zero, width > (int64_t)n ? (size_t)width - n : 0);
	pysb_sub(&b, s, sign, s->len - sign);
	return done(&b, c->self, out);
}

/* ---- of what kind ---- */

static int all_in(struct pyrun *r, struct pycall *c, uint32_t set, struct pyval *out)
{
	uint32_t cp;
	int yes = c->self.s->len > 0;

	TRY(py_spend(r, c->self.s->len / PY_STEP_READ));
	for (size_t i = 0; yes && i < c->self.s->len;) {
		i += unicode_next(c->self.s->at + i, c->self.s->len - i, &cp);
		yes = (unicode_set(cp) & set) || ((set & UNI_SPACE) && py_is_space(cp));
	}
	*out = py_bool(yes);
	return r->rc;
}

static int m_isalpha(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return all_in(r, c, UNI_L, out);
}
static int m_isdigit(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return all_in(r, c, UNI_BIT(UNI_ND), out);
}
static int m_isnumeric(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return all_in(r, c, UNI_N, out);
}
static int m_isalnum(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return all_in(r, c, UNI_L | UNI_N, out);
}
static int m_isspace(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return all_in(r, c, UNI_SPACE, out);
}

static int m_isascii(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	int yes = 1;

	TRY(py_spend(r, c->self.s->len / PY_STEP_LOOK));
	for (size_t i = 0; i < c->self.s->len && yes; i++)
		yes = (unsigned char)c->self.s->at[i] < 0x80;
	*out = py_bool(yes);
	return INFER_OK;
}

static int m_islower(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	TRY(py_spend(r, c->self.s->len / PY_STEP_READ));
	*out = py_bool(pystr_is_case(c->self.s, PY_LOWER));
	return INFER_OK;
}

static int m_isupper(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	TRY(py_spend(r, c->self.s->len / PY_STEP_READ));
	*out = py_bool(pystr_is_case(c->self.s, PY_UPPER));
	return INFER_OK;
}

const struct pyfn py_str_methods[] = { { "capitalize", m_capitalize, "", 0, 0 },
	                               { "casefold", NULL, NULL, 0, 0 },
	                               { "center", m_center, "width fill", 1, 0 },
	                               { "count", m_count, "sub start end", 1, 0 },
	                               { "encode", NULL, NULL, 0, 0 },
	                               { "endswith", m_endswith, "suffix start end", 1, 0 },
	                               { "expandtabs", NULL, NULL, 0, 0 },
	                               { "find", m_find, "sub start end", 1, 0 },
	                               { "format", py_format, NULL, 0, 0 },
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
	                               { "partition", py_partition, "sep", 1, 0 },
	                               { "removeprefix", m_removeprefix, "prefix", 1, 0 },
	                               { "removesuffix", m_removesuffix, "suffix", 1, 0 },
	                               { "replace", m_replace, "old new count", 2, 0 },
	                               { "rfind", m_rfind, "sub start end", 1, 0 },
	                               { "rindex", m_rindex, "sub start end", 1, 0 },
	                               { "rjust", m_rjust, "width fill", 1, 0 },
	                               { "rpartition", py_rpartition, "sep", 1, 0 },
	                               { "rsplit", py_rsplit, "sep maxsplit", 0, 0 },
	                               { "rstrip", m_rstrip, "chars", 0, 0 },
	                               { "split", py_split, "sep maxsplit", 0, 0 },
	                               { "splitlines", py_splitlines, "keepends", 0, 0 },
	                               { "startswith", m_startswith, "prefix start end", 1, 0 },
	                               { "strip", m_strip, "chars", 0, 0 },
	                               { "swapcase", m_swapcase, "", 0, 0 },
	                               { "title", m_title, "", 0, 0 },
	                               { "translate", NULL, NULL, 0, 0 },
	                               { "upper", m_upper, "", 0, 0 },
	                               { "zfill", m_zfill, "width", 1, 0 },
	                               { NULL } };
