/* One token out of one row of logits: bias, stages, draw. */
#include <math.h>
#include "base/err.h"
#include "base/rng.h"
#include "sample/sample.h"

static int gather(struct infer_sampler *s, const float *logits, infer_error *err)
{
	struct cands *c = &s->c;
	int32_t n = 0, nan = 0;

	for (int32_t i = 0; i < s->n_vocab; i++) {
		float l = logits[i];
		if (l == INFINITY)
			return err_set(err, INFER_ENAN, "the logit of token %d is infinite", (int)i);
		nan += isnan(l) != 0;
		if (l > -INFINITY)               /* NaN compares false */
			c->at[n++] = (struct cand){ .id = i, .logit = l };
	}
	c->n = n;
	c->sorted = c->soft = 0;
	if (n)
		return INFER_OK;
	if (nan)
		return err_set(err, INFER_ENAN, "no logit is a number: %d of %d are NaN", (int)nan, (int)s->n_vocab);
	return err_set(err, INFER_EEMPTY, "no token is left to choose from");
}

static int32_t pick(struct infer_sampler *s, struct cands *c)
{
	double sum = 0, at = 0, u;

	cands_soft(c);
	for (int32_t i = 0; i < c->n; i++)
		sum += (double)c->at[i].p;
	u = rng_unit(s->o.seed, s->position) * sum;
	for (int32_t i = 0; i < c->n; i++) {
		at += (double)c->at[i].p;
		if (at > u)
			return i;
	}
	for (int32_t i = c->n - 1; i > 0; i--)   /* the last sum was rounded below u */
		if (c->at[i].p > 0)
			return i;
	return 0;
}

static void narrow(struct infer_sampler *s, struct cands *c)
{
	int greedy = s->o.temp <= 0;

	for (int i = 0; s->o.order[i] != INFER_STAGE_END; i++) {
		int k = s->o.order[i];
		const struct stage *st = stage_get(k);
		int weighs = k == INFER_STAGE_PENALTIES || k == INFER_STAGE_DRY;

		/* greedy wants the largest logit, mirostat cuts by itself: only what reweights acts */
		if (!st->on(&s->o) || (greedy && !weighs) || (s->o.mirostat && !weighs && k != INFER_STAGE_TEMP))
			continue;
		st->apply(s, c);
	}
	if (greedy)
		stage_temp(c, 0, 0, 1);
	else if (s->o.mirostat)
		mirostat_cut(s, c);
}

int infer_sampler_draw(infer_sampler *s, float *logits, uint64_t position, int32_t *token, infer_error *err)
{
	struct cands *c = &s->c;

	*token = -1;
	s->position = position;
	s->n_last = 0;
	for (int32_t i = 0; i < s->o.n_bias; i++)
		logits[s->o.bias[i].token] += s->o.bias[i].bias;
	TRY(gather(s, logits, err));
	narrow(s, c);
	int32_t i = pick(s, c);
	int32_t id = c->at[i].id;
	if (s->o.mirostat && s->o.temp > 0)
		mirostat_update(s, c->at[i].p);
	s->n_last = c->n;
	TRY(infer_sampler_feed(s, &id, 1, err));
	*token = id;
	return INFER_OK;
}

const struct infer_candidate *infer_sampler_last(const infer_sampler *s, int32_t *n)
{
	struct infer_sampler *w = (struct infer_sampler *)s;    /* fills only storage that exists for this */
	struct cands c = { .at = s->c.at, .n = s->n_last, .sorted = 0, .soft = 1 };

	cands_sort(&c, c.n);
	for (int32_t i = 0; i < c.n; i++)
		w->last[i] = (struct infer_candidate){ c.at[i].id, c.at[i].p };
	*n = c.n;
	return s->last;
}
