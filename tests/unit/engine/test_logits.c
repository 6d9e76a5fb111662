/* tests/unit/engine/test_logits.c - rows of logits with SCORE events: the same bits however a step
 * is made up, only as long as they are there, and from the token on that was asked for. */
#include "small.h"

#include <math.h>

enum { N = 150, FROM = 70, VOCAB = 1003 };
static int32_t ids[N];
static float rows[N][VOCAB], first[N][VOCAB];

/* Read all events of the steps until nothing is left; rows as they come. */
static int collect(infer_engine *e, int from, float to[N][VOCAB])
{
	struct infer_event ev;
	infer_error err;
	int next = from, ended = 0;

	while (infer_engine_busy(e)) {
		if (infer_engine_step(e, &err))
			fail_msg("%s", err.message);
		while (infer_engine_next(e, &ev)) {
			struct result *r = ev.user;

			if (ev.kind == INFER_EVENT_SCORE && r == &res[0]) {
				assert_int_equal(ev.index, next);
				assert_non_null(ev.logits);
				memcpy(to[next++], ev.logits, sizeof to[0]);
				r->scores[r->n_scores++] = ev.logprob;
			} else {
				assert_null(ev.logits);
				ended += ev.kind == INFER_EVENT_DONE && r == &res[0];
			}
		}
	}
	assert_int_equal(ended, 1);
	return next;
}

static struct infer_request scored(int from)
{
	struct infer_request r = request(ids, N, 0, 0);

	r.flags = INFER_REQ_SCORE | INFER_REQ_LOGITS | INFER_REQ_NO_TEXT;
	r.score_from = from;
	return r;
}

static void test_bits(void **state)
{
	static const struct {
		int32_t threads, chunk;
		int beside;
	} ways[] = { { 1, 512, 0 }, { 2, 512, 0 }, { 1, 7, 0 }, { 3, 33, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		infer_engine *e =
			engine((struct infer_engine_opts){ .threads = ways[i].threads,
		                                           .prefill_chunk = ways[i].chunk,
		                                           .max_seqs = 1 + ways[i].beside });
		struct infer_request r = scored(FROM), other;

		submit(e, &r);
		for (int k = 1; k <= ways[i].beside; k++) {
			other = request(ids + k, 40, 9, k);
			submit(e, &other);
		}
		assert_int_equal(collect(e, FROM, rows), N);
		infer_engine_close(&e);
		if (!i)
			memcpy(first, rows, sizeof first);
		else
			assert_memory_equal(first[FROM], rows[FROM], (N - FROM) * sizeof *rows);
	}
}

/* They are what the log-probability was made of, and those of a request for all scores. */
static void test_scores(void **state)
{
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 2 });
	struct infer_request r = scored(0);

	(void)state;
	submit(e, &r);
	assert_int_equal(collect(e, 1, rows), N);
	assert_memory_equal(first[FROM], rows[FROM], (N - FROM) * sizeof *rows);
	for (int i = 1; i < N; i++) {
		double sum = 0;

		for (int t = 0; t < VOCAB; t++)
			sum += exp((double)rows[i][t]);
		assert_true(fabs((double)rows[i][ids[i]] - log(sum) -
		                 (double)res[0].scores[i - 1]) < 1e-5);
	}
	infer_engine_close(&e);
}

static void test_gone(void **state)
{
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1, .prefill_chunk = 20 });
	struct infer_request r = scored(N - 30);
	struct infer_event ev;
	infer_error err;
	int there = 0, gone = 0;

	(void)state;
	submit(e, &r);
	/* the rows of two steps: those of the last are still there */
	while (infer_engine_busy(e)) {
		struct infer_engine_stats s;

		infer_engine_stats(e, &s);
		if (s.prefill_rows >= N)
			break;
		assert_int_equal(infer_engine_step(e, &err), INFER_OK);
	}
	while (infer_engine_next(e, &ev)) {
		there += ev.kind == INFER_EVENT_SCORE && ev.logits;
		gone += ev.kind == INFER_EVENT_SCORE && !ev.logits;
	}
	assert_int_equal(there + gone, 30);
	assert_true(there > 0 && gone > 0);
	infer_engine_close(&e);
}

/* What stands before the first score may come from the cache. */
static void test_cached(void **state)
{
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 });
	struct infer_request r = scored(0);

	(void)state;
	submit(e, &r);
	collect(e, 1, rows);
	for (int from = 64; from <= 66; from++) {
		struct infer_engine_stats a, b;

		infer_engine_stats(e, &a);
		r = scored(from);
		submit(e, &r);
		assert_int_equal(collect(e, from, first), N);
		assert_memory_equal(first[from], rows[from], (size_t)(N - from) * sizeof *rows);
		infer_engine_stats(e, &b);
		assert_int_equal(b.cached_tokens - a.cached_tokens, from - 1);
	}
	infer_engine_close(&e);
}

static void test_refused(void **state)
{
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1 });
	struct infer_request r = scored(-1);

	(void)state;
	refuse(e, &r, INFER_EINVAL, "score_from is -1");
	r = scored(N);
	refuse(e, &r, INFER_EINVAL, "score_from is 150: must be less than the 150 tokens");
	r = scored(0);
	r.flags = INFER_REQ_LOGITS | INFER_REQ_NO_TEXT;
	refuse(e, &r, INFER_EINVAL, "logits are requested without scores");
	r = scored(5);
	r.flags = INFER_REQ_NO_TEXT;
	refuse(e, &r, INFER_EINVAL, "score_from is 5, but scores are not requested");
	r = scored(N - 1);
	submit(e, &r);
	assert_int_equal(collect(e, N - 1, rows), N);
	infer_engine_close(&e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),    cmocka_unit_test(test_scores),
		cmocka_unit_test(test_gone),    cmocka_unit_test(test_cached),
		cmocka_unit_test(test_refused),
	};

	(void)argc;
	run_ids(ids, N, 5, 300, 700);
	return small_group(argv[0], tests, sizeof tests / sizeof *tests);
}
