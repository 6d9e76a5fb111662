/* engine/batch.c - one step: collect rows of requests, compute, draw, turn results into events */
#include "engine/engine.h"
#include "engine/mask_worker.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "base/pool.h"
#include "sample/best.h"

void batch_begin(struct step *st, int32_t score_rows)
{
	st->s = (struct backend_step){
		.ids = st->ids, .runs = st->runs, .out = st->out, .want = st->want
	};
	st->logits_left = score_rows;
	st->n_decode = st->n_prefill = st->n_guesses = st->n_groups = 0;
}

static int can_draw(const struct request *r) { return r->cap > r->n; }

/* Return how many rows of positions [pos, pos + rows) give scores or embedding states; *from: the first. */
static int32_t score_range(const struct request *r, int32_t pos, int32_t rows, int32_t *from)
{
	int32_t to = pos + rows < r->scored_end - 1 ? pos + rows : r->scored_end - 1;

	*from = pos > r->scored - 1 ? pos : r->scored - 1;
	return to > *from ? to - *from : 0;
}

int32_t batch_rows(const infer_engine *e, const struct request *r, int32_t rows)
{
	int32_t from, over, pending = request_pending(r);

	if (rows > pending)
		rows = pending;
	over = score_range(r, kv_seq_len(r->seq), rows, &from) - e->step.logits_left;
	return over > 0 ? rows - over : rows;
}

/* Return how many of the best tokens of a row suffice for its draw and alternatives; 0: all logits are
 * needed. */
static int32_t best_enough(const infer_engine *e, const struct request *r, int32_t position)
{
	int32_t n;

	if (r->grammar_state || position - r->n_prompt < r->stop.least)
		return 0;
	n = sampler_best(r->sampler);
	if (n)
		n = (int32_t)num_max(n, r->top);
	return n <= e->top ? n : 0;
}

static enum backend_want wanted_output(const struct request *r, const struct row_job *j)
{
	if (r->pool)
		return r->embed == INFER_EMBED_RANK ? BACKEND_LOGITS : BACKEND_HIDDEN;
	return j->n_best ? BACKEND_TOP : BACKEND_LOGITS;
}

static void add_row_job(infer_engine *e, struct request *r, int32_t row, int32_t position,
                        int is_draw)
{
	struct step *st = &e->step;
	const struct row_job *last = st->s.n_out ? &st->jobs[st->s.n_out - 1] : NULL;

	if (!is_draw || !last || last->r != r || !last->draws)
		st->groups[st->n_groups++] = st->s.n_out;
	st->jobs[st->s.n_out] = (struct row_job){
		.r = r,
		.position = position,
		.draws = is_draw,
		.pools = r->pool != NULL,
		.n_top = r->pool ? 0 : r->top,
		.n_best = is_draw ? best_enough(e, r, position) : 0,
		.token = is_draw || r->pool ? -1 : (int32_t)r->ids[position],
	};
	st->s.top = (int32_t)num_max(st->s.top, st->jobs[st->s.n_out].n_best);
	st->want[st->s.n_out] = (uint8_t)wanted_output(r, &st->jobs[st->s.n_out]);
	st->out[st->s.n_out++] = row;
}

void batch_add(infer_engine *e, struct request *r, int32_t rows)
{
	struct step *st = &e->step;
	int32_t row = st->s.n, pos = kv_seq_len(r->seq), from,
		scores = score_range(r, pos, rows, &from);

	for (int32_t i = 0; i < rows; i++)
		st->ids[row + i] = (int32_t)r->ids[pos + i];
	st->runs[st->s.n_runs] = (struct backend_run){ .row = row,
		                                       .n = rows,
		                                       .pos = pos,
		                                       .pages = kv_seq_pages(r->seq),
		                                       .second = r->second,
		                                       .uses = r->uses,
		                                       .n_uses = r->n_uses };
	st->requests[st->s.n_runs++] = r;
	st->s.n += rows;
	r->rows = rows;
	for (int32_t i = 0; i < scores; i++)
		add_row_job(e, r, row + from - pos + i, from + i + 1, 0);
	st->logits_left -= scores;
	for (int32_t p = r->n; can_draw(r) && p <= pos + rows; p++)
		add_row_job(e, r, row + p - 1 - pos, p, 1);
	if (pos + rows > r->n) {
		st->n_guesses += pos + rows - r->n;
		st->logits_left -= pos + rows - r->n;
		rows = r->n - pos;
	}
	if (rows == 1 && pos >= r->n_prompt)
		st->n_decode++;
	else
		st->n_prefill += rows;
}

/* Draw the tokens of a group, up to the first wrong guess. */
static void draw_group(void *user, int64_t g, int worker)
{
	infer_engine *e = user;
	const struct step *st = &e->step;
	int32_t to = g + 1 < st->n_groups ? st->groups[g + 1] : st->s.n_out;

	(void)worker;
	for (int32_t i = st->groups[g]; i < to; i++) {
		struct row_job *j = &st->jobs[i];

		if (j->pools)
			continue;
		score_row(e, j, e->events.tops + j->top_at);
		if (j->err.code || j->constraint ||
		    (i + 1 < to && (uint64_t)j->token != j->r->ids[j->position]))
			return;
	}
}

