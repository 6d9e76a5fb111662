/* backend/cuda/mv_tmpl.cu - products with few rows of x, compiled once for each weight type
 * (-DQ=...).
 *
 *      y[row][n] = sum over k of x[row][k] W[n][k], then mul, bias and cap
 *
 * A block computes GPU_GROUP (16) weight rows by 8 NT columns (rows of x).  Weights are operand A
 * of mma, so 1 to 8 columns cost the same.  A block has 8 warps, or 4 if there are many blocks.
 * Warp w of `warps` computes tiles b = w, w + warps, ... of the group.  With 8 warps:
 *
 *      k:    | tile 0 | tile 1 | ... | tile 7 | tile 8 | ...
 *      warp      0        1             7         0
 *
 * The warp stores the sums t[b] in shared memory, [b][NT][16 rows][8 columns], followed by y.
 * After every MV_SHARED / NT tiles (a round), one thread for each row and column adds y = fma(d[b],
 * t[b], y), b ascending.  So NT, the number of warps and the length of a round change no bits.
 *
 * Memory: each weight byte is read once, 16 bytes a lane (some types: 8 or 4 more).  The weights of
 * a tile (q4_k 2368 bytes), or of half a tile of q8_0 (2048) and floats (4096), are loaded before
 * the previous ones are used.  NT 1: 16 warps an SM, so at least 32 KiB are in flight while warps
 * wait; an H100 needs 17 (3.35 TB/s / 132 SM * 700 ns).  x is read from L1.  Instructions, SASS of
 * sm_90a: the loop over tiles, for each 512 bytes of weights
 *
 *      NT       1     2     4     8
 *      q4_k    52    72   110   182     an SM issues 4 a cycle; an H100 receives 14.5 bytes a cycle
 *      q6_k    50    64    94   152     and SM, so 141 instructions fit in the time of 512 bytes
 *      q8_0    22    34    53    89     (A100: 153, B200: 70, 4090: 660)
 *      bf16     9    12    14    17
 *
 * Weights of the first tiles are read before gpu_wait, except with experts.  Experts: block (x, y)
 * computes the y-th active expert, 8 NT columns at a time. Limits: GPU_MV_ROWS rows of x (of each
 * expert); 4 GiB of x; int8 rows of x without gaps; n, k at least 1; 1 term of x or those of the
 * form (F16: 2, BF16: 3). */
#include "backend/cuda/q.cuh"
#include "backend/cuda/mm.cuh"

enum {
	MV_WARPS = 8,  /* most warps of a block */
	MV_MANY = 300, /* with so many blocks, each has half as many warps */
	MV_THREADS = MV_WARPS * TILE_LANES,
	MV_COLS = 8,                    /* columns of an mma */
	MV_CELLS = GPU_GROUP * MV_COLS, /* sums of one mma */
	MV_SHARED = 64,                 /* tiles of a round for NT 1, sums in shared memory */
	MV_SUMS = GPU_BLOCK / TILE_SUM_K,
	MV_WIDE = 4,
	MV_LARGE = 24, /* bytes of a lane and slice */
};
/* Return how many groups of 8 columns are added at once.  All would not fit in registers: NT 8 adds
 * a tile in two passes, types of 2 and 3 bits in four. */
template <class W, int NT> GPU_FN constexpr int mv_width(void)
{
	return NT <= MV_WIDE ? NT : (int)W::SLICE < (int)TILE_LOAD ? MV_WIDE / 2 : MV_WIDE;
}
/* Return how many slices are loaded at once: two if they are large and registers hold the head. */
template <class W, int NT> GPU_FN constexpr int mv_slices(void)
{
	return NT > MV_WIDE                                                 ? W::SLICES
	       : W::HEAD > 0 && sizeof(typename W::part) > (size_t)MV_LARGE ? 2
	                                                                    : 4;
}
/* True if slices are loaded before the previous ones are used.  False for whole tiles of floats. */
template <class W, int NT> GPU_FN constexpr bool mv_early(void)
{
	return NT <= MV_WIDE || W::HEAD > 0;
}

/* A lane's weights of N slices, and of the head of their tile */
template <class W, int N> struct mv_stage {
	typename W::part p[N];
	typename W::head head;
};
/* State of a thread. */
template <class W, int NT> struct mv_state {
	const unsigned char *w; /* tile 0 of the group */
	int blocks, lane;
	uint32_t x[NT]; /* bytes from x.q to the lane's part of the row of column g */
};

