/* tests/unit/engine/test_sched.c - scheduling: which request goes first, which one gives way,
 * what a step contains, and many threads. */
#include "small.h"
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "engine/engine.h"

static void test_order(void **state)
{
	int32_t ids[200];
	infer_engine *e =
		engine((struct infer_engine_opts){ .threads = 1, .max_seqs = 1, .max_queue = 3 });
	struct infer_request r;
	uint64_t id;

	(void)state;
	run_ids(ids, 200, 6, 260, 700);
	for (int i = 0; i < 3; i++) {
		r = request(ids + i, 20, 4, i);
		r.priority = i == 2;
		submit(e, &r);
	}
	r = request(ids, 20, 4, 3);
	refuse(e, &r, INFER_EAGAIN, "3 requests are waiting");
	drive(e);
	assert_int_equal(res[2].order, 1);
	assert_int_equal(res[0].order, 2);
	assert_int_equal(res[1].order, 3);
	/* one that is greater takes the seat of one that runs */
	r = request(ids, 20, 100, 0);
	submit(e, &r);
	for (int i = 0; i < 5; i++)
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	r = request(ids + 1, 20, 4, 1);
	r.priority = 7;
	id = submit(e, &r);
	drive(e);
	assert_int_equal(res[1].order, 1);
	assert_int_equal(res[0].usage.preemptions, 1);
	assert_int_equal(res[0].n, 100);
	assert_int_equal(infer_engine_cancel(e, id), INFER_EINVAL); /* ended */
	infer_engine_close(&e);
	/* a short prompt gets past a long one */
	e = engine((struct infer_engine_opts){ .threads = 1, .max_seqs = 2, .prefill_chunk = 16 });
	r = request(ids, 200, 1, 0);
	submit(e, &r);
	r = request(ids + 3, 8, 1, 1);
	submit(e, &r);
	drive(e);
	assert_int_equal(res[1].order, 1);
	assert_true(res[0].usage.chunks > 12);
	infer_engine_close(&e);
}

/* What the engine believes that computing a row and copying a MiB take. */
static void believe(infer_engine *e, int64_t row_ns, int64_t copy_ns)
{
	e->row_ns = row_ns;
	e->copy_ns = copy_ns;
}

/* A request that is in the middle of its answer when one of a greater priority comes.  Returns its id. */
static uint64_t interrupt(infer_engine *e, const int32_t *ids, int64_t row_ns, int64_t copy_ns)
{
	struct infer_request r = request(ids, 60, 30, 0);
	uint64_t id = submit(e, &r);

	for (int k = 0; k < 15; k++)
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	r = request(ids + 1, 20, 4, 1);
	r.priority = 1;
	submit(e, &r);
	believe(e, row_ns, copy_ns);
	assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	kv_clear(e->kv);
	believe(e, row_ns, copy_ns);
	return id;
}

/* One that gives way is laid aside and copied back, or computed again, by what each is said to take; it
 * goes on as if nothing had been, and nothing stays behind. */
static void test_swap(void **state)
{
	const int64_t long_ns = INT64_C(1000000000000);
	const struct {
		uint64_t bytes;
		int64_t row_ns, copy_ns;
		int is_copied, cancels;
	} cases[] = {
		{ 1 << 20, long_ns, 1, 1, 0 }, { 1 << 20, 1, long_ns, 0, 0 },
		{ 0, long_ns, 1, 0, 0 },       { 1, long_ns, 1, 0, 0 },
		{ 1 << 20, long_ns, 1, 1, 1 },
	};
	int32_t ids[70];
	struct result alone;

	(void)state;
	run_ids(ids, 70, 6, 260, 700);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		infer_engine *e = engine((struct infer_engine_opts){
			.threads = 1, .max_seqs = 1, .swap_bytes = cases[i].bytes });
		struct infer_request r = request(ids, 60, 30, 0);
		struct infer_engine_stats st;
		uint64_t id, aside;

		submit(e, &r);
		drive(e);
		alone = res[0];
		kv_clear(e->kv);
		id = interrupt(e, ids, cases[i].row_ns, cases[i].copy_ns);
		infer_engine_stats(e, &st);
		assert_int_equal(st.preemptions, 1);
		aside = st.swap_bytes;
		assert_int_equal(aside > 0, cases[i].is_copied);
		assert_int_equal(st.swap_out_bytes, aside);
		if (cases[i].cancels)
			assert_int_equal(infer_engine_cancel(e, id), INFER_OK);
		drive(e);
		infer_engine_stats(e, &st);
		assert_int_equal(st.swaps, cases[i].is_copied && !cases[i].cancels);
		assert_int_equal(st.recomputes, !cases[i].is_copied);
		assert_int_equal(st.swap_in_bytes, cases[i].cancels ? 0 : aside);
		assert_int_equal(st.swap_bytes, 0);
		if (!cases[i].cancels)
			run_same(&alone, &res[0], "after it gave way");
		interrupt(e, ids, cases[i].row_ns, cases[i].copy_ns);
		infer_engine_close(&e); /* with what is aside */
	}
}

