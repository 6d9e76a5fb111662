/* backend/cuda/chain.cu - operations on rows: a block of GPU_ROW_THREADS threads runs a list of
 * operations on one row, one after the other.  Values are f32 [rows][cols] in global memory, which
 * the caches hold between operations.
 *
 *        row 0   | op 0 | op 1 | ... |     block (0, 0)
 *        row 1   | op 0 | op 1 | ... |     block (1, 0)
 *
 * If each operation computes a column (or GPU_BLOCK columns) only from the same columns of its
 * sources, several blocks share a row (grid.y), with the same bits.  A barrier separates
 * operations, unless both use only columns that a thread owns (chain_row.cuh).
 *
 * The chains between the products of most models have kernels of their own: chain_held.cu,
 * chain_heads.cu.  EMBED is a separate launch.  Limits: GPU_CHAIN operations; ROUTE: GPU_EXPERTS
 * experts.  MM, HEAD_MM, ATTN, CONV1D, GATED_DELTA, MOE, RECV and SEND are not operations of a
 * chain. */
#include "backend/cuda/chain_act.cuh"
#include "backend/cuda/chain_elem.cuh"
#include "backend/cuda/chain_embed.cuh"
#include "backend/cuda/chain_few.cuh"
#include "backend/cuda/chain_norm.cuh"
#include "backend/cuda/chain_pieces.cuh"
#include "backend/cuda/chain_rope.cuh"
#include "backend/cuda/chain_route.cuh"
#include "backend/cuda/kv.cuh"

enum {
	CHAIN_PIECE = 1024,      /* columns of a block, few rows */
	CHAIN_LONG_PIECE = 4096, /* the same from CHAIN_MANY_ROWS rows on */
	CHAIN_MANY_ROWS = 256,
};

/* The operations that a kernel supports.  LIGHT: element-wise operations, NORM and GPU_OP_ACT;
 * HEADS: also ROPE and KV_PUT; ALL: all.  More operations need more registers, so fewer blocks fit
 * on a multiprocessor. */
enum chain_level { CHAIN_LIGHT, CHAIN_HEADS, CHAIN_ALL };
static constexpr int chain_blocks(int level) { return level == CHAIN_LIGHT ? 4 : 2; }

/* piece: columns of a block.  barriers: bit i is 1 if a barrier precedes operation i. */
struct chain_plan {
	int32_t piece;
	uint32_t barriers;
};

GPU_FN void chain_heads(const struct gpu_op *o, const struct gpu_rows *rows,
                        const struct chain_row *r, float *y, const float *a, const float *b)
{
	if (o->node.op == GRAPH_ROPE)
		chain_rope(o, y, a,
		           rows->cs[o->node.rope.table] +
		                   (size_t)r->token * (size_t)o->node.rope.rot);
	else
		gpu_kv_put_row(rows, o->node.kv_put.layer, r->token, o->node.kv_put.heads, a,
		               o->node.kv_put.dk, b, o->node.kv_put.dv);
}

/* Apply an operation that few models have. */
GPU_FN void chain_rare(const struct gpu_op *o, const struct gpu_rows *rows, struct chain_row *r,
                       const struct route *t, float *y, const float *a, const float *b)
{
	size_t row = (size_t)r->row;

	switch ((enum graph_op)o->node.op) {
	case GRAPH_ATTN_TEMP:
		chain_attn_temp(o, r, chain_own(r, o->node.cols), rows->pos, y, a);
		break;
	case GRAPH_GAUSS_TOPK:
		chain_gauss_topk(o, r, y, a);
		break;
	case GRAPH_SLICE:
		chain_slice(o, y, a);
		break;
	case GRAPH_PERMUTE:
		chain_permute(o, y, a);
		break;
	case GRAPH_ALTUP_MIX:
		chain_altup_mix(o, y, a, b, o->c + row * (size_t)o->c_cols);
		break;
	case GRAPH_ALTUP_RESCALE:
		chain_altup_rescale(o, r, y, a, b);
		break;
	case GRAPH_ROUTE:
		chain_route(o, r, t, y, a);
		break;
	case GRAPH_NORM: /* chain_op applies it */
	case GRAPH_ROPE:
	case GRAPH_KV_PUT:
	case GRAPH_ADD:
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
	case GRAPH_GATE:
	case GRAPH_SCALE:
	case GRAPH_GET_ROWS:
	case GRAPH_OPS:   /* GPU_OP_ACT */
	case GRAPH_EMBED: /* launched by itself */
	case GRAPH_MM:    /* not an operation of a chain: plan.c */
	case GRAPH_HEAD_MM:
	case GRAPH_ATTN:
	case GRAPH_CONV1D:
	case GRAPH_GATED_DELTA:
	case GRAPH_MOE:
	case GRAPH_RECV:
	case GRAPH_SEND:
		break;
	}
}

