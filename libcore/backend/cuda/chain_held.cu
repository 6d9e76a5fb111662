/* backend/cuda/chain_held.cu - a kernel for the most common chains between products: sums of rows,
 * norms, activation functions, and the activations of the next product.  With few rows such a chain
 * is bound by latency.  The kernel keeps a row in registers, so it reads global memory once.  The
 * bits are those of chain.cu.
 *
 * Columns: warp w has blocks w, w + warps, ... of GPU_BLOCK columns.  Lane l has 8 columns of a
 * block, 4 from `low` on and 4 from `high` on:
 *      I8           low = 64 (l / 8) + 32 (l % 2) + 4 (l / 2 % 4)    high = low + 16
 *      F16, BF16    low = 8 l                                        high = low + 4
 * A lane stores the same columns of activations (chain_act.cuh).
 *
 * For a norm, thread i < 256 adds columns i, i + 256, ... as in chain_row.cuh; it reads them from
 * shared memory.  A chain without a norm is divided into pieces of HELD_PIECE columns, one for each
 * block.
 *
 * Conditions: at least two operations, all on the same number of columns, a multiple of GPU_BLOCK.
 * Each operation except the first reads the result of the previous one.  Operations: ADD and NORM
 * of whole rows, not centred; SILU_MUL, GELU_MUL, GELU; ACT, either all I8 or none. */
#include "backend/cuda/chain_act.cuh"
#include "backend/cuda/chain_few.cuh"
#include "backend/cuda/math.cuh"
#include <stddef.h>

enum {
	HELD_LANE = 8,     /* columns of a lane in a block */
	HELD_PIECE = 1024, /* columns of a thread block in a chain without norm */
	HELD_WARPS = 16,   /* most warps of a thread block: 128 registers a thread */
	HELD_MOST = 2,     /* most blocks of columns of a warp */
	HELD_LEAST = GPU_ROW_THREADS / 32, /* warps that a norm needs */
	HELD_ALIKE = 2, /* elements of a lane in one iteration of held_map_loop */
};
/* Kinds of kernels: for ADD and NORM, for SILU_MUL, for the other activation functions.  One kernel
 * for all would be slower: with one row, instruction fetches take much of the time. */
enum held_kind { HELD_NORMS, HELD_SILU, HELD_GELU };

/* Blocks of GPU_BLOCK columns: blocks: of a thread block; whole: of the row.  eights 1: the column
 * order of F16 and BF16. */
struct held_plan {
	int32_t blocks, whole, eights;
};

/* The columns of a lane. */
struct held_lane {
	int warp, warps, low, high;
	int first, end; /* blocks of columns of the thread block */
};

GPU_FN int held_block(const struct held_lane *l, int i)
{
	return l->first + l->warp + i * l->warps;
}

/* Load the lane's columns of its block i. */
GPU_FN void held_load(float v[HELD_LANE], const struct held_lane *l, int i, const float *x)
{
	const float *from = x + held_block(l, i) * GPU_BLOCK;
	float4 a = *(const float4 *)(from + l->low), b = *(const float4 *)(from + l->high);

	v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
	v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}
GPU_FN void held_store(float *y, const struct held_lane *l, int i, const float v[HELD_LANE])
{
	float *to = y + held_block(l, i) * GPU_BLOCK;

	*(float4 *)(to + l->low) = make_float4(v[0], v[1], v[2], v[3]);
	*(float4 *)(to + l->high) = make_float4(v[4], v[5], v[6], v[7]);
}

/* v = f(v, u) for each element.  First v is read from a and u from b, unless NULL. */
template <int N, class F>
GPU_FN void held_map(float v[N][HELD_LANE], const struct held_lane *l, const float *a,
                     const float *b, F f)
{
	float u[N][HELD_LANE];

#pragma unroll
	for (int i = 0; i < N; i++) {
		if (held_block(l, i) >= l->end)
			continue;
		if (a)
			held_load(v[i], l, i, a);
		if (b)
			held_load(u[i], l, i, b);
	}
#pragma unroll
	for (int i = 0; i < N; i++)
#pragma unroll
		for (int e = 0; e < HELD_LANE; e++)
			v[i][e] = f(v[i][e], u[i][e]);
}

