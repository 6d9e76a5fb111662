/* tests/unit/engine/test_need.c - the memory that an engine reports without being opened is what
 * it takes; a model over an open file is the same model. */
#include "../nth.h"

#include <stdint.h>
#include <string.h>

#include <infer/engine.h>

static const char path[] = "tests/golden/logits/gemma3.gguf"; /* windows, and a context of 128 */

static int case_need(void)
{
	const struct infer_engine_opts o = { .threads = 1, .ctx = 64 };
	struct infer_engine_need need, whole;
	struct infer_engine_stats st;
	infer_file *f = NULL;
	infer_model *m = NULL;
	infer_engine *e = NULL;
	int rc;

	nth_ok(infer_file_open(&f, path, NULL));
	nth_ok(infer_model_open_file(&m, f, NULL, NULL));
	assert_ptr_equal(infer_model_file(m), f);
	nth_ok(infer_engine_need(m, &o, &need, NULL));
	nth_ok(infer_engine_need(m, NULL, &whole, NULL));
	nth_ok(infer_engine_open(&e, m, &o, NULL));
	infer_engine_stats(e, &st);
	assert_int_equal(need.ctx, 64);
	assert_true(need.kv_bytes > 0 &&
	            need.kv_bytes <= st.kv_reserved_bytes); /* in whole pages */
	assert_int_equal(need.workspace_bytes, st.workspace_bytes);
	assert_true(need.weight_bytes > 0);
	assert_int_equal(whole.ctx, 128);
	assert_true(whole.kv_bytes > need.kv_bytes);
out:
	infer_engine_close(&e);
	infer_model_close(&m);
	infer_file_close(&f); /* ours still */
	return rc;
}

static void test_refused(void **state)
{
	struct infer_engine_need need;
	infer_error err;
	infer_file *f;
	infer_model *m;

	(void)state;
	assert_int_equal(infer_file_open(&f, path, &err), INFER_OK);
	assert_int_equal(
		infer_model_open_file(&m, f, &(struct infer_model_opts){ .ctx = -1 }, &err),
		INFER_EINVAL);
	assert_null(m);
	assert_int_equal(infer_model_open_file(&m, f, NULL, &err), INFER_OK);
	assert_int_equal(
		infer_engine_need(m, &(struct infer_engine_opts){ .isa = "sse9" }, &need, &err),
		INFER_EUNSUP);
	assert_int_equal(
		infer_engine_need(m, &(struct infer_engine_opts){ .ctx = -1 }, &need, &err),
		INFER_EINVAL);
	assert_int_equal(need.kv_bytes, 0);
	/* eight heads' worth of one value: no block of 32 */
	assert_int_equal(infer_engine_need(m,
	                                   &(struct infer_engine_opts){
						   .kv_set = 1,
						   .k_type = INFER_Q8_0,
						   .v_type = INFER_Q8_0,
					   },
	                                   &need, &err),
	                 INFER_EUNSUP);
	infer_model_close(&m);
	infer_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_need), cmocka_unit_test(test_refused) };

	return nth_group(tests);
}
