/* backend/cuda/chain_embed.cuh (private) - EMBED: a row of the table w0, times mul.  A kernel of
 * its own with a thread for each element hides the latency of reads of the table.
 *
 * The row number, by enum graph_index: the token id; the token's position; or its segment: 0 before
 * position `second` of the run, else 1 (at most the last row of the table). */
#ifndef BACKEND_CUDA_CHAIN_EMBED_CUH
#define BACKEND_CUDA_CHAIN_EMBED_CUH
#include "backend/cuda/gpu.h"
#include "backend/cuda/get.cuh"
#include "backend/cuda/launch.h"

GPU_FN int embed_row(const struct gpu_op *o, const struct gpu_rows *rows, int token)
{
	int pos = rows->pos[token], second;

	if (o->node.embed.index == GRAPH_TOKEN_ID)
		return rows->id[token];
	if (o->node.embed.index == GRAPH_POSITION)
		return pos;
	second = rows->runs[rows->run[token]].second;
	second = second && pos >= second;
	return second < o->w_rows ? second : o->w_rows - 1;
}

/* Return element k of row `row` of the table; w_type -1: f32 rows of node.cols elements. */
GPU_FN float embed_get(const struct gpu_op *o, int row, int k)
{
	if (o->w_type < 0)
		return ((const float *)o->w0)[(size_t)row * (size_t)o->node.cols + (size_t)k];
	return gpu_get(o->w_type, o->w0, (int)gridDim.y, row, k);
}

/* grid (rows, blocks of GPU_BLOCK columns) */
__global__ void __launch_bounds__(GPU_BLOCK)
	embed_kernel(const __grid_constant__ struct gpu_op o,
                     const __grid_constant__ struct gpu_rows rows, int out)
{
	int row = (int)blockIdx.x, k = (int)(blockIdx.y * GPU_BLOCK + threadIdx.x), token;
	float mul = (o.node.embed.mul == 0 ? 1 : o.node.embed.mul) * o.w_scale;

	gpu_next();
	gpu_wait();
	if (row >= (out ? rows.step->n_out : rows.step->n) || k >= o.node.cols)
		return;
	token = out ? rows.out[row] : row;
	o.y[(size_t)row * (size_t)o.node.cols + (size_t)k] =
		embed_get(&o, embed_row(&o, &rows, token), k) * mul;
}
#endif
