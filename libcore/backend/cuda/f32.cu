/* backend/cuda/f32.cu (private) - products with F32 weights; x is read as f32 (GPU_F32). Tiles:
 * get_f32.cuh.  Used for routers and small models.
 *
 *     t[b] = kern_sum16 of 16 chains; chain i: fma over k = i, i + 16, ... of block b, from +0
 *     y = +0; for b ascending: y = y + t[b]
 *
 * Four lanes share a sum: lane q of the four has chains 4 q ... 4 q + 3, and reads 16 bytes of each
 * 16 of k. kern_sum16 adds chain i + 8 (lane q ^ 2), then i + 4 (lane q ^ 1), then the four chains
 * of a lane.
 *
 * mv (up to F32_MV_COLS rows of x, no experts): a block computes 8 weight rows; a warp, all 8 of
 *     every eighth block of k, so weights are read once and each load of a warp is 8 x 64 bytes.
 *     Each t is stored in shared memory; one thread per y adds them.  Instructions for a step (512
 *     bytes): 1 + C loads and 4 C fma, for C columns: bound by memory up to C = 4, by L1 from there
 *     on.
 * mm: a block has 32 x 32 sums, a warp 16 x 8, a lane a quarter of 4 x 4.  Steps of k are
 *     copied to a ring in shared memory by cp.async, two in a stage.  Eight lanes read two
 *     rows of 64 bytes: no bank conflicts.  64 fma for 8 loads of 16 bytes a lane.
 *
 * Limits: none; rows of x need not be aligned to 16 bytes (slower). */
#include "backend/cuda/launch.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/mm.cuh"
#include "backend/cuda/get_f32.cuh"

enum {
	WARP = 32,
	WARPS = 8,
	THREADS = WARPS * WARP,
	LANES = 4,                 /* lanes that share a sum */
	CHAINS = F32_STEP / LANES, /* chains of a lane */
	STEPS = GPU_BLOCK / F32_STEP,
	PIECE = 16,              /* bytes of a copy */
	STEP_ROW = F32_STEP * 4, /* bytes of a row in a step */
	/* mv */
	MV_ROWS = WARP / LANES,
	F32_MV_COLS = 8,
	MV_ROUND = 64, /* blocks of k that are summed between two barriers */
	/* mm */
	MM_PART = 4,   /* rows (and columns) that four lanes compute */
	LANE_ROWS = 4, /* groups of four lanes of a warp along the rows */
	LANE_COLS = 2,
	ROW_WARPS = 2,
	ROWS = MM_PART * LANE_ROWS * ROW_WARPS,
	COLS = MM_PART * LANE_COLS * (WARPS / ROW_WARPS),
	GROUPS = ROWS / GPU_GROUP,
	RING = 4,
	STAGE_STEPS = 2,
	STAGES = STEPS / STAGE_STEPS,          /* stages of a block of k */
	STAGE_STEP = (ROWS + COLS) * STEP_ROW, /* bytes of a step: rows of W, then of x */
	STAGE = STAGE_STEPS * STAGE_STEP,
};
static_assert(ROWS * STEP_ROW * STAGE_STEPS == THREADS * PIECE && ROWS == COLS,
              "a thread copies two pieces of a stage");

/* Read elements at ... at + 3 of a row of k floats; zeros if at + i >= k. */
GPU_FN float4 read_x(const float *row, int at, int k, bool aligned)
{
	float v[4];

	if (aligned && at + 4 <= k)
		return *(const float4 *)(row + at);
	for (int i = 0; i < 4; i++)
		v[i] = at + i < k ? row[at + i] : 0.0f;
	return make_float4(v[0], v[1], v[2], v[3]);
}
GPU_FN bool rows_aligned(const gpu_mm &m) { return ((size_t)m.x.q | m.x.row_bytes) % PIECE == 0; }
GPU_FN const float *x_row(const gpu_mm &m, int row)
{
	return (const float *)((const unsigned char *)m.x.q + (size_t)row * m.x.row_bytes);
}
GPU_FN void add4(float sum[CHAINS], const float4 &w, const float4 &x)
{
	sum[0] = fmaf(w.x, x.x, sum[0]);
	sum[1] = fmaf(w.y, x.y, sum[1]);
	sum[2] = fmaf(w.z, x.z, sum[2]);
	sum[3] = fmaf(w.w, x.w, sum[3]);
}
GPU_FN float sum_lane(const float v[CHAINS]) { return (v[0] + v[2]) + (v[1] + v[3]); }

