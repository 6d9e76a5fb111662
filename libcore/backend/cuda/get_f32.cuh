/* backend/cuda/get_f32.cuh (private) - tiles of f32 weights: 16 steps of 16 of k, each with 16 rows
 *
 *     f32 [step 16][row 16][k % 16]
 *
 * so that four lanes read 16 elements of a row in 64 bytes, and eight lanes two rows in 128. */
#ifndef BACKEND_CUDA_GET_F32_CUH
#define BACKEND_CUDA_GET_F32_CUH
#include "backend/cuda/gpu.h"

enum {
	F32_STEP = 16,                             /* elements of k, one for each chain */
	F32_STEP_BYTES = GPU_GROUP * F32_STEP * 4, /* bytes of a step in a tile */
	F32_CHUNK = 4 * F32_STEP_BYTES,
	F32_TILE = GPU_GROUP * GPU_BLOCK * 4,
};
GPU_FN int f32_at(int row, int k)
{
	return (k / F32_STEP * GPU_GROUP + row) * F32_STEP + k % F32_STEP;
}
/* Return element k of row `row` of a tile. */
GPU_FN float f32_get(const void *tile, int row, int k)
{
	return ((const float *)tile)[f32_at(row, k)];
}
#endif
