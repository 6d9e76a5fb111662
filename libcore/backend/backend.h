/* backend/backend.h - backends run a graph on a device.  backend_list.h lists the kinds.
 *
 * A backend owns the memory of its device: loaded weights, pages of the KV cache, workspaces.  No
 * other module reads or writes it.  The results of a step are in host memory. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/watch.h>
#include "backend/host.h"
#include "backend/step.h"
#include "graph/graph.h"

/* A bound weight: n matrices (experts) of ne[1] rows and ne[0] columns.  Immutable, borrowed from
 * the model.  Only load reads its bytes. */
struct weight {
	int type;              /* enum infer_type */
	int n;                 /* 1, or the number of experts */
	int64_t ne[2];         /* ne[0] = k, ne[1] = rows; a vector has ne[1] = 1 */
	size_t row_bytes;      /* bytes from one row to the next */
	float scale;           /* factor of the product, usually 1 */
	const void *const *at; /* [n] the data of each matrix */
	/* 1: experts that the CPU computes from host memory while a GPU computes the rest of the
	 * graph.  The CPU backend ignores it. */
	int on_host;
};

/* Return the size in the file of n weights: of all, or of those that are on_host. */
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

/* A group of layers that share pages of the KV cache.  A page stores K and V of all layers of the
 * group for backend_kind.page consecutive positions, in a layout of the backend's own.  For
 * recurrent layers a page stores their states after its last computed position: a run reads the
 * state from the page of the position before it, and writes the state to each existing page that it
 * passes. */
struct backend_group {
	int n_layers;
	const int *layers; /* layer numbers of the model */
	int k_type, v_type, kv_heads, dk, dv;
	int64_t state; /* floats of the state of a recurrent layer; 0: layers with K and V */
	int mla; /* 1: V is the first dv columns of K and is not stored; one KV head, one type */
};
/* A RoPE table: cs(pos)[i] = cos and sin of pos * freq[i], both times mscale.  Angles are f64;
 * results are rounded once to f32.  freq [half], radians per position. */
struct backend_rope {
	const double *freq;
	int half;
	double mscale;
};

/* Input of a plan.  All pointers are borrowed and must outlive the plan. */
struct backend_model {
	const struct graph *graph;
	const struct weight *weights;
	int n_weights;
	const struct backend_rope *ropes;
	int n_ropes;
	const struct backend_group *groups; /* groups of the KV cache; only `need` reads them */
	int n_groups;
};
/* Limits of a step: rows, output rows, and positions of a context.  rank: the largest sum of
 * max_rank over the adapters of a run; 0: runs have no adapters.  A kind that cannot apply adapters refuses
 * another rank than 0 with INFER_EUNSUP. */
struct backend_size {
	int32_t rows, out, ctx, rank;
};
/* Bytes that a model needs, in memory of the device, except for `host`. */
struct backend_need {
	uint64_t weights;                 /* 0: weights are used in place */
	uint64_t workspace;               /* of a plan */
	uint64_t kv_page[BACKEND_GROUPS]; /* [group] one page */
	uint64_t host;                    /* host memory for a plan and loaded weights */
	uint64_t thread;                  /* part of workspace: scratch of one worker */
};

