/* engine/batch.h (private) - a step of the engine: the rows of requests, what is wanted of each, and
 * what comes back. */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H
#include <infer/engine.h>
#include "backend/step.h"

struct request;

enum row_constraint { ROW_GOES_ON, ROW_COMPLETE, ROW_BROKEN };

/* One row of logits: the values to compute from it, and the result. */
struct row_job {
	struct request *r;
	const float *logits, *hidden; /* NULL: not fetched */
	float lse;                    /* ln sum exp of the logits */
	int has_lse;                  /* the device has computed it */
	/* [n_best] the tokens of the largest logits and these, where all were not fetched */
	const int32_t *best_ids;
	const float *best_logits;
	int32_t n_best;
	int32_t position; /* of the token that these logits are about */
	int draws, pools;
	/* drawn, or given: SCORE; -1: a guess before it was wrong, or no logits are wanted */
	int32_t token;
	float logprob;
	int constraint; /* with this token: enum row_constraint */
	size_t top_at;
	int32_t n_top; /* in the list of the events */
	infer_error err;
};

/* arrays sized at open */
struct step {
	struct backend_step s;
	int32_t *ids;             /* [max_rows] */
	struct backend_run *runs; /* [max_seqs] */
	int32_t *out;             /* [max_out] */
	uint8_t *want;            /* [max_out] enum backend_want */
	struct row_job *jobs;     /* [max_out] */
	/* [max_out] the first job of each group: the draws of a request come one after the other */
	int32_t *groups, n_groups;
	struct request **requests;              /* [max_seqs], one per run */
	int32_t logits_left;                    /* rows of logits for scores and guesses */
	int32_t n_decode, n_prefill, n_guesses; /* rows of guesses are in neither of the two */
};

/* batch.c */
void batch_begin(struct step *st, int32_t score_rows);
/* How many of `rows` fit into the step. */
int32_t batch_rows(const infer_engine *e, const struct request *r, int32_t rows);
void batch_add(infer_engine *e, struct request *r, int32_t rows);
int batch_run(infer_engine *e, infer_error *err); /* compute, then score and draw */
void batch_absorb(infer_engine *e);               /* turn the results into events */

/* score.c: one row of logits; any thread */
void score_row(const infer_engine *e, struct row_job *j, struct infer_top *top);
#endif
