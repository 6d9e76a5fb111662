/* type/search_scale.h - (private) encode types with one scale per block, four blocks at a time. */
#ifndef TYPE_SEARCH_FOUR_H
#define TYPE_SEARCH_FOUR_H
#include "type/search.h"

/* As struct search_fit for four groups, one per lane. */
struct search_fit4 {
	search_v4 xq, qq;
};

/* Four groups of n vectors, interleaved: vector k of group i at [4 k + i].  The caller owns the
 * memory. */
struct search_interleaved {
	search_v4 *x, *w;
};
static inline void search_interleave(const struct search_interleaved *f, int i, const search_v4 *x,
                                     const search_v4 *w, int n)
{
	for (int k = 0; k < n; k++) {
		f->x[4 * k + i] = x[k];
		f->w[4 * k + i] = w[k];
	}
}
/* Encode each group with its own scale 1 / inv, and compute the sums of its codes.  width:
 * type_width(); the sums are the same for every width. */
void search_fit_codes4(const struct search_interleaved *f, int n, search_v4 inv,
                       const struct search_grid *g, int width, struct search_fit4 *fit);
/* Find the best fit of codes to each group.  top: search_farthest of each. */
void search_best_fit4(const struct search_interleaved *f, int n, search_v4 top,
                      const struct search_grid *g, int width, struct search_fit4 *fit);

/* Format of blocks of n values, value = d q. */
struct search_scale_format {
	int n;
	size_t bytes; /* bytes of a block */
	/* Store d and q [n] in a block.  q: values, or codes if there is a table. */
	void (*put)(void *block, uint16_t d, const int8_t *q);
	const struct search_table *table;
};
void search_encode_scale(const struct search_scale_format *t, const struct search_grid *g,
                         void *dst, const float *src, const float *importance, size_t blocks,
                         int how);
#endif
