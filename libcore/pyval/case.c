/* pyval/case.c - upper, lower and title case of strings. */
#include "pyval/case.h"
#include "base/err.h"
#include "pyval/str.h"
#include "text/case.h"
#include "text/unicode.h"

static int is_cased(uint32_t cp)
{
	return (unicode_set(cp) & (UNI_BIT(UNI_LU) | UNI_BIT(UNI_LL) | UNI_BIT(UNI_LT))) != 0;
}

/* True for the lower case characters that are not letters: Roman numerals, circled letters, iota
 * subscript. */
static int is_small(uint32_t cp)
{
	return (unicode_set(cp) & UNI_BIT(UNI_LL)) || (cp >= 0x2170 && cp <= 0x217f) ||
	       (cp >= 0x24d0 && cp <= 0x24e9) || cp == 0x345;
}

static void put_upper(struct pysb *b, uint32_t cp, int title, enum py_origin from)
{
	const struct unicode_case *c = cp < 0x80 ? NULL : unicode_case(cp);

	if (c) {
		for (int i = 0; i < 3 && (title ? c->title : c->upper)[i]; i++)
			pysb_cp(b, (title ? c->title : c->upper)[i], from);
		return;
	}
	if (cp < 0x80) {
		pysb_cp(b, cp >= 'a' && cp <= 'z' ? cp - 32 : cp, from);
		return;
	}
	/* the table maps lower to upper case; the reverse is a search */
	py_spend(b->r, unicode_lower_n / 32);
	for (uint32_t i = 0;
	     i < unicode_lower_n && !(unicode_set(cp) & (UNI_BIT(UNI_LU) | UNI_BIT(UNI_LO))); i++)
		if (unicode_lower_tab[i].to == cp && unicode_lower_tab[i].from != 0x130) {
			cp = unicode_lower_tab[i].from;
			break;
		}
	pysb_cp(b, cp, from);
}

/* True if the sigma at i ends a word: a letter precedes it and none follows. */
static int final_sigma(const struct pystr *s, size_t at, size_t next)
{
	uint32_t before = 0, after = 0;

	for (size_t i = at; i > 0 && !before;) {
		for (i--; i > 0 && (s->at[i] & 0xc0) == 0x80; i--)
			;
		unicode_next(s->at + i, s->len - i, &before);
		if ((unicode_set(before) & UNI_M) || before == '\'' || before == '.')
			before = 0;
	}
	while (next < s->len && !after) {
		next += unicode_next(s->at + next, s->len - next, &after);
		if ((unicode_set(after) & UNI_M) || after == '\'' || after == '.')
			after = 0;
	}
	return before && is_cased(before) && !(after && is_cased(after));
}

static void put_lower(struct pysb *b, const struct pystr *s, size_t at, size_t next, uint32_t cp)
{
	enum py_origin from = pystr_origin(s, at);

	if (cp == 0x3a3 && final_sigma(s, at, next)) {
		pysb_cp(b, 0x3c2, from);
	} else if (cp < 0x80) {
		pysb_cp(b, cp >= 'A' && cp <= 'Z' ? cp + 32 : cp, from);
	} else {
		pysb_cp(b, unicode_to_lower(cp), from);
		if (cp == 0x130)
			pysb_cp(b, 0x307, from);
	}
}

/* Convert ASCII from i on, which is faster. Returns the offset after it. */
static size_t put_ascii(struct pysb *b, const struct pystr *s, size_t i, int upper)
{
	enum py_origin from = pystr_origin(s, i);
	char part[64];
	size_t k = 0;

	for (; k < sizeof part && i < s->len && (unsigned char)s->at[i] < 0x80 &&
	       pystr_origin(s, i) == from;
	     i++) {
		char c = s->at[i];
		part[k++] = (char)(upper ? c - (c >= 'a' && c <= 'z') * 32
		                         : c + (c >= 'A' && c <= 'Z') * 32);
	}
	pysb_put(b, part, k, from);
	return i;
}

int pystr_to_case(struct pyrun *r, const struct pystr *s, enum py_case how, struct pyval *out)
{
	struct pysb b = { .r = r };
	int inside = 0; /* inside a word, for PY_TITLE */
	uint32_t cp;

	TRY(py_spend(
		r, s->len / (how == PY_TITLE || how == PY_SWAP ? PY_STEP_READ / 4 : PY_STEP_READ)));
	for (size_t i = 0, next; i < s->len && !r->rc; i = next) {
		if ((unsigned char)s->at[i] >= 0x80) {
			py_spend(r, 2);
		} else if (how == PY_UPPER || how == PY_LOWER || (how == PY_CAPITAL && i)) {
			next = put_ascii(&b, s, i, how == PY_UPPER);
			continue;
		}
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		int upper = how == PY_UPPER || (how == PY_TITLE && !inside) ||
		            (how == PY_CAPITAL && !i) || (how == PY_SWAP && is_small(cp));
		/* neither upper nor lower case */
		if (how == PY_SWAP && (unicode_set(cp) & UNI_BIT(UNI_LT)))
			pysb_sub(&b, s, i, next - i);
		else if (upper)
			put_upper(&b, cp, how == PY_TITLE || how == PY_CAPITAL, pystr_origin(s, i));
		else
			put_lower(&b, s, i, next, cp);
		inside = is_cased(cp);
	}
	TRY(pysb_done(&b, out));
	((struct pystr *)(uintptr_t)out->s)->safe = s->safe;
	return INFER_OK;
}

int pystr_is_case(const struct pystr *s, enum py_case how)
{
	uint32_t cp, wrong = how == PY_UPPER ? UNI_BIT(UNI_LL) | UNI_BIT(UNI_LT)
	                                     : UNI_BIT(UNI_LU) | UNI_BIT(UNI_LT);
	int some = 0;

	for (size_t i = 0; i < s->len;) {
		i += unicode_next(s->at + i, s->len - i, &cp);
		if (unicode_set(cp) & wrong)
			return 0;
		some |= is_cased(cp);
	}
	return some;
}
