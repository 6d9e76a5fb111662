/* backend/cuda/table.cuh (private) - tables of 16 int8 values for tile_part4t; table(j): values
 * 4 j ... 4 j + 3, the first in the lowest byte.  The tables of the CPU are in type/grids.c. */
#ifndef BACKEND_CUDA_TABLE_CUH
#define BACKEND_CUDA_TABLE_CUH
#include "backend/cuda/gpu.h"

#define TILE_FOUR(a, b, c, d) \
	((uint32_t)(uint8_t)(a) | (uint32_t)(uint8_t)(b) << 8 | (uint32_t)(uint8_t)(c) << 16 | \
	 (uint32_t)(uint8_t)(d) << 24)

struct tile_iq4 { /* grid_iq4 */
	GPU_FN uint32_t table(int j)
	{
		return j == 0   ? TILE_FOUR(-127, -104, -83, -65)
		       : j == 1 ? TILE_FOUR(-49, -35, -22, -10)
		       : j == 2 ? TILE_FOUR(1, 13, 25, 38)
		                : TILE_FOUR(53, 69, 89, 113);
	}
};
struct tile_fp4 { /* grid_fp4 */
	GPU_FN uint32_t table(int j)
	{
		return j == 0   ? TILE_FOUR(0, 1, 2, 3)
		       : j == 1 ? TILE_FOUR(4, 6, 8, 12)
		       : j == 2 ? TILE_FOUR(0, -1, -2, -3)
		                : TILE_FOUR(-4, -6, -8, -12);
	}
};
#endif
