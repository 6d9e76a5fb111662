/* tests/unit/engine/test_engine.c - refusals of the engine, how requests end, their order, and
 * many threads. */
#include "small.h"
#include <math.h>

#include "base/fmath.h"

static void test_refused(void **state)
{
	int32_t ids[300], bad = 1003;
	const struct infer_str empty = { "", 0 }, latin = { "\xe9", 1 };
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 });
	struct infer_engine_stats st;
	struct infer_request ok, r;

	(void)state;
	run_ids(ids, 300, 1, 260, 700);
	ok = request(ids, 10, 5, 0);
#define REFUSE(change, code, says) \
	do { \
		r = ok; \
		change; \
		refuse(e, &r, code, says); \
	} while (0)
	REFUSE(r.n_prompt = 0, INFER_EINVAL, "empty");
	REFUSE(r.prompt = &bad;
	       r.n_prompt = 1, INFER_EINVAL, "token 1003 is outside the vocabulary of 1003");
	REFUSE(r.max_tokens = -2, INFER_EINVAL, "max_tokens is -2");
	REFUSE(r.top = 129, INFER_EINVAL, "top is 129");
	REFUSE(r.flags = 1 << 9, INFER_EINVAL, "0x200");
	REFUSE(r.stop = &empty; r.n_stop = 1, INFER_EINVAL, "stop string 0 is empty");
	REFUSE(r.stop = &latin; r.n_stop = 1, INFER_EINVAL, "stop string 0 is not UTF-8");
	REFUSE(r.stop = &latin; r.n_stop = 1;
	       r.flags = INFER_REQ_NO_TEXT, INFER_EINVAL, "without text");
	REFUSE(r.stop_tokens = &bad; r.n_stop_tokens = 1, INFER_EINVAL, "stop token 0");
	REFUSE(r.sample.temp = -1, INFER_EINVAL, "temp");
	REFUSE(r.n_prompt = 256, INFER_ENOMEM,
	       "needs a context of 257; there are 256: a prompt of at most 255");
	REFUSE(r.n_prompt = 257;
	       r.max_tokens = 0, INFER_ENOMEM, "needs a context of 257; there are 256");
	infer_engine_stats(e, &st);
	infer_engine_close(&e);
	/* the context that a cache of two pages holds */
	e = engine((struct infer_engine_opts){ .threads = 1, .kv_bytes = 2 * st.kv_page_bytes });
	REFUSE(r.n_prompt = 64, INFER_ENOMEM, "needs a context of 65; there are 64");
	infer_engine_close(&e);
}