/* ---- few rows ---- */

/* Compute t[c] of the block of k at k0; w: the lane's part of its weight row. */
template <int C>
GPU_FN void sum_block(float t[C], const float *w, const gpu_mm &m, int rows, int k0, bool aligned)
{
	int q = (int)threadIdx.x % LANES;
	float sum[C][CHAINS] = {};

#pragma unroll 4
	for (int j = 0; j < STEPS; j++) {
		uint4 u = load16(w + j * (F32_STEP_BYTES / 4));
		float4 v =
			make_float4(gpu_float(u.x), gpu_float(u.y), gpu_float(u.z), gpu_float(u.w));

#pragma unroll
		for (int c = 0; c < C; c++)
			add4(sum[c], v,
			     read_x(x_row(m, c < rows ? c : 0), k0 + j * F32_STEP + q * CHAINS, m.k,
			            aligned));
	}
#pragma unroll
	for (int c = 0; c < C; c++) {
		for (int lane = LANES / 2; lane; lane /= 2)
			for (int i = 0; i < CHAINS; i++)
				sum[c][i] = sum[c][i] + __shfl_xor_sync(~0u, sum[c][i], lane);
		t[c] = sum_lane(sum[c]);
	}
}
template <int C>
static __global__ void __launch_bounds__(THREADS) f32_mv(const __grid_constant__ gpu_mm m)
{
	SHARED(float, part, [MV_ROUND][C][MV_ROWS]);
	int warp = (int)threadIdx.x / WARP, row = (int)threadIdx.x % WARP / LANES,
	    q = (int)threadIdx.x % LANES;
	int blocks = (m.k + GPU_BLOCK - 1) / GPU_BLOCK, c = (int)threadIdx.x / MV_ROWS,
	    r = (int)threadIdx.x % MV_ROWS;
	bool aligned = rows_aligned(m);
	struct mm_part p;
	float y = 0;

	gpu_wait();
	gpu_next();
	mm_find_tile<MV_ROWS>(&p, m, (int)blockIdx.x);
	struct mm_matrix x = mm_open(m, p.job, 0);
	int rows = *m.rows;
	const float *w = (const float *)x.w +
	                 (size_t)(p.row / GPU_GROUP) * (size_t)blocks * (F32_TILE / 4) +
	                 f32_at(p.row % GPU_GROUP + row, q * CHAINS);

	for (int from = 0; from < blocks; from += MV_ROUND) {
		int to = from + MV_ROUND < blocks ? from + MV_ROUND : blocks;

		for (int b = from + warp; b < to; b += WARPS) {
			float t[C];

			sum_block<C>(t, w + (size_t)b * (F32_TILE / 4), m, rows, b * GPU_BLOCK,
			             aligned);
			for (int i = 0; q == 0 && i < C; i++)
				part[b - from][i][row] = t[i];
		}
		__syncthreads();
		for (int b = from; c < C && b < to; b++)
			y = y + part[b - from][c][r];
		__syncthreads();
	}
	if (c < C && c < rows)
		mm_store(x, p.row + r, c, y);
}

/* ---- many rows ---- */

