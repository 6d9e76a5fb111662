/* engine/batch.h (private) - one step of the engine: the rows of requests, the results to compute from
 * each, and these results. */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H
#include <infer/engine.h>
#include "backend/step.h"

struct request;

/* Grammar state after a row's token: the text may continue, is complete, or the grammar failed. */
enum row_constraint { ROW_GOES_ON, ROW_COMPLETE, ROW_BROKEN };

/* One row of logits: the results to compute from it, and the results. */
struct row_job {
	struct request *r;
	const float *logits, *hidden; /* results of the row; NULL: not fetched */
	float lse;                    /* ln sum exp of the logits */
	int has_lse;                  /* lse is set: the device computed it */
	/* [n_best] the largest logits and their tokens, if not all logits were fetched */
	const int32_t *best_ids;
	const float *best_logits;
	int32_t n_best;
	int32_t position; /* position of the token that the logits predict */
	int draws, pools; /* draw a token; add the state to an embedding; neither: score */
	/* drawn, or scored; -1: none, because an earlier guess was wrong or the row pools */
	int32_t token;
	float logprob;
	int constraint; /* enum row_constraint after this token */
	size_t top_at;
	int32_t n_top; /* alternatives: events.tops[top_at] and on */
	infer_error err;
};

/* One step; its arrays are allocated at open. */
struct step {
	struct backend_step s;
	int32_t *ids;             /* [max_rows] token ids */
	struct backend_run *runs; /* [max_seqs] */
	int32_t *out;             /* [max_out] */
	uint8_t *want;            /* [max_out] enum backend_want */
	struct row_job *jobs;     /* [max_out] */
	/* [max_out] first job of each group; the draws of a request are one group, done in order */
	int32_t *groups, n_groups;
	struct request **requests;              /* [max_seqs], one per run */
	int32_t logits_left;                    /* rows of logits left for scores and guesses */
	int32_t n_decode, n_prefill, n_guesses; /* rows; n_guesses are in neither of the others */
};

/* batch.c */
void batch_begin(struct step *st, int32_t score_rows);
/* Return how many of `rows` more rows of r fit into the step. */
int32_t batch_rows(const infer_engine *e, const struct request *r, int32_t rows);
void batch_add(infer_engine *e, struct request *r, int32_t rows);
int batch_run(infer_engine *e, infer_error *err); /* compute the step, then score and draw */
void batch_absorb(infer_engine *e);               /* commit the rows; results become events */

/* score.c: score one row of logits and draw its token; any thread */
void score_row(const infer_engine *e, struct row_job *j, struct infer_top *top);
#endif
