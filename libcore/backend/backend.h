/* backend/backend.h - where a graph runs.  One const row per kind in backend_list.h. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "graph/graph.h"

/* A bound weight: n matrices (experts) of ne[1] rows of ne[0], each where it lies.  Immutable,
 * borrowed from the model. */
struct weight {
	int type;              /* enum infer_type */
	int n;                 /* 1, or experts */
	int64_t ne[2];         /* ne[0] = k, ne[1] = rows; a vector has ne[1] = 1 */
	size_t row_bytes;      /* from one row to the next */
	float scale;           /* multiplies the product; 1 */
	const void *const *at; /* [n] */
};

/* The cache as a step sees it: pages of KERN_PAGE positions.  Written by ops KV_PUT, read by ATTN.
 * A page of a group holds, for each of its layers, K then V, each [kv head] of what kern/kv.h
 * draws. */
struct backend_kv_layer {
	int group, k_type, v_type, kv_heads, dk, dv;
	size_t k_offset, v_offset; /* in a page */
};
struct backend_kv_group {
	unsigned char *base;
	size_t page_bytes;
};
struct backend_kv {
	const struct backend_kv_layer *layers; /* by layer of the model */
	const struct backend_kv_group *groups;
	int n_layers, n_groups;
};
#define BACKEND_NO_PAGE UINT32_MAX

/* Rows of one sequence, consecutive in the step and in position. */
struct backend_run {
	int32_t row, n; /* rows [row, row + n) of the step */
	int32_t pos;    /* position of the first */
	/* [group][position / KERN_PAGE]: a page, BACKEND_NO_PAGE where a window let it go */
	const uint32_t *const *pages;
};
struct backend_step {
	int32_t n, n_out, n_runs;
	const int32_t *ids;             /* [n] */
	const struct backend_run *runs; /* [n_runs], cover all rows in order */
	const int32_t *out;             /* [n_out], ascending rows that want logits */
	const struct backend_kv *kv;
	const atomic_int *stop; /* NULL; not 0: INFER_ECANCEL soon, the step is void */
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
};
/* the most rows of a step, the most rows of logits, the longest context */
struct backend_size {
	int32_t rows, out, ctx;
};

/* threads >= 1; isa NULL: all */
struct backend_opts {
	int threads;
	const char *isa;
};
struct backend;      /* a device that is open: its pool, its kernel table.  Confined */
struct backend_plan; /* a graph made ready on it, with its workspace.  Confined */
struct backend_kind {
	const char *name;
	/* INFER_EINVAL: threads; INFER_EUNSUP: isa; INFER_ENOMEM, INFER_EIO */
	int (*open)(struct backend **out, const struct backend_opts *o, infer_error *err);
	void (*close)(struct backend *b);
	/* Bytes that plan would allocate.  INFER_EUNSUP: an op or type it has no way to compute, by
	 * name. */
	int (*need)(size_t *bytes, struct backend *b, const struct backend_model *m,
	            const struct backend_size *size, infer_error *err);
	/* Make the graph ready.  Allocates all that run needs, touches none of it; errors as need,
	 * and INFER_ENOMEM. */
	int (*plan)(struct backend_plan **out, struct backend *b, const struct backend_model *m,
	            const struct backend_size *size, infer_error *err);
	void (*plan_free)(struct backend_plan *p);
	/* Begin a step, which stays as it is until end.  Between the two the caller may do work of
	 * its own that the logits wait for (masks of constraints).  One step at a time.
	 * INFER_EINVAL: the step contradicts itself or the plan; nothing has begun. */
	int (*begin)(struct backend_plan *p, const struct backend_step *s, infer_error *err);
	/* Wait for the step.  *logits is f32 [n_out][n_vocab] in host memory, borrowed until the
	 * next begin; NULL where n_out is 0.  Allocates nothing.  The value of a row depends on its
	 * own sequence alone.  INFER_ECANCEL: the step was stopped. */
	int (*end)(struct backend_plan *p, const float **logits, infer_error *err);
	size_t (*plan_bytes)(const struct backend_plan *p);
	void (*describe)(const struct backend *b, char *out, size_t n); /* kernel set: "ref+avx2" */
	int (*threads)(const struct backend *b);
	const struct kern *(*kern)(const struct backend *b); /* the host's table; never NULL */
	struct pool *(*pool)(const struct backend *b); /* the host's, between runs; never NULL */
};
const struct backend_kind *backend_find(const char *name); /* NULL: not built in */
/* begin and end. */
int backend_compute(const struct backend_kind *kind, struct backend_plan *p,
                    const struct backend_step *s, const float **logits, infer_error *err);
const struct backend_kind *backend_at(int i); /* row of backend_list.h; NULL past the end */
#endif
