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

enum { TRIALS = 1000, MOST = 100, METRICS = 3 };

/* Noise of a machine: skewed (sometimes slower, never faster than it can), or with one measurement in
 * five that other programs made up to six times as long. */
enum noise { SKEWED, DISTURBED };

struct world {
	enum noise noise;
	double load;         /* how much the machine moves from one pair to the next, a ratio */
	enum pairing paired; /* NONE: of the two sides in any order */
	size_t n_base, n_new;
	double factor; /* what the new program takes of the old one's time */
};

static double draw(const struct world *w, uint64_t seed, uint64_t i)
{
	double v = 1 + 0.02 * -log(1 - rng_unit(seed, i));

	if (w->noise == DISTURBED && rng_unit(seed + 100, i) < 0.2)
		v *= 1 + 5 * rng_unit(seed + 200, i);
	return v;
}

/* What METRICS independent metrics of a comparison say. */
static void judge_once(struct judged j[METRICS], const struct world *w, uint64_t trial,
                       double tolerance)
{
	struct judged *all[METRICS];
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	for (uint64_t m = 0; m < METRICS; m++) {
		double a[MOST], b[MOST];
		uint64_t seed = 10 * m;

		for (uint64_t i = 0; i < w->n_base || i < w->n_new; i++) {
			/* common to both of a pair */
			double load = 1 + w->load * rng_unit(seed + 3, trial * MOST + i);

			a[i] = load * draw(w, seed + 1, trial * MOST + i);
			b[i] = load * draw(w, seed + 2, trial * MOST + i) * w->factor;
		}
		j[m] = (struct judged){ 0 };
		all[m] = &j[m];
		assert_int_equal(judge(&j[m], a, w->n_base, b, w->n_new, w->paired, &mem, NULL),
		                 INFER_OK);
	}
	judge_verdicts(all, METRICS, tolerance, &mem);
	arena_fini(&mem);
}

/* In how many trials at least one metric has the verdict. */
static int count_verdicts(const struct world *w, double tolerance, enum verdict want)
{
	int found = 0;

	for (uint64_t t = 0; t < TRIALS; t++) {
		struct judged j[METRICS];
		int any = 0;

		judge_once(j, w, t, tolerance);
		for (int m = 0; m < METRICS; m++)
			any |= j[m].verdict == want;
		found += any;
	}
	return found;
}

/* The sizes that infer-bench meets: turns of a record, records in turns, rounds of ab. */
static const struct world equal_worlds[] = {
	{ SKEWED, 0, PAIR_ROUNDS, 5, 5, 1 },      { SKEWED, 0.5, PAIR_ROUNDS, 5, 5, 1 },
	{ DISTURBED, 0.5, PAIR_ROUNDS, 5, 5, 1 }, { DISTURBED, 0.5, PAIR_ROUNDS, 15, 15, 1 },
	{ SKEWED, 0.5, PAIR_ROUNDS, 16, 16, 1 },  { DISTURBED, 0.5, PAIR_ROUNDS, 20, 20, 1 },
	{ DISTURBED, 2, PAIR_ROUNDS, 60, 60, 1 }, { SKEWED, 0, PAIR_NONE, 5, 5, 1 },
	{ SKEWED, 0.5, PAIR_NONE, 5, 5, 1 },      { DISTURBED, 0, PAIR_NONE, 5, 5, 1 },
	{ SKEWED, 0, PAIR_NONE, 5, 20, 1 },       { DISTURBED, 0, PAIR_NONE, 9, 9, 1 },
	{ DISTURBED, 0, PAIR_NONE, 10, 10, 1 },   { SKEWED, 0.5, PAIR_NONE, 20, 60, 1 },
	{ SKEWED, 0, PAIR_NONE, 5, 12, 1 },       { DISTURBED, 0, PAIR_NONE, 7, 7, 1 },
	{ SKEWED, 0, PAIR_NONE, 2, 20, 1 },       { SKEWED, 0, PAIR_NONE, 4, 30, 1 },
};
enum { WORLDS = sizeof equal_worlds / sizeof *equal_worlds };

/* Of equal programs at most 1 in 100 comparisons finds something significant, and 99 in 100 intervals contain
 * the truth. The limits are three standard deviations more and less. */
