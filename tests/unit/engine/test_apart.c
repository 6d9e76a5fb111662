/* tests/unit/engine/test_apart.c - only a backend touches weights, pages of the cache and the
 * workspace: over a backend whose memory is closed to all others (../backend/apart.h), and with
 * the weights of the file closed too, everything gives the same bytes as on the CPU. */
#include "apart_run.h"

static void test_engine(void **state)
{
	const struct backend_kind apart = apart_kind();
	const struct stages_device device = { .kind = &apart };
	struct infer_engine_stats st;
	infer_model *m;

	(void)state;
	for (size_t h = 0; h < HOWS; h++) {
		const char *path = model_of(&hows[h]);

		assert_int_equal(infer_model_open(&m, path, NULL, NULL), INFER_OK);
		run_cpu(m, &hows[h], on_cpu, &st);
		run_on(m, &hows[h], &device, 1, on_apart, &st);
		for (int i = 0; i < REQUESTS; i++)
			run_same(&on_cpu[i], &on_apart[i], hows[h].name);
		assert_true(st.cached_tokens > SHARED && st.evicted_pages && st.preemptions);
		infer_model_close(&m);
	}
}

static void test_forks(void **state)
{
	const struct backend_kind apart = apart_kind();
	const struct stages_device cpu_device = { .kind = backend_find("cpu") },
				   apart_device = { .kind = &apart };
	infer_model *m;

	(void)state;
	for (size_t h = 0; h < HOWS; h++) {
		struct hand cpu = { 0 }, other = { 0 };

		assert_int_equal(infer_model_open(&m, model_of(&hows[h]), NULL, NULL), INFER_OK);
		by_hand(&cpu, m, &hows[h], &cpu_device, 1);
		by_hand(&other, m, &hows[h], &apart_device, 1);
		assert_int_equal(cpu.n_logits, other.n_logits);
		assert_memory_equal(cpu.logits, other.logits, cpu.n_logits * sizeof(float));
		free(cpu.logits);
		free(other.logits);
		infer_model_close(&m);
	}
}

static uint64_t small_left;
static void apart_small(const struct backend *b, uint64_t *left, uint64_t *total)
{
	(void)b;
	*left = *total = small_left;
}

/* What the device says is what counts: weights that do not fit beside the cache are refused. */
static void test_capacity(void **state)
{
	struct backend_kind apart = apart_kind();
	const struct stages_device device = { .kind = &apart };
	struct infer_engine_opts o = { .threads = 1, .ctx = CTX };
	infer_engine *e;
	infer_model *m;
	infer_error err;

	(void)state;
	assert_int_equal(infer_model_open(&m, model_of(&hows[0]), NULL, NULL), INFER_OK);
	assert_int_equal(engine_open(&e, m, &o, &device, 1, &err), INFER_OK);
	const struct place_part part = e->place.parts[0];
	assert_true(part.weights > m->weight_bytes / 2 && part.weights > part.kv);
	small_left = part.workspace + 2 * part.kv;
	infer_engine_close(&e);
	apart.memory = apart_small;
	assert_int_equal(engine_open(&e, m, &o, &device, 1, &err), INFER_ENOMEM);
	assert_null(e);
	assert_non_null(strstr(err.message, "a context of 256 needs"));
	infer_model_close(&m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_engine),
		                            cmocka_unit_test(test_forks),
		                            cmocka_unit_test(test_capacity) };

	(void)argc;
	apart_init(argv[0]);
	return nth_group(tests);
}
