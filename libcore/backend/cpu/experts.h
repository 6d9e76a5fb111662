/* backend/cpu/experts.h (private) - the experts of a model that a device computes, if their weights stay
 * with the host: its MOE nodes run on the CPU, one at a time, between the parts that the device runs.
 *
 * The results have the bits of the CPU backend, which depend on K and on the position alone. */
#ifndef BACKEND_CPU_EXPERTS_H
#define BACKEND_CPU_EXPERTS_H
#include "backend/backend.h"

struct cpu_experts; /* a plan of these nodes.  Confined, as the host's pool */

/* True if the host computes node n of a model: a MOE with weights that are on_host. */
static inline int cpu_expert_is(const struct backend_model *m, const struct graph_node *n)
{
	return n->op == GRAPH_MOE && m->weights[n->w[0]].on_host;
}
/* Set need->workspace and need->thread to the memory of a plan; other fields are 0.  Errors as
 * cpu_experts_new. */
int cpu_experts_need(struct backend_need *need, const struct host *host,
                     const struct backend_model *m, const struct backend_size *size,
                     infer_error *err);
/* Make a plan of the nodes of m for which cpu_expert_is is true.  host and m->weights must outlive it.
 * INFER_EUNSUP: a type of weights, by name; INFER_ENOMEM */
int cpu_experts_new(struct cpu_experts **out, const struct host *host,
                    const struct backend_model *m, const struct backend_size *size,
                    infer_error *err);
void cpu_experts_free(struct cpu_experts *e);
/* Rows of a node, 64-aligned.  `choice` is the value of its ROUTE: ids, then weights. */
struct cpu_expert_rows {
	float *x, *choice, *y; /* [rows][cols], [rows][2 * used], [rows][cols] */
};
/* Compute r->y of the node with this number, from 0 in the order of the graph, for the rows of step
 * s.  The ids must be those of experts.  Allocates nothing.  INFER_ECANCEL: *s->stop is set. */
int cpu_experts_run(struct cpu_experts *e, int number, const struct backend_step *s,
                    const struct cpu_expert_rows *r, infer_error *err);
#endif
