/* place/place.h - which layers go where, and which sizes fit there: pure functions of
 * hyper-parameters, capacities and a budget. */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H
#include <stdint.h>
#include <infer/status.h>
#include "arch/arch.h"
#include "kv/kv.h"

enum { PLACE_DEVICES = 1 }; /* no graph is cut yet */
struct place_ask {
	int32_t ctx; /* 0: the model's own, or what fits */
	int k_type, v_type;
	uint64_t kv_bytes;      /* budget; 0: enough for max_seqs sequences of ctx, or what fits */
	int32_t max_seqs;       /* sequences at once */
	int32_t rows, out;      /* most rows of a step, and most rows of logits */
	uint64_t address_bytes; /* address space that is left; UINT64_MAX: no limit */
	int n_devices;
	struct place_device {
		struct backend_device on;
		uint64_t memory_bytes; /* that may still be taken there */
	} devices[PLACE_DEVICES];
};
/* Layers [from, to) and the bytes that they take on their device; host: of the host, beside those. */
struct place_part {
	struct backend_device on;
	int from, to;
	uint64_t weights, workspace, kv, host;
};
struct place_plan {
	int32_t ctx;
	uint64_t kv_bytes;                      /* for kv_opts.bytes */
	struct place_part parts[PLACE_DEVICES]; /* all layers, in order */
	int n_parts;
	struct kv_group groups[KV_GROUPS];
	int n_groups;
	int *layers; /* storage the groups point into */
};
/* INFER_EINVAL  a field of ask is out of range, or the context is longer than the model's own RoPE
 *               scaling supports
 * INFER_ENOMEM  names the memory needed, the memory there is, and the nearest setting that fits
 * and the errors of the devices' need.  place_fini frees the plan. */
int place_solve(struct place_plan *out, const struct infer_model *m, const struct place_ask *ask,
                infer_error *err);
void place_fini(struct place_plan *p);
/* Where layers run: "cpu:0-31". */
void place_say(const struct place_plan *p, char *out, size_t n);
#endif
