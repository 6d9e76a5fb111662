/* kern/way.h - which loop multiplies a given number of rows of x, and how matrices are cut for it;
 * for backends, and for benchmarks that run kernels as a backend does. */
#ifndef KERN_WAY_H
#define KERN_WAY_H
#include "kern/kern.h"

enum {
	KERN_ITEM_BYTES = 512 << 10, /* of weights in place per call: eight streams of some pages */
	KERN_ITEM_ROWS = 16,         /* the weight rows of such a call are a multiple of this */
	KERN_PANELS = 4,             /* the most packed at a time */
	KERN_PANEL_BYTES = 320 << 10, /* of panels packed at a time, unless one is larger */
	/* of x multiplied with the panels at a time: fits in L2 beside them */
	KERN_X_BYTES = 512 << 10,
	KERN_FEW_MOST = 63, /* rows of x past weights in place by lanes: bits of few_at */
};

/* In place: each byte of weights is read once, at the same cost for one row of x as for some. Few:
 * the same with a turned copy of x, a row per lane.  Tile: weights are packed first. */
enum kern_way { KERN_IN_PLACE, KERN_FEW, KERN_TILE };

/* bits [from, to] of kern_mm.few_at, to <= KERN_FEW_MOST */
#define KERN_FROM_TO(from, to) ((UINT64_C(2) << (to)) - (UINT64_C(1) << (from)))

/* the quickest loop for m rows of x according to the table of the kernel set */
static inline enum kern_way kern_way(const struct kern_mm *mm, int m)
{
	if (m <= mm->rows_most)
		return KERN_IN_PLACE;
	return m <= KERN_FEW_MOST && mm->few_at >> m & 1 ? KERN_FEW : KERN_TILE;
}
/* whether that loop reads the turned copy of x */
static inline int kern_way_turned(const struct kern_mm *mm, int m)
{
	enum kern_way way = kern_way(mm, m);

	return way == KERN_FEW || (way == KERN_TILE && mm->tile_turned);
}
/* the most rows of x that may need a turned copy in steps of up to m rows */
static inline int kern_turned_most(const struct kern_mm *mm, int m)
{
	int most = mm->tile_turned ? m : mm->few ? KERN_FEW_MOST : 0;

	return most < m ? most : m;
}
/* Rows of x, a multiple of mr, that are multiplied with the panels at a time. */
static inline int kern_x_rows(const struct kern_mm *mm, size_t x_row_bytes)
{
	int rows = KERN_X_BYTES / (int)(x_row_bytes + 1) / mm->mr * mm->mr;

	return rows > mm->mr ? rows : mm->mr;
}
#endif
