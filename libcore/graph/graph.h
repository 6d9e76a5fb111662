/* graph/graph.h - one step of a model as a list of operations over a symbolic number of rows.
 *
 * A row is one token of the step.  Nodes are named by index and hold no pointer, so a graph can be
 * printed, hashed and compared.  Node i reads only nodes below i.  The value of a node is
 * f32 [rows][cols], row-major.  A graph is built once per model and is immutable afterwards. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

enum graph_op {
#define OP(name, member, kind, n_src, n_w, cols, over) GRAPH_##name,
#include "graph/op_list.h"
	GRAPH_OPS
};
/* see op_list.h */
enum graph_kind { GRAPH_ELEMENT, GRAPH_PRODUCT, GRAPH_ATTENTION, GRAPH_STATE, GRAPH_MOVE };
/* all rows of the step, or its output rows: those with logits or hidden states as results */
enum graph_rows { GRAPH_ALL, GRAPH_OUT };
/* EMBED: the number that selects a row of the table. Segment: the part of a text pair, 0 or 1 */
enum graph_index { GRAPH_TOKEN_ID, GRAPH_POSITION, GRAPH_SEGMENT };
/* MOE, g and u the outputs of gate and up: silu(g) * u, gelu_tanh(g) * u or, as in gpt-oss,
 * g * sigmoid(1.702 * g) * (u + 1) with g <= limit and -limit <= u <= limit */
enum graph_act { GRAPH_ACT_SILU, GRAPH_ACT_GELU, GRAPH_ACT_SWIGLU };

enum { GRAPH_SRC = 5, GRAPH_W = 6 };
struct graph_node {
	uint8_t op, rows;       /* enum graph_op, graph_rows */
	int32_t cols;           /* floats of a row; 0: no value (KV_PUT, SEND) */
	int32_t src[GRAPH_SRC]; /* node, -1: none */
	int32_t w[GRAPH_W];     /* index of a bound weight, -1: none */
	union {                 /* parameters: the member that op_list.h names for op */
#define OP(name, member, kind, n_src, n_w, cols, over) struct {
#define INT(member, field) int32_t field;
#define NUM(member, field) float field;
#define END(member) \
	} \
	member;
#include "graph/op_list.h"
	};
};
struct graph {
	struct graph_node *nodes;
	int32_t n, cap;
	/* nodes of the logits and of the hidden states they are computed from.  -1: not set, or in
	 * another part of a split graph (split.h).  Both values last to the end of a step. */
	int32_t output, hidden;
	int bad; /* 1: graph_add ran out of memory; stays set */
};

void graph_init(struct graph *g);
void graph_fini(struct graph *g);
/* Return a node of op without sources and weights, its parameters 0. */
struct graph_node graph_node_of(enum graph_op op);
/* Append n and return its index.  Computes n.rows from the sources (RECV keeps its own), and n.cols
 * unless op_list.h says GIVEN.  Returns -1 without setting bad if a required source is -1 or not a
 * node, as after an earlier failure, and -1 with bad set if memory runs out. */
int32_t graph_add(struct graph *g, struct graph_node n);
const char *graph_op_name(int op); /* "MM"; NULL if op is not an enum graph_op */
enum graph_kind graph_op_kind(int op);
int graph_op_srcs(int op); /* number of sources of op */
int graph_op_over(int op); /* 1: the value may overwrite src0 */
/* Check that sources are earlier nodes with matching rows, that the conditions of op_list.h hold
 * for weights 0 ... n_weights - 1, and that the graph ends in logits, hidden states or a SEND.
 * INFER_EINVAL names the node and the condition: an error in our code, not in a model.
 * INFER_ENOMEM: g->bad is set. */
int graph_check(const struct graph *g, int n_weights, infer_error *err);

/* A block of memory that is in use from time `from` to time `to`, inclusive, in any unit.  Spans
 * that do not overlap in time may share bytes. */
struct graph_span {
	int32_t from, to;
	size_t bytes, offset; /* offset: out, 64-aligned */
};
/* Give each span the lowest offset that is free during its time.  s: sorted by `from`.
 * *bytes: out, the size of the whole block.  INFER_ENOMEM. */
int graph_place_spans(struct graph_span *s, int n, size_t *bytes, infer_error *err);

/* Place all values in one workspace for steps of up to `rows` rows, `out` of them output rows.
 * Values with disjoint lifetimes share memory.  A node overwrites src0 if it is the last to read it
 * and op_list.h allows it.  INFER_ENOMEM.
 * stage   [g->n] ascending, when a node runs, or NULL: one node at a time.  Nodes of one stage may
 *         run in parallel, but the operations on one row keep their order
 * gap     unused bytes after each value
 * offset  [g->n] out, bytes, 64-aligned; SIZE_MAX: the node has no value
 * *bytes  out, size of the workspace */
int graph_place(const struct graph *g, const int32_t *stage, int64_t rows, int64_t out, size_t gap,
                size_t *offset, size_t *bytes, infer_error *err);

struct graph_cost {
	double weight_bytes, kv_bytes; /* bytes read; kv_bytes of states: read and written */
	double flops;
};
/* a weight: `count` matrices of n rows and k columns, `bytes` in all */
struct graph_weight_size {
	int64_t n, k, count;
	size_t bytes;
};
/* a step of `rows` rows, `out` of them output rows, each at context ctx */
struct graph_load {
	int64_t rows, out, ctx;
	double k_bytes, v_bytes; /* bytes of one element of K and of V */
};
/* Compute the cost of a node, or the sum over all nodes. w is indexed by node.w. A MOE is assumed
 * to read min(experts, rows * used) experts. */
void graph_node_cost(const struct graph *g, int32_t node, const struct graph_weight_size *w,
                     const struct graph_load *load, struct graph_cost *cost);
void graph_cost(const struct graph *g, const struct graph_weight_size *w,
                const struct graph_load *load, struct graph_cost *sum);
#endif
