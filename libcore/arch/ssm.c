/* arch/ssm.c - recurrent layers of Mamba 2: an SSM scan after a causal conv1d. Dao+ 2024,
 * arXiv:2405.21060 */
#include "arch/arch.h"

/* Append norm(silu(gate) * y), by group of channels. */
static int32_t gate_then_norm(struct graph *g, const infer_model *m, int layer, int32_t y,
                              int32_t gate)
{
	struct graph_node n = graph_node_of(GRAPH_NORM), mul = graph_node_of(GRAPH_SILU_MUL);

	mul.src[0] = gate;
	mul.src[1] = y;
	n.src[0] = graph_add(g, mul);
	n.w[0] = m->layer[layer][W_STATE_NORM];
	n.norm.groups = m->h.state_k_heads;
	n.norm.eps = m->h.eps;
	return graph_add(g, n);
}

int32_t arch_ssm(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	int32_t qk = m->h.state_k_heads * m->h.state_dk, o = m->h.state_heads * m->h.state_dv,
		gate = arch_linear(g, m, w[W_STATE_GATE], -1, h),
		x = arch_linear(g, m, w[W_STATE_QKV], -1, h);
	struct graph_node n = arch_gated_delta_node(m, layer);

	n.src[3] = n.src[4] = arch_linear(g, m, w[W_STATE_DECAY], -1, h);
	x = arch_conv1d(g, m, layer, x, (const int32_t[]){ w[W_STATE_CONV], w[W_STATE_CONV_BIAS] },
	                0);
	n.src[2] = arch_slice(g, x, 1, 0, o);
	n.src[1] = arch_slice(g, x, 1, o, qk);
	n.src[0] = arch_slice(g, x, 1, o + qk, qk);
	n.gated_delta.ssm = 1;
	return gate_then_norm(g, m, layer, graph_add(g, n), gate);
}