/* Load stage `at` of tile b. */
template <class W, int N>
GPU_FN void mv_load(mv_stage<W, N> *s, const unsigned char *w, int b, int at, int lane)
{
	const unsigned char *tile = w + (size_t)b * W::TILE;

#pragma unroll
	for (int i = 0; i < N; i++)
		s->p[i] = W::template load<tile_global>(tile + (at * N + i) * W::SLICE, lane);
	if (at == 0)
		s->head = W::template load_head<tile_global>(tile + W::SLICES * W::SLICE, lane);
}
/* Load the lane's 16 bytes of each term of x, in slice s of block b.  row: the row's mv_state.x. */
template <class W, int TERMS>
GPU_FN void mv_load_x(uint4 v[TERMS], const gpu_act &x, uint32_t row, int blocks, int b, int s)
{
	const int bytes = tile_x_bytes<W>();

#pragma unroll
	for (int i = 0; i < TERMS; i++)
		v[i] = *(const uint4 *)((const unsigned char *)x.q +
		                        (row + (uint32_t)((i * blocks + b) * bytes)) +
		                        s * 4 * TILE_LANE);
}
/* Add stage `at` of tile b to the sums of mv_width groups of 8 columns, from group `first` on. */
template <class W, int NT, int TERMS, int N>
GPU_FN void mv_add(typename W::acc *a, const mv_stage<W, N> &w, const mv_state<W, NT> &v,
                   const gpu_act &x, int b, int at, int first)
{
#pragma unroll
	for (int i = 0; i < N; i++) {
		struct tile_frag f = W::unpack(w.p[i]);
		typename W::scale scale = W::get_scale(w.head, at * N + i);

#pragma unroll
		for (int c = 0; c < mv_width<W, NT>(); c++) {
			uint4 q[TERMS];

			mv_load_x<W, TERMS>(q, x, v.x[first + c], v.blocks, b, at * N + i);
			W::template add<TERMS>(a[c], f, scale, q);
		}
	}
}
/* Return the index of the first gpu_act.sum of block b.  row: the row's mv_state.x.  A row has a
 * sum for each TILE_SUM_K bytes. */
GPU_FN uint32_t mv_sums_at(uint32_t row, int b, int lane)
{
	return (row - (uint32_t)(lane % 4 * TILE_LANE)) / TILE_SUM_K + (uint32_t)(b * MV_SUMS);
}
/* Store the sums of tile b, [NT][16][8], at `to`. */
template <class W, int NT>
GPU_FN void mv_finish(float *to, const typename W::acc *a, const typename W::head &head,
                      const mv_state<W, NT> &v, const gpu_act &x, int b, int first)
{
	typename W::end end = W::get_end(head, v.lane);
	int at = v.lane / 4 * MV_COLS + v.lane % 4 * 2;

#pragma unroll
	for (int c = 0; c < mv_width<W, NT>(); c++) {
		struct tile_sums sums = { 0, 0 };
		float t[4], *cell = to + (first + c) * MV_CELLS + at;

		if (W::SUMS)
			sums = tile_load_sums(x.sum + mv_sums_at(v.x[first + c], b, v.lane),
			                      v.lane);
		W::finish(t, a[c], end, sums);
		*(float2 *)cell = make_float2(t[0], t[1]);
		*(float2 *)(cell + MV_CELLS / 2) = make_float2(t[2], t[3]);
	}
}
/* Add the sums of tiles from ... from + n - 1 to sum [cell], a cell for each row and column.  After
 * the last tile, store the results in y. */
template <class W, int NT>
GPU_FN void mv_chain(float *sum, const float *t, const gpu_mm &m, const struct mm_part &part,
                     int from, int n)
{
	enum { HAS_D = (int)W::FORM != (int)GPU_BF16 };
	const int blocks = tile_blocks(m.k);

#pragma unroll 1
	for (int cell = (int)threadIdx.x; cell < NT * MV_CELLS; cell += (int)blockDim.x) {
		int col = cell / MV_CELLS * MV_COLS + cell % MV_COLS, x_row, y_row;
		float y = from ? sum[cell] : 0.0f;

		if (col >= part.cols)
			continue;
		y_row = mm_column(m, part, col, &x_row);
		size_t at = (size_t)x_row * (size_t)blocks + (size_t)from; /* index in d */
#pragma unroll 8
		for (int b = 0; b < n; b++)
			y = tile_chain<W>(y, t[b * NT * MV_CELLS + cell],
			                  HAS_D ? m.x.d[at + (size_t)b] : 0.0f);
		sum[cell] = y;
		if (from + n == blocks)
			mm_store(mm_open(m, part.job, part.expert),
			         part.row + cell % MV_CELLS / MV_COLS, y_row, y);
	}
}

