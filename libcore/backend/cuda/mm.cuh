/* backend/cuda/mm.cuh (private) - common code of products with many rows: find the part of a
 * product that a block computes, and store a sum in y.
 *
 * A launch has tiles of M weight rows (one job after the other) and slots of N columns.  Blocks are
 * numbered in panels of MM_PANEL tiles by all slots, so that blocks that run at the same time share
 * weights and columns in L2:
 *
 *     tile   0   panel 0: block 0, 8, 16 ... in slots 0, 1, 2 ...
 *            1            block 1, 9 ...
 *           ..
 *     tile   8   panel 1
 *
 * Experts: the columns of expert e are in slots from first[e] / N + e on.  Slots of different
 * experts do not overlap: expert e needs at most first[e + 1] / N - first[e] / N + 1 of them.  So
 * pairs / N + experts slots are enough, and no prefix sum is needed. */
#ifndef BACKEND_CUDA_MM_CUH
#define BACKEND_CUDA_MM_CUH
#include "backend/cuda/launch.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/math.cuh"

enum { MM_PANEL = 8 };

/* The part of a product that a block computes: columns [0, cols) of weight rows [row, row + M). */
struct mm_part {
	int job, row; /* first weight row */
	int expert;   /* index of the matrix; 0 without experts */
	int first;    /* column 0: index in e.pair; without experts row of x */
	int cols;     /* columns of the part, at most N; <= 0: nothing to do */
};

/* ---- host ---- */

static inline int64_t mm_tiles(const struct gpu_mm *m, int rows)
{
	int64_t n = 0;

	for (int i = 0; i < m->n_jobs; i++)
		n += (m->jobs[i].n + rows - 1) / rows;
	return n;
}
static inline int64_t mm_slots(const struct gpu_mm *m, int cols)
{
	if (m->e.first)
		return (int64_t)m->max_rows * m->e.used / cols + m->e.experts;
	return ((int64_t)m->max_rows + cols - 1) / cols;
}

/* ---- device ---- */

/* Set the job and the first weight row of tile number `tile`. */
template <int M> GPU_FN void mm_find_tile(struct mm_part *p, const gpu_mm &m, int tile)
{
	p->job = 0;
	for (int n; p->job + 1 < m.n_jobs; p->job++, tile -= n) {
		n = (m.jobs[p->job].n + M - 1) / M;
		if (tile < n)
			break;
	}
	p->row = tile * M;
}
/* Set the expert and the columns of slot number `slot`.  All threads of the block call it. */
template <int N, int THREADS> GPU_FN void mm_find_slot(struct mm_part *p, const gpu_mm &m, int slot)
{
	SHARED(int32_t, found, [3]);

	p->expert = 0;
	p->first = slot * N;
	if (!m.e.first) {
		int left = *m.rows - p->first;

		p->cols = left < N ? left : N;
		return;
	}
	if (threadIdx.x == 0)
		found[2] = 0;
	__syncthreads();
	for (int e = (int)threadIdx.x; e < m.e.experts; e += THREADS) {
		int from = m.e.first[e], to = m.e.first[e + 1],
		    at = from + (slot - (from / N + e)) * N;

		if (at >= from && at < to) { /* true for at most one expert */
			found[0] = e;
			found[1] = at;
			found[2] = to - at < N ? to - at : N;
		}
	}
	__syncthreads();
	p->expert = found[0];
	p->first = found[1];
	p->cols = found[2];
}
/* Return the part of this block in a launch of mm_tiles x mm_slots blocks. */
template <int M, int N, int THREADS>
GPU_FN struct mm_part mm_find(const gpu_mm &m, int tiles, int slots)
{
	struct mm_part p;
	int panel = (int)blockIdx.x / (MM_PANEL * slots), at = (int)blockIdx.x % (MM_PANEL * slots);
	int left = tiles - panel * MM_PANEL, height = left < MM_PANEL ? left : MM_PANEL;

	mm_find_tile<M>(&p, m, panel * MM_PANEL + at % height);
	mm_find_slot<N, THREADS>(&p, m, at / height);
	return p;
}
/* Return the row of y for column c of a part, and set *x_row to the row of x for it. */
GPU_FN int mm_column(const gpu_mm &m, const struct mm_part &p, int c, int *x_row)
{
	int row = p.first + c;

	if (m.e.first)
		row = m.e.pair[row];
	*x_row = m.e.first && !m.e.by_pair ? row / m.e.used : row;
	return row;
}

/* One matrix of a job: weights, and bias, factor and cap of the results. */
struct mm_matrix {
	const unsigned char *w;
	const float *bias; /* NULL: none */
	float *y;
	int64_t ldy;
	int n;
	float mul, cap;
};
GPU_FN struct mm_matrix mm_open(const gpu_mm &m, int job, int expert)
{
	const gpu_job &j = m.jobs[job];
	struct mm_matrix x;

	x.w = (const unsigned char *)j.w + (size_t)expert * j.matrix_bytes;
	x.bias = j.bias ? j.bias + (size_t)expert * (size_t)j.n : NULL;
	x.y = j.y;
	x.ldy = j.ldy;
	x.n = j.n;
	x.mul = j.mul;
	x.cap = j.cap;
	return x;
}
/* Store the result of weight row `row` in row `col` of y, unless `row` is past the end. */
GPU_FN void mm_store(const struct mm_matrix &x, int row, int col, float sum)
{
	float y;

	if (row >= x.n)
		return;
	y = x.bias ? fmaf(sum, x.mul, x.bias[row]) : sum * x.mul;
	if (x.cap != 0)
		y = x.cap * gpu_tanh(y / x.cap);
	x.y[(int64_t)col * x.ldy + row] = y;
}
#endif
