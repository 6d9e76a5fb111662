/* tests/unit/cuda/test_emu_fail.c - every call of the CUDA runtime fails in turn: the error has its
 * code and names the action, nothing leaks, and the CPU takes over.  For the emulation. */
#include "../../emu/emu_control.h"
#include "../engine/run.h"
#include "engine/engine.h"

enum { CALLS_MOST = 4000, PROMPT_IDS = 40, NEW_IDS = 3 };

static int32_t ids[PROMPT_IDS];
static infer_model *model, *with_experts;
static uint32_t flags; /* of engines */

/* Open an engine, run one request to its end, close.  Returns the first error. */
static int run_once(const char *kind, struct result *to, infer_error *err)
{
	const struct stages_device device = { .kind = backend_find(kind) };
	struct infer_engine_opts o = {
		.threads = 1, .ctx = 128, .prefill_chunk = 32, .flags = flags
	};
	struct infer_request r = { .prompt = ids,
		                   .n_prompt = PROMPT_IDS,
		                   .max_tokens = NEW_IDS,
		                   .user = to,
		                   .flags = INFER_REQ_IGNORE_EOS };
	infer_engine *e;
	uint64_t id;
	int rc;

	*to = (struct result){ 0 };
	rc = engine_open(&e, model, &o, &device, 1, err);
	if (!rc)
		rc = infer_engine_submit(e, &r, &id, err);
	if (!rc)
		rc = run_drive(e, err);
	if (!rc && to->code) {
		rc = to->code;
		snprintf(err->message, sizeof err->message, "%s", to->message);
	}
	infer_engine_close(&e);
	return rc;
}

/* The nth call fails; returns 0 if there were fewer.  want: the code of an allocation that fails;
 * any other call that fails is a failure of the device. */
static int fail_at(int n, int code, int want)
{
	static struct result r;
	infer_error err = { 0 };
	size_t bytes = emu_live_bytes();
	long objects = emu_live_objects();
	int rc, met;

	emu_reset();
	emu_fail_at(n, code);
	rc = run_once("cuda", &r, &err);
	met = emu_calls() >= n;
	emu_reset();
	if (met && rc && ((rc != want && rc != INFER_EDEVICE) || !err.message[0]))
		fail_msg("call %d, error %d: code %d, %s", n, code, rc, err.message);
	if (emu_live_bytes() != bytes || emu_live_objects() != objects)
		fail_msg("call %d, error %d: %zu bytes and %ld objects are left", n, code,
		         emu_live_bytes() - bytes, emu_live_objects() - objects);
	return met;
}

/* from: the first of the errors */
static void fail_every_call(size_t from)
{
	static struct result before, after;
	/* cudaErrorMemoryAllocation, cudaErrorIllegalAddress */
	static const struct {
		int code, want;
	} errors[] = { { 2, INFER_ENOMEM }, { 700, INFER_EDEVICE } };
	infer_error err;
	int n;

	assert_int_equal(run_once("cpu", &before, &err), INFER_OK);
	for (size_t i = from; i < sizeof errors / sizeof *errors; i++) {
		for (n = 1; n < CALLS_MOST && fail_at(n, errors[i].code, errors[i].want); n++)
			;
		assert_true(n > 50 && n < CALLS_MOST);
		print_message("# error %d: each of %d calls\n", errors[i].code, n - 1);
	}
	assert_int_equal(run_once("cpu", &after, &err), INFER_OK);
	run_same(&before, &after, "the CPU after failures of the device");
}

static void test_every_call(void **state)
{
	(void)state;
	fail_every_call(0);
}

/* The same for a model whose experts the host computes, in the midst of steps. */
static void test_host_experts(void **state)
{
	infer_model *was = model;

	(void)state;
	model = with_experts;
	flags = INFER_ENGINE_CPU_EXPERTS;
	fail_every_call(1);
	model = was;
	flags = 0;
}

/* A driver or a device that is not there is named. */
static void test_absent(void **state)
{
	static struct result r;
	infer_error err;

	(void)state;
	emu_set_devices(-1);
	assert_int_equal(run_once("cuda", &r, &err), INFER_EDEVICE);
	assert_non_null(strstr(err.message, "no NVIDIA driver"));
	emu_set_devices(0);
	assert_int_equal(run_once("cuda", &r, &err), INFER_EDEVICE);
	assert_non_null(strstr(err.message, "no CUDA device"));
	emu_set_devices(1);
	emu_set_memory(1 << 20);
	assert_int_equal(run_once("cuda", &r, &err), INFER_ENOMEM);
	emu_set_memory((size_t)4 << 30);
	emu_reset();
	assert_int_equal(run_once("cuda", &r, &err), INFER_OK);
}

/* Caches of two kinds, each allocated at once, fit the device together: layers with a window and
 * layers without, and as many sequences as memory allows. */
static void test_two_caches(void **state)
{
	const struct stages_device device = { .kind = backend_find("cuda") };
	struct infer_engine_opts o = { .threads = 1, .ctx = 1024, .max_seqs = 4000 };
	infer_engine *e;
	infer_model *m;
	infer_error err;

	(void)state;
	assert_int_equal(infer_model_open(&m,
	                                  run_model("two", "--arch gemma3 --embd 96 --heads 3 "
	                                                   "--kv-heads 1 --layers 6 --window 70 "
	                                                   "--vocab 1003 --ctx 1024 --type f16"),
	                                  NULL, &err),
	                 INFER_OK);
	emu_set_memory((size_t)1 << 30);
	if (engine_open(&e, m, &o, &device, 1, &err))
		fail_msg("%s", err.message);
	infer_engine_close(&e);
	emu_set_memory((size_t)4 << 30);
	infer_model_close(&m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_call),
		                            cmocka_unit_test(test_host_experts),
		                            cmocka_unit_test(test_absent),
		                            cmocka_unit_test(test_two_caches) };
	infer_error err;

	(void)argc;
	run_init(argv[0]);
	run_ids(ids, PROMPT_IDS, 5, 260, 700);
	if (infer_model_open(&model,
	                     run_model("fail",
	                               "--embd 64 --heads 2 --kv-heads 1 --ff 96 --layers 1 "
	                               "--vocab 1003 --ctx 256 --type q8_0"),
	                     NULL, &err) ||
	    infer_model_open(&with_experts,
	                     run_model("experts",
	                               "--arch qwen3moe --embd 64 --heads 2 --kv-heads 1 "
	                               "--layers 2 --experts 4 --experts-used 2 --vocab 1003 "
	                               "--ctx 256 --type q8_0"),
	                     NULL, &err))
		return 99;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
