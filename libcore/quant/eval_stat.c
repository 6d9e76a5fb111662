/* quant/eval_stat.c - means, quantiles and shares with their errors */
#include "quant/eval.h"
#include "base/err.h"

#include <math.h>

#define Z95 1.959963984540054 /* 97.5 % quantile of the normal distribution */

struct infer_eval_mean eval_mean(const double *x, size_t n)
{
	struct infer_eval_mean m = { 0, 0 };
	double squares = 0;

	must(n);
	for (size_t i = 0; i < n; i++)
		m.value += x[i];
	m.value /= (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - m.value) * (x[i] - m.value);
	if (n > 1)
		m.se = sqrt(squares / (double)(n - 1) / (double)n);
	return m;
}

struct infer_eval_range eval_around(const struct infer_eval_mean *m)
{
	return (struct infer_eval_range){ m->value, m->value - Z95 * m->se,
		                          m->value + Z95 * m->se };
}

/* Return the value of rank r, which is clamped to 1 ... n. */
static double at_rank(const double *x, size_t n, double r)
{
	if (!(r > 1))
		return x[0];
	return r >= (double)n ? x[n - 1] : x[(size_t)r - 1];
}

struct infer_eval_range eval_quantile(const double *x, size_t n, double q)
{
	double at = q * (double)(n - 1), whole = floor(at), np = (double)n * q,
	       wide = Z95 * sqrt(np * (1 - q));
	size_t i = (size_t)whole, k = i + 1 < n ? i + 1 : i;

	return (struct infer_eval_range){ x[i] + (at - whole) * (x[k] - x[i]),
		                          at_rank(x, n, floor(np - wide)),
		                          at_rank(x, n, ceil(np + wide)) };
}

struct infer_eval_range eval_share(uint64_t k, uint64_t n)
{
	double p = (double)k / (double)n, z = Z95 * Z95 / (double)n,
	       wide = Z95 * sqrt(p * (1 - p) / (double)n + z / (4 * (double)n)) / (1 + z),
	       middle = (p + z / 2) / (1 + z);

	return (struct infer_eval_range){ p, k ? middle - wide : 0, k < n ? middle + wide : 1 };
}