static void test_open_refused(void **state)
{
	const struct {
		struct infer_engine_opts o;
		int code;
		const char *says;
	} bad[] = {
		{ { .threads = -1 }, INFER_EINVAL, "threads" },
		{ { .max_seqs = 5000 }, INFER_EINVAL, "max_seqs" },
		{ { .flags = 1 << 5 }, INFER_EINVAL, "flags" },
		{ { .isa = "sse9" }, INFER_EUNSUP, "sse9" },
		{ { .act_type = INFER_F16 }, INFER_EINVAL, "act_type is 1" },
		{ { .act_type = INFER_BF16 }, INFER_EUNSUP, "no F16 or BF16 matrix" },
		{ { .kv_set = 1, .k_type = INFER_Q5_0, .v_type = INFER_F16 },
		  INFER_EUNSUP,
		  "Q5_0" },
	};
	infer_engine *e;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(infer_engine_open(&e, model, &bad[i].o, &err), bad[i].code);
		assert_null(e);
		if (!strstr(err.message, bad[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.message, bad[i].says);
	}
}

/* Text is that of the tokens; a full context ends with LENGTH; greedy takes the likeliest; its
 * alternatives are sorted. */
static void test_text(void **state)
{
	int32_t ids[20];
	struct infer_request r;
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 });
	struct buf all;
	infer_detok *d;
	const char *bytes;
	size_t n;
	double sum = 0;

	(void)state;
	run_ids(ids, 20, 2, 260, 700);
	r = request(ids, 20, -1, 0);
	r.top = INFER_MAX_TOP;
	submit(e, &r);
	drive(e);
	assert_int_equal(res[0].finish, INFER_FINISH_LENGTH);
	assert_int_equal(res[0].n, 256 - 20);
	buf_init(&all, MEM_BASE);
	assert_int_equal(infer_detok_new(&d, infer_model_tokenizer(model), 0, ids[19], NULL),
	                 INFER_OK);
	for (int32_t i = 0; i < res[0].n; i++) {
		assert_int_equal(infer_detok_put(d, res[0].ids[i], &bytes, &n, NULL), INFER_OK);
		buf_put(&all, bytes, n);
	}
	assert_int_equal(infer_detok_end(d, &bytes, &n, NULL), INFER_OK);
	buf_put(&all, bytes, n);
	infer_detok_free(d);
	assert_int_equal(all.len, res[0].text_bytes);
	assert_memory_equal(all.at, res[0].text, all.len);
	buf_fini(&all);
	assert_int_equal(res[0].n_top, INFER_MAX_TOP);
	assert_int_equal(res[0].top[0].token, res[0].ids[0]);
	assert_true(num_bits(res[0].top[0].logprob) == num_bits(res[0].logprobs[0]));
	for (int i = 0; i < INFER_MAX_TOP; i++) {
		sum += fm_exp((double)res[0].top[i].logprob);
		assert_true(!i || res[0].top[i].logprob < res[0].top[i - 1].logprob ||
		            (res[0].top[i].logprob == res[0].top[i - 1].logprob &&
		             res[0].top[i].token > res[0].top[i - 1].token));
	}
	assert_true(sum > 0.1 && sum <= 1.000001);
	infer_engine_close(&e);
}

static void test_stops(void **state)
{
	int32_t ids[20], stop_token;
	struct infer_request r;
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1, .max_seqs = 4 });
	struct infer_str stop[2] = { { "~~never~~", 9 } };
	char word[16], *found;
	size_t at;

	(void)state;
	run_ids(ids, 20, 2, 260, 700);
	r = request(ids, 20, 60, 0);
	submit(e, &r);
	drive(e);
	/* bytes from the middle of the text, across tokens */
	assert_true(res[0].text_bytes > 80);
	memcpy(word, res[0].text + 37, 9);
	word[9] = 0;
	res[0].text[res[0].text_bytes] = 0;
	found = strstr(res[0].text, word);
	at = (size_t)(found - res[0].text);
	stop[1] = (struct infer_str){ word, 9 };
	r = request(ids, 20, 60, 1);
	r.stop = stop;
	r.n_stop = 2;
	submit(e, &r);
	stop_token = res[0].ids[10];
	for (int i = 0; i < 10; i++)
		assert_int_not_equal(res[0].ids[i], stop_token);
	r = request(ids, 20, 60, 2);
	r.stop_tokens = &stop_token;
	r.n_stop_tokens = 1;
	submit(e, &r);
	memset(&stop, 0x5a, sizeof stop); /* all was copied */
	stop_token = 0;
	drive(e);
	assert_int_equal(res[1].finish, INFER_FINISH_STOP);
	assert_int_equal(res[1].text_bytes, at);
	assert_memory_equal(res[1].text, res[0].text, at);
	assert_true(res[1].n < 60);
	assert_int_equal(res[2].finish, INFER_FINISH_STOP);
	assert_int_equal(res[2].n, 11);
	assert_memory_equal(res[2].text, res[0].text, res[2].text_bytes);
	infer_engine_close(&e);
}

/* A bias makes the end-of-text token certain; with IGNORE_EOS it is a token like others, without it
 * the end. */
