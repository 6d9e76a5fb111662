/* stat/stat.c - order statistics, and the normal distribution. */
#include <infer/statistic.h>
#include "stat/stat.h"
#include "base/fmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void infer_sort(double *v, size_t n)
{
	if (n > 1)
		qsort(v, n, sizeof *v, by_value);
}

double infer_mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

double infer_quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Omit as many ranks at both ends as the tails allow.  The terms of the binomial distribution
 * are computed from logarithms, because (1 - q)^n underflows. */
int infer_quantile_interval(const double *sorted, size_t n, double q, double level, double *lo,
                            double *hi)
{
	double tail = (1 - level) / 2, below = 0, term = (double)n * fm_log(1 - q);
	size_t from = 0, to = n + 1; /* ranks from 1; 0 and n + 1: no such rank */

	for (size_t k = 0; k < n; k++) {
		below += fm_exp(term); /* P(at most k measurements are below the quantile) */
		if (below <= tail)
			from = k + 1;
		if (below >= 1 - tail && to > n)
			to = k + 1;
		term += fm_log((double)(n - k) / (double)(k + 1)) + fm_log(q / (1 - q));
	}
	if (!from || to > n)
		return 0;
	*lo = sorted[from - 1];
	*hi = sorted[to - 1];
	return 1;
}

double infer_log(double x) { return fm_log(x); }
double infer_exp(double x) { return fm_exp(x); }

/* ---- the normal distribution ---- */

/* Use a power series without cancellation near 0, and a continued fraction in the tail. */
double stat_normal(double z)
{
	double x = z < 0 ? -z : z, density = 0.3989422804014327 * fm_exp(-x * x / 2), tail;

	if (x < 4) {
		double term = x, sum = x;

		for (int k = 3; term > sum * 1e-17; k += 2) {
			term *= x * x / k;
			sum += term;
		}
		tail = 0.5 - density * sum;
	} else {
		double f = 0;

		for (int k = 60; k; k--)
			f = k / (x + f);
		tail = density / (x + f);
	}
	return z < 0 ? tail : 1 - tail;
}

double stat_normal_at(double p)
{
	double lo = -40, hi = 40;

	for (int i = 0; i < 80; i++) {
		double mid = (lo + hi) / 2;

		if (stat_normal(mid) < p)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

/* ---- pairs ---- */

static double pair_value(const struct stat_pairs *p, size_t i, size_t j)
{
	return p->b ? p->b[j] - p->a[i] : (p->a[i] + p->a[j]) / 2;
}

/* Count the pairs with a value of at most x.  Values increase with j; with i, means increase and
 * differences decrease.  So one pass over i with a moving j suffices. */
static uint64_t count_at_most(const struct stat_pairs *p, double x)
{
	uint64_t n = 0;
	size_t j = p->b ? 0 : p->na;

	for (size_t i = 0; i < p->na; i++) {
		if (p->b) {
			while (j < p->nb && pair_value(p, i, j) <= x)
				j++;
			n += j;
		} else {
			while (j > i && pair_value(p, i, j - 1) > x)
				j--;
			if (j <= i)
				break;
			n += j - i;
		}
	}
	return n;
}

/* Map a double to an integer of the same order, so that bisection finds the value exactly. */
static int64_t to_ordinal(double x)
{
	int64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits < 0 ? INT64_MIN - bits : bits;
}

static double from_ordinal(int64_t bits)
{
	double x;

	bits = bits < 0 ? INT64_MIN - bits : bits;
	memcpy(&x, &bits, sizeof x);
	return x;
}

double stat_pairs_at(const struct stat_pairs *p, uint64_t k)
{
	int64_t lo = to_ordinal(-INFINITY), hi = to_ordinal(INFINITY);

	while (hi - 1 > lo) { /* the value is in (lo, hi] */
		int64_t mid = lo / 2 + hi / 2 + (lo % 2 + hi % 2) / 2;

		mid = mid <= lo ? lo + 1 : mid >= hi ? hi - 1 : mid;
		if (count_at_most(p, from_ordinal(mid)) >= k)
			hi = mid;
		else
			lo = mid;
	}
	return from_ordinal(hi);
}
