/* text/unicode.c - lookups over unicode_tab.c. */
#include "text/unicode.h"
#include "text/search.h"

uint32_t unicode_to_lower(uint32_t cp)
{
	if (cp < 0x80)
		return cp - 'A' < 26 ? cp + 32 : cp;
	if (cp == 0x130)
		return 'i';
	uint32_t i = text_search(&unicode_lower_tab[0].from, sizeof *unicode_lower_tab,
	                         unicode_lower_n, cp);

	return i < unicode_lower_n && unicode_lower_tab[i].from == cp ? unicode_lower_tab[i].to
	                                                              : cp;
}

int unicode_class(uint32_t cp)
{
	if (cp < 0x300)
		return 0;
	uint32_t i =
		text_search(&unicode_ccc_tab[0].to, sizeof *unicode_ccc_tab, unicode_ccc_n, cp);

	return i < unicode_ccc_n && unicode_ccc_tab[i].from <= cp ? unicode_ccc_tab[i].class : 0;
}

/* Hangul syllables decompose by arithmetic: The Unicode Standard, 3.12 */
enum {
	S_BASE = 0xAC00,
	L_BASE = 0x1100,
	V_BASE = 0x1161,
	T_BASE = 0x11A7,
	T_COUNT = 28,
	N_COUNT = 588,
	S_COUNT = 11172
};

int unicode_decompose(uint32_t cp, uint32_t out[4])
{
	out[0] = cp;
	if (cp < 0xC0)
		return 1;
	if (cp >= S_BASE && cp < S_BASE + S_COUNT) {
		uint32_t s = cp - S_BASE, t = s % T_COUNT;
		out[0] = L_BASE + s / N_COUNT;
		out[1] = V_BASE + s % N_COUNT / T_COUNT;
		out[2] = T_BASE + t;
		return t ? 3 : 2;
	}
	uint32_t lo =
		text_search(&unicode_nfd_tab[0].from, sizeof *unicode_nfd_tab, unicode_nfd_n, cp);
	if (lo == unicode_nfd_n || unicode_nfd_tab[lo].from != cp)
		return 1;
	for (int i = 0; i < unicode_nfd_tab[lo].n; i++)
		out[i] = unicode_nfd_pool[unicode_nfd_tab[lo].at + i];
	return unicode_nfd_tab[lo].n;
}

void unicode_order(uint32_t *cp, size_t n)
{
	size_t start = 0; /* start of the run of marks that contains i */

	for (size_t i = 0; i < n; i++) {
		int c = unicode_class(cp[i]);
		if (!c) {
			start = i + 1;
			continue;
		}
		if (i - start >= 64) /* a longer run is not real text; the limit keeps this
		                      * linear */
			start = i;
		size_t j = i;
		uint32_t v = cp[i];
		for (; j > start && unicode_class(cp[j - 1]) > c; j--)
			cp[j] = cp[j - 1];
		cp[j] = v;
	}
}