static void report_part(void *user, uint64_t done, uint64_t all)
{
	const infer_engine *e = user;
	const struct step *st = &e->step;
	uint64_t now =
		e->prompts_done + (uint64_t)((double)st->n_prefill * ((double)done / (double)all));

	/* drawn tokens that are computed again after a preemption count as prompt rows */
	e->watch.fn(e->watch.user, now < e->prompts_all ? now : e->prompts_all, e->prompts_all);
}

/* Let the caller watch the progress of a step with prompt rows. */
static void watch_prompts(infer_engine *e)
{
	struct step *st = &e->step;

	if (!e->watch.fn || !st->n_prefill)
		return;
	e->prompts_done = e->prompts_all = 0;
	for (int32_t i = 0; i < e->n_active; i++) {
		const struct request *r = e->active[i];

		e->prompts_all += (uint64_t)r->n_prompt;
		e->prompts_done += (uint64_t)num_min(kv_seq_len(r->seq), r->n_prompt);
	}
	e->parts = (struct infer_watch){ report_part, e };
	st->s.watch = &e->parts;
	report_part(e, 0, 1);
}

/* Return the grammar state of a group's first draw if its mask has to be computed, or NULL. */
static struct grammar_state *missing_mask(const struct step *st, int32_t g)
{
	const struct row_job *j = &st->jobs[st->groups[g]];

	return j->draws && j->r->grammar_state && !grammar_state_ready(j->r->grammar_state)
	               ? j->r->grammar_state
	               : NULL;
}

static void compute_mask(void *user, int32_t g)
{
	struct grammar_state *f = missing_mask(user, g);

	if (f)
		grammar_state_compute(f);
}

/* Compute the step; meanwhile the mask worker computes the masks that are not cached. */
static int compute_step(infer_engine *e, struct backend_result *res, infer_error *err)
{
	struct step *st = &e->step;
	int32_t g = 0;
	int rc;

	while (g < st->n_groups && !missing_mask(st, g))
		g++;
	if (g == st->n_groups)
		return stages_run(&e->stages, &st->s, res, err);
	mask_worker_begin(e->constraints->mask_worker, st->n_groups, compute_mask, st);
	rc = stages_run(&e->stages, &st->s, res, err);
	mask_worker_end(e->constraints->mask_worker);
	return rc;
}

/* Set the results of job j: row i of res. */
static void assign_result(const infer_engine *e, struct row_job *j,
                          const struct backend_result *res, int32_t i)
{
	const size_t row = (size_t)i;
	const int want = e->step.want[i];

	if (want == BACKEND_HIDDEN) {
		j->hidden = res->hidden + row * (size_t)arch_width(e->model);
		return;
	}
	j->logits = res->logits + row * (size_t)e->n_outputs;
	if (j->pools)
		return;
	j->has_lse = res->lse && e->n_outputs == e->n_vocab;
	if (j->has_lse)
		j->lse = res->lse[i];
	if (want == BACKEND_TOP && isfinite(j->lse)) {
		j->logits = NULL;
		j->best_ids = res->top_ids + row * (size_t)res->top;
		j->best_logits = res->top_logits + row * (size_t)res->top;
	}
}

int batch_run(infer_engine *e, infer_error *err)
{
	struct step *st = &e->step;
	struct backend_result res;

	watch_prompts(e);
	e->events.step++; /* logits of earlier events become invalid */
	TRY(compute_step(e, &res, err));
	for (int32_t i = 0; i < st->s.n_out; i++) {
		struct row_job *j = &st->jobs[i];

		assign_result(e, j, &res, i);
		if (j->n_top > e->n_vocab)
			j->n_top = e->n_vocab;
		j->top_at = e->events.n_tops;
		e->events.n_tops += (size_t)j->n_top;
	}
	pool_run(e->host.pool, st->n_groups, draw_group, e);
	return INFER_OK;
}

static int ends_turn(const infer_engine *e, const struct request *r, int32_t token)
{
	for (int32_t i = 0; i < r->n_stop_tokens; i++)
		if (r->stop_tokens[i] == token)
			return 1;
	return !(r->flags & INFER_REQ_IGNORE_EOS) && e->tok && infer_token_is_eog(e->tok, token);
}

static struct event_slot *add_token_event(infer_engine *e, const struct row_job *j, int kind,
                                          int32_t index)
{
	struct event_slot *s = events_add(&e->events, j->r, kind);

	s->ev.index = index;
	s->ev.token = j->token;
	s->ev.logprob = j->logprob;
	s->ev.n_top = j->n_top;
	s->ev.usage = j->r->usage;
	s->ev.logits = j->r->flags & INFER_REQ_LOGITS && !j->draws ? j->logits : NULL;
	s->top_at = j->top_at;
	j->r->digest = stats_digest(j->r->digest, j->token, j->logprob);
	return s;
}

