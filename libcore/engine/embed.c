/* engine/embed.c - embedding of a prompt, pooled from the states of its tokens
 *
 * Sums are doubles in order of position, so that their bits do not depend on how the
 * prompt was divided. */
#include "engine/engine.h"
#include "base/err.h"
#include "base/rng.h"

#include <math.h>

static int check_model(const infer_engine *e, const struct infer_request *r, infer_error *err)
{
	const struct arch_hparam *h = &e->model->h;

	if (!r->embed && (h->bidirectional || h->n_ranks))
		return err_set(err, INFER_EUNSUP,
		               "the model %s, and generates nothing: architecture %s",
		               h->n_ranks ? "ranks texts" : "is an encoder", e->model->arch->gguf);
	if (r->embed == INFER_EMBED_RANK && !h->n_ranks)
		return err_set(err, INFER_EUNSUP, "the model has no head that ranks texts");
	if (r->second && (r->second < 0 || (size_t)r->second >= r->n_prompt || !h->bidirectional))
		return err_set(err, INFER_EINVAL,
		               "second is %d: must be less than the %zu tokens%s", (int)r->second,
		               r->n_prompt, h->bidirectional ? "" : ", and only with an encoder");
	return INFER_OK;
}

int embed_check(const infer_engine *e, const struct infer_request *r, infer_error *err)
{
	if (r->embed < INFER_EMBED_NONE || r->embed > INFER_EMBED_RANK)
		return err_set(err, INFER_EINVAL, "embed is %d: must be from 0 to %d", r->embed,
		               INFER_EMBED_RANK);
	TRY(check_model(e, r, err));
	if (!r->embed)
		return INFER_OK;
	if (!r->embedding)
		return err_set(err, INFER_EINVAL,
		               "an embedding is requested, but embedding is NULL");
	if (r->max_tokens)
		return err_set(err, INFER_EINVAL, "max_tokens is %d: an embedding has no tokens",
		               (int)r->max_tokens);
	if (r->flags & INFER_REQ_SCORE)
		return err_set(err, INFER_EINVAL, "an embedding and scores are requested together");
	return INFER_OK;
}

/* Return the floats of one row: scores, or a state. */
static int32_t result_width(const infer_engine *e, int embed)
{
	return embed == INFER_EMBED_RANK ? e->n_outputs : arch_width(e->model);
}

int embed_new(struct request *q, const infer_engine *e, const struct infer_request *r,
              infer_error *err)
{
	int32_t n = result_width(e, r->embed);
	int first = r->embed == INFER_EMBED_CLS ||
	            (r->embed == INFER_EMBED_RANK && e->model->h.bidirectional);

	q->pool = arena_alloc(&q->arena, (size_t)n, sizeof *q->pool);
	if (!q->pool)
		return err_set(err, INFER_ENOMEM, "no memory for an embedding of %d numbers",
		               (int)n);
	for (int32_t i = 0; i < n; i++)
		q->pool[i] = 0;
	q->embedding = r->embedding;
	q->embed = r->embed;
	q->scored = first || r->embed == INFER_EMBED_MEAN ? 1 : q->n_prompt;
	q->scored_end = first ? 2 : q->n_prompt + 1;
	q->states = q->scored_end - q->scored;
	return INFER_OK;
}

int embed_row(const infer_engine *e, struct request *r, const struct row_job *j, infer_error *err)
{
	int rank = r->embed == INFER_EMBED_RANK;
	int32_t n = result_width(e, r->embed);
	const float *x = rank ? j->logits : j->hidden;

	must(j->position == r->scored);
	for (int32_t i = 0; i < n; i++) {
		if (!isfinite(x[i]))
			return err_set(err, INFER_ENAN, "the state of position %d is %g at %d",
			               (int)j->position - 1, (double)x[i], (int)i);
		r->pool[i] += (double)x[i];
	}
	if (++r->scored < r->scored_end)
		return INFER_OK;
	if (rank) { /* the logit of the first of two scores */
		r->pool[0] -= n > 1 ? r->pool[1] : 0;
		n = 1;
	}
	for (int32_t i = 0; i < n; i++)
		r->embedding[i] = (float)(r->pool[i] / r->states);
	r->digest = rng_hash(r->digest, r->embedding, (size_t)n * sizeof *r->embedding);
	return INFER_OK;
}
