/* tests/unit/runner/test_run.c - jobs on an engine: samples, their deltas, refusals, and cancelled
 * tasks. */
#include "../engine/run.h"

#include <infer/runner.h>

static infer_model *model;
static infer_engine *engine;

enum { PROMPT = 70, TOKENS = 6, CTX = 128, MOST = 8 };
static int32_t prompt[PROMPT + CTX];

static infer_job job_of(int32_t n)
{
	return (infer_job){ .id = "j",
		            .n = n,
		            .logprobs = 0,
		            .request = { .prompt = prompt,
		                         .n_prompt = PROMPT,
		                         .max_tokens = TOKENS,
		                         .sample = { .temp = 0.8f, .seed = 11 },
		                         .flags = INFER_REQ_IGNORE_EOS } };
}

/* Until all has ended; texts: [MOST], what was told of each sample of the last task */
static int drive(infer_runner *r, struct buf *texts, int32_t *counts, infer_error *err)
{
	struct infer_delta d;
	struct infer_got got;

	while (infer_runner_busy(r)) {
		int rc = infer_runner_step(r, err);

		if (rc)
			return rc;
		for (;;) {
			rc = infer_runner_next(r, &got, err);
			if (rc)
				return rc;
			if (!got.task)
				break;
			while (texts && infer_task_delta(got.task, got.index, &d)) {
				counts[d.kind]++;
				if (d.kind == INFER_DELTA_TEXT)
					buf_put(&texts[d.index], d.text.at, d.text.len);
			}
		}
	}
	return INFER_OK;
}

/* Each sample is what a job of its seed alone gives, is told whole, and finds the prompt in the
 * cache. */
static void test_samples(void **state)
{
	int32_t counts[INFER_DELTA_USAGE + 1] = { 0 };
	infer_job j = job_of(3), one = job_of(1);
	struct buf texts[MOST];
	struct infer_answer a, b;
	infer_task *t, *alone;
	infer_runner *r;
	infer_error err;

	(void)state;
	j.include_usage = 1;
	for (int i = 0; i < MOST; i++)
		buf_init(&texts[i], MEM_BASE);
	assert_int_equal(infer_runner_new(&r, engine, model, &err), INFER_OK);
	assert_int_equal(infer_runner_start(&t, r, &j, &j, 0, &err), INFER_OK);
	assert_int_equal(infer_runner_samples(r), 1);
	assert_ptr_equal(infer_task_job(t), &j);
	assert_int_equal(drive(r, texts, counts, &err), INFER_OK);
	assert_int_equal(infer_runner_samples(r), 0);
	assert_int_equal(infer_task_fault(t)->kind, INFER_FAULT_NONE);
	infer_task_answer(t, &a);
	assert_int_equal(counts[INFER_DELTA_END], 3);
	assert_int_equal(counts[INFER_DELTA_USAGE], 1);
	assert_int_equal(counts[INFER_DELTA_BEGIN], 0);
	for (int32_t i = 0; i < 3; i++) {
		assert_int_equal(a.choices[i].n_tokens, TOKENS);
		assert_int_equal(a.choices[i].finish, INFER_FINISH_LENGTH);
		assert_int_equal(texts[i].len, a.choices[i].text.len);
		if (texts[i].len)
			assert_memory_equal(texts[i].at, a.choices[i].text.at, texts[i].len);
		assert_true(!i || a.choices[i].usage.cached_tokens >= PROMPT - 32);
		one.request.sample.seed = infer_job_seed(&j, i);
		assert_int_equal(infer_runner_start(&alone, r, &one, NULL, 0, &err), INFER_OK);
		assert_int_equal(drive(r, NULL, NULL, &err), INFER_OK);
		infer_task_answer(alone, &b);
		for (int k = 0; k < TOKENS; k++)
			assert_int_equal(a.choices[i].tokens[k].token, b.choices->tokens[k].token);
		infer_task_free(alone);
	}
	infer_task_free(t);
	infer_runner_free(r);
	for (int i = 0; i < MOST; i++)
		buf_fini(&texts[i]);
}

