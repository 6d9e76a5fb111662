/* stat/rank.c - shifts between measurements, by rank tests (Wilcoxon, Mann-Whitney). */
#include <infer/statistic.h>
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { EXACT_PAIRS = 50, EXACT_EACH = 20, SUMS = EXACT_PAIRS * (EXACT_PAIRS + 1) / 2 + 1 };

/* The distribution of a rank statistic from 0 to most, symmetric about most / 2: exact, or normal
 * with mean and sd. */
struct ranks {
	double p[SUMS]; /* if exact: P(statistic = k) */
	uint64_t most;
	double mean, sd;
	int exact;
};

/* Compute the distribution of the sum of the ranks of positive differences.  Each rank is in the
 * sum with probability 1/2. */
static void signed_rank_sums(struct ranks *r, size_t n)
{
	size_t top = 0;

	memset(r->p, 0, sizeof r->p);
	r->p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++) {
		top += rank;
		for (size_t k = top + 1; k-- > 0;)
			r->p[k] = (r->p[k] + (k >= rank ? r->p[k - rank] : 0)) / 2;
	}
}

/* Compute the distribution of U, the number of pairs b < a.  The coefficients of prod over i = 1
 * ... na of (1 - x^(nb + i)) / (1 - x^i) count the orders with U = k. */
static void rank_sums(struct ranks *r, size_t na, size_t nb)
{
	double all = 0;
	size_t top = na * nb;

	memset(r->p, 0, sizeof r->p);
	r->p[0] = 1;
	for (size_t i = 1; i <= na; i++) {
		for (size_t k = top + 1; k-- > nb + i;)
			r->p[k] -= r->p[k - nb - i];
		for (size_t k = i; k <= top; k++)
			r->p[k] += r->p[k - i];
	}
	for (size_t k = 0; k <= top; k++)
		all += r->p[k];
	for (size_t k = 0; k <= top; k++)
		r->p[k] /= all;
}

/* Return the two-sided p-value: twice the smaller tail, including `value`. */
static double exact_p(const struct ranks *r, double value)
{
	uint64_t at = (uint64_t)value;
	double below = 0;

	if (at > r->most - at)
		at = r->most - at;
	for (uint64_t k = 0; k <= at; k++)
		below += r->p[k];
	return below >= 0.5 ? 1 : 2 * below;
}

/* Return k such that the k-th smallest and the k-th largest pair bound the interval of confidence
 * `level`; 0: there is no such interval. */
static uint64_t pairs_left_out(const struct ranks *r, double level)
{
	double tail = (1 - level) / 2, below = 0, at;
	uint64_t k = 0;

	if (!r->exact) {
		at = floor(r->mean + 0.5 + r->sd * stat_normal_at(tail));
		return at < 1 ? 0 : (uint64_t)at;
	}
	while (k <= r->most && below + r->p[k] <= tail)
		below += r->p[k++];
	return k;
}

static void set_interval(struct infer_shift *s, const struct stat_pairs *p, const struct ranks *r,
                         uint64_t pairs, double level)
{
	uint64_t k = pairs_left_out(r, level);

	s->estimate = (stat_pairs_at(p, (pairs + 1) / 2) + stat_pairs_at(p, pairs / 2 + 1)) / 2;
	s->bounded = k > 0;
	s->lo = k ? stat_pairs_at(p, k) : -INFINITY;
	s->hi = k ? stat_pairs_at(p, pairs + 1 - k) : INFINITY;
}

/* Sum the ranks by magnitude of the positive values of sorted d.  Zeros are ignored.  Two indices
 * move from zero outwards. */
static double rank_positive(const double *d, size_t n, size_t *used, double *ties)
{
	size_t lo = 0, hi = n, rank = 0;
	double sum = 0;

	*ties = 0;
	while (lo < n && d[lo] < 0)
		lo++;
	hi = lo;
	while (hi < n && d[hi] == 0) /* NOLINT: exactly zero */
		hi++;
	*used = n - (hi - lo);
	while (lo > 0 || hi < n) {
		double a = lo ? -d[lo - 1] : INFINITY, b = hi < n ? d[hi] : INFINITY,
		       m = a < b ? a : b;
		size_t minus = 0, plus = 0;

		while (lo && -d[lo - 1] <= m)
			lo--, minus++;
		while (hi < n && d[hi] <= m)
			hi++, plus++;
		double t = (double)(minus + plus);

		sum += (double)plus * ((double)rank + (t + 1) / 2);
		*ties += t * t * t - t;
		rank += minus + plus;
	}
	return sum;
}

