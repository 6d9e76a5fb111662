/* backend/cuda/chain_heads.cu - a kernel for chains of operations on single heads: norms of heads,
 * ROPE, and KV_PUT.  A warp applies all operations to one head.  The bits are those of chain.cu,
 * where a block computes a whole row.
 *
 * Warp w of block (row, y) computes head h = HEADS_WARPS y + w of each operation that has more than
 * h heads.  If no operation of the chain writes V, warps heads ... 2 heads - 1 store V in the
 * cache; otherwise the warps that store K also store V.
 *
 * Conditions: few rows; NORM not centred.  If an operation reads the result of another one, both
 * have the same number of heads. */
#include "backend/cuda/chain_few.cuh"
#include "backend/cuda/chain_norm.cuh"
#include "backend/cuda/kv.cuh"
#include <stddef.h>

enum {
	HEADS_WARPS = 4,
	HEADS_ROWS = 64, /* most rows: with more, the general kernel fills the device */
	HEADS_PAIRS = 4, /* pairs that a lane loads before it uses the first */
};

/* most: warps for a row.  v_apart 1: V is stored by separate warps. */
struct heads_plan {
	int32_t most, v_apart;
};

/* Addresses of the row's K and V in the cache.  at: address of the page; NULL: released. */
struct heads_place {
	const struct gpu_layer *layer;
	unsigned char *at;
	int pos;
};

GPU_FN struct heads_place heads_find(const struct gpu_rows *r, int layer, int row)
{
	struct heads_place p = { &r->layers[layer], NULL, r->pos[row] };
	uint32_t page = gpu_kv_page(r, &r->runs[r->run[row]], p.layer->group, p.pos);

	if (page != (uint32_t)KV_RELEASED)
		p.at = p.layer->base + (uint64_t)page * p.layer->page_bytes;
	p.pos %= GPU_PAGE;
	return p;
}
/* Store K and V of head `head` in the cache.  v_apart 1: only K, or if head >= heads only V of head
 * - heads. */
GPU_FN void heads_put(const struct gpu_op *o, const struct heads_place *p, int head, int v_apart,
                      const float *k, const float *v)
{
	int heads = o->node.kv_put.heads, dk = o->node.kv_put.dk, dv = o->node.kv_put.dv,
	    h = head % heads;
	const struct gpu_layer *l = p->layer;

	if (!p->at || head >= (v_apart ? 2 : 1) * heads)
		return;
	v += (size_t)h * dv;
	if (head < heads)
		kv_put(p->at + (size_t)h * l->k_head, l->k_type, 0, p->pos, k + (size_t)h * dk, dk,
		       l->v_type == INFER_F16 && kv_overflows(v, dv));
	if (!v_apart || head >= heads)
		kv_put(p->at + l->v_at + (size_t)h * l->v_head, l->v_type, 1, p->pos, v, dv, 0);
}

/* Apply ROPE to one head of dk columns, as chain_rope does. */
GPU_FN void heads_rope(const struct gpu_op *o, float *y, const float *x, const float *cs)
{
	int lane = chain_thread() % 32, from = o->node.rope.from, rot = o->node.rope.rot,
	    half = rot / 2, step = o->node.rope.halves ? 1 : 2,
	    apart = o->node.rope.halves ? half : 1;

	for (int i = lane; y != x && i < o->node.rope.dk; i += 32)
		if (i < from || i >= from + rot)
			y[i] = x[i];
	for (int i = lane; i < half; i += 32 * HEADS_PAIRS) {
		float a[HEADS_PAIRS], b[HEADS_PAIRS];
		float2 t[HEADS_PAIRS];

#pragma unroll
		for (int j = 0; j < HEADS_PAIRS; j++) {
			int pair = i + 32 * j, at = from + step * pair;

			if (pair >= half)
				continue;
			a[j] = x[at], b[j] = x[at + apart];
			t[j] = ((const float2 *)cs)[pair];
		}
#pragma unroll
		for (int j = 0; j < HEADS_PAIRS; j++) {
			int pair = i + 32 * j, at = from + step * pair;

			if (pair >= half)
				continue;
			y[at] = fmaf(a[j], t[j].x, -(b[j] * t[j].y));
			y[at + apart] = fmaf(b[j], t[j].x, a[j] * t[j].y);
		}
	}
}

/* Apply NORM to one head, as chain_norm does. */
GPU_FN void heads_norm(const struct gpu_op *o, struct chain_row *r, int head, float *y,
                       const float *x)
{
	int n = o->node.cols / o->node.norm.groups;
	struct norm m = { (const float *)o->w0, NULL, y, x, o->node.norm.eps, n };

	if (m.gain && o->w_rows > 1)
		m.gain += (size_t)head * n;
	norm_rms<true>(&m, r);
}

