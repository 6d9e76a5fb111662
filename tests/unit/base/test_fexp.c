/* tests/unit/base/test_fexp.c - the error of exp for sums, against long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "base/fexp.h"
#include "base/rng.h"

static double worst, worst_at;

static void at(double x)
{
	long double want = expl((long double)x);
	double ulp = nextafter((double)want, INFINITY) - (double)want,
	       off = (double)(fabsl((long double)fexp(x) - want) / (long double)ulp);

	if (!(off <= worst)) {
		worst = off;
		worst_at = x;
	}
}

static void test_error(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 2000000; i++) {
		double u = rng_unit(7, i);

		at(-708 * u);
		at(-40 * u);
		at(-u);
		at(700 * u);
		at(-ldexp(u, -(int)(i % 60)));
	}
	/* about the borders between two powers of two */
	for (int n = -1020; n < 1000; n++)
		for (int k = -3; k <= 3; k++)
			at((n + 0.5) * 0.69314718055994531 * (1 + k * 0x1p-52));
	print_message("# largest error: %.3f ulp, at %.17g\n", worst, worst_at);
	assert_true(worst <= 1.0);
}

static void test_ends(void **state)
{
	(void)state;
	assert_true(fexp(0) == 1 && fexp(-0.0) == 1);
	assert_true(fexp(-708.5) == 0 && fexp(-1e300) == 0 && fexp(-INFINITY) == 0);
	assert_true(fexp(-708) > 0);
	assert_true(fexp(NAN) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_error),
		                            cmocka_unit_test(test_ends) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
