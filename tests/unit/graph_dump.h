/* tests/unit/graph_dump.h - print a graph as text, for golden files. */
#ifndef TESTS_GRAPH_DUMP_H
#define TESTS_GRAPH_DUMP_H
#include "base/buf.h"
#include "graph/graph.h"
#include "graph/shape.h"

/* The parameters of all operations in the order of op_list.h.  A row without a name ends those of
 * an operation. */
static const struct graph_field {
	const char *name;
	size_t at;
	int number;
} graph_fields[] = {
#define INT(member, field) { #field, offsetof(struct graph_node, member.field), 0 },
#define NUM(member, field) { #field, offsetof(struct graph_node, member.field), 1 },
#define END(member) { NULL, 0, 0 },
#include "graph/op_list.h"
};

/* The first parameter of op in graph_fields[]. */
static inline const struct graph_field *graph_first_field(int op)
{
	const struct graph_field *f = graph_fields;

	for (; op; op--, f++)
		while (f->name)
			f++;
	return f;
}

/* Print the parameters of n that are not 0: " heads 4 scale 0.5". */
static inline void graph_print_fields(const struct graph_node *n, struct buf *out)
{
	for (const struct graph_field *f = graph_first_field(n->op); f->name; f++) {
		const void *at = (const char *)n + f->at;
		if (f->number && *(const float *)at != 0)
			buf_printf(out, " %s %.9g", f->name, (double)*(const float *)at);
		else if (!f->number && *(const int32_t *)at)
			buf_printf(out, " %s %d", f->name, *(const int32_t *)at);
	}
}

/* One line a node: "%3: MM all x 64 <- %1 a=w2 mul 0.5" */
static inline void graph_dump(const struct graph *g, struct buf *out)
{
	for (int32_t k = 0; k < g->n; k++) {
		const struct graph_node *n = &g->nodes[k];

		buf_printf(out, "%%%d: %s %s x %d", k, graph_op_name(n->op),
		           n->rows == GRAPH_OUT ? "out" : "all", n->cols);
		for (int i = 0; i < graph_op_srcs(n->op); i++)
			buf_printf(out, "%s%%%d", i ? " " : " <- ", n->src[i]);
		for (int i = 0; i < graph_op_weights(n->op); i++)
			if (n->w[i] >= 0)
				buf_printf(out, " %c=w%d", 'a' + i, n->w[i]);
		graph_print_fields(n, out);
		buf_putc(out, '\n');
	}
	buf_printf(out, "output %%%d\n", g->output);
}
#endif