template <int LEVEL>
GPU_FN void chain_op(const struct gpu_op *o, const struct gpu_rows *rows, struct chain_row *r,
                     const struct route *t)
{
	size_t row = (size_t)r->row, a_row = o->node.op == GRAPH_GET_ROWS ? (size_t)r->token : row;
	struct chain_span s = chain_own(r, o->node.cols);
	const float *a = o->a + a_row * (size_t)o->a_cols,
		    *b = o->b ? o->b + row * (size_t)o->b_cols : NULL;
	float *y = o->y + row * (size_t)o->node.cols;

	switch (o->node.op) {
	case GPU_OP_ACT:
		act_make(&o->act, r->row, a, o->a_cols, r->from / GPU_BLOCK, r->to / GPU_BLOCK);
		break;
	case GRAPH_NORM:
		chain_norm<LEVEL == CHAIN_ALL>(o, r, y, a);
		break;
	case GRAPH_ROPE:
	case GRAPH_KV_PUT:
		if (LEVEL >= CHAIN_HEADS)
			chain_heads(o, rows, r, y, a, b);
		break;
	case GRAPH_ADD:
		chain_add(o, s, y, a, b);
		break;
	case GRAPH_SILU_MUL:
		chain_silu(s, y, a, b);
		break;
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
		chain_gelu(o, s, y, a, b);
		break;
	case GRAPH_GATE:
		chain_gate(o, s, y, a, b);
		break;
	case GRAPH_SCALE:
		chain_scale(o, s, y, a);
		break;
	case GRAPH_GET_ROWS:
		chain_copy(s, y, a);
		break;
	default:
		if (LEVEL == CHAIN_ALL)
			chain_rare(o, rows, r, t, y, a, b);
	}
}

/* Return the number of elements of w0 of an operation, or of its w1 if w1 is 1. */
GPU_FN int weight_size(const struct gpu_op *o, int w1)
{
	int cols = o->node.cols, groups = o->node.norm.groups > 1 ? o->node.norm.groups : 1;

	if (o->node.op == GRAPH_SCALE)
		return o->w_rows;
	if (o->node.op != GRAPH_NORM)
		return o->a_cols;
	cols = o->node.norm.first ? o->node.norm.first : cols / groups;
	return o->w_rows > 1 && !w1 ? cols * groups : cols;
}

/* Prefetch the weights of all operations while previous kernels may still run. */
GPU_FN void prefetch_weights(const struct gpu_chain *c)
{
	for (int i = 0; i < c->n; i++) {
		const struct gpu_op *o = &c->ops[i];

		if (o->w0)
			chain_prefetch(o->w0, weight_size(o, 0));
		if (o->w1)
			chain_prefetch(o->w1, weight_size(o, 1));
	}
}

/* Run the chain on one row.  A step has at least one row, but perhaps no output row. */
template <int LEVEL>
__global__ void __launch_bounds__(GPU_ROW_THREADS, chain_blocks(LEVEL))
	chain_kernel(const __grid_constant__ struct gpu_chain c,
                     const __grid_constant__ struct chain_plan p)
{
	SHARED(float, sums, [2 * GPU_ROW_THREADS]);
	SHARED(double, sums64, [LEVEL == CHAIN_ALL ? 2 * GPU_ROW_THREADS : 1]);
	SHARED(float, experts, [LEVEL == CHAIN_ALL ? 4 * GPU_EXPERTS : 1]);
	struct route t = { experts, experts + GPU_EXPERTS, experts + 2 * GPU_EXPERTS,
		           experts + 3 * GPU_EXPERTS };
	struct chain_row r = { (int)blockIdx.x,
		               (int)blockIdx.x,
		               (int)blockIdx.y * p.piece,
		               (int)(blockIdx.y + 1) * p.piece,
		               0,
		               sums,
		               sums64 };

	gpu_next();
	if (r.row == 0 && blockIdx.y == 0)
		prefetch_weights(&c);
	gpu_wait();
	if ((r.row || c.out) && r.row >= (c.out ? c.rows.step->n_out : c.rows.step->n))
		return;
	if (c.out)
		r.token = c.rows.out[r.row];
	for (int i = 0; i < c.n; i++) {
		if (p.barriers >> i & 1)
			__syncthreads();
		chain_op<LEVEL>(&c.ops[i], &c.rows, &r, &t);
	}
}