static void test_end_of_text(void **state)
{
	int32_t ids[4] = { 300, 301, 302, 303 },
		eos = infer_token_special(infer_model_tokenizer(model), INFER_EOS);
	const struct infer_logit_bias bias = { eos, 1000 };
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 });
	struct infer_request r = request(ids, 4, 8, 0);

	(void)state;
	assert_true(eos >= 0);
	r.sample.bias = &bias;
	r.sample.n_bias = 1;
	submit(e, &r);
	drive(e);
	assert_int_equal(res[0].n, 8);
	r = request(ids, 4, 8, 1);
	r.flags = 0;
	r.sample.bias = &bias;
	r.sample.n_bias = 1;
	submit(e, &r);
	drive(e);
	assert_int_equal(res[1].n, 1);
	assert_int_equal(res[1].ids[0], eos);
	assert_int_equal(res[1].finish, INFER_FINISH_STOP);
	assert_int_equal(res[1].text_bytes, 0);
	assert_true(num_bits(res[0].logprobs[0]) == num_bits(res[1].logprobs[0]));
	assert_true(res[1].logprobs[0] < -1); /* under the logits as they are, without the bias */
	infer_engine_close(&e);
}

/* Scoring what was drawn gives the log-probabilities it was drawn with, to the bit. */
static void test_score(void **state)
{
	int32_t ids[120];
	infer_engine *e = engine(
		(struct infer_engine_opts){ .threads = 2, .max_seqs = 2, .prefill_chunk = 50 });
	struct infer_request r;

	(void)state;
	run_ids(ids, 40, 5, 260, 700);
	r = request(ids, 40, 80, 0);
	r.sample.temp = 1;
	submit(e, &r);
	drive(e);
	memcpy(ids + 40, res[0].ids, 80 * sizeof *ids);
	for (int round = 0; round < 2;
	     round++) { /* the second with a warm cache, which it must not read */
		r = request(ids, 120, 0, 1);
		r.flags = INFER_REQ_SCORE | INFER_REQ_NO_TEXT;
		submit(e, &r);
		drive(e);
		assert_int_equal(res[1].finish, INFER_FINISH_LENGTH);
		assert_int_equal(res[1].n, 0);
		assert_int_equal(res[1].n_scores, 119);
		assert_int_equal(res[1].usage.cached_tokens, 0);
		assert_memory_equal(res[1].scores + 39, res[0].logprobs, 80 * sizeof(float));
	}
	r = request(ids, 1, 0, 2); /* nothing to score, nothing to draw */
	r.flags |= INFER_REQ_SCORE;
	submit(e, &r);
	r = request(ids, 256, 0, 3);
	r.n_prompt = 120;
	submit(e, &r);
	drive(e);
	assert_int_equal(res[2].n + res[2].n_scores + res[3].n + res[3].n_scores, 0);
	assert_int_equal(res[2].finish, INFER_FINISH_LENGTH);
	infer_engine_close(&e);
}

/* The model with some of its numbers changed, and an engine for it. */
static void open_changed(infer_model **m, infer_engine **e, const struct run_change *c, size_t n)
{
	const char *path = run_changed(run_model("plain", options), c, n);
	infer_error err;

	assert_int_equal(infer_model_open(m, path, &(struct infer_model_opts){ 0 }, &err),
	                 INFER_OK);
	assert_int_equal(
		infer_engine_open(e, *m,
	                          &(struct infer_engine_opts){ .threads = 1, .kv_bytes = 1 << 20 },
	                          &err),
		INFER_OK);
}

