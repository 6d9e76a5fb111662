/* stat/student.c - shifts of means, by Student's t: for samples too small for ranks. */
#include <infer/statistic.h>
#include "stat/stat.h"
#include "base/fmath.h"

#include <math.h>

enum { TERMS = 500 };

/* Return the continued fraction of the incomplete beta function, by the method of Lentz: DLMF 8.17.22. */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m < TERMS; m++) {
		double k = m, even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
		       odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1)), step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

/* p = I_x(n / 2, 1 / 2) with x = n / (n + t^2), the regularised incomplete beta function. */
double stat_student(double t, size_t n)
{
	double freedom = (double)n, all = freedom + t * t, x = freedom / all, y = t * t / all,
	       a = freedom / 2, beta = n % 2 ? 3.141592653589793 : 2;

	if (!(t > 0 || t < 0))
		return 1;
	if (isinf(t))
		return 0;
	/* B(a + 1, 1/2) = B(a, 1/2) a / (a + 1/2), from B(1/2, 1/2) = pi or B(1, 1/2) = 2 */
	for (double at = n % 2 ? 0.5 : 1; at + 0.5 < a; at++)
		beta *= at / (at + 0.5);
	double factor = fm_exp(a * fm_log(x) + 0.5 * fm_log(y)) / beta;

	if (x < (a + 1) / (a + 2.5))
		return factor * beta_fraction(x, a, 0.5) / a;
	return 1 - factor * beta_fraction(y, 0.5, a) / 0.5;
}

double stat_student_at(double p, size_t n)
{
	double lo = 0, hi = 1;

	while (hi < 1e15 && stat_student(hi, n) > p)
		hi *= 2;
	for (int i = 0; i < 80; i++) {
		double mid = (lo + hi) / 2;

		if (stat_student(mid, n) > p)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

/* Return the variance of the mean of n > 1 values. */
static double variance_of_mean(const double *v, size_t n, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return sum / ((double)n * (double)(n - 1));
}

static void set_shift(struct infer_shift *s, double estimate, double error, size_t freedom,
                      double level)
{
	double width = stat_student_at(1 - level, freedom) * error;

	s->estimate = estimate;
	s->bounded = 1;
	s->lo = estimate - width;
	s->hi = estimate + width;
	if (error > 0)
		s->p = stat_student(estimate / error, freedom);
	else
		s->p = estimate > 0 || estimate < 0 ? 0 : 1;
}

void infer_shift_paired_t(struct infer_shift *s, const double *d, size_t n, double level)
{
	double mean = infer_mean(d, n);

	*s = (struct infer_shift){ .estimate = mean, .lo = -INFINITY, .hi = INFINITY, .p = 1 };
	if (n > 1)
		set_shift(s, mean, sqrt(variance_of_mean(d, n, mean)), n - 1, level);
}

void infer_shift_unpaired_t(struct infer_shift *s, const double *a, size_t na, const double *b,
                            size_t nb, double level)
{
	double ma = infer_mean(a, na), mb = infer_mean(b, nb), va, vb;

	*s = (struct infer_shift){ .lo = -INFINITY, .hi = INFINITY, .p = 1 };
	if (!na || !nb)
		return;
	s->estimate = mb - ma;
	if (na < 2 || nb < 2)
		return;
	va = variance_of_mean(a, na, ma);
	vb = variance_of_mean(b, nb, mb);
	set_shift(s, mb - ma, sqrt(va + vb), (na < nb ? na : nb) - 1, level);
}
