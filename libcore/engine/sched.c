/* engine/sched.c - which sequences compute what in the next step
 *
 * Rank is priority, then age.  Every sequence that decodes has a row in every step, or in every second one
 * while short prompts rank above it; prompts share the rest of the step's time (prompts.c).  When pages
 * run out, the last sequence in rank gives its pages back.  Later they are copied from where they were
 * laid aside, or computed again, whichever is quicker; the tokens it has drawn stay, so its answer does
 * not change. */
#include "engine/engine.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"

static int is_late(const infer_engine *e, const struct request *r)
{
	return r->deadline_ns && e->now_ns > r->deadline_ns;
}

static int has_ended(infer_engine *e, struct request *r)
{
	if (r->cancelled)
		request_end(e, r, INFER_FINISH_CANCELLED, INFER_ECANCEL, "cancelled");
	else if (is_late(e, r))
		request_end(e, r, INFER_FINISH_CANCELLED, INFER_ECANCEL, "the deadline has passed");
	return r->ended;
}

size_t sched_ending(infer_engine *e)
{
	size_t n = 0;

	e->now_ns = clock_now_ns();
	for (const struct request *r = e->queue; r; r = r->next)
		n += r->cancelled || is_late(e, r);
	for (int32_t i = 0; i < e->n_active; i++)
		n += e->active[i]->cancelled || is_late(e, e->active[i]);
	return n;
}

