/* backend/step.h - a step as one device sees it: rows, the groups of the cache that lie there, and
 * what comes out. */
#ifndef BACKEND_STEP_H
#define BACKEND_STEP_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <infer/watch.h>

enum { BACKEND_GROUPS = 4 };
struct backend_cache; /* the pages of one group */

/* The cache as a step sees it.  Written by ops KV_PUT, read by ATTN. */
struct backend_kv_layer {
	int group, index; /* index: in layers of the group; of a layer elsewhere nothing is said */
};
struct backend_kv {
	const struct backend_kv_layer *layers; /* by layer of the model */
	struct backend_cache *const *caches;   /* by group */
	int n_layers, n_groups;
};
#define BACKEND_NO_PAGE UINT32_MAX

/* Rows of one sequence, consecutive in the step and in position. */
struct backend_run {
	int32_t row, n; /* rows [row, row + n) of the step */
	int32_t pos;    /* position of the first */
	int32_t second; /* position where the second part of the text begins; 0: it has one part */
	/* [group][position / page]: a page, BACKEND_NO_PAGE where a window let it go */
	const uint32_t *const *pages;
};
/* Shown the rows that a product has multiplied with a matrix of a weight: infer/observe.h. */
struct backend_observer {
	void (*fn)(void *user, int32_t weight, int32_t matrix, const float *x, size_t ld,
	           const int32_t *at, int32_t n, int32_t k);
	void *user;
};
/* What is wanted of a row.  TOP: the tokens with the largest logits, and all its logits only where
 * their lse is not finite. */
enum backend_want { BACKEND_LOGITS, BACKEND_TOP, BACKEND_HIDDEN };
struct backend_step {
	int32_t n, n_out, n_runs;
	const int32_t *ids;             /* [n] */
	const struct backend_run *runs; /* [n_runs], cover all rows in order */
	const int32_t *out;             /* [n_out], ascending rows of which something is wanted */
	const struct backend_kv *kv;
	const atomic_int *stop; /* NULL; not 0: INFER_ECANCEL soon, the step is void */
	const uint8_t *want;    /* [n_out] enum backend_want; NULL: LOGITS of all */
	int32_t top;            /* tokens of each row that wants TOP, from 1 to the kind's top */
	/* NULL, or told between the parts of the step how much of its work is done, about */
	const struct infer_watch *watch;
	const struct backend_observer *observer; /* NULL: none; the host's processors only */
	/* by edge, for RECV and SEND: f32 [rows][cols], memory of the host, 64-aligned; what was
	 * sent is there when the step ends */
	float *const *edges;
};
struct backend_result {
	/* [n_out][n_vocab]; NULL where n_out is 0 or the graph has no output, and where all rows
	 * want HIDDEN */
	const float *logits;
	/* [n_out] ln sum exp of each row of logits; NULL: not computed */
	const float *lse;
	/* [n_out][top]: the tokens of rows that want TOP and their logits, descending, equal ones by
	 * id; past the vocabulary id -1 and logit -inf.  top is at least the step's */
	const int32_t *top_ids;
	const float *top_logits;
	int32_t top;
	/* [n_out][columns of the graph's hidden]; NULL if n_out is 0 or the graph has none, and a
	 * device may leave it NULL if no row wants HIDDEN */
	const float *hidden;
};
#endif
