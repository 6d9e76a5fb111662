/* sample/topnsigma.c - keep logits >= max - n * sigma, sigma: the standard deviation of the finite
 * logits.  Tang+ 2024, arXiv:2411.07641 */
#include "sample/sample.h"

#include <math.h>

void stage_top_n_sigma(struct cands *c, float n)
{
	double sum = 0, square = 0;
	float max = c->at[0].logit;
	int32_t finite = 0, k = 0;

	for (int32_t i = 0; i < c->n; i++) {
		float l = c->at[i].logit;
		if (l == -INFINITY)
			continue;
		max = l > max ? l : max;
		sum += (double)l;
		finite++;
	}
	if (!finite)
		return;
	double mean = sum / finite;
	for (int32_t i = 0; i < c->n; i++)
		if (c->at[i].logit != -INFINITY)
			square += ((double)c->at[i].logit - mean) * ((double)c->at[i].logit - mean);
	double least = (double)max - (double)n * sqrt(square / finite);
	for (int32_t i = 0; i < c->n; i++)
		if ((double)c->at[i].logit >= least)
			c->at[k++] = c->at[i];
	c->soft &= k == c->n;
	c->n = k;
}

static int top_n_sigma_is_on(const struct infer_sample_opts *o) { return o->top_n_sigma > 0; }
static void apply_top_n_sigma(struct infer_sampler *s, struct cands *c)
{
	stage_top_n_sigma(c, s->o.top_n_sigma);
}
const struct stage stage_row_top_n_sigma = { "top_n_sigma", top_n_sigma_is_on, apply_top_n_sigma };
