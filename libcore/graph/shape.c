/* graph/shape.c - the shape of a value, and checks of a graph. */
#include "graph/shape.h"
#include "base/err.h"

void graph_shape(const struct graph *g, struct graph_node *n)
{
	const struct graph_node *src0 = n->src[0] >= 0 ? &g->nodes[n->src[0]] : NULL;

	if (n->op != GRAPH_RECV) /* the caller sets the rows of a RECV */
		n->rows = n->op == GRAPH_GET_ROWS ? GRAPH_OUT : src0 ? src0->rows : GRAPH_ALL;
	switch (graph_op_cols(n->op)) {
	case GRAPH_COLS_GIVEN:
		break;
	case GRAPH_COLS_LIKE:
		n->cols = src0->cols;
		break;
	case GRAPH_COLS_HEADS:
		n->cols = n->attn.heads * n->attn.dv;
		break;
	case GRAPH_COLS_PAIRS:
		n->cols = 2 * n->route.used;
		break;
	case GRAPH_COLS_NONE:
		n->cols = 0;
		break;
	}
}

/* Return the first condition of op_list.h that n breaks, or NULL. */
static const char *broken_condition(const struct graph *g, const struct graph_node *n)
{
#define SRC(i) (&g->nodes[n->src[i]])
#define COLS(i) ((int64_t)SRC(i)->cols)
#define HAS_W(i) (n->w[i] >= 0)
#define OR1(x) ((x) ? (x) : 1)
	switch ((enum graph_op)n->op) {
#define OP(name, member, kind, n_src, n_w, cols, over) case GRAPH_##name:
#define REQ(condition, what) \
	if (!(condition)) \
		return what;
#define END(member) return NULL;
#include "graph/op_list.h"
	case GRAPH_OPS:
		break;
	}
	return NULL;
#undef SRC
#undef COLS
#undef HAS_W
#undef OR1
}

/* Return what is wrong with the sources, weights or columns of node i, or NULL. */
static const char *broken_link(const struct graph *g, int32_t i, int n_weights)
{
	const struct graph_node *n = &g->nodes[i];

	for (int s = 0; s < GRAPH_SRC; s++) {
		if (s >= graph_op_srcs(n->op) ? n->src[s] != -1 : n->src[s] < 0 || n->src[s] >= i)
			return "a source must be an earlier node, and only the sources of the "
			       "operation may be set";
		if (s >= graph_op_srcs(n->op))
			continue;
		if (g->nodes[n->src[s]].rows != n->rows && n->op != GRAPH_GET_ROWS &&
		    n->op != GRAPH_ATTN)
			return "sources must have the rows of the node";
		if (!g->nodes[n->src[s]].cols && !(n->op == GRAPH_ATTN && s == 1))
			return "a source must have a value";
	}
	for (int w = 0; w < GRAPH_W; w++)
		if (w >= graph_op_weights(n->op) ? n->w[w] != -1 : n->w[w] >= n_weights)
			return "a weight must be one of the model, and only the weights of the "
			       "operation may be set";
	return n->cols < 1 && graph_op_cols(n->op) != GRAPH_COLS_NONE
	               ? "the columns must be positive"
	               : NULL;
}

int graph_check(const struct graph *g, int n_weights, infer_error *err)
{
	int sends = 0;

	if (g->bad)
		return err_set(err, INFER_ENOMEM, "out of memory while the graph was built");
	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		if (n->op >= GRAPH_OPS)
			return err_set(err, INFER_EINVAL, "node %d: %d is not an operation", i,
			               n->op);
		const char *why = broken_link(g, i, n_weights);
		if (!why)
			why = broken_condition(g, n);
		if (why)
			return err_set(err, INFER_EINVAL, "node %d (%s): %s", i,
			               graph_op_name(n->op), why);
		sends |= n->op == GRAPH_SEND;
	}
	if (g->output < 0 && sends) /* a part of a split graph, not the last */
		return INFER_OK;
	if (g->output < 0 && g->hidden >= 0 && g->hidden < g->n &&
	    g->nodes[g->hidden].rows == GRAPH_OUT) /* an encoder: no logits */
		return INFER_OK;
	if (g->output < 0 || g->output >= g->n || g->nodes[g->output].rows != GRAPH_OUT)
		return err_set(err, INFER_EINVAL, "the output must be a node of the output rows");
	return INFER_OK;
}
