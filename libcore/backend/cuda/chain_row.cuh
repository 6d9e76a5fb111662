/* backend/cuda/chain_row.cuh (private) - code that operations on rows share: the row of a block,
 * sums over columns, element-wise loops.
 *
 * Thread i owns columns i, i + GPU_ROW_THREADS, ...  If a thread reads and writes only columns that
 * it owns, no barrier is needed.
 *
 * Sum of n elements, computed by a block or by one warp with the same bits:
 *   s[i] = f(... f(f(0, x[i]), x[i + 256]) ...)           i < GPU_ROW_THREADS
 *   t[l] = ((s[l] + s[l + 128]) + (s[l + 64] + s[l + 192])) +
 *          ((s[l + 32] + s[l + 160]) + (s[l + 96] + s[l + 224]))      l < 32
 *   then t[l] + t[l ^ 16], ^ 8, ^ 4, ^ 2, ^ 1 */
#ifndef BACKEND_CUDA_CHAIN_ROW_CUH
#define BACKEND_CUDA_CHAIN_ROW_CUH
#include "backend/cuda/gpu.h"
#include "backend/cuda/launch.h"

enum {
	CHAIN_WARPS = GPU_ROW_THREADS / 32,
	CHAIN_LINE = 32, /* floats of a cache line */
	CHAIN_LOADS = 8, /* loads that a thread starts before it computes */
};

/* Return threadIdx.x.  Each operation reads it again, so that values derived from it do not occupy
 * registers across operations. */
GPU_FN int chain_thread(void)
{
#ifdef __CUDA_ARCH__
	int t;

	asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
	return t;
#else
	return (int)threadIdx.x;
#endif
}

/* Prefetch n floats of a weight before gpu_wait.  One block; each thread prefetches 128 bytes. */
GPU_FN void chain_prefetch(const void *w, int n)
{
#ifdef __CUDA_ARCH__
	for (int i = chain_thread() * CHAIN_LINE; i < n; i += GPU_ROW_THREADS * CHAIN_LINE)
		asm volatile("prefetch.global.L2 [%0];" ::"l"((const float *)w + i));
#else
	(void)w, (void)n;
#endif
}

struct chain_row {
	int row, token; /* row of the values; row of the step (index of its id and position) */
	int from, to;   /* columns of this block */
	int turn;       /* 0 or 1: the half of `sums` that the next sum uses */
	float *sums;    /* shared [2][GPU_ROW_THREADS] */
	double *sums64;
};

/* The columns of one thread of a block or of a warp: first, first + step, ... below end. */
struct chain_span {
	int first, step, end;
};
GPU_FN struct chain_span chain_own(const struct chain_row *r, int cols)
{
	struct chain_span s = { r->from + chain_thread(), GPU_ROW_THREADS,
		                r->to < cols ? r->to : cols };

	return s;
}
GPU_FN struct chain_span chain_lane(int cols)
{
	struct chain_span s = { chain_thread() % 32, 32, cols };

	return s;
}

/* ---- sums ---- */

template <class T> GPU_FN T chain_tree(const T s[CHAIN_WARPS])
{
	T t = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));

	for (int i = 16; i; i /= 2)
		t += __shfl_xor_sync(~0u, t, i);
	return t;
}

/* Return the sum of v over the threads of the block.  Calls alternate between two buffers, so that
 * a barrier separates the last read of a buffer from the next write. */
template <class T> GPU_FN T chain_total(struct chain_row *r, T *buffer, T v)
{
	T *s = buffer + (r->turn ^= 1) * GPU_ROW_THREADS, part[CHAIN_WARPS];
	int tid = chain_thread();

	s[tid] = v;
	__syncthreads();
	for (int w = 0; w < CHAIN_WARPS; w++)
		part[w] = s[tid % 32 + 32 * w];
	return chain_tree(part);
}

/* s = f(s, x[i]) over the columns of each thread, then the sum over the block. */
template <class F> GPU_FN float chain_sum(struct chain_row *r, const float *x, int n, F f)
{
	float s = 0;

	for (int i = chain_thread(); i < n; i += CHAIN_LOADS * GPU_ROW_THREADS) {
		float v[CHAIN_LOADS];

		for (int j = 0; j < CHAIN_LOADS; j++)
			v[j] = i + j * GPU_ROW_THREADS < n ? x[i + j * GPU_ROW_THREADS] : 0;
		for (int j = 0; j < CHAIN_LOADS; j++)
			s = i + j * GPU_ROW_THREADS < n ? f(s, v[j]) : s;
	}
	return chain_total(r, r->sums, s);
}

/* chain_sum by one warp, with the same bits. */
template <class F> GPU_FN float chain_sum_warp(const float *x, int n, F f)
{
	float s[CHAIN_WARPS] = { 0 };

	for (int i = chain_thread() % 32; i < n; i += GPU_ROW_THREADS) {
		float v[CHAIN_WARPS];

		for (int w = 0; w < CHAIN_WARPS; w++)
			v[w] = i + 32 * w < n ? x[i + 32 * w] : 0;
		for (int w = 0; w < CHAIN_WARPS; w++)
			s[w] = i + 32 * w < n ? f(s[w], v[w]) : s[w];
	}
	return chain_tree(s);
}

/* Return the sum of x - mean or, with square 1, of (x - mean)^2, in double. */
GPU_FN double chain_sum64(struct chain_row *r, const float *x, int n, double mean, int square)
{
	double s = 0;

	for (int i = chain_thread(); i < n; i += GPU_ROW_THREADS) {
		double d = (double)x[i] - mean;

		s += square ? d * d : d;
	}
	return chain_total(r, r->sums64, s);
}

/* ---- element-wise loops ---- */

/* y[i] = f(a[i], b[i]); b NULL: f(a[i], 0).  y may be a or b.  In each round all loads precede the
 * stores, so that the loads overlap. */
template <class F>
GPU_FN void chain_map(struct chain_span s, float *y, const float *a, const float *b, F f)
{
	for (int i = s.first; i < s.end; i += CHAIN_LOADS * s.step) {
		float u[CHAIN_LOADS], v[CHAIN_LOADS];

		for (int j = 0; j < CHAIN_LOADS; j++) {
			int k = i + j * s.step;

			u[j] = k < s.end ? a[k] : 0;
			v[j] = b && k < s.end ? b[k] : 0;
		}
		for (int j = 0; j < CHAIN_LOADS; j++)
			if (i + j * s.step < s.end)
				y[i + j * s.step] = f(u[j], v[j]);
	}
}
GPU_FN void chain_copy(struct chain_span s, float *y, const float *x)
{
	chain_map(s, y, x, NULL, [](float v, float) { return v; });
}
#endif
