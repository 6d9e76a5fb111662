/* tests/unit/engine/test_device_split.c - layers on several GPUs, and the progress of loading them. */
#include "fake_gpu.h"

static struct infer_engine_opts split_opts(int32_t gpu_layers, int n, const int32_t *split)
{
	struct infer_engine_opts o = opts("cuda", gpu_layers);

	o.n_split = n;
	for (int i = 0; i < n && i < INFER_SPLIT_MOST; i++)
		o.split[i] = split[i];
	return o;
}

static void splits(int32_t gpu_layers, int a, int b, const char *want)
{
	const struct infer_engine_opts o = split_opts(gpu_layers, 2, (const int32_t[]){ a, b });

	is_on(&o, want);
}

/* Shares that add up to the layers are numbers of layers; no GPU is without a layer. */
static void test_split(void **state)
{
	static const int32_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct infer_engine_opts o;

	(void)state;
	reset();
	splits(0, 1, 5, "cuda0/sm_90:0-0,cuda1/sm_90:1-5");
	splits(0, 4, 2, "cuda0/sm_90:0-3,cuda1/sm_90:4-5");
	splits(0, 3, 1, "cuda0/sm_90:0-4,cuda1/sm_90:5-5");
	splits(0, 999999, 1, "cuda0/sm_90:0-4,cuda1/sm_90:5-5");
	splits(0, 1, 999999, "cuda0/sm_90:0-0,cuda1/sm_90:1-5");
	splits(999, 16, 16, "cuda0/sm_90:0-2,cuda1/sm_90:3-5");
	splits(4, 3, 1, "cpu:0-1,cuda0/sm_90:2-4,cuda1/sm_90:5-5");
	splits(2, 9, 1, "cpu:0-3,cuda0/sm_90:4-4,cuda1/sm_90:5-5");
	o = split_opts(0, 1, ones);
	is_on(&o, "cuda/sm_90:0-5");
	o = split_opts(0, 2, ones);
	o.device = NULL; /* a split asks for GPUs */
	gpu.least_bytes = UINT64_MAX;
	is_on(&o, "cuda0/sm_90:0-2,cuda1/sm_90:3-5");
	o = split_opts(0, 3, ones);
	is_refused(&o, INFER_EDEVICE, "cuda2: no such device: there are 2");
	o = split_opts(0, 7, ones);
	is_refused(&o, INFER_EINVAL, "split has 7 shares, more than the 6 layers");
	o = split_opts(1, 2, ones);
	is_refused(&o, INFER_EINVAL, "split has 2 shares, more than the 1 layers");
	o = split_opts(0, 9, ones);
	is_refused(&o, INFER_EINVAL, "split has 9 shares: must be at most 8");
	o = split_opts(0, 2, (const int32_t[]){ 1, 0 });
	is_refused(&o, INFER_EINVAL, "share 1 is 0");
	o = split_opts(INFER_GPU_LAYERS_FIT, 2, ones);
	is_refused(&o, INFER_EINVAL, "split needs a number");
	o = split_opts(0, 2, ones);
	o.device = "cuda:1";
	is_refused(&o, INFER_EINVAL, "device is \"cuda:1\"");
	o.device = "cpu";
	is_refused(&o, INFER_EINVAL, "device is \"cpu\"");
	gpu.kind = NULL;
	o.device = NULL;
	is_refused(&o, INFER_EDEVICE, "this build has no CUDA backend");
}

/* Two GPUs compute the bytes of one. */
static void test_same(void **state)
{
	struct infer_engine_opts o = opts("cpu", 0);

	(void)state;
	reset();
	drive_on(&o, on_cpu);
	for (int32_t gpu_layers = 0; gpu_layers <= 4; gpu_layers += 4) {
		o = split_opts(gpu_layers, 2, (const int32_t[]){ 1, 3 });
		drive_on(&o, on_apart);
		for (int r = 0; r < REQUESTS; r++)
			run_same(&on_cpu[r], &on_apart[r], "two GPUs");
	}
}

static struct {
	int calls;
	uint64_t done, all;
} loaded;

static void gather_loaded(void *user, uint64_t done, uint64_t all)
{
	assert_null(user);
	assert_true(done >= loaded.done && done <= all);
	assert_true(!loaded.calls || all == loaded.all);
	loaded.calls++;
	loaded.done = done;
	loaded.all = all;
}

/* The bytes of all GPUs are one number, from 0 to the end; the CPU copies none. */
static void test_loading(void **state)
{
	struct infer_engine_opts o = split_opts(0, 2, (const int32_t[]){ 4, 2 });
	infer_engine *e;
	uint64_t all = 0;

	(void)state;
	reset();
	memset(&loaded, 0, sizeof loaded);
	o.loading.fn = gather_loaded;
	assert_int_equal(device_open(&e, model, &o, &gpu, NULL), INFER_OK);
	for (int i = 0; i < 2; i++) {
		const struct backend_model *m = &e->place.parts[i].model;

		all += weights_bytes(m->weights, m->n_weights);
	}
	infer_engine_close(&e);
	assert_int_equal(loaded.calls, 4); /* at the start and the end of both */
	assert_int_equal(loaded.done, all);
	assert_int_equal(loaded.all, all);
	memset(&loaded, 0, sizeof loaded);
	o = opts("cpu", 0);
	o.loading.fn = gather_loaded;
	is_on(&o, "cpu:0-5");
	assert_int_equal(loaded.calls, 0);
	o = opts("cuda", 2);
	o.loading.fn = gather_loaded;
	is_on(&o, "cpu:0-3,cuda/sm_90:4-5");
	assert_int_equal(loaded.calls, 2);
	assert_true(loaded.done == loaded.all && loaded.all < all);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_loading),
	};
	int failed;

	(void)argc;
	if (fake_open_model(argv[0]))
		return 1;
	failed = nth_group(tests);
	infer_model_close(&model);
	return failed;
}
