/* backend/cuda/state_delta.cuh (private) - GATED_DELTA: the gated delta rule, row by row.  For each
 * row of a run, ascending, and each head, on each column of the head's state s [dk][dv]:
 *
 *   m = sum of s[i] k[i];  d = beta (v - g m);  s[i] = fma(k[i], d, g s[i]);
 *   y = scale (sum of s[i] q[i]); ssm 1: d = beta v; skip not NULL: y = fma(skip, v, y)
 *
 * A sum over i is four chains, chain j of i = j mod 4, ascending by fma from +0; then (0 + 2) + (1
 * + 3).  The bits are those of kern/state.h.
 *
 * A block has DELTA_COLS columns of one head of one run, for all rows of the run.  Four lanes share
 * a column: lane j computes chain j and keeps its part of the state in registers from the first row
 * to the last.  One extra warp reads the next rows while the others compute:
 *
 *   warp 0 ... 3   state --> rows 0 ... 15 | rows 16 ... 31 | ... --> pages
 *   warp 4         rows 0 ... | rows 16 ...     |               q, k, v and gates to shared memory
 *
 * A head's state in a page: [dv][dk].  If dk is a multiple of 16 and the state is aligned, float 16
 * m + 4 j + r of a column is element i = 16 m + 4 r + j, so a lane reads 16 bytes and the lanes of
 * a column 64.  Otherwise float i is element i.  q and k in shared memory have the first order,
 * padded with zeros.
 *
 * Limits: dk up to GPU_DELTA_DK. */
#ifndef BACKEND_CUDA_STATE_DELTA_CUH
#define BACKEND_CUDA_STATE_DELTA_CUH
#include "backend/cuda/state_gate.cuh"
#include "backend/cuda/state_page.cuh"

enum {
	DELTA_LANES = 4, /* lanes that share a column */
	DELTA_WARP_COLS = 32 / DELTA_LANES,
	DELTA_WARPS = 4, /* warps that compute */
	DELTA_COLS = DELTA_WARPS * DELTA_WARP_COLS,
	DELTA_THREADS = (DELTA_WARPS + 1) * 32,
	DELTA_GROUP = 16, /* elements of a column that its lanes read at once */
	DELTA_MOST = GPU_DELTA_DK / DELTA_GROUP,
	DELTA_ROWS = 16, /* rows in shared memory at a time; half as many for the largest dk */
};
template <int GROUPS> struct delta_rows {
	enum {
		DK = GROUPS * DELTA_GROUP,
		ROWS = GROUPS < DELTA_MOST ? DELTA_ROWS : DELTA_ROWS / 2
	};
	alignas(16) float k[ROWS][DK], q[ROWS][DK];
	float v[ROWS][DELTA_COLS], g[ROWS], beta[ROWS];
};

/* State of a lane: its chain of one column. */
template <int GROUPS> struct delta_lane {
	float s[GROUPS * DELTA_LANES]; /* s[n]: element i = 4 n + chain */
	int chain, col;                /* col: index in the block's columns */
	bool inside;                   /* the head has this column */
	size_t at;                     /* index of the column's first float in the layer's state */
};

/* ---- the state ---- */

GPU_FN bool delta_wide(const struct gpu_delta &d)
{
	return d.dk % DELTA_GROUP == 0 && d.at % 4 == 0;
}

template <int GROUPS>
GPU_FN void delta_load(struct delta_lane<GROUPS> *l, const float *from, const struct gpu_delta &d)
{
	bool wide = delta_wide(d);

#pragma unroll
	for (int m = 0; m < GROUPS; m++) {
		float *s = l->s + DELTA_LANES * m;
		int i = m * DELTA_GROUP;

		s[0] = s[1] = s[2] = s[3] = 0;
		if (!from || !l->inside)
			continue;
		if (wide && i < d.dk) {
			float4 f = *(const float4 *)(from + i + DELTA_LANES * l->chain);

			s[0] = f.x, s[1] = f.y, s[2] = f.z, s[3] = f.w;
		}
		for (int r = 0; r < DELTA_LANES && !wide; r++)
			if (i + DELTA_LANES * r + l->chain < d.dk)
				s[r] = from[i + DELTA_LANES * r + l->chain];
	}
}
template <int GROUPS>
GPU_FN void delta_store(const struct delta_lane<GROUPS> *l, float *to, const struct gpu_delta &d)
{
	bool wide = delta_wide(d);

	if (!to || !l->inside)
		return;
#pragma unroll
	for (int m = 0; m < GROUPS; m++) {
		const float *s = l->s + DELTA_LANES * m;
		int i = m * DELTA_GROUP;

		if (wide && i < d.dk)
			*(float4 *)(to + i + DELTA_LANES * l->chain) =
				make_float4(s[0], s[1], s[2], s[3]);
		for (int r = 0; r < DELTA_LANES && !wide; r++)
			if (i + DELTA_LANES * r + l->chain < d.dk)
				to[i + DELTA_LANES * r + l->chain] = s[r];
	}
}

