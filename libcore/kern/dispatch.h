/* kern/dispatch.h - choose the kernel for a number of rows of x, and the size of the parts of a
 * matrix.  For backends, and for benchmarks that run kernels as a backend does. */
#ifndef KERN_DISPATCH_H
#define KERN_DISPATCH_H
#include "kern/kern.h"

enum {
	KERN_ITEM_BYTES = 512 << 10, /* bytes of weights in a call of `rows`: eight streams of
	                               * some pages */
	KERN_ITEM_ROWS = 16, /* the weight rows of a call of kern_mm.rows are a multiple of this */
	KERN_PANELS = 4,     /* panels packed at a time */
	KERN_PANEL_BYTES = 320 << 10, /* bytes of panels packed at a time, unless a single one is
	                               * larger */
	/* bytes of x that are multiplied with the packed panels: both fit in L2 together */
	KERN_X_BYTES = 512 << 10,
	/* value of kern_mm.rows_max: `rows` is the fastest for any number of rows of x */
	KERN_ALWAYS = UINT8_MAX,
	KERN_SKINNY_MAX = 63, /* most rows of x for the skinny kernel: bits of skinny_mask */
};

/* The kernels of struct kern_mm.  IN_PLACE (rows): each byte of weights is read once; a few rows of
 * x cost as much as one.  SKINNY: weights are read in place too, with a transposed copy of x, one
 * row per lane.  TILE: weights are first packed into panels. */
enum kern_loop { KERN_IN_PLACE, KERN_SKINNY, KERN_TILE };

/* bits from ... to of skinny_mask; to <= KERN_SKINNY_MAX */
#define KERN_BITS(from, to) ((UINT64_C(2) << (to)) - (UINT64_C(1) << (from)))

/* Return the fastest kernel for m rows of x, by rows_max and skinny_mask. */
static inline enum kern_loop kern_loop(const struct kern_mm *mm, int m)
{
	if (m <= mm->rows_max || mm->rows_max == KERN_ALWAYS)
		return KERN_IN_PLACE;
	return m <= KERN_SKINNY_MAX && mm->skinny_mask >> m & 1 ? KERN_SKINNY : KERN_TILE;
}
/* True if the fastest kernel for m rows of x reads the transposed copy of x. */
static inline int kern_loop_transposed(const struct kern_mm *mm, int m)
{
	enum kern_loop loop = kern_loop(mm, m);

	return loop == KERN_SKINNY || (loop == KERN_TILE && mm->tile_transposed);
}
/* Return the most rows of x for which a step of up to m rows may need a transposed copy. */
static inline int kern_transposed_max(const struct kern_mm *mm, int m)
{
	int rows = mm->tile_transposed ? m : mm->skinny ? KERN_SKINNY_MAX : 0;

	return rows < m ? rows : m;
}
/* Return how many rows of x, a multiple of mr, are multiplied with the packed panels at a time. */
static inline int kern_x_rows(const struct kern_mm *mm, size_t x_row_bytes)
{
	int rows = KERN_X_BYTES / (int)(x_row_bytes + 1) / mm->mr * mm->mr;

	return rows > mm->mr ? rows : mm->mr;
}
#endif
