/* arch/block.c - the blocks that nearly every decoder uses.  An operation without a bound weight is
 * left out. */
#include "arch/arch.h"

#include <math.h>

int32_t arch_norm(struct graph *g, const infer_model *m, int32_t w, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	if (w < 0)
		return x;
	n.src[0] = x;
	n.w[0] = w;
	n.norm.groups = 1;
	n.norm.eps = m->h.eps;
	return graph_add(g, n);
}

int32_t arch_linear(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_MM);

	n.cols = (int32_t)m->weights[w].ne[1];
	n.src[0] = x;
	n.w[0] = w;
	n.w[1] = bias;
	return graph_add(g, n);
}

/* The norm of each head, then the rotation. */
static int32_t heads(struct graph *g, const infer_model *m, int layer, int32_t x, int n_heads,
                     int32_t norm)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	if (norm >= 0) {
		n.src[0] = x;
		n.w[0] = norm;
		n.norm.groups = n_heads;
		n.norm.eps = m->h.eps;
		x = graph_add(g, n);
	}
	n = graph_node_of(GRAPH_ROPE);
	n.src[0] = x;
	n.rope.heads = n_heads;
	n.rope.dk = m->h.dk;
	n.rope.rot = m->h.n_rot;
	n.rope.halves = arch_rope_mode(m->arch, m->naming) == ROPE_HALVES;
	n.rope.table = m->h.windowed[layer] && m->n_ropes > 1;
	return graph_add(g, n);
}

int32_t arch_attention(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	int32_t q = arch_linear(g, m, w[W_Q], w[W_Q_BIAS], h);
	int32_t k = arch_linear(g, m, w[W_K], w[W_K_BIAS], h);
	int32_t v = arch_linear(g, m, w[W_V], w[W_V_BIAS], h);
	struct graph_node put = graph_node_of(GRAPH_KV_PUT), n = graph_node_of(GRAPH_ATTN);

	q = heads(g, m, layer, q, m->h.n_head, w[W_Q_NORM]);
	k = heads(g, m, layer, k, m->h.n_head_kv, w[W_K_NORM]);
	put.src[0] = k;
	put.src[1] = v;
	put.kv_put.layer = layer;
	put.kv_put.heads = m->h.n_head_kv;
	put.kv_put.dk = m->h.dk;
	put.kv_put.dv = m->h.dv;
	n.src[0] = q;
	n.src[1] = graph_add(g, put);
	n.attn.layer = layer;
	n.attn.heads = m->h.n_head;
	n.attn.kv_heads = m->h.n_head_kv;
	n.attn.dk = m->h.dk;
	n.attn.dv = m->h.dv;
	n.attn.window = m->h.windowed[layer] ? m->h.window : 0;
	n.attn.scale = m->h.attn_scale != 0 ? m->h.attn_scale : 1 / sqrtf((float)m->h.dk);
	n.attn.cap = m->h.attn_cap;
	return graph_add(g, n);
}

int32_t arch_mlp(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(m->h.act == ACT_GELU ? GRAPH_GELU_MUL : GRAPH_SILU_MUL);

	n.src[0] = arch_linear(g, m, w[W_GATE], w[W_GATE_BIAS], h);
	n.src[1] = arch_linear(g, m, w[W_UP], w[W_UP_BIAS], h);
	return arch_linear(g, m, w[W_DOWN], w[W_DOWN_BIAS], graph_add(g, n));
}

int32_t arch_moe(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node route = graph_node_of(GRAPH_ROUTE), n = graph_node_of(GRAPH_MOE);

	route.src[0] = arch_linear(g, m, w[W_ROUTER], -1, h);
	route.route.used = m->h.n_expert_used;
	route.route.sigmoid = m->h.expert_gating;
	route.route.norm = m->h.expert_norm;
	route.route.mul = m->h.expert_scale;
	n.src[0] = h;
	n.src[1] = graph_add(g, route);
	n.w[0] = w[W_GATE_EXPS];
	n.w[1] = w[W_UP_EXPS];
	n.w[2] = w[W_DOWN_EXPS];
	n.moe.used = m->h.n_expert_used;
	n.moe.ff = m->h.n_expert_ff;
	n.moe.gelu = m->h.act;
	return graph_add(g, n);
}

static int32_t add(struct graph *g, const infer_model *m, int32_t x, int32_t branch)
{
	struct graph_node n = graph_node_of(GRAPH_ADD);

	n.src[0] = x;
	n.src[1] = branch;
	n.add.mul = m->h.residual_scale;
	return graph_add(g, n);
}

static int32_t pick(struct graph *g, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_PICK);

	n.src[0] = x;
	return graph_add(g, n);
}

int32_t arch_block(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	const int32_t *w = m->layer[layer];
	int32_t h = arch_attention(g, m, layer, arch_norm(g, m, w[W_ATTN_NORM], x));

	if (layer == m->h.n_layers - 1) { /* only the output rows are needed from here on */
		h = pick(g, h);
		x = pick(g, x);
	}
	h = arch_linear(g, m, w[W_O], w[W_O_BIAS], h);
	x = add(g, m, x, arch_norm(g, m, w[W_ATTN_POST_NORM], h));
	h = arch_norm(g, m, w[W_FFN_NORM], x);
	h = m->h.n_expert ? arch_moe(g, m, layer, h) : arch_mlp(g, m, layer, h);
	return add(g, m, x, arch_norm(g, m, w[W_FFN_POST_NORM], h));
}
