/* backend/cuda/moe.cu - experts, except their products: group pairs (row, rank) by expert, compute
 * act(gate) up of each pair, sum the results of each row, as in backend/cpu/moe.c.
 *
 *   route [rows][2 used]: ids, weights;  pair = row * used + rank
 *   gpu_moe_group  block e finds the pairs of expert e: a warp has a range of rows; in each step it
 *                  reads 32 / used of them, one pair per lane, pairs ascending.  first[e] =
 *                  pairs of experts below e.  One more block lists the active experts.
 *   gpu_moe_mid    grid (pairs, pieces of ff): mid, and its activations for the product with down
 *   gpu_moe_sum    grid (rows, pieces of cols): y = fma(weight, down, y), ranks ascending from +0
 *
 * No result depends on the order of atomic operations.  Limits: GPU_USED ranks, GPU_EXPERTS
 * experts. */
#include "backend/cuda/chain_act.cuh"
#include "backend/cuda/chain_row.cuh"
#include "backend/cuda/math.cuh"

enum {
	MOE_PIECE = 1024, /* columns of a block */
	MOE_LOADS = 4,    /* rows of down that a thread loads before it adds them */
	MOE_WARPS = GPU_ROW_THREADS / 32,
};

GPU_FN int moe_rows(const struct gpu_moe *m)
{
	return m->out ? m->rows.step->n_out : m->rows.step->n;
}

/* ---- grouping ---- */

/* Rows [row, end) of a warp.  A lane reads rank `rank` of its row, then of every `step`-th row. */
struct moe_walk {
	int row, end, step, rank;
};
GPU_FN struct moe_walk moe_walk_of(int rows, int used)
{
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, step = 32 / used;
	int each = ((rows + step - 1) / step + MOE_WARPS - 1) / MOE_WARPS * step;
	struct moe_walk w = { warp * each + lane / used, (warp + 1) * each, step, lane % used };

	w.end = w.end < rows ? w.end : rows;
	if (lane >= step * used) /* lanes without a pair */
		w.row = w.end;
	return w;
}
GPU_FN int moe_id(const struct gpu_moe *m, int row, int rank)
{
	return (int)m->route[(size_t)row * 2 * (size_t)m->used + (size_t)rank];
}

/* Return the sum over the lanes of a warp. */
GPU_FN int moe_warp_sum(int v)
{
	for (int i = 16; i; i /= 2)
		v += __shfl_xor_sync(~0u, v, i);
	return v;
}

/* Write the pairs of expert e.  below, equal: [warps] of shared memory. */
GPU_FN void moe_group_expert(const struct gpu_moe *m, int rows, int e, int *below, int *equal)
{
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, less = 0, same = 0, at = 0;
	struct moe_walk w = moe_walk_of(rows, m->used);

	for (int row = w.row; row < w.end; row += w.step) {
		int id = moe_id(m, row, w.rank);

		less += id < e;
		same += id == e;
	}
	less = moe_warp_sum(less);
	same = moe_warp_sum(same);
	if (lane == 0)
		below[warp] = less, equal[warp] = same;
	__syncthreads();
	for (int i = 0; i < MOE_WARPS; i++)
		at += below[i];
	if (threadIdx.x == 0)
		m->first[e] = at;
	for (int i = 0; i < warp; i++)
		at += equal[i];
	/* all lanes of the warp take the same number of steps */
	for (int row = w.row; same && __any_sync(~0u, row < w.end); row += w.step) {
		int hit = row < w.end && moe_id(m, row, w.rank) == e;
		unsigned hits = __ballot_sync(~0u, hit);

		if (hit)
			m->pair[at + __popc(hits & ((1u << lane) - 1))] = row * m->used + w.rank;
		at += __popc(hits);
	}
}

/* List experts with pairs, ascending.  has [GPU_EXPERTS], count [MOE_WARPS]: shared memory. */
GPU_FN void moe_list_active(const struct gpu_moe *m, int rows, int *has, int *count)
{
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, base = 0;
	struct moe_walk w = moe_walk_of(rows, m->used);

	for (int i = (int)threadIdx.x; i < GPU_EXPERTS; i += GPU_ROW_THREADS)
		has[i] = 0;
	__syncthreads();
	for (int row = w.row; row < w.end; row += w.step)
		atomicMax(&has[moe_id(m, row, w.rank)], 1);
	__syncthreads();
	for (int from = 0; from < m->experts; from += GPU_ROW_THREADS) {
		int e = from + (int)threadIdx.x, active = e < m->experts && has[e];
		unsigned mask = __ballot_sync(~0u, active);
		int at = base + __popc(mask & ((1u << lane) - 1));

		if (lane == 0)
			count[warp] = __popc(mask);
		__syncthreads();
		for (int i = 0; i < MOE_WARPS; i++) {
			at += i < warp ? count[i] : 0;
			base += count[i];
		}
		if (active)
			m->active[at] = e;
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		*m->n_active = base;
		m->first[m->experts] = rows * m->used;
	}
}

