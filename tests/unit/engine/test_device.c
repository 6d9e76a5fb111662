/* tests/unit/engine/test_device.c - the choice of devices: auto, a GPU that is asked for, layers on both;
 * why there is none; steps that a device fails. */
#include "fake_gpu.h"

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"",        "gpu",     "CUDA",      "cuda:", "cuda0",           "cuda:x",
		"cuda:-1", "cuda:1x", "cuda:1000", "cpu:0", "cuda:99999999999"
	};
	struct infer_engine_opts o = opts(NULL, 0);
	infer_engine *e;
	infer_error err;

	(void)state;
	reset();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		o.device = bad[i];
		is_refused(&o, INFER_EINVAL, "auto, cpu, cuda, or cuda:N");
		assert_int_equal(infer_engine_open(&e, model, &o, &err), INFER_EINVAL);
	}
	o = opts("auto", -2);
	is_refused(&o, INFER_EINVAL, "gpu_layers is -2");
	o = opts("cpu", 3);
	is_refused(&o, INFER_EINVAL, "device is \"cpu\"");
	o = opts("cpu", 0);
	o.flags = INFER_ENGINE_CPU_EXPERTS;
	is_refused(&o, INFER_EINVAL, "experts of a GPU are to be on the CPU");
	assert_int_equal(made.opened, 0);
}

/* A build without a GPU: no message with auto, the reason if a GPU is named. */
static void test_no_backend(void **state)
{
	struct infer_engine_opts o = opts(NULL, 0);

	(void)state;
	reset();
	gpu.kind = NULL;
	is_on(&o, "cpu:0-5");
	o = opts("auto", INFER_GPU_LAYERS_FIT);
	is_on(&o, "cpu:0-5");
	assert_null(strstr(said, "the CPU computes"));
	o = opts("cuda", 0);
	is_refused(&o, INFER_EDEVICE, "this build has no CUDA backend (make CUDA=1)");
	o = opts(NULL, 2);
	is_refused(&o, INFER_EDEVICE, "this build has no CUDA backend");
	o = opts(NULL, 0);
	o.flags = INFER_ENGINE_CPU_EXPERTS;
	is_refused(&o, INFER_EDEVICE, "this build has no CUDA backend");
}

static void test_no_device(void **state)
{
	struct infer_engine_opts o = opts("auto", 0);

	(void)state;
	reset();
	made.open_code = INFER_EDEVICE;
	made.open_message = "no NVIDIA driver";
	is_on(&o, "cpu:0-5");
	assert_non_null(strstr(said, "the CPU computes: cuda: no NVIDIA driver\n"));
	o.device = "cuda";
	is_refused(&o, INFER_EDEVICE, "no NVIDIA driver");
	made.open_code = 0;
	o.device = "cuda:7";
	is_refused(&o, INFER_EDEVICE, "cuda7: no such device: there are 2");
	o.device = "cuda:1"; /* any device of its kind computes these bits */
	is_on(&o, "cuda/sm_90:0-5");
}

static void test_auto(void **state)
{
	struct infer_engine_opts o = opts(NULL, 0);

	(void)state;
	reset();
	is_on(&o, "cuda/sm_90:0-5");
	assert_null(strstr(said, "the CPU computes"));
	assert_non_null(strstr(said, "cuda/sm_90: 6 layers from 0, "));
	o.device = "cpu";
	said[0] = 0;
	is_on(&o, "cpu:0-5");
	assert_null(strstr(said, "the CPU computes"));
	o.device = "auto";
	gpu.least_bytes = model->weight_bytes;
	is_on(&o, "cuda/sm_90:0-5");
	gpu.least_bytes++;
	made.opened = made.closed = 0;
	is_on(&o, "cpu:0-5");
	assert_int_equal(made.opened, 0); /* the GPU was not touched */
	assert_non_null(strstr(said, "the CPU computes: a GPU takes longer to open"));
	o.device = "cuda"; /* asked for */
	is_on(&o, "cuda/sm_90:0-5");
	/* this build: the model is small */
	struct infer_engine_info info;
	infer_engine *e;
	o.device = NULL;
	assert_int_equal(infer_engine_open(&e, model, &o, NULL), INFER_OK);
	infer_engine_info(e, &info);
	assert_string_equal(info.placement, "cpu:0-5");
	infer_engine_close(&e);
}

