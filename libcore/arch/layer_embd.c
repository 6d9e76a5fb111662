/* arch/layer_embd.c - per-layer embeddings (Gemma 3n): a second token embedding with a part for
 * each layer, mixed with a projection of the first embedding. After its FFN a layer adds its part,
 * gated by the row. Gemma Team 2025, https://ai.google.dev/gemma/docs/gemma-3n */
#include "arch/arch.h"

#include <math.h>

int32_t arch_layer_embds(struct graph *g, const infer_model *m, int32_t x)
{
	struct graph_node table = graph_node_of(GRAPH_EMBED), n = graph_node_of(GRAPH_MM),
			  norm = graph_node_of(GRAPH_NORM), sum = graph_node_of(GRAPH_ADD);

	if (!m->h.layer_embd)
		return -1;
	table.cols = n.cols = m->h.n_layers * m->h.layer_embd;
	table.w[0] = m->global[W_LAYER_EMBD];
	table.embed.mul = sqrtf((float)m->h.layer_embd);
	n.src[0] = x;
	n.w[0] = m->global[W_LAYER_EMBD_PROJ];
	n.mm.mul = 1 / sqrtf((float)m->h.n_embd);
	norm.src[0] = graph_add(g, n);
	norm.w[0] = m->global[W_LAYER_EMBD_NORM];
	norm.norm.groups = m->h.n_layers;
	norm.norm.eps = m->h.eps;
	sum.src[0] = graph_add(g, norm);
	sum.src[1] = graph_add(g, table);
	n = graph_node_of(GRAPH_SCALE);
	n.src[0] = graph_add(g, sum);
	n.scale.mul = sqrtf(0.5f);
	return graph_add(g, n);
}

int32_t arch_layer_embd(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_GELU_MUL);
	int32_t part;

	part = arch_slice(g, m->inputs, 1, layer * m->h.layer_embd, m->h.layer_embd);
	n.src[0] = arch_linear(g, m, w[W_INPUT_GATE], -1, x);
	n.src[1] = layer == m->h.n_layers - 1 ? arch_output_rows(g, part) : part;
	part = arch_linear(g, m, w[W_INPUT_PROJ], -1, graph_add(g, n));
	return arch_norm(g, m, w[W_INPUT_NORM], part);
}
