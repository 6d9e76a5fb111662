/* backend/cuda/heads.cu (private) - prepare products by heads (HEAD_MM) for mv and mm, which treat
 * each head as an expert: head h of row r is pair r * heads + h of expert h.
 *
 *   x [rows][heads] | k columns | other |      activations of a pair: its k columns
 *   y [rows][heads] | product   | other |      the other columns of x, copied
 *   first, pair, active: rows 0 ... rows - 1 of head 0, then of head 1, ...
 *
 * A warp writes the activations of one block of GPU_BLOCK columns of one head of one row.  The warp
 * of the first block also copies the other columns and writes the pair.  Columns are copied to
 * shared memory first, because the columns of a head may begin at any float. */
#include "backend/cuda/launch.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/chain_act.cuh"

enum { HEADS_WARPS = 8, HEADS_THREADS = HEADS_WARPS * 32, HEADS_SUMS = 8 /* sums of a block */ };

/* Write block `block` of the activations of a pair from its columns x in shared memory. */
GPU_FN void heads_act(const struct gpu_heads &a, int pair, int block, int blocks, const float *x)
{
	struct gpu_act to = a.act;
	size_t at = (size_t)pair * (size_t)blocks + (size_t)block;

	/* point the arrays at the block, which becomes block 0 of row 0 */
	to.q = (unsigned char *)to.q + (size_t)pair * to.row_bytes +
	       (size_t)block * GPU_BLOCK * (to.form == GPU_I8 ? sizeof(int8_t) : sizeof(uint16_t));
	if (to.d)
		to.d += at;
	if (to.sum)
		to.sum += at * HEADS_SUMS;
	if (to.form == GPU_I8)
		act_block_i8(&to, 0, 0, blocks, x, GPU_BLOCK);
	else if (to.form == GPU_F16)
		act_block_16<GPU_F16>(&to, 0, 0, blocks, x, GPU_BLOCK);
	else
		act_block_16<GPU_BF16>(&to, 0, 0, blocks, x, GPU_BLOCK);
}

/* Write the lists of a head that do not depend on the row. */
GPU_FN void heads_list(const struct gpu_heads &a, int head, int rows)
{
	a.first[head] = head * rows;
	a.active[head] = head;
	if (head == 0) {
		a.first[a.heads] = a.heads * rows;
		*a.n_active = a.heads;
	}
}

__global__ void __launch_bounds__(HEADS_THREADS)
	make_heads(const __grid_constant__ struct gpu_heads a)
{
	SHARED(float, stage, [HEADS_WARPS][GPU_BLOCK]);
	int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, row = (int)blockIdx.x;
	int blocks = (a.k + GPU_BLOCK - 1) / GPU_BLOCK, item = (int)blockIdx.y * HEADS_WARPS + warp,
	    head = item / blocks, block = item % blocks, pair = row * a.heads + head,
	    from = block * GPU_BLOCK;
	int n = a.k - from < GPU_BLOCK ? a.k - from : GPU_BLOCK, made = a.out - (a.in - a.k);

	gpu_wait();
	gpu_next();
	int rows = *a.rows;
	if (row >= rows || head >= a.heads)
		return;
	const float *x = a.x + (size_t)pair * (size_t)a.in;
	if (block == 0) {
		for (int i = lane; i < a.in - a.k; i += 32)
			a.y[(size_t)pair * (size_t)a.out + (size_t)(made + i)] = x[a.k + i];
		if (lane == 0)
			a.pair[head * rows + row] = pair;
		if (lane == 0 && row == 0)
			heads_list(a, head, rows);
	}
	if (a.act.form == GPU_F32)
		return;
	for (int i = lane; i < GPU_BLOCK; i += 32)
		stage[warp][i] = i < n ? x[from + i] : 0.0f;
	__syncwarp();
	heads_act(a, pair, block, blocks, stage[warp]);
}

extern "C" int gpu_heads(const struct gpu_heads *h, cudaStream_t s)
{
	int items = h->heads * gpu_blocks(h->k);

	return LAUNCH(
		make_heads,
		dim3((unsigned)h->max_rows, (unsigned)((items + HEADS_WARPS - 1) / HEADS_WARPS)),
		dim3(HEADS_THREADS), 0, s, *h);
}