/* Beside a sequence that decodes, a prompt gets the rows that the measured time allows, but 16. */
static void test_step_time(void **state)
{
	const struct {
		int64_t row_ns;
		uint64_t rows;
	} cases[] = {
		{ 1000000000, 16 },
		{ 1000000, 30 },
		{ 100000, 128 },
		{ 1, 128 },
	};
	int32_t ids[250];
	struct infer_request r;

	(void)state;
	run_ids(ids, 250, 6, 260, 700);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		infer_engine *e = engine((struct infer_engine_opts){
			.threads = 1, .max_seqs = 2, .prefill_chunk = 128, .step_ms = 40 });

		decode_one(e, ids);
		r = request(ids + 20, 200, 1, 1);
		submit(e, &r);
		assert_int_equal(step_rows(e, cases[i].row_ns), 1 + cases[i].rows);
		drive(e);
		infer_engine_close(&e);
	}
}

/* Requests that begin alike compute what they share once, to the position, those that run side by
 * side too. */
static void shared_beginning(const infer_model *m, int32_t seqs, uint32_t flags, double most)
{
	enum { SHARED = 140, TAIL = 9, N = 24 };
	static struct result all[N];
	int32_t ids[SHARED + TAIL];
	uint64_t cached = 0, distinct = SHARED + N * TAIL;
	struct infer_engine_opts o = {
		.threads = 1, .max_seqs = seqs, .kv_bytes = 16 << 20, .flags = flags
	};
	struct infer_engine_stats st;
	infer_engine *e;

	assert_int_equal(infer_engine_open(&e, m, &o, NULL), INFER_OK);
	for (int i = 0; i < N; i++) {
		struct infer_request r = request(ids, SHARED + TAIL, 2 + i % 5, 0);

		r.user = memset(&all[i], 0, sizeof all[i]);
		run_ids(ids, SHARED, 6, 260, 700);
		run_ids(ids + SHARED, TAIL, 100 + (uint64_t)i, 260, 700);
		submit(e, &r);
	}
	drive(e);
	infer_engine_stats(e, &st);
	for (int i = 0; i < N; i++)
		cached += (uint64_t)all[i].usage.cached_tokens;
	assert_int_equal(st.cached_tokens, cached);
	assert_int_equal(st.prefill_rows + cached, N * (SHARED + TAIL));
	if ((double)st.prefill_rows > most * (double)distinct)
		fail_msg("%d rows for %d distinct tokens", (int)st.prefill_rows, (int)distinct);
	assert_true(flags || cached > 0);
	infer_engine_close(&e);
}

static void test_shared_beginning(void **state)
{
	infer_model *m;

	(void)state;
	shared_beginning(model, 8, 0, 1);
	shared_beginning(model, 1, 0, 1);
	shared_beginning(model, 8, INFER_ENGINE_NO_PREFIX_CACHE, 24);
	assert_int_equal(infer_model_open(&m,
	                                  run_model("window", "--arch gemma3 --layers 6 --embd 32 "
	                                                      "--heads 2 --kv-heads 1 --window 70 "
	                                                      "--vocab 1003 --ctx 256"),
	                                  &(struct infer_model_opts){ 0 }, NULL),
	                 INFER_OK);
	shared_beginning(m, 8, 0, 1);
	shared_beginning(m, 1, 0, 1);
	infer_model_close(&m);
}

/* All wait for the first, which computes what they share; where it ends with its first token, if that is
 * a page at least, for less does not stay in the cache. */
