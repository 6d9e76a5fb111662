/* sample/penalty.c - repetition, presence and frequency penalties over the last `repeat_window`
 * tokens.   Keskar+ 2019, arXiv:1909.05858, eq. 1 */
#include "sample/sample.h"

static int penalties_is_on(const struct infer_sample_opts *o)
{
	return o->repeat != 1 || o->presence != 0 || o->frequency != 0;
}

static void apply_penalties(struct infer_sampler *s, struct cands *c)
{
	float repeat = s->o.repeat;

	for (int32_t i = 0; i < c->n; i++) {
		struct cand *a = &c->at[i];
		int32_t times = s->h.count[a->id];

		if (!times)
			continue;
		a->logit = a->logit <= 0 ? a->logit * repeat : a->logit / repeat;
		a->logit -= (float)times * s->o.frequency + s->o.presence;
	}
	c->sorted = c->soft = 0;
}
const struct stage stage_row_penalties = { "penalties", penalties_is_on, apply_penalties };
