#include "graph/graph.h"

#include "graph/shape.h"

/* "%3: MM all x 64 <- %1 w2 i 1 2 f 0.5": trailing zeroes of i and f are left out. */
void graph_dump(const struct graph *g, struct buf *out)
{
	for (int32_t k = 0; k < g->n; k++) {
		const struct graph_node *n = &g->nodes[k];
		int ni = GRAPH_I, nf = GRAPH_F;

		buf_printf(out, "%%%d: %s %s x %d", k, graph_op_name(n->op),
		           n->rows == GRAPH_OUT ? "out" : "all", n->cols);
		for (int i = 0; i < graph_op_srcs(n->op); i++)
			buf_printf(out, "%s%%%d", i ? " " : " <- ", n->src[i]);
		for (int i = 0; i < graph_op_weights(n->op); i++)
			if (n->w[i] >= 0)
				buf_printf(out, " %c=w%d", 'a' + i, n->w[i]);
		while (ni && !n->i[ni - 1])
			ni--;
		while (nf && n->f[nf - 1] == 0)
			nf--;
		for (int i = 0; i < ni; i++)
			buf_printf(out, "%s %d", i ? "" : " i", n->i[i]);
		for (int i = 0; i < nf; i++)
			buf_printf(out, "%s %.9g", i ? "" : " f", (double)n->f[i]);
		buf_putc(out, '\n');
	}
	buf_printf(out, "output %%%d\n", g->output);
}
