/* tests/unit/infer-bench/test_judge.c - verdicts on measurements whose truth is known, because they
 * were made. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "infer-bench/judge.h"
#include "base/rng.h"

enum { N = 20, TRIALS = 200 };

/* Skewed noise, as that of a machine: sometimes much slower, never faster than it can. */
static double noise(uint64_t seed, uint64_t i, double spread)
{
	return 1 + spread * -log(1 - rng_unit(seed, i));
}

/* How often `times` of a program that takes `factor` times as long are judged worse. */
static int count_worse(double factor, double drift, enum pairing paired, enum verdict want)
{
	int found = 0;

	for (uint64_t t = 0; t < TRIALS; t++) {
		double a[N], b[N];
		struct judged j = { 0 }, *all = &j;
		struct arena mem;

		arena_init(&mem, MEM_BASE);
		for (uint64_t i = 0; i < N; i++) {
			/* the load of the machine, common to both of a round */
			double load = 1 + drift * rng_unit(3, t * N + i);

			a[i] = load * noise(1, t * N + i, 0.02);
			b[i] = load * noise(2, t * N + i, 0.02) * factor;
		}
		assert_int_equal(judge(&j, a, N, b, N, paired, &mem, NULL), INFER_OK);
		judge_verdicts(&all, 1, 0.02, &mem);
		found += j.verdict == want;
		arena_fini(&mem);
	}
	return found;
}

static void test_power(void **state)
{
	(void)state;
	/* one in a hundred at most by chance, and that only beyond the tolerance */
	assert_in_range(count_worse(1, 0, PAIR_ROUNDS, VERDICT_SAME), TRIALS * 99 / 100, TRIALS);
	assert_in_range(count_worse(1, 0.5, PAIR_ROUNDS, VERDICT_SAME), TRIALS * 99 / 100, TRIALS);
	assert_in_range(count_worse(1, 0.5, PAIR_NONE, VERDICT_SAME), TRIALS * 97 / 100, TRIALS);
	assert_in_range(count_worse(1.05, 0, PAIR_NONE, VERDICT_WORSE), TRIALS * 95 / 100, TRIALS);
	assert_in_range(count_worse(1.05, 0.5, PAIR_ROUNDS, VERDICT_WORSE), TRIALS * 95 / 100,
	                TRIALS);
	assert_in_range(count_worse(1 / 1.05, 0.5, PAIR_ROUNDS, VERDICT_BETTER), TRIALS * 95 / 100,
	                TRIALS);
	/* pairs are what finds it: without them load hides it */
	assert_in_range(count_worse(1.05, 0.5, PAIR_NONE, VERDICT_WORSE), 0, TRIALS / 2);
}

static void one(const double *a, size_t na, const double *b, size_t nb, int higher, double drift,
                double tolerance, enum verdict want)
{
	struct judged j = { .higher = higher, .drift = drift }, *all = &j;
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	assert_int_equal(judge(&j, a, na, b, nb, PAIR_NONE, &mem, NULL), INFER_OK);
	judge_verdicts(&all, 1, tolerance, &mem);
	assert_int_equal(j.verdict, want);
	arena_fini(&mem);
}

static void test_rules(void **state)
{
	static const double a[] = { 100, 101, 102, 103, 104, 105, 106, 107 },
			    b[] = { 120, 121, 122, 123, 124, 125, 126, 127 },
			    zero[] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	(void)state;
	one(a, 8, b, 8, 0, 0, 0.02, VERDICT_WORSE);
	one(a, 8, b, 8, 1, 0, 0.02, VERDICT_BETTER);
	one(b, 8, a, 8, 1, 0, 0.02, VERDICT_WORSE);
	one(b, 8, a, 8, 0, 0, 0.02, VERDICT_BETTER);
	one(a, 8, a, 8, 0, 0, 0.02, VERDICT_SAME);
	/* less than the tolerance, and less than the machine moved by itself */
	one(a, 8, b, 8, 0, 0, 0.3, VERDICT_SAME);
	one(a, 8, b, 8, 0, 0.3, 0.02, VERDICT_SAME);
	one(b, 8, a, 8, 0, 0.3, 0.02, VERDICT_SAME);
	/* too few, and no ratio */
	one(a, 3, b, 3, 0, 0, 0.02, VERDICT_UNCLEAR);
	one(zero, 8, zero, 8, 0, 0, 0.02, VERDICT_UNCLEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