void sched_sweep(infer_engine *e)
{
	for (struct request **at = &e->queue, *r; (r = *at);) {
		if (!has_ended(e, r)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		e->n_queued--;
		request_free(r);
	}
	for (int32_t i = 0; i < e->n_active; i++)
		has_ended(e, e->active[i]);
	sched_reap(e);
}

void sched_reap(infer_engine *e)
{
	int32_t n = 0;

	for (int32_t i = 0; i < e->n_active; i++)
		if (e->active[i]->ended)
			request_free(e->active[i]);
		else
			e->active[n++] = e->active[i];
	e->n_active = n;
}

void sched_queue(infer_engine *e, struct request *r)
{
	struct request **at = &e->queue;

	while (*at && request_before(*at, r))
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	e->n_queued++;
}

static void average(int64_t *mean, int64_t ns)
{
	*mean = *mean ? *mean + (ns - *mean) / 4 : ns;
	if (*mean < 1)
		*mean = 1;
}

/* Whether copying so many bytes, `times` times, takes less time than computing the rows. */
static int is_copied(const infer_engine *e, uint64_t bytes, int times, int32_t rows)
{
	return (double)bytes * times / (1 << 20) * (double)e->copy_ns <
	       (double)rows * (double)e->row_ns;
}

static void measure_copy(infer_engine *e, uint64_t bytes, int64_t from)
{
	double ns = (double)(clock_now_ns() - from);

	if (bytes)
		average(&e->copy_ns, (int64_t)(ns * (1 << 20) / (double)bytes));
}

static void lay_aside(infer_engine *e, struct request *r)
{
	uint64_t bytes = kv_seq_held(e->kv, r->seq);
	int64_t from = clock_now_ns();

	if (!is_copied(e, bytes, 2, kv_seq_len(r->seq))) {
		e->copy_ns -= e->copy_ns / 8; /* one slow copy is not for ever */
		return;
	}
	r->aside = kv_seq_swap_out(e->kv, r->seq);
	if (r->aside) {
		measure_copy(e, bytes, from);
		e->now.swap_out_bytes += bytes;
	}
}

void sched_preempt_last(infer_engine *e)
{
	struct request *r = e->active[--e->n_active];

	lay_aside(e, r);
	kv_seq_close(e->kv, r->seq, r->ids);
	r->seq = NULL;
	r->usage.preemptions++;
	e->now.preemptions++;
	sched_queue(e, r);
}

static void admit(infer_engine *e, struct request *r, int32_t cached)
{
	int32_t i = e->n_active++;

	for (; i > 0 && request_before(r, e->active[i - 1]); i--)
		e->active[i] = e->active[i - 1];
	e->active[i] = r;
	e->queue = r->next;
	e->n_queued--;
	if (!r->admitted) {
		r->admitted = 1;
		r->admitted_ns = clock_now_ns();
		r->usage.queue_ns = r->admitted_ns - r->submit_ns;
		r->usage.cached_tokens = cached;
		e->now.cached_tokens += (uint64_t)cached;
	}
}

size_t sched_reuse(const struct request *r)
{
	if (r->whole)
		return 0;
	/* a row whose score or state has not been taken must be computed, cached or not */
	return r->scored < r->scored_end ? (size_t)r->scored : (size_t)r->n;
}

/* Give a sequence that was preempted what it had, or drop the copy. */
static void come_back(infer_engine *e, struct request *r, int copied)
{
	uint64_t bytes = copied ? kv_seq_held(e->kv, r->aside) : 0;
	int64_t from = clock_now_ns();

	if (copied && !kv_seq_swap_in(e->kv, r->seq, r->aside, r->ids)) {
		measure_copy(e, bytes, from);
		e->now.swaps++;
		e->now.swap_in_bytes += bytes;
	} else {
		e->now.recomputes += (uint64_t)r->admitted;
		kv_swap_drop(e->kv, r->aside);
	}
	r->aside = NULL;
}

/* Admit the first request of the queue if its ids fit beside those that the active ones have yet to
 * compute. */
static int try_admit(infer_engine *e)
{
	struct request *r = e->queue;
	uint64_t need[KV_DEVICES] = { 0 };
	int32_t cached;
	int back;

	r->seq = kv_seq_open(e->kv, r->root, r->ids, sched_reuse(r), &cached);
	must(r->seq);
	back = r->aside &&
	       is_copied(e, kv_seq_held(e->kv, r->aside), 1, kv_seq_len(r->aside) - cached);
	if (back)
		kv_seq_clear(e->kv, r->seq);
	kv_seq_need(e->kv, r->seq, r->n, e->chunk, need);
	for (int32_t i = 0; i < e->n_active; i++)
		kv_seq_need(e->kv, e->active[i]->seq, e->active[i]->n, e->chunk, need);
	if (e->n_active && !kv_has_room(e->kv, need)) {
		kv_seq_close(e->kv, r->seq, NULL);
		r->seq = NULL;
		return 0;
	}
	come_back(e, r, back);
	admit(e, r, cached);
	return 1;
}

void sched_admit(infer_engine *e)
{
	while (e->queue) {
		if (e->n_active < e->max_seqs && try_admit(e))
			continue;
		if (!e->n_active || e->active[e->n_active - 1]->priority >= e->queue->priority)
			break;
		sched_preempt_last(e);
	}
}

/* The next tokens of r, guessed or forced by its constraint, behind its ids. */
static int32_t guess(infer_engine *e, struct request *r)
{
	int64_t most = num_min(num_min(r->cap - 1 - r->n, e->step.logits_left),
	                       e->chunk - e->step.n_guesses);
	int32_t n = 0;

	if (most >= 1 && r->follow && !(e->flags & INFER_ENGINE_NO_JUMP))
		n = follow_ahead(r->follow, r->ids + r->n, (int32_t)most);
	if (n || !e->draft.guess || most < 1)
		return n;
	n = e->draft.guess(e->draft.user, r->ids, r->n, r->ids + r->n, (int32_t)most);
	must(n >= 0 && n <= most);
	for (int32_t i = 0; i < n; i++)
		if (r->ids[r->n + i] >= (uint64_t)e->n_vocab)
			return i;
	return n;
}

/* Give each sequence that decodes a row; those below the priority wait for the next step. */
static void compose_decode(infer_engine *e, int32_t priority)
{
	struct request *r;
	int32_t guesses;

	for (int32_t i = 0; i < e->n_active; i++) {
		r = e->active[i];
		if (request_pending(r) != 1)
			continue;
		if (r->priority < priority) {
			e->held = 1;
			continue;
		}
		while (r->seq && kv_seq_grow(e->kv, r->seq, r->n)) {
			must(e->n_active > 1); /* place has checked that one sequence fits alone */
			sched_preempt_last(e);
		}
		if (!r->seq)
			continue;
		/* a state cannot go back to the row of a wrong guess */
		guesses = e->model->h.state ? 0 : guess(e, r);
		if (guesses && kv_seq_grow(e->kv, r->seq, r->n + guesses))
			guesses = 0;
		batch_add(e, r, 1 + guesses);
	}
}

void sched_compose(infer_engine *e)
{
	int32_t above;

	for (int32_t i = 0; i < e->n_active; i++)
		e->active[i]->rows = 0;
	atomic_store(&e->newcomer, 0);
	batch_begin(&e->step, e->score_rows);
	above = e->held ? INT32_MIN : prompts_above(e);
	e->held = 0;
	compose_decode(e, above);
	prompts_compose(e);
	must(e->step.s.n || !e->n_active);
}

void sched_measure(infer_engine *e, int64_t ns)
{
	const struct step *s = &e->step;

	if (!s->n_prefill)
		average(&e->decode_ns, ns);
	else
		average(&e->row_ns,
		        (ns > e->decode_ns && s->n_decode ? ns - e->decode_ns : ns) / s->n_prefill);
}