static void update_times(struct request *r, int64_t now)
{
	if (!r->first_ns) {
		r->first_ns = now;
		r->usage.prefill_ns = now - r->admitted_ns;
		r->usage.first_token_ns = now - r->submit_ns;
	}
	r->last_ns = now;
	r->usage.decode_ns = r->last_ns - r->first_ns;
}

/* Append the event of a drawn token, and end the request if the token ends it. */
static void report_token(infer_engine *e, const struct row_job *j, int64_t now)
{
	struct request *r = j->r;
	struct buf *text = &e->events.text;
	uint64_t digest = r->digest;
	struct event_slot *s = add_token_event(e, j, INFER_EVENT_TOKEN, r->n - r->n_prompt);
	int over = ends_turn(e, r, j->token), rc = INFER_OK;
	infer_error err = { .message = "no memory for text" };
	const char *bytes;
	size_t n;

	r->ids[r->n++] = (uint64_t)j->token;
	r->usage.completion_tokens++;
	update_times(r, now);
	if (!over && r->detok) {
		rc = infer_detok_put(r->detok, j->token, &bytes, &n, &err);
		if (!rc && r->n - r->n_prompt <= r->stop.least)
			buf_put(text, bytes, n);
		else if (!rc)
			over = stop_put(&r->stop, bytes, n, text);
		s->ev.text_bytes = text->len - s->text_at;
		if (!rc && text->bad)
			rc = INFER_ENOMEM;
		text->bad = 0;
	}
	if (rc) { /* no memory for the token's text: drop the token and end the request */
		text->len = s->text_at;
		e->events.n--;
		r->digest = digest;
		r->usage.completion_tokens--;
		r->stop.over = 1;
		request_end(e, r, INFER_FINISH_ERROR, rc, err.message);
	} else if (j->constraint == ROW_BROKEN)
		request_end(e, r, INFER_FINISH_ERROR, grammar_state_error(r->grammar_state)->code,
		            grammar_state_error(r->grammar_state)->message);
	else if (over || j->constraint == ROW_COMPLETE)
		request_end(e, r, INFER_FINISH_STOP, INFER_OK, "");
	else if (r->n == r->cap)
		request_end(e, r, INFER_FINISH_LENGTH, INFER_OK, "");
}

/* Report the prompt tokens in the cache: n. Rows that are computed again were reported before. */
static void tell_prompt(infer_engine *e, struct request *r, int32_t n, int64_t now)
{
	struct event_slot *s;

	if (!(r->flags & INFER_REQ_PROGRESS) || n < r->told)
		return;
	r->told = n + 1;
	s = events_add(&e->events, r, INFER_EVENT_READ);
	s->ev.index = n;
	s->ev.usage = r->usage;
	s->ev.usage.prefill_ns = r->usage.chunks ? now - r->admitted_ns : 0;
}

static void commit_rows(infer_engine *e, struct request *r, int64_t now)
{
	int32_t pos = kv_seq_len(r->seq);
	const int reads = pos < r->n_prompt;

	if (reads && !r->usage.chunks)
		tell_prompt(e, r, (int32_t)r->usage.cached_tokens, now);
	r->usage.chunks += reads;
	e->now.chunks += (uint64_t)reads;
	kv_seq_commit(e->kv, r->seq, r->ids, pos + r->rows);
	if (reads)
		tell_prompt(e, r, (int32_t)num_min(pos + r->rows, r->n_prompt), now);
}

/* True for a row after a wrong guess: its input was never drawn. */
static int is_after_wrong_guess(const struct row_job *j)
{
	return j->draws && j->token < 0 && !j->err.code;
}

static void pool_state(infer_engine *e, const struct row_job *j)
{
	infer_error err;
	int rc = embed_row(e, j->r, j, &err);

	if (rc)
		request_end(e, j->r, INFER_FINISH_ERROR, rc, err.message);
}

void batch_absorb(infer_engine *e)
{
	const struct step *st = &e->step;
	int64_t now = clock_now_ns();
	struct request *r;

	for (int32_t i = 0; i < st->s.n_out; i++)
		st->jobs[i].r->rows -= is_after_wrong_guess(&st->jobs[i]);
	for (int32_t i = 0; i < st->s.n_runs; i++)
		commit_rows(e, st->requests[i], now);
	for (int32_t i = 0; i < st->s.n_out; i++) {
		const struct row_job *j = &st->jobs[i];

		r = j->r;
		if (r->ended || is_after_wrong_guess(j))
			continue;
		if (j->err.code) {
			request_end(e, r, INFER_FINISH_ERROR, j->err.code, j->err.message);
		} else if (j->draws) {
			report_token(e, j, now);
		} else if (j->pools) {
			pool_state(e, j);
		} else {
			add_token_event(e, j, INFER_EVENT_SCORE, j->position);
			r->scored = j->position + 1;
		}
	}
	for (int32_t i = 0; i < st->s.n_runs; i++) {
		r = st->requests[i];
		if (r->ended || can_draw(r) || request_pending(r))
			continue;
		r->usage.prefill_ns = now - r->admitted_ns;
		request_end(e, r, r->pool ? INFER_FINISH_STOP : INFER_FINISH_LENGTH, INFER_OK, "");
	}
}
