/* type/search_four.h - (private) four groups searched side by side, and the encoders of the types whose
 * blocks have one scale. */
#ifndef TYPE_SEARCH_FOUR_H
#define TYPE_SEARCH_FOUR_H
#include "type/search.h"

/* Four fits, a lane each */
struct search_fit4 {
	search_v4 xq, qq;
};

/* Up to four groups of n vectors each, side by side: vector k of group i at [4 k + i].  The memory
 * is the caller's. */
struct search_four {
	search_v4 *x, *w;
};
static inline void search_side_by_side(const struct search_four *f, int i, const search_v4 *x,
                                       const search_v4 *w, int n)
{
	for (int k = 0; k < n; k++) {
		f->x[4 * k + i] = x[k];
		f->w[4 * k + i] = w[k];
	}
}
/* search_try of each group under its own scale.  width: type_width(); the sums are the same for
 * every width. */
void search_each4(const struct search_four *f, int n, search_v4 inv, const struct search_grid *g,
                  int width, struct search_fit4 *fit);
/* The best fit of codes to each group; top: search_farthest of each. */
void search_group4(const struct search_four *f, int n, search_v4 top, const struct search_grid *g,
                   int width, struct search_fit4 *fit);

/* Blocks of n values, value = d q: the encoder of a type whose blocks are that. */
struct search_single {
	int n;
	size_t bytes; /* of a block */
	/* d; q i8 [n], or with a table their codes */
	void (*put)(void *block, uint16_t d, const int8_t *q);
	const struct search_table *table;
};
void search_single(const struct search_single *t, const struct search_grid *g, void *dst,
                   const float *src, const float *importance, size_t blocks, int how);
#endif
