/* kern/neoni8mm/table.c - panels by matrices of 2 by 8 bytes.
 *
 *   types                          kernels                file
 *   all quantised                  pack tile              mm_q_tile.c, arm/tile.h, arm/by8.h
 *   rows (a single row of x gains nothing from matrices), and the rest
 *                                  as neondot */
#include "kern/dispatch.h"
#include "kern/neoni8mm/int.h"

#define ROW(TYPE, name) [INFER_##TYPE] = { KERN_MM_TILE(name, TILE_T, 8) KERN_MM_DISPATCH(5, 0) },
const struct kern kern_neoni8mm = {
	.name = "neoni8mm",
	.needs = CPU_NEON | CPU_DOTPROD | CPU_I8MM,
	.mm = { KERN_ROWS_32(ROW) KERN_ROWS_64(ROW) KERN_ROWS_16(ROW) KERN_ROWS_256(ROW)
	                KERN_ROWS_GRID(ROW) KERN_ROWS_TERNARY(ROW) },
};
