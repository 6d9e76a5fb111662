/* arch/gated_delta.c - recurrent layers with a gated delta rule after a causal conv1d (Gated
 * DeltaNet). Yang+ 2024, arXiv:2412.06464 */
#include "arch/arch.h"

#include <math.h>

int32_t arch_slice(struct graph *g, int32_t x, int pieces, int32_t from, int32_t cols)
{
	struct graph_node n = graph_node_of(GRAPH_SLICE);

	n.src[0] = x;
	n.cols = cols;
	n.slice.pieces = pieces;
	n.slice.from = from;
	return graph_add(g, n);
}

/* Scale heads to length sqrt(dk): x / sqrt((sum(x^2) + 1e-6) / dk). */
static int32_t scale_heads(struct graph *g, const infer_model *m, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.norm.groups = m->h.state_k_heads;
	n.norm.eps = 1e-6f / (float)m->h.state_dk;
	return graph_add(g, n);
}

int32_t arch_conv1d(struct graph *g, const infer_model *m, int layer, int32_t x, const int32_t w[2],
                    int no_silu)
{
	struct graph_node n = graph_node_of(GRAPH_CONV1D);

	n.src[0] = x;
	n.w[0] = w[0];
	n.w[1] = w[1];
	n.conv1d.layer = layer;
	n.conv1d.taps = m->h.conv_taps;
	n.conv1d.no_silu = no_silu;
	return graph_add(g, n);
}

struct graph_node arch_gated_delta_node(const infer_model *m, int layer)
{
	struct graph_node n = graph_node_of(GRAPH_GATED_DELTA);
	int32_t heads = m->h.state_heads;

	n.cols = heads * m->h.state_dv;
	n.w[0] = m->layer[layer][W_STATE_DECAY_RATE];
	n.w[1] = m->layer[layer][W_STATE_DECAY_BIAS];
	n.w[2] = m->layer[layer][W_STATE_SKIP];
	n.gated_delta.layer = layer;
	n.gated_delta.at = m->h.state - heads * ((m->h.state_dv + 15) / 16 * 16) * m->h.state_dk;
	n.gated_delta.heads = heads;
	n.gated_delta.k_heads = m->h.state_k_heads;
	n.gated_delta.dk = m->h.state_dk;
	n.gated_delta.dv = m->h.state_dv;
	n.gated_delta.tiled = m->h.state_tiled && m->naming == ARCH_GGUF;
	n.gated_delta.scale = 1;
	return n;
}

/* Append silu(gate) * norm(y), by head. */
static int32_t norm_then_gate(struct graph *g, const infer_model *m, int layer, int32_t y,
                              int32_t gate)
{
	struct graph_node n = graph_node_of(GRAPH_NORM), mul = graph_node_of(GRAPH_SILU_MUL);

	n.src[0] = y;
	n.w[0] = m->layer[layer][W_STATE_NORM];
	n.norm.groups = m->h.state_heads;
	n.norm.eps = m->h.eps;
	mul.src[0] = gate;
	mul.src[1] = graph_add(g, n);
	return graph_add(g, mul);
}

/* In the papers heads of k have length 1 and those of q length 1 / sqrt(dk). Here q has length
 * sqrt(dk); the scale of y makes up for it. */
int32_t arch_gated_delta(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	int32_t qk = m->h.state_k_heads * m->h.state_dk, o = m->h.state_heads * m->h.state_dv,
		heads = m->h.state_heads, k_heads = m->h.state_k_heads,
		x = arch_linear(g, m, w[W_STATE_QKV], -1, h),
		gate = arch_linear(g, m, w[W_STATE_GATE], -1, h);
	struct graph_node n = arch_gated_delta_node(m, layer), k = graph_node_of(GRAPH_SCALE);

	if (w[W_STATE_BETA_DECAY] >= 0) {
		h = arch_linear(g, m, w[W_STATE_BETA_DECAY], -1, h);
		n.src[3] = arch_slice(g, h, k_heads, 0, heads);
		n.src[4] = arch_slice(g, h, k_heads, heads / k_heads, heads);
	} else {
		n.src[3] = arch_linear(g, m, w[W_STATE_BETA], -1, h);
		n.src[4] = arch_linear(g, m, w[W_STATE_DECAY], -1, h);
	}
	x = arch_conv1d(g, m, layer, x, (const int32_t[]){ w[W_STATE_CONV], -1 }, 0);
	k.src[0] = scale_heads(g, m, arch_slice(g, x, 1, qk, qk));
	k.scale.mul = 1 / sqrtf((float)m->h.state_dk);
	n.src[0] = scale_heads(g, m, arch_slice(g, x, 1, 0, qk));
	n.src[1] = graph_add(g, k);
	n.src[2] = arch_slice(g, x, 1, 2 * qk, o);
	n.gated_delta.scale = 1 / (float)m->h.state_dk;
	return norm_then_gate(g, m, layer, graph_add(g, n), gate);
}
