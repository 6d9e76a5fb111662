/* place/place.h - which sizes fit: pure functions of hyper-parameters, capacities and a budget. */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H
#include <stdint.h>
#include <infer/status.h>
#include "arch/arch.h"
#include "kv/kv.h"

struct place_ask {
	int32_t ctx; /* 0: the model's own, or what fits */
	int k_type, v_type;
	uint64_t kv_bytes;      /* budget; 0: enough for max_seqs sequences of ctx, or what fits */
	int32_t max_seqs;       /* sequences at once */
	int32_t rows, out;      /* most rows of a step, and most rows of logits */
	uint64_t memory_bytes;  /* what the process may still use for cache and workspace */
	uint64_t address_bytes; /* address space that is left; UINT64_MAX: no limit */
	const struct backend_kind *kind;
	struct backend *backend; /* where all layers go */
};
struct place_plan {
	int32_t ctx;
	uint64_t kv_bytes; /* for kv_opts.bytes */
	/* one more position adds, while no window is full and pages are not rounded up */
	uint64_t kv_token_bytes;
	uint64_t workspace_bytes; /* of the backend's plan */
	struct kv_group groups[2];
	int n_groups;
	int *layers; /* storage the groups point into */
};
/* INFER_EUNSUP  a cache type, by name, or one that these heads cannot have
 * INFER_EINVAL  a field of ask is out of range, or the context is beyond what the model's own RoPE
 *               scaling was made for
 * INFER_ENOMEM  says what is needed, what is there, and the nearest setting that fits
 * and the errors of kind->need.  place_fini frees the plan. */
int place_solve(struct place_plan *out, const struct infer_model *m, const struct place_ask *ask,
                infer_error *err);
void place_fini(struct place_plan *p);
#endif
