/* tests/unit/record/test_text.c - lines of text as prompts. */
#include "../engine/run.h"

#include <infer/record.h>

static infer_model *model;
static infer_chat *chat;
static struct infer_job_opts opts;
static infer_job_reader *reader;

static int read_json(infer_job **j, const char *line, infer_error *err)
{
	infer_job_free(*j);
	return infer_line_read(j, line, strlen(line), 7, 0, reader, err);
}

static int read_text(infer_job **j, const char *text, size_t n, infer_error *err)
{
	infer_job_free(*j);
	return infer_line_read(j, text, n, 7, INFER_LINE_TEXT, reader, err);
}

/* A line that is a prompt: what the request with that prompt and no id gets. */
static int case_text(void)
{
	static const char text[] = "the \"of\"\0{x";
	infer_job *j = NULL, *k = NULL;
	infer_error err;
	int rc;

	for (opts.raw = 0; opts.raw < 2; opts.raw++) {
		infer_job_reader_free(reader);
		nth_ok(infer_job_reader_new(&reader, &opts, &err));
		nth_ok(read_text(&j, text, sizeof text - 1, &err));
		assert_string_equal(j->fault.error.message, "");
		assert_string_equal(j->id, "7");
		assert_false(j->id_whole);
		nth_ok(read_json(&k, "{\"prompt\":\"the \\\"of\\\"\\u0000{x\"}", &err));
		assert_string_equal(k->fault.error.message, "");
		assert_int_equal(j->request.n_prompt, k->request.n_prompt);
		assert_memory_equal(j->request.prompt, k->request.prompt,
		                    k->request.n_prompt * sizeof *k->request.prompt);
		assert_true(j->request.sample.seed == k->request.sample.seed);
		assert_ptr_equal(j->chat, opts.raw ? NULL : chat);
		assert_string_not_equal(j->request_sha256, k->request_sha256);

		nth_ok(read_text(&j, "ab\xff", 3, &err));
		assert_int_equal(j->fault.error.code, opts.raw ? INFER_OK : INFER_EINVAL);
		if (!opts.raw)
			assert_string_equal(j->fault.error.message,
			                    "the prompt is not UTF-8 at byte 2");
		nth_ok(read_text(&j, "", 0, &err));
		assert_string_equal(j->fault.error.message, "the prompt is empty");
		assert_string_equal(j->fault.param, "prompt");
	}
out:
	opts.raw = 0;
	infer_job_free(j);
	infer_job_free(k);
	infer_job_reader_free(reader);
	reader = NULL;
	return rc;
}

/* One that could not be read has its number, too. */
static int case_bad(void)
{
	const infer_error why = { INFER_ENOMEM, "too long" };
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_line_bad(&j, 9, INFER_LINE_TEXT, &why, &err));
	assert_string_equal(j->id, "9");
	assert_int_equal(j->line, 9);
	assert_string_equal(j->fault.error.message, "too long");
out:
	infer_job_free(j);
	return rc;
}

int main(int argc, char **argv)
{
	static const char source[] = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
	const struct CMUnitTest tests[] = { nth_case(case_text), nth_case(case_bad) };
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("text", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_chat_open(&chat, source, sizeof source - 1, "source", &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	opts = (struct infer_job_opts){
		.model = model, .chat = chat, .max_tokens = -1, .logprobs = -1
	};
	failed = nth_group(tests);
	infer_chat_close(&chat);
	infer_model_close(&model);
	return failed;
}
