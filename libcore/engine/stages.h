/* engine/stages.h (private) - a step over the devices of a placement, one after the other: each runs
 * its part of the graph, and what crosses lies in memory of the host between them.  Confined. */
#ifndef ENGINE_STAGES_H
#define ENGINE_STAGES_H
#include "backend/backend.h"
#include "kv/kv.h"
#include "place/place.h"

/* A device that an engine is to use, and how many layers are its own: place_device.layers. */
/* As layers of the first of two devices: the fewest, so that the others fit on the second. */
enum { STAGES_FIT = -1 };
struct stages_device {
	const struct backend_kind *kind;
	int number, layers; /* number: which of its kind */
};
struct stage {
	struct backend_device on;
	struct backend_weights *weights;
	struct backend_plan *plan;
	struct backend_run *runs;    /* of several: [size.rows] with this device's groups */
	const struct backend_kv *kv; /* as it sees the cache */
	int first;                   /* of its groups */
	int32_t nodes;               /* of its part of the graph */
};
struct stages {
	struct stage at[KV_DEVICES];
	int n;
	float **edges; /* into edge_mem */
	unsigned char *edge_mem;
	/* of the step that runs: who watches all of it; nodes of the stages before this one, of this
	 * one, of all */
	const struct infer_watch *watch;
	int32_t before, here, nodes;
	/* of the weights that are loaded: who watches; bytes of the stages before this one, of all */
	struct infer_watch loading, upload; /* upload: of one stage, for its backend */
	uint64_t loaded_bytes, load_bytes;
	/* shown the inputs of products, by weights of the model; fn NULL: nobody */
	struct backend_observer observer;
};
/* Open the devices, in the order of the layers.  loading: called while weights are copied, with the
 * bytes copied and all bytes; NULL: not called.  *s must not move.  INFER_EINVAL: too many devices;
 * INFER_EDEVICE: there is no such device; other errors as kind->open.
 * However this and stages_make end, stages_close it. */
int stages_open(struct stages *s, const struct stages_device *d, int n, const struct host *host,
                const struct infer_watch *loading, infer_error *err);
/* Load the weights and make the plans of a placement on these devices; p and kv must outlive s. */
int stages_make(struct stages *s, const struct place_plan *p, const struct kv *kv,
                const struct backend_size *size, infer_error *err);
/* As backend_compute, of all devices; step->runs have the pages of all groups, step->kv is not
 * read.  Of several devices a failure names the one. */
int stages_run(struct stages *s, const struct backend_step *step, struct backend_result *r,
               infer_error *err);
void stages_close(struct stages *s); /* a zeroed *s is fine */
#endif
