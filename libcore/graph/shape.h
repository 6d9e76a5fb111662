/* graph/shape.h (private) - rows and columns of a node, by its row in op_list.h. */
#ifndef GRAPH_SHAPE_H
#define GRAPH_SHAPE_H
#include "graph/graph.h"

enum graph_cols {
	GRAPH_COLS_GIVEN,
	GRAPH_COLS_LIKE,
	GRAPH_COLS_HEADS,
	GRAPH_COLS_PAIRS,
	GRAPH_COLS_NONE
};
enum graph_cols graph_op_cols(int op);
int graph_op_weights(int op); /* number of weights */

/* Compute n->rows, and n->cols unless they are GIVEN.  The sources of n must be nodes of g. */
void graph_shape(const struct graph *g, struct graph_node *n);
#endif
