/* backend/cpu/row_op.h (private) - element-wise operations and moves, which run on one row. */
#ifndef BACKEND_CPU_ROW_OP_H
#define BACKEND_CPU_ROW_OP_H
#include "backend/cpu/cpu.h"

struct row_op {
	const struct backend_plan *p;
	const struct kern *k;
	const struct graph_node *n;
	int32_t row;
	float *y;               /* NULL: the operation has no value */
	const float *a, *b, *c; /* this row of sources 0, 1, 2; NULL: no such source */
	void *scratch;          /* of the worker */
};

/* Return the data of weight i of the node for this row, or NULL if it is left out. */
static inline const void *row_op_weight(const struct row_op *o, int i)
{
	if (o->n->w[i] < 0)
		return NULL;
	return o->p->adapt.on ? cpu_adapt_vector(o->p, o->n->w[i], o->n->rows, o->row)->at[0]
	                      : o->p->m.weights[o->n->w[i]].at[0];
}

/* moe.c */
void cpu_run_route(const struct row_op *o);
/* pieces.c */
void cpu_run_add(const struct row_op *o);
void cpu_run_gauss_topk(const struct row_op *o);
void cpu_run_slice(const struct row_op *o);
void cpu_run_permute(const struct row_op *o);
void cpu_run_altup_mix(const struct row_op *o);
void cpu_run_altup_rescale(const struct row_op *o);
#endif
