/* arch/block.c - the block of a decoder and its parts. An operation whose weight the model does not
 * have is left out. */
#include "arch/arch.h"

#include <math.h>

int32_t arch_norm(struct graph *g, const infer_model *m, int32_t w, int32_t x)
{
	return arch_norm_bias(g, m, w, -1, x);
}

int32_t arch_norm_bias(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	if (w < 0)
		return x;
	n.src[0] = x;
	n.w[0] = w;
	n.w[1] = bias;
	n.norm.centred = m->h.centred;
	n.norm.groups = 1;
	n.norm.eps = m->h.eps;
	return graph_add(g, n);
}

int32_t arch_linear(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_MM);

	n.cols = (int32_t)m->weights[w].ne[1];
	n.src[0] = arch_permute(g, m, w, x);
	n.w[0] = w;
	n.w[1] = bias;
	return graph_add(g, n);
}

static int32_t rotate_heads(struct graph *g, const infer_model *m, int layer, int32_t x,
                            int n_heads)
{
	struct graph_node n = graph_node_of(GRAPH_ROPE);
	struct arch_heads head = arch_heads_of(&m->h, layer);

	if (m->h.no_rope[layer])
		return x;
	n.src[0] = x;
	n.rope.heads = n_heads;
	n.rope.dk = head.dk;
	n.rope.rot = head.n_rot;
	n.rope.halves = arch_rope_mode(m->arch, m->naming) == ROPE_HALVES;
	n.rope.table = m->h.windowed[layer] && m->n_ropes > 1;
	return graph_add(g, n);
}

/* Append an RMSNorm of each of `groups` heads; w -1: without a gain. */
static int32_t norm_heads(struct graph *g, const infer_model *m, int groups, int32_t w, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.w[0] = w;
	n.norm.groups = groups;
	n.norm.eps = m->h.eps;
	return graph_add(g, n);
}

/* Normalise the heads of x and rotate them. The length of the gain `norm` decides if heads are
 * normalised one by one or together. Some models normalise after the rotation. */
static int32_t norm_and_rotate(struct graph *g, const infer_model *m, int layer, int32_t x,
                               int n_heads, int32_t norm)
{
	int64_t cols = (int64_t)n_heads * arch_heads_of(&m->h, layer).dk;

	if (norm >= 0)
		x = norm_heads(g, m, (int)(cols / m->weights[norm].ne[0]), norm, x);
	x = rotate_heads(g, m, layer, x, n_heads);
	return m->h.qk_norm_after_rope && !m->h.no_rope[layer] ? norm_heads(g, m, n_heads, -1, x)
	                                                       : x;
}

int32_t arch_attn_temp(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_ATTN_TEMP);

	if (m->h.attn_temp == 0 || (m->h.attn_temp_no_rope && !m->h.no_rope[layer]))
		return x;
	n.src[0] = x;
	n.attn_temp.from = m->h.attn_temp_from;
	n.attn_temp.beta = m->h.attn_temp;
	n.attn_temp.length = m->h.attn_temp_length;
	return graph_add(g, n);
}

static int32_t multiply_by_gate(struct graph *g, int32_t x, int32_t by)
{
	struct graph_node n = graph_node_of(GRAPH_GATE);

	n.src[0] = x;
	n.src[1] = by;
	return graph_add(g, n);
}

/* Append the KV_PUT of a layer. */
static int32_t store_kv(struct graph *g, const infer_model *m, int layer, int32_t k, int32_t v)
{
	struct graph_node n = graph_node_of(GRAPH_KV_PUT);
	struct arch_heads head = arch_heads_of(&m->h, layer);
	int32_t n_heads = m->h.kv_heads[layer];

	n.src[0] = norm_and_rotate(g, m, layer, k, n_heads, m->layer[layer][W_K_NORM]);
	n.src[1] = m->h.norm_v ? norm_heads(g, m, n_heads, -1, v) : v;
	n.kv_put.layer = layer;
	n.kv_put.heads = n_heads;
	n.kv_put.dk = head.dk;
	n.kv_put.dv = head.dv;
	return graph_add(g, n);
}

/* Return the KV_PUT of an earlier layer, or -1. */
static int32_t find_stored(const struct graph *g, int layer)
{
	int32_t i = g->n - 1;

	while (i >= 0 && (g->nodes[i].op != GRAPH_KV_PUT || g->nodes[i].kv_put.layer != layer))
		i--;
	return i;
}

