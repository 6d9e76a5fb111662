/* backend/cpu/experts.h (private) - CPU experts: MOE nodes whose weights stay in host memory run on
 * the CPU, while a GPU runs the rest of the graph.  They run one at a time, between parts of the
 * graph.
 *
 * The results have the same bits as those of the CPU backend. */
#ifndef BACKEND_CPU_EXPERTS_H
#define BACKEND_CPU_EXPERTS_H
#include "backend/backend.h"

struct cpu_experts; /* a plan for the MOE nodes of a graph. Confined, like the host */

/* True if the host computes node n of a model: a MOE with weights that are on_host. */
static inline int cpu_expert_is(const struct backend_model *m, const struct graph_node *n)
{
	return n->op == GRAPH_MOE && m->weights[n->w[0]].on_host;
}
/* Set need->workspace and need->thread to the bytes that a plan takes, and the other fields to 0.
 * Errors as of cpu_experts_new. */
int cpu_experts_need(struct backend_need *need, const struct host *host,
                     const struct backend_model *m, const struct backend_size *size,
                     infer_error *err);
/* Plan all nodes of m for which cpu_expert_is is true.  host and m->weights must outlive the plan.
 * INFER_EUNSUP names a type of weights that is not supported; INFER_ENOMEM */
int cpu_experts_new(struct cpu_experts **out, const struct host *host,
                    const struct backend_model *m, const struct backend_size *size,
                    infer_error *err);
void cpu_experts_free(struct cpu_experts *e);
/* Input and output rows of a MOE node, 64-aligned.  choice: the value of its ROUTE. */
struct cpu_expert_rows {
	float *x, *choice, *y; /* [rows][cols], [rows][2 * used], [rows][cols] */
};
/* Compute r->y of planned node `number`, counted from 0 in the order of the graph, for the rows of
 * step s.  The ids in r->choice must be valid.  Allocates nothing.  INFER_ECANCEL: *s->stop is
 * set. */
int cpu_experts_run(struct cpu_experts *e, int number, const struct backend_step *s,
                    const struct cpu_expert_rows *r, infer_error *err);
#endif