GPU_FN int heads_of(const struct gpu_op *o)
{
	return o->node.op == GRAPH_NORM   ? o->node.norm.groups
	       : o->node.op == GRAPH_ROPE ? o->node.rope.heads
	                                  : o->node.kv_put.heads;
}
GPU_FN void heads_op(const struct gpu_chain *c, const struct gpu_op *o, struct chain_row *r,
                     const struct heads_place *p, int head, int v_apart)
{
	size_t row = (size_t)r->row;
	const float *a = o->a + row * (size_t)o->a_cols;
	int n = o->a_cols / heads_of(o);
	float *y;

	if (o->node.op == GRAPH_KV_PUT) {
		heads_put(o, p, head, v_apart, a, o->b + row * (size_t)o->b_cols);
		return;
	}
	if (head >= heads_of(o))
		return;
	a += (size_t)head * n;
	y = o->y + row * (size_t)o->node.cols + (size_t)head * n;
	if (o->node.op == GRAPH_NORM)
		heads_norm(o, r, head, y, a);
	else
		heads_rope(o, y, a,
		           c->rows.cs[o->node.rope.table] +
		                   (size_t)r->token * (size_t)o->node.rope.rot);
}

__global__ void __launch_bounds__(HEADS_WARPS * 32)
	heads_kernel(const __grid_constant__ struct gpu_chain c,
                     const __grid_constant__ struct heads_plan p)
{
	struct chain_row r = {
		(int)blockIdx.x, (int)blockIdx.x, 0, 0, 0, NULL, NULL,
	};
	int head = (int)blockIdx.y * HEADS_WARPS + chain_thread() / 32, put = 0;
	struct heads_place place = {};

	gpu_next();
	gpu_touch(c, c.n * (int)sizeof *c.ops);
	gpu_touch(c.n, (int)(sizeof c - offsetof(struct gpu_chain, n)));
	bool there = !(r.row || c.out) || r.row < (c.out ? c.rows.step->n_out : c.rows.step->n);
	if (c.out && there)
		r.token = c.rows.out[r.row];
	while (put < c.n && c.ops[put].node.op != GRAPH_KV_PUT)
		put++;
	if (there && put < c.n && head < 2 * c.ops[put].node.kv_put.heads)
		place = heads_find(&c.rows, c.ops[put].node.kv_put.layer, r.token);
	gpu_wait();
	if (!there)
		return;
	for (int i = 0; i < c.n; i++) {
		__syncwarp();
		heads_op(&c, &c.ops[i], &r, &place, head, p.v_apart);
	}
}

/* ---- host ---- */

/* Return the heads of an operation; 0: this kernel does not support it. */
static int count_heads(const struct gpu_op *o)
{
	switch (o->node.op) {
	case GRAPH_NORM:
		return o->node.norm.first || o->node.norm.centred ? 0 : o->node.norm.groups;
	case GRAPH_ROPE:
		return o->node.rope.heads;
	case GRAPH_KV_PUT:
		return o->node.kv_put.heads;
	}
	return 0;
}
/* Return the last operation before i that writes src; -1: none. */
static int find_writer(const struct gpu_chain *c, int i, const float *src)
{
	while (--i >= 0)
		if (c->ops[i].y == src && c->ops[i].node.op != GRAPH_KV_PUT)
			return i;
	return -1;
}
static bool has_same_heads(const struct gpu_chain *c, int i, const float *src)
{
	int w = find_writer(c, i, src);

	return w < 0 || count_heads(&c->ops[w]) == count_heads(&c->ops[i]);
}

bool chain_heads_supports(const struct gpu_chain *c)
{
	int puts = 0;

	for (int i = 0; i < c->n; i++) {
		const struct gpu_op *o = &c->ops[i];

		puts += o->node.op == GRAPH_KV_PUT;
		if (count_heads(o) < 2 || puts > 1 || !has_same_heads(c, i, o->a) ||
		    (o->node.op == GRAPH_KV_PUT && !has_same_heads(c, i, o->b)))
			return false;
	}
	return c->n > 0 && c->max_rows <= HEADS_ROWS;
}

int chain_heads(const struct gpu_chain *c, cudaStream_t s)
{
	struct heads_plan p = { 0, 0 };

	for (int i = 0; i < c->n; i++) {
		const struct gpu_op *o = &c->ops[i];
		int heads = count_heads(o);

		if (o->node.op == GRAPH_KV_PUT) {
			p.v_apart = find_writer(c, i, o->b) < 0;
			heads *= 1 + p.v_apart;
		}
		p.most = heads > p.most ? heads : p.most;
	}
	dim3 grid((unsigned)c->max_rows, (unsigned)((p.most + HEADS_WARPS - 1) / HEADS_WARPS));
	return LAUNCH(heads_kernel, grid, HEADS_WARPS * 32, 0, s, *c, p);
}