template <int N>
GPU_FN void held_add(float v[N][HELD_LANE], const struct held_lane *l, const struct gpu_op *o,
                     const float *a, const float *b)
{
	float mul = o->node.add.mul == 0 ? 1 : o->node.add.mul;

	if (a && !b) /* v is the second source */
		held_map<N>(v, l, NULL, a, [=](float own, float u) { return fmaf(mul, own, u); });
	else
		held_map<N>(v, l, a, b, [=](float u, float own) { return fmaf(mul, own, u); });
}

/* v = f(v, u) with u read from b, HELD_ALIKE elements in each iteration.  The arrays are shifted,
 * because registers cannot be indexed, and unrolled code would be four times as long. */
template <int N, class F>
GPU_FN void held_map_loop(float v[N][HELD_LANE], const float *b, const struct held_lane *l, F f)
{
	float u[N][HELD_LANE] = {};

#pragma unroll
	for (int i = 0; i < N; i++)
		if (b && held_block(l, i) < l->end)
			held_load(u[i], l, i, b);
#pragma unroll
	for (int i = 0; i < N; i++)
#pragma unroll 1
		for (int t = 0; t < HELD_LANE; t += HELD_ALIKE) {
			float y[HELD_ALIKE];

#pragma unroll
			for (int e = 0; e < HELD_ALIKE; e++)
				y[e] = f(v[i][e], u[i][e]);
#pragma unroll
			for (int e = 0; e + HELD_ALIKE < HELD_LANE; e++) {
				v[i][e] = v[i][e + HELD_ALIKE];
				u[i][e] = u[i][e + HELD_ALIKE];
			}
#pragma unroll
			for (int e = 0; e < HELD_ALIKE; e++)
				v[i][HELD_LANE - HELD_ALIKE + e] = y[e];
		}
}
template <int N, int KIND>
GPU_FN void held_act_fn(float v[N][HELD_LANE], const struct held_lane *l, const struct gpu_op *o,
                        const float *b)
{
	if (KIND == HELD_SILU)
		held_map_loop<N>(v, b, l, [](float g, float u) { return gpu_silu(g, u); });
	else if (o->node.op == GRAPH_GELU)
		held_map_loop<N>(v, NULL, l, [](float g, float) { return gpu_gelu_erf(g, 1.0f); });
	else if (o->node.gelu_mul.erf)
		held_map_loop<N>(v, b, l, [](float g, float u) { return gpu_gelu_erf(g, u); });
	else
		held_map_loop<N>(v, b, l, [](float g, float u) { return gpu_gelu(g, u); });
}

/* Return the sum of squares of the row, in the order of chain_sum. */
template <int N>
GPU_FN float held_squares(const float v[N][HELD_LANE], const struct held_lane *l,
                          struct chain_row *r, float *row, int n)
{
	float s = 0;
	int tid = chain_thread();

#pragma unroll
	for (int i = 0; i < N; i++)
		if (held_block(l, i) < l->end)
			held_store(row, l, i, v[i]);
	__syncthreads();
	if (tid < GPU_ROW_THREADS)
#pragma unroll 8
		for (int i = tid; i < n; i += GPU_ROW_THREADS)
			s = fmaf(row[i], row[i], s);
	float *to = r->sums + (r->turn ^= 1) * GPU_ROW_THREADS, part[CHAIN_WARPS];
	if (tid < GPU_ROW_THREADS)
		to[tid] = s;
	__syncthreads();
	for (int w = 0; w < CHAIN_WARPS; w++)
		part[w] = to[tid % 32 + 32 * w];
	return chain_tree(part);
}

template <int N>
GPU_FN void held_norm(float v[N][HELD_LANE], const float gain[N][HELD_LANE],
                      const struct held_lane *l, const struct gpu_op *o, struct chain_row *r,
                      float *row)
{
	float sum = held_squares<N>(v, l, r, row, o->node.cols);
	float by = 1.0f / sqrtf(sum / (float)o->node.cols + o->node.norm.eps);

#pragma unroll
	for (int i = 0; i < N; i++)
#pragma unroll
		for (int e = 0; e < HELD_LANE; e++)
			v[i][e] = o->w0 ? v[i][e] * by * gain[i][e] : v[i][e] * by;
}

