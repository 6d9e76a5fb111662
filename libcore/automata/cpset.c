/* automata/cpset.c - sets of code points, and the sets of escapes and Unicode properties. */
#include "automata/cpset.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

int cpset_add(struct work *w, struct cpset *s, uint32_t lo, uint32_t hi)
{
	TRY(work_steps(w, 1));
	TRY(work_grow(w, &s->at, &s->cap, (uint64_t)s->n + 1, sizeof *s->at));
	s->at[s->n++] = (struct dfa_range){ lo, hi };
	return INFER_OK;
}

int cpset_join(struct work *w, struct cpset *s, const struct cpset *more)
{
	for (uint32_t i = 0; i < more->n; i++)
		TRY(cpset_add(w, s, more->at[i].lo, more->at[i].hi));
	return INFER_OK;
}

static int by_lo(const void *a, const void *b)
{
	const struct dfa_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

int cpset_norm(struct work *w, struct cpset *s)
{
	uint32_t n = 0;

	if (!s->n)
		return INFER_OK;
	TRY(work_steps(w, (uint64_t)s->n * 16));
	qsort(s->at, s->n, sizeof *s->at, by_lo);
	for (uint32_t i = 1; i < s->n; i++) {
		if (s->at[i].lo > s->at[n].hi + 1)
			s->at[++n] = s->at[i];
		else if (s->at[i].hi > s->at[n].hi)
			s->at[n].hi = s->at[i].hi;
	}
	s->n = n + 1;
	return INFER_OK;
}

int cpset_not(struct work *w, struct cpset *s)
{
	struct cpset out = { 0 };
	uint32_t next = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->at[i].lo > next)
			TRY(cpset_add(w, &out, next, s->at[i].lo - 1));
		next = s->at[i].hi + 1;
	}
	if (next <= DFA_MOST_CP)
		TRY(cpset_add(w, &out, next, DFA_MOST_CP));
	*s = out;
	return INFER_OK;
}

int cpset_has(const struct cpset *s, uint32_t cp)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->at[mid].hi < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n && s->at[lo].lo <= cp;
}

int cpset_escape(struct work *w, struct cpset *s, char letter)
{
	/* ECMA-262, 12.2 and 12.3: white space (with property Zs), line terminators */
	static const struct dfa_range
		digit[] = { { '0', '9' } },
		word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } },
		space[] = { { 9, 13 },          { ' ', ' ' },       { 0xa0, 0xa0 },
		            { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 },
		            { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
		            { 0xfeff, 0xfeff } },
		dot[] = { { 0, 9 }, { 11, 12 }, { 14, 0x2027 }, { 0x202a, DFA_MOST_CP } };
	const struct dfa_range *at = letter == 'd'   ? digit
	                             : letter == 'w' ? word
	                             : letter == 's' ? space
	                                             : dot;
	const size_t n = letter == 'd'   ? sizeof digit
	                 : letter == 'w' ? sizeof word
	                 : letter == 's' ? sizeof space
	                                 : sizeof dot;

	for (size_t i = 0; i < n / sizeof *at; i++)
		TRY(cpset_add(w, s, at[i].lo, at[i].hi));
	return INFER_OK;
}

/* -- properties ----------------------------------------------------------------------------- */

