/* backend/cuda/state_conv.cuh (private) - CONV1D: causal convolution of each column over the rows of
 * its sequence.  The state is the last taps - 1 rows of x, f32 [taps - 1][cols], the oldest first.
 *
 *   y[pos][c] = silu(sum of x[pos - taps + 1 + t][c] w[c][t], then the bias)
 *               t ascending by fma from +0; no_silu 1: y is the sum, each product rounded before it
 *               is added
 *   Rows before position 0 are 0.  The bits are those of kern/state.h.
 *
 * A thread computes one column of a chunk of a run; chunks are whole pages:
 *
 *   run      |  page |   page   |   page   | page |
 *   chunk    |------- 0 --------|-----1----|--2---|      taps 4
 *
 * Chunk 0 contains the page with the state before the run, and all pages whose new states may
 * contain rows of it.  No other chunk reads or writes these pages.  A thread first computes its
 * rows, then writes states from the last page to the first, rows ascending, so nothing is
 * overwritten before it is read. */
#ifndef BACKEND_CUDA_STATE_CONV_CUH
#define BACKEND_CUDA_STATE_CONV_CUH
#include "backend/cuda/math.cuh"
#include "backend/cuda/state_page.cuh"

enum {
	CONV_THREADS = 128,
	CONV_ROWS = 8, /* rows computed at a time, so that their loads overlap */
};

/* Return the number of pages of chunk 0. */
static inline __host__ __device__ int conv_head(int taps)
{
	return 1 + (taps - 1 + GPU_PAGE - 1) / GPU_PAGE;
}

struct conv_column {
	const float *x, *old; /* x: first row of the run; old: state before the run or NULL */
	int pos, taps, ld;
};
/* Return x at position pos: from the run, from the state before the run, or 0 before position 0. */
GPU_FN float conv_input(const struct conv_column *c, int pos)
{
	int at = pos - c->pos;

	if (at >= 0)
		return c->x[(size_t)at * (size_t)c->ld];
	return pos < 0 ? 0.0f : c->old[(size_t)(at + c->taps - 1) * (size_t)c->ld];
}

/* Compute the rows at positions pos ... end - 1, at most CONV_ROWS of them. */
GPU_FN void conv_rows(const struct gpu_conv &a, const struct conv_column *c, int col, float *y,
                      int pos, int end)
{
	float sum[CONV_ROWS] = { 0 };
	const float *w = a.w + (size_t)col * (size_t)a.taps;

#pragma unroll 2
	for (int t = 0; t < a.taps; t++) {
		float f = w[t];

#pragma unroll
		for (int r = 0; r < CONV_ROWS; r++) {
			float v = pos + r < end ? conv_input(c, pos + r - a.taps + 1 + t) : 0.0f;

			sum[r] = a.no_silu ? sum[r] + v * f : fmaf(v, f, sum[r]);
		}
	}
#pragma unroll
	for (int r = 0; r < CONV_ROWS; r++) {
		float v = a.bias ? sum[r] + a.bias[col] : sum[r];

		if (pos + r < end)
			y[(size_t)(pos + r - c->pos) * (size_t)c->ld] =
				a.no_silu ? v : v * gpu_sigmoid(v);
	}
}

/* Store the state before position `end` (the last taps - 1 rows) at `to`. */
GPU_FN void conv_keep(const struct conv_column *c, float *to, int end)
{
	for (int t = 0; t < c->taps - 1; t++)
		to[(size_t)t * (size_t)c->ld] = conv_input(c, end - c->taps + 1 + t);
}

__global__ void __launch_bounds__(CONV_THREADS) run_conv(const __grid_constant__ struct gpu_conv a)
{
	int col = (int)(blockIdx.x * CONV_THREADS + threadIdx.x), run = (int)blockIdx.z,
	    chunk = (int)blockIdx.y;

	gpu_wait();
	gpu_next();
	if (run >= a.rows.step->n_runs || col >= a.cols)
		return;
	struct state_run s = state_open(&a.rows, a.layer, run);
	size_t at = (size_t)a.at + (size_t)col, row = (size_t)s.row * (size_t)a.cols + (size_t)col;
	int first = s.pos / GPU_PAGE, last = (s.pos + s.n - 1) / GPU_PAGE, stop = s.pos + s.n,
	    head = conv_head(a.taps);
	int from = chunk ? first + head + chunk - 1 : first, to = chunk ? from : first + head - 1;
	struct conv_column c = { a.x + row, state_before(&s, at), s.pos, a.taps, a.cols };
	int end = (to + 1) * GPU_PAGE < stop ? (to + 1) * GPU_PAGE : stop;

	to = to < last ? to : last;
	for (int pos = from == first ? s.pos : from * GPU_PAGE; pos < end; pos += CONV_ROWS)
		conv_rows(a, &c, col, a.y + row, pos, end);
	for (int page = to; page >= from; page--) {
		float *keep = state_in(&s, page, at);

		if (keep)
			conv_keep(&c, keep,
			          (page + 1) * GPU_PAGE < stop ? (page + 1) * GPU_PAGE : stop);
	}
}
#endif
