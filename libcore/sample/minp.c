/* sample/minp.c - keep candidates with p_i >= p * max p, i.e. logit_i >= max logit + ln p.  Nguyen+
 * 2024, arXiv:2407.01082 */
#include "sample/sample.h"
#include "base/fmath.h"

void stage_min_p(struct cands *c, float p, int32_t min_keep)
{
	float max = c->at[0].logit, least;
	int32_t k = 0;

	if (p <= 0)
		return;
	for (int32_t i = 1; i < c->n; i++)
		max = c->at[i].logit > max ? c->at[i].logit : max;
	least = max + fm_logf(p);
	for (int32_t i = 0; i < c->n; i++)
		k += c->at[i].logit >= least;
	if (k < min_keep) { /* keep the min_keep most likely, which include these k */
		k = min_keep < c->n ? min_keep : c->n;
		cands_sort(c, k);
		c->sorted = 1;
	} else {
		for (int32_t i = k = 0; i < c->n; i++)
			if (c->at[i].logit >= least)
				c->at[k++] = c->at[i];
	}
	c->soft &= k == c->n;
	c->n = k;
}

static int min_p_is_on(const struct infer_sample_opts *o) { return o->min_p > 0; }
static void apply_min_p(struct infer_sampler *s, struct cands *c)
{
	stage_min_p(c, s->o.min_p, s->o.min_keep);
}
const struct stage stage_row_min_p = { "min_p", min_p_is_on, apply_min_p };
