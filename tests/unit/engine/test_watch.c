/* tests/unit/engine/test_watch.c - being told how far the prompts are: by parts of a step, never back,
 * the cache counted as done, and no bit of an answer otherwise. */
#include "small.h"

enum { PROMPT = 150, CALLS = 4096 };
static struct {
	uint64_t done[CALLS], all;
	int n;
} seen;

static void on_part(void *user, uint64_t done, uint64_t all)
{
	assert_ptr_equal(user, &seen);
	assert_true(seen.n < CALLS);
	if (seen.n)
		assert_true(done >= seen.done[seen.n - 1]);
	assert_true(done <= all);
	seen.done[seen.n++] = done;
	seen.all = all;
}

static const int32_t *ids(void)
{
	static int32_t at[PROMPT];

	for (int i = 0; i < PROMPT; i++)
		at[i] = 3 + i * 7 % 900;
	return at;
}

static void ask(infer_engine *e, size_t n, int32_t max_tokens, int slot)
{
	const struct infer_request r = request(ids(), n, max_tokens, slot);

	seen.n = 0;
	submit(e, &r);
	drive(e);
}

static infer_engine *watched(int32_t chunk)
{
	return engine((struct infer_engine_opts){
		.prefill_chunk = chunk, .threads = 2, .watch = { on_part, &seen } });
}

/* A step of all rows has parts, more than it has layers, and each is a part of the way. */
static void test_parts(void **state)
{
	infer_engine *e = watched(256);
	int between = 0;

	(void)state;
	ask(e, PROMPT, 1, 0);
	assert_int_equal(seen.all, PROMPT);
	assert_int_equal(seen.done[0], 0);
	assert_int_equal(seen.done[seen.n - 1], PROMPT);
	for (int i = 1; i < seen.n; i++)
		between += seen.done[i] > seen.done[i - 1] && seen.done[i] < PROMPT;
	assert_true(between >= 4);
	infer_engine_close(&e);
}

/* Steps of 32 rows: done goes on from one to the next. */
static void test_steps(void **state)
{
	infer_engine *e = watched(32);
	int at = 0;

	(void)state;
	ask(e, PROMPT, 1, 0);
	for (uint64_t rows = 32; rows < PROMPT; rows += 32) {
		while (at < seen.n && seen.done[at] < rows)
			at++;
		assert_true(at < seen.n);
		assert_int_equal(seen.done[at], rows); /* the end of a step, exactly */
	}
	assert_int_equal(seen.done[seen.n - 1], PROMPT);
	infer_engine_close(&e);
}

/* Steps that only decode are not told of; what was in the cache is done when it begins. */
static void test_cached(void **state)
{
	infer_engine *e = watched(256);
	int n;

	(void)state;
	ask(e, PROMPT, 1, 0);
	n = seen.n;
	ask(e, PROMPT, 20, 1);
	assert_true(res[1].usage.cached_tokens > 0);
	assert_int_equal(seen.done[0], res[1].usage.cached_tokens);
	assert_int_equal(seen.done[seen.n - 1], PROMPT);
	assert_int_equal(seen.n, n);
	infer_engine_close(&e);
}

static void test_same(void **state)
{
	infer_engine *with = watched(64), *without;

	(void)state;
	without = engine((struct infer_engine_opts){ .prefill_chunk = 64, .threads = 2 });
	ask(with, PROMPT, 12, 0);
	assert_true(seen.n > 0);
	ask(without, PROMPT, 12, 1);
	assert_int_equal(seen.n, 0);
	assert_int_equal(res[0].n, 12);
	assert_int_equal(res[1].n, 12);
	assert_memory_equal(res[0].ids, res[1].ids, 12 * sizeof *res[0].ids);
	assert_memory_equal(res[0].logprobs, res[1].logprobs, 12 * sizeof *res[0].logprobs);
	infer_engine_close(&with);
	infer_engine_close(&without);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts),
		                            cmocka_unit_test(test_steps),
		                            cmocka_unit_test(test_cached),
		                            cmocka_unit_test(test_same) };
	int rc;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("small", options), NULL, NULL))
		return 99;
	rc = nth_group(tests);
	infer_model_close(&model);
	return rc;
}
