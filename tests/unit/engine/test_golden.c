/* tests/unit/engine/test_golden.c - stories260K against a float64 evaluation made without this
 * project: log-probabilities of a prompt, the likeliest after it, and what greedy decoding says,
 * all prompts in one batch */
#include "run.h"
#include "../shared.h"
#include <math.h>

enum { CASES = 5 };
static struct result scored[CASES], greedy[CASES];
static int32_t ids[CASES][RUN_MOST];

static json_t *cases_read(void)
{
	char path[SHARED_PATH];
	json_t *o;

	shared_need("models/stories260K.golden.json", CASES, path);
	o = json_load_file(path, 0, NULL);
	assert_non_null(o);
	assert_int_equal(json_array_size(json_object_get(o, "cases")), CASES);
	return o;
}

static int32_t list(int32_t *to, const json_t *a)
{
	for (size_t i = 0; i < json_array_size(a); i++)
		to[i] = (int32_t)json_integer_value(json_array_get(a, i));
	return (int32_t)json_array_size(a);
}

static void near(double got, double want, double tolerance, const char *what, size_t i)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%s %zu: %.8f, wanted %.8f", what, i, got, want);
}

/* The log-probability of a [token, logprob] of the file: two that lie close may change places. */
static float of_token(const struct result *r, const json_t *want)
{
	for (int32_t i = 0; i < r->n_top; i++)
		if (r->top[i].token == json_integer_value(json_array_get(want, 0)))
			return r->top[i].logprob;
	return NAN;
}

static void check(const json_t *c, int i, double tolerance)
{
	const json_t *lp = json_object_get(c, "logprob_of_each_next_prompt_token"),
	             *top = json_object_get(c, "top5_after_prompt");
	const char *text = json_string_value(json_object_get(c, "greedy_text"));
	int32_t want[RUN_MOST], n = list(want, json_object_get(c, "greedy_tokens"));

	assert_int_equal(scored[i].n_scores, json_array_size(lp));
	for (size_t k = 0; k < json_array_size(lp); k++)
		near((double)scored[i].scores[k], json_real_value(json_array_get(lp, k)), tolerance,
		     "score", k);
	for (size_t k = 0; k < json_array_size(top); k++)
		near((double)of_token(&greedy[i], json_array_get(top, k)),
		     json_real_value(json_array_get(json_array_get(top, k), 1)), tolerance,
		     "alternative", k);
	assert_int_equal(greedy[i].n, n);
	assert_memory_equal(greedy[i].ids, want, (size_t)n * sizeof *want);
	if (greedy[i].text_bytes != strlen(text) ||
	    memcmp(greedy[i].text, text, greedy[i].text_bytes))
		fail_msg("\"%.*s\", wanted \"%s\"", (int)greedy[i].text_bytes, greedy[i].text,
		         text);
}

static void submit(infer_engine *e, const json_t *c, int i)
{
	struct infer_request r = {.prompt = ids[i],
	                          .n_prompt = (size_t)list(ids[i], json_object_get(c, "tokens")),
	                          .flags = INFER_REQ_SCORE | INFER_REQ_NO_TEXT,
	                          .user = &scored[i]};
	infer_error err;
	uint64_t id;

	scored[i] = greedy[i] = (struct result){ 0 };
	assert_int_equal(infer_engine_submit(e, &r, &id, &err), INFER_OK);
	r.flags = INFER_REQ_IGNORE_EOS;
	r.max_tokens = (int32_t)json_array_size(json_object_get(c, "greedy_tokens"));
	r.top = 10;
	r.user = &greedy[i];
	assert_int_equal(infer_engine_submit(e, &r, &id, &err), INFER_OK);
}

static void run(int kv_type, double tolerance)
{
	json_t *o = cases_read(), *c;
	char path[SHARED_PATH];
	struct infer_engine_opts opts = {
	    .threads = 2, .max_seqs = 4, .kv_set = 1, .k_type = kv_type, .v_type = kv_type};
	infer_model *m;
	infer_engine *e;
	infer_error err;
	size_t i;

	assert_true(shared_find("models/stories260K.gguf", path));
	if (infer_model_open(&m, path, &(struct infer_model_opts){0}, &err) ||
	    infer_engine_open(&e, m, &opts, &err))
		fail_msg("%s", err.message);
	json_array_foreach(json_object_get(o, "cases"), i, c)
		submit(e, c, (int)i);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	json_array_foreach(json_object_get(o, "cases"), i, c)
		check(c, (int)i, tolerance);
	infer_engine_close(&e);
	infer_model_close(&m);
	json_decref(o);
}

static void test_f32(void **state)
{
	(void)state;
	run(INFER_F32, 2e-5);
}

static void test_f16(void **state)
{
	(void)state;
	run(INFER_F16, 1e-2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_f16)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