/* A weight that is no number ends the requests that meet it, by name, and not the engine. */
static void test_nan(void **state)
{
	const struct run_change nan = { "output.weight", 7 * 96, NAN };
	infer_model *m;
	infer_engine *e;
	int32_t ids[4] = { 300, 301, 302, 303 };
	struct infer_request r;

	(void)state;
	open_changed(&m, &e, &nan, 1);
	r = request(ids, 4, 5, 0);
	submit(e, &r);
	drive(e);
	assert_int_equal(res[0].finish, INFER_FINISH_ERROR);
	assert_int_equal(res[0].code, INFER_ENAN);
	assert_non_null(strstr(res[0].message, "token 7 at position 4"));
	r = request(ids, 4, 0, 1);
	submit(e, &r);
	drive(e);
	assert_int_equal(res[1].finish, INFER_FINISH_LENGTH);
	infer_engine_close(&e);
	infer_model_close(&m);
}

/* Finite weights may make a logit that is not: where it is asked for it has no log-probability. */
static void test_no_probability(void **state)
{
	int32_t ids[2] = { 300, 7 };
	int below = 0;

	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		const struct run_change huge[] = { { "output.weight", 7 * 96, (float)sign * 3e38f },
			                           { "output_norm.weight", 0, 1e3f } };
		infer_model *m;
		infer_engine *e;

		open_changed(&m, &e, huge, 2);
		struct infer_request r = request(ids, 2, 0, 0);

		r.flags |= INFER_REQ_SCORE;
		submit(e, &r);
		drive(e);
		assert_int_equal(res[0].finish, INFER_FINISH_ERROR);
		assert_int_equal(res[0].code, INFER_ENAN);
		assert_int_equal(res[0].n_scores, 0);
		below += strstr(res[0].message,
		                "log-probability of token 7 at position 1 is -inf") != NULL;
		infer_engine_close(&e);
		infer_model_close(&m);
	}
	assert_int_equal(below, 1); /* the other is the logit itself, inf */
}

/* One request to its end, without memory in step `steps` (0: none).  Returns the number of
 * steps. */
static int run_steps(infer_engine *e, int steps)
{
	int done = 0, ended = 0;
	struct infer_event ev;

	while (infer_engine_busy(e) && done < RUN_MOST) {
		mem_fail_at(++done == steps);
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
		mem_fail_at(0);
		while (infer_engine_next(e, &ev))
			run_take(&ev, &ended);
	}
	return done;
}

/* A long text that is held back to the end, where there is no memory for it: an error, never an
 * answer without its end. */
static void test_end_without_memory(void **state)
{
	static char held[8 * RUN_MOST];
	struct infer_str stop = { held, 0 };
	infer_model *m;
	infer_error err;
	int32_t ids[20];
	int steps = 0;

	(void)state;
	if (infer_model_open(
		    &m, run_model("long", "--layers 1 --embd 32 --heads 2 --vocab 700 --ctx 800"),
		    &(struct infer_model_opts){ 0 }, &err))
		fail_msg("%s", err.message);
	run_ids(ids, 20, 2, 260, 400);
	for (int turn = 0; turn < 3; turn++) {
		struct infer_request r = request(ids, 20, -1, turn);
		infer_engine *e;

		if (infer_engine_open(&e, m,
		                      &(struct infer_engine_opts){ .threads = 1,
		                                                   .max_seqs = 1,
		                                                   .prefill_chunk = 1,
		                                                   .kv_bytes = 16 << 20 },
		                      &err))
			fail_msg("%s", err.message);
		r.stop = &stop;
		r.n_stop = turn > 0;
		submit(e, &r);
		steps = run_steps(e, turn == 2 ? steps : 0);
		infer_engine_close(&e);
		assert_true(res[turn].done);
		assert_int_equal(res[turn].code, turn == 2 ? INFER_ENOMEM : INFER_OK);
		assert_int_equal(res[turn].text_bytes, turn == 2 ? 0 : res[0].text_bytes);
		assert_true(turn != 2 || strstr(res[turn].message, "no memory"));
		assert_true(res[0].text_bytes > 3000);
		memcpy(held, res[0].text, res[0].text_bytes);
		held[res[0].text_bytes] = '~';
		stop.len = res[0].text_bytes + 1;
	}
	infer_model_close(&m);
}

