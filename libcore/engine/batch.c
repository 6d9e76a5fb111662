/* engine/batch.c - collects the rows of a step from requests, and hands the results back */
#include "engine/engine.h"
#include "engine/beside.h"
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

static int draws(const struct request *r) { return r->cap > r->n; }

/* The prompt rows [from, to), among positions [pos, pos + rows), with logits that give scores, or
 * states of an embedding. */
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

/* How many of the best tokens of a row are enough for its draw and its alternatives; 0: it takes all
 * logits. */
static int32_t best_enough(const infer_engine *e, const struct request *r, int32_t position)
{
	int32_t n;

	if (r->follow || position - r->n_prompt < r->stop.least)
		return 0;
	n = sampler_best(r->sampler);
	if (n)
		n = (int32_t)num_max(n, r->top);
	return n <= e->top ? n : 0;
}

static enum backend_want want_of(const struct request *r, const struct row_job *j)
{
	if (r->pool)
		return r->embed == INFER_EMBED_RANK ? BACKEND_LOGITS : BACKEND_HIDDEN;
	return j->n_best ? BACKEND_TOP : BACKEND_LOGITS;
}

static void want(infer_engine *e, struct request *r, int32_t row, int32_t position, int is_draw)
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
	st->want[st->s.n_out] = (uint8_t)want_of(r, &st->jobs[st->s.n_out]);
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
		                                       .second = r->second };
	st->requests[st->s.n_runs++] = r;
	st->s.n += rows;
	r->rows = rows;
	for (int32_t i = 0; i < scores; i++)
		want(e, r, row + from - pos + i, from + i + 1, 0);
	st->logits_left -= scores;
	for (int32_t p = r->n; draws(r) && p <= pos + rows; p++)
		want(e, r, row + p - 1 - pos, p, 1);
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

/* Draw the tokens of a request, up to the first wrong guess. */
static void group_run(void *user, int64_t g, int worker)
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

static void on_part(void *user, uint64_t done, uint64_t all)
{
	const infer_engine *e = user;
	const struct step *st = &e->step;
	uint64_t now =
		e->prompts_done + (uint64_t)((double)st->n_prefill * ((double)done / (double)all));

	/* rows of a prompt may be those of tokens that were drawn and given up */
	e->watch.fn(e->watch.user, now < e->prompts_all ? now : e->prompts_all, e->prompts_all);
}

/* Have the parts of a step told of that reads prompts. */
static void watch(infer_engine *e)
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
	e->parts = (struct infer_watch){ on_part, e };
	st->s.watch = &e->parts;
	on_part(e, 0, 1);
}

/* The constraint of the first draw of a group; NULL: it has none, or its mask is ready. */
static struct follow *mask_wanted(const struct step *st, int32_t g)
{
	const struct row_job *j = &st->jobs[st->groups[g]];

	return j->draws && j->r->follow && !follow_ready(j->r->follow) ? j->r->follow : NULL;
}

static void find_mask(void *user, int32_t g)
{
	struct follow *f = mask_wanted(user, g);

	if (f)
		follow_find(f);
}

/* Compute, and find the masks that cannot be looked up meanwhile. */
static int compute(infer_engine *e, struct backend_result *res, infer_error *err)
{
	struct step *st = &e->step;
	int32_t g = 0;
	int rc;

	while (g < st->n_groups && !mask_wanted(st, g))
		g++;
	if (g == st->n_groups)
		return stages_run(&e->stages, &st->s, res, err);
	beside_begin(e->constraints->beside, st->n_groups, find_mask, st);
	rc = stages_run(&e->stages, &st->s, res, err);
	beside_end(e->constraints->beside);
	return rc;
}

/* Give a job its row of the results. */
static void take_result(const infer_engine *e, struct row_job *j, const struct backend_result *res,
                        int32_t i)
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

	watch(e);
	e->events.step++; /* the logits of the last step give way */
	TRY(compute(e, &res, err));
	for (int32_t i = 0; i < st->s.n_out; i++) {
		struct row_job *j = &st->jobs[i];

		take_result(e, j, &res, i);
		if (j->n_top > e->n_vocab)
			j->n_top = e->n_vocab;
		j->top_at = e->events.n_tops;
		e->events.n_tops += (size_t)j->n_top;
	}
	pool_run(e->host.pool, st->n_groups, group_run, e);
	return INFER_OK;
}