template <int N>
GPU_FN void held_act(const float v[N][HELD_LANE], const struct held_lane *l, const struct gpu_op *o,
                     int row)
{
	int blocks = o->a_cols / GPU_BLOCK;

#pragma unroll
	for (int i = 0; i < N; i++) {
		int b = held_block(l, i);

		if (b >= l->end)
			continue;
		if (o->act.form == GPU_I8)
			act_store_i8(&o->act, row, b, blocks, v[i]);
		else if (o->act.form == GPU_F16)
			act_store_16<GPU_F16>(&o->act, row, b, blocks, v[i]);
		else if (o->act.form == GPU_BF16)
			act_store_16<GPU_BF16>(&o->act, row, b, blocks, v[i]);
		else if (o->act.q != o->a)
			held_store((float *)((unsigned char *)o->act.q +
			                     (size_t)row * o->act.row_bytes),
			           l, i, v[i]);
	}
}

template <int N>
GPU_FN void held_gain(float g[N][HELD_LANE], const struct held_lane *l, const struct gpu_op *o)
{
#pragma unroll
	for (int i = 0; i < N; i++)
		if (o->w0 && held_block(l, i) < l->end)
			held_load(g[i], l, i, (const float *)o->w0);
}

/* Apply one operation to v.  src: address of the value that v contains; NULL: v is empty. */
template <int N, int KIND>
GPU_FN void held_op(float v[N][HELD_LANE], float gain[N][HELD_LANE], const struct held_lane *l,
                    const struct gpu_op *o, const float *src, struct chain_row *r, float *row,
                    bool first_norm)
{
	size_t at = (size_t)r->row * (size_t)o->a_cols;
	const float *a = src == o->a ? NULL : o->a + at,
		    *b = !o->b || (src && src == o->b) ? NULL : o->b + at;

	if (!src && o->node.op != GRAPH_ADD)
		held_map<N>(v, l, a, NULL, [](float u, float) { return u; });
	switch (o->node.op) {
	case GPU_OP_ACT:
		held_act<N>(v, l, o, r->row);
		return;
	case GRAPH_NORM:
		if (KIND == HELD_NORMS && !first_norm)
			held_gain<N>(gain, l, o);
		if (KIND == HELD_NORMS)
			held_norm<N>(v, gain, l, o, r, row);
		break;
	case GRAPH_ADD:
		if (KIND == HELD_NORMS)
			held_add<N>(v, l, o, a, b);
		break;
	default:
		if (KIND != HELD_NORMS)
			held_act_fn<N, KIND>(v, l, o, b);
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		if (held_block(l, i) < l->end)
			held_store(o->y + at, l, i, v[i]);
}

template <int N, int KIND>
__global__ void __launch_bounds__(KIND == HELD_NORMS ? HELD_WARPS * 32 : HELD_PIECE / HELD_LANE, 1)
	held_kernel(const __grid_constant__ struct gpu_chain c,
                    const __grid_constant__ struct held_plan p)
{
	DYNAMIC(float, row);
	SHARED(float, sums, [KIND == HELD_NORMS ? 2 * GPU_ROW_THREADS : 1]);
	struct chain_row r = { (int)blockIdx.x, (int)blockIdx.x, 0, 0, 0, sums, NULL };
	int lane = chain_thread() % 32, norm = 0;
	struct held_lane l = {
		chain_thread() / 32,
		(int)blockDim.x / 32,
		p.eights ? lane * 8 : lane / 8 * 64 + lane % 2 * 32 + lane / 2 % 4 * 4,
		0,
		(int)blockIdx.y * p.blocks,
		(int)(blockIdx.y + 1) * p.blocks,
	};
	float v[N][HELD_LANE] = {}, gain[N][HELD_LANE] = {};
	const float *src = NULL;

	gpu_next();
	gpu_touch(c, (int)offsetof(struct gpu_chain, ops) + c.n * (int)sizeof *c.ops);
	gpu_touch(c.n, (int)(sizeof c - offsetof(struct gpu_chain, n)));
	l.high = l.low + (p.eights ? 4 : 16);
	l.end = l.end < p.whole ? l.end : p.whole;
	while (KIND == HELD_NORMS && norm < c.n && c.ops[norm].node.op != GRAPH_NORM)
		norm++;
	if (KIND == HELD_NORMS && norm < c.n)
		held_gain<N>(gain, &l, &c.ops[norm]);
	bool there = !(r.row || c.out) || r.row < (c.out ? c.rows.step->n_out : c.rows.step->n);
	gpu_wait();
	if (!there)
		return;
	for (int i = 0; i < c.n; i++) {
		const struct gpu_op *o = &c.ops[i];

		held_op<N, KIND>(v, gain, &l, o, src, &r, row, i == norm);
		src = o->node.op == GPU_OP_ACT ? o->a : o->y;
	}
}

/* ---- host ---- */
static bool supports_op(const struct gpu_op *o)
{
	switch (o->node.op) {
	case GRAPH_ADD:
		return o->node.add.pieces <= 1 && o->b_cols == o->a_cols;
	case GRAPH_NORM:
		return o->node.norm.groups <= 1 && !o->node.norm.first && !o->node.norm.centred;
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
		return o->b_cols == o->a_cols;
	case GRAPH_GELU:
	case GPU_OP_ACT:
		return true;
	}
	return false;
}
/* True if src is the first source of the operation, or the second source of an ADD. */
static bool reads_row(const struct gpu_op *o, const float *src)
{
	return (o->a == src) != (o->node.op == GRAPH_ADD && o->b == src);
}
/* True if the chain contains operation `op` or `other`. */
static bool has_op(const struct gpu_chain *c, int op, int other)
{
	int i = 0;

	while (i < c->n && c->ops[i].node.op != op && c->ops[i].node.op != other)
		i++;
	return i < c->n;
}
static bool has_norms(const struct gpu_chain *c) { return has_op(c, GRAPH_NORM, GRAPH_ADD); }
static bool has_silu(const struct gpu_chain *c)
{
	return has_op(c, GRAPH_SILU_MUL, GRAPH_SILU_MUL);
}
static bool has_gelu(const struct gpu_chain *c) { return has_op(c, GRAPH_GELU, GRAPH_GELU_MUL); }
/* Bits: the column orders that the activations of a chain need. */
enum { ORDER_I8 = 1, ORDER_16 = 2 };
static int orders_of(const struct gpu_chain *c)
{
	int f = 0;

	for (int i = 0; i < c->n; i++)
		if (c->ops[i].node.op == GPU_OP_ACT)
			f |= c->ops[i].act.form == GPU_I8    ? ORDER_I8
			     : c->ops[i].act.form == GPU_F32 ? 0
			                                     : ORDER_16;
	return f;
}

bool chain_held_supports(const struct gpu_chain *c)
{
	int cols = c->n ? c->ops[0].a_cols : 0;
	const float *src = NULL;

	if (c->n < 2 || cols % GPU_BLOCK || orders_of(c) == (ORDER_I8 | ORDER_16) ||
	    has_norms(c) + has_silu(c) + has_gelu(c) > 1 ||
	    (has_norms(c) && cols > HELD_MOST * HELD_WARPS * GPU_BLOCK))
		return false;
	for (int i = 0; i < c->n; i++) {
		const struct gpu_op *o = &c->ops[i];

		if (!supports_op(o) || o->a_cols != cols || (i && !reads_row(o, src)))
			return false;
		src = o->node.op == GPU_OP_ACT ? o->a : o->y;
	}
	return true;
}

template <int N, int KIND>
static int held_launch(const struct gpu_chain *c, struct held_plan p, int warps, size_t bytes,
                       cudaStream_t s)
{
	dim3 grid((unsigned)c->max_rows, (unsigned)((p.whole + p.blocks - 1) / p.blocks));

	return LAUNCH((held_kernel<N, KIND>), grid, (unsigned)warps * 32, bytes, s, *c, p);
}
int chain_held(const struct gpu_chain *c, cudaStream_t s)
{
	int cols = c->ops[0].a_cols, blocks = cols / GPU_BLOCK, norms = has_norms(c), warps;
	struct held_plan p = { norms ? blocks : HELD_PIECE / GPU_BLOCK, blocks,
		               orders_of(c) == ORDER_16 };
	size_t bytes = norms ? (size_t)cols * sizeof(float) : 0;

	if (!norms)
		return has_gelu(c) ? held_launch<1, HELD_GELU>(c, p, p.blocks, 0, s)
		                   : held_launch<1, HELD_SILU>(c, p, p.blocks, 0, s);
	if (blocks > HELD_WARPS)
		return held_launch<2, HELD_NORMS>(c, p, (blocks + 1) / 2, bytes, s);
	warps = blocks < HELD_LEAST ? (int)HELD_LEAST : blocks;
	return held_launch<1, HELD_NORMS>(c, p, warps, bytes, s);
}
