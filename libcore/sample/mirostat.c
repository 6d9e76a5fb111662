/* sample/mirostat.c - steer the surprise of each token towards tau bits.  Basu+ 2020,
 * arXiv:2007.14966: version 1 is its algorithm 1; version 2 drops candidates with a surprise above
 * mu. */
#include "base/fmath.h"
#include "sample/sample.h"

static const double LN2 = 0.69314718055994530942;
/* number of ranks used to fit the Zipf exponent */
enum { FIT = 100 };

static double version1_k(const struct infer_sampler *s, const struct cands *c)
{
	int32_t m = c->n < FIT ? c->n : FIT;
	double tb = 0, tt = 0;

	for (int32_t i = 0; i + 1 < m; i++) {
		if (!(c->at[i + 1].p > 0))
			break;
		double t = fm_log((i + 2) / (double)(i + 1)),
		       b = fm_log((double)c->at[i].p / (double)c->at[i + 1].p);
		tb += t * b;
		tt += t * t;
	}
	double zipf = tt > 0 ? tb / tt : 0, eps = zipf - 1;
	if (zipf < 1e-6)
		return c->n;           /* flat distribution: keep all */
	if (eps < 1e-6 && eps > -1e-6) /* the limit of the quotient below for eps -> 0 */
		return fm_exp((s->mu * LN2 - fm_log(fm_log(s->n_vocab > 2 ? s->n_vocab : 3))) /
		              zipf);
	double part = eps / (1 - fm_exp(-eps * fm_log(s->n_vocab)));
	return fm_exp((s->mu * LN2 + fm_log(part)) / zipf);
}

void mirostat_cut(struct infer_sampler *s, struct cands *c)
{
	cands_soft(c);
	cands_sort(c, c->n);
	if (s->o.mirostat == 1) {
		double k = version1_k(s, c);
		stage_top_k(c, k < 1 ? 1 : k > c->n ? c->n : (int32_t)k);
		return;
	}
	int32_t keep = 1;
	while (keep < c->n && c->at[keep].p > 0 && -fm_log((double)c->at[keep].p) <= s->mu * LN2)
		keep++;
	c->soft &= keep == c->n;
	c->n = keep;
}

void mirostat_update(struct infer_sampler *s, float p)
{
	s->mu -= (double)s->o.mirostat_eta * (-fm_log((double)p) / LN2 - (double)s->o.mirostat_tau);
}
