/* tests/unit/engine/test_draft.c - several rows of one sequence drawn in one step: whatever is
 * guessed, the request gets the same tokens with the same log-probabilities; right guesses save
 * steps. */
#include "run.h"
#include "engine/engine.h"

enum { PROMPT = 90, NEW = NTH_SANITIZED ? 40 : 120, CTX = 256, SEQS = 4 };

static int32_t prompts[SEQS][PROMPT];
static struct result want[SEQS], got[SEQS];

/* Guesses what the request said when it ran alone; every `wrong`th guess is another token, 0: none
 * is. */
struct oracle {
	int32_t wrong, width;
};

static int32_t guess(void *user, const uint64_t *ids, int32_t n, uint64_t *next, int32_t cap)
{
	const struct oracle *o = user;
	int32_t s = 0, k = 0;

	while (s < SEQS - 1 && ids[0] != (uint64_t)prompts[s][0])
		s++;
	for (; k < cap && k < o->width && n - PROMPT + k < want[s].n; k++) {
		int32_t id = want[s].ids[n - PROMPT + k];
		next[k] = (uint64_t)(o->wrong && (n + k) % o->wrong == 0 ? (id + 1) % 1003 : id);
	}
	return k;
}

static void submit(infer_engine *e, int s, struct result *to, int32_t max_new)
{
	struct infer_request r = {
		.prompt = prompts[s],
		.n_prompt = PROMPT,
		.max_tokens = max_new,
		.user = to,
		.top = 2,
		.flags = INFER_REQ_IGNORE_EOS,
		.sample = { .temp = s & 1 ? 0 : 0.9f,
		            .repeat = 1.2f,
		            .dry_multiplier = 0.8f,
		            .mirostat = s == 2 ? 2 : 0,
		            .seed = 7 },
	};
	infer_error err;
	uint64_t id;

	*to = (struct result){ 0 };
	if (infer_engine_submit(e, &r, &id, &err))
		fail_msg("%s", err.message);
}

/* Steps that it took. */
static uint64_t run(const infer_model *m, int kv_type, const struct oracle *o, int seqs,
                    int32_t chunk, struct result *to)
{
	struct infer_engine_opts opts = {
		.threads = 2,
		.prefill_chunk = chunk,
		.max_seqs = seqs,
		.ctx = CTX,
		.k_type = kv_type,
		.v_type = kv_type,
		.kv_set = 1,
	};
	struct infer_engine_stats st;
	infer_engine *e;
	infer_error err;

	if (infer_engine_open(&e, m, &opts, &err))
		fail_msg("%s", err.message);
	if (o)
		e->draft = (struct engine_draft){ guess, (void *)(uintptr_t)o };
	for (int s = 0; s < SEQS; s++)
		submit(e, s, &to[s], NEW);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	infer_engine_stats(e, &st);
	infer_engine_close(&e);
	return st.steps;
}

static void check(const char *name, const char *options, int kv_type)
{
	static const struct oracle oracles[] = { { 0, 1 }, { 0, 7 }, { 0, 1000 },
		                                 { 1, 4 }, { 3, 8 }, { 5, 2 } };
	infer_model *m;
	infer_error err;

	if (infer_model_open(&m, run_model(name, options), &(struct infer_model_opts){ 0 }, &err))
		fail_msg("%s", err.message);
	for (int s = 0; s < SEQS; s++)
		run_ids(prompts[s], PROMPT, (uint64_t)s + 1, 260 + 100 * s, 100);
	uint64_t alone = run(m, kv_type, NULL, 1, 512, want);
	for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++)
		for (int seqs = 1; seqs <= SEQS; seqs += 3) {
			uint64_t steps =
				run(m, kv_type, &oracles[i], seqs, seqs == 1 ? 512 : 24, got);
			for (int s = 0; s < SEQS; s++)
				run_same(&want[s], &got[s], name);
			if (!oracles[i].wrong && seqs == 1)
				assert_true(steps * 3 < alone * 2);
		}
	infer_model_close(&m);
}

static void test_plain(void **state)
{
	(void)state;
	check("plain",
	      "--embd 96 --heads 6 --kv-heads 3 --ff 100 --vocab 1003 --ctx 256 --type f32 --arch "
	      "qwen3",
	      INFER_F16);
}

static void test_windows(void **state)
{
	(void)state;
	check("win",
	      "--arch gemma3 --embd 96 --heads 3 --kv-heads 1 --layers 6 --window 40 --vocab 1003 "
	      "--ctx 256 --type q8_0",
	      INFER_F16);
}

static void test_quantised_cache(void **state)
{
	(void)state;
	check("q4",
	      "--embd 96 --heads 3 --kv-heads 3 --ff 128 --vocab 1003 --ctx 256 --type q4_0 --arch "
	      "qwen3",
	      INFER_Q4_0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_quantised_cache),
	};

	(void)argc;
	run_init(argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