static void test_level(void **state)
{
	(void)state;
	for (int i = 0; i < WORLDS; i++) {
		const struct world *w = &equal_worlds[i];
		int alarms = 0, covered = 0;

		for (uint64_t t = 0; t < TRIALS; t++) {
			struct judged j[METRICS];
			int any = 0;

			judge_once(j, w, t, 0);
			for (int m = 0; m < METRICS; m++) {
				any |= j[m].p <= 0.01;
				covered += j[m].lo <= 0 && j[m].hi >= 0;
			}
			alarms += any;
		}
		if (alarms > 19 || covered < METRICS * TRIALS * 0.99 - 17)
			fail_msg("world %d: %d of %d alarms, %d of %d intervals", i, alarms, TRIALS,
			         covered, METRICS * TRIALS);
	}
}

/* What differs by twice the tolerance, or by half, is not the same. */
static void test_same(void **state)
{
	(void)state;
	for (int i = 0; i < WORLDS; i++) {
		struct world w = equal_worlds[i];

		w.factor = 1.04;
		assert_in_range(count_verdicts(&w, 0.02, VERDICT_SAME), 0, TRIALS / 100);
		w.factor = 2;
		assert_int_equal(count_verdicts(&w, 0.02, VERDICT_SAME), 0);
		w.factor = 0.5;
		assert_int_equal(count_verdicts(&w, 0.02, VERDICT_SAME), 0);
	}
	/* and equal programs are, with enough rounds */
	assert_in_range(count_verdicts(&(struct world){ SKEWED, 0.5, PAIR_ROUNDS, 40, 40, 1 }, 0.02,
	                               VERDICT_SAME),
	                TRIALS * 95 / 100, TRIALS);
}

/* With a tolerance, chance makes equal programs better or worse in 3 of 1000 comparisons at most: small changes
 * are within it, and large ones come from wide intervals, for which the level is strict. */
static void test_alarms(void **state)
{
	(void)state;
	for (int i = 0; i < WORLDS; i++)
		assert_in_range(count_verdicts(&equal_worlds[i], 0.02, VERDICT_WORSE) +
		                        count_verdicts(&equal_worlds[i], 0.02, VERDICT_BETTER),
		                0, TRIALS * 8 / 1000);
}

static void test_power(void **state)
{
	(void)state;
	/* half the rate shows in five turns of each, which ranks could not tell */
	assert_in_range(count_verdicts(&(struct world){ SKEWED, 0, PAIR_NONE, 5, 5, 2 }, 0.02,
	                               VERDICT_WORSE),
	                TRIALS * 99 / 100, TRIALS);
	assert_in_range(count_verdicts(&(struct world){ SKEWED, 0.5, PAIR_ROUNDS, 5, 5, 2 }, 0.02,
	                               VERDICT_WORSE),
	                TRIALS * 99 / 100, TRIALS);
	assert_in_range(count_verdicts(&(struct world){ SKEWED, 0.5, PAIR_ROUNDS, 20, 20, 1.05 },
	                               0.02, VERDICT_WORSE),
	                TRIALS * 95 / 100, TRIALS);
	assert_in_range(
		count_verdicts(&(struct world){ SKEWED, 0.5, PAIR_ROUNDS, 20, 20, 1 / 1.05 }, 0.02,
	                       VERDICT_BETTER),
		TRIALS * 95 / 100, TRIALS);
	assert_in_range(
		count_verdicts(&(struct world){ DISTURBED, 0.5, PAIR_ROUNDS, 100, 100, 1.05 }, 0.02,
	                       VERDICT_WORSE),
		TRIALS * 95 / 100, TRIALS);
	/* pairs are what finds it: without them load hides it */
	assert_in_range(count_verdicts(&(struct world){ SKEWED, 0.5, PAIR_NONE, 20, 20, 1.05 },
	                               0.02, VERDICT_WORSE),
	                0, TRIALS / 2);
}

static struct judged one(const double *a, size_t na, const double *b, size_t nb, int higher,
                         struct judge_machine machine, double tolerance, enum verdict want)
{
	struct judged j = { .higher = higher, .machine = machine }, *all = &j;
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	assert_int_equal(judge(&j, a, na, b, nb, PAIR_NONE, &mem, NULL), INFER_OK);
	judge_verdicts(&all, 1, tolerance, &mem);
	assert_int_equal(j.verdict, want);
	assert_int_equal(j.doubt != DOUBT_NONE, j.verdict == VERDICT_UNCLEAR);
	arena_fini(&mem);
	return j;
}

