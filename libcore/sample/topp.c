/* sample/topp.c - keep the smallest set of candidates with a mass of at least p.   Holtzman+ 2019,
 * arXiv:1904.09751 */
#include "sample/sample.h"

void stage_top_p(struct cands *c, float p, int32_t min_keep)
{
	double mass = 0;
	int32_t k = 0;

	if (p >= 1)
		return;
	cands_soft(c);
	/* sort only as many as needed: most distributions reach p within a few candidates */
	for (int32_t sorted = 0; k < c->n;) {
		if (k == sorted && !c->sorted) {
			sorted = sorted ? (sorted > c->n / 4 ? c->n : 4 * sorted) : 128;
			cands_sort(c, sorted);
		}
		mass += (double)c->at[k++].p;
		if (k >= min_keep && (float)mass >= p)
			break;
	}
	c->soft &= k == c->n;
	c->n = k;
	c->sorted = 1;
}

static int top_p_is_on(const struct infer_sample_opts *o) { return o->top_p > 0 && o->top_p < 1; }
static void apply_top_p(struct infer_sampler *s, struct cands *c)
{
	stage_top_p(c, s->o.top_p, s->o.min_keep);
}
const struct stage stage_row_top_p = { "top_p", top_p_is_on, apply_top_p };