/* True if each thread reads and writes only columns that it owns. */
static bool owns_columns(const struct gpu_op *o)
{
	switch (o->node.op) {
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
	case GRAPH_ATTN_TEMP:
	case GRAPH_SCALE:
	case GRAPH_GET_ROWS:
	case GRAPH_GAUSS_TOPK:
		return true;
	case GRAPH_ADD:
		return o->node.add.pieces <= 1;
	case GRAPH_GATE:
		return o->b_cols == o->node.cols;
	case GRAPH_NORM:
		return o->node.norm.groups <= 1;
	}
	return false;
}

static enum chain_level level_of(const struct gpu_op *o)
{
	switch (o->node.op) {
	case GRAPH_ROPE:
	case GRAPH_KV_PUT:
		return CHAIN_HEADS;
	case GRAPH_NORM:
		return o->node.norm.centred ? CHAIN_ALL : CHAIN_LIGHT;
	case GRAPH_ADD:
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
	case GRAPH_GATE:
	case GRAPH_SCALE:
	case GRAPH_GET_ROWS:
	case GPU_OP_ACT:
		return CHAIN_LIGHT;
	}
	return CHAIN_ALL;
}

static int32_t columns_of(const struct gpu_op *o)
{
	return o->node.op == GPU_OP_ACT ? o->a_cols : o->node.cols;
}

/* True if blocks of columns of a row can be computed independently of each other. */
static bool can_split(const struct gpu_chain *c)
{
	for (int i = 0; i < c->n; i++) {
		const struct gpu_op *o = &c->ops[i];
		bool apart =
			o->node.op == GPU_OP_ACT || (owns_columns(o) && o->node.op != GRAPH_NORM &&
		                                     o->node.op != GRAPH_GAUSS_TOPK);

		if (!apart || columns_of(o) != columns_of(&c->ops[0]))
			return false;
	}
	return true;
}

/* True if the arguments are within the limits of the kernel. */
static bool chain_fits(const struct gpu_chain *c)
{
	for (int i = 0; i < c->n && i < GPU_CHAIN; i++)
		if (c->ops[i].node.op == GRAPH_ROUTE && c->ops[i].a_cols > GPU_EXPERTS)
			return false;
	return c->n >= 0 && c->n <= GPU_CHAIN;
}

static int launch_embed(const struct gpu_chain *c, int at, cudaStream_t s)
{
	dim3 grid((unsigned)c->max_rows, (unsigned)gpu_blocks(c->ops[at].node.cols));

	return LAUNCH(embed_kernel, grid, GPU_BLOCK, 0, s, c->ops[at], c->rows, (int)c->out);
}

/* Launch all operations of c, which has no EMBED. */
static int launch_ops(const struct gpu_chain *c, cudaStream_t s)
{
	struct chain_plan p = { INT32_MAX / 2, 0 };
	int pieces = 1;
	int level = CHAIN_LIGHT;
	dim3 grid;

	if (chain_held_supports(c))
		return chain_held(c, s);
	if (chain_heads_supports(c))
		return chain_heads(c, s);
	for (int i = 0; i < c->n; i++)
		level = level_of(&c->ops[i]) > level ? level_of(&c->ops[i]) : level;
	for (int i = 1; i < c->n; i++)
		if (!owns_columns(&c->ops[i - 1]) || !owns_columns(&c->ops[i]))
			p.barriers |= 1u << i;
	if (can_split(c)) {
		p.piece = c->max_rows < CHAIN_MANY_ROWS ? CHAIN_PIECE : CHAIN_LONG_PIECE;
		pieces = (columns_of(&c->ops[0]) + p.piece - 1) / p.piece;
	}
	grid = dim3((unsigned)c->max_rows, (unsigned)pieces);
	return LAUNCH(level == CHAIN_LIGHT   ? chain_kernel<CHAIN_LIGHT>
	              : level == CHAIN_HEADS ? chain_kernel<CHAIN_HEADS>
	                                     : chain_kernel<CHAIN_ALL>,
	              grid, GPU_ROW_THREADS, 0, s, *c, p);
}

/* Launch each EMBED separately, and the operations between two EMBED together. */
int gpu_chain(const struct gpu_chain *c, cudaStream_t s)
{
	struct gpu_chain part = *c;
	int rc = cudaSuccess;

	if (!chain_fits(c))
		return cudaErrorInvalidValue;
	part.n = 0;
	for (int i = 0; i < c->n && c->max_rows > 0 && !rc; i++) {
		bool embed = c->ops[i].node.op == GRAPH_EMBED;

		if (!embed)
			part.ops[part.n++] = c->ops[i];
		if (part.n && (embed || i == c->n - 1)) {
			rc = launch_ops(&part, s);
			part.n = 0;
		}
		if (embed && !rc)
			rc = launch_embed(c, i, s);
	}
	return rc;
}
