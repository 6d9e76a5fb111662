/* graph/graph.h - a model's step as a list of operations, the number of rows symbolic.
 *
 * Nodes are named by index and hold no pointer, so a graph can be printed, hashed and compared.  Node i reads only nodes
 * below i.  Every value is f32 [rows][cols], row-major.  Built once per model; immutable afterwards. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

enum graph_op {
#define OP(name, n_src, n_w, what) GRAPH_##name,
#include "graph/op_list.h"
#undef OP
	GRAPH_OPS
};
enum graph_rows { GRAPH_ALL, GRAPH_OUT };      /* every row of the step, or those that want logits */

enum { GRAPH_SRC = 3, GRAPH_W = 3, GRAPH_I = 6, GRAPH_F = 3 };
struct graph_node {
	uint8_t op, rows;
	int32_t cols;               /* floats of a row; 0: no value (KV_PUT) */
	int32_t src[GRAPH_SRC];     /* node, -1: none */
	int32_t w[GRAPH_W];         /* index of a bound weight, -1: none */
	int32_t i[GRAPH_I];         /* as op_list.h says */
	float   f[GRAPH_F];
};
struct graph {
	struct graph_node *nodes;
	int32_t n, cap, output;     /* output: the logits */
	int     bad;                /* out of memory while building; sticky */
};

void graph_init(struct graph *g);
void graph_fini(struct graph *g);
/* Append a node; its cols follow from op_list.h's shape rule where n.cols is 0.  Returns its index, or -1 with bad set. */
int32_t graph_add(struct graph *g, struct graph_node n);
const char *graph_op_name(int op);
/* Every src below its node, counts as op_list.h says, cols agree.  INFER_EINVAL names the node: our own mistake. */
int  graph_check(const struct graph *g, infer_error *err);

/* Place every value in one workspace of `rows` rows (`out` of them want logits): offset[i] in bytes, 64-aligned, or
 * SIZE_MAX where the node has none.  Values whose lives do not meet share memory; a node may write over a source that
 * dies with it where the op allows (op_list.h).  *bytes: what the workspace takes. */
int  graph_place(const struct graph *g, int64_t rows, int64_t out, size_t *offset, size_t *bytes, infer_error *err);

/* Bytes of weights and cache read, and floating-point operations, of one node for `rows` rows at context `ctx`. */
struct graph_cost { double weight_bytes, kv_bytes, flops; };
struct graph_weight_size { int64_t n, k; size_t bytes; };      /* of one bound weight */
void graph_cost(const struct graph *g, const struct graph_weight_size *w, int64_t rows, int64_t ctx, double kv_elem_bytes, struct graph_cost *sum);

void graph_dump(const struct graph *g, struct buf *out);       /* one line a node: golden files compare it */
#endif
