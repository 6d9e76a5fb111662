/* tests/unit/job/test_breakers.c - sequence breakers */
#include "../engine/run.h"
#include <infer/job.h>

static infer_model *model;

/* Each token that holds a text, once; several tokens that spell one. */
static int case_breakers(void)
{
	const infer_tokenizer *t = infer_model_tokenizer(model);
	const struct infer_str texts[] = { { "th", 2 }, { "zqzqz", 5 } };
	struct infer_sample_opts o = { 0 };
	infer_breakers *b = NULL;
	infer_error err;
	int32_t singles = 0;
	int rc, spelled = 0;

	nth_ok(infer_breakers_new(&b, t, texts, 2, &err));
	infer_breakers_use(b, &o);
	for (int32_t i = 0; i < o.n_dry_breakers; i++) {
		const char *bytes;
		size_t n;

		assert_int_equal(infer_token_bytes(t, o.dry_breakers[i][0], 0, &bytes, &n, &err),
		                 INFER_OK);
		singles += o.n_dry_breaker[i] == 1;
		spelled += o.n_dry_breaker[i] > 1 && bytes[0] == 'z';
		assert_true(o.n_dry_breaker[i] > 1 || memmem(bytes, n, "th", 2) ||
		            memmem(bytes, n, "zqzqz", 5));
	}
	assert_int_equal(spelled, 1);
	for (int32_t id = 0; id < infer_tokenizer_count(t); id++) {
		const char *bytes;
		size_t n;

		assert_int_equal(infer_token_bytes(t, id, 0, &bytes, &n, &err), INFER_OK);
		singles -= n && memmem(bytes, n, "th", 2) != NULL;
	}
	assert_int_equal(singles, 0);
out:
	infer_breakers_free(b);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_breakers),
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("breakers", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_model_close(&model);
	return failed;
}
