/* tests/unit/engine/small.h - one small model, and requests by slot of `res`. */
#ifndef TESTS_ENGINE_SMALL_H
#define TESTS_ENGINE_SMALL_H
#include "run.h"
#include "engine/engine.h"

static const char options[] =
	"--embd 96 --heads 3 --kv-heads 1 --ff 128 --vocab 1003 --ctx 256 --type f32 --seed 3";
static infer_model *model; /* opened once: it is immutable */
static struct result res[16];

__attribute__((unused)) static infer_engine *engine(struct infer_engine_opts o)
{
	infer_engine *e;
	infer_error err;

	if (!o.kv_bytes)
		o.kv_bytes = 16 << 20;
	if (infer_engine_open(&e, model, &o, &err))
		fail_msg("%s", err.message);
	return e;
}

__attribute__((unused)) static struct infer_request request(const int32_t *ids, size_t n,
                                                            int32_t max_tokens, int slot)
{
	res[slot] = (struct result){ 0 };
	return (struct infer_request){ .prompt = ids,
		                       .n_prompt = n,
		                       .max_tokens = max_tokens,
		                       .user = &res[slot],
		                       .flags = INFER_REQ_IGNORE_EOS };
}

__attribute__((unused)) static uint64_t submit(infer_engine *e, const struct infer_request *r)
{
	infer_error err;
	uint64_t id;

	if (infer_engine_submit(e, r, &id, &err))
		fail_msg("%s", err.message);
	assert_true(id > 0);
	return id;
}

__attribute__((unused)) static void drive(infer_engine *e)
{
	infer_error err;

	if (run_drive(e, &err))
		fail_msg("%s", err.message);
}

/* The sequence of slot 0 decodes behind ten ids. */
__attribute__((unused)) static void decode_one(infer_engine *e, const int32_t *ids)
{
	const struct infer_request r = request(ids, 10, 100, 0);

	submit(e, &r);
	assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
}

/* The rows of the next step, where a row of a prompt takes row_ns and decoding 10 ms. */
__attribute__((unused)) static uint64_t step_rows(infer_engine *e, int64_t row_ns)
{
	struct infer_engine_stats before, after;

	e->row_ns = row_ns;
	e->decode_ns = 10000000;
	infer_engine_stats(e, &before);
	assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	infer_engine_stats(e, &after);
	return after.rows - before.rows;
}

__attribute__((unused)) static void refuse(infer_engine *e, const struct infer_request *r, int code,
                                           const char *says)
{
	infer_error err;
	uint64_t id;

	assert_int_equal(infer_engine_submit(e, r, &id, &err), code);
	assert_int_equal(id, 0);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

__attribute__((unused)) static int small_group(const char *self, const struct CMUnitTest *tests,
                                               size_t n)
{
	infer_error err;
	int failed;

	run_init(self);
	if (infer_model_open(&model, run_model("plain", options), &(struct infer_model_opts){ 0 },
	                     &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
	infer_model_close(&model);
	return failed;
}
#endif