static int ends_turn(const infer_engine *e, const struct request *r, int32_t token)
{
	for (int32_t i = 0; i < r->n_stop_tokens; i++)
		if (r->stop_tokens[i] == token)
			return 1;
	return !(r->flags & INFER_REQ_IGNORE_EOS) && e->tok && infer_token_is_eog(e->tok, token);
}

static struct event_slot *say(infer_engine *e, const struct row_job *j, int kind, int32_t index)
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

static void times(struct request *r, int64_t now)
{
	if (!r->first_ns) {
		r->first_ns = now;
		r->usage.prefill_ns = now - r->admitted_ns;
		r->usage.first_token_ns = now - r->submit_ns;
	}
	r->last_ns = now;
	r->usage.decode_ns = r->last_ns - r->first_ns;
}

/* Report a drawn token, and end the request if the token ends it. */
static void take_token(infer_engine *e, const struct row_job *j, int64_t now)
{
	struct request *r = j->r;
	struct buf *text = &e->events.text;
	uint64_t digest = r->digest;
	struct event_slot *s = say(e, j, INFER_EVENT_TOKEN, r->n - r->n_prompt);
	int over = ends_turn(e, r, j->token), rc = INFER_OK;
	infer_error err = { .message = "no memory for text" };
	const char *bytes;
	size_t n;

	r->ids[r->n++] = (uint64_t)j->token;
	r->usage.completion_tokens++;
	times(r, now);
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
	if (rc) { /* drop a token whose text could not be kept, and end the text there */
		text->len = s->text_at;
		e->events.n--;
		r->digest = digest;
		r->usage.completion_tokens--;
		r->stop.over = 1;
		request_end(e, r, INFER_FINISH_ERROR, rc, err.message);
	} else if (j->constraint == ROW_BROKEN)
		request_end(e, r, INFER_FINISH_ERROR, follow_error(r->follow)->code,
		            follow_error(r->follow)->message);
	else if (over || j->constraint == ROW_COMPLETE)
		request_end(e, r, INFER_FINISH_STOP, INFER_OK, "");
	else if (r->n == r->cap)
		request_end(e, r, INFER_FINISH_LENGTH, INFER_OK, "");
}

/* Send how much of the prompt is in the cache.  Rows that are computed again were sent before. */
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

static void take_rows(infer_engine *e, struct request *r, int64_t now)
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

/* A row after a wrong guess, whose input was never drawn. */
static int is_void(const struct row_job *j) { return j->draws && j->token < 0 && !j->err.code; }

static void take_state(infer_engine *e, const struct row_job *j)
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
		st->jobs[i].r->rows -= is_void(&st->jobs[i]);
	for (int32_t i = 0; i < st->s.n_runs; i++)
		take_rows(e, st->requests[i], now);
	for (int32_t i = 0; i < st->s.n_out; i++) {
		const struct row_job *j = &st->jobs[i];

		r = j->r;
		if (r->ended || is_void(j))
			continue;
		if (j->err.code) {
			request_end(e, r, INFER_FINISH_ERROR, j->err.code, j->err.message);
		} else if (j->draws) {
			take_token(e, j, now);
		} else if (j->pools) {
			take_state(e, j);
		} else {
			say(e, j, INFER_EVENT_SCORE, j->position);
			r->scored = j->position + 1;
		}
	}
	for (int32_t i = 0; i < st->s.n_runs; i++) {
		r = st->requests[i];
		if (r->ended || draws(r) || request_pending(r))
			continue;
		r->usage.prefill_ns = now - r->admitted_ns;
		request_end(e, r, r->pool ? INFER_FINISH_STOP : INFER_FINISH_LENGTH, INFER_OK, "");
	}
}
