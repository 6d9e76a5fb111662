/* automata/regex_fold.c - characters that differ in case alone: those with the same simple case
 * folding. */
#include "automata/regex_tree.h"
#include "text/case.h"
#include "text/unicode.h"

enum { LAST_CASED = 0x1e943, KELVIN = 0x212a, LONG_S = 0x17f };

/* Return the character that stands for all that differ from cp in case alone. */
static uint32_t fold_char(uint32_t cp)
{
	const struct unicode_case *c = unicode_case(cp);

	if (c && c->upper[0] && !c->upper[1])
		cp = c->upper[0];
	return unicode_to_lower(cp);
}

/* Add the other cases of ASCII letters. */
static int fold_ascii(struct work *w, struct cpset *s)
{
	const uint32_t n = s->n;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t c = s->at[i].lo; c <= s->at[i].hi && c < 128; c++) {
			if ((c | 32) < 'a' || (c | 32) > 'z')
				continue;
			TRY(cpset_add(w, s, c ^ 32, c ^ 32));
			if ((c | 32) == 'k')
				TRY(cpset_add(w, s, KELVIN, KELVIN));
			if ((c | 32) == 's')
				TRY(cpset_add(w, s, LONG_S, LONG_S));
		}
	return cpset_norm(w, s);
}

int regex_fold(struct work *w, struct cpset *s)
{
	struct cpset folded = { 0 };

	TRY(cpset_norm(w, s));
	if (!s->n || s->at[s->n - 1].hi < 128)
		return fold_ascii(w, s);
	TRY(work_steps(w, 64 * LAST_CASED));
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t c = s->at[i].lo; c <= s->at[i].hi && c <= LAST_CASED; c++)
			TRY(cpset_add(w, &folded, fold_char(c), fold_char(c)));
	TRY(cpset_norm(w, &folded));
	for (uint32_t c = 0; c <= LAST_CASED; c++)
		if (cpset_has(&folded, fold_char(c)))
			TRY(cpset_add(w, s, c, c));
	return cpset_norm(w, s);
}