/* A banned sequence is not completed in the answer; what begins in the prompt is another text. */
static void test_banned(void **state)
{
	int32_t ids[4] = { 300, 301, 302, 303 }, in_prompt[2], pair[2];
	const int32_t *banned[] = { in_prompt, pair }, lens[] = { 2, 2 };
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 });
	struct infer_request r = request(ids, 4, 12, 0);

	(void)state;
	submit(e, &r);
	drive(e);
	in_prompt[0] = ids[3];
	in_prompt[1] = res[0].ids[0];
	pair[0] = res[0].ids[4];
	pair[1] = res[0].ids[5];
	r = request(ids, 4, 12, 1);
	r.sample.banned = banned;
	r.sample.n_banned_ids = lens;
	r.sample.n_banned = 1;
	submit(e, &r);
	drive(e);
	assert_memory_equal(res[0].ids, res[1].ids, 12 * sizeof *ids);
	r = request(ids, 4, 12, 2);
	r.sample.banned = banned;
	r.sample.n_banned_ids = lens;
	r.sample.n_banned = 2;
	submit(e, &r);
	drive(e);
	assert_int_equal(res[2].n, 12);
	assert_int_not_equal(res[2].ids[5], pair[1]);
	for (int i = 0; i < 11; i++)
		assert_false(res[2].ids[i] == pair[0] && res[2].ids[i + 1] == pair[1]);
	r.sample.n_banned = -1;
	assert_int_equal(infer_engine_submit(e, &r, &(uint64_t){ 0 }, NULL), INFER_EINVAL);
	infer_engine_close(&e);
}

/* Everything once, for the run under failing allocations. */
static int case_memory(void)
{
	static struct result r0, r1;
	int32_t ids[40];
	const struct infer_str stop = { "zzzz", 4 };
	const struct infer_logit_bias bias = { 300, 1 };
	const int32_t one[] = { 300, 301 };
	struct infer_request r = { .prompt = ids,
		                   .n_prompt = 40,
		                   .max_tokens = 6,
		                   .stop = &stop,
		                   .n_stop = 1,
		                   .top = 3,
		                   .user = &r0,
		                   .sample = { .temp = 1,
		                               .repeat = 1.1f,
		                               .bias = &bias,
		                               .n_bias = 1,
		                               .banned = (const int32_t *[]){ one },
		                               .n_banned_ids = (int32_t[]){ 2 },
		                               .n_banned = 1,
		                               .dry_multiplier = 1 } };
	infer_engine *e = NULL;
	infer_error err;
	uint64_t id;
	int rc;

	r0 = r1 = (struct result){ 0 };
	run_ids(ids, 40, 1, 260, 700);
	nth_ok(infer_engine_open(
		&e, model,
		&(struct infer_engine_opts){ .threads = 1, .kv_bytes = 1 << 20, .max_seqs = 2 },
		&err));
	nth_ok(infer_engine_submit(e, &r, &id, &err));
	r.user = &r1;
	r.flags = INFER_REQ_SCORE;
	nth_ok(infer_engine_submit(e, &r, &id, &err));
	rc = run_drive(e, &err);
	if (rc == INFER_ENOMEM)
		rc = run_drive(e, &err); /* nothing is lost by a step that failed */
	assert_int_equal(rc, INFER_OK);
	assert_true(r0.done && r1.done);
	assert_true(r0.code == INFER_OK || r0.code == INFER_ENOMEM);
	assert_int_equal(r1.n_scores, r1.code ? r1.n_scores : 39);
out:
	infer_engine_close(&e);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_open_refused),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_end_of_text),
		cmocka_unit_test(test_banned),
		cmocka_unit_test(test_score),
		cmocka_unit_test(test_nan),
		cmocka_unit_test(test_no_probability),
		cmocka_unit_test(test_end_without_memory),
		nth_case(case_memory),
	};

	(void)argc;
	return small_group(argv[0], tests, sizeof tests / sizeof *tests);
}
