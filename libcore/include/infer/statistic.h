/* infer/statistic.h - quantiles, shifts and tests of measurements.   floor: stat
 *
 * Timings are skewed, have outliers and several modes, so everything here but Student's t works by
 * rank and assumes no distribution.  Pure functions; any thread; none allocates.  Measurements must
 * not be NaN. */
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
/* Return the q-quantile, 0 <= q <= 1, by linear interpolation between the nearest ranks.
 * sorted: f64 [n], ascending, n > 0. */
double infer_quantile(const double *sorted, size_t n, double q);

/* Compute an interval that contains the q-quantile of any distribution with probability `level` or
 * more: between two order statistics, by the binomial distribution.  Returns 1 if *lo and *hi are
 * filled, 0 if n is too small. */
int infer_quantile_interval(const double *sorted, size_t n, double q, double level, double *lo,
                            double *hi);

/* A shift with its interval at a level; p: two-sided probability of a shift at least this large if
 * there is none. */
struct infer_shift {
	double estimate, lo, hi, p; /* 0, -inf, inf, 1 if a sample is empty */
	int bounded; /* 0: too few measurements for an interval of this level; lo and hi are infinite */
};
/* Estimate the shift of paired measurements: the median of the means of any two differences
 * (Hodges-Lehmann), and Wilcoxon's signed-rank test, exact up to 50 differences without ties or
 * zeros.
 * d: f64 [n], differences; sorted by the call. */
void infer_shift_paired(struct infer_shift *s, double *d, size_t n, double level);
/* Estimate the shift between two samples: the median of all differences b - a, and the Mann-Whitney
 * test, exact up to 20 and 20 without ties.
 * a, b: f64 [na], [nb]; sorted by the call. */
void infer_shift_unpaired(struct infer_shift *s, double *a, size_t na, double *b, size_t nb,
                          double level);
/* The same for samples too small for ranks, whose p-values cannot be small: 2 / 2^n for n pairs,
 * 2 / 252 for five and five.  The estimate is the (difference of) means, and the interval and p are
 * those of Student's t.  Two samples may have different variances; the degrees of freedom are those
 * of the smaller one, since Welch's are too many for two against twenty.  It assumes means that are
 * nearly normal; symmetric outliers make the interval wider than necessary.  bounded is 1 if each
 * sample has two or more.
 * d: f64 [n]; a, b: f64 [na], [nb]. */
void infer_shift_paired_t(struct infer_shift *s, const double *d, size_t n, double level);
void infer_shift_unpaired_t(struct infer_shift *s, const double *a, size_t na, const double *b,
                            size_t nb, double level);
/* Adjust the p-values of n tests that are read together (Holm 1979): the probability that any of
 * them is below alpha by chance is at most alpha.  p: f64 [n], in place.  O(n^2) */
void infer_holm(double *p, size_t n);

/* A metric with its measurements.  Its record is an object with unit, better ("higher" or "lower"),
 * n, mean, p50, p95, p99 (each with value, and with lo and hi if n suffices for a 95 % interval),
 * min, max and values in the order of measurement, at most INFER_METRIC_VALUES. */
enum { INFER_METRIC_VALUES = 10000 };
struct infer_metric {
	const char *name, *unit; /* "ttft_ms", "ms"; borrowed */
	int higher;              /* 1: more is better */
	const double *values;    /* f64 [n] */
	double *scratch;         /* f64 [n], for sorting */
	size_t n;
};
struct jwrite;
/* Write the metric as a member; nothing if n is 0.  Out of memory: marks the buffer of w bad. */
void infer_metric_put(struct jwrite *w, const struct infer_metric *m);

double infer_log(double x); /* natural; the same bits on every machine; 0: -inf; x < 0: NaN */
double infer_exp(double x);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
