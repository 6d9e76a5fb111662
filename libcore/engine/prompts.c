/* engine/prompts.c - which prompts get rows of a step, and how many
 *
 * The prompt with the fewest rows left is served first, so short requests finish soon; the first in rank
 * gets at least an eighth of every step, so it always advances.  If a prompt's next positions are being
 * computed for another request, it waits and shares the result, so a common prefix is computed once. */
#include "engine/engine.h"
#include "base/err.h"
#include "base/num.h"

#include <string.h>

enum {
	/* least prompt rows of a step, even of a slow one, so that decoding does not starve prompts */
	LEAST_ROWS = 16,
	/* below this many rows of a step, each costs more: the weights are read once for all */
	FULL_ROWS = 48,
	/* prompt rows of a step while another sequence could be admitted: a new request waits for its end,
	 * or cancels it; a larger step costs no less per row */
	OPEN_ROWS = 128,
	SHARE = 8,
	/* a prompt with more rows left is long: with INFER_ENGINE_EVEN it adds at most LONG_PERCENT to the
	 * time of a step, since all decoding requests wait for the step at every token */
	LONG = 512,
	LONG_PERCENT = 30,
	WORTH = 16, /* waiting pays if it saves a sixteenth of the rows left */
};

/* Return how many leading ids of r equal those of q and may be shared. */
static int32_t common_prefix(const struct request *r, const struct request *q)
{
	int32_t most = (int32_t)num_min((int64_t)sched_reuse(r) - 1, q->n),
		len = kv_seq_len(r->seq);

	if (q == r || q->root != r->root || most <= len ||
	    memcmp(q->ids, r->ids, (size_t)len * sizeof *r->ids))
		return 0;
	while (len < most && q->ids[len] == r->ids[len])
		len++;
	return len;
}

/* Return how many of n positions of q another request with the same prefix can share later. If q ends with
 * its first token, only its cached pages can be shared. */
static int32_t reusable_len(const infer_engine *e, const struct request *q, int32_t n)
{
	return q->cap > q->n + 1 ? n : kv_cacheable_len(e->kv, n);
}

/* Share with r the positions that other sequences have computed.  Returns a sequence before r in rank that
 * is about to compute more of them, or NULL if waiting for it would save little. */
static struct request *share_computed(infer_engine *e, int32_t rank)
{
	struct request *r = e->active[rank], *from = NULL, *leads = NULL, *q;
	int32_t len = kv_seq_len(r->seq),
		have = len + kv_seq_adopt(e->kv, r->seq, r->ids, sched_reuse(r)), lead = 0, n;

	for (int32_t i = 0; i < e->n_active; i++) {
		q = e->active[i];
		n = common_prefix(r, q);
		if (num_min(n, kv_seq_len(q->seq)) > have) {
			from = q;
			have = (int32_t)num_min(n, kv_seq_len(q->seq));
			continue;
		}
		n = reusable_len(e, q, n);
		if (i < rank && n > lead && n > kv_seq_len(q->seq)) {
			leads = q;
			lead = n;
		}
	}
	if (from && kv_seq_share(e->kv, r->seq, from->seq, have))
		have = kv_seq_len(r->seq); /* the positions left the window of `from` */
	if (!r->usage.preemptions) {
		r->usage.cached_tokens += have - len;
		e->now.cached_tokens += (uint64_t)(have - len);
	}
	return WORTH * (lead - have) >= r->n - have ? leads : NULL;
}

/* Set rows_due of every active sequence: the prompt rows due; 0 if it decodes or waits.  A sequence that
 * others wait for is as urgent as the most urgent of them. */
static void find_due_rows(infer_engine *e)
{
	struct request *r, *q = NULL;

	for (int32_t i = 0; i < e->n_active; i++) {
		r = e->active[i];
		r->rows_due = 0;
		if (r->rows || request_pending(r) <= 1)
			continue;
		if (!(e->flags & INFER_ENGINE_NO_PREFIX_CACHE))
			q = share_computed(e, i);
		if (!q)
			r->rows_due = request_pending(r);
		else if (q->rows_due > request_pending(r))
			q->rows_due = request_pending(r);
	}
}

/* Return the prompt to serve next: greater priority first, then fewer rows left, then rank. */
static struct request *next_prompt(const infer_engine *e)
{
	struct request *best = NULL, *r;

	for (int32_t i = 0; i < e->n_active; i++) {
		r = e->active[i];
		if (r->rows_due &&
		    (!best || (r->priority == best->priority && r->rows_due < best->rows_due)))
			best = r;
	}
	return best;
}

/* True if more than half of the decoding sequences have a lower priority than the prompt r, and it is not
 * long: then they wait for it, not it for them. */
static int outranks_decoding(const infer_engine *e, const struct request *r)
{
	int32_t below = 0, decode = 0;

	for (int32_t i = 0; i < e->n_active; i++) {
		decode += e->active[i]->rows > 0;
		below += e->active[i]->rows > 0 && e->active[i]->priority < r->priority;
	}
	return 2 * below > decode && r->rows_due <= LONG;
}

/* Return the least prompt rows in a step with decoding sequences, with INFER_ENGINE_EVEN: short prompts fill
 * the step up to FULL_ROWS; if more prompts wait than sequences decode, more. */
