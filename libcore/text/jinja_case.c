/* text/jinja_case.c */
#include "text/jinja_case.h"
#include "base/err.h"
#include "text/jinja_node.h"
#include "text/unicode.h"

static int is_cased(uint32_t cp)
{
	return (unicode_set(cp) & (UNI_BIT(UNI_LU) | UNI_BIT(UNI_LL) | UNI_BIT(UNI_LT))) != 0;
}

static const struct jcase *special(uint32_t cp)
{
	unsigned lo = 0, hi = jcase_tab_n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		if (jcase_tab[mid].from < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < jcase_tab_n && jcase_tab[lo].from == cp ? &jcase_tab[lo] : NULL;
}

static void put_upper(struct jsb *b, uint32_t cp, int title, enum jfrom from)
{
	const struct jcase *c = cp < 0x80 ? NULL : special(cp);

	if (c) {
		for (int i = 0; i < 3 && (title ? c->title : c->upper)[i]; i++)
			jsb_cp(b, (title ? c->title : c->upper)[i], from);
		return;
	}
	if (cp < 0x80) {
		jsb_cp(b, cp >= 'a' && cp <= 'z' ? cp - 32 : cp, from);
		return;
	}
	/* from the smaller to the larger is what the table has: searched through, which costs */
	for (uint32_t i = 0; i < unicode_lower_n && !(unicode_set(cp) & (UNI_BIT(UNI_LU) | UNI_BIT(UNI_LO))); i++)
		if (unicode_lower_tab[i].to == cp && unicode_lower_tab[i].from != 0x130) {
			cp = unicode_lower_tab[i].from;
			jinja_spend(b->r, 64);
			break;
		}
	jsb_cp(b, cp, from);
}

/* A sigma at the end of a word: behind a letter, and none behind it. */
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

int jcase_str(struct jrun *r, const struct jstr *s, enum jcase_how how, struct jv *out)
{
	struct jsb b = { .r = r };
	int inside = 0;   /* a word, for title */
	uint32_t cp;

	TRY(jinja_spend(r, s->len / 4));
	for (size_t i = 0, next; i < s->len && !r->rc; i = next) {
		next = i + unicode_next(s->at + i, s->len - i, &cp);
		int upper = how == JCASE_UPPER || (how == JCASE_TITLE && !inside) || (how == JCASE_CAPITAL && !i) ||
		            (how == JCASE_SWAP && (unicode_set(cp) & UNI_BIT(UNI_LL)));
		if (upper)
			put_upper(&b, cp, how == JCASE_TITLE || how == JCASE_CAPITAL, jstr_from(s, i));
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
	uint32_t cp, wrong = how == JCASE_UPPER ? UNI_BIT(UNI_LL) | UNI_BIT(UNI_LT) : UNI_BIT(UNI_LU) | UNI_BIT(UNI_LT);
	int some = 0;

	for (size_t i = 0; i < s->len;) {
		i += unicode_next(s->at + i, s->len - i, &cp);
		if (unicode_set(cp) & wrong)
			return 0;
		some |= is_cased(cp);
	}
	return some;
}