static void test_short_lead(void **state)
{
	const struct {
		int32_t shared, max_tokens;
		uint64_t steps, cached;
	} cases[] = {
		{ 5, 1, 1, 0 },
		{ 5, 2, 3, 7 * 5 },
		{ 70, 1, 2, 7 * 70 },
	};
	int32_t ids[80];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		infer_engine *e = engine((struct infer_engine_opts){
			/* no step is too slow for all prompts at once */
			.threads = 1,
			.max_seqs = 8,
			.prefill_chunk = 1024,
			.step_ms = 100000 });
		struct infer_engine_stats st;

		for (int k = 0; k < 8; k++) {
			struct infer_request r =
				request(ids, cases[i].shared + 3, cases[i].max_tokens, k);

			run_ids(ids, cases[i].shared, 6, 260, 700);
			run_ids(ids + cases[i].shared, 3, 100 + (uint64_t)k, 260, 700);
			submit(e, &r);
		}
		drive(e);
		infer_engine_stats(e, &st);
		assert_int_equal(st.steps, cases[i].steps);
		assert_int_equal(st.cached_tokens, cases[i].cached);
		infer_engine_close(&e);
	}
}

/* A step of a long prompt is given up for who comes while it runs; the next one is not. */
static infer_engine *visited;
static int visits;
static const struct infer_request *visitor;
static struct backend_kind real;

static int end_visited(struct backend_plan *p, struct backend_result *out, infer_error *err)
{
	int rc;

	if (visits > 0 && visits--)
		submit(visited, visitor);
	rc = real.end(p, out, err);
	if (rc)
		assert_int_equal(rc, INFER_ECANCEL);
	return rc;
}

static void test_newcomer(void **state)
{
	int32_t ids[250];
	struct infer_engine_stats st;
	struct infer_request r, comes;
	struct backend_kind kind;
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 2, .max_seqs = 4 });

	(void)state;
	run_ids(ids, 250, 6, 260, 700);
	r = request(ids, 240, 3, 0);
	submit(e, &r);
	drive(e);
	infer_engine_close(&e);
	e = visited = engine((struct infer_engine_opts){ .threads = 2, .max_seqs = 4 });
	kind = real = *e->stages.at[0].on.kind;
	kind.end = end_visited;
	e->stages.at[0].on.kind = &kind;
	r = request(ids, 240, 3, 2);
	submit(e, &r);
	comes = request(ids + 7, 8, 1, 3);
	visitor = &comes;
	visits = 1;
	assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	infer_engine_stats(e, &st);
	assert_int_equal(st.rows, 0); /* given up */
	comes = request(ids + 9, 8, 1, 4);
	visits = 1;
	assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	infer_engine_stats(e, &st);
	assert_true(st.rows > 0); /* not twice */
	e->stages.at[0].on.kind = &real;
	drive(e);
	assert_int_equal(res[3].order, 1);
	assert_int_equal(res[4].order, 2);
	run_same(&res[0], &res[2], "given up once");
	infer_engine_close(&e);
}

/* Events that are not read wait, in order. */
static void test_unread(void **state)
{
	int32_t ids[20];
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1, .max_seqs = 2 });
	struct infer_request r;

	(void)state;
	run_ids(ids, 20, 6, 260, 700);
	r = request(ids, 20, 200, 0);
	r.top = 20;
	submit(e, &r);
	r = request(ids, 20, 200, 1);
	r.top = 20;
	submit(e, &r);
	for (int i = 0; i < 210; i++)
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	assert_true(infer_engine_busy(e));
	drive(e);
	assert_false(infer_engine_busy(e));
	assert_int_equal(res[0].n, 200);
	run_same(&res[0], &res[1], "unread");
	infer_engine_close(&e);
}