/* The two pieces of a stage that a thread copies; bytes 0: zeros. */
struct copies {
	const unsigned char *w;
	const float *x;    /* first element that the thread copies */
	int w_bytes, left; /* left: elements from x to the end of the row; <= 0: no row */
};
GPU_FN struct copies find_copies(const gpu_mm &m, const struct mm_matrix &w,
                                 const struct mm_part &p, int blocks)
{
	struct copies c;
	int step = (int)threadIdx.x / (THREADS / STAGE_STEPS),
	    at = (int)threadIdx.x % (THREADS / STAGE_STEPS);
	int group = p.row / GPU_GROUP + at * PIECE / F32_STEP_BYTES, col = at / LANES, row = 0;
	int k = step * F32_STEP + at % LANES * CHAINS;

	c.w_bytes = group * GPU_GROUP < w.n ? PIECE : 0;
	c.w = w.w + (c.w_bytes ? (size_t)group * (size_t)blocks * F32_TILE + step * F32_STEP_BYTES +
	                                 at * PIECE % F32_STEP_BYTES
	                       : 0);
	if (col < p.cols)
		mm_column(m, p, col, &row);
	c.x = x_row(m, row) + k;
	c.left = col < p.cols ? m.k - k : 0;
	return c;
}
/* Start the copy of stage i of all blocks.  Unaligned rows of x are copied synchronously. */
GPU_FN void copy_stage(unsigned char *stage, const struct copies *c, int i, bool aligned)
{
	int at = (int)threadIdx.x % (THREADS / STAGE_STEPS);
	int k = i * STAGE_STEPS * F32_STEP, left = c->left - k;
	unsigned char *to =
		stage + (int)threadIdx.x / (THREADS / STAGE_STEPS) * STAGE_STEP + at * PIECE;

	copy_async16(to, c->w + (c->w_bytes ? (size_t)i * STAGE_STEPS * F32_STEP_BYTES : 0),
	             c->w_bytes);
	to += ROWS * STEP_ROW;
	if (!aligned)
		*(float4 *)to = read_x(c->x + k, 0, left, false);
	else
		copy_async16(to, left > 0 ? c->x + k : c->x,
		             left >= CHAINS ? PIECE
		             : left > 0     ? left * 4
		                            : 0);
}
/* Add the steps of a stage.  w, x: the lane's part of its weight rows and of its rows of x. */
GPU_FN void add_stage(float sum[MM_PART][MM_PART][CHAINS], const unsigned char *w,
                      const unsigned char *x)
{
#pragma unroll
	for (int j = 0; j < STAGE_STEPS; j++) {
		float4 a[MM_PART], b[MM_PART];

		for (int i = 0; i < MM_PART; i++) {
			a[i] = *(const float4 *)(w + j * STAGE_STEP + i * LANE_ROWS * STEP_ROW);
			b[i] = *(const float4 *)(x + j * STAGE_STEP + i * LANE_COLS * STEP_ROW);
		}
		for (int i = 0; i < MM_PART; i++)
			for (int c = 0; c < MM_PART; c++)
				add4(sum[i][c], a[i], b[c]);
	}
}
/* In lane q of four: y[c] += t of their row q and column c.  Clears sum.  In each step of
 * kern_sum16 a lane sends half of its rows and receives the other half, so it adds only what it
 * keeps. */
GPU_FN void end_block(float y[MM_PART], float sum[MM_PART][MM_PART][CHAINS])
{
	bool upper = threadIdx.x & 2, odd = threadIdx.x & 1;

#pragma unroll
	for (int c = 0; c < MM_PART; c++) {
		float v[CHAINS];

#pragma unroll
		for (int e = 0; e < CHAINS; e++) {
			float a[2];

			for (int i = 0; i < 2; i++)
				a[i] = (upper ? sum[2 + i][c][e] : sum[i][c][e]) +
				       __shfl_xor_sync(~0u, upper ? sum[i][c][e] : sum[2 + i][c][e],
				                       2);
			v[e] = (odd ? a[1] : a[0]) + __shfl_xor_sync(~0u, odd ? a[0] : a[1], 1);
			for (int i = 0; i < MM_PART; i++)
				sum[i][c][e] = 0;
		}
		y[c] = y[c] + sum_lane(v);
	}
}
static __global__ void __launch_bounds__(THREADS)
	f32_mm(const __grid_constant__ gpu_mm m, int tiles, int slots)
{
	SHARED(unsigned char, shared, [RING * STAGE]);
	int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, q = lane % LANES;
	int row = warp % ROW_WARPS * MM_PART * LANE_ROWS + lane / LANES % LANE_ROWS,
	    col = warp / ROW_WARPS * MM_PART * LANE_COLS + lane / LANES / LANE_ROWS;
	int blocks = (m.k + GPU_BLOCK - 1) / GPU_BLOCK, n = blocks * STAGES;
	bool aligned = rows_aligned(m);
	float sum[MM_PART][MM_PART][CHAINS] = {}, y[MM_PART] = {};

	gpu_wait();
	gpu_next();
	struct mm_part p = mm_find<ROWS, COLS, THREADS>(m, tiles, slots);
	if (p.cols <= 0)
		return;
	struct mm_matrix w = mm_open(m, p.job, p.expert);
	struct copies c = find_copies(m, w, p, blocks);

	for (int i = 0; i < RING - 1; i++) { /* n >= STAGES > RING */
		copy_stage(shared + i * STAGE, &c, i, aligned);
		copy_commit();
	}
	for (int i = 0; i < n; i++) {
		const unsigned char *stage = shared + i % RING * STAGE;

		copy_wait<RING - 2>();
		__syncthreads();
		if (i + RING - 1 < n)
			copy_stage(shared + (i + RING - 1) % RING * STAGE, &c, i + RING - 1,
			           aligned);
		copy_commit();
		add_stage(sum, stage + row * STEP_ROW + q * PIECE,
		          stage + (ROWS + col) * STEP_ROW + q * PIECE);
		if (i % STAGES == STAGES - 1)
			end_block(y, sum);
	}
	copy_wait<0>();
	for (int i = 0; i < MM_PART; i++) {
		int at = col + i * LANE_COLS, unused;

		if (at < p.cols)
			mm_store(w, p.row + row + q * LANE_ROWS, mm_column(m, p, at, &unused),
			         y[i]);
	}
}