int32_t arch_attention(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct arch_heads head = arch_heads_of(&m->h, layer);
	int from = arch_kv_layer(&m->h, layer), n_heads = m->h.n_head;

	if (m->h.kv_rank)
		return arch_mla(g, m, layer, h);
	int32_t q = arch_linear(g, m, w[W_Q], w[W_Q_BIAS], h), by = q, k = -1, v = -1;
	struct graph_node n = graph_node_of(GRAPH_ATTN);

	if (from == layer) {
		k = arch_linear(g, m, w[W_K], w[W_K_BIAS], h);
		v = w[W_V] < 0 ? k : arch_linear(g, m, w[W_V], w[W_V_BIAS], h);
	}
	if (m->h.attn_gated) {
		q = arch_slice(g, by, n_heads, 0, n_heads * head.dk);
		by = arch_slice(g, by, n_heads, head.dk, n_heads * head.dv);
	}
	n.src[0] =
		arch_attn_temp(g, m, layer, norm_and_rotate(g, m, layer, q, n_heads, w[W_Q_NORM]));
	n.src[1] = from == layer ? store_kv(g, m, layer, k, v) : find_stored(g, from);
	n.w[0] = w[W_SINKS];
	n.attn.layer = from;
	n.attn.heads = n_heads;
	n.attn.kv_heads = m->h.kv_heads[from];
	n.attn.dk = head.dk;
	n.attn.dv = head.dv;
	n.attn.window = m->h.windowed[layer] ? m->h.window : 0;
	n.attn.chunked = m->h.windowed[layer] && m->h.chunked;
	if (m->h.bidirectional) {
		n.attn.later = n.attn.window ? n.attn.window / 2 : 1 << 30;
		n.attn.window = n.attn.window ? n.attn.window / 2 + 1 : 0;
	}
	n.attn.scale = m->h.attn_scale != 0 ? m->h.attn_scale : 1 / sqrtf((float)head.dk);
	n.attn.cap = m->h.attn_cap;
	return m->h.attn_gated ? multiply_by_gate(g, graph_add(g, n), by) : graph_add(g, n);
}

/* Append the Gaussian top-k of a gate, if the layer has one. */
static int32_t apply_gauss_topk(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_GAUSS_TOPK);

	if (!m->h.has_gauss_topk[layer])
		return x;
	n.src[0] = x;
	n.gauss_topk.mul = m->h.gauss_topk[layer];
	return graph_add(g, n);
}

int32_t arch_mlp(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(m->h.act == ACT_SILU ? GRAPH_SILU_MUL
	                                    : w[W_GATE] < 0      ? GRAPH_GELU
	                                                         : GRAPH_GELU_MUL);

	if (w[W_GATE] < 0) { /* an activation without a gate */
		n.src[0] = arch_linear(g, m, w[W_UP], w[W_UP_BIAS], h);
		return arch_linear(g, m, w[W_DOWN], w[W_DOWN_BIAS], graph_add(g, n));
	}
	if (m->h.act == ACT_GELU_ERF)
		n.gelu_mul.erf = 1;
	n.src[0] = apply_gauss_topk(g, m, layer, arch_linear(g, m, w[W_GATE], w[W_GATE_BIAS], h));
	n.src[1] = arch_linear(g, m, w[W_UP], w[W_UP_BIAS], h);
	return arch_linear(g, m, w[W_DOWN], w[W_DOWN_BIAS], graph_add(g, n));
}

/* Add the shared expert to the output y of the experts, weighted by its own router if it has
 * one. */
static int32_t add_shared_expert(struct graph *g, const infer_model *m, int layer, int32_t h,
                                 int32_t y)
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
		sum.src[1] = multiply_by_gate(g, sum.src[1],
		                              arch_linear(g, m, w[W_SHARED_ROUTER], -1, h));
	return graph_add(g, sum);
}

int32_t arch_scaled(struct graph *g, int32_t x, float mul, int32_t w)
{
	struct graph_node n = graph_node_of(GRAPH_SCALE);

	if ((mul == 0 || mul == 1) && w < 0)
		return x;
	n.src[0] = x;
	n.w[0] = w;
	n.scale.mul = mul == 0 ? 1 : mul;
	return graph_add(g, n);
}

static int32_t add_router(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_ROUTE);

	h = arch_linear(g, m, w[W_ROUTER], w[W_ROUTER_BIAS], h);
	n.src[0] = arch_scaled(g, h, m->h.router_mul, -1);
	n.w[0] = w[W_ROUTER_SELECT_BIAS];
	n.w[1] = w[W_EXPERT_SCALE];
	n.route.used = m->h.n_expert_used;
	n.route.sigmoid = m->h.expert_gating;
	n.route.norm = m->h.expert_norm;
	n.route.mul = m->h.expert_scale;
	n.route.groups = m->h.groups;
	n.route.groups_used = m->h.groups_used;
	n.route.group_best = m->h.group_best;
	return graph_add(g, n);
}