/* ---- rows, by one warp ---- */

/* Read elements i ... i + 3 of a vector of dk; zeros if i + u >= dk. */
GPU_FN void delta_read4(float v[4], const float *from, int i, int dk)
{
	if (dk % 4 == 0) {
		float4 f = i < dk ? *(const float4 *)(from + i) : make_float4(0, 0, 0, 0);

		v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
		return;
	}
	for (int u = 0; u < 4; u++)
		v[u] = i + u < dk ? from[i + u] : 0.0f;
}
template <int GROUPS, int ROWS>
GPU_FN void delta_fetch_vectors(float (*to)[GROUPS * DELTA_GROUP], const float *from, size_t ld,
                                int rows, int dk)
{
	enum { QUADS = GROUPS * DELTA_GROUP / 4 };

#pragma unroll 4
	for (int e = (int)threadIdx.x % 32; e < rows * QUADS; e += 32) {
		int row = e / QUADS, i = e % QUADS * 4;
		float v[4];

		delta_read4(v, from + (size_t)row * ld, i, dk);
		for (int u = 0; u < 4; u++)
			to[row][i / DELTA_GROUP * DELTA_GROUP + 4 * u + i % DELTA_GROUP / 4] = v[u];
	}
}
/* Read rows of the step from `row` on: q, k, gates, and v of the block's columns. */
template <int GROUPS>
GPU_FN void delta_fetch(struct delta_rows<GROUPS> *to, const struct gpu_delta &d, int row, int rows)
{
	int lane = (int)threadIdx.x % 32, head = (int)blockIdx.y,
	    col = (int)blockIdx.x * DELTA_COLS + lane;
	int kh = d.tiled ? head % d.k_heads : head / (d.heads / d.k_heads);
	size_t ld = (size_t)d.k_heads * (size_t)d.dk,
	       at = (size_t)row * ld + (size_t)kh * (size_t)d.dk;

	static_assert(DELTA_COLS == 32 && DELTA_ROWS <= 32,
	              "a lane reads a column of v and a row's gates");
	if (lane < rows) {
		size_t i = (size_t)(row + lane) * (size_t)d.heads + (size_t)head;

		gate_make(&to->g[lane], &to->beta[lane], d.decay[i], d.shift[head], d.rate[head],
		          d.beta[i], d.ssm);
	}
	delta_fetch_vectors<GROUPS, delta_rows<GROUPS>::ROWS>(to->k, d.k + at, ld, rows, d.dk);
	delta_fetch_vectors<GROUPS, delta_rows<GROUPS>::ROWS>(to->q, d.q + at, ld, rows, d.dk);
#pragma unroll 4
	for (int r = 0; r < rows; r++)
		to->v[r][lane] =
			col < d.dv ? d.v[((size_t)(row + r) * (size_t)d.heads + (size_t)head) *
		                                 (size_t)d.dv +
		                         (size_t)col]
				   : 0.0f;
}

/* ---- computing ---- */

/* Return the sum of v over the lanes of a column: (v0 + v2) + (v1 + v3). */
GPU_FN float delta_join(float v)
{
	v = v + __shfl_xor_sync(~0u, v, 2);
	return v + __shfl_xor_sync(~0u, v, 1);
}

