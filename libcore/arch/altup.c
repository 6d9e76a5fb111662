/* arch/altup.c - AltUp: a layer has several streams as input. It predicts all of them, computes the
 * first, and corrects the others by the error of its prediction. Baykal+ 2023, arXiv:2301.13310; as
 * in Gemma 3n, https://ai.google.dev/gemma/docs/gemma-3n */
#include "arch/arch.h"

#include <math.h>

/* lower bound of the mean square of a stream that is rescaled */
static const float MIN_MEAN_SQUARE = 1e-5f;

static int32_t rescale_streams(struct graph *g, int32_t x, int32_t more, int32_t cols, int mean)
{
	struct graph_node n = graph_node_of(GRAPH_ALTUP_RESCALE);

	n.src[0] = x;
	n.src[1] = more;
	n.cols = cols;
	n.altup_rescale.mean = mean;
	n.altup_rescale.least = MIN_MEAN_SQUARE;
	return graph_add(g, n);
}

/* Project each stream but the first by its own matrix. */
static int32_t project_streams(struct graph *g, const infer_model *m, int slot, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_HEAD_MM);

	n.src[0] = x;
	n.w[0] = m->global[slot];
	n.head_mm.heads = m->h.altup_streams - 1;
	n.cols = n.head_mm.heads * m->h.n_embd;
	return graph_add(g, n);
}

int32_t arch_altup_split(struct graph *g, const infer_model *m, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_SLICE);

	if (!m->h.altup_streams)
		return x;
	n.src[0] = x;
	n.slice.pieces = 1;
	n.slice.times = m->h.altup_streams - 1;
	n.cols = n.slice.times * m->h.n_embd;
	return rescale_streams(g, x, project_streams(g, m, W_ALTUP_SPLIT, graph_add(g, n)),
	                       m->h.altup_streams * m->h.n_embd, 0);
}

int32_t arch_altup_merge(struct graph *g, const infer_model *m, int32_t x)
{
	int32_t embd = m->h.n_embd, others;

	if (!m->h.altup_streams)
		return x;
	others = arch_slice(g, x, 1, embd, (m->h.altup_streams - 1) * embd);
	others = project_streams(g, m, W_ALTUP_MERGE, others);
	return rescale_streams(g, arch_slice(g, x, 1, 0, embd), others, embd, 1);
}

/* Mix `by` pieces of `rows` into each stream of x, with coefficients that a router computes from
 * row `from`. */
static int32_t mix_streams(struct graph *g, const infer_model *m, int layer, int slot, int32_t x,
                           int32_t rows, int by, int32_t from)
{
	const int32_t *w = m->layer[layer];
	struct graph_node n = graph_node_of(GRAPH_MM), mixed = graph_node_of(GRAPH_ALTUP_MIX);

	n.src[0] = arch_norm(g, m, w[W_ALTUP_NORM], from);
	n.w[0] = w[W_ALTUP_ROUTER];
	n.cols = m->h.altup_streams;
	n.mm.mul = 1 / (float)m->h.n_embd;
	n.mm.cap = 1; /* tanh */
	mixed.src[0] = x;
	mixed.src[1] = rows;
	mixed.src[2] = arch_linear(g, m, w[slot], -1, graph_add(g, n));
	mixed.altup_mix.pieces = m->h.altup_streams;
	mixed.altup_mix.by = by;
	mixed.altup_mix.plus = slot == W_ALTUP_CORRECT ? 1 : 0;
	return graph_add(g, mixed);
}

/* LAuReL: append h + norm(h * low-rank matrices), in parallel with attention. */
static int32_t laurel(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	int32_t y = arch_linear(g, m, w[W_LAUREL_IN], -1, h);

	return arch_add(
		g, m, h,
		arch_norm(g, m, w[W_LAUREL_NORM], arch_linear(g, m, w[W_LAUREL_OUT], -1, y)));
}

/* Add the per-layer embedding to all streams but the first. */
static int32_t add_layer_embd(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_ADD);
	int32_t one = arch_slice(g, x, 1, 0, m->h.n_embd);

	n.src[0] = x;
	n.src[1] = arch_layer_embd(g, m, layer,
	                           arch_scaled(g, one, 1, m->layer[layer][W_ALTUP_CORRECT_SCALE]));
	n.add.pieces = m->h.altup_streams;
	n.add.from = 1;
	return graph_add(g, n);
}

int32_t arch_altup_block(struct graph *g, const infer_model *m, int layer, int32_t x)
{
	const int32_t *w = m->layer[layer];
	int32_t embd = m->h.n_embd, one, h, y;
	struct graph_node less = graph_node_of(GRAPH_ADD);

	x = mix_streams(g, m, layer, W_ALTUP_PREDICT, x, x, m->h.altup_streams,
	                arch_slice(g, x, 1, 0, embd));
	one = arch_slice(g, x, 1, 0, embd);
	h = arch_norm(g, m, w[W_ATTN_NORM], one);
	y = arch_attention(g, m, layer, h);
	if (layer == m->h.n_layers - 1) {
		h = arch_output_rows(g, h);
		x = arch_output_rows(g, x);
		y = arch_output_rows(g, y);
		one = arch_output_rows(g, one);
	}
	y = arch_norm(g, m, w[W_ATTN_POST_NORM], arch_linear(g, m, w[W_O], w[W_O_BIAS], y));
	h = laurel(g, m, layer, h);
	y = arch_add(g, m, arch_add(g, m, one, y), h);
	y = arch_scaled(g, y, sqrtf(0.5f), -1);
	h = arch_mlp(g, m, layer, arch_norm(g, m, w[W_FFN_NORM], y));
	y = arch_add(g, m, y, arch_norm(g, m, w[W_FFN_POST_NORM], h));
	less.src[0] = y;
	less.src[1] = one;
	less.add.mul = -1;
	return add_layer_embd(
		g, m, layer,
		mix_streams(g, m, layer, W_ALTUP_CORRECT, x, graph_add(g, less), 1, y));
}