__global__ void __launch_bounds__(GPU_ROW_THREADS)
	moe_group_kernel(const __grid_constant__ struct gpu_moe m)
{
	SHARED(int, has, [GPU_EXPERTS]);
	SHARED(int, count, [2 * MOE_WARPS]);
	int rows;

	gpu_next();
	gpu_wait();
	rows = moe_rows(&m);
	if ((int)blockIdx.x < m.experts)
		moe_group_expert(&m, rows, (int)blockIdx.x, count, count + MOE_WARPS);
	else
		moe_list_active(&m, rows, has, count);
}

/* ---- act(gate) up ---- */

GPU_FN void moe_mid_map(const struct gpu_moe *m, struct chain_span s, float *y, const float *g,
                        const float *u, float by)
{
	float limit = m->limit;

	if (m->act == GRAPH_ACT_SWIGLU)
		chain_map(s, y, g, u,
		          [=](float a, float b) { return gpu_swiglu(a * by, b * by, limit); });
	else if (m->act == GRAPH_ACT_GELU)
		chain_map(s, y, g, u, [=](float a, float b) { return gpu_gelu(a * by, b * by); });
	else
		chain_map(s, y, g, u, [=](float a, float b) { return gpu_silu(a * by, b * by); });
}

__global__ void __launch_bounds__(GPU_ROW_THREADS)
	moe_mid_kernel(const __grid_constant__ struct gpu_moe m)
{
	int pair = (int)blockIdx.x, from = (int)blockIdx.y * MOE_PIECE, to = from + MOE_PIECE, row,
	    rank;
	size_t at = (size_t)pair * (size_t)m.ff;
	struct chain_span s = { from + (int)threadIdx.x, GPU_ROW_THREADS, to < m.ff ? to : m.ff };
	float by = 1;

	gpu_next();
	gpu_wait();
	if (pair >= moe_rows(&m) * m.used)
		return;
	row = pair / m.used, rank = pair % m.used;
	if (m.weight_before_ffn)
		by = m.route[(size_t)row * 2 * (size_t)m.used + (size_t)(m.used + rank)];
	moe_mid_map(&m, s, m.mid + at, m.gate + at, m.up + at, by);
	__syncthreads();
	act_make(&m.mid_act, pair, m.mid + at, m.ff, from / GPU_BLOCK, to / GPU_BLOCK);
}

/* ---- the sum ---- */

__global__ void __launch_bounds__(GPU_ROW_THREADS)
	moe_sum_kernel(const __grid_constant__ struct gpu_moe m)
{
	int row = (int)blockIdx.x, from = (int)blockIdx.y * MOE_PIECE, to = from + MOE_PIECE;
	const float *weight = m.route + (size_t)row * 2 * (size_t)m.used + (size_t)m.used;
	const float *down = m.down + (size_t)row * (size_t)m.used * (size_t)m.cols;

	gpu_next();
	gpu_wait();
	if (row >= moe_rows(&m))
		return;
	to = to < m.cols ? to : m.cols;
	for (int i = from + (int)threadIdx.x; i < to; i += GPU_ROW_THREADS) {
		float y = 0;

		for (int r = 0; r < m.used; r += MOE_LOADS) {
			float v[MOE_LOADS], by[MOE_LOADS];

			for (int j = 0; j < MOE_LOADS; j++) {
				v[j] = r + j < m.used
				               ? down[(size_t)(r + j) * (size_t)m.cols + (size_t)i]
				               : 0;
				by[j] = r + j < m.used && !m.weight_before_ffn ? weight[r + j] : 1;
			}
			for (int j = 0; j < MOE_LOADS; j++)
				y = r + j < m.used ? fmaf(by[j], v[j], y) : y;
		}
		m.y[(size_t)row * (size_t)m.cols + (size_t)i] = y;
	}
}

/* ---- launches ---- */

static unsigned moe_pieces(int cols) { return (unsigned)((cols + MOE_PIECE - 1) / MOE_PIECE); }

static bool moe_fits(const struct gpu_moe *m)
{
	return m->used >= 1 && m->used <= GPU_USED && m->experts >= 1 && m->experts <= GPU_EXPERTS;
}

int gpu_moe_group(const struct gpu_moe *m, cudaStream_t s)
{
	if (!moe_fits(m))
		return cudaErrorInvalidValue;
	if (m->max_rows < 1)
		return cudaSuccess;
	return LAUNCH(moe_group_kernel, (unsigned)m->experts + 1, GPU_ROW_THREADS, 0, s, *m);
}

int gpu_moe_mid(const struct gpu_moe *m, cudaStream_t s)
{
	if (!moe_fits(m))
		return cudaErrorInvalidValue;
	if (m->max_rows < 1)
		return cudaSuccess;
	return LAUNCH(moe_mid_kernel, dim3((unsigned)(m->max_rows * m->used), moe_pieces(m->ff)),
	              GPU_ROW_THREADS, 0, s, *m);
}

int gpu_moe_sum(const struct gpu_moe *m, cudaStream_t s)
{
	if (!moe_fits(m))
		return cudaErrorInvalidValue;
	if (m->max_rows < 1)
		return cudaSuccess;
	return LAUNCH(moe_sum_kernel, dim3((unsigned)m->max_rows, moe_pieces(m->cols)),
	              GPU_ROW_THREADS, 0, s, *m);
}
