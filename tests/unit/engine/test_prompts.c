/* tests/unit/engine/test_prompts.c - the rows that prompts get in a step */
#include "small.h"

/* a model of one layer, with room for long prompts */
static infer_model *long_model(const char *name)
{
	infer_model *m;
	infer_error err;

	if (infer_model_open(&m, run_model(name, "--ctx 1024 --layers 1"),
	                     &(struct infer_model_opts){ 0 }, &err))
		fail_msg("%s", err.message);
	return m;
}

/* Rows of a step with one that decodes: a long prompt that comes evenly gets those of three tenths of
 * the time, a short one those of the whole or what fills the step to 48, and one that ranks above the
 * other 128 at once, or the step alone if it ends in it.  Rows of a long prompt do not fill a step up
 * beside a short one. */
static void test_even(void **state)
{
	const struct {
		int32_t n, brief, priority, step_ms;
		uint32_t flags;
		uint64_t rows;
	} cases[] = {
		{ 700, 0, 0, 40, INFER_ENGINE_EVEN, 4 },
		{ 700, 0, 1, 40, INFER_ENGINE_EVEN, 4 },
		{ 700, 0, 0, 40, 0, 31 },
		{ 500, 0, 0, 40, INFER_ENGINE_EVEN, 48 },
		{ 500, 0, 0, 70, INFER_ENGINE_EVEN, 61 },
		{ 500, 0, 1, 40, INFER_ENGINE_EVEN, 129 },
		{ 60, 100, 1, 10, INFER_ENGINE_EVEN, 60 },
		{ 700, 33, 0, 10, INFER_ENGINE_EVEN, 34 },
		{ 500, 33, 0, 10, INFER_ENGINE_EVEN, 48 },
	};
	static int32_t ids[800];
	struct infer_request r;
	infer_model *m = long_model("even");

	(void)state;
	run_ids(ids, 800, 6, 260, 280);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct infer_engine_opts o = { .threads = 1,
			                             .max_seqs = 3,
			                             .step_ms = cases[i].step_ms,
			                             .flags = cases[i].flags };
		infer_engine *e;

		assert_int_equal(infer_engine_open(&e, m, &o, NULL), INFER_OK);
		decode_one(e, ids);
		r = request(ids + 20, (size_t)cases[i].n, 1, 1);
		r.priority = cases[i].priority;
		submit(e, &r);
		r = request(ids + 40, (size_t)cases[i].brief, 1, 2);
		if (cases[i].brief)
			submit(e, &r);
		assert_int_equal(step_rows(e, 1000000), cases[i].rows);
		infer_engine_close(&e);
	}
	infer_model_close(&m);
}

/* While short prompts of a greater priority come without end, a sequence that decodes has a row in every
 * second step. */
static void test_held(void **state)
{
	static int32_t ids[400];
	struct infer_engine_stats before, after;
	struct infer_request r;
	infer_model *m = long_model("held");
	infer_engine *e;

	(void)state;
	run_ids(ids, 400, 6, 260, 280);
	assert_int_equal(
		infer_engine_open(&e, m, &(struct infer_engine_opts){ .threads = 1, .max_seqs = 2 },
	                          NULL),
		INFER_OK);
	decode_one(e, ids);
	infer_engine_stats(e, &before);
	for (int i = 0; i < 6; i++) {
		r = request(ids + 20 + 50 * i, 40, 1, (uint64_t)i + 1);
		r.priority = 1;
		submit(e, &r);
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
		infer_engine_stats(e, &after);
		assert_int_equal(after.decode_rows - before.decode_rows, (i + 1) / 2);
		assert_int_equal(after.rows - before.rows, 40 * (i + 1) + (i + 1) / 2);
	}
	infer_engine_close(&e);
	infer_model_close(&m);
}

/* Where more prompts wait than decode, they get more rows than fill the step, but at most 128. */
static void test_crowd(void **state)
{
	static const struct {
		int waiting;
		uint64_t rows;
	} cases[] = { { 1, 47 }, { 3, 48 }, { 7, 112 }, { 12, 128 } };
	static int32_t ids[3000];
	struct infer_request r;

	(void)state;
	run_ids(ids, 3000, 6, 260, 700);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		infer_engine *e = engine((struct infer_engine_opts){
			.threads = 1, .max_seqs = 16, .step_ms = 1, .flags = INFER_ENGINE_EVEN });

		decode_one(e, ids);
		for (int k = 1; k <= cases[i].waiting; k++) {
			r = request(ids + 200 * k, 150, 1, k);
			submit(e, &r);
		}
		assert_int_equal(step_rows(e, 1000000), 1 + cases[i].rows);
		drive(e);
		infer_engine_close(&e);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_crowd),
	};

	(void)argc;
	return small_group(argv[0], tests, sizeof tests / sizeof *tests);
}