static void test_cancel(void **state)
{
	int32_t ids[20];
	infer_engine *e = engine((struct infer_engine_opts){ .threads = 1, .max_seqs = 1 });
	struct infer_request r;
	uint64_t running, waiting;

	(void)state;
	run_ids(ids, 20, 6, 260, 700);
	r = request(ids, 20, 100, 0);
	running = submit(e, &r);
	r = request(ids, 20, 5, 1);
	waiting = submit(e, &r);
	r = request(ids, 20, 5, 2);
	r.deadline_ns = clock_now_ns() - 1;
	submit(e, &r);
	r = request(ids, 20, 5, 3);
	submit(e, &r);
	for (int i = 0; i < 3; i++)
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	assert_int_equal(infer_engine_cancel(e, running), INFER_OK);
	assert_int_equal(infer_engine_cancel(e, waiting), INFER_OK);
	assert_int_equal(infer_engine_cancel(e, 99), INFER_EINVAL);
	drive(e);
	assert_int_equal(res[0].finish, INFER_FINISH_CANCELLED);
	assert_int_equal(res[0].code, INFER_ECANCEL);
	assert_int_equal(res[0].n, 3);
	assert_int_equal(res[1].finish, INFER_FINISH_CANCELLED);
	assert_int_equal(res[2].finish, INFER_FINISH_CANCELLED);
	assert_string_equal(res[2].message, "the deadline has passed");
	assert_int_equal(res[3].finish, INFER_FINISH_LENGTH);
	/* what is left behind goes with the engine */
	r = request(ids, 20, 100, 0);
	submit(e, &r);
	assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
	submit(e, &r);
	infer_engine_close(&e);
}

struct client {
	infer_engine *e;
	pthread_t thread;
	int index, cancels;
	struct result *to;
};

static void *client_run(void *user)
{
	struct client *c = user;
	int32_t ids[16];
	uint64_t id;

	for (int i = 0; i < 4; i++) {
		struct infer_request r;
		struct infer_engine_stats st;

		run_ids(ids, 16, (uint64_t)(c->index * 4 + i), 260, 700);
		r = (struct infer_request){ .prompt = ids,
			                    .n_prompt = 16,
			                    .max_tokens = 10,
			                    .user = &c->to[i],
			                    .flags = INFER_REQ_IGNORE_EOS,
			                    .sample = { .temp = 1, .seed = 9 } };
		while (infer_engine_submit(c->e, &r, &id, NULL) == INFER_EAGAIN)
			nanosleep(&(struct timespec){ 0, 100000 }, NULL);
		if (i == 3)
			c->cancels += infer_engine_cancel(c->e, id) == INFER_OK;
		infer_engine_stats(c->e, &st);
	}
	return NULL;
}

/* Four threads submit and cancel while one steps; what is not cancelled is what it is alone. */
static void test_threads(void **state)
{
	static struct result to[4][4];
	struct client c[4];
	struct infer_event ev;
	infer_engine *e =
		engine((struct infer_engine_opts){ .threads = 2, .max_seqs = 3, .max_queue = 4 });
	struct infer_request r;
	int32_t ids[16];
	int ended = 0;

	(void)state;
	assert_int_equal(infer_engine_wait(e, 1000000), 0);
	assert_int_equal(infer_engine_wait(e, 0), 0);
	memset(to, 0, sizeof to);
	for (int i = 0; i < 4; i++) {
		c[i] = (struct client){ .e = e, .index = i, .to = to[i] };
		assert_int_equal(pthread_create(&c[i].thread, NULL, client_run, &c[i]), 0);
	}
	while (ended < 16) {
		assert_int_equal(infer_engine_wait(e, -1), 1);
		assert_int_equal(infer_engine_step(e, NULL), INFER_OK);
		while (infer_engine_next(e, &ev))
			run_take(&ev, &ended);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(c[i].thread, NULL);
	infer_engine_close(&e);
	e = engine((struct infer_engine_opts){ .threads = 1 });
	for (int i = 0; i < 16; i++) {
		run_ids(ids, 16, (uint64_t)i, 260, 700);
		r = request(ids, 16, 10, 0);
		r.sample.temp = 1;
		r.sample.seed = 9;
		submit(e, &r);
		drive(e);
		if (to[i / 4][i % 4].finish == INFER_FINISH_LENGTH)
			run_same(&res[0], &to[i / 4][i % 4], "among threads");
		else
			assert_int_equal(i % 4, 3);
	}
	infer_engine_close(&e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),      cmocka_unit_test(test_swap),
		cmocka_unit_test(test_step_time),  cmocka_unit_test(test_shared_beginning),
		cmocka_unit_test(test_short_lead), cmocka_unit_test(test_newcomer),
		cmocka_unit_test(test_unread),     cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_threads),
	};

	(void)argc;
	return small_group(argv[0], tests, sizeof tests / sizeof *tests);
}
