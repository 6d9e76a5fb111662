/* graph/split.h - a graph cut into parts that run one after the other, each on a device of its own.
 *
 * A value that a later part reads crosses an edge, which is memory of the host: the part that
 * computes it ends with a SEND, each part that reads it begins with a RECV. */
#ifndef GRAPH_SPLIT_H
#define GRAPH_SPLIT_H
#include "graph/graph.h"

struct graph_part {
	struct graph graph;
	int32_t *weights; /* [n_weights] of the whole graph; node.w of the part indexes these */
	int n_weights;
};
struct graph_edge {
	int32_t cols;
	int rows;     /* enum graph_rows */
	int from, to; /* the part that sends, the last that receives */
};
struct graph_split {
	struct graph_part *parts;
	struct graph_edge *edges;
	int n;
	int32_t n_edges;
};
/* Part i is the nodes [first[i], first[i + 1]) of g, first[0] is 0; graph_split_fini it.
 * INFER_EINVAL: a part without nodes, or a cut between nodes that only one device can join;
 * INFER_ENOMEM.  On failure *out is zero. */
int graph_split(struct graph_split *out, const struct graph *g, const int32_t *first, int n,
                infer_error *err);
void graph_split_fini(struct graph_split *s);
/* Where the edges lie in one block, for steps of `rows` rows, `out` of them with logits:
 * offset[n_edges] in bytes, 64-aligned (or NULL), and *bytes of all.  INFER_ENOMEM. */
int graph_split_edges(const struct graph_split *s, int64_t rows, int64_t out, size_t *offset,
                      size_t *bytes, infer_error *err);
#endif