static void observe(void *user, const struct infer_inputs *in)
{
	(void)user;
	(void)in;
}

/* An operation that the GPU lacks is refused by name, or left to the CPU. */
static void test_unsupported(void **state)
{
	struct infer_engine_opts o = opts("auto", 0);

	(void)state;
	reset();
	made.need_code = INFER_EUNSUP;
	is_on(&o, "cpu:0-5");
	assert_non_null(strstr(
		said, "the CPU computes: cuda/sm_90: the operation CONV is not supported\n"));
	o.device = "cuda";
	is_refused(&o, INFER_EUNSUP, "cuda/sm_90: the operation CONV");
	made.need_code = INFER_EINVAL; /* no reason to compute elsewhere */
	o.device = "auto";
	is_refused(&o, INFER_EINVAL, "CONV");
	reset();
	o.act_type = INFER_BF16; /* left to the GPU, which has it */
	o.device = "auto";
	is_on(&o, "cuda/sm_90:0-5");
	o = opts("auto", 0);
	o.observer.fn = observe;
	is_on(&o, "cpu:0-5");
	o.device = "cuda";
	is_refused(&o, INFER_EUNSUP, "cuda: products are observed");
	o = opts("auto", 0);
	o.lora_rank = 4;
	reset();
	is_on(&o, "cpu:0-5");
	assert_non_null(strstr(
		said, "the CPU computes: cuda: LoRA adapters are applied on the CPU only\n"));
	o.device = "cuda";
	is_refused(&o, INFER_EUNSUP, "cuda: LoRA adapters");
}

/* The bytes of weights, workspace and one sequence on one device. */
static struct place_part part_of(const struct infer_engine_opts *o)
{
	struct place_part part;
	infer_engine *e;

	assert_int_equal(device_open(&e, model, o, &gpu, NULL), INFER_OK);
	part = e->place.parts[e->place.n_parts - 1];
	infer_engine_close(&e);
	return part;
}

static void test_memory(void **state)
{
	struct infer_engine_opts o = opts("cuda", 0);
	struct place_part part;
	infer_engine *e;

	(void)state;
	reset();
	o.max_seqs = 1;
	part = part_of(&o);
	made.left = part.weights + part.workspace + part.kv / 2;
	is_refused(&o, INFER_ENOMEM, "cuda/sm_90: a context of 256 needs");
	is_refused(&o, INFER_ENOMEM, " fits");
	o.device = "auto";
	is_on(&o, "cpu:0-5");
	assert_non_null(strstr(said, "the CPU computes: cuda/sm_90: a context of 256 needs"));
	/* without a context: the largest that fits if the GPU is named; auto: the model's, or 4096 */
	o.ctx = 0;
	o.log = NULL;
	o.device = "cuda";
	assert_int_equal(device_open(&e, model, &o, &gpu, NULL), INFER_OK);
	assert_in_range(e->ctx, 32, CTX);
	infer_engine_close(&e);
	o.device = NULL;
	is_on(&o, "cpu:0-5");
	made.left = 0;
	is_on(&o, "cuda/sm_90:0-5");
}

