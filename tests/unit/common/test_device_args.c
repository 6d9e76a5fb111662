/* tests/unit/common/test_device_args.c - options that name devices, and the devices of a record. */
#include "../nth.h"
#include "common/model.h"

#include <string.h>

static struct infer_engine_opts take(const char *device, const char *layers, int code)
{
	const struct engine_args a = { .device = device, .gpu_layers = layers, .deterministic = 1 };
	struct infer_engine_opts o = { .device = "none" };
	infer_error err;

	assert_int_equal(engine_args_take(&o, &a, &err), code);
	return o;
}

static void test_take(void **state)
{
	static const char *const good[] = { "auto", "cpu", "cuda", "cuda:0", "cuda:999" };
	static const char *const bad[] = { "",     "cuda:", "cuda:1000", "cuda:+1",
		                           "cudA", "gpu",   "cpu:0" };
	static const char *const bad_layers[] = { "", "-1", "1000000", "3x", "AUTO", " 3" };

	(void)state;
	assert_null(take(NULL, NULL, INFER_OK).device);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_string_equal(take(good[i], NULL, INFER_OK).device, good[i]);
		assert_int_equal(take(good[i], "auto", INFER_OK).gpu_layers, INFER_GPU_LAYERS_FIT);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		take(bad[i], NULL, INFER_EINVAL);
	for (size_t i = 0; i < sizeof bad_layers / sizeof *bad_layers; i++)
		take(NULL, bad_layers[i], INFER_EINVAL);
	assert_int_equal(take(NULL, "012", INFER_OK).gpu_layers, 12);
	assert_null(take(NULL, "12", INFER_OK).device);
	assert_string_equal(take(NULL, "0", INFER_OK).device, "cpu");
	assert_string_equal(take("auto", "0", INFER_OK).device, "cpu");
	assert_string_equal(take("cpu", "0", INFER_OK).device, "cpu");
	take("cuda:1", "0", INFER_EINVAL);
	take("cpu", "1", INFER_EINVAL);
}

static void test_keep(void **state)
{
	struct infer_engine_opts o = { .device = NULL };
	infer_error err;

	(void)state;
	assert_int_equal(engine_keep_cpu(&o, "--sandbox", &err), INFER_OK);
	assert_string_equal(o.device, "cpu");
	o = (struct infer_engine_opts){ .gpu_layers = INFER_GPU_LAYERS_FIT };
	assert_int_equal(engine_keep_cpu(&o, "--sandbox", &err), INFER_OK);
	o = (struct infer_engine_opts){ .device = "cuda:1" };
	assert_int_equal(engine_keep_cpu(&o, "--sandbox", &err), INFER_EINVAL);
	assert_string_equal(err.message, "--sandbox: no GPU computes with it: --device cpu");
	o = (struct infer_engine_opts){ .gpu_layers = 1 };
	assert_int_equal(engine_keep_cpu(&o, "--sandbox", &err), INFER_EINVAL);
}

static void split_of(const char *device, const char *layers, const char *split,
                     struct infer_engine_opts *o, int code)
{
	const struct engine_args a = { .device = device, .gpu_layers = layers, .split = split };
	infer_error err;

	assert_int_equal(engine_args_take(o, &a, &err), code);
	if (code)
		assert_non_null(strstr(err.message, "--split"));
}

static void test_split(void **state)
{
	static const char *const bad[] = { "",     ",",       "3,",  ",1",
		                           "3,,1", "0",       "-1",  "1.5",
		                           "3 1",  "1000000", "3;1", "1,2,3,4,5,6,7,8,9" };
	struct infer_engine_opts o;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		split_of("cuda", NULL, bad[i], &o, INFER_EINVAL);
	split_of(NULL, NULL, "16,15", &o, INFER_OK);
	assert_int_equal(o.n_split, 2);
	assert_int_equal(o.split[0], 16);
	assert_int_equal(o.split[1], 15);
	assert_true(engine_wants_gpu(&o));
	split_of("cuda", "7", "1,2,3,4,5,6,7,999999", &o, INFER_OK);
	assert_int_equal(o.n_split, 8);
	assert_int_equal(o.split[7], 999999);
	split_of("auto", NULL, "1", &o, INFER_OK);
	split_of("cpu", NULL, "1,1", &o, INFER_EINVAL);
	split_of("cuda:0", NULL, "1,1", &o, INFER_EINVAL);
	split_of(NULL, "0", "1,1", &o, INFER_EINVAL);
	split_of("cuda", "auto", "1,1", &o, INFER_EINVAL);
}