/* What the engine refuses has ended at once, and says why. */
static void test_refused(void **state)
{
	infer_job j = job_of(2), bad = job_of(1);
	infer_runner *r;
	infer_task *t;
	infer_error err;

	(void)state;
	assert_int_equal(infer_runner_new(&r, engine, model, &err), INFER_OK);
	j.request.n_prompt = PROMPT + CTX;
	assert_int_equal(infer_runner_start(&t, r, &j, NULL, 0, &err), INFER_OK);
	assert_true(infer_task_ended(t));
	assert_int_equal(infer_task_fault(t)->kind, INFER_FAULT_TOO_LONG);
	assert_int_equal(infer_task_fault(t)->n_prompt, PROMPT + CTX);
	assert_int_equal(infer_task_fault(t)->n_ctx, CTX);
	infer_task_free(t);
	j.request.n_prompt = PROMPT;
	j.request.stop_tokens = (const int32_t[]){ 1 << 30 };
	j.request.n_stop_tokens = 1;
	assert_int_equal(infer_runner_start(&t, r, &j, NULL, 0, &err), INFER_OK);
	assert_true(infer_task_ended(t));
	assert_int_equal(infer_task_fault(t)->kind, INFER_FAULT_INVALID);
	infer_task_free(t);
	bad.fault = (struct infer_fault){ { INFER_EINVAL, "no" }, "n", INFER_FAULT_INVALID, 0, 0 };
	assert_int_equal(infer_runner_start(&t, r, &bad, NULL, 0, &err), INFER_OK);
	assert_true(infer_task_ended(t));
	assert_string_equal(infer_task_fault(t)->param, "n");
	assert_false(infer_runner_busy(r));
	assert_int_equal(infer_runner_step(r, &err), INFER_OK);
	infer_task_free(t);
	infer_runner_free(r);
}

/* Cancelled: what there is stays, and is no fault.  Dropped: nothing is heard of it, and the next
 * runs as if it had not been. */
static void test_given_up(void **state)
{
	infer_job j = job_of(4), next = job_of(1);
	struct infer_answer a;
	struct infer_got got;
	infer_runner *r;
	infer_task *t, *second;
	infer_error err;

	(void)state;
	assert_int_equal(infer_runner_new(&r, engine, model, &err), INFER_OK);
	assert_int_equal(infer_runner_start(&t, r, &j, NULL, 0, &err), INFER_OK);
	do {
		assert_int_equal(infer_runner_step(r, &err), INFER_OK);
		assert_int_equal(infer_runner_next(r, &got, &err), INFER_OK);
	} while (!got.task);
	infer_task_cancel(t);
	assert_int_equal(drive(r, NULL, NULL, &err), INFER_OK);
	infer_task_answer(t, &a);
	assert_int_equal(infer_task_fault(t)->kind, INFER_FAULT_NONE);
	assert_int_equal(a.choices[0].finish, INFER_FINISH_CANCELLED);
	assert_true(a.choices[0].n_tokens > 0 && a.choices[0].n_tokens < TOKENS);
	assert_int_equal(a.choices[3].finish, INFER_FINISH_CANCELLED);
	infer_task_free(t);
	assert_int_equal(infer_runner_start(&t, r, &j, NULL, 0, &err), INFER_OK);
	infer_task_free(t);
	assert_false(infer_runner_busy(r));
	assert_int_equal(infer_runner_start(&second, r, &next, &next, 0, &err), INFER_OK);
	while (!infer_task_ended(second)) {
		assert_int_equal(infer_runner_step(r, &err), INFER_OK);
		while (!infer_runner_next(r, &got, &err) && got.task)
			assert_ptr_equal(got.user, &next);
	}
	assert_int_equal(infer_runner_samples(r), 0);
	/* a runner that goes takes what runs with it, and the engine has nothing left */
	assert_int_equal(infer_runner_start(&t, r, &j, NULL, 0, &err), INFER_OK);
	infer_runner_free(r);
	assert_false(infer_engine_busy(engine));
}

