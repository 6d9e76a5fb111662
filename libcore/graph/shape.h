/* graph/shape.h (private) - what follows from an op's row in op_list.h: columns, rows, and whether
 * a node keeps to it. */
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
int graph_op_weights(int op);

/* Fill n->rows, and n->cols where the op does not leave them open; its sources are in g. */
void graph_shape(const struct graph *g, struct graph_node *n);
#endif
