/* sample/temp.c - divide the logits by a temperature, which may follow the entropy of the
 * candidates. */
#include "base/fmath.h"
#include "sample/sample.h"

#include <math.h>

void stage_temp(struct cands *c, float temp, float range, float exponent)
{
	if (range > 0 && c->n > 1) {
		double lo = temp > range ? (double)(temp - range) : 0,
		       hi = (double)temp + (double)range;
		cands_soft(c);
		double part = cands_entropy(c) / fm_log(c->n);
		if (part > 1)
			part = 1;
		part = part > 0 ? fm_pow(part, (double)exponent) : 0;
		temp = (float)(lo + (hi - lo) * part);
	}
	if (temp <= 0) { /* the limit for temp -> 0: only the first candidate remains */
		cands_sort(c, 1);
		c->n = 1;
		c->sorted = 1;
		c->soft = 0;
		return;
	}
	for (int32_t i = 0; i < c->n; i++)
		c->at[i].logit /= temp;
	c->soft = 0;
}

static int temp_is_on(const struct infer_sample_opts *o)
{
	return o->temp != 1 || o->dynatemp_range > 0;
}
static void apply_temp(struct infer_sampler *s, struct cands *c)
{
	stage_temp(c, s->o.temp, s->o.dynatemp_range, s->o.dynatemp_exp);
}
const struct stage stage_row_temp = { "temperature", temp_is_on, apply_temp };