/* Append the experts over h and the shared expert; by: input of the router. */
static int32_t add_experts(struct graph *g, const infer_model *m, int layer, int32_t h, int32_t by)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_MOE);

	n.src[0] = h;
	n.src[1] = add_router(g, m, layer, by);
	n.w[0] = w[W_GATE_EXPS];
	n.w[1] = w[W_UP_EXPS];
	n.w[2] = w[W_DOWN_EXPS];
	n.w[3] = w[W_GATE_EXPS_BIAS];
	n.w[4] = w[W_UP_EXPS_BIAS];
	n.w[5] = w[W_DOWN_EXPS_BIAS];
	n.moe.used = m->h.n_expert_used;
	n.moe.ff = m->h.n_expert_ff;
	_Static_assert((int)ACT_SILU == GRAPH_ACT_SILU && (int)ACT_GELU == GRAPH_ACT_GELU &&
	                       (int)ACT_SWIGLU == GRAPH_ACT_SWIGLU,
	               "MOE takes arch_act as it is");
	n.moe.act = m->h.act;
	n.moe.limit = m->h.act_limit;
	n.moe.weight_before_ffn = m->h.weight_before_ffn;
	return add_shared_expert(g, m, layer, h, graph_add(g, n));
}

int32_t arch_add(struct graph *g, const infer_model *m, int32_t x, int32_t branch)
{
	struct graph_node n = graph_node_of(GRAPH_ADD);

	n.src[0] = x;
	n.src[1] = branch;
	n.add.mul = m->h.residual_scale;
	return graph_add(g, n);
}

int32_t arch_output_rows(struct graph *g, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_GET_ROWS);

	n.src[0] = x;
	return graph_add(g, n);
}

/* Append a dense FFN in parallel with experts, each with its own norms. */
static int32_t dense_and_experts(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_ADD);
	int32_t y = arch_mlp(g, m, layer, arch_norm(g, m, w[W_FFN_NORM], x));

	n.src[0] = arch_norm(g, m, w[W_MLP_POST_NORM], y);
	y = arch_norm(g, m, w[W_MOE_NORM], x);
	y = add_experts(g, m, layer, y, arch_norm(g, m, w[W_ROUTER_NORM], x));
	n.src[1] = arch_norm(g, m, w[W_MOE_POST_NORM], y);
	return graph_add(g, n);
}

static int32_t add_ffn(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	int experts = arch_has_experts(&m->h, layer);
	int32_t h;

	if (experts && m->layer[layer][W_MLP_POST_NORM] >= 0)
		return dense_and_experts(g, m, layer, x);
	h = arch_norm(g, m, m->layer[layer][W_FFN_NORM], x);
	return experts ? add_experts(g, m, layer, h, h) : arch_mlp(g, m, layer, h);
}

int32_t arch_block(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	const int32_t *w = m->layer[layer];
	int32_t h = arch_norm(g, m, w[W_ATTN_NORM], x);
	int recurs = m->h.recurrent[layer];

	h = w[W_SHORT_CONV] >= 0   ? arch_short_conv(g, m, layer, h)
	    : w[W_STATE_SKIP] >= 0 ? arch_ssm(g, m, layer, h)
	    : recurs               ? arch_gated_delta(g, m, layer, h)
	                           : arch_attention(g, m, layer, h);

	if (layer == m->h.n_layers - 1) { /* only the output rows are needed from here on */
		h = arch_output_rows(g, h);
		x = arch_output_rows(g, x);
	}
	h = arch_linear(g, m, w[recurs ? W_STATE_OUT : W_O], w[W_O_BIAS], h);
	x = arch_add(g, m, x, arch_norm(g, m, w[W_ATTN_POST_NORM], h));
	h = add_ffn(g, m, layer, x);
	x = arch_add(g, m, x, arch_norm(g, m, w[W_FFN_POST_NORM], h));
	if (m->inputs >= 0)
		x = arch_add(g, m, x, arch_layer_embd(g, m, layer, x));
	return arch_scaled(g, x, 1, w[W_LAYER_SCALE]);
}

int32_t arch_post_norm_block(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	const int32_t *w = m->layer[layer];
	int32_t h = arch_attention(g, m, layer, x);

	if (layer == m->h.n_layers - 1) {
		h = arch_output_rows(g, h);
		x = arch_output_rows(g, x);
	}
	x = arch_add(g, m, x, arch_linear(g, m, w[W_O], w[W_O_BIAS], h));
	x = arch_norm_bias(g, m, w[W_ATTN_POST_NORM], w[W_ATTN_POST_NORM_BIAS], x);
	x = arch_add(g, m, x, arch_mlp(g, m, layer, x));
	return arch_norm_bias(g, m, w[W_FFN_POST_NORM], w[W_FFN_POST_NORM_BIAS], x);
}
