/* sample/xtc.c - exclude top choices: of those with p >= threshold keep only the least likely, with
 * the given probability. The chance uses words 2 and 3 of the position's random block; the draw
 * uses 0 and 1. oobabooga/text-generation-webui #6335 */
#include "base/rng.h"
#include "sample/sample.h"

void stage_xtc(struct cands *c, float threshold, int32_t min_keep)
{
	int32_t above = 0;

	cands_soft(c);
	cands_sort(c, c->n);
	while (above < c->n && c->at[above].p >= threshold)
		above++;
	if (above < 2 || c->n - (above - 1) < min_keep)
		return;
	c->n -= above - 1;
	for (int32_t i = 0; i < c->n; i++)
		c->at[i] = c->at[i + above - 1];
	c->soft = 0;
}

static int xtc_is_on(const struct infer_sample_opts *o)
{
	return o->xtc_probability > 0 && o->xtc_threshold > 0 && o->xtc_threshold <= 0.5f;
}

static void apply_xtc(struct infer_sampler *s, struct cands *c)
{
	uint32_t w[4];

	rng_block(w, s->o.seed, s->position);
	double u = (double)((uint64_t)w[3] << 21 ^ w[2] >> 11) * 0x1p-53;
	if (u < (double)s->o.xtc_probability)
		stage_xtc(c, s->o.xtc_threshold, s->o.min_keep);
}
const struct stage stage_row_xtc = { "xtc", xtc_is_on, apply_xtc };