static void test_layers(void **state)
{
	struct infer_engine_opts o = opts(NULL, 2);

	(void)state;
	reset();
	is_on(&o, "cpu:0-3,cuda/sm_90:4-5");
	gpu.least_bytes = UINT64_MAX; /* asked for */
	is_on(&o, "cpu:0-3,cuda/sm_90:4-5");
	gpu.least_bytes = 0;
	o.device = "cuda:1";
	is_on(&o, "cpu:0-3,cuda/sm_90:4-5");
	o.gpu_layers = LAYERS - 1;
	is_on(&o, "cpu:0-0,cuda/sm_90:1-5");
	o.gpu_layers = LAYERS;
	is_on(&o, "cuda/sm_90:0-5");
	o.gpu_layers = 999;
	is_on(&o, "cuda/sm_90:0-5");
	o.gpu_layers = INFER_GPU_LAYERS_FIT;
	is_on(&o, "cuda/sm_90:0-5");
	made.open_code = INFER_EDEVICE;
	made.open_message = "no CUDA device";
	is_refused(&o, INFER_EDEVICE, "no CUDA device");
	o.device = "auto";
	is_on(&o, "cpu:0-5");
}

static void gather_all(void *user, int level, const char *line)
{
	(void)user;
	snprintf(said + strlen(said), sizeof said - strlen(said), "%s%s\n",
	         level == INFER_LOG_WARN ? "warning: " : "", line);
}

static const infer_model *other; /* of experts_on */

/* Open `other` on the devices that o names, and compare the placement.  Returns its last part; the model
 * of it is freed. */
static struct place_part experts_on(const struct infer_engine_opts *o, const char *want,
                                    uint64_t *host_bytes)
{
	struct infer_engine_info info;
	const struct backend_model *m;
	struct place_part part;
	infer_engine *e;
	infer_error err;

	said[0] = 0;
	if (device_open(&e, other, o, &gpu, &err))
		fail_msg("%s", err.message);
	infer_engine_info(e, &info);
	assert_string_equal(info.placement, want);
	part = e->place.parts[e->place.n_parts - 1];
	m = &part.model;
	*host_bytes = weights_host_bytes(m->weights, m->n_weights);
	for (int i = 0; i < m->n_weights; i++)
		assert_int_equal(m->weights[i].on_host, part.host_experts && m->weights[i].n > 1);
	infer_engine_close(&e);
	return part;
}

/* Experts of layers on a GPU, and no others, are the host's, and the placement says so; a model without
 * experts is computed as ever, with a warning. */
static void test_experts(void **state)
{
	struct infer_engine_opts o = opts("cuda", 0);
	uint64_t none, all, half;
	infer_model *m;

	(void)state;
	reset();
	o.flags = INFER_ENGINE_CPU_EXPERTS;
	o.log = gather_all;
	other = model;
	experts_on(&o, "cuda/sm_90:0-5", &none);
	assert_int_equal(none, 0);
	assert_non_null(strstr(said, "warning: no experts to keep on the CPU"));
	assert_int_equal(infer_model_open(&m, model_of(&hows[3]), NULL, NULL), INFER_OK);
	other = m;
	assert_true(experts_on(&o, "cuda/sm_90:0-1+cpu-experts", &all).host_experts);
	assert_null(strstr(said, "warning"));
	assert_non_null(strstr(said, "of experts on the CPU\n"));
	o.gpu_layers = 1;
	experts_on(&o, "cpu:0-0,cuda/sm_90:1-1+cpu-experts", &half);
	assert_true(half > 0 && all == 2 * half);
	o.device = NULL; /* a GPU is asked for */
	o.gpu_layers = 0;
	experts_on(&o, "cuda/sm_90:0-1+cpu-experts", &all);
	o.flags = 0;
	o.device = "cuda";
	experts_on(&o, "cuda/sm_90:0-1", &none);
	assert_int_equal(none, 0);
	assert_null(strstr(said, "of experts"));
	infer_model_close(&m);
}

