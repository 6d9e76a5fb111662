/* sample/topk.c - keep the k most likely candidates.  Fan+ 2018, arXiv:1805.04833 */
#include "sample/sample.h"

void stage_top_k(struct cands *c, int32_t k)
{
	if (k <= 0 || k > c->n)
		k = c->n;
	cands_sort(c, k);
	c->soft &= k == c->n;
	c->n = k;
	c->sorted = 1;
}

static int top_k_is_on(const struct infer_sample_opts *o) { return o->top_k > 0; }
static void apply_top_k(struct infer_sampler *s, struct cands *c)
{
	stage_top_k(c, s->o.top_k > s->o.min_keep ? s->o.top_k : s->o.min_keep);
}
const struct stage stage_row_top_k = { "top_k", top_k_is_on, apply_top_k };
