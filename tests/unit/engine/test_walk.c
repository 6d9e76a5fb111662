/* tests/unit/engine/test_walk.c - a random walk of submit, cancel, step and eviction through a
 * small cache, against what must hold: every request ends once, its events come in order and
 * without a gap, it says what it always says, and no page is lost
 *
 * LONG=1 in the environment: 100,000 operations (make check-long), else a fifth of them; under
 * sanitizers a twentieth. */
#include "run.h"
#include <pthread.h>

#include "base/clock.h"
#include "engine/engine.h"

enum { TEXTS = 24, LENGTHS = 6, MOST = 180, MOST_NEW = 40, LIVE = 64, SEQS = 5, QUEUE = 10 };

static const int32_t lengths[LENGTHS] = { 1, 20, 33, 64, 129, MOST };
static int32_t texts[TEXTS][MOST];

/* What a request of a text and a length says, as far as it was seen. */
static struct truth {
	int32_t ids[MOST_NEW];
	float p[MOST_NEW];
	int32_t n;
} truth[TEXTS][LENGTHS];

struct live {
	uint64_t id; /* 0: free */
	struct truth *truth;
	int32_t n_prompt, max_new, n, scores;
	int may_cancel, wants_scores, done;
};

struct world {
	infer_engine *e;
	uint64_t seed, draws;
	struct live live[LIVE];
	int n_live;
	uint64_t cancelled, late, full, ended;
};

static uint64_t draw(struct world *w, uint64_t below)
{
	uint32_t r[4];

	rng_block(r, w->seed, w->draws++);
	return (r[0] | (uint64_t)r[1] << 32) % below;
}

/* Texts that begin alike, for some pages or some tokens. */
static void make_texts(void)
{
	for (int t = 0; t < TEXTS; t++) {
		run_ids(texts[t], MOST, (uint64_t)t + 1, 260, 140);
		memcpy(texts[t], texts[t / 4 * 4], (size_t)(t % 4) * 45 * sizeof **texts);
	}
}

static void op_submit(struct world *w)
{
	int text = (int)draw(w, TEXTS), length = (int)draw(w, LENGTHS);
	struct live *l = w->live;
	struct infer_request r = { .prompt = texts[text],
		                   .n_prompt = (size_t)lengths[length],
		                   .max_tokens = (int32_t)draw(w, MOST_NEW + 1),
		                   .flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT,
		                   .priority = draw(w, 10) == 0,
		                   .salt = draw(w, 8) == 0,
		                   .sample = { .temp = 1, .seed = (uint64_t)text } };
	int rc, is_late = draw(w, 50) == 0, is_full = w->e->n_queued >= QUEUE;
	infer_error err;

	while (l < w->live + LIVE && l->id)
		l++;
	if (l == w->live + LIVE)
		return;
	*l = (struct live){ .truth = &truth[text][length],
		            .n_prompt = lengths[length],
		            .max_new = r.max_tokens,
		            .may_cancel = is_late,
		            .wants_scores = draw(w, 6) == 0 };
	r.user = l;
	r.deadline_ns = is_late ? clock_now_ns() - 1 : 0;
	r.flags |= l->wants_scores ? INFER_REQ_SCORE : 0;
	rc = infer_engine_submit(w->e, &r, &l->id, &err);
	assert_int_equal(rc, is_full ? INFER_EAGAIN : INFER_OK);
	w->full += (uint64_t)is_full;
	w->n_live += !rc;
}

static void op_cancel(struct world *w)
{
	struct live *l = &w->live[draw(w, LIVE)];

	if (!l->id)
		return;
	if (infer_engine_cancel(w->e, l->id) == INFER_OK)
		l->may_cancel = 1;
}

static void take_token(struct live *l, const struct infer_event *ev)
{
	struct truth *t = l->truth;

	assert_int_equal(ev->index, l->n);
	assert_true(l->n < l->max_new);
	if (l->n == t->n) {
		t->ids[t->n] = ev->token;
		t->p[t->n++] = ev->logprob;
	}
	assert_int_equal(ev->token, t->ids[l->n]);
	assert_true(num_bits(ev->logprob) == num_bits(t->p[l->n]));
	l->n++;
}