static const struct judge_machine still = { 0 }, drifted = { 0, 0.3, 0 }, lone = { 1, 0, 0 },
				  lone_drifted = { 1, 0.3, 0 }, unknown = { 1, INFINITY, 0 },
				  no_waits = { 1, 0, -1 }, busy = { 1, 0, 0.1 };
static const double a[] = { 100, 101, 102, 103, 104, 105, 106, 107 },
		    b[] = { 120, 121, 122, 123, 124, 125, 126, 127 },
		    half[] = { 50, 50.5, 51, 51.5, 52, 52.5, 53, 53.5 },
		    near[] = { 99.9, 100, 100.1, 100, 99.95, 100.05, 100, 100.01 },
		    zero[] = { 0, 0, 0, 0, 0, 0, 0, 0 };

static void test_rules(void **state)
{
	struct judged j;

	(void)state;
	one(a, 8, b, 8, 0, still, 0.02, VERDICT_WORSE);
	one(a, 8, b, 8, 1, still, 0.02, VERDICT_BETTER);
	one(b, 8, a, 8, 1, still, 0.02, VERDICT_WORSE);
	one(b, 8, a, 8, 0, still, 0.02, VERDICT_BETTER);
	one(near, 8, near, 8, 0, still, 0.02, VERDICT_SAME);
	one(a, 8, b, 8, 0, still, 0.3, VERDICT_SAME);
	/* the interval is wider than the tolerance: more measurements are asked for */
	j = one(a, 8, a, 8, 0, still, 0.02, VERDICT_UNCLEAR);
	assert_int_equal(j.doubt, DOUBT_WIDE);
	assert_in_range(j.needed, 20, 80);
	j = one(a, 8, b, 8, 0, still, 0.195, VERDICT_UNCLEAR);
	assert_int_equal(j.doubt, DOUBT_EDGE);
	/* the typical values have the ratio of the change */
	assert_true(fabs(j.now / j.base - 1 - j.change) < 1e-12);
	/* too few, and no ratio */
	assert_int_equal(one(a, 1, b, 8, 0, still, 0.02, VERDICT_UNCLEAR).doubt, DOUBT_FEW);
	assert_int_equal(one(zero, 8, zero, 8, 0, still, 0.02, VERDICT_UNCLEAR).doubt, DOUBT_RATIO);
}

/* Measured one after the other: only what exceeds the change of the machine counts. */
static void test_machine(void **state)
{
	(void)state;
	assert_int_equal(one(a, 8, b, 8, 0, drifted, 0.02, VERDICT_UNCLEAR).doubt, DOUBT_MOVED);
	assert_int_equal(one(b, 8, a, 8, 0, drifted, 0.02, VERDICT_UNCLEAR).doubt, DOUBT_MOVED);
	one(a, 8, half, 8, 1, drifted, 0.02, VERDICT_WORSE);
	one(a, 8, half, 8, 1, lone_drifted, 0.02, VERDICT_WORSE);
	one(a, 8, b, 8, 0, lone, 0.02, VERDICT_WORSE);
	/* two single runs are never the same, however near: nobody knows how far runs differ */
	assert_int_equal(one(near, 8, near, 8, 0, lone, 0.02, VERDICT_UNCLEAR).doubt, DOUBT_MOVED);
	assert_int_equal(one(a, 8, b, 8, 0, lone_drifted, 0.02, VERDICT_UNCLEAR).doubt,
	                 DOUBT_MOVED);
	assert_int_equal(one(a, 8, half, 8, 0, unknown, 0.02, VERDICT_UNCLEAR).doubt,
	                 DOUBT_UNKNOWN);
	assert_int_equal(one(a, 8, half, 8, 0, no_waits, 0.02, VERDICT_UNCLEAR).doubt,
	                 DOUBT_UNKNOWN);
	assert_int_equal(one(a, 8, half, 8, 0, busy, 0.02, VERDICT_UNCLEAR).doubt, DOUBT_WAITED);
	/* several runs, and a machine that moved by less than what is left of the tolerance */
	one(near, 8, near, 8, 0, (struct judge_machine){ 0, 0.01, 0 }, 0.02, VERDICT_SAME);
	one(near, 8, near, 8, 0, (struct judge_machine){ 0, 0.03, 0 }, 0.02, VERDICT_UNCLEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level),  cmocka_unit_test(test_same),
		cmocka_unit_test(test_alarms), cmocka_unit_test(test_power),
		cmocka_unit_test(test_rules),  cmocka_unit_test(test_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
