/* backend/step.h - input and output of a step on one device: rows, KV cache, results. */
#ifndef BACKEND_STEP_H
#define BACKEND_STEP_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <infer/watch.h>
#include "backend/adapter.h"

enum { BACKEND_GROUPS = 4 };
struct backend_cache; /* the pages of one group */

/* The KV cache of a step: KV_PUT writes it, ATTN reads it. */
struct backend_kv_layer {
	int group, index; /* index: in backend_group.layers; undefined for other devices' layers */
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
	int32_t pos;    /* position of the first row */
	int32_t second; /* position of the first token of segment 1; 0: all are of segment 0 */
	/* [group][position / page] block tables; BACKEND_NO_PAGE: the page left the window */
	const uint32_t *const *pages;
	/* [n_uses] the adapters of its rows.  At most one of them replaces a weight.  The sum of their
	 * max_rank is at most backend_size.rank */
	const struct backend_use *uses;
	int32_t n_uses;
};
/* Called after a product with the rows that a matrix of `weight` was multiplied by: see
 * infer/observe.h. */
struct backend_observer {
	void (*fn)(void *user, int32_t weight, int32_t matrix, const float *x, size_t ld,
	           const int32_t *at, int32_t n, int32_t k);
	void *user;
};
/* The result that an output row asks for.  TOP: the tokens with the largest logits; all logits of
 * the row are given only if their log-sum-exp is not finite. */
enum backend_want { BACKEND_LOGITS, BACKEND_TOP, BACKEND_HIDDEN };
struct backend_step {
	int32_t n, n_out, n_runs;
	const int32_t *ids;             /* [n] token ids */
	const struct backend_run *runs; /* [n_runs], they cover all rows in order */
	const int32_t *out;             /* [n_out] output rows, ascending */
	const struct backend_kv *kv;
	const atomic_int *stop; /* nonzero: end soon with INFER_ECANCEL. NULL: never */
	const uint8_t *want;    /* [n_out] enum backend_want; NULL: all LOGITS */
	int32_t top;            /* tokens of each TOP row, 1 to backend_kind.top */
	/* called during the step with the approximate share of work done; NULL: not called */
	const struct infer_watch *watch;
	const struct backend_observer *observer; /* NULL: none.  CPU backend only */
	/* [edge] buffers of RECV and SEND: f32 [rows][cols] in host memory, 64-aligned. A SEND has
	 * written its buffer when the step ends */
	float *const *edges;
};
struct backend_result {
	/* [n_out][n_vocab].  NULL if n_out is 0, the graph has no output, or all rows are HIDDEN */
	const float *logits;
	/* [n_out] log-sum-exp of each row of logits; NULL: not computed */
	const float *lse;
	/* [n_out][top] tokens of TOP rows, and their logits: descending, equal logits by
	 * ascending id, padded with id -1 and logit -inf.  top >= backend_step.top */
	const int32_t *top_ids;
	const float *top_logits;
	int32_t top;
	/* [n_out][cols of graph.hidden].  NULL if n_out is 0 or the graph has no hidden states; may
	 * be NULL if no row is HIDDEN */
	const float *hidden;
};
#endif
