/* tests/unit/sample/test_param.c - the table of sampling parameters: its rows are consistent,
 * and agree with set, get, resolve and a sampler. */
#include "../nth.h"
#include <math.h>
#include <string.h>
#include <infer/param.h>

static int within(const struct infer_sample_range *r, double v)
{
	return v <= r->hi && (r->above ? v > r->lo : v >= r->lo);
}

static void test_rows(void **state)
{
	const struct infer_sample_param *p, *q;
	int n = 0;

	(void)state;
	for (; (p = infer_sample_param(n)); n++) {
		assert_true(p->range.lo <= p->least && p->least < p->range.hi);
		assert_true(within(&p->range, p->zero) && within(&p->range, p->usual));
		assert_true(p->zero >= p->least && p->usual >= p->least);
		if (p->http.hi > 0)
			assert_true(p->http.lo >= p->range.lo && p->http.hi <= p->range.hi &&
			            within(&p->http, p->usual));
		assert_true(!p->option == !p->arg && !p->option == !p->help);
		for (int k = 0; k < n; k++) {
			q = infer_sample_param(k);
			assert_string_not_equal(q->name, p->name);
			assert_int_not_equal(q->at, p->at);
			assert_false(p->option && q->option && !strcmp(p->option, q->option));
			assert_false(p->key && q->key && !strcmp(p->key, q->key));
		}
	}
	assert_true(n >= 22);
	assert_null(infer_sample_param(-1));
	assert_null(infer_sample_param(n));
	assert_null(infer_sample_param(n + 1));
}

/* What is in range is taken and comes back; what is not changes nothing, and a sampler refuses it. */
static void test_set(void **state)
{
	const struct infer_sample_param *p;

	(void)state;
	for (int i = 0; (p = infer_sample_param(i)); i++) {
		struct infer_sample_opts o = { .seed = 7 }, was;
		const double good[] = { p->range.hi, p->usual, p->zero,
			                p->range.above ? p->usual : p->least,
			                p->range.above ? p->range.hi / 2 : p->range.lo };
		const double bad[] = {
			p->range.lo - 1, p->range.hi + 1, NAN,
			INFINITY,        -INFINITY,       p->range.above ? p->range.lo : NAN
		};
		infer_sampler *s = NULL;
		infer_error err;

		for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
			double want = p->whole ? good[k] : (double)(float)good[k];

			assert_int_equal(infer_sample_set(&o, p, good[k], &err), INFER_OK);
			assert_true(infer_sample_get(&o, p) == want);
			assert_int_equal(infer_sampler_new(&s, &o, 16, &err), INFER_OK);
			infer_sampler_free(s);
		}
		was = o;
		for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
			assert_int_equal(infer_sample_set(&o, p, bad[k], &err), INFER_EINVAL);
			assert_int_equal(strncmp(err.message, p->name, strlen(p->name)), 0);
			assert_memory_equal(&o, &was, sizeof o);
		}
		/* a field that was written without it is looked at by the sampler */
		if (p->whole)
			*(int32_t *)(void *)((char *)&o + p->at) = (int32_t)p->range.lo - 1;
		else
			*(float *)(void *)((char *)&o + p->at) = (float)(p->range.lo - 1);
		assert_int_equal(infer_sampler_new(&s, &o, 16, &err), INFER_EINVAL);
		assert_int_equal(strncmp(err.message, p->name, strlen(p->name)), 0);
	}
}

/* What doubles hold and floats do not: 0 is no mass, though a double above it is */
static void test_tiny(void **state)
{
	struct infer_sample_opts o = { 0 };
	const struct infer_sample_param *p;
	infer_error err;

	(void)state;
	for (int i = 0; (p = infer_sample_param(i)); i++)
		if (!p->whole && p->range.above)
			assert_int_equal(infer_sample_set(&o, p, 1e-60, &err), INFER_EINVAL);
	assert_int_equal(o.given, 0);
}

static const struct infer_sample_param *named(const char *name)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static void test_resolve(void **state)
{
	struct infer_sample_opts o = { 0 }, again;
	const struct infer_sample_param *p;
	infer_error err;

	(void)state;
	infer_sample_resolve(&o);
	for (int i = 0; (p = infer_sample_param(i)); i++)
		assert_true(infer_sample_get(&o, p) ==
		            (p->whole ? p->zero : (double)(float)p->zero));
	for (int i = 0; i + 1 < INFER_STAGE_COUNT; i++)
		assert_int_equal(o.order[i], i + 1);
	again = o;
	infer_sample_resolve(&again);
	assert_memory_equal(&o, &again, sizeof o);
	/* a 0 that nobody gave is the default window, one that was given looks nowhere */
	o = (struct infer_sample_opts){ .repeat = 1.5f, .presence = 1, .dry_multiplier = 2 };
	infer_sample_resolve(&o);
	assert_true(o.repeat == 1.5f && o.repeat_window == 64 && o.dry_multiplier == 2 &&
	            o.dry_window == -1);
	o = (struct infer_sample_opts){ .repeat = 1.5f, .presence = 1, .dry_multiplier = 2 };
	assert_int_equal(infer_sample_set(&o, named("repeat_last_n"), 0, &err), INFER_OK);
	assert_int_equal(infer_sample_set(&o, named("dry_penalty_last_n"), 0, &err), INFER_OK);
	infer_sample_resolve(&o);
	assert_true(o.repeat == 1 && o.presence == 0 && o.dry_multiplier == 0);
	/* below what acts is the same as that */
	assert_int_equal(infer_sample_set(&o, named("top_k"), -1, &err), INFER_OK);
	assert_int_equal(infer_sample_set(&o, named("min_keep"), 0, &err), INFER_OK);
	infer_sample_resolve(&o);
	assert_true(o.top_k == 0 && o.min_keep == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_tiny),
		cmocka_unit_test(test_resolve),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
