/* engine/sched.c - which sequences compute what in the next step
 *
 * Rank is priority, then age.  Every decoding sequence has a row in every step, or in every second one while
 * short prompts rank above it; prompts share the rest of the step's time (prompts.c).  When no pages are
 * left, the sequence that ranks last is preempted.  Later its pages are swapped in or computed again,
 * whichever is quicker; its drawn tokens are kept, so its answer does not change. */
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

static void update_mean(int64_t *mean, int64_t ns)
{
	*mean = *mean ? *mean + (ns - *mean) / 4 : ns;
	if (*mean < 1)
		*mean = 1;
}

/* True if copying `bytes` `times` times takes less time than computing the rows. */
static int is_copy_faster(const infer_engine *e, uint64_t bytes, int times, int32_t rows)
{
	return (double)bytes * times / (1 << 20) * (double)e->copy_ns <
	       (double)rows * (double)e->row_ns;
}

static void measure_copy(infer_engine *e, uint64_t bytes, int64_t from)
{
	double ns = (double)(clock_now_ns() - from);

	if (bytes)
		update_mean(&e->copy_ns, (int64_t)(ns * (1 << 20) / (double)bytes));
}

static void swap_out(infer_engine *e, struct request *r)
{
	uint64_t bytes = kv_seq_held(e->kv, r->seq);
	int64_t from = clock_now_ns();

	if (!is_copy_faster(e, bytes, 2, kv_seq_len(r->seq))) {
		e->copy_ns -= e->copy_ns / 8; /* so that one slow copy does not end swapping */
		return;
	}
	r->swapped = kv_seq_swap_out(e->kv, r->seq);
	if (r->swapped) {
		measure_copy(e, bytes, from);
		e->now.swap_out_bytes += bytes;
	}
}

void sched_preempt_last(infer_engine *e)
{
	struct request *r = e->active[--e->n_active];

	swap_out(e, r);
	kv_seq_close(e->kv, r->seq, r->ids);
	r->seq = NULL;
	r->usage.preemptions++;
	e->now.preemptions++;
	sched_queue(e, r);
}

static void activate(infer_engine *e, struct request *r, int32_t cached)
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
	/* a row whose score or state is still due must be computed even if cached */
	return r->scored < r->scored_end ? (size_t)r->scored : (size_t)r->n;
}

/* Swap the sequence of a preempted request in if `copied`; else drop its copy. */
static void restore_or_drop(infer_engine *e, struct request *r, int copied)
{
	uint64_t bytes = copied ? kv_seq_held(e->kv, r->swapped) : 0;
	int64_t from = clock_now_ns();

	if (copied && !kv_seq_swap_in(e->kv, r->seq, r->swapped, r->ids)) {
		measure_copy(e, bytes, from);
		e->now.swaps++;
		e->now.swap_in_bytes += bytes;
	} else {
		e->now.recomputes += (uint64_t)r->admitted;
		kv_swap_drop(e->kv, r->swapped);
	}
	r->swapped = NULL;
}

/* Admit the first request of the queue if its positions fit, together with all that the active requests
 * have yet to compute. */
static int try_admit(infer_engine *e)
{
	struct request *r = e->queue;
	uint64_t need[KV_DEVICES] = { 0 };
	int32_t cached;
	int back;

	r->seq = kv_seq_open(e->kv, r->root, r->ids, sched_reuse(r), &cached);
	must(r->seq);
	back = r->swapped && is_copy_faster(e, kv_seq_held(e->kv, r->swapped), 1,
	                                    kv_seq_len(r->swapped) - cached);
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
	restore_or_drop(e, r, back);
	activate(e, r, cached);
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

/* Store tokens that may follow in r->ids after its own: forced by its grammar, or guessed. Returns how
 * many. */
static int32_t guess_tokens(infer_engine *e, struct request *r)
{
	int64_t most = num_min(num_min(r->cap - 1 - r->n, e->step.logits_left),
	                       e->chunk - e->step.n_guesses);
	int32_t n = 0;

	if (most >= 1 && r->grammar_state && !(e->flags & INFER_ENGINE_NO_JUMP))
		n = grammar_state_forced(r->grammar_state, r->ids + r->n, (int32_t)most);
	if (n || !e->draft.guess || most < 1)
		return n;
	n = e->draft.guess(e->draft.user, r->ids, r->n, r->ids + r->n, (int32_t)most);
	must(n >= 0 && n <= most);
	for (int32_t i = 0; i < n; i++)
		if (r->ids[r->n + i] >= (uint64_t)e->n_vocab)
			return i;
	return n;
}

/* Add a row for each decoding sequence; those below `priority` skip this step. */
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
			must(e->n_active > 1); /* at open, one sequence was checked to fit alone */
			sched_preempt_last(e);
		}
		if (!r->seq)
			continue;
		/* a recurrent state cannot be truncated to the row of a wrong guess */
		guesses = e->model->h.state ? 0 : guess_tokens(e, r);
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
		update_mean(&e->decode_ns, ns);
	else
		update_mean(&e->row_ns,
		            (ns > e->decode_ns && s->n_decode ? ns - e->decode_ns : ns) /
		                    s->n_prefill);
}