/* Update the lane's part of the state by row r of x.  Returns the sum of s q. */
template <int GROUPS>
GPU_FN float delta_row(struct delta_lane<GROUPS> *l, const struct delta_rows<GROUPS> *x, int r,
                       bool ssm)
{
	const float4 *k = (const float4 *)x->k[r] + l->chain,
		     *q = (const float4 *)x->q[r] + l->chain;
	float g = x->g[r], by = x->v[r][l->col], m = 0, o = 0;

	if (!ssm) {
#pragma unroll
		for (int n = 0; n < GROUPS; n++) {
			const float *s = l->s + DELTA_LANES * n;
			float4 f = k[n * (DELTA_GROUP / 4)];

			m = fmaf(s[0], f.x, m);
			m = fmaf(s[1], f.y, m);
			m = fmaf(s[2], f.z, m);
			m = fmaf(s[3], f.w, m);
		}
		by = by - g * delta_join(m);
	}
	by = x->beta[r] * by;
#pragma unroll
	for (int n = 0; n < GROUPS; n++) {
		float *s = l->s + DELTA_LANES * n;
		float4 f = k[n * (DELTA_GROUP / 4)], h = q[n * (DELTA_GROUP / 4)];

		s[0] = fmaf(f.x, by, g * s[0]);
		s[1] = fmaf(f.y, by, g * s[1]);
		s[2] = fmaf(f.z, by, g * s[2]);
		s[3] = fmaf(f.w, by, g * s[3]);
		o = fmaf(s[0], h.x, o);
		o = fmaf(s[1], h.y, o);
		o = fmaf(s[2], h.z, o);
		o = fmaf(s[3], h.w, o);
	}
	return delta_join(o);
}

/* Compute rows [from, from + rows) of the run.  y: the lane's column of the first row. */
template <int GROUPS>
GPU_FN void delta_compute(struct delta_lane<GROUPS> *l, const struct delta_rows<GROUPS> *x,
                          const struct gpu_delta &d, const struct state_run *run, float *y,
                          float skip, int from, int rows)
{
	for (int r = 0; r < rows; r++) {
		float sum = d.scale * delta_row(l, x, r, d.ssm);
		int pos = run->pos + from + r;

		if (skip != 0)
			sum = fmaf(skip, x->v[r][l->col], sum);
		if (l->chain == 0 && l->inside)
			y[(size_t)(from + r) * (size_t)d.heads * (size_t)d.dv] = sum;
		if (pos % GPU_PAGE == GPU_PAGE - 1 || from + r == run->n - 1)
			delta_store(l, state_in(run, pos / GPU_PAGE, l->at), d);
	}
}

template <int GROUPS>
__global__ void __launch_bounds__(DELTA_THREADS)
	run_delta(const __grid_constant__ struct gpu_delta d)
{
	typedef struct delta_rows<GROUPS> rows_t;
	SHARED(rows_t, x, [2]);
	bool reads = (int)threadIdx.x >= DELTA_WARPS * 32;
	int head = (int)blockIdx.y, turn = 0, from = 0;
	struct delta_lane<GROUPS> l;

	gpu_wait();
	gpu_next();
	if ((int)blockIdx.z >= d.rows.step->n_runs)
		return;
	struct state_run run = state_open(&d.rows, d.layer, (int)blockIdx.z);
	float skip = d.skip ? d.skip[head] : 0.0f;

	l.chain = (int)threadIdx.x % DELTA_LANES;
	l.col = (int)threadIdx.x / DELTA_LANES;
	size_t col = (size_t)head * (size_t)d.dv + (size_t)blockIdx.x * DELTA_COLS + (size_t)l.col;
	l.inside = (int)blockIdx.x * DELTA_COLS + l.col < d.dv;
	l.at = (size_t)d.at + col * (size_t)d.dk;
	if (reads)
		delta_fetch(&x[0], d, run.row, run.n < rows_t::ROWS ? run.n : rows_t::ROWS);
	else
		delta_load(&l, state_before(&run, l.at), d);
	for (; from < run.n; from += rows_t::ROWS, turn ^= 1) {
		int left = run.n - from, next = left - rows_t::ROWS;

		__syncthreads();
		if (!reads)
			delta_compute(&l, &x[turn], d, &run,
			              d.y + (size_t)run.row * (size_t)d.heads * (size_t)d.dv + col,
			              skip, from, left < rows_t::ROWS ? left : rows_t::ROWS);
		else if (next > 0)
			delta_fetch(&x[turn ^ 1], d, run.row + from + rows_t::ROWS,
			            next < rows_t::ROWS ? next : rows_t::ROWS);
	}
}
#endif
