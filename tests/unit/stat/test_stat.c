/* tests/unit/stat/test_stat.c - statistics against numpy and scipy: scripts/golden-stat.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <infer/statistic.h>
#include "stat/stat.h"
#include "../json.h"

enum { MOST = 1000 };

static int counted[8];

static size_t numbers(double *v, const struct json *list)
{
	size_t n = 0;

	json_each(x, list) {
		assert_true(n < MOST);
		v[n++] = json_double(x);
	}
	return n;
}

static void near(double got, double want, const char *what, int line)
{
	double scale = fabs(want) > 1e-300 ? fabs(want) : 1;

	if (fabs(got - want) > 1e-9 * scale && fabs(got - want) > 1e-13)
		fail_msg("line %d: %s: %.17g, not %.17g", line, what, got, want);
}

static double number(const struct json *row, const char *key)
{
	return json_double(json_get(row, key));
}

static void check_quantile(const struct json *row, int line)
{
	double v[MOST], lo, hi, q = number(row, "q");
	size_t n = numbers(v, json_get(row, "v"));
	const struct json *i = json_get(row, "interval");

	near(infer_quantile(v, n, q), number(row, "value"), "quantile", line);
	if (!i)
		return;
	assert_int_equal(infer_quantile_interval(v, n, q, 0.95, &lo, &hi), json_is_array(i));
	if (json_is_array(i)) {
		near(lo, json_double(json_at(i, 0)), "low end", line);
		near(hi, json_double(json_at(i, 1)), "high end", line);
	}
}

static void check_shift(const struct infer_shift *s, const struct json *row, int line)
{
	const struct json *want = json_get(row, "shift");

	near(s->p, number(row, "p"), "p", line);
	near(s->estimate, json_double(json_at(want, 0)), "estimate", line);
	assert_int_equal(s->bounded, json_is_number(json_at(want, 1)));
	if (s->bounded) {
		near(s->lo, json_double(json_at(want, 1)), "low end", line);
		near(s->hi, json_double(json_at(want, 2)), "high end", line);
	} else {
		assert_true(isinf(s->lo) && isinf(s->hi));
	}
}

static void check(const struct json *row, int line)
{
	double a[MOST], b[MOST];
	struct infer_shift s;
	const struct json *test = json_get(row, "test");

	if (json_equals(test, "quantile")) {
		counted[0]++;
		check_quantile(row, line);
	} else if (json_equals(test, "paired")) {
		counted[1]++;
		infer_shift_paired(&s, a, numbers(a, json_get(row, "d")), 0.95);
		check_shift(&s, row, line);
	} else if (json_equals(test, "unpaired")) {
		size_t na = numbers(a, json_get(row, "a")), nb = numbers(b, json_get(row, "b"));

		counted[2]++;
		infer_shift_unpaired(&s, a, na, b, nb, 0.95);
		check_shift(&s, row, line);
	} else if (json_equals(test, "paired t")) {
		counted[5]++;
		infer_shift_paired_t(&s, a, numbers(a, json_get(row, "d")), 0.95);
		check_shift(&s, row, line);
	} else if (json_equals(test, "unpaired t")) {
		size_t na = numbers(a, json_get(row, "a")), nb = numbers(b, json_get(row, "b"));

		counted[6]++;
		infer_shift_unpaired_t(&s, a, na, b, nb, 0.95);
		check_shift(&s, row, line);
	} else if (json_equals(test, "student")) {
		size_t freedom = (size_t)number(row, "df");

		counted[7]++;
		near(stat_student(number(row, "t"), freedom), number(row, "p"), "student", line);
		if (number(row, "p") > 1e-300)
			near(stat_student_at(number(row, "p"), freedom), fabs(number(row, "t")),
			     "inverse of student", line);
	} else if (json_equals(test, "holm")) {
		size_t n = numbers(a, json_get(row, "v"));

		counted[3]++;
		infer_holm(a, n);
		assert_int_equal(numbers(b, json_get(row, "adjusted")), n);
		for (size_t i = 0; i < n; i++)
			near(a[i], b[i], "adjusted", line);
	} else {
		counted[4]++;
		assert_true(json_equals(test, "normal"));
		near(stat_normal(number(row, "z")), number(row, "p"), "normal", line);
	}
}

static void test_golden(void **state)
{
	FILE *f = fopen("tests/golden/stat/cases.jsonl", "r");
	char *text = NULL;
	size_t cap = 0;
	int line = 0;

	(void)state;
	assert_non_null(f);
	while (getline(&text, &cap, f) > 0) {
		struct arena a;

		arena_init(&a, MEM_BASE);
		check(json_need(&a, text), ++line);
		arena_fini(&a);
	}
	free(text);
	fclose(f);
	for (int i = 0; i < 8; i++)
		assert_true(counted[i] >= 4);
}

static void test_nothing(void **state)
{
	struct infer_shift s;

	(void)state;
	infer_shift_paired(&s, NULL, 0, 0.95);
	assert_true(!s.bounded && s.p >= 1);
	infer_shift_unpaired(&s, NULL, 0, NULL, 0, 0.95);
	assert_true(!s.bounded && s.p >= 1);
	double equal[] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	infer_shift_paired(&s, equal, 8, 0.95);
	assert_true(s.p >= 1 && !(s.estimate > 0 || s.estimate < 0));
	infer_shift_paired_t(&s, NULL, 0, 0.95);
	assert_true(!s.bounded && s.p >= 1);
	infer_shift_unpaired_t(&s, equal, 1, equal, 8, 0.95);
	assert_true(!s.bounded && s.p >= 1);
	/* without any spread a difference is certain, and no difference too */
	infer_shift_paired_t(&s, equal, 8, 0.95);
	assert_true(s.bounded && s.p >= 1);
	equal[7] = equal[6] = 1;
	infer_shift_unpaired_t(&s, equal, 6, equal + 6, 2, 0.95);
	assert_true(s.bounded && s.p <= 0 && s.lo >= 1 && s.hi <= 1);
	near(stat_normal_at(0.975), 1.959963984540054, "inverse", 0);
	infer_holm(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
