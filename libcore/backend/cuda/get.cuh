/* backend/cuda/get.cuh (private) - read one weight of any type from tiles. */
#ifndef BACKEND_CUDA_GET_CUH
#define BACKEND_CUDA_GET_CUH
#include "backend/cuda/tile.cuh"
#include "backend/cuda/get_f32.cuh"
#include "backend/cuda/q_q8_0.cuh"
#include "backend/cuda/q_q4_k.cuh"
#include "backend/cuda/q_q6_k.cuh"
#include "backend/cuda/q_f16.cuh"
#include "backend/cuda/q_bf16.cuh"
#include "backend/cuda/q_q4_0.cuh"
#include "backend/cuda/q_q4_1.cuh"
#include "backend/cuda/q_q5_0.cuh"
#include "backend/cuda/q_q5_1.cuh"
#include "backend/cuda/q_q2_k.cuh"
#include "backend/cuda/q_q3_k.cuh"
#include "backend/cuda/q_q5_k.cuh"
#include "backend/cuda/q_iq4_nl.cuh"
#include "backend/cuda/q_iq4_xs.cuh"
#include "backend/cuda/q_mxfp4.cuh"
#include "backend/cuda/q_x8.cuh"

template <class W> GPU_FN float tile_get(const void *tiles, int blocks, int row, int k)
{
	return W::get(tile_at<W>(tiles, blocks, row / GPU_GROUP, k / GPU_BLOCK), row % GPU_GROUP,
	              k % GPU_BLOCK);
}
/* Return element k of weight row `row`, bit for bit as the type's decoder.  blocks: blocks of k in
 * a row of tiles.  A type without kernels: 0. */
GPU_FN float gpu_get(int type, const void *tiles, int blocks, int row, int k)
{
	size_t tile = (size_t)(row / GPU_GROUP) * (size_t)blocks + (size_t)(k / GPU_BLOCK);

	if (type == INFER_F32)
		return f32_get((const unsigned char *)tiles + tile * F32_TILE, row % GPU_GROUP,
		               k % GPU_BLOCK);
	if (type == GPU_TYPE_X8)
		return tile_get<gpu_x8>(tiles, blocks, row, k);
#define GPU_TYPE(q) \
	if (type == gpu_##q::TYPE) \
		return tile_get<gpu_##q>(tiles, blocks, row, k);
#include "backend/cuda/type_list.h"
#undef GPU_TYPE
	return 0;
}
#endif
