/* text/case.c - look-ups over case_tab.c. */
#include "text/case.h"
#include "text/search.h"

const struct unicode_case *unicode_case(uint32_t cp)
{
	uint32_t i = text_search(&unicode_case_tab[0].from, sizeof *unicode_case_tab,
	                         unicode_case_n, cp);

	return i < unicode_case_n && unicode_case_tab[i].from == cp ? &unicode_case_tab[i] : NULL;
}
