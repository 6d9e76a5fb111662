/* text/case.c - look-ups over case_tab.c. */
#include "text/case.h"

#include <stddef.h>

const struct unicode_case *unicode_case(uint32_t cp)
{
	unsigned lo = 0, hi = unicode_case_n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		if (unicode_case_tab[mid].from < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < unicode_case_n && unicode_case_tab[lo].from == cp ? &unicode_case_tab[lo]
	                                                              : NULL;
}