static void take(struct world *w, const struct infer_event *ev)
{
	struct live *l = ev->user;

	assert_true(l->id == ev->id); /* nothing comes after DONE */
	if (ev->kind == INFER_EVENT_TOKEN) {
		take_token(l, ev);
		return;
	}
	if (ev->kind == INFER_EVENT_SCORE) {
		assert_true(l->wants_scores && !l->n);
		assert_int_equal(ev->index, ++l->scores);
		return;
	}
	assert_int_equal(ev->kind, INFER_EVENT_DONE);
	assert_int_equal(ev->usage.completion_tokens, l->n);
	if (ev->finish == INFER_FINISH_CANCELLED) {
		assert_true(l->may_cancel);
		w->cancelled++;
	} else {
		assert_int_equal(ev->finish, INFER_FINISH_LENGTH);
		assert_int_equal(l->n, l->max_new);
		assert_int_equal(l->scores, l->wants_scores ? l->n_prompt - 1 : 0);
	}
	l->id = 0;
	w->n_live--;
	w->ended++;
}

static void read_events(struct world *w)
{
	struct infer_event ev;

	while (infer_engine_next(w->e, &ev))
		take(w, &ev);
}

static void op_step(struct world *w)
{
	infer_error err;

	if (infer_engine_step(w->e, &err))
		fail_msg("%s", err.message);
	if (draw(w, 4))
		read_events(w);
}

static void check(const struct world *w)
{
	const infer_engine *e = w->e;
	struct kv_stats st;

	kv_stats(e->kv, &st);
	assert_int_equal(st.seqs, e->n_active);
	assert_true(st.used_bytes <= st.budget_bytes && e->n_active <= SEQS);
	assert_true(e->n_queued <= QUEUE + SEQS); /* who is preempted queues again */
	if (!e->n_active) {
		assert_int_equal(st.pages_used, st.pages_tree);
		assert_int_equal(st.used_bytes, st.evictable_bytes);
	}
	if (e->events.read == e->events.n)
		assert_int_equal(w->n_live, e->n_active + e->n_queued);
}

/* Nothing is left once all have ended and the tree is dropped. */
static void drain(struct world *w)
{
	struct kv_stats st;

	while (infer_engine_busy(w->e)) {
		assert_int_equal(infer_engine_step(w->e, NULL), INFER_OK);
		read_events(w);
	}
	assert_int_equal(w->n_live, 0);
	check(w);
	kv_clear(w->e->kv);
	kv_stats(w->e->kv, &st);
	assert_int_equal(st.used_bytes + st.pages_used + st.pages_tree + st.nodes, 0);
}

static infer_model *open_model(const char *name, const char *options)
{
	infer_model *m;
	infer_error err;

	if (infer_model_open(&m, run_model(name, options), &(struct infer_model_opts){ 0 }, &err))
		fail_msg("%s", err.message);
	memset(truth, 0, sizeof truth);
	return m;
}

/* The least cache that opens, and some pages. */
static void open_engine(struct world *w, const infer_model *m, int threads)
{
	struct infer_engine_opts o = { .threads = threads,
		                       .prefill_chunk = 48,
		                       .max_seqs = SEQS,
		                       .max_queue = QUEUE,
		                       .kv_bytes = 1 << 24 };
	struct infer_engine_stats st;

	o.ctx = MOST + MOST_NEW;
	assert_int_equal(infer_engine_open(&w->e, m, &o, NULL), INFER_OK);
	infer_engine_stats(w->e, &st);
	infer_engine_close(&w->e);
	for (o.kv_bytes = st.kv_page_bytes; infer_engine_open(&w->e, m, &o, NULL);)
		o.kv_bytes += st.kv_page_bytes;
	infer_engine_close(&w->e);
	o.kv_bytes += 3 * st.kv_page_bytes;
	o.swap_bytes = 4 * st.kv_page_bytes; /* some of those that give way are copied */
	assert_int_equal(infer_engine_open(&w->e, m, &o, NULL), INFER_OK);
}

static int scaled(int ops) { return getenv("LONG") ? ops : ops / (NTH_SANITIZED ? 20 : 5); }

