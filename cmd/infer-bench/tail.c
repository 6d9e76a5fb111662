/* infer-bench/tail.c - compare high quantiles by the block bootstrap: Efron 1979; blocks of Künsch 1989,
 * doi:10.1214/aos/1176347265 */
#include "judge.h"
#include <infer/statistic.h>
#include "base/err.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum {
	DRAWS = 9999, /* resamples; the smallest probability is 1 / (DRAWS + 1) */
	BEYOND = 10,  /* fewest measurements above a quantile */
	SEED = 19,
};

/* A measurement and its block. */
struct ranked {
	double v;
	uint32_t block;
};
struct series {
	struct ranked *at; /* descending */
	size_t n, blocks, each;
	uint32_t *times; /* [blocks]: how often the resample contains the block */
};

static int descending(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->v, y = ((const struct ranked *)b)->v;

	return (x < y) - (x > y);
}

/* Sort the measurements and assign them to blocks of sqrt(n) consecutive ones, since consecutive requests are
 * correlated. */
static int rank_series(struct series *s, const double *v, size_t n, struct arena *mem,
                       infer_error *err)
{
	s->n = n;
	s->each = 1;
	while ((s->each + 1) * (s->each + 1) <= n)
		s->each++;
	s->blocks = (n + s->each - 1) / s->each;
	s->at = arena_alloc(mem, n + 1, sizeof *s->at);
	s->times = arena_alloc(mem, s->blocks + 1, sizeof *s->times);
	if (!s->at || !s->times)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		s->at[i] = (struct ranked){ v[i], (uint32_t)(i / s->each) };
	qsort(s->at, n, sizeof *s->at, descending);
	for (size_t i = 0; i < s->blocks; i++)
		s->times[i] = 1;
	return INFER_OK;
}

static size_t block_size(const struct series *s, size_t block)
{
	return block + 1 < s->blocks ? s->each : s->n - block * s->each;
}

/* Return the quantile q of a resample of `drawn` values, counting from the largest. */
static double resample_quantile(const struct series *s, size_t drawn, double q)
{
	double beyond = (1 - q) * (double)drawn;
	size_t above = 0, i = 0;

	for (; i + 1 < s->n; i++) {
		above += s->times[s->at[i].block];
		if ((double)above > beyond)
			break;
	}
	return s->at[i].v;
}

/* Return the quantile of resample `number`: as many blocks as there are, drawn with replacement.
 * like: use the blocks drawn for this series, for paired requests; NULL: draw them */
static double draw_resample(struct series *s, const struct series *like, uint64_t seed,
                            uint64_t number, double q)
{
	size_t drawn = 0;

	if (like) {
		memcpy(s->times, like->times, s->blocks * sizeof *s->times);
		for (size_t i = 0; i < s->blocks; i++)
			drawn += s->times[i] * block_size(s, i);
		return resample_quantile(s, drawn, q);
	}
	memset(s->times, 0, s->blocks * sizeof *s->times);
	for (size_t i = 0; i < s->blocks; i++) {
		double u = rng_unit(seed, number * s->blocks + i);
		size_t block = (size_t)(u * (double)s->blocks);
		s->times[block]++;
		drawn += block_size(s, block);
	}
	return resample_quantile(s, drawn, q);
}

static void shift(struct judged *j, double *d, double estimate)
{
	size_t below = 0, above = 0;

	for (size_t i = 0; i < DRAWS; i++) {
		below += d[i] <= 0;
		above += d[i] >= 0;
	}
	infer_sort(d, DRAWS);
	size_t least = below < above ? below : above;
	double p = 2.0 * (double)(least + 1) / (DRAWS + 1);

	j->change = infer_exp(estimate) - 1;
	j->lo = infer_exp(infer_quantile(d, DRAWS, (1 - JUDGE_LEVEL) / 2)) - 1;
	j->hi = infer_exp(infer_quantile(d, DRAWS, (1 + JUDGE_LEVEL) / 2)) - 1;
	j->p = p < 1 ? p : 1;
	j->bounded = j->ratio = 1;
}

int judge_has_tail(const double *v, size_t n, double q)
{
	for (size_t i = 0; i < n; i++)
		if (!(v[i] > 0))
			return 0;
	return (1 - q) * (double)n >= BEYOND;
}

int judge_tail(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
               double q, enum pairing paired, struct arena *mem, infer_error *err)
{
	struct series a, b;
	double *d = arena_alloc(mem, DRAWS, sizeof *d);

	if (!d)
		return err_nomem(err);
	TRY(rank_series(&a, base, n_base, mem, err));
	TRY(rank_series(&b, now, n_new, mem, err));
	j->paired = paired;
	j->n_base = n_base;
	j->n_new = n_new;
	j->base = resample_quantile(&a, n_base, q);
	j->now = resample_quantile(&b, n_new, q);
	for (uint64_t i = 0; i < DRAWS; i++) {
		double x = draw_resample(&a, NULL, SEED, i, q),
		       y = draw_resample(&b, paired ? &a : NULL, SEED + 1, i, q);
		d[i] = infer_log(y) - infer_log(x);
	}
	shift(j, d, infer_log(j->now) - infer_log(j->base));
	return INFER_OK;
}