static void test_experts(void **state)
{
	struct engine_args a = { .cpu_experts = 1 };
	struct infer_engine_opts o;
	infer_error err;

	(void)state;
	assert_int_equal(engine_args_take(&o, &a, &err), INFER_OK);
	assert_int_equal(o.flags, INFER_ENGINE_CPU_EXPERTS);
	assert_true(engine_wants_gpu(&o));
	assert_int_equal(engine_keep_cpu(&o, "--sandbox", &err), INFER_EINVAL);
	a.no_prefix_cache = 1;
	a.device = "auto";
	assert_int_equal(engine_args_take(&o, &a, &err), INFER_OK);
	assert_int_equal(o.flags, INFER_ENGINE_CPU_EXPERTS | INFER_ENGINE_NO_PREFIX_CACHE);
	a.device = "cpu";
	assert_int_equal(engine_args_take(&o, &a, &err), INFER_EINVAL);
	assert_string_equal(err.message, "--cpu-experts: --device cpu has no GPU");
	a.device = NULL;
	a.gpu_layers = "0";
	assert_int_equal(engine_args_take(&o, &a, &err), INFER_EINVAL);
	a.gpu_layers = NULL;
	a.cpu_experts = 0;
	assert_int_equal(engine_args_take(&o, &a, &err), INFER_OK);
	assert_false(engine_wants_gpu(&o));
}

static void placed_split(const char *placement, const char *device, const char *layers,
                         const char *split)
{
	struct engine_args a = { .device = NULL };
	struct engine_place text;

	engine_args_place(&a, placement, &text);
	if (split)
		assert_string_equal(a.split, split);
	else
		assert_null(a.split);
	if (device)
		assert_string_equal(a.device, device);
	else
		assert_null(a.device);
	if (layers)
		assert_string_equal(a.gpu_layers, layers);
	else
		assert_null(a.gpu_layers);
}

static void placed(const char *placement, const char *device, const char *layers)
{
	placed_split(placement, device, layers, NULL);
}

static void test_place(void **state)
{
	struct engine_args a = { .device = "auto" };
	struct engine_place text;

	(void)state;
	placed("", NULL, NULL);
	placed("cpu:0-31", "cpu", NULL);
	placed("cuda/sm_90:0-31", "cuda", NULL);
	placed("cpu:0-7,cuda/sm_90:8-31", "cuda", "24");
	placed("cpu:0-30,cuda/sm_120:31-31", "cuda", "1");
	placed("cpu:0-31,cuda/sm_90:output", "cuda", NULL);
	placed("cpu:0-31,cuda/sm_90:5-2", "cuda", NULL);
	placed("cpu:0-31,cuda", "cuda", NULL);
	placed("cpu:0-0,cuda/sm_90:0-99999999999", "cuda", "1000000"); /* digits are bounded */
	placed_split("cuda0/sm_90:0-23,cuda1/sm_90:24-31", "cuda", NULL, "24,8");
	placed_split("cpu:0-1,cuda0/sm_90:2-2,cuda1/sm_90:3-4,cuda2/sm_90:5-7", "cuda", "6",
	             "1,2,3");
	placed_split("cuda0/sm_90:0-23,cuda1/sm_90:output", "cuda", NULL, NULL);
	engine_args_place(&a, "cuda/sm_90:0-31+cpu-experts", &text); /* what is given stays */
	assert_int_equal(a.cpu_experts, 0);
	engine_args_place(&a, "cpu:0-31", &text);
	assert_string_equal(a.device, "auto");
	a = (struct engine_args){ .gpu_layers = "3" };
	engine_args_place(&a, "cpu:0-31", &text);
	assert_null(a.device);
	a = (struct engine_args){ .split = "3,1" };
	engine_args_place(&a, "cpu:0-31", &text);
	assert_null(a.device);
	a = (struct engine_args){ .cpu_experts = 1 };
	engine_args_place(&a, "cpu:0-31", &text);
	assert_null(a.device);
	a = (struct engine_args){ 0 };
	engine_args_place(&a, "cuda/sm_90:0-31", &text);
	assert_int_equal(a.cpu_experts, 0);
	a = (struct engine_args){ 0 };
	engine_args_place(&a, "cpu:0-3,cuda0/sm_90:4-19+cpu-experts,cuda1/sm_90:20-31+cpu-experts",
	                  &text);
	assert_int_equal(a.cpu_experts, 1);
	assert_string_equal(a.device, "cuda");
	assert_string_equal(a.gpu_layers, "28");
	assert_string_equal(a.split, "16,12");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_take),
		                            cmocka_unit_test(test_split),
		                            cmocka_unit_test(test_experts),
		                            cmocka_unit_test(test_keep),
		                            cmocka_unit_test(test_place) };

	return nth_group(tests);
}
