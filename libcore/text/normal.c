/* text/normal.c - the four normal forms, one run of characters at a time: a run ends before a
 * character of combining class 0 that never changes or composes with one before. */
#include "text/normal.h"
#include "text/search.h"

#include <string.h>

/* characters below this are not decomposed, and do not compose with a character before them */
enum { FIRST_MARK = 0x300 };

struct run {
	uint32_t *cp;
	size_t n, cap;
	int bad;
};

static void add_char(struct run *r, uint32_t cp)
{
	if (r->n == r->cap && !r->bad) {
		size_t cap = r->cap ? 2 * r->cap : 64;
		uint32_t *to = mem_realloc(MEM_TOK, r->cp, cap, sizeof *to);
		r->bad = !to;
		if (to) {
			r->cp = to;
			r->cap = cap;
		}
	}
	if (!r->bad)
		r->cp[r->n++] = cp;
}

static int is_newer(uint32_t cp)
{
	uint32_t i = text_search(&unicode_younger_tab[0].to, sizeof *unicode_younger_tab,
	                         unicode_younger_n, cp);

	return i < unicode_younger_n && unicode_younger_tab[i].from <= cp;
}

static int combining_class(uint32_t cp)
{
	int class = unicode_class(cp);

	return class && is_newer(cp) ? 0 : class;
}

static void decompose(struct run *r, uint32_t cp, int compat)
{
	uint32_t i = unicode_compat_n, part[4];

	if (compat)
		i = text_search(&unicode_compat_tab[0].from, sizeof *unicode_compat_tab,
		                unicode_compat_n, cp);
	if (i < unicode_compat_n && unicode_compat_tab[i].from == cp) {
		for (int k = 0; k < unicode_compat_tab[i].n; k++)
			add_char(r, unicode_compat_pool[unicode_compat_tab[i].at + k]);
		return;
	}
	int n = cp < UNI_BAD ? unicode_decompose(cp, part) : 0;
	if (n == 0 || (n == 1 && part[0] == cp) || is_newer(cp))
		add_char(r, cp);
	else
		for (int k = 0; k < n; k++)
			add_char(r, part[k]);
}

/* Sort the marks between starters by combining class (stable): UAX 15, D109. */
static void order_marks(struct run *r)
{
	size_t start = 0;

	for (size_t i = 0; i < r->n; i++) {
		uint32_t cp = r->cp[i];
		int class = combining_class(cp);
		size_t j = i;
		if (!class || i - start >= 64) {
			start = i + !class;
			continue;
		}
		for (; j > start && combining_class(r->cp[j - 1]) > class; j--)
			r->cp[j] = r->cp[j - 1];
		r->cp[j] = cp;
	}
}

/* Return the composite of two characters, or 0.  Hangul: The Unicode Standard, 3.12 */
static uint32_t compose_pair(uint32_t a, uint32_t b)
{
	uint32_t lo = 0, hi = unicode_pair_n;

	if (a - 0x1100 < 19 && b - 0x1161 < 21)
		return 0xac00 + ((a - 0x1100) * 21 + (b - 0x1161)) * 28;
	if (a - 0xac00 < 11172 && !((a - 0xac00) % 28) && b - 0x11a8 < 27)
		return a + b - 0x11a7;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct unicode_pair *p = &unicode_pair_tab[mid];
		if (p->first < a || (p->first == a && p->second < b))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < unicode_pair_n && unicode_pair_tab[lo].first == a &&
	                       unicode_pair_tab[lo].second == b
	               ? unicode_pair_tab[lo].to
	               : 0;
}

/* Compose characters with the last starter unless one between them blocks it: UAX 15, D117. */
static void compose_run(struct run *r)
{
	size_t n = 0, starter = SIZE_MAX;
	int last = 0; /* combining class of the previous character, 0 if it is the starter */

	for (size_t i = 0; i < r->n; i++) {
		uint32_t cp = r->cp[i], both = 0;
		int class = combining_class(cp), next = starter != SIZE_MAX && starter + 1 == n;
		if (starter != SIZE_MAX && (next || (last && last < class)))
			both = compose_pair(r->cp[starter], cp);
		if (both) {
			r->cp[starter] = both;
			continue;
		}
		if (!class)
			starter = n;
		last = class;
		r->cp[n++] = cp;
	}
	r->n = n;
}

static void flush_run(struct run *r, struct buf *b, enum unicode_form form)
{
	order_marks(r);
	if (form == UNICODE_NFC || form == UNICODE_NFKC)
		compose_run(r);
	for (size_t i = 0; i < r->n; i++) {
		char s[4];
		if (r->cp[i] >= UNI_BAD)
			buf_putc(b, (int)(r->cp[i] - UNI_BAD));
		else
			buf_put(b, s, (size_t)utf8_put(s, r->cp[i]));
	}
	r->n = 0;
}

void unicode_normal(struct buf *b, const char *s, size_t n, enum unicode_form form)
{
	struct run r = { 0 };
	uint32_t cp;

	for (size_t at = 0, len; at < n && !r.bad; at += len) {
		len = unicode_next(s + at, n - at, &cp);
		if (cp < FIRST_MARK && r.n)
			flush_run(&r, b, form);
		/* copy ASCII without a mark after it */
		if (cp < 0x80 && (at + 1 == n || (unsigned char)s[at + 1] < 0x80)) {
			buf_putc(b, (int)cp);
			continue;
		}
		decompose(&r, cp == UNI_BAD ? UNI_BAD + (unsigned char)s[at] : cp,
		          form == UNICODE_NFKC || form == UNICODE_NFKD);
	}
	flush_run(&r, b, form);
	b->bad |= r.bad;
	mem_free(r.cp);
}