/* Each number of layers fits with exactly the memory that it needs. */
static void test_fit(void **state)
{
	char want[64];

	(void)state;
	reset();
	for (int n = 1; n < LAYERS; n++) {
		struct infer_engine_opts o = opts("cuda", n);
		struct place_part part;

		o.max_seqs = 1;
		made.left = 0;
		part = part_of(&o);
		/* a fiftieth of what is left is for the bookkeeping of pages */
		made.left = part.weights + part.workspace + part.kv + part.kv / 40;
		o.gpu_layers = INFER_GPU_LAYERS_FIT;
		snprintf(want, sizeof want, "cpu:0-%d,cuda/sm_90:%d-5", LAYERS - n - 1, LAYERS - n);
		is_on(&o, want);
	}
	struct infer_engine_opts o = opts("cuda", INFER_GPU_LAYERS_FIT);
	made.left = 1 << 16;
	is_refused(&o, INFER_ENOMEM, "cuda/sm_90: no layer of the 6 fits");
	o.device = "auto";
	is_on(&o, "cpu:0-5");
}

/* Wherever layers are, with this GPU the bytes are the same. */
static void test_same(void **state)
{
	static const int32_t layers[] = { 0, 1, 3, INFER_GPU_LAYERS_FIT };
	struct infer_engine_opts o = opts("cpu", 0);

	(void)state;
	reset();
	drive_on(&o, on_cpu);
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
		o = opts("cuda", layers[i]);
		drive_on(&o, on_apart);
		for (int r = 0; r < REQUESTS; r++)
			run_same(&on_cpu[r], &on_apart[r], "cuda");
	}
}

static void test_need(void **state)
{
	struct infer_engine_opts o = opts(NULL, 0);
	struct infer_engine_need cpu, need;
	infer_engine *e;

	(void)state;
	reset();
	assert_int_equal(device_need(&cpu, model, &o, &gpu, NULL), INFER_OK);
	assert_int_equal(made.opened, 0);
	assert_int_equal(cpu.weight_bytes, model->weight_bytes);
	assert_true(cpu.kv_bytes && cpu.workspace_bytes);
	assert_int_equal(cpu.device_weight_bytes + cpu.device_kv_bytes + cpu.device_workspace_bytes,
	                 0);

	o.device = "cuda";
	struct place_part part = part_of(&o);
	assert_int_equal(device_need(&need, model, &o, &gpu, NULL), INFER_OK);
	assert_int_equal(need.device_weight_bytes, part.weights);
	assert_int_equal(need.device_workspace_bytes, part.workspace);
	assert_int_equal(need.device_kv_bytes, part.kv);
	assert_int_equal(need.weight_bytes + need.kv_bytes + need.touched_bytes, 0);
	assert_int_equal(need.workspace_bytes, part.host);

	o.gpu_layers = 2;
	assert_int_equal(device_open(&e, model, &o, &gpu, NULL), INFER_OK);
	const struct place_part *parts = e->place.parts;
	assert_int_equal(device_need(&need, model, &o, &gpu, NULL), INFER_OK);
	assert_int_equal(need.kv_bytes, parts[0].kv);
	assert_int_equal(need.device_kv_bytes, parts[1].kv);
	assert_int_equal(need.device_weight_bytes, parts[1].weights);
	assert_int_equal(need.workspace_bytes,
	                 parts[0].workspace + parts[0].host + parts[1].host + e->place.edge_bytes);
	assert_true(need.weight_bytes > 0 && need.weight_bytes < model->weight_bytes);
	infer_engine_close(&e);

	o.gpu_layers = INFER_GPU_LAYERS_FIT;
	made.left = parts ? part.weights / 2 + part.workspace + part.kv : 0;
	assert_int_equal(device_need(&need, model, &o, &gpu, NULL), INFER_OK);
	assert_true(need.weight_bytes && need.device_weight_bytes);
	assert_true(need.device_weight_bytes + need.device_kv_bytes + need.device_workspace_bytes <=
	            made.left);
	gpu.kind = NULL;
	assert_int_equal(device_need(&need, model, &o, &gpu, NULL), INFER_EDEVICE);
	assert_int_equal(made.opened, made.closed);
}

