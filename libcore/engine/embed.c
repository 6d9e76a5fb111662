/* engine/embed.c - the vector of a prompt, made of the states of its tokens
 *
 * Sums are of doubles in the order of the positions, so that their bits do not depend on how the
 * prompt was divided. */
#include "engine/engine.h"
#include "base/err.h"
#include "base/rng.h"

#include <math.h>

int embed_check(const struct infer_request *r, infer_error *err)
{
	if (r->embed < INFER_EMBED_NONE || r->embed > INFER_EMBED_CLS)
		return err_set(err, INFER_EINVAL, "embed is %d: from 0 to %d", r->embed,
		               INFER_EMBED_CLS);
	if (!r->embed)
		return INFER_OK;
	if (!r->embedding)
		return err_set(err, INFER_EINVAL, "an embedding without memory for it");
	if (r->max_tokens)
		return err_set(err, INFER_EINVAL, "max_tokens is %d: an embedding has no tokens",
		               (int)r->max_tokens);
	if (r->flags & INFER_REQ_SCORE)
		return err_set(err, INFER_EINVAL, "an embedding and scores in one request");
	return INFER_OK;
}

int embed_new(struct request *q, const infer_engine *e, const struct infer_request *r,
              infer_error *err)
{
	int32_t n = e->model->h.n_embd;

	q->pool = arena_alloc(&q->arena, (size_t)n, sizeof *q->pool);
	if (!q->pool)
		return err_set(err, INFER_ENOMEM, "no memory for an embedding of %d numbers",
		               (int)n);
	for (int32_t i = 0; i < n; i++)
		q->pool[i] = 0;
	q->embedding = r->embedding;
	q->scored = r->embed == INFER_EMBED_LAST ? q->n_prompt : 1;
	q->scored_end = r->embed == INFER_EMBED_CLS ? 2 : q->n_prompt + 1;
	q->states = q->scored_end - q->scored;
	return INFER_OK;
}

int embed_row(struct request *r, const struct row_job *j, int32_t n_embd, infer_error *err)
{
	must(j->position == r->scored);
	for (int32_t i = 0; i < n_embd; i++) {
		if (!isfinite(j->hidden[i]))
			return err_set(err, INFER_ENAN, "the state of position %d is %g at %d",
			               (int)j->position - 1, (double)j->hidden[i], (int)i);
		r->pool[i] += (double)j->hidden[i];
	}
	if (++r->scored < r->scored_end)
		return INFER_OK;
	for (int32_t i = 0; i < n_embd; i++)
		r->embedding[i] = (float)(r->pool[i] / r->states);
	r->digest = rng_hash(r->digest, r->embedding, (size_t)n_embd * sizeof *r->embedding);
	return INFER_OK;
}