/* ---- packing ---- */

/* Write the tile of group blockIdx.x and block blockIdx.y, of a matrix of n rows. */
static __global__ void __launch_bounds__(THREADS)
	f32_pack(float *to, const unsigned char *raw, size_t row_bytes, int64_t n, int64_t k)
{
	int64_t row = (int64_t)blockIdx.x * GPU_GROUP, at = (int64_t)blockIdx.y * GPU_BLOCK;
	float *tile = to + ((size_t)blockIdx.x * gridDim.y + blockIdx.y) * (F32_TILE / 4);

	gpu_wait();
	for (int i = (int)threadIdx.x; i < GPU_GROUP * GPU_BLOCK; i += THREADS) {
		int r = i / GPU_BLOCK, j = i % GPU_BLOCK;
		const uint16_t *p =
			(const uint16_t *)(raw + (size_t)(row + r) * row_bytes) + 2 * (at + j);
		bool in = row + r < n && at + j < k;

		tile[f32_at(r, j)] = in ? gpu_float((uint32_t)p[0] | (uint32_t)p[1] << 16) : 0.0f;
	}
}

/* ---- host ---- */

static int run_pack(void *to, const void *raw, size_t row_bytes, int64_t n, int64_t k,
                    cudaStream_t s)
{
	unsigned groups = (unsigned)((n + GPU_GROUP - 1) / GPU_GROUP),
		 blocks = (unsigned)gpu_blocks(k);

	if (!groups || !blocks)
		return cudaSuccess;
	return LAUNCH(f32_pack, dim3(groups, blocks), dim3(THREADS), 0, s, (float *)to,
	              (const unsigned char *)raw, row_bytes, n, k);
}
static int run_mm(const struct gpu_mm *m, cudaStream_t s)
{
	int64_t tiles = mm_tiles(m, ROWS), slots = mm_slots(m, COLS);

	if (tiles * slots > INT32_MAX)
		return cudaErrorInvalidConfiguration;
	if (tiles * slots == 0)
		return cudaSuccess;
	return LAUNCH(f32_mm, dim3((unsigned)(tiles * slots)), dim3(THREADS), 0, s, *m, (int)tiles,
	              (int)slots);
}
template <int C> static int launch_mv(const struct gpu_mm *m, cudaStream_t s)
{
	return LAUNCH(f32_mv<C>, dim3((unsigned)mm_tiles(m, MV_ROWS)), dim3(THREADS), 0, s, *m);
}
static int run_mv(const struct gpu_mm *m, cudaStream_t s)
{
	if (m->e.first || m->max_rows > F32_MV_COLS)
		return run_mm(m, s);
	if (!mm_tiles(m, MV_ROWS) || !m->max_rows)
		return cudaSuccess;
	if (m->max_rows == 1)
		return launch_mv<1>(m, s);
	if (m->max_rows == 2)
		return launch_mv<2>(m, s);
	return m->max_rows <= 4 ? launch_mv<4>(m, s) : launch_mv<F32_MV_COLS>(m, s);
}
extern "C" const struct gpu_type gpu_type_f32;
const struct gpu_type gpu_type_f32 = {
	INFER_F32, GPU_F32, F32_TILE, F32_CHUNK, run_pack, run_mv, run_mm,
};
