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

/* What Python treats as lower case besides letters: Roman numerals, circled letters, iota below. */
static int is_small(uint32_t cp)
{
	return (unicode_set(cp) & UNI_BIT(UNI_LL)) || (cp >= 0x2170 && cp <= 0x217f) ||
	       (cp >= 0x24d0 && cp <= 0x24e9) || cp == 0x345;
}

static void put_upper(struct jsb *b, uint32_t cp, int title, enum jfrom from)
{
	const struct unicode_case *c = cp < 0x80 ? NULL : unicode_case(cp);

	if (c) {
		for (int i = 0; i < 3 && (title ? c->title : c->upper)[i]; i++)
			jsb_cp(b, (title ? c->title : c->upper)[i], from);
		return;
	}
	if (cp < 0x80) {
		jsb_cp(b, cp >= 'a' && cp <= 'z' ? cp - 32 : cp, from);
		return;
	}
	/* the table maps lower to upper case, so the reverse needs a slower search */
	jinja_spend(b->r, unicode_lower_n / 32);
	for (uint32_t i = 0;
	     i < unicode_lower_n && !(unicode_set(cp) & (UNI_BIT(UNI_LU) | UNI_BIT(UNI_LO))); i++)
		if (unicode_lower_tab[i].to == cp && unicode_lower_tab[i].from != 0x130) {
			cp = unicode_lower_tab[i].from;
			break;
		}
	jsb_cp(b, cp, from);
}

/* A sigma at the end of a word: after a letter, and not followed by one. */
static int final_sigma(const struct jstr *s, size_t at, size_t next)
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

static void put_lower(struct jsb *b, const struct jstr *s, size_t at, size_t next, uint32_t cp)
{
	enum jfrom from = jstr_from(s, at);

	if (cp == 0x3a3 && final_sigma(s, at, next)) {
		jsb_cp(b, 0x3c2, from);
	} else if (cp < 0x80) {
		jsb_cp(b, cp >= 'A' && cp <= 'Z' ? cp + 32 : cp, from);
	} else {
		jsb_cp(b, unicode_to_lower(cp), from);
		if (cp == 0x130)
			jsb_cp(b, 0x307, from);
	}
}

/* The fast path: convert ASCII letters from i on.  Returns where they end. */
static size_t put_ascii(struct jsb *b, const struct jstr *s, size_t i, int upper)
{
	enum jfrom from = jstr_from(s, i);
	char part[64];
	size_t k = 0;

	for (; k < sizeof part && i < s->len && (unsigned char)s->at[i] < 0x80 &&
	       jstr_from(s, i) == from;
	     i++) {
		char c = s->at[i];
		part[k++] = (char)(upper ? c - (c >= 'a' && c <= 'z') * 32
		                         : c + (c >= 'A' && c <= 'Z') * 32);
	}
	jsb_put(b, part, k, from);
	return i;
}

int jcase_str(struct jrun *r, const struct jstr *s, enum jcase_how how, struct jv *out)
{
	struct jsb b = { .r = r };
	int inside = 0; /* a word, for title */
	uint32_t cp;

	TRY(jinja_spend(r, s->len / (how == JCASE_TITLE || how == JCASE_SWAP ? JSTEP_READ / 4
	                                                                     : JSTEP_READ)));
	for (size_t i = 0, next; i < s->len && !r->rc; i = next) {
		if ((unsigned char)s->at[i] >= 0x80) {
			jinja_spend(r, 2);
		} else if (how == JCASE_UPPER || how == JCASE_LOWER ||
		           (how == JCASE_CAPITAL && i)) {
			next = put_ascii(&b, s, i, how == JCASE_UPPER);
			continue;
		}
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		int upper = how == JCASE_UPPER || (how == JCASE_TITLE && !inside) ||
		            (how == JCASE_CAPITAL && !i) || (how == JCASE_SWAP && is_small(cp));
		/* neither upper nor lower case */
		if (how == JCASE_SWAP && (unicode_set(cp) & UNI_BIT(UNI_LT)))
			jsb_sub(&b, s, i, next - i);
		else if (upper)
			put_upper(&b, cp, how == JCASE_TITLE || how == JCASE_CAPITAL,
			          jstr_from(s, i));
		else
			put_lower(&b, s, i, next, cp);
		inside = is_cased(cp);
	}
	TRY(jsb_done(&b, out));
	((struct jstr *)(uintptr_t)out->s)->safe = s->safe;
	return INFER_OK;
}

int jcase_is(const struct jstr *s, enum jcase_how how)
{
	uint32_t cp, wrong = how == JCASE_UPPER ? UNI_BIT(UNI_LL) | UNI_BIT(UNI_LT)
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
