/* arch/shortconv.c - short convolution layers (LFM 2): C * conv1d(B * X). */
#include "arch/arch.h"

static int32_t multiply(struct graph *g, int32_t a, int32_t b)
{
	struct graph_node n = graph_node_of(GRAPH_GATE);

	n.src[0] = a;
	n.src[1] = b;
	n.gate.no_sigmoid = 1;
	return graph_add(g, n);
}

int32_t arch_short_conv(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	int32_t b = arch_linear(g, m, w[W_CONV_B], -1, h),
		c = arch_linear(g, m, w[W_CONV_C], -1, h),
		x = arch_linear(g, m, w[W_CONV_X], -1, h);

	x = multiply(g, b, x);
	x = arch_conv1d(g, m, layer, x, (const int32_t[]){ w[W_SHORT_CONV], -1 }, 1);
	return multiply(g, c, x);
}
