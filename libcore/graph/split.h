/* graph/split.h - split a graph into parts that run one after the other, each on its own device.
 *
 * A value that a later part reads is passed over an edge, a buffer in host memory.  The part that
 * computes the value ends with a SEND; each part that reads it begins with a RECV. */
#ifndef GRAPH_SPLIT_H
#define GRAPH_SPLIT_H
#include "graph/graph.h"

struct graph_part {
	struct graph graph;
	int32_t *weights; /* [n_weights] index in the whole graph of weight i of this part */
	int n_weights;
};
struct graph_edge {
	int32_t cols;
	int rows;     /* enum graph_rows */
	int from, to; /* from: the part that sends; to: the last part that receives */
};
struct graph_split {
	struct graph_part *parts;
	struct graph_edge *edges;
	int n;
	int32_t n_edges;
};
/* Split g into n parts: part i is the nodes [first[i], first[i + 1]) of g; first[0] is 0.  Free
 * with
 * graph_split_fini.  INFER_EINVAL: a part has no nodes, or a cut separates nodes that must run on
 * one device (KV_PUT and its ATTN, ROUTE and its MOE).  INFER_ENOMEM.  On failure *out is zero. */
int graph_split(struct graph_split *out, const struct graph *g, const int32_t *first, int n,
                infer_error *err);
void graph_split_fini(struct graph_split *s);
/* Place the edges in one buffer, for steps of up to `rows` rows, `out` of them output rows.
 * INFER_ENOMEM.
 * offset  [n_edges] out or NULL, bytes, 64-aligned
 * *bytes  out, size of the buffer */
int graph_split_edges(const struct graph_split *s, int64_t rows, int64_t out, size_t *offset,
                      size_t *bytes, infer_error *err);
#endif
