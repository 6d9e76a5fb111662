/* tests/unit/cuda/test_engine.c - the engine on the CUDA backend: a request alone, in one chunk and
 * without a prefix cache, has the ids and log-probabilities that it has in a batch with chunks,
 * prefixes from the cache, preemption and guesses. */
#include "../engine/apart_run.h"

static const struct how cuda_hows[] = {
	{ "c-odd", "--embd 320 --heads 5 --kv-heads 1 --ff 672 --vocab 1003 --ctx 1024 --type q8_0",
	  INFER_F16, INFER_F16 },
	{ "c-odd", "", INFER_Q8_0, INFER_Q8_0 },
	{ "c-f32",
	  "--embd 96 --heads 6 --kv-heads 3 --ff 100 --vocab 1003 --ctx 1024 --type f32 "
	  "--arch qwen3",
	  INFER_F32, INFER_F32 },
	{ "c-k", "--embd 256 --heads 4 --kv-heads 2 --ff 512 --vocab 1003 --ctx 1024 --type q4_k",
	  INFER_F16, INFER_F16 },
	{ "c-moe",
	  "--arch qwen3moe --embd 96 --heads 3 --kv-heads 1 --vocab 1003 --ctx 1024 --type q8_0 "
	  "--experts 6 --experts-used 3",
	  INFER_F16, INFER_F32 },
	{ "c-win",
	  "--arch gemma3 --embd 96 --heads 3 --kv-heads 1 --layers 6 --window 70 --vocab 1003 "
	  "--ctx 1024 --type f16",
	  INFER_F16, INFER_Q8_0 },
};
static const struct how host_experts = {
	"c-moe-host",
	"--arch qwen3moe --embd 96 --heads 3 --kv-heads 1 --vocab 1003 --ctx 1024 --type q4_0 "
	"--experts 6 --experts-used 3",
	INFER_F16, INFER_F32, INFER_ENGINE_CPU_EXPERTS
};
enum { CUDA_HOWS = sizeof cuda_hows / sizeof *cuda_hows };

static struct stages_device cuda_device(void)
{
	return (struct stages_device){ .kind = backend_find("cuda") };
}

/* Each request by itself. */
static void run_alone(const infer_model *m, const struct how *h, struct result *to)
{
	const struct stages_device device = cuda_device();
	struct infer_engine_opts o = opts_of(h);
	infer_error err;
	infer_engine *e;

	o.prefill_chunk = 512;
	o.max_seqs = 1;
	o.flags |= INFER_ENGINE_NO_PREFIX_CACHE;
	open_on(&e, m, &o, &device, 1);
	for (int i = 0; i < REQUESTS; i++) {
		submit(e, i, &to[i]);
		assert_int_equal(run_drive(e, &err), INFER_OK);
	}
	infer_engine_close(&e);
}

static void check_same(const struct how *how)
{
	const struct stages_device device = cuda_device();
	struct infer_engine_stats st;
	infer_model *m;

	assert_int_equal(infer_model_open(&m, run_model(how->name, how->options), NULL, NULL),
	                 INFER_OK);
	run_alone(m, how, on_cpu);
	run_on(m, how, &device, 1, on_apart, &st);
	for (int i = 0; i < REQUESTS; i++) {
		if (on_cpu[i].code || on_apart[i].code)
			fail_msg("%s: %s%s", how->name, on_cpu[i].message, on_apart[i].message);
		run_same(&on_cpu[i], &on_apart[i], how->name);
	}
	assert_true(st.cached_tokens > SHARED && st.evicted_pages && st.preemptions);
	infer_model_close(&m);
}

static void test_same(void **state)
{
	int most = getenv("LONG") ? CUDA_HOWS : 2;

	(void)state;
	for (int h = 0; h < most; h++)
		check_same(&cuda_hows[h]);
}

/* The same with experts that the host computes. */
static void test_host_experts(void **state)
{
	(void)state;
	check_same(&host_experts);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same),
		                            cmocka_unit_test(test_host_experts) };

	(void)argc;
	apart_init(argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
