/* graph/shape.c - shapes of values, and invalid nodes. */
#include "graph/shape.h"
#include "base/err.h"

void graph_shape(const struct graph *g, struct graph_node *n)
{
	const struct graph_node *src0 = n->src[0] >= 0 ? &g->nodes[n->src[0]] : NULL;

	if (n->op != GRAPH_RECV) /* its rows are given */
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

static const char *wrong_route(const struct graph_node *n, int experts)
{
	int groups = n->route.groups;

	if (n->route.used < 1 || n->route.used > experts)
		return "more experts chosen than there are";
	return groups && (groups < 1 || experts % groups || n->route.groups_used < 1 ||
	                  n->route.groups_used > groups || n->route.group_best < 1 ||
	                  n->route.group_best > experts / groups ||
	                  n->route.used > experts / groups * n->route.groups_used)
	               ? "groups that do not fit the experts"
	               : NULL;
}

static const char *wrong_attn(const struct graph_node *n, const struct graph_node *q,
                              const struct graph_node *put)
{
	if (put->op != GRAPH_KV_PUT || put->kv_put.layer != n->attn.layer)
		return "src1 is no KV_PUT of its layer";
	if (n->attn.chunked && n->attn.window < 1)
		return "chunks without a length";
	if (n->attn.later < 0 || n->attn.later > 1 << 30)
		return "positions behind its own that there are not";
	return (int64_t)n->attn.heads * n->attn.dk != q->cols || n->attn.kv_heads < 1 ||
	                       n->attn.heads % n->attn.kv_heads || n->attn.dk != put->kv_put.dk ||
	                       n->attn.dv != put->kv_put.dv
	               ? "heads that do not fit the columns"
	               : NULL;
}

static const char *wrong_moe(const struct graph_node *n, const struct graph_node *route)
{
	if (n->moe.weight_before_ffn && (n->w[3] >= 0 || n->w[4] >= 0))
		return "weights inside, with biases";
	if (route->op == GRAPH_RECV) /* another part of the graph has chosen */
		return route->cols != 2 * n->moe.used ? "src1 is no ROUTE of as many experts"
		                                      : NULL;
	return route->op != GRAPH_ROUTE || route->route.used != n->moe.used
	               ? "src1 is no ROUTE of as many experts"
	               : NULL;
}

static const char *wrong_norm(const struct graph_node *n)
{
	if (n->w[1] >= 0 && (!n->norm.centred || n->w[0] < 0))
		return "a bias without a mean that is taken away, or without a gain";
	return n->norm.groups < 1 || n->cols % n->norm.groups || n->norm.first < 0 ||
	                       n->norm.first > n->cols || (n->norm.first && n->norm.groups != 1)
	               ? "groups that do not divide the columns"
	               : NULL;
}

static const char *wrong_kv_put(const struct graph_node *n, const struct graph_node *a,
                                const struct graph_node *b)
{
	if (n->kv_put.mla)
		return n->src[1] != n->src[0] || n->kv_put.heads != 1 || n->kv_put.dk != a->cols ||
		                       n->kv_put.dv < 1 || n->kv_put.dv > n->kv_put.dk
		               ? "a latent that does not fit the columns"
		               : NULL;
	return (int64_t)n->kv_put.heads * n->kv_put.dk != a->cols ||
	                       (int64_t)n->kv_put.heads * n->kv_put.dv != b->cols
	               ? "heads that do not fit the columns"
	               : NULL;
}

static const char *wrong_delta(const struct graph *g, const struct graph_node *n)
{
	int64_t k_cols = (int64_t)n->gated_delta.k_heads * n->gated_delta.dk, cols = n->cols;
	const struct graph_node *of[5];

	for (int i = 0; i < 5; i++)
		of[i] = &g->nodes[n->src[i]];
	if (n->gated_delta.k_heads < 1 || n->gated_delta.heads < 1 ||
	    n->gated_delta.heads % n->gated_delta.k_heads || n->gated_delta.dk < 1 ||
	    n->gated_delta.dv < 1 || (int64_t)n->gated_delta.heads * n->gated_delta.dv != cols ||
	    of[0]->cols != k_cols || of[1]->cols != k_cols || of[2]->cols != cols ||
	    of[3]->cols != n->gated_delta.heads || of[4]->cols != n->gated_delta.heads)
		return "heads that do not fit the columns";
	if (n->gated_delta.ssm && n->src[3] != n->src[4])
		return "two sources of one step";
	return n->w[0] < 0 || n->w[1] < 0 ? "no weight" : n->gated_delta.at < 0 ? "no state" : NULL;
}

static const char *wrong_part(const struct graph_node *n, int cols)
{
	int pieces = n->slice.pieces, times = n->slice.times ? n->slice.times : 1, own;

	if (times < 1 || n->cols % times)
		return "times that do not divide the columns";
	own = n->cols / times;
	return pieces < 1 || cols % pieces || own % pieces || n->slice.from < 0 ||
	                       n->slice.from > cols / pieces - own / pieces
	               ? "pieces that do not fit the columns"
	               : NULL;
}

static const char *wrong_conv(const struct graph_node *n)
{
	return n->w[0] < 0                              ? "no weight"
	       : n->conv1d.taps < 1 || n->conv1d.at < 0 ? "no taps or state"
	                                                : NULL;
}

static const char *wrong_head_mm(const struct graph_node *n, int cols)
{
	if (n->w[0] < 0)
		return "no weight";
	return n->head_mm.heads < 1 || cols % n->head_mm.heads || n->cols % n->head_mm.heads
	               ? "heads that do not fit the columns"
	               : NULL;
}

static const char *wrong_add(const struct graph_node *n, int cols, int more)
{
	int64_t pieces = n->add.pieces ? n->add.pieces : 1;

	return pieces < 1 || cols != pieces * more || n->add.from < 0 || n->add.from >= pieces
	               ? "sources of different width"
	               : NULL;
}

static const char *wrong_mix(const struct graph_node *n, int more, int factors)
{
	int64_t pieces = n->altup_mix.pieces, by = n->altup_mix.by;

	return pieces < 1 || by < 1 || n->cols % pieces || more != n->cols / pieces * by ||
	                       factors != pieces * by
	               ? "pieces that do not fit the columns"
	               : NULL;
}

static const char *wrong_level(const struct graph_node *n, int64_t one, int64_t more)
{
	return more % one || n->cols != (n->altup_rescale.mean ? one : one + more)
	               ? "pieces that do not fit the columns"
	               : NULL;
}

/* The error in the numbers of one node, or NULL. */
static const char *wrong(const struct graph *g, const struct graph_node *n)
{
	const struct graph_node *a = n->src[0] >= 0 ? &g->nodes[n->src[0]] : NULL;
	const struct graph_node *b = n->src[1] >= 0 ? &g->nodes[n->src[1]] : NULL;

	switch ((enum graph_op)n->op) {
	case GRAPH_EMBED:
	case GRAPH_MM:
	case GRAPH_PERMUTE:
		return n->w[0] < 0 ? "no weight" : NULL;
	case GRAPH_NORM:
		return wrong_norm(n);
	case GRAPH_HEAD_MM:
		return wrong_head_mm(n, a->cols);
	case GRAPH_ROPE:
		return (int64_t)n->rope.heads * n->rope.dk != n->cols || n->rope.rot < 2 ||
		                       n->rope.from < 0 || n->rope.from > n->rope.dk ||
		                       n->rope.rot > n->rope.dk - n->rope.from || n->rope.rot & 1
		               ? "heads or rotated part that do not fit the columns"
		               : NULL;
	case GRAPH_KV_PUT:
		return wrong_kv_put(n, a, b);
	case GRAPH_ATTN:
		return wrong_attn(n, a, b);
	case GRAPH_ADD:
		return wrong_add(n, a->cols, b->cols);
	case GRAPH_ALTUP_MIX:
		return wrong_mix(n, b->cols, g->nodes[n->src[2]].cols);
	case GRAPH_ALTUP_RESCALE:
		return wrong_level(n, a->cols, b->cols);
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
		return a->cols != b->cols ? "sources of different width" : NULL;
	case GRAPH_GATE:
		return b->cols != 1 && b->cols != a->cols ? "sources of different width" : NULL;
	case GRAPH_ATTN_TEMP:
		return n->attn_temp.length < 1 || n->attn_temp.from < 0 ? "no length" : NULL;
	case GRAPH_ROUTE:
		return wrong_route(n, a->cols);
	case GRAPH_MOE:
		return wrong_moe(n, b);
	case GRAPH_SLICE:
		return wrong_part(n, a->cols);
	case GRAPH_CONV1D:
		return wrong_conv(n);
	case GRAPH_GATED_DELTA:
		return wrong_delta(g, n);
	case GRAPH_RECV:
		return n->recv.edge < 0 ? "no edge" : NULL;
	case GRAPH_SEND:
		return n->send.edge < 0 ? "no edge" : NULL;
	case GRAPH_GELU:
	case GRAPH_GAUSS_TOPK:
	case GRAPH_SCALE:
	case GRAPH_GET_ROWS:
	case GRAPH_OPS:
		break; /* nothing can be wrong */
	}
	return NULL;
}

static const char *wrong_links(const struct graph *g, int32_t i, int n_weights)
{
	const struct graph_node *n = &g->nodes[i];

	for (int s = 0; s < GRAPH_SRC; s++) {
		if (s >= graph_op_srcs(n->op) ? n->src[s] != -1 : n->src[s] < 0 || n->src[s] >= i)
			return "a source that is not below it, or one too many";
		if (s >= graph_op_srcs(n->op))
			continue;
		if (g->nodes[n->src[s]].rows != n->rows && n->op != GRAPH_GET_ROWS &&
		    n->op != GRAPH_ATTN)
			return "sources of different rows";
		if (!g->nodes[n->src[s]].cols && !(n->op == GRAPH_ATTN && s == 1))
			return "a source without a value";
	}
	for (int w = 0; w < GRAPH_W; w++)
		if (w >= graph_op_weights(n->op) ? n->w[w] != -1 : n->w[w] >= n_weights)
			return "a weight that is not there, or one too many";
	return n->cols < 1 && graph_op_cols(n->op) != GRAPH_COLS_NONE ? "no columns" : NULL;
}

int graph_check(const struct graph *g, int n_weights, infer_error *err)
{
	int sends = 0;

	if (g->bad)
		return err_set(err, INFER_ENOMEM, "no memory for the graph");
	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		if (n->op >= GRAPH_OPS)
			return err_set(err, INFER_EINVAL, "node %d: op %d is not known", i, n->op);
		const char *why = wrong_links(g, i, n_weights);
		if (!why)
			why = wrong(g, n);
		if (why)
			return err_set(err, INFER_EINVAL, "node %d (%s): %s", i,
			               graph_op_name(n->op), why);
		sends |= n->op == GRAPH_SEND;
	}
	if (g->output < 0 && sends) /* a part that is not the last */
		return INFER_OK;
	if (g->output < 0 && g->hidden >= 0 && g->hidden < g->n &&
	    g->nodes[g->hidden].rows == GRAPH_OUT) /* an encoder */
		return INFER_OK;
	if (g->output < 0 || g->output >= g->n || g->nodes[g->output].rows != GRAPH_OUT)
		return err_set(err, INFER_EINVAL, "the graph has no output, or one of all rows");
	return INFER_OK;
}
