/* infer/plan.h - the least time that a step of a model can take on this machine.   floor: plan */
#ifndef INFER_PLAN_H
#define INFER_PLAN_H
#include <stdint.h>
#include <infer/status.h>
#include <infer/engine.h>
#include <infer/probe.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The work of a step of a model. */
struct infer_load {
	int64_t rows; /* of all sequences */
	int64_t out;  /* rows that produce logits */
	int64_t seqs; /* each reads its own cache once */
	int64_t ctx;  /* positions that a row attends to */
};
struct infer_cost {
	double weight_bytes, kv_bytes;
	/* counted by the kind of product that each weight type uses */
	double fma_ops, dot_ops, bf16_ops;
};
/* Add the cost of a step to *c.  Any thread.  INFER_ENOMEM */
int infer_cost_add(struct infer_cost *c, const infer_model *m, const struct infer_engine_info *info,
                   const struct infer_load *l, infer_error *err);
/* The minimum time in seconds, of bf16_ops by fma where there are no tiles of bf16.  *limit: MEMORY or
 * KV, whichever has more bytes, or COMPUTE. */
double infer_cost_seconds(const struct infer_cost *c, const struct infer_ceilings *top, int *limit);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
