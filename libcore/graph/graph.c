/* graph/graph.c - build a graph. */
#include "graph/graph.h"
#include "base/err.h"
#include "base/mem.h"
#include "graph/shape.h"

#include <string.h>

static const struct {
	const char *name;
	uint8_t kind, srcs, weights, cols, over;
} ops[] = {
#define OP(name, member, kind, n_src, n_w, cols, over) \
	{ #name, GRAPH_##kind, n_src, n_w, GRAPH_COLS_##cols, over },
#include "graph/op_list.h"
};

const char *graph_op_name(int op) { return op >= 0 && op < GRAPH_OPS ? ops[op].name : NULL; }
enum graph_kind graph_op_kind(int op) { return ops[op].kind; }
int graph_op_srcs(int op) { return ops[op].srcs; }
int graph_op_weights(int op) { return ops[op].weights; }
int graph_op_over(int op) { return ops[op].over; }
enum graph_cols graph_op_cols(int op) { return ops[op].cols; }

void graph_init(struct graph *g) { *g = (struct graph){ .output = -1, .hidden = -1 }; }

void graph_fini(struct graph *g)
{
	mem_free(g->nodes);
	graph_init(g);
}

struct graph_node graph_node_of(enum graph_op op)
{
	struct graph_node n;

	memset(&n, 0, sizeof n); /* an initialiser need not clear the rest of the union */
	n.op = (uint8_t)op;
	for (int i = 0; i < GRAPH_SRC; i++)
		n.src[i] = -1;
	for (int i = 0; i < GRAPH_W; i++)
		n.w[i] = -1;
	return n;
}

static int grow_nodes(struct graph *g)
{
	int32_t cap = g->cap ? g->cap * 2 : 256;
	struct graph_node *nodes = mem_realloc(MEM_GRAPH, g->nodes, (size_t)cap, sizeof *nodes);

	if (!nodes)
		return INFER_ENOMEM;
	g->nodes = nodes;
	g->cap = cap;
	return INFER_OK;
}

int32_t graph_add(struct graph *g, struct graph_node n)
{
	if (g->bad)
		return -1;
	must(n.op < GRAPH_OPS);
	for (int i = 0; i < ops[n.op].srcs; i++)
		if (n.src[i] < 0 || n.src[i] >= g->n)
			return -1;
	if (g->n == g->cap && grow_nodes(g)) {
		g->bad = 1;
		return -1;
	}
	graph_shape(g, &n);
	g->nodes[g->n] = n;
	return g->n++;
}
