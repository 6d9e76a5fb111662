/* backend/cpu/adapt.h (private) - adapters in products, tables and norms: see backend/adapter.h. */
#ifndef BACKEND_CPU_ADAPT_H
#define BACKEND_CPU_ADAPT_H
#include "backend/backend.h"

struct backend_plan;
struct cpu_job;
struct cpu_space;

/* Memory for adapters in a plan: none if its rank is 0. */
struct cpu_adapt {
	int on;               /* 1: a run of the running step has adapters */
	float *t;             /* A x of all jobs of a step */
	struct cpu_job *jobs; /* products with A, and with weights that replace others */
	int n_jobs;
};

/* Take the workspace of adapters. */
void cpu_adapt_lay(struct backend_plan *p, struct cpu_space *s);
/* Bytes of scratch that a worker needs for adapters of a node. */
size_t cpu_adapt_scratch(const struct backend_plan *p, const struct graph_node *n);
void cpu_adapt_begin(struct backend_plan *p); /* note whether a run of p->s has adapters */
/* True if an adapter of the running step changes products with a weight. */
int cpu_adapt_touches(const struct backend_plan *p, int32_t weight);
/* Like cpu_jobs_run, with the adapters of the rows. */
void cpu_products_run(struct backend_plan *p, struct cpu_job *jobs, int n);
/* Add the deltas to rows [m0, m0 + m), columns [col, col + n) of a job, from its t. */
void cpu_adapt_add(const struct backend_plan *p, const struct cpu_job *j, int m0, int m, int col,
                   int n);
/* Return the bias of row i of a job. */
const float *cpu_adapt_bias(const struct backend_plan *p, const struct cpu_job *j, int i);
/* Return the weight that a row reads as a vector: of the model, or of an adapter. */
const struct weight *cpu_adapt_vector(const struct backend_plan *p, int32_t weight, int rows,
                                      int32_t row);
/* Return the weight that a row of all rows looks up in a table. */
const struct weight *cpu_adapt_table(const struct backend_plan *p, int32_t weight, int32_t row);
/* Add the deltas of a table to y, which is entry id of it for a row; scratch: of the worker. */
void cpu_adapt_look(const struct backend_plan *p, int32_t weight, int32_t row, int32_t id, float *y,
                    void *scratch);
#endif