static void walk(const char *name, const char *options, uint64_t seed, int ops)
{
	static struct world w;
	infer_model *m = open_model(name, options);
	struct infer_engine_stats st;

	w = (struct world){ .seed = seed };
	open_engine(&w, m, 1);
	for (int i = 0; i < ops; i++) {
		uint64_t what = draw(&w, 1000);

		if (what < 120)
			op_submit(&w);
		else if (what < 150)
			op_cancel(&w);
		else if (what < 152)
			kv_clear(w.e->kv);
		else
			op_step(&w);
		check(&w);
		if (draw(&w, 3000) == 0)
			drain(&w);
	}
	drain(&w);
	infer_engine_stats(w.e, &st);
	infer_engine_close(&w.e);
	infer_model_close(&m);
	assert_int_equal(st.swap_bytes, 0);
	if (st.preemptions < (uint64_t)ops / 1000 || st.evicted_pages < (uint64_t)ops / 100 ||
	    st.cached_tokens < (uint64_t)ops / 10 || w.cancelled < (uint64_t)ops / 1000 ||
	    !w.full || !st.swaps)
		fail_msg("%d preempted, %d pages evicted, %d tokens cached, %d cancelled, %d full",
		         (int)st.preemptions, (int)st.evicted_pages, (int)st.cached_tokens,
		         (int)w.cancelled, (int)w.full);
	assert_true(w.ended > (uint64_t)ops / 80);
}

static void test_full(void **state)
{
	(void)state;
	walk("full", "--layers 1 --embd 32 --heads 1 --kv-heads 1 --ff 32 --vocab 400 --ctx 256", 1,
	     scaled(60000));
}

static void test_window(void **state)
{
	(void)state;
	walk("window",
	     "--arch gemma3 --layers 6 --embd 32 --heads 1 --kv-heads 1 --ff 32 "
	     "--window 40 --vocab 400 --ctx 256",
	     2, scaled(40000));
}

/* Two threads submit and cancel what is their own while one steps: what is said is the same. */
struct client {
	infer_engine *e;
	pthread_t thread;
	uint64_t seed;
	int ops;
	struct note {
		struct truth *truth;
		int32_t n, max_new;
		int done;
	} * notes;
	uint64_t cancelled;
};

static void *client_run(void *user)
{
	struct client *c = user;
	struct world dice = { .seed = c->seed };
	uint64_t id = 0;

	for (int i = 0; i < c->ops;) {
		int text = (int)draw(&dice, TEXTS), length = (int)draw(&dice, LENGTHS);
		struct note *note = &c->notes[i];
		struct infer_request r = { .prompt = texts[text],
			                   .n_prompt = (size_t)lengths[length],
			                   .max_tokens = (int32_t)draw(&dice, 12),
			                   .user = note,
			                   .flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT,
			                   .sample = { .temp = 1, .seed = (uint64_t)text } };

		*note = (struct note){ .truth = &truth[text][length], .max_new = r.max_tokens };
		if (infer_engine_submit(c->e, &r, &id, NULL) == INFER_OK)
			i++;
		else
			sched_yield();
		if (draw(&dice, 5) == 0 && id)
			c->cancelled += infer_engine_cancel(c->e, id) == INFER_OK;
	}
	return NULL;
}

static int client_take(const struct infer_event *ev)
{
	struct note *n = ev->user;
	struct live l = { .truth = n->truth, .max_new = n->max_new, .n = n->n };

	assert_false(n->done);
	if (ev->kind == INFER_EVENT_TOKEN) {
		take_token(&l, ev);
		n->n = l.n;
	} else {
		n->done = 1;
		assert_true(ev->finish == INFER_FINISH_CANCELLED || n->n == n->max_new);
	}
	return n->done;
}

static void test_threads(void **state)
{
	infer_model *m = open_model("full", "");
	struct client c[2];
	struct infer_event ev;
	static struct world w;
	int ended = 0, ops = scaled(1500);

	(void)state;
	w = (struct world){ .seed = 9 };
	open_engine(&w, m, 2);
	for (int i = 0; i < 2; i++) {
		c[i] = (struct client){ .e = w.e,
			                .seed = 20 + (uint64_t)i,
			                .ops = ops,
			                .notes = calloc((size_t)ops, sizeof *c[i].notes) };
		assert_non_null(c[i].notes);
		assert_int_equal(pthread_create(&c[i].thread, NULL, client_run, &c[i]), 0);
	}
	while (ended < 2 * ops) {
		infer_engine_wait(w.e, -1);
		assert_int_equal(infer_engine_step(w.e, NULL), INFER_OK);
		while (infer_engine_next(w.e, &ev))
			ended += client_take(&ev);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(c[i].thread, NULL);
		assert_true(c[i].cancelled > 0);
		for (int k = 0; k < ops; k++)
			assert_true(c[i].notes[k].done);
		free(c[i].notes);
	}
	drain(&w);
	infer_engine_close(&w.e);
	infer_model_close(&m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_threads),
	};

	(void)argc;
	run_init(argv[0]);
	make_texts();
	return _cmocka_run_group_tests("walk", tests, sizeof tests / sizeof *tests, NULL, NULL);
}
