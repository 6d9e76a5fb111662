/* graph/graph.h - a model's step as a list of operations, the number of rows symbolic.
 *
 * Nodes are named by index and hold no pointer, so a graph can be printed, hashed and compared.
 * Node i reads only nodes below i.  Every value is f32 [rows][cols], row-major.  Built once per
 * model; immutable afterwards. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

enum graph_op {
#define OP(name, member, n_src, n_w, cols, over, what) GRAPH_##name,
#define INT(member, field)
#define NUM(member, field)
#define END(member)
#include "graph/op_list.h"
#undef OP
#undef INT
#undef NUM
#undef END
	GRAPH_OPS
};
/* every row of the step, or those that want logits */
enum graph_rows { GRAPH_ALL, GRAPH_OUT };

enum { GRAPH_SRC = 5, GRAPH_W = 6 };
struct graph_node {
	uint8_t op, rows;       /* enum graph_op, graph_rows */
	int32_t cols;           /* floats of a row; 0: no value (KV_PUT) */
	int32_t src[GRAPH_SRC]; /* node, -1: none */
	int32_t w[GRAPH_W];     /* index of a bound weight, -1: none */
	union {                 /* parameters: the member that op_list.h names for op */
#define OP(name, member, n_src, n_w, cols, over, what) struct {
#define INT(member, field) int32_t field;
#define NUM(member, field) float field;
#define END(member) \
	} \
	member;
#include "graph/op_list.h"
#undef OP
#undef INT
#undef NUM
#undef END
	};
};
struct graph {
	struct graph_node *nodes;
	/* the logits, and the states that they are made of, which last to the end of a step; -1: not
	 * set, or of another part (split.h) */
	int32_t n, cap, output, hidden;
	int bad; /* out of memory while building; sticky */
};

void graph_init(struct graph *g);
void graph_fini(struct graph *g);
/* A node of op without sources or weights, its parameters zero. */
struct graph_node graph_node_of(enum graph_op op);
/* Append a node.  rows follow from its sources (RECV: as given); so do cols, where op_list.h does not say GIVEN.
 * Returns its index, or -1 with bad set; a source that is -1 where the op needs one (what an
 * earlier failure left) gives -1 too. */
int32_t graph_add(struct graph *g, struct graph_node n);
const char *graph_op_name(int op); /* "MM"; NULL outside the enum */
const char *graph_op_what(int op); /* the sentence of op_list.h */
int graph_op_srcs(int op);
int graph_op_over(int op);
/* Check that every source comes before its node, that counts are those of op_list.h, that columns
 * and rows agree, and that there is an output, a SEND, or states that embeddings are made of.  INFER_EINVAL names the node and the mistake, which
 * is our own.  INFER_ENOMEM: memory failed while the graph was built. */
int graph_check(const struct graph *g, int n_weights, infer_error *err);

/* Spans of time that want memory: [from, to] inclusive, any unit.  Those that do not meet may share
 * bytes. */
/* offset: out, 64-aligned */
struct graph_span {
	int32_t from, to;
	size_t bytes, offset;
};
/* s: by ascending from.  Each is put at the lowest offset that is free.  *bytes: what all of them
 * take.  INFER_ENOMEM. */
int graph_place_spans(struct graph_span *s, int n, size_t *bytes, infer_error *err);

/* Place every value in one workspace of `rows` rows (`out` of them want logits): offset[i] in
 * bytes, 64-aligned, or SIZE_MAX where the node has none.  Values with disjoint lifetimes share
 * memory; a node overwrites a source that it uses last if its op allows.
 * stage   [g->n] ascending: when a node runs; NULL: each by itself.  Nodes of one stage may run at
 *         the same time, though the operations on one row keep their order
 * gap     bytes that stay free behind each value while it lives
 * *bytes  what the workspace takes */
int graph_place(const struct graph *g, const int32_t *stage, int64_t rows, int64_t out, size_t gap,
                size_t *offset, size_t *bytes, infer_error *err);

/* Bytes of weights and cache read, and floating-point operations, for `rows` rows (`out` of which
 * want logits) at context `ctx` each.  Experts: as many distinct ones as rows can choose. */
struct graph_cost {
	double weight_bytes, kv_bytes, flops;
};
/* rows and row of one matrix; how many; bytes of all */
struct graph_weight_size {
	int64_t n, k, count;
	size_t bytes;
};
/* bytes of a K and a V element */
struct graph_load {
	int64_t rows, out, ctx;
	double k_bytes, v_bytes;
};
void graph_node_cost(const struct graph *g, int32_t node, const struct graph_weight_size *w,
                     const struct graph_load *load, struct graph_cost *cost);
void graph_cost(const struct graph *g, const struct graph_weight_size *w,
                const struct graph_load *load, struct graph_cost *sum);

void graph_dump(const struct graph *g, struct buf *out); /* one line a node, for golden files */
#endif