/* general categories by their short and long names: UAX 44, PropertyValueAliases */
static const struct category {
	const char *names[3];
	uint32_t set;
} categories[] = {
	{ { "L", "Letter" }, UNI_L },
	{ { "Lu", "Uppercase_Letter" }, UNI_BIT(UNI_LU) },
	{ { "Ll", "Lowercase_Letter" }, UNI_BIT(UNI_LL) },
	{ { "Lt", "Titlecase_Letter" }, UNI_BIT(UNI_LT) },
	{ { "LC", "Cased_Letter" }, UNI_BIT(UNI_LU) | UNI_BIT(UNI_LL) | UNI_BIT(UNI_LT) },
	{ { "Lm", "Modifier_Letter" }, UNI_BIT(UNI_LM) },
	{ { "Lo", "Other_Letter" }, UNI_BIT(UNI_LO) },
	{ { "M", "Mark", "Combining_Mark" }, UNI_M },
	{ { "Mn", "Nonspacing_Mark" }, UNI_BIT(UNI_MN) },
	{ { "Mc", "Spacing_Mark" }, UNI_BIT(UNI_MC) },
	{ { "Me", "Enclosing_Mark" }, UNI_BIT(UNI_ME) },
	{ { "N", "Number" }, UNI_N },
	{ { "Nd", "Decimal_Number", "digit" }, UNI_BIT(UNI_ND) },
	{ { "Nl", "Letter_Number" }, UNI_BIT(UNI_NL) },
	{ { "No", "Other_Number" }, UNI_BIT(UNI_NO) },
	{ { "P", "Punctuation", "punct" }, UNI_P },
	{ { "Pc", "Connector_Punctuation" }, UNI_BIT(UNI_PC) },
	{ { "Pd", "Dash_Punctuation" }, UNI_BIT(UNI_PD) },
	{ { "Ps", "Open_Punctuation" }, UNI_BIT(UNI_PS) },
	{ { "Pe", "Close_Punctuation" }, UNI_BIT(UNI_PE) },
	{ { "Pi", "Initial_Punctuation" }, UNI_BIT(UNI_PI) },
	{ { "Pf", "Final_Punctuation" }, UNI_BIT(UNI_PF) },
	{ { "Po", "Other_Punctuation" }, UNI_BIT(UNI_PO) },
	{ { "S", "Symbol" }, UNI_S },
	{ { "Sm", "Math_Symbol" }, UNI_BIT(UNI_SM) },
	{ { "Sc", "Currency_Symbol" }, UNI_BIT(UNI_SC) },
	{ { "Sk", "Modifier_Symbol" }, UNI_BIT(UNI_SK) },
	{ { "So", "Other_Symbol" }, UNI_BIT(UNI_SO) },
	{ { "Z", "Separator" }, UNI_Z },
	{ { "Zs", "Space_Separator" }, UNI_BIT(UNI_ZS) },
	{ { "Zl", "Line_Separator" }, UNI_BIT(UNI_ZL) },
	{ { "Zp", "Paragraph_Separator" }, UNI_BIT(UNI_ZP) },
	{ { "C", "Other" }, UNI_C },
	{ { "Cc", "Control", "cntrl" }, UNI_BIT(UNI_CC) },
	{ { "Cf", "Format" }, UNI_BIT(UNI_CF) },
	{ { "Co", "Private_Use" }, UNI_BIT(UNI_CO) },
	{ { "Cs", "Surrogate" }, UNI_BIT(UNI_CS) },
	{ { "Cn", "Unassigned" }, UNI_BIT(UNI_CN) },
};

static int is_name(const char *name, size_t n, const char *other)
{
	return other && strlen(other) == n && !memcmp(name, other, n);
}

static uint32_t find_category(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
		for (int k = 0; k < 3; k++)
			if (is_name(name, n, categories[i].names[k]))
				return categories[i].set;
	return 0;
}

/* Add all code points that are in one of the sets `bits` of unicode_set. */
static int add_unicode_sets(struct work *w, struct cpset *s, uint32_t bits)
{
	uint32_t lo = NOWHERE, page = NOWHERE;
	int flat = 0; /* the last page is completely in the set, or completely outside */

	for (uint32_t cp = 0; cp <= DFA_MOST_CP + 1; cp++) {
		if (!(cp & 255) && cp <= DFA_MOST_CP) {
			if (flat && unicode_page[cp >> 8] == page) {
				cp += 255;
				continue;
			}
			page = unicode_page[cp >> 8];
			flat = 1;
			TRY(work_steps(w, 256));
		}
		const int in = cp <= DFA_MOST_CP && (unicode_set(cp) & bits);

		flat &= !(cp & 255) || in == (lo != NOWHERE);
		if (in && lo == NOWHERE)
			lo = cp;
		if (!in && lo != NOWHERE) {
			TRY(cpset_add(w, s, lo, cp - 1));
			lo = NOWHERE;
		}
	}
	return INFER_OK;
}

int cpset_property(struct work *w, struct cpset *s, const char *name, size_t n, int *known)
{
	const char *eq = memchr(name, '=', n);
	const size_t key = eq ? (size_t)(eq - name) : 0, v = eq ? key + 1 : 0;
	const int gc = !eq || is_name(name, key, "gc") || is_name(name, key, "General_Category"),
		  sc = eq && (is_name(name, key, "sc") || is_name(name, key, "Script"));
	const uint32_t bits = gc ? find_category(name + v, n - v) : 0;

	*known = 1;
	if (bits)
		return add_unicode_sets(w, s, bits);
	if (sc && (is_name(name + v, n - v, "Han") || is_name(name + v, n - v, "Hani")))
		return add_unicode_sets(w, s, UNI_HAN);
	if (is_name(name, n, "White_Space") || is_name(name, n, "space"))
		return add_unicode_sets(w, s, UNI_SPACE);
	if (is_name(name, n, "Any"))
		return cpset_add(w, s, 0, DFA_MOST_CP);
	if (is_name(name, n, "ASCII"))
		return cpset_add(w, s, 0, 127);
	if (is_name(name, n, "Assigned"))
		return add_unicode_sets(w, s, ~UNI_BIT(UNI_CN));
	if (is_name(name, n, "ASCII_Hex_Digit") || is_name(name, n, "AHex")) {
		TRY(cpset_add(w, s, '0', '9'));
		TRY(cpset_add(w, s, 'A', 'F'));
		return cpset_add(w, s, 'a', 'f');
	}
	*known = 0;
	return INFER_OK;
}
