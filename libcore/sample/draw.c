/* sample/draw.c - draw one token from one row of logits: bias, stages, draw. */
#include "base/err.h"
#include "base/rng.h"
#include "sample/best.h"
#include "sample/sample.h"

#include <math.h>
#include <string.h>

/* Collect the allowed logits above -inf as candidates, in order of id. */
static int gather_cands(struct infer_sampler *s, const float *logits, const uint64_t *allowed,
                        infer_error *err)
{
	struct cands *c = &s->c;
	int32_t n = 0, nan = 0;

	for (int32_t i = cands_next(allowed, 0, s->n_vocab); i < s->n_vocab;
	     i = cands_next(allowed, i + 1, s->n_vocab)) {
		float l = logits[i];
		if (l == INFINITY)
			return err_set(err, INFER_ENAN, "the logit of token %d is infinite",
			               (int)i);
		nan += isnan(l) != 0;
		if (l > -INFINITY) /* NaN compares false */
			c->at[n++] = (struct cand){ .id = i, .logit = l };
	}
	c->n = n;
	c->sorted = c->soft = 0;
	if (n)
		return INFER_OK;
	if (nan)
		return err_set(err, INFER_ENAN, "no logit is a number: %d of %d are NaN", (int)nan,
		               (int)s->n_vocab);
	return err_set(err, INFER_EEMPTY, "no token is left to choose from");
}

/* Return the index of the candidate that the random number selects. */
static int32_t pick_cand(struct infer_sampler *s, struct cands *c)
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
	for (int32_t i = c->n - 1; i > 0; i--) /* rounding: even the whole sum is not above u */
		if (c->at[i].p > 0)
			return i;
	return 0;
}

/* True if stage k applies: greedy decoding and mirostat use only stages that reweight. */
static int stage_applies(const struct infer_sampler *s, int k)
{
	int weighs = k == INFER_STAGE_PENALTIES || k == INFER_STAGE_DRY;

	return stage_get(k)->on(&s->o) &&
	       (weighs || (s->o.temp > 0 && (!s->o.mirostat || k == INFER_STAGE_TEMP)));
}

/* Return n such that the n best candidates include all that pass the first stage; 0: unknown. */
static int32_t first_cut(const struct infer_sampler *s)
{
	for (int i = 0; s->o.order[i] != INFER_STAGE_END; i++) {
		int k = s->o.order[i];

		if (stage_applies(s, k))
			return k != INFER_STAGE_TOP_K       ? 0
			       : s->o.top_k > s->o.min_keep ? s->o.top_k
			                                    : s->o.min_keep;
	}
	return s->o.temp <= 0;
}

static int choose_from(struct infer_sampler *s, const float *logits, const uint64_t *allowed,
                       infer_error *err)
{
	struct cands *c = &s->c;
	int32_t n = first_cut(s);

	if (!n)
		return gather_cands(s, logits, allowed, err);
	cands_take(c, logits, allowed, s->n_vocab, n);
	/* gather_cands sets the error */
	return c->n && c->at[0].logit < INFINITY ? INFER_OK : gather_cands(s, logits, allowed, err);
}

/* Apply the stages. */
static void apply_stages(struct infer_sampler *s, struct cands *c)
{
	for (int i = 0; s->o.order[i] != INFER_STAGE_END; i++)
		if (stage_applies(s, s->o.order[i]))
			stage_get(s->o.order[i])->apply(s, c);
	if (s->o.temp <= 0)
		stage_temp(c, 0, 0, 1);
	else if (s->o.mirostat)
		mirostat_cut(s, c);
}

/* Draw from the candidates. */
static int draw_cand(struct infer_sampler *s, int32_t *token, infer_error *err)
{
	struct cands *c = &s->c;

	apply_stages(s, c);
	int32_t i = pick_cand(s, c);
	int32_t id = c->at[i].id;
	s->drawn_p = c->at[i].p;
	TRY(infer_sampler_feed(s, &id, 1, err));
	if (s->o.mirostat && s->o.temp > 0)
		mirostat_update(s, c->at[i].p);
	*token = id;
	return INFER_OK;
}

int infer_sampler_draw(infer_sampler *s, const float *logits, const uint64_t *allowed,
                       uint64_t position, int32_t *token, infer_error *err)
{
	*token = -1;
	s->position = position;
	if (s->biased) {
		memcpy(s->biased, logits, (size_t)s->n_vocab * sizeof *logits);
		for (int32_t i = 0; i < s->o.n_bias; i++)
			s->biased[s->o.bias[i].token] += s->o.bias[i].bias;
		banned_apply(s, s->biased);
		logits = s->biased;
	}
	TRY(choose_from(s, logits, allowed, err));
	return draw_cand(s, token, err);
}

int32_t sampler_best(const infer_sampler *s) { return s->biased ? 0 : first_cut(s); }

int sampler_draw_best(infer_sampler *s, const int32_t *ids, const float *logits, int32_t n,
                      uint64_t position, int32_t *token, infer_error *err)
{
	const int32_t most = first_cut(s);
	struct cands *c = &s->c;

	*token = -1;
	s->position = position;
	c->n = 0;
	c->sorted = 1;
	c->soft = 0;
	while (c->n < n && c->n < most && ids[c->n] >= 0 && logits[c->n] > -INFINITY) {
		c->at[c->n] = (struct cand){ .id = ids[c->n], .logit = logits[c->n] };
		c->n++;
	}
	return c->n ? draw_cand(s, token, err)
	            : err_set(err, INFER_EEMPTY, "no token is left to choose from");
}

int32_t infer_sampler_candidates(infer_sampler *s, struct infer_candidate *to, int32_t n,
                                 float *drawn)
{
	struct cands *c = &s->c;

	*drawn = s->drawn_p;
	n = n < c->n ? n : c->n;
	c->sorted = 0; /* stages change the order */
	cands_sort(c, n);
	for (int32_t i = 0; i < n; i++) {
		if (!(c->at[i].p > 0))
			return i;
		to[i] = (struct infer_candidate){ c->at[i].id, c->at[i].p };
	}
	return n;
}