struct backend_opts {
	int device; /* number of the device among those of its kind, from 0 */
	/* Called while load copies weights, with the bytes copied so far and in all.  NULL: not
	 * called. Borrowed, must outlive the backend. */
	const struct infer_watch *loading;
};
struct backend;         /* an open device.  Confined to one thread, as are its parts: */
struct backend_weights; /* a set of loaded weights */
struct backend_plan;    /* a graph prepared for steps, with its workspace */
struct backend_kind {
	const char *name;
	int page;  /* positions in a page of the KV cache */
	int eager; /* 1: kv_new allocates all pages; 0: pages take memory on first use */
	int top;   /* largest backend_step.top; 0: BACKEND_TOP is refused */
	/* Open device o->device.  host: borrowed, must outlive *out.  INFER_EINVAL: no such device;
	 * INFER_ENOMEM, INFER_EDEVICE */
	int (*open)(struct backend **out, const struct host *host, const struct backend_opts *o,
	            infer_error *err);
	void (*close)(struct backend *b); /* accepts NULL, like every function here that frees */
	/* Write the device property that results depend on bit by bit, as "sm_90", in at most 7
	 * characters; an empty text: there is none. */
	void (*describe)(const struct backend *b, char *out, size_t n);
	/* Set *left and *total to the free and the whole memory of the device, in bytes. */
	void (*memory)(const struct backend *b, uint64_t *left, uint64_t *total);
	/* Compute the bytes that load, plan and kv_new would need for m.  Reads no weights.
	 * INFER_EUNSUP names an operation, a type or a cache that is not supported; INFER_ENOMEM */
	int (*need)(struct backend_need *need, struct backend *b, const struct backend_model *m,
	            const struct backend_size *size, infer_error *err);
	/* Load n weights.  w must outlive the set, and so must the bytes of weights that are
	 * on_host, or of all weights if need.weights is 0.  Other bytes are not read after load. */
	int (*load)(struct backend_weights **out, struct backend *b, const struct weight *w, int n,
	            infer_error *err);
	void (*unload)(struct backend_weights *w);
	/* Prepare the graph for steps with the loaded set w in place of m->weights; w must outlive
	 * the plan.  Allocates all memory that steps need.  Errors as of need. */
	int (*plan)(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
	            const struct backend_model *m, const struct backend_size *size,
	            infer_error *err);
	void (*plan_free)(struct backend_plan *p);
	/* Create pages 0 ... n_pages - 1 of a group. g need not outlive the call. The contents of a
	 * page are undefined until a step writes them. */
	int (*kv_new)(struct backend_cache **out, struct backend *b, const struct backend_group *g,
	              uint32_t n_pages, infer_error *err);
	/* Copy the first n positions of page `from` to page `to`.  Like kv_drop, not during a
	 * step. */
	void (*kv_copy)(struct backend_cache *c, uint32_t to, uint32_t from, int n);
	void (*kv_drop)(struct backend_cache *c, uint32_t page); /* may free the page's memory */
	/* Copy a whole page (backend_need.kv_page bytes) to or from host memory. Both NULL: not
	 * supported. */
	void (*kv_save)(const struct backend_cache *c, void *to, uint32_t page);
	void (*kv_load)(struct backend_cache *c, uint32_t page, const void *from);
	void (*kv_free)(struct backend_cache *c);
	/* Start a step.  s must not change until end.  The caller may do other work between begin
	 * and end (grammar masks).  One step at a time.  INFER_EINVAL: the step contradicts itself
	 * or the plan; INFER_EUNSUP names an output in s->want that is not supported.  After an
	 * error no step is running. */
	int (*begin)(struct backend_plan *p, const struct backend_step *s, infer_error *err);
	/* Wait for the step.  The arrays of *r are borrowed until the next begin.  Allocates
	 * nothing. The results of a row depend only on its own sequence.  INFER_ECANCEL: *s->stop
	 * was set. */
	int (*end)(struct backend_plan *p, struct backend_result *r, infer_error *err);
};
struct backend_device { /* an open device with its name */
	const struct backend_kind *kind;
	struct backend *b;
	char name[16]; /* for placements and messages; empty: the name of the kind */
};
/* Return d->name or, if that is empty, the name of the kind. */
const char *backend_name(const struct backend_device *d);
/* If rc is an error, put the name of the device before the message in err.  Returns rc. */
int backend_blame(int rc, const struct backend_device *d, infer_error *err);
const struct backend_kind *backend_find(const char *name); /* NULL: not in this build */
/* Call begin and end. */
int backend_compute(const struct backend_kind *kind, struct backend_plan *p,
                    const struct backend_step *s, struct backend_result *r, infer_error *err);
#endif
