/* kern/amx/peak.c - measure the peak rate of tile products: full tiles, four tiles of sums. */
#include "kern/amx/int.h"

void KERN_FN(peak_tile)(double *ops, int bf16, int reps)
{
	tiles_begin(64);
	for (int t = 0; bf16 && t < reps; t++) {
		TILE_DOT_BF16(0, 4, 6);
		TILE_DOT_BF16(1, 5, 6);
		TILE_DOT_BF16(2, 4, 6);
		TILE_DOT_BF16(3, 5, 6);
	}
	for (int t = 0; !bf16 && t < reps; t++) {
		TILE_DOT(0, 4, 6);
		TILE_DOT(1, 5, 6);
		TILE_DOT(2, 4, 6);
		TILE_DOT(3, 5, 6);
	}
	TILE_END();
	*ops = 2.0 * 4 * N * N * (bf16 ? 32 : 64) * reps;
}
