/* tests/unit/base/test_fmath.c - errors in units in the last place, compared with the functions
 * of long double.  Every function is tested over its whole range, in steps that are not a power
 * of two, and then where it is weakest; the bounds are those of base/fmath.h. */
#include "../nth.h"
#include "base/fmath.h"
#include "base/num.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static uint64_t draw_state = 1;

static double draw(double lo, double hi)
{
	draw_state = draw_state * 6364136223846793005 + 1442695040888963407;
	return lo + (hi - lo) * (double)(draw_state >> 11) * 0x1p-53;
}

/* Error of got in units of the last of `digits` bits of want, least being the smallest normal
 * exponent. */
static double ulps(double got, long double want, int digits, int least, long double over)
{
	int e;

	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (isinf(got))
		return fabsl(want) >= over && !signbit(got) == !signbit(want) ? 0 : INFINITY;
	if (isinf(want))
		return INFINITY;
	frexpl(want, &e);
	if (want == 0 || e < least)
		e = least;
	return (double)(fabsl(got - want) / ldexpl(1, e - digits));
}

static double ulps32(float got, long double want)
{
	return ulps(got, want, 24, -125, 0x1.ffffffp127L);
}
static double ulps64(double got, long double want)
{
	return ulps(got, want, 53, -1021, 0x1.fffffffffffff8p1023L);
}

struct worst {
	double ulps, at;
};

static void keep(struct worst *w, double u, double at)
{
	if (!(u <= w->ulps))
		*w = (struct worst){ u, at };
}

static void report(const char *name, struct worst w, double bound)
{
	printf("# %s: %.4f ulp at %a\n", name, w.ulps, w.at);
	if (!(w.ulps <= bound))
		fail_msg("%s: %g ulp at %a, not <= %g", name, w.ulps, w.at, bound);
}

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }

static void sweep32(const char *name, float (*f)(float), long double (*truth)(long double),
                    double bound, uint32_t step, float lo, float hi)
{
	struct worst w = { 0, 0 };

	for (uint64_t u = 0; u < (uint64_t)1 << 32; u += step)
		keep(&w, ulps32(f(num_float((uint32_t)u)), truth(num_float((uint32_t)u))),
		     num_float((uint32_t)u));
	for (int i = 0; i < 300000; i++) {
		float x = (float)draw(lo, hi);

		keep(&w, ulps32(f(x), truth(x)), x);
	}
	report(name, w, bound);
}

static void test_expf(void **state)
{
	(void)state;
	sweep32("expf", fm_expf, expl, 1.0, 8191, -105, 90);
	sweep32("expf", fm_expf, expl, 1.0, 1 << 30 | 1, -6, 6);
	assert_true(fm_expf(0) == 1 && fm_expf(-0.0f) == 1);
	assert_true(fm_expf(INFINITY) == INFINITY && fm_expf(-INFINITY) == 0);
	assert_true(fm_expf(FLT_MAX) == INFINITY && fm_expf(-FLT_MAX) == 0);
	assert_true(fm_expf(-104) == 0 && fm_expf(88.8f) == INFINITY);
	assert_true(fm_expf(-103) > 0 && fm_expf(88.7f) < INFINITY);
	assert_true(isnan(fm_expf(NAN)) && isnan(fm_expf(-NAN)));
}

static void test_logf(void **state)
{
	(void)state;
	sweep32("logf", fm_logf, logl, 1.0, 8191, 0.25, 4);
	assert_true(fm_logf(1) == 0 && !signbit(fm_logf(1)));
	assert_true(fm_logf(0) == -INFINITY && fm_logf(-0.0f) == -INFINITY);
	assert_true(isnan(fm_logf(-1e-45f)) && isnan(fm_logf(-INFINITY)) && isnan(fm_logf(NAN)));
	assert_true(fm_logf(INFINITY) == INFINITY);
}

static void test_tanhf(void **state)
{
	(void)state;
	sweep32("tanhf", fm_tanhf, tanhl, 1.5, 8191, -10, 10);
	sweep32("tanhf", fm_tanhf, tanhl, 1.5, 1 << 30 | 1, 0.5, 0.8);
	assert_true(fm_tanhf(INFINITY) == 1 && fm_tanhf(-INFINITY) == -1 && isnan(fm_tanhf(NAN)));
	assert_true(fm_tanhf(-0.0f) == 0 && signbit(fm_tanhf(-0.0f)));
	assert_true(fm_tanhf(1e-40f) == 1e-40f);
}

static void test_sigmoidf(void **state)
{
	(void)state;
	sweep32("sigmoidf", fm_sigmoidf, sigmoid, 2.5, 8191, -104, 20);
	sweep32("sigmoidf", fm_sigmoidf, sigmoid, 2.5, 1 << 30 | 1, -20, 20);
	assert_true(fm_sigmoidf(0) == 0.5f && fm_sigmoidf(INFINITY) == 1 &&
	            fm_sigmoidf(-INFINITY) == 0);
	assert_true(isnan(fm_sigmoidf(NAN)));
}

static void sweep64(const char *name, double (*f)(double), long double (*truth)(long double),
                    double bound, double lo, double hi)
{
	struct worst w = { 0, 0 };

	for (int i = 0; i < 200000; i++) {
		double x = draw(lo, hi);

		keep(&w, ulps64(f(x), truth(x)), x);
	}
	report(name, w, bound);
}

