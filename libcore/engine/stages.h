/* engine/stages.h (private) - a step over several devices in turn (pipeline stages): each runs its part of the
 * graph, and activations pass between them through host memory.  Confined to one thread at a time. */
#ifndef ENGINE_STAGES_H
#define ENGINE_STAGES_H
#include "backend/backend.h"
#include "kv/kv.h"
#include "place/place.h"

/* A device and its number of layers (place_device.layers). STAGES_FIT, for the first of two devices: the
 * fewest with which the others fit on the second. */
enum { STAGES_FIT = -1 };
struct stages_device {
	const struct backend_kind *kind;
	int number, layers; /* number: index among devices of its kind */
};
struct stage {
	struct backend_device on;
	struct backend_weights *weights;
	struct backend_plan *plan;
	struct backend_run *runs; /* [size.rows], with this device's groups; several devices only */
	const struct backend_kv *kv; /* the cache of this device */
	int first;                   /* its first KV group */
	int32_t nodes;               /* nodes in its part of the graph */
};
struct stages {
	struct stage at[KV_DEVICES];
	int n;
	float **edges; /* into edge_mem */
	unsigned char *edge_mem;
	/* progress of the step: the caller's watch; nodes in earlier stages, in this one, in all */
	const struct infer_watch *watch;
	int32_t before, here, nodes;
	/* progress of loading: `loading` is the caller's watch, `upload` the one given to a backend */
	struct infer_watch loading, upload;
	uint64_t loaded_bytes, load_bytes; /* loaded_bytes: of earlier stages; load_bytes: of all */
	/* receives the inputs of matrix products; fn NULL: off */
	struct backend_observer observer;
};
/* Open the devices, in the order of the layers.  loading (may be NULL) is called while weights are copied,
 * with the bytes copied and all bytes.  *s must not move.  INFER_EINVAL: too many devices; INFER_EDEVICE:
 * no such device; other errors as kind->open.  Call stages_close even if this or stages_make fails. */
int stages_open(struct stages *s, const struct stages_device *d, int n, const struct host *host,
                const struct infer_watch *loading, infer_error *err);
/* Load the weights and make the plans of a placement on these devices.  p and kv must outlive s. */
int stages_make(struct stages *s, const struct place_plan *p, const struct kv *kv,
                const struct backend_size *size, infer_error *err);
/* Like backend_compute, over all devices.  step->runs have the pages of all groups; step->kv is not read.
 * If there are several devices, the error names the one that failed. */
int stages_run(struct stages *s, const struct backend_step *step, struct backend_result *r,
               infer_error *err);
void stages_close(struct stages *s); /* a zeroed *s is fine */
#endif
