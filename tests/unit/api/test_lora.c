/* tests/unit/api/test_lora.c - sets of adapters, and the adapters that requests choose. */
#include "../lora/write.h"
#include "request.h"

#include <infer/adapters.h>
#include "base/err.h"

enum { LORAS = 9 };
static infer_lora *loras[LORAS];

/* Write and open adapter i, of rank i + 1. */
static void open_adapter(int i)
{
	const struct infer_tensor *t =
		infer_file_tensor(infer_model_file(model), "blk.0.attn_q.weight");
	const struct made_keys keys = { "adapter", "llama", "lora", NULL, 1 };
	struct made_tensor pair[2];
	infer_error err;

	snprintf(adapter_path, sizeof adapter_path, "%.63s/q%d.gguf", run_dir, i);
	made_pair(pair, t, i + 1, INFER_F32, 0, 0, (uint32_t)i + 1);
	write_adapter(&keys, pair, 2);
	if (infer_lora_open(&loras[i], model, adapter_path, NULL, NULL, &err))
		fail_msg("%s", err.message);
}

static int add(infer_adapters *s, int i, const char *name, float applied, infer_error *err)
{
	const struct infer_adapter a = { name, loras[i], 0, 2, applied };

	return infer_adapters_add(s, &a, err);
}

/* Names and ids: made from the file, unique, never used again. */
static int case_set(void)
{
	infer_adapters *s = NULL;
	struct infer_adapter *list = NULL;
	infer_error err;
	size_t n = 0;
	int rc;

	assert_int_equal(infer_adapters_rank(NULL), 0);
	nth_ok(infer_adapters_new(&s, &err));
	nth_ok(add(s, 0, NULL, 0, &err));
	nth_ok(add(s, 0, NULL, 0.5f, &err));
	nth_ok(add(s, 1, "b", 1, &err));
	assert_int_equal(add(s, 2, "b", 0, &err), INFER_EINVAL);
	assert_int_equal(add(s, 2, "", 0, &err), INFER_EINVAL);
	assert_int_equal(add(s, 2, "\xff", 0, &err), INFER_EINVAL);
	assert_int_equal(add(s, 2, "nan", NAN, &err), INFER_EINVAL);
	assert_int_equal(infer_adapters_rank(s), 1 + 1 + 2);
	assert_true(infer_adapters_have(s, "bc", 1) && !infer_adapters_have(s, "bc", 2));
	nth_ok(infer_adapters_remove(s, "q0", 2, &err));
	assert_int_equal(infer_adapters_remove(s, "q0", 2, &err), INFER_EINVAL);
	nth_ok(add(s, 0, NULL, 0, &err));
	nth_ok(infer_adapters_copy(&list, &n, s, &err));
	assert_int_equal(n, 3);
	assert_string_equal(list[0].name, "q0-2");
	assert_true(list[0].id == 1 && list[0].applied == 0.5f && list[0].scale == 2);
	assert_true(list[1].id == 2 && list[1].applied == 1);
	assert_string_equal(list[2].name, "q0");
	assert_int_equal(list[2].id, 3);
out:
	infer_adapters_release(list, n);
	infer_adapters_free(s);
	return rc;
}

/* Scales of all are set together, or not at all. */
static int case_apply(void)
{
	const int64_t ids[] = { 2, 0 }, twice[] = { 1, 1 }, unknown[] = { 1, 9 };
	const float scales[] = { -1, 0.25f }, bad[] = { 1, INFINITY };
	infer_adapters *s = NULL;
	struct infer_adapter *list = NULL;
	infer_error err;
	size_t n = 0;
	int rc;

	nth_ok(infer_adapters_new(&s, &err));
	for (int i = 0; i < 8; i++)
		nth_ok(add(s, i, NULL, 1, &err));
	assert_int_equal(add(s, 8, NULL, 1, &err), INFER_EINVAL); /* 9 would be applied */
	assert_non_null(strstr(err.message, "at most 8"));
	assert_int_equal(infer_adapters_apply(s, twice, scales, 2, &err), INFER_EINVAL);
	assert_int_equal(infer_adapters_apply(s, unknown, scales, 2, &err), INFER_EINVAL);
	assert_non_null(strstr(err.message, "no adapter with id 9"));
	assert_int_equal(infer_adapters_apply(s, ids, bad, 2, &err), INFER_EINVAL);
	nth_ok(infer_adapters_apply(s, ids, scales, 2, &err));
	nth_ok(add(s, 8, NULL, 1, &err));
	assert_int_equal(infer_adapters_rank(s), 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9);
	nth_ok(infer_adapters_copy(&list, &n, s, &err));
	assert_true(list[0].applied == 0.25f && list[1].applied == 0 && list[2].applied == -1);
	assert_true(list[7].applied == 0 && list[8].applied == 1);
out:
	infer_adapters_release(list, n);
	infer_adapters_free(s);
	return rc;
}

static int make_choices(infer_adapters **s, infer_error *err)
{
	TRY(infer_adapters_new(s, err));
	TRY(add(*s, 0, "sql", 0.5f, err));
	TRY(add(*s, 1, "chat", 0, err));
	return add(*s, 2, "code", 0, err);
}