static void test_exp(void **state)
{
	(void)state;
	sweep64("exp", fm_exp, expl, 1.0, -750, 715);
	sweep64("exp", fm_exp, expl, 1.0, -1, 1);
	sweep64("exp, subnormal", fm_exp, expl, 1.0, -746, -708);
	assert_true(fm_exp(0) == 1 && fm_exp(INFINITY) == INFINITY && fm_exp(-INFINITY) == 0 &&
	            isnan(fm_exp(NAN)));
	assert_true(fm_exp(710) == INFINITY && fm_exp(-746) == 0 && fm_exp(-1e300) == 0 &&
	            fm_exp(1e300) == INFINITY);
}

static void test_log(void **state)
{
	struct worst w = { 0, 0 };

	(void)state;
	for (int i = 0; i < 200000; i++) {
		double x = ldexp(draw(0.5, 1), (int)draw(-1073, 1025));

		keep(&w, ulps64(fm_log(x), logl(x)), x);
	}
	report("log", w, 1.0);
	sweep64("log", fm_log, logl, 1.0, 0.6, 1.6);
	sweep64("log", fm_log, logl, 1.0, 1 - 1e-6, 1 + 1e-6);
	assert_true(fm_log(1) == 0 && fm_log(0) == -INFINITY && fm_log(INFINITY) == INFINITY);
	assert_true(isnan(fm_log(-1)) && isnan(fm_log(NAN)) && isnan(fm_log(-INFINITY)));
}

static void test_pow(void **state)
{
	struct worst w = { 0, 0 };

	(void)state;
	for (int i = 0; i < 200000; i++) {
		double x = ldexp(draw(0.5, 1), (int)draw(-1000, 1000)),
		       y = draw(-745, 710) / fabs(log(x));

		keep(&w, ulps64(fm_pow(x, y), powl(x, y)), x);
		x = draw(0.999, 1.001);
		y = draw(-1e5, 1e5);
		keep(&w, ulps64(fm_pow(x, y), powl(x, y)), x);
		x = draw(1e3, 1e7); /* bases of rotary embeddings */
		y = -draw(0, 1);
		keep(&w, ulps64(fm_pow(x, y), powl(x, y)), x);
	}
	report("pow", w, 1.0);
	assert_true(fm_pow(0, 1) == 0 && fm_pow(0, -1) == INFINITY && fm_pow(0, 0) == 1 &&
	            fm_pow(-3, 0) == 1);
	assert_true(fm_pow(2, 10) == 1024 && fm_pow(1, INFINITY) == 1 && fm_pow(4, 0.5) == 2);
	assert_true(fm_pow(INFINITY, 2) == INFINITY && fm_pow(INFINITY, -2) == 0);
	assert_true(fm_pow(2, INFINITY) == INFINITY && fm_pow(2, -INFINITY) == 0 &&
	            fm_pow(0.5, INFINITY) == 0);
	assert_true(fm_pow(2, 1e300) == INFINITY && fm_pow(2, -1e300) == 0);
	assert_true(isnan(fm_pow(-2, 2)) && isnan(fm_pow(NAN, 1)) && isnan(fm_pow(2, NAN)) &&
	            isnan(fm_pow(0, NAN)));
}

/* sinl and cosl reduce their argument with as many bits of pi as it takes. */
static void test_sin_cos(void **state)
{
	static const double reach[] = { 1e-3, 1, 10, 1e4, 0x1p30 };
	struct worst s = { 0, 0 }, c = { 0, 0 };

	(void)state;
	for (size_t k = 0; k < sizeof reach / sizeof *reach; k++) {
		sweep64("sin", fm_sin, sinl, 1.0, -reach[k], reach[k]);
		sweep64("cos", fm_cos, cosl, 1.0, -reach[k], reach[k]);
	}
	for (int i = 0; i < 200000; i++) { /* next to multiples of pi/2, where most bits cancel */
		double x =
			(double)((long double)(int64_t)draw(0, 0x1p29) * 1.57079632679489661923L);

		keep(&s, ulps64(fm_sin(x), sinl(x)), x);
		keep(&c, ulps64(fm_cos(x), cosl(x)), x);
	}
	report("sin near zeros", s, 1.0);
	report("cos near zeros", c, 1.0);
	for (int64_t n = 0; n < 100000; n++) { /* positions are integers */
		keep(&s, ulps64(fm_sin((double)n), sinl(n)), (double)n);
		keep(&c, ulps64(fm_cos((double)n), cosl(n)), (double)n);
	}
	report("sin of integers", s, 1.0);
	report("cos of integers", c, 1.0);
	assert_true(fm_sin(0) == 0 && signbit(fm_sin(-0.0)) && fm_cos(0) == 1 &&
	            fm_sin(1e-300) == 1e-300);
	assert_false(isnan(fm_sin(0x1p30)) || isnan(fm_cos(-0x1p30)));
	assert_true(isnan(fm_sin(0x1.0000000000001p30)) && isnan(fm_cos(0x1.0000000000001p30)));
	assert_true(isnan(fm_sin(INFINITY)) && isnan(fm_cos(NAN)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expf),  cmocka_unit_test(test_logf),
		cmocka_unit_test(test_tanhf), cmocka_unit_test(test_sigmoidf),
		cmocka_unit_test(test_exp),   cmocka_unit_test(test_log),
		cmocka_unit_test(test_pow),   cmocka_unit_test(test_sin_cos),
	};
	return nth_group(tests);
}