/* One step fails: its requests end with the error, and later ones are answered as ever. */
static void test_step(void **state)
{
	struct infer_engine_opts o = opts("cuda", 0);
	infer_engine *e;
	int failed = 0;

	(void)state;
	reset();
	drive_on(&o, on_cpu);
	for (int at = 1; at < 40; at += 13) {
		reset();
		made.fail_step = at;
		assert_int_equal(device_open(&e, model, &o, &gpu, NULL), INFER_OK);
		for (int i = 0; i < REQUESTS; i++)
			submit(e, i, &on_apart[i]);
		assert_int_equal(run_drive(e, NULL), INFER_OK);
		failed = 0;
		for (int i = 0; i < REQUESTS; i++) {
			struct result *r = &on_apart[i];

			assert_true(r->done);
			if (r->code) {
				failed++;
				assert_int_equal(r->code, INFER_EDEVICE);
				assert_int_equal(r->finish, INFER_FINISH_ERROR);
				assert_string_equal(r->message, "cuda/sm_90: the device is lost");
			} else {
				run_same(&on_cpu[i], r, "a request of other steps");
			}
		}
		assert_in_range(failed, 1, SEQS);
		submit(e, 1, &on_apart[1]); /* the engine lives on */
		assert_int_equal(run_drive(e, NULL), INFER_OK);
		assert_int_equal(on_apart[1].code, INFER_OK);
		run_same(&on_cpu[1], &on_apart[1], "after a failed step");
		infer_engine_close(&e);
	}
}

/* A device that stays lost: all requests end, none hangs, and the engine can be closed. */
static void test_lost(void **state)
{
	struct infer_engine_opts o = opts("cuda", 3);
	infer_engine *e;

	(void)state;
	reset();
	made.fail_step = 4;
	made.lost = 1;
	assert_int_equal(device_open(&e, model, &o, &gpu, NULL), INFER_OK);
	for (int i = 0; i < REQUESTS; i++)
		submit(e, i, &on_apart[i]);
	assert_int_equal(run_drive(e, NULL), INFER_OK);
	for (int i = 0; i < REQUESTS; i++) {
		assert_int_equal(on_apart[i].code, INFER_EDEVICE);
		assert_string_equal(on_apart[i].message, "cuda/sm_90: the device is lost");
	}
	assert_false(infer_engine_busy(e));
	infer_engine_close(&e);
	assert_int_equal(made.opened, made.closed);
}

static int case_open(void)
{
	struct infer_engine_opts o = opts("cuda", INFER_GPU_LAYERS_FIT);
	infer_engine *e = NULL;
	infer_error err;
	int rc;

	o.ctx = 64;
	o.max_seqs = 1;
	o.log = NULL;
	nth_ok(device_open(&e, model, &o, &gpu, &err));
out:
	infer_engine_close(&e);
	return rc;
}

static void test_nth(void **state)
{
	static const struct nth t = { case_open };
	void *at = (void *)(uintptr_t)&t;

	(void)state;
	reset();
	fake = *backend_find("cpu"); /* whose memory is counted */
	fake.name = "cuda";
	nth_run(&at);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed),   cmocka_unit_test(test_no_backend),
		cmocka_unit_test(test_no_device),   cmocka_unit_test(test_auto),
		cmocka_unit_test(test_unsupported), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_layers),      cmocka_unit_test(test_experts),
		cmocka_unit_test(test_fit),         cmocka_unit_test(test_same),
		cmocka_unit_test(test_need),        cmocka_unit_test(test_step),
		cmocka_unit_test(test_lost),        cmocka_unit_test(test_nth),
	};
	int failed;

	(void)argc;
	if (fake_open_model(argv[0]))
		return 1;
	failed = nth_group(tests);
	infer_model_close(&model);
	return failed;
}