static const struct {
	const char *line, *names[2], *model;
	float factor[2];
} choices[] = {
	{ "{\"prompt\":\"the\"}", { "sql" }, NULL, { 0.5f } },
	{ "{\"prompt\":\"the\",\"lora\":[]}", { NULL }, NULL, { 0 } },
	{ "{\"prompt\":\"the\",\"lora\":null}", { "sql" }, NULL, { 0.5f } },
	{ "{\"prompt\":\"the\",\"lora\":[{\"id\":2,\"scale\":3},{\"id\":0,\"scale\":-1}]}",
	  { "code", "sql" },
	  NULL,
	  { 3, -1 } },
	{ "{\"prompt\":\"the\",\"lora\":[{\"id\":2,\"scale\":0},{\"name\":\"chat\","
	  "\"scale\":1}]}",
	  { "chat" },
	  NULL,
	  { 1 } },
	{ "{\"prompt\":\"the\",\"model\":\"chat\"}", { "chat" }, "chat", { 2 } },
	{ "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{"
	  "\"prompt\":\"the\",\"model\":\"code:latest\"}}",
	  { "code" },
	  "code",
	  { 2 } },
	{ "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/embeddings\",\"body\":{"
	  "\"input\":\"the\",\"model\":\"code\"}}",
	  { "code" },
	  "code",
	  { 2 } },
	{ "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{"
	  "\"prompt\":\"the\",\"model\":\"any\"}}",
	  { "sql" },
	  NULL,
	  { 0.5f } },
};

/* What requests choose: the default, a list, a model. A job keeps its adapters. */
static int case_choose(void)
{
	infer_adapters *s = NULL;
	infer_job *j = NULL;
	infer_error err;
	int rc;

	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
		int32_t n = choices[i].names[1] ? 2 : choices[i].names[0] != NULL;

		nth_ok(make_choices(&s, &err));
		opts.adapters = s;
		nth_ok(read_line(&j, choices[i].line, &err));
		infer_adapters_free(s); /* the job still has them */
		s = NULL;
		if (j->fault.kind)
			fail_msg("%s: %s", choices[i].line, j->fault.error.message);
		assert_int_equal(j->request.n_loras, n);
		for (int32_t k = 0; k < n; k++) {
			assert_string_equal(j->lora_names[k], choices[i].names[k]);
			assert_true(j->request.loras[k].factor == choices[i].factor[k]);
		}
		assert_int_equal(j->adapter != NULL, choices[i].model != NULL);
		if (choices[i].model)
			assert_string_equal(j->adapter, choices[i].model);
		infer_job_free(j);
		j = NULL;
	}
out:
	opts.adapters = NULL;
	infer_job_free(j);
	infer_adapters_free(s);
	return rc;
}

static void test_refused(void **state)
{
	static const struct bad rows[] = {
		{ "{\"prompt\":\"a\",\"lora\":5}", INFER_EINVAL, "lora", "array" },
		{ "{\"prompt\":\"a\",\"lora\":[5]}", INFER_EINVAL, "lora", "object" },
		{ "{\"prompt\":\"a\",\"lora\":[{}]}", INFER_EINVAL, "lora", "id or a name" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0,\"name\":\"sql\",\"scale\":1}]}",
		  INFER_EINVAL, "lora", "id or a name" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":3,\"scale\":1}]}", INFER_EINVAL, "lora",
		  "no adapter with id 3" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":-1,\"scale\":1}]}", INFER_EINVAL, "lora",
		  "-1" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0.5,\"scale\":1}]}", INFER_EINVAL, "lora",
		  "integer" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"name\":1,\"scale\":1}]}", INFER_EINVAL, "lora",
		  "name" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"name\":\"x\",\"scale\":1}]}", INFER_EINVAL,
		  "lora", "no adapter 'x'" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"sha256\":\"00\",\"scale\":1}]}", INFER_EINVAL,
		  "lora", "no adapter" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0}]}", INFER_EINVAL, "lora", "scale" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0,\"scale\":\"1\"}]}", INFER_EINVAL, "lora",
		  "scale" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0,\"scale\":1e99}]}", INFER_EINVAL, "lora",
		  "too large" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0,\"scale\":1},{\"id\":0,\"scale\":2}]}",
		  INFER_EINVAL, "lora", "twice" },
		{ "{\"prompt\":\"a\",\"lora\":[{\"id\":0,\"scale\":1,\"task\":2}]}", INFER_EINVAL,
		  "lora", "task" },
		{ "{\"prompt\":\"a\",\"model\":\"nobody\"}", INFER_EINVAL, "model", "nobody" },
		{ "{\"prompt\":\"a\",\"model\":\"sql\",\"lora\":[]}", INFER_EINVAL, "model",
		  "sql" },
	};
	infer_adapters *s;
	infer_job *j;
	infer_error err;

	(void)state;
	assert_int_equal(make_choices(&s, &err), INFER_OK);
	opts.adapters = s;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct nth n = { case_bad };
		void *arg = &n;

		bad_now = &rows[i];
		nth_run(&arg);
	}
	opts.adapters = NULL;
	/* without adapters */
	assert_int_equal(read_line(&j, rows[4].line, &err), INFER_OK);
	assert_int_equal(j->fault.error.code, INFER_EINVAL);
	infer_job_free(j);
	infer_adapters_free(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { nth_case(case_set), nth_case(case_apply),
		                            nth_case(case_choose), cmocka_unit_test(test_refused) };

	(void)argc;
	if (request_init(argv[0], "lora"))
		return 1;
	for (int i = 0; i < LORAS; i++)
		open_adapter(i);
	int failed = nth_group(tests);

	for (int i = 0; i < LORAS; i++)
		infer_lora_close(&loras[i]);
	request_end();
	return failed;
}
