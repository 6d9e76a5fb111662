/* kern/neondot/table.c - four products of bytes per lane.
 *
 *   types                          kernels                file
 *   all quantised                  rows                   mm_q_rows.c, arm/rows.h
 *                                  pack tile              mm_q_tile.c, arm/tile.h, arm/by4.h
 *   quant and the rest             as neon */
#include "kern/dispatch.h"
#include "kern/neondot/int.h"

#define ROW(TYPE, name) \
	[INFER_##TYPE] = { KERN_MM_ROWS(name) KERN_MM_TILE(name, TILE_T, 8) \
		                   KERN_MM_DISPATCH(5, 0) },
const struct kern kern_neondot = {
	.name = "neondot",
	.needs = CPU_NEON | CPU_DOTPROD,
	.mm = { KERN_ROWS_32(ROW) KERN_ROWS_64(ROW) KERN_ROWS_16(ROW) KERN_ROWS_256(ROW)
	                KERN_ROWS_GRID(ROW) KERN_ROWS_TERNARY(ROW) },
};
