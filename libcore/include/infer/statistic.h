/* infer/statistic.h - quantiles, shifts and tests of measurements.   floor: stat
 *
 * Measurements of a computer are skewed, have outliers and several modes, so everything here works
 * by rank and assumes no shape of their distribution.  Pure functions, any thread; none allocates. */
#ifndef INFER_STATISTIC_H
#define INFER_STATISTIC_H
#include <stddef.h>
#include <stdint.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Sort ascending, in place.  O(n log n) */
void infer_sort(double *v, size_t n);
double infer_mean(const double *v, size_t n); /* 0 for none */
/* The q-quantile, 0 <= q <= 1, by linear interpolation between the nearest ranks.
 * sorted  f64 [n], ascending, n > 0 */
double infer_quantile(const double *sorted, size_t n, double q);

/* An interval that covers the q-quantile of what was sampled from with at least this probability,
 * whatever its distribution: between two order statistics, by the binomial distribution.  1: *lo and
 * *hi are filled; 0: n measurements are too few for it. */
int infer_quantile_interval(const double *sorted, size_t n, double q, double level, double *lo,
                            double *hi);

/* A shift, with an interval at the level asked for, and the two-sided probability of a shift this
 * large if there were none. */
struct infer_shift {
	double estimate, lo, hi, p;
	int bounded; /* 0: too few measurements for an interval of this level; lo and hi are infinite */
};
/* Of pairs: the median of all means of two differences (Hodges-Lehmann), and Wilcoxon's signed ranks,
 * exact up to 50 differences without ties or zeros.
 * d  f64 [n], differences; sorted by the call */
void infer_shift_paired(struct infer_shift *s, double *d, size_t n, double level);
/* Of two samples: the median of all differences b - a, and Mann and Whitney's test, exact up to 20
 * and 20 without ties.
 * a, b  f64 [na], [nb], sorted by the call */
void infer_shift_unpaired(struct infer_shift *s, double *a, size_t na, double *b, size_t nb,
                          double level);
/* Adjust the probabilities of n tests that are read together (Holm 1979): one of them falls below
 * alpha by chance with probability alpha at most.   p  f64 [n], in place.  O(n^2) */
void infer_holm(double *p, size_t n);

/* A measure with its measurements, and how its record has it: an object with unit, better ("higher" or
 * "lower"), n, mean, p50, p95, p99 (each with value, and lo and hi where n is enough for an interval of
 * 95 %), min, max and values, in the order they were taken; more than INFER_METRIC_VALUES are left
 * out. */
enum { INFER_METRIC_VALUES = 10000 };
struct infer_metric {
	const char *name, *unit; /* "ttft_ms", "ms"; borrowed */
	int higher;              /* 1: more is better */
	const double *values;    /* f64 [n] */
	double *scratch;         /* f64 [n], for sorting */
	size_t n;
};
struct jwrite;
/* Nothing, if n is 0. */
void infer_metric_put(struct jwrite *w, const struct infer_metric *m);

double infer_log(double x); /* natural, for ratios; the same bits on every machine */
double infer_exp(double x);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
