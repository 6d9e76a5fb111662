/* tests/unit/probe/test_probe.c - measuring: every kind of case gives rates, and wrong bits are
 * noticed. */
#include "base/cpu.h"
#include "../left_out.h"
#include "../nth.h"
#include <string.h>

#include "probe/probe.h"

static const struct infer_probe_opts quick = {
	.threads = 2, .repeat = 1, .isa = "ref", .flags = INFER_PROBE_QUICK
};
static infer_probe *probe;
static struct infer_ceilings top;

static int set_up(void **state)
{
	(void)state;
	return infer_probe_open(&probe, &quick, NULL) ||
	       infer_probe_ceilings(probe, NULL, &top, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	infer_probe_close(&probe);
	return 0;
}

static int case_open(void)
{
	infer_probe *p = NULL;
	int rc;

	nth_ok(infer_probe_open(&p, &quick, NULL));
	assert_int_equal(infer_probe_threads(p), 2);
out:
	infer_probe_close(&p);
	return rc;
}

static void ordered(const struct infer_rate *r)
{
	assert_true(r->least > 0 && r->least <= r->median && r->median <= r->most);
}

/* The first case of each kind. */
static int case_measure(void)
{
	struct infer_probe_case c;
	struct infer_probe_result r;
	int seen = 0, rc = INFER_OK;

	for (int i = 0; infer_probe_case(probe, i, &c); i++) {
		int bit = 1 << probe->cases[i].kind;
		if (seen & bit || probe->cases[i].type == INFER_F32)
			continue;
		nth_ok(infer_probe_measure(probe, &c, &r, NULL));
		ordered(&r.fraction), ordered(&r.bytes), ordered(&r.ops), ordered(&r.ceiling);
		assert_true(r.same);
		seen |= bit;
	}
	assert_int_equal(seen, 1 << PROBE_ROWS | 1 << PROBE_TILE | 1 << PROBE_PACK |
	                               1 << PROBE_QUANT | 1 << PROBE_ATTN);
out:
	probe_forget(probe); /* what stays for the next case is no leak */
	return rc;
}

static int find(const char *kernel, struct infer_probe_case *c)
{
	for (int i = 0; infer_probe_case(probe, i, c); i++)
		if (!strcmp(c->kernel, kernel))
			return 1;
	return 0;
}

static int same(const char *kernel)
{
	struct infer_probe_case c;
	struct infer_probe_result r;

	assert_true(find(kernel, &c));
	assert_int_equal(infer_probe_measure(probe, &c, &r, NULL), 0);
	return r.same;
}

static void wrong_mul(float *y, const float *gate, const float *up, int n)
{
	(void)up;
	memcpy(y, gate, (size_t)n * sizeof *y);
}

static void wrong_rows(float *y, size_t ldy, const void *w, size_t row_bytes,
                       const struct kern_act *x, int x_row, int m, int n, int k)
{
	probe->ref.mm[INFER_F32].rows(y, ldy, w, row_bytes, x, x_row, m, n, k - 16);
}

static void test_wrong_bits(void **state)
{
	struct kern right = probe->sets[0];

	(void)state;
	assert_true(same("silu_mul"));
	probe->sets[0].silu_mul = wrong_mul;
	assert_false(same("silu_mul"));
	assert_true(same("rows"));
	probe->sets[0].mm[INFER_F32].rows = wrong_rows;
	assert_false(same("rows"));
	probe->sets[0] = right;
	assert_true(same("rows"));
}

static void wrong_skinny(float *y, size_t ldy, const void *w, size_t row_bytes,
                         const struct kern_act *x, int x_row, int m, int n, int k)
{
	(void)w, (void)row_bytes, (void)x, (void)x_row, (void)n, (void)k;
	for (int i = 0; i < m; i++)
		y[(size_t)i * ldy] = 0;
}

/* where this machine has a set with that loop */
static void test_skinny(void **state)
{
	const struct infer_probe_opts all = { .threads = 1,
		                              .repeat = 1,
		                              .flags = INFER_PROBE_QUICK };
	struct infer_ceilings c;
	infer_probe *before = probe;
	int had = 1;

	(void)state;
	assert_int_equal(infer_probe_open(&probe, &all, NULL), 0);
	assert_int_equal(infer_probe_ceilings(probe, NULL, &c, NULL), 0);
	if (!find("few", &(struct infer_probe_case){ 0 })) {
		had = 0;
	} else {
		assert_true(same("few"));
		for (int i = 0; i < probe->n_sets; i++)
			for (int t = 0; t < INFER_TYPE_COUNT; t++)
				if (probe->sets[i].mm[t].skinny)
					probe->sets[i].mm[t].skinny = wrong_skinny;
		assert_false(same("few"));
	}
	infer_probe_close(&probe);
	probe = before;
	if (!had)
		left_out("needs a processor with loops for few rows");
}

static void test_ceilings(void **state)
{
	assert_true((top.tile_i8.median > 0) ==
	            ((cpu_permit(cpu_features()) & CPU_AMX) == CPU_AMX));
	assert_true((top.tile_bf16.median > 0) == (top.tile_i8.median > 0));
	(void)state;
	ordered(&top.mapped), ordered(&top.memory), ordered(&top.fma), ordered(&top.dot);
}

static void test_refused(void **state)
{
	infer_probe *p;
	infer_error err;

	(void)state;
	assert_int_equal(infer_probe_open(&p, &(struct infer_probe_opts){ .threads = -1 }, &err),
	                 INFER_EINVAL);
	assert_null(p);
	assert_int_equal(
		infer_probe_open(&p, &(struct infer_probe_opts){ .repeat = 1 << 20 }, &err),
		INFER_EINVAL);
	assert_int_equal(infer_probe_open(&p, &(struct infer_probe_opts){ .isa = "nosuch" }, &err),
	                 INFER_EUNSUP);
	assert_non_null(strstr(err.message, "nosuch"));
	assert_null(p);
}

static void test_rate(void **state)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };
	struct infer_rate r = probe_rate(odd, 3, 2);

	(void)state;
	assert_true(r.median == 4 && r.least == 2 && r.most == 6);
	r = probe_rate(even, 4, 1);
	assert_true(r.median == 2.5 && r.least == 1 && r.most == 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_open),
		nth_case(case_measure),
		cmocka_unit_test(test_wrong_bits),
		cmocka_unit_test(test_skinny),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
