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

static int32_t rotate(struct graph *g, const infer_model *m, int layer, int32_t x, int n_heads)
{
	struct graph_node n = graph_node_of(GRAPH_ROPE);

	if (m->h.still[layer])
		return x;
	n.src[0] = x;
	n.rope.heads = n_heads;
	n.rope.dk = m->h.dk;
	n.rope.rot = m->h.n_rot;
	n.rope.halves = arch_rope_mode(m->arch, m->naming) == ROPE_HALVES;
	n.rope.table = m->h.windowed[layer] && m->n_ropes > 1;
	return graph_add(g, n);
}

/* The norm of each head, or of all together, as the weight is long; then the rotation. */
static int32_t heads(struct graph *g, const infer_model *m, int layer, int32_t x, int n_heads,
                     int32_t norm)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	if (norm >= 0) {
		n.src[0] = x;
		n.w[0] = norm;
		n.norm.groups = (int32_t)((int64_t)n_heads * m->h.dk / m->weights[norm].ne[0]);
		n.norm.eps = m->h.eps;
		x = graph_add(g, n);
	}
	return rotate(g, m, layer, x, n_heads);
}

static int32_t temper(struct graph *g, const infer_model *m, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_TEMPER);

	if (m->h.temper == 0)
		return x;
	n.src[0] = x;
	n.temper.beta = m->h.temper;
	n.temper.length = m->h.temper_length;
	return graph_add(g, n);
}

static int32_t gated(struct graph *g, int32_t x, int32_t by)
{
	struct graph_node n = graph_node_of(GRAPH_GATE);

	n.src[0] = x;
	n.src[1] = by;
	return graph_add(g, n);
}

int32_t arch_attention(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];

	if (m->h.kv_rank)
		return arch_latent(g, m, layer, h);
	int32_t q = arch_linear(g, m, w[W_Q], w[W_Q_BIAS], h), by = q;
	int32_t k = arch_linear(g, m, w[W_K], w[W_K_BIAS], h);
	int32_t v = arch_linear(g, m, w[W_V], w[W_V_BIAS], h);
	struct graph_node put = graph_node_of(GRAPH_KV_PUT), n = graph_node_of(GRAPH_ATTN);

	if (m->h.gated) {
		q = arch_part(g, by, m->h.n_head, 0, m->h.n_head * m->h.dk);
		by = arch_part(g, by, m->h.n_head, m->h.dk, m->h.n_head * m->h.dv);
	}
	q = temper(g, m, heads(g, m, layer, q, m->h.n_head, w[W_Q_NORM]));
	k = heads(g, m, layer, k, m->h.n_head_kv, w[W_K_NORM]);
	put.src[0] = k;
	put.src[1] = v;
	put.kv_put.layer = layer;
	put.kv_put.heads = m->h.n_head_kv;
	put.kv_put.dk = m->h.dk;
	put.kv_put.dv = m->h.dv;
	n.src[0] = q;
	n.src[1] = graph_add(g, put);
	n.w[0] = w[W_SINKS];
	n.attn.layer = layer;
	n.attn.heads = m->h.n_head;
	n.attn.kv_heads = m->h.n_head_kv;
	n.attn.dk = m->h.dk;
	n.attn.dv = m->h.dv;
	n.attn.window = m->h.windowed[layer] ? m->h.window : 0;
	n.attn.scale = m->h.attn_scale != 0 ? m->h.attn_scale : 1 / sqrtf((float)m->h.dk);
	n.attn.cap = m->h.attn_cap;
	return m->h.gated ? gated(g, graph_add(g, n), by) : graph_add(g, n);
}

int32_t arch_mlp(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(m->h.act == ACT_GELU ? GRAPH_GELU_MUL : GRAPH_SILU_MUL);

	n.src[0] = arch_linear(g, m, w[W_GATE], w[W_GATE_BIAS], h);
	n.src[1] = arch_linear(g, m, w[W_UP], w[W_UP_BIAS], h);
	return arch_linear(g, m, w[W_DOWN], w[W_DOWN_BIAS], graph_add(g, n));
}

/* What every row goes through beside its own experts; its weight comes from a router of its own, or
 * is 1. */
static int32_t shared(struct graph *g, const infer_model *m, int layer, int32_t h, int32_t y)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(m->h.act == ACT_GELU ? GRAPH_GELU_MUL : GRAPH_SILU_MUL);
	struct graph_node sum = graph_node_of(GRAPH_ADD);

	if (w[W_GATE_SHARED] < 0 || w[W_UP_SHARED] < 0 || w[W_DOWN_SHARED] < 0)
		return y;
	n.src[0] = arch_linear(g, m, w[W_GATE_SHARED], -1, h);
	n.src[1] = arch_linear(g, m, w[W_UP_SHARED], -1, h);
	sum.src[0] = y;
	sum.src[1] = arch_linear(g, m, w[W_DOWN_SHARED], -1, graph_add(g, n));
	if (w[W_SHARED_ROUTER] >= 0)
		sum.src[1] = gated(g, sum.src[1], arch_linear(g, m, w[W_SHARED_ROUTER], -1, h));
	return graph_add(g, sum);
}

static int32_t route(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_ROUTE);

	n.src[0] = arch_linear(g, m, w[W_ROUTER], w[W_ROUTER_BIAS], h);
	n.w[0] = w[W_ROUTER_PICK];
	n.route.used = m->h.n_expert_used;
	n.route.sigmoid = m->h.expert_gating;
	n.route.norm = m->h.expert_norm;
	n.route.mul = m->h.expert_scale;
	n.route.groups = m->h.groups;
	n.route.groups_used = m->h.groups_used;
	n.route.group_best = m->h.group_best;
	return graph_add(g, n);
}

int32_t arch_moe(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_MOE);

	n.src[0] = h;
	n.src[1] = route(g, m, layer, h);
	n.w[0] = w[W_GATE_EXPS];
	n.w[1] = w[W_UP_EXPS];
	n.w[2] = w[W_DOWN_EXPS];
	n.w[3] = w[W_GATE_EXPS_BIAS];
	n.w[4] = w[W_UP_EXPS_BIAS];
	n.w[5] = w[W_DOWN_EXPS_BIAS];
	n.moe.used = m->h.n_expert_used;
	n.moe.ff = m->h.n_expert_ff;
	n.moe.act = m->h.act;
	n.moe.limit = m->h.act_limit;
	return shared(g, m, layer, h, graph_add(g, n));
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
	int32_t h = arch_norm(g, m, w[W_ATTN_NORM], x);
	int recurs = m->h.recurrent[layer];

	h = recurs ? arch_delta(g, m, layer, h) : arch_attention(g, m, layer, h);

	if (layer == m->h.n_layers - 1) { /* only the output rows are needed from here on */
		h = pick(g, h);
		x = pick(g, x);
	}
	h = arch_linear(g, m, w[recurs ? W_STATE_OUT : W_O], w[W_O_BIAS], h);
	x = add(g, m, x, arch_norm(g, m, w[W_ATTN_POST_NORM], h));
	h = arch_norm(g, m, w[W_FFN_NORM], x);
	h = arch_has_experts(&m->h, layer) ? arch_moe(g, m, layer, h) : arch_mlp(g, m, layer, h);
	return add(g, m, x, arch_norm(g, m, w[W_FFN_POST_NORM], h));
}
