/* place/place.h - what fits where: pure functions of hyper-parameters, capacities and a budget. */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H
#include <stdint.h>
#include <infer/status.h>
#include "arch/arch.h"
#include "kv/kv.h"

struct place_ask {
	int32_t  ctx;               /* 0: the model's own, or what fits */
	int      k_type, v_type;
	uint64_t kv_bytes;          /* 0: what ctx needs for max_seqs, or what fits */
	int32_t  max_seqs, rows, out;   /* rows of a step, rows that want logits */
	uint64_t memory_bytes;      /* what the process may still use for cache and workspace */
	uint64_t address_bytes;
};
struct place_plan {
	int32_t  ctx;
	uint64_t kv_bytes, kv_token_bytes, workspace_bytes, weight_bytes;
	struct kv_group groups[2]; int n_groups;
	int     *layers;            /* storage the groups point into; mem_free */
};
/* INFER_ENOMEM: says what is needed, what is there, and the nearest setting that fits */
int place_solve(struct place_plan *out, const struct infer_model *m, const struct place_ask *ask, infer_error *err);
#endif