void infer_shift_paired(struct infer_shift *s, double *d, size_t n, double level)
{
	struct ranks r;
	size_t used;
	double ties, sum, m;

	*s = (struct infer_shift){ .lo = -INFINITY, .hi = INFINITY, .p = 1 };
	if (!n)
		return;
	infer_sort(d, n);
	sum = rank_positive(d, n, &used, &ties);
	m = (double)used;
	r.exact = used == n && !(ties > 0) && n <= EXACT_PAIRS;
	r.most = (uint64_t)used * (used + 1) / 2;
	r.mean = m * (m + 1) / 4;
	r.sd = sqrt((m * (m + 1) * (2 * m + 1) - ties / 2) / 24);
	if (r.exact)
		signed_rank_sums(&r, n);
	if (r.exact)
		s->p = exact_p(&r, sum);
	else if (r.sd > 0)
		s->p = 2 * stat_normal(-fabs((sum - r.mean) / r.sd));
	r.mean = (double)n * (double)(n + 1) / 4; /* for the interval, zeros count too */
	set_interval(s, &(struct stat_pairs){ d, NULL, n, 0 }, &r, (uint64_t)n * (n + 1) / 2,
	             level);
}

/* Return U of b: the number of pairs with b > a, plus half of the equal pairs.  *ties: of both
 * samples together. */
static double rank_above(const double *a, size_t na, const double *b, size_t nb, double *ties)
{
	size_t i = 0, j = 0;
	double u = 0;

	*ties = 0;
	while (i < na || j < nb) {
		double m = i == na || (j < nb && b[j] < a[i]) ? b[j] : a[i];
		size_t of_a = 0, of_b = 0;

		while (i < na && a[i] <= m)
			i++, of_a++;
		while (j < nb && b[j] <= m)
			j++, of_b++;
		double t = (double)(of_a + of_b);

		u += (double)of_b * ((double)(i - of_a) + (double)of_a / 2);
		*ties += t * t * t - t;
	}
	return u;
}

void infer_shift_unpaired(struct infer_shift *s, double *a, size_t na, double *b, size_t nb,
                          double level)
{
	struct ranks r;
	double ties, u, x = (double)na, y = (double)nb, n = x + y;

	*s = (struct infer_shift){ .lo = -INFINITY, .hi = INFINITY, .p = 1 };
	if (!na || !nb)
		return;
	infer_sort(a, na);
	infer_sort(b, nb);
	u = rank_above(a, na, b, nb, &ties);
	r.exact = !(ties > 0) && na <= EXACT_EACH && nb <= EXACT_EACH;
	r.most = (uint64_t)na * nb;
	r.mean = x * y / 2;
	r.sd = n > 1 ? sqrt(x * y / 12 * (n + 1 - ties / (n * (n - 1)))) : 0;
	if (r.exact)
		rank_sums(&r, na, nb);
	if (r.exact)
		s->p = exact_p(&r, u);
	else if (r.sd > 0) { /* with continuity correction */
		double z = fabs(u - r.mean) - 0.5;

		s->p = 2 * stat_normal(-(z > 0 ? z : 0) / r.sd);
	}
	set_interval(s, &(struct stat_pairs){ a, b, na, nb }, &r, (uint64_t)na * nb, level);
}

void infer_holm(double *p, size_t n)
{
	double most = 0;

	/* adjusted values are stored as -1 - p until all are computed */
	for (size_t k = 0; k < n; k++) {
		size_t least = n;

		for (size_t i = 0; i < n; i++)
			if (p[i] >= 0 && (least == n || p[i] < p[least]))
				least = i;
		double v = p[least] * (double)(n - k);

		v = v > 1 ? 1 : v;
		most = v > most ? v : most;
		p[least] = -1 - most;
	}
	for (size_t i = 0; i < n; i++)
		p[i] = -1 - p[i];
}
