/* text/search.h (private) - binary search in a table of code points. */
#ifndef TEXT_SEARCH_H
#define TEXT_SEARCH_H
#include <stddef.h>
#include <stdint.h>

/* Return the index of the first of n rows, `stride` bytes each, whose u32 is >= cp; n if there is
 * none.  table: the u32 of the first row. */
static inline uint32_t text_search(const uint32_t *table, size_t stride, uint32_t n, uint32_t cp)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (*(const uint32_t *)(const void *)((const char *)table + mid * stride) < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
#endif