static int case_memory(void)
{
	infer_job j = job_of(2);
	infer_runner *r = NULL;
	infer_task *t;
	infer_error err;
	int rc;

	nth_ok(infer_runner_new(&r, engine, model, &err));
	nth_ok(infer_runner_start(&t, r, &j, NULL, 0, &err));
	nth_ok(drive(r, NULL, NULL, &err));
	if (infer_task_fault(t)->error.code)
		rc = INFER_ENOMEM;
out:
	infer_runner_free(r);
	return rc;
}

/* More inputs than wait at once: each has the vector that it has alone, cut and of length 1. */
static void test_embeddings(void **state)
{
	enum { N = 80, DIMENSIONS = 5, LONGEST = 9 };
	static struct infer_prompt in[N];
	infer_job j = job_of(N), one = job_of(1);
	struct infer_answer a, b;
	infer_task *t, *alone;
	infer_runner *r;
	infer_error err;

	(void)state;
	for (int i = 0; i < N; i++)
		in[i] = (struct infer_prompt){ .ids = prompt + i % 7,
			                       .n = 1 + (size_t)i % LONGEST };
	j.prompts = in;
	j.n_prompts = N;
	j.dimensions = DIMENSIONS;
	j.logprobs = one.logprobs = -1;
	j.request.max_tokens = one.request.max_tokens = 0;
	j.request.embed = one.request.embed = INFER_EMBED_MEAN;
	one.prompts = &in[N - 1];
	one.n_prompts = 1;
	assert_int_equal(infer_runner_new(&r, engine, model, &err), INFER_OK);
	assert_int_equal(infer_runner_start(&t, r, &j, &j, 0, &err), INFER_OK);
	assert_true(infer_runner_samples(r) < N);
	assert_int_equal(drive(r, NULL, NULL, &err), INFER_OK);
	assert_int_equal(infer_runner_start(&alone, r, &one, &one, 0, &err), INFER_OK);
	assert_int_equal(drive(r, NULL, NULL, &err), INFER_OK);
	assert_int_equal(infer_task_fault(t)->kind, INFER_FAULT_NONE);
	infer_task_answer(t, &a);
	infer_task_answer(alone, &b);
	for (int i = 0; i < N; i++) {
		double sum = 0;

		assert_int_equal(a.choices[i].n_embedding, DIMENSIONS);
		assert_int_equal(a.choices[i].usage.prompt_tokens, in[i].n);
		for (int k = 0; k < DIMENSIONS; k++)
			sum += (double)a.choices[i].embedding[k] *
			       (double)a.choices[i].embedding[k];
		assert_true(sum > 1 - 1e-6 && sum < 1 + 1e-6);
	}
	assert_true(b.choices->n_embedding > DIMENSIONS);
	for (int k = 1; k < DIMENSIONS; k++) { /* of another length: proportions stay */
		double of = (double)a.choices[N - 1].embedding[k] * (double)b.choices->embedding[0],
		       want = (double)b.choices->embedding[k] *
		              (double)a.choices[N - 1].embedding[0];

		assert_true(of - want < 1e-6 && want - of < 1e-6);
	}
	infer_task_free(alone);
	infer_task_free(t);
	in[70].n = CTX + 1;
	assert_int_equal(infer_runner_start(&t, r, &j, &j, 0, &err), INFER_OK);
	assert_int_equal(drive(r, NULL, NULL, &err), INFER_OK);
	assert_int_equal(infer_task_fault(t)->kind, INFER_FAULT_TOO_LONG);
	assert_non_null(strstr(infer_task_fault(t)->error.message, "input 70 is too large"));
	infer_task_free(t);
	infer_runner_free(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples), cmocka_unit_test(test_embeddings),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_given_up),
		nth_case(case_memory),
	};
	const struct infer_engine_opts o = {
		.threads = 1, .isa = "ref", .ctx = CTX, .max_seqs = 4
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	for (int i = 0; i < PROMPT + CTX; i++)
		prompt[i] = 5 + i * 7 % 90;
	if (infer_model_open(&model, run_model("runner", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err) ||
	    infer_engine_open(&engine, model, &o, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_engine_close(&engine);
	infer_model_close(&model);
	return failed;
}
