/* backend/backend.h - where a graph runs.  One const row per kind in backend_list.h.
 *
 * A backend owns its memory: weights as it keeps them, pages of the cache, workspace.  No other
 * module reads or writes those bytes; what comes out of a step lies in memory of the host. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/watch.h>
#include "backend/host.h"
#include "backend/step.h"
#include "graph/graph.h"

/* A bound weight: n matrices (experts) of ne[1] rows of ne[0], each where it lies.  Immutable,
 * borrowed from the model; only load reads its bytes. */
struct weight {
	int type;              /* enum infer_type */
	int n;                 /* 1, or experts */
	int64_t ne[2];         /* ne[0] = k, ne[1] = rows; a vector has ne[1] = 1 */
	size_t row_bytes;      /* from one row to the next */
	float scale;           /* multiplies the product; 1 */
	const void *const *at; /* [n] */
	/* 1: the weight of a MOE node that the host computes, where its bytes lie, though all else is
	 * computed by a device.  The host's own backend ignores it. */
	int on_host;
};

/* Bytes of weights in the file, and of those that the host computes for a device. */
static inline uint64_t weights_bytes(const struct weight *w, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += (uint64_t)w[i].n * (uint64_t)w[i].ne[1] * w[i].row_bytes;
	return bytes;
}
static inline uint64_t weights_host_bytes(const struct weight *w, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += w[i].on_host ? weights_bytes(&w[i], 1) : 0;
	return bytes;
}

/* Layers whose K and V share pages of the cache.  A page holds the positions of one page (of the
 * kind: how many) of all of them; how they lie there is the backend's.  Of recurrent layers a page
 * holds the state behind the last of its positions that is computed: a step goes on from the page of
 * the position before, and leaves the state in each page that it passes and that is there. */
struct backend_group {
	int n_layers;
	const int *layers; /* of the model */
	int k_type, v_type, kv_heads, dk, dv;
	int64_t state; /* floats of a recurrent layer, K and V aside; 0: layers with K and V */
	int mla;       /* V is the first dv columns of K, and not stored; one KV head, one type */
};
/* Cosines and sines: cs(pos)[i] = cos, sin of pos * freq[i], both times mscale; f64 angles, rounded
 * once to f32.  freq [half]: radians a position. */
struct backend_rope {
	const double *freq;
	int half;
	double mscale;
};

/* What a plan is made of and for; all borrowed, and must outlive the plan. */
struct backend_model {
	const struct graph *graph;
	const struct weight *weights;
	int n_weights;
	const struct backend_rope *ropes;
	int n_ropes;
	const struct backend_group *groups; /* of the cache, for need */
	int n_groups;
};
/* the most rows of a step, the most rows that something is wanted of, the longest context */
struct backend_size {
	int32_t rows, out, ctx;
};
/* Bytes: of the device, but for the last. */
struct backend_need {
	uint64_t weights;                 /* 0: they are used where they lie */
	uint64_t workspace;               /* of a plan */
	uint64_t kv_page[BACKEND_GROUPS]; /* of a page of each group */
	uint64_t host;                    /* of the host, for a plan and a loaded set */
	uint64_t thread;                  /* of the workspace, of each worker */
};

struct backend_opts {
	int device; /* which of its kind, from 0 */
	/* called while a load copies weights, with the bytes copied and all bytes.  NULL: not called;
	 * borrowed, must outlive the backend */
	const struct infer_watch *loading;
};
struct backend;         /* a device that is open.  Confined, as are its parts: */
struct backend_weights; /* a loaded set */
struct backend_plan;    /* a graph made ready, with its workspace */
struct backend_kind {
	const char *name;
	int page;  /* positions of a page of the cache */
	int eager; /* 1: kv_new takes the memory of all its pages at once */
	int top;   /* most tokens of a row that wants TOP; 0: it refuses TOP */
	/* host: borrowed, must outlive *out.  INFER_EINVAL: no such device; INFER_ENOMEM */
	int (*open)(struct backend **out, const struct host *host, const struct backend_opts *o,
	            infer_error *err);
	void (*close)(struct backend *b); /* NULL is fine, as for all that frees */
	/* Write what the bits of a step depend on besides the kind: "sm_90", at most 7 characters.
	 * NULL, or an empty text: nothing. */
	void (*describe)(const struct backend *b, char *out, size_t n);
	/* Bytes of the device: what is left, and all. */
	void (*memory)(const struct backend *b, uint64_t *left, uint64_t *total);
	/* What the rest would take.  Reads no weight.  INFER_EUNSUP: what it has no way to compute
	 * or to keep in a cache, by name; INFER_ENOMEM */
	int (*need)(struct backend_need *need, struct backend *b, const struct backend_model *m,
	            const struct backend_size *size, infer_error *err);
	/* Take weights in.  w must outlive the set, and so must the bytes of w where need says 0,
	 * and of weights that are on_host; others are not read afterwards. */
	int (*load)(struct backend_weights **out, struct backend *b, const struct weight *w, int n,
	            infer_error *err);
	void (*unload)(struct backend_weights *w);
	/* Make the graph ready over a loaded set, which stands for m->weights and must outlive the
	 * plan.  Allocates all that steps need; errors as need. */
	int (*plan)(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
	            const struct backend_model *m, const struct backend_size *size,
	            infer_error *err);
	void (*plan_free)(struct backend_plan *p);
	/* Pages 0 ... n_pages - 1 for a group, which is not kept.  What a page holds before it is
	 * written does not matter; memory behind it is taken on first use. */
	int (*kv_new)(struct backend_cache **out, struct backend *b, const struct backend_group *g,
	              uint32_t n_pages, infer_error *err);
	/* The first n positions of page `to` become those of `from`.  No step runs; nor in drop. */
	void (*kv_copy)(struct backend_cache *c, uint32_t to, uint32_t from, int n);
	void (*kv_drop)(struct backend_cache *c, uint32_t page); /* its memory may be given back */
	/* A whole page to memory of the host, and from there: kv_page bytes.  NULL, both: it cannot. */
	void (*kv_save)(const struct backend_cache *c, void *to, uint32_t page);
	void (*kv_load)(struct backend_cache *c, uint32_t page, const void *from);
	void (*kv_free)(struct backend_cache *c);
	/* Begin a step, which stays as it is until end.  Between the two the caller may do work of
	 * its own that the logits wait for (masks of constraints).  One step at a time.
	 * INFER_EINVAL: the step contradicts itself or the plan; INFER_EUNSUP: a want, by name;
	 * nothing has begun. */
	int (*begin)(struct backend_plan *p, const struct backend_step *s, infer_error *err);
	/* Wait for the step.  What *r points to is borrowed until the next begin.  Allocates
	 * nothing.  The value of a row depends on its own sequence alone.  INFER_ECANCEL: the step
	 * was stopped. */
	int (*end)(struct backend_plan *p, struct backend_result *r, infer_error *err);
};
struct backend_device { /* one that is open */
	const struct backend_kind *kind;
	struct backend *b;
	char name[16]; /* in placements and errors; empty: the kind's */
};
const char *backend_name(const struct backend_device *d);
/* Put the device's name before the sentence of a failure.  Returns rc. */
int backend_blame(int rc, const struct backend_device *d, infer_error *err);
const struct backend_kind *backend_find(const char *name); /* NULL: not built in */
/* begin and end. */
int backend_compute(const struct backend_kind *kind, struct backend_plan *p,
                    const struct backend_step *s, struct backend_result *r, infer_error *err);
#endif
