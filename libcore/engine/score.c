/* engine/score.c - log-probabilities and alternatives of one row of logits, and the draw from it */
#include "engine/engine.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmath.h"
#include "sample/best.h"

#include <math.h>

/* Store the n largest logits in descending order, equal ones by id, as log-probabilities. */
static void pick_top(struct infer_top *top, int32_t n, const float *logits, int32_t n_vocab,
                     float lse)
{
	int32_t have = 0, i;

	for (int32_t t = 0; n && t < n_vocab; t++) {
		if (have == n && !(logits[t] > top[n - 1].logprob))
			continue;
		for (i = have < n ? have++ : n - 1; i > 0 && logits[t] > top[i - 1].logprob; i--)
			top[i] = top[i - 1];
		top[i] = (struct infer_top){ t, logits[t] };
	}
	for (i = 0; i < have; i++)
		top[i].logprob -= lse;
}

/* Like pick_top, from the best tokens of the device, which are already sorted. */
static void copy_top(struct infer_top *top, int32_t n, const struct row_job *j)
{
	for (int32_t i = 0; i < n; i++)
		top[i] = (struct infer_top){ j->best_ids[i], j->best_logits[i] - j->lse };
}

static float logit_of(const struct row_job *j, int32_t token)
{
	int32_t i = 0;

	if (j->logits)
		return j->logits[token];
	while (j->best_ids[i] != token)
		i++;
	return j->best_logits[i];
}

static void set_nan_error(struct row_job *j, int32_t n_vocab)
{
	int32_t t = 0;

	while (t < n_vocab && !isnan(j->logits[t]) && j->logits[t] != INFINITY)
		t++;
	if (t < n_vocab)
		err_set(&j->err, INFER_ENAN, "the logit of token %d at position %d is %g", (int)t,
		        (int)j->position, (double)j->logits[t]);
	else
		err_set(&j->err, INFER_ENAN, "no logit at position %d is finite", (int)j->position);
}

/* Draw the token of a row. A grammar state advances at once, because the next draw may be in the same
 * step. One thread makes all draws of a request. */
static int draw_token(const infer_engine *e, struct row_job *j)
{
	struct grammar_state *f = j->r->grammar_state;
	int64_t from = f ? clock_now_ns() : 0;
	if (!j->logits)
		return sampler_draw_best(j->r->sampler, j->best_ids, j->best_logits, j->n_best,
		                         (uint64_t)j->position, &j->token, &j->err);
	const uint64_t *allowed = f ? grammar_state_allowed(f, &j->err) : NULL;

	if (f && !allowed)
		return j->err.code;
	if (j->position - j->r->n_prompt < j->r->stop.least)
		allowed = stop_others(&j->r->stop, allowed, e->n_vocab);
	j->r->usage.constraint_ns += f ? clock_now_ns() - from : 0;
	TRY(infer_sampler_draw(j->r->sampler, j->logits, allowed, (uint64_t)j->position, &j->token,
	                       &j->err));
	if (!f)
		return INFER_OK;
	from = clock_now_ns();
	grammar_state_accept(f, j->token);
	grammar_state_look_up(f);
	j->r->usage.constraint_ns += clock_now_ns() - from;
	j->constraint = grammar_state_error(f)      ? ROW_BROKEN
	                : grammar_state_complete(f) ? ROW_COMPLETE
	                                            : ROW_GOES_ON;
	return INFER_OK;
}

/* Set logprob and alternatives to the distribution after the sampler's stages, not the model's. */
static void report_after_sampling(struct row_job *j, struct infer_top *top)
{
	struct infer_candidate left[INFER_MAX_TOP];
	float p;

	j->n_top = infer_sampler_candidates(j->r->sampler, left, j->n_top, &p);
	j->logprob = fm_logf(p);
	for (int32_t i = 0; i < j->n_top; i++)
		top[i] = (struct infer_top){ left[i].token, fm_logf(left[i].p) };
}

void score_row(const infer_engine *e, struct row_job *j, struct infer_top *top)
{
	if (!j->has_lse)
		e->host.kern.lse(&j->lse, j->logits, e->n_vocab);
	if (!isfinite(j->lse)) {
		set_nan_error(j, e->n_vocab);
		return;
	}
	if (j->draws && draw_token(e, j))
		return;
	if (j->draws && j->r->flags & INFER_REQ_AFTER) {
		report_after_sampling(j, top);
		return;
	}
	j->logprob = logit_of(j, j->token) - j->lse;
	if (!isfinite(j->logprob)) { /* no record can represent it */
		err_set(&j->err, INFER_ENAN, "the log-probability of token %d at position %d is %g",
		        (int)j->token, (int)j->position, (double)j->logprob);
		return;
	}
	if (j->logits)
		pick_top(top, j->n_top, j->logits, e->n_vocab, j->lse);
	else
		copy_top(top, j->n_top, j);
}
