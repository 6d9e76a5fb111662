/* sample/typical.c - keep the candidates whose surprise is nearest to the entropy, up to mass p.
 * Meister+ 2022, arXiv:2202.00666 */
#include "sample/sample.h"
#include "base/fmath.h"

void stage_typical(struct cands *c, float p, int32_t min_keep)
{
	double h, mass = 0;
	int32_t k = 0;

	if (p >= 1)
		return;
	cands_soft(c);
	h = cands_entropy(c);
	/* sort by distance from the entropy h: the logit field is set to -|surprise - h| */
	for (int32_t i = 0; i < c->n; i++) {
		struct cand *a = &c->at[i];
		double d = a->p > 0 ? -fm_log((double)a->p) - h : 1e30;

		a->logit = (float)(d < 0 ? d : -d);
	}
	c->sorted = 0;
	cands_sort(c, c->n);
	while (k < c->n) {
		mass += (double)c->at[k++].p;
		if (k >= min_keep && mass > (double)p)
			break;
	}
	c->n = k;
	for (int32_t i = 0; i < k; i++)
		/* differs from the logit by a constant, which the softmax removes */
		c->at[i].logit = fm_logf(c->at[i].p);
	c->sorted = 0;
	c->soft = 0;
}

static int typical_is_on(const struct infer_sample_opts *o)
{
	return o->typical > 0 && o->typical < 1;
}
static void apply_typical(struct infer_sampler *s, struct cands *c)
{
	stage_typical(c, s->o.typical, s->o.min_keep);
}
const struct stage stage_row_typical = { "typ_p", typical_is_on, apply_typical };
