/* tests/unit/engine/test_types.c - promise 1 for every weight type that has a kernel, under every
 * kernel set that the processor runs: one digest a type, alone, and in company or chunks; and
 * for both types of activations */
#include "run.h"
#include "kern/kern.h"

#include <infer/type.h>

enum {
	PROMPT = NTH_SANITIZED ? 35 : 75,
	NEW = NTH_SANITIZED ? 3 : 8,
	OTHERS = NTH_SANITIZED ? 2 : 7,
};

static struct result first, again, other[OTHERS];
static int32_t prompt[PROMPT], others[OTHERS][PROMPT];
static int act_type;

static void submit(infer_engine *e, const int32_t *ids, int32_t n, struct result *to)
{
	struct infer_request r = { .prompt = ids,
		                   .n_prompt = (size_t)n,
		                   .max_tokens = NEW,
		                   .user = memset(to, 0, sizeof *to),
		                   .flags = INFER_REQ_IGNORE_EOS,
		                   .sample = { .temp = 1, .seed = 5 } };
	infer_error err;

	if (infer_engine_submit(e, &r, NULL, &err))
		fail_msg("%s", err.message);
}

/* 0: the processor lacks the kernel set. */
static int run(const infer_model *m, const char *isa, int threads, int chunk, int n_others,
               struct result *to)
{
	struct infer_engine_opts o = { .isa = isa,
		                       .threads = threads,
		                       .prefill_chunk = chunk,
		                       .max_seqs = n_others + 1,
		                       .act_type = act_type,
		                       .kv_bytes = 8 << 20 };
	infer_engine *e;
	infer_error err;
	int rc = infer_engine_open(&e, m, &o, &err);

	if (rc == INFER_EUNSUP && strstr(err.message, "the processor lacks it"))
		return 0;
	if (rc)
		fail_msg("%s", err.message);
	for (int i = 0; i < n_others; i++)
		submit(e, others[i], 9 + 8 * i, &other[i]);
	submit(e, prompt, PROMPT, to);
	if (run_drive(e, &err))
		fail_msg("%s", err.message);
	infer_engine_close(&e);
	assert_true(to->done && to->n == NEW);
	return 1;
}

static const struct {
	int threads, chunk, others;
} ways[] = { { 3, 33, OTHERS }, { 2, 24, 0 }, { 2, 1, 0 } };
enum { WAYS = sizeof ways / sizeof *ways };

static void test_type(void **state)
{
	const char *name = *state;
	infer_model *m;
	infer_error err;
	char options[200], what[100];
	static unsigned tried;
	unsigned n = tried++;

	/* rows of one block of 256; of the 395 of the output a part of a tile is left */
	snprintf(options, sizeof options,
	         "--embd 256 --heads 4 --kv-heads 1 --ff 256 --vocab 395 --layers 1 "
	         "--ctx 128 --arch qwen3 --type %s",
	         name);
	if (infer_model_open(&m, run_model(name, options), &(struct infer_model_opts){ 0 }, &err))
		fail_msg("%s", err.message);
	assert_true(run(m, "ref", 1, 512, 0, &first));
	for (unsigned i = 0; kern_name(i); i++) {
		snprintf(what, sizeof what, "%s under %s", name, kern_name(i));
		if (!run(m, kern_name(i), 1, 512, 0, &again))
			continue;
		run_same(&first, &again, what);
		/* each type and each set meet every way, but not all three together */
		run(m, kern_name(i), ways[n % WAYS].threads, ways[n % WAYS].chunk,
		    ways[n % WAYS].others, &again);
		run_same(&first, &again, what);
		n++;
	}
	infer_model_close(&m);
}

/* Different numbers, but no others for another set. */
static void test_bf16(void **state)
{
	static const char *const types[] = { "F16", "BF16" };
	static struct result plain;

	for (int i = 0; i < 2; i++) {
		void *type = (void *)(uintptr_t)types[i];
		test_type(&type);
		plain = first;
		act_type = INFER_BF16;
		test_type(&type);
		act_type = INFER_F32;
		assert_memory_not_equal(plain.logprobs, first.logprobs, NEW * sizeof(float));
	}
	(void)state;
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[INFER_TYPE_COUNT + 1];
	struct kern k = kern_select(0);
	int n = 0;

	(void)argc;
	run_init(argv[0]);
	run_ids(prompt, PROMPT, 1, 260, 130);
	for (int i = 0; i < OTHERS; i++)
		run_ids(others[i], PROMPT, (uint64_t)i + 2, 260, 130);
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (k.mm[t].rows) {
			const char *name = infer_type_info(t)->name;

			tests[n++] = (struct CMUnitTest){ name, test_type, NULL, NULL,
				                          (void *)(uintptr_t)name };
		}
	if (n < 25) {
		fprintf(stderr, "%d types with kernels\n", n);
		return 1;
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_bf16);
	return _cmocka_run_group_tests("types", tests, (size_t)n, NULL, NULL);
}
