/* backend/cuda/chain_rope.cuh (private) - ROPE: a' = a c - b s, b' = b c + a s for each pair
 * (a, b) of each head; the product of s is rounded first.  Su+ 2021, arXiv:2104.09864, eq. 34.
 *
 *   head of dk columns: [`from` columns, copied | rot columns, rotated | the rest, copied]
 *   pair i of rot / 2: columns 2 i, 2 i + 1; with `halves`: columns i, i + rot / 2 */
#ifndef BACKEND_CUDA_CHAIN_ROPE_CUH
#define BACKEND_CUDA_CHAIN_ROPE_CUH
#include "backend/cuda/chain_row.cuh"

enum { ROPE_LOADS = 4 };

/* Copy the columns that are not rotated. */
GPU_FN void rope_copy(const struct gpu_op *o, float *y, const float *x)
{
	for (int i = chain_thread(); i < o->node.cols; i += GPU_ROW_THREADS) {
		int at = i % o->node.rope.dk - o->node.rope.from;

		if (at < 0 || at >= o->node.rope.rot)
			y[i] = x[i];
	}
}

/* Apply ROPE to one row.  cs [rot / 2][2]: cos, sin. */
GPU_FN void chain_rope(const struct gpu_op *o, float *y, const float *x, const float *cs)
{
	int half = o->node.rope.rot / 2, n = o->node.rope.heads * half,
	    halves = o->node.rope.halves;

	if (y != x)
		rope_copy(o, y, x);
	for (int i = chain_thread(); i < n; i += ROPE_LOADS * GPU_ROW_THREADS) {
		float a[ROPE_LOADS], b[ROPE_LOADS], c[ROPE_LOADS], s[ROPE_LOADS];
		int at[ROPE_LOADS];

		for (int j = 0; j < ROPE_LOADS; j++) {
			int k = i + j * GPU_ROW_THREADS, pair = k % half;

			at[j] = k < n ? k / half * o->node.rope.dk + o->node.rope.from +
			                        (halves ? pair : 2 * pair)
			              : -1;
			if (k >= n)
				continue;
			a[j] = x[at[j]];
			b[j] = x[at[j] + (halves ? half : 1)];
			c[j] = cs[2 * pair], s[j] = cs[2 * pair + 1];
		}
		for (int j = 0; j < ROPE_LOADS; j++) {
			if (at[j] < 0)
				continue;
			y[at[j]] = fmaf(a[j], c[j], -(b[j] * s[j]));
			y[at[j] + (halves ? half : 1)] = fmaf(b[j], c[j], a[j] * s[j]);
		}
	}
}
#endif