static int64_t least_even(const infer_engine *e)
{
	int64_t waiting = 0, fill = 0, least, decode = e->step.n_decode;

	for (int32_t i = 0; i < e->n_active; i++) {
		int32_t due = e->active[i]->rows_due;

		waiting += due > 0;
		fill += due <= LONG ? due : 0;
	}
	least = num_max(LEAST_ROWS, num_min(fill, FULL_ROWS - decode));
	if (waiting > decode)
		least = num_max(least, LEAST_ROWS * waiting / decode);
	return num_min(least, OPEN_ROWS);
}

/* A prompt that one step can finish gets that step without the sequences of lower priority, so its first
 * token is not delayed by them. */
int32_t prompts_above(const infer_engine *e)
{
	for (int32_t i = 0; i < e->n_active; i++) {
		int32_t rows = request_pending(e->active[i]);

		if (rows > 1)
			return rows <= OPEN_ROWS ? e->active[i]->priority : INT32_MIN;
	}
	return INT32_MIN;
}

/* Return how many prompt rows this step may have; r: the prompt to be served first. */
static int32_t row_quota(const infer_engine *e, const struct request *r)
{
	int64_t rows = e->chunk, least = LEAST_ROWS;

	if (e->held && !e->step.n_decode)
		return num_min(r->rows_due, e->chunk);
	if (!e->step.n_decode && e->n_active < e->max_seqs)
		rows = OPEN_ROWS;
	else if (e->step.n_decode && e->row_ns)
		rows = (e->step_ns - e->decode_ns) / e->row_ns;
	if (e->step.n_decode && outranks_decoding(e, r)) {
		least = num_min(OPEN_ROWS, num_max(LEAST_ROWS, r->rows_due));
	} else if (e->flags & INFER_ENGINE_EVEN && e->step.n_decode && e->row_ns &&
	           r->rows_due > LONG) {
		rows = num_min(rows, e->decode_ns * LONG_PERCENT / 100 / e->row_ns);
		least = 1;
	} else if (e->flags & INFER_ENGINE_EVEN && e->step.n_decode) {
		least = least_even(e);
	}
	return (int32_t)num_min(rows < least ? least : rows, e->chunk - e->step.n_guesses);
}

/* Allocate pages for `rows` more positions of r, if necessary by preempting sequences after it in rank that
 * have no row in this step. Returns 0 if that does not suffice. */
static int grow_or_preempt(infer_engine *e, struct request *r, int32_t rows)
{
	struct request *last;

	while (kv_seq_grow(e->kv, r->seq, kv_seq_len(r->seq) + rows)) {
		last = e->active[e->n_active - 1];
		if (last == r || last->rows)
			return 0;
		sched_preempt_last(e);
	}
	return 1;
}

static struct request *first_in_rank(const infer_engine *e)
{
	for (int32_t i = 0; i < e->n_active; i++)
		if (e->active[i]->rows_due)
			return e->active[i];
	return NULL;
}

/* True if the step can be computed again after it was cancelled. It cannot if it begins inside a page of
 * recurrent state, which it would have changed. */
static int can_repeat(const infer_engine *e)
{
	const struct backend_step *s = &e->step.s;

	for (int32_t i = 0; e->model->h.state && i < s->n_runs; i++)
		if (s->runs[i].pos % e->place.groups[0].on.kind->page)
			return 0;
	return 1;
}

/* Add whole prompts in rank order as long as they fit, because their attention is bidirectional. The first
 * one always fits. */
static void compose_whole(infer_engine *e)
{
	int64_t left = e->chunk;

	for (int32_t i = 0; i < e->n_active; i++) {
		struct request *r = e->active[i];
		int32_t rows = request_pending(r);

		if (r->rows)
			continue;
		if (rows > left || batch_rows(e, r, rows) < rows || !grow_or_preempt(e, r, rows))
			break;
		batch_add(e, r, rows);
		left -= rows;
	}
}

/* Return the rows, at most `most`, of a prompt that does not end in this step if another one does. */
static int32_t rows_with_ending(const infer_engine *e, const struct request *r, int32_t most,
                                int32_t part)
{
	int32_t fill = request_pending(r) <= LONG ? FULL_ROWS - e->step.s.n : 0;

	return (int32_t)num_min(most, num_max(part, fill));
}

void prompts_compose(infer_engine *e)
{
	int32_t left, part, rows, most;
	struct request *first, *r;
	int ends = 0; /* 1: a prompt ends in this step; its first token should not wait long */

	if (e->model->h.bidirectional) {
		compose_whole(e);
		return;
	}
	find_due_rows(e);
	r = next_prompt(e);
	left = r ? row_quota(e, r) : 0;
	part = (left + SHARE - 1) / SHARE;
	first = first_in_rank(e);
	while (left > 0 && (r = next_prompt(e))) {
		most = first->rows_due && r != first ? left - part : left;
		if (most < 1) {
			r = first;
			most = left;
		}
		if (ends && request_pending(r) > most)
			most = rows_with_ending(e, r, most, part);
		rows = batch_rows(e, r, most);
		r->rows_due = 0;
		if (rows < 1 || !grow_or_preempt(e, r, rows))
			continue;
		ends |= rows == request_pending(r);
		batch_add(e, r, rows);
		left -= rows;
	}
	/* A step without outputs may be cancelled by a new request, but not twice in a row. */
	if (can_repeat(e) && !e->step.s.n_out && e->n_active < e->max_seqs && !e->stopped)
		e->step.s.stop = &e->newcomer;
}