/* Compute tile b.  *w contains its stage 0, and afterwards stage 0 of tile b + step. */
template <class W, int NT, int TERMS>
GPU_FN void mv_tile(float *to, mv_stage<W, mv_slices<W, NT>()> *w, const mv_state<W, NT> &v,
                    const gpu_act &x, int b, int step)
{
	enum { STAGES = W::SLICES / mv_slices<W, NT>(), WIDTH = mv_width<W, NT>() };
	typename W::head head = w->head;
	mv_stage<W, mv_slices<W, NT>()> next = *w;

#pragma unroll
	for (int first = 0; first < NT; first += WIDTH) {
		typename W::acc a[WIDTH] = {};

		if (first)
			__syncwarp(); /* otherwise loads are moved up and registers spill */
#pragma unroll
		for (int at = 0; at < STAGES; at++) {
			int next_at = (at + 1) % STAGES, next_b = next_at ? b : b + step;

			if (mv_early<W, NT>() && first == 0 && next_b < v.blocks)
				mv_load(&next, v.w, next_b, next_at, v.lane);
			mv_add<W, NT, TERMS>(a, *w, v, x, b, at, first);
			if (first + WIDTH < NT)
				continue; /* the same stage again: STAGES is 1 then */
			if (!mv_early<W, NT>() && next_b < v.blocks)
				mv_load(&next, v.w, next_b, next_at, v.lane);
			*w = next;
		}
		mv_finish<W, NT>(to, a, head, v, x, b, first);
	}
}
/* Compute columns [0, part.cols) of one group, at most 8 NT of them.
 * *w: stage 0 of the warp's first tile. */
template <class W, int NT, int TERMS>
GPU_FN void mv_round(float *t, const gpu_mm &m, const struct mm_part &part,
                     mv_stage<W, mv_slices<W, NT>()> *w, const unsigned char *tiles)
{
	enum { ROUND = MV_SHARED / NT };
	const int warps = (int)blockDim.x / TILE_LANES, blocks = tile_blocks(m.k),
		  most = blocks < ROUND ? blocks : ROUND;
	struct mv_state<W, NT> v;
	int b = (int)threadIdx.x / TILE_LANES;

	v.w = tiles;
	v.blocks = blocks;
	v.lane = (int)threadIdx.x % TILE_LANES;
#pragma unroll
	for (int c = 0; c < NT; c++) {
		int col = c * MV_COLS + v.lane / 4, row;

		mm_column(m, part, col < part.cols ? col : part.cols - 1, &row);
		v.x[c] = (uint32_t)row * (uint32_t)m.x.row_bytes +
		         (uint32_t)(v.lane % 4 * TILE_LANE);
	}
	for (int from = 0; from < blocks; from += ROUND) {
		int to = from + ROUND < blocks ? from + ROUND : blocks;

		for (; b < to; b += warps)
			mv_tile<W, NT, TERMS>(t + (b - from) * NT * MV_CELLS, w, v, m.x, b, warps);
		__syncthreads();
		mv_chain<W, NT>(t + most * NT * MV_CELLS, t, m, part, from, to - from);
		__syncthreads();
	}
}
/* Set the expert of the block and its columns.  Returns 0 if there is no expert for the block. */
GPU_FN int mv_find_expert(struct mm_part *p, const gpu_mm &m)
{
	if ((int)blockIdx.y >= *m.e.n_active)
		return 0;
	p->expert = m.e.active[blockIdx.y];
	p->first = m.e.first[p->expert];
	p->cols = m.e.first[p->expert + 1] - p->first;
	return 1;
}

template <class W, int NT, int TERMS>
__global__ void __launch_bounds__(MV_THREADS, NT == 1 ? 2 : 1)
	gpu_mv_kernel(const __grid_constant__ gpu_mm m)
{
	DYNAMIC(float, t);
	const int blocks = tile_blocks(m.k), lane = (int)threadIdx.x % TILE_LANES,
		  warp = (int)threadIdx.x / TILE_LANES;
	const unsigned char *tiles;
	struct mm_part p = {};
	mv_stage<W, mv_slices<W, NT>()> w = {};
	int cols;

	mm_find_tile<GPU_GROUP>(&p, m, (int)blockIdx.x);
	tiles = tile_at<W>(m.jobs[p.job].w, blocks, p.row / GPU_GROUP, 0);
	if (!m.e.first && warp < blocks)
		mv_load(&w, tiles, warp, 0, lane);
	if (!m.e.first)
		p.cols = *m.rows;
	gpu_wait();
	gpu_next();
	if (m.e.first && !mv_find_expert(&p, m))
		return;
	tiles += (size_t)p.expert * m.jobs[p.job].matrix_bytes;
	cols = p.cols;
	for (int done = 0; done < cols; done += NT * MV_COLS, p.first += NT * MV_COLS) {
		if ((m.e.first || done) && warp < blocks)
			mv_load(&w, tiles, warp, 0, lane);
		p.cols = cols - done < NT * MV_COLS ? cols - done : NT * MV_COLS;
		mv_round<W, NT, TERMS>(t, m, p, &w, tiles);
	}
}

