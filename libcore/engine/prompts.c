/* engine/prompts.c - which prompts get rows of a step, and how many
 *
 * The shortest rest goes first, so that who asks little waits little; the first in rank has an
 * eighth of every step, so that it moves on whoever else comes.  Whose next positions another
 * computes already waits and shares them: what many begin with is computed once. */
#include "engine/engine.h"
#include "base/err.h"
#include "base/num.h"

#include <string.h>

enum {
	/* even in a slow step a prompt moves on by so many rows, or it would starve beside
	 * sequences that decode */
	LEAST_ROWS = 16,
	/* of a step while a seat is free: whoever comes meanwhile waits for its end, or the work
	 * on it is lost; more rows at once would not be cheaper */
	OPEN_ROWS = 128,
	SHARE = 8,
	WORTH = 16,          /* to wait pays from this part of the rest on */
};

/* Rows of prompts that this step may hold. */
static int32_t quota(const infer_engine *e)
{
	int64_t rows = e->chunk;

	if (!e->step.n_decode && e->n_active < e->max_seqs)
		rows = OPEN_ROWS;
	else if (e->step.n_decode && e->row_ns)
		rows = (e->step_ns - e->decode_ns) / e->row_ns;
	return (int32_t)num_min(rows < LEAST_ROWS ? LEAST_ROWS : rows, e->chunk - e->step.n_guesses);
}

/* How many ids from the start r and q have in common, that r may have from q. */
static int32_t common(const struct request *r, const struct request *q)
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

/* Take what others have computed.  Returns who is about to compute more of r, and stands before it
 * in rank; NULL where that would not save much. */
static struct request *share(infer_engine *e, int32_t rank)
{
	struct request *r = e->active[rank], *from = NULL, *leads = NULL, *q;
	int32_t len = kv_seq_len(r->seq), have = len + kv_seq_adopt(e->kv, r->seq, r->ids,
	                                                            sched_reuse(r)),
	        lead = 0, n;

	for (int32_t i = 0; i < e->n_active; i++) {
		q = e->active[i];
		n = common(r, q);
		if (num_min(n, kv_seq_len(q->seq)) > have) {
			from = q;
			have = (int32_t)num_min(n, kv_seq_len(q->seq));
		} else if (i < rank && n > lead && n > kv_seq_len(q->seq)) {
			leads = q;
			lead = n;
		}
	}
	if (from && kv_seq_share(e->kv, r->seq, from->seq, have))
		have = kv_seq_len(r->seq);           /* beyond its window */
	if (!r->usage.preemptions) {
		r->usage.cached_tokens += have - len;
		e->now.cached_tokens += (uint64_t)(have - len);
	}
	return WORTH * (lead - have) >= r->n - have ? leads : NULL;
}

/* rest: 0 where no rows are due: no prompt, or one that waits.  Who leads is as urgent as who
 * follows. */
static void look(infer_engine *e)
{
	struct request *r, *q = NULL;

	for (int32_t i = 0; i < e->n_active; i++) {
		r = e->active[i];
		r->rest = 0;
		if (r->rows || request_pending(r) <= 1)
			continue;
		if (!(e->flags & INFER_ENGINE_NO_PREFIX_CACHE))
			q = share(e, i);
		if (!q)
			r->rest = request_pending(r);
		else if (q->rest > request_pending(r))
			q->rest = request_pending(r);
	}
}

/* Greater priority, then the shorter rest, then rank. */
static struct request *next(const infer_engine *e)
{
	struct request *best = NULL, *r;

	for (int32_t i = 0; i < e->n_active; i++) {
		r = e->active[i];
		if (r->rest && (!best || (r->priority == best->priority && r->rest < best->rest)))
			best = r;
	}
	return best;
}

/* Pages for so many more positions of r, from those behind it in rank that have no row in this
 * step. */
static int grow(infer_engine *e, struct request *r, int32_t rows)
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
		if (e->active[i]->rest)
			return e->active[i];
	return NULL;
}

void prompts_compose(infer_engine *e)
{
	int32_t left = quota(e), part = (left + SHARE - 1) / SHARE, rows, most;
	struct request *first, *r;
	int ends = 0;      /* one draws after this step, which should not wait for rows of others */

	look(e);
	first = first_in_rank(e);
	while (left > 0 && (r = next(e))) {
		most = first->rest && r != first ? left - part : left;
		if (most < 1) {
			r = first;
			most = left;
		}
		if (ends && request_pending(r) > most && most > part)
			most = part;
		rows = batch_rows(e, r, most);
		r->rest = 0;
		if (rows < 1 || !grow(e, r, rows))
			continue;
		ends |= rows == request_pending(r);
		batch_add(e, r, rows);
		left -= rows;
	}
	/* nobody hears of this step: it may be given up for who comes, but not twice in a row */
	if (!e->step.s.n_out && e->n_active < e->max_seqs && !e->stopped)
		e->step.s.stop = &e->newcomer;
}
