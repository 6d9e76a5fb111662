/* place/place.h - placement: the layers of each device, and the context and cache sizes that fit.
 * Pure functions of hyper-parameters, capacities and a budget. */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H
#include "arch/arch.h"
#include "graph/split.h"
#include "kv/kv.h"

struct place_ask {
	int32_t ctx; /* 0: the model's own, or the largest that fits */
	int k_type, v_type;
	uint64_t kv_bytes; /* budget of the cache; 0: max_seqs sequences of ctx, or all that fits */
	int32_t max_seqs;  /* sequences at once */
	int32_t rows, out; /* rows: most of a step; out: most with logits */
	int32_t rank;      /* of the adapters of a run, or 0 */
	uint64_t address_bytes; /* address space left; UINT64_MAX: no limit */
	int n_devices; /* the first also gets the embedding, the last the remaining layers and the output */
	struct place_device {
		struct backend_device on;
		uint64_t memory_bytes; /* free on the device */
		int layers;            /* unused for the last device; only the first may have 0 */
		int host_experts;      /* 1: the host computes the experts of its layers */
	} devices[KV_DEVICES];
};
/* Layers [from, to) and the bytes that they need on their device; host: bytes on the host in
 * addition. */
struct place_part {
	struct backend_device on;
	struct backend_model model; /* the part of the graph; its groups are those of the plan */
	int from, to, n_groups;
	int host_experts; /* 1: these layers have experts, and the host computes them */
	uint64_t weights, workspace, kv, host, thread; /* thread: workspace of each worker */
};
struct place_plan {
	int32_t ctx;
	uint64_t kv_bytes;                   /* cache budget of all parts */
	struct place_part parts[KV_DEVICES]; /* one per device, in order of the layers */
	int n_parts;
	struct kv_group groups[KV_GROUPS];
	int n_groups;
	struct graph_split split; /* used if there are several parts */
	size_t edge_bytes;        /* host memory for activations between the parts */
	int *layers;              /* arrays that the groups and parts point to */
	struct weight *weights;
};
/* Place a model; free the plan with place_fini.
 * INFER_EINVAL: a field of ask is out of range.
 * INFER_ENOMEM: names the memory needed, the memory available, and the nearest setting that fits.
 * Also the errors of the devices' need; with several devices they name the device. */
int place_solve(struct place_plan *out, const struct infer_model *m, const struct place_ask *ask,
                infer_error *err);
void place_fini(struct place_plan *p);
/* For two devices, set ask->devices[0].layers to the fewest layers (at least 1) for which the
 * remaining ones fit on the second device with a context of ask->ctx (0: ctx_least). INFER_ENOMEM:
 * not even one fits there; other errors as place_solve. */
int place_fit(struct place_ask *ask, const struct infer_model *m, int32_t ctx_least,
              infer_error *err);
/* Describe the placement: "cpu:0-31"; "cpu:0-7,cuda:8-31"; "cuda:0-31+cpu-experts". */
void place_say(const struct place_plan *p, char *out, size_t n);
#endif