#include "backend/cuda/mid.cuh"

/* ---- host ---- */
template <int NT, int TERMS>
static int mv_launch(const struct gpu_mm *m, int groups, int slots, cudaStream_t s)
{
	int blocks = gpu_blocks(m->k), most = MV_SHARED / NT, kept = blocks < most ? blocks : most;

	/* many blocks: half as many warps each, so that starts and ends of blocks overlap */
	int threads = (int64_t)groups * slots < MV_MANY ? MV_THREADS : MV_THREADS / 2;

	return LAUNCH(gpu_mv_kernel<W, NT, TERMS>, dim3((unsigned)groups, (unsigned)slots),
	              dim3((unsigned)threads), (size_t)(kept + 1) * NT * MV_CELLS * sizeof(float),
	              s, *m);
}
/* Up to 16 columns: mv; up to 32, or with several terms of x: mid with NT 4; else NT 8. */
template <int TERMS>
static int mv_choose(const struct gpu_mm *m, int cols, int groups, int slots, cudaStream_t s)
{
	enum { WIDE = TERMS == 1 ? 2 * MV_WIDE : MV_WIDE };
	int wide = cols > MV_WIDE * MV_COLS, many = !m->e.first && groups >= MID_MANY;

	if (cols <= MV_COLS)
		return mv_launch<1, TERMS>(m, groups, slots, s);
	if (wide && many && mid_fits(mid_size<WIDE, TERMS, 1>::BYTES))
		return mid_launch<WIDE, TERMS, 1>(m, slots, s);
	if (wide && mid_fits(mid_size<WIDE, TERMS, MID_KS>::BYTES))
		return mid_launch<WIDE, TERMS, MID_KS>(m, slots, s);
	if (cols > 2 * MV_COLS && mid_fits(mid_size<MV_WIDE, TERMS, MID_KS>::BYTES))
		return mid_launch<MV_WIDE, TERMS, MID_KS>(m, slots, s);
	return mv_launch<2, TERMS>(m, groups, slots, s);
}
/* Return the expected number of columns, of an expert or of the step. */
static int mv_columns(const struct gpu_mm *m)
{
	int each = m->max_rows;

	if (m->e.first) /* twice the average columns of an expert */
		each = (2 * m->max_rows * m->e.used + m->e.experts - 1) / m->e.experts;
	return each < m->max_rows ? each : m->max_rows;
}
static int mv(const struct gpu_mm *m, cudaStream_t s)
{
	enum {
		MOST = (int)W::FORM == (int)GPU_I8    ? 1
		       : (int)W::FORM == (int)GPU_F16 ? 2
		                                      : TILE_TERMS
	};
	int groups = (int)mm_tiles(m, GPU_GROUP), slots = 1, cols = mv_columns(m);

	if ((int)W::SUMS && m->x.row_bytes != (size_t)gpu_blocks(m->k) * GPU_BLOCK)
		return cudaErrorInvalidValue;
	if (m->e.first) {
		slots = m->max_rows * m->e.used;
		slots = slots < m->e.experts ? slots : m->e.experts;
	}
	if (MOST == 1 || m->x.terms == 1)
		return mv_choose<1>(m, cols, groups, slots, s);
	return m->x.terms == MOST ? mv_choose<MOST>(m, cols, groups, slots, s)
	                          : (int)cudaErrorInvalidValue;
}

extern "C" {
int GPU_NAME(gpu_mm)(const struct gpu_mm *m, cudaStream_t s);
int GPU_NAME(gpu_pack)(void *to, const void *raw, size_t row_bytes, int64_t n, int64_t k,
                       cudaStream_t s);
extern const struct gpu_type GPU_NAME(gpu_type);
const struct gpu_type GPU_NAME(gpu_type) = {
	W::TYPE,
	W::FORM,
	W::TILE,
	W::SLICE *W::SLICES / (GPU_BLOCK / TILE_I8_K),
	GPU_NAME(gpu_pack),
	mv,
	GPU_NAME(gpu_mm),
};
}
