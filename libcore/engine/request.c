/* engine/request.c - a request, copied completely at submit, and its end */
#include "engine/engine.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	KNOWN_FLAGS = INFER_REQ_IGNORE_EOS | INFER_REQ_SCORE | INFER_REQ_NO_TEXT |
	              INFER_REQ_SPECIAL_TEXT | INFER_REQ_LOGITS | INFER_REQ_KEEP_STOP |
	              INFER_REQ_PROGRESS | INFER_REQ_AFTER
};

static int check_tokens(const int32_t *ids, size_t n, int32_t n_vocab, const char *what,
                        infer_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] < 0 || ids[i] >= n_vocab)
			return err_set(err, INFER_EINVAL,
			               "%s %zu: token %d is outside the vocabulary of %d", what, i,
			               (int)ids[i], (int)n_vocab);
	return INFER_OK;
}

static int check_stops(const struct infer_request *r, infer_error *err)
{
	if (r->n_stop < 0 || r->n_stop_tokens < 0)
		return err_set(err, INFER_EINVAL, "n_stop %d, n_stop_tokens %d: must be at least 0",
		               (int)r->n_stop, (int)r->n_stop_tokens);
	if (r->n_stop && r->flags & INFER_REQ_NO_TEXT)
		return err_set(err, INFER_EINVAL, "stop strings in a request without text");
	for (int32_t i = 0; i < r->n_stop; i++) {
		if (!r->stop[i].len || r->stop[i].len > INT32_MAX)
			return err_set(err, INFER_EINVAL, "stop string %d is empty", (int)i);
		if (utf8_check(r->stop[i].at, r->stop[i].len) != r->stop[i].len)
			return err_set(err, INFER_EINVAL, "stop string %d is not UTF-8", (int)i);
	}
	return INFER_OK;
}

static int check_scores(const struct infer_request *r, infer_error *err)
{
	if (r->flags & INFER_REQ_LOGITS && !(r->flags & INFER_REQ_SCORE))
		return err_set(err, INFER_EINVAL, "logits are requested without scores");
	if (!r->score_from)
		return INFER_OK;
	if (!(r->flags & INFER_REQ_SCORE))
		return err_set(err, INFER_EINVAL, "score_from is %d, but scores are not requested",
		               (int)r->score_from);
	if (r->score_from < 0 || (size_t)r->score_from >= r->n_prompt)
		return err_set(err, INFER_EINVAL,
		               "score_from is %d: must be less than the %zu tokens",
		               (int)r->score_from, r->n_prompt);
	return INFER_OK;
}

static int check_fields(const infer_engine *e, const struct infer_request *r, infer_error *err)
{
	if (!r->n_prompt)
		return err_set(err, INFER_EINVAL, "the prompt is empty");
	if (r->max_tokens < -1)
		return err_set(err, INFER_EINVAL, "max_tokens is %d: must be at least -1",
		               (int)r->max_tokens);
	if (r->top < 0 || r->top > INFER_MAX_TOP)
		return err_set(err, INFER_EINVAL, "top is %d: must be from 0 to %d", (int)r->top,
		               INFER_MAX_TOP);
	if (r->flags & ~(uint32_t)KNOWN_FLAGS)
		return err_set(err, INFER_EINVAL, "request flags 0x%x are not known",
		               (unsigned)(r->flags & ~(uint32_t)KNOWN_FLAGS));
	TRY(check_scores(r, err));
	TRY(embed_check(e, r, err));
	TRY(adapters_check(e, r, err));
	if (!e->tok && !(r->flags & INFER_REQ_NO_TEXT))
		return err_set(err, INFER_EUNSUP,
		               "the model has no vocabulary: only requests without text can run");
	if (r->reason_limit < 0)
		return err_set(err, INFER_EINVAL, "reason_limit is %d: must be at least 0",
		               (int)r->reason_limit);
	if (!e->tok && (r->grammar || r->reason_limit))
		return err_set(err, INFER_EUNSUP, "the model has no vocabulary to constrain");
	TRY(check_stops(r, err));
	TRY(check_tokens(r->prompt, r->n_prompt, e->n_vocab, "prompt", err));
	return check_tokens(r->stop_tokens, (size_t)r->n_stop_tokens, e->n_vocab, "stop token",
	                    err);
}

/* Check that the prompt fits the context. Alone every context fits: the cache has room for one (place.h),
 * and pages of others can be reclaimed. */
static int check_fits(const infer_engine *e, const struct infer_request *r, infer_error *err)
{
	size_t want = r->n_prompt + (r->max_tokens != 0);

	char wider[64] = ""; /* suggestion, if the model's trained context suffices */

	if (e->model->h.bidirectional && want > (size_t)e->chunk)
		return err_set(
			err, INFER_ENOMEM,
			"a prompt of %zu tokens with bidirectional attention: at most %d can "
			"be computed at once",
			r->n_prompt, (int)e->chunk);
	if (want <= (size_t)e->ctx)
		return INFER_OK;
	if (want <= (size_t)e->model->h.ctx_train)
		snprintf(wider, sizeof wider, "a context of %zu or ", want);
	return err_set(err, INFER_ENOMEM,
	               "a prompt of %zu tokens needs a context of %zu; there are %d: "
	               "%sa prompt of at most %zu tokens would fit",
	               r->n_prompt, want, (int)e->ctx, wider,
	               r->n_prompt - (want - (size_t)e->ctx));
}

/* Replace *at [n], sequences of (*n_ids)[i] ids, by copies in the arena. */
static void copy_sequences(const int32_t *const **at, const int32_t **n_ids, int32_t n,
                           struct arena *a)
{
	const int32_t **copies = arena_alloc(a, (size_t)n, sizeof *copies);
	int32_t *lens = arena_alloc(a, (size_t)n, sizeof *lens), *ids;

	if (a->bad)
		return;
	for (int32_t i = 0; i < n; i++) {
		lens[i] = (*n_ids)[i];
		ids = arena_alloc(a, (size_t)lens[i], sizeof *ids);
		if (!ids)
			return;
		memcpy(ids, (*at)[i], (size_t)lens[i] * sizeof *ids);
		copies[i] = ids;
	}
	*at = copies;
	*n_ids = lens;
}

/* Copy everything that the options point to into the arena. */
static void copy_sample(struct infer_sample_opts *o, struct arena *a)
{
	struct infer_logit_bias *bias = arena_alloc(a, (size_t)o->n_bias, sizeof *bias);

	if (a->bad)
		return;
	for (int32_t i = 0; i < o->n_bias; i++)
		bias[i] = o->bias[i];
	o->bias = bias;
	copy_sequences(&o->dry_breakers, &o->n_dry_breaker, o->n_dry_breakers, a);
	copy_sequences(&o->banned, &o->n_banned_ids, o->n_banned, a);
}

/* Check the numbers of sequences and of their ids, which copies depend on. */
static int check_sequences(const struct infer_sample_opts *o, infer_error *err)
{
	if (o->n_bias < 0 || o->n_dry_breakers < 0 || o->n_banned < 0)
		return err_set(err, INFER_EINVAL,
		               "n_bias %d, n_dry_breakers %d, n_banned %d: must be at least 0",
		               (int)o->n_bias, (int)o->n_dry_breakers, (int)o->n_banned);
	for (int32_t i = 0; i < o->n_dry_breakers; i++)
		if (o->n_dry_breaker[i] < 0)
			return err_set(err, INFER_EINVAL, "dry breaker %d has %d tokens", (int)i,
			               (int)o->n_dry_breaker[i]);
	for (int32_t i = 0; i < o->n_banned; i++)
		if (o->n_banned_ids[i] < 1)
			return err_set(err, INFER_EINVAL, "banned sequence %d has %d tokens",
			               (int)i, (int)o->n_banned_ids[i]);
	return INFER_OK;
}

static int make_sampler(struct request *q, const infer_engine *e, const struct infer_request *r,
                        infer_error *err)
{
	struct infer_sample_opts o = r->sample;

	TRY(check_sequences(&o, err));
	o.banned_from = r->n_prompt;
	copy_sample(&o, &q->arena);
	if (q->arena.bad)
		return err_set(err, INFER_ENOMEM, "no memory for the sampler's options");
	TRY(infer_sampler_new(&q->sampler, &o, e->n_vocab, err));
	TRY(infer_sampler_reserve(q->sampler, (size_t)q->cap, err));
	return infer_sampler_feed(q->sampler, r->prompt, r->n_prompt, err);
}

/* Return the shared data of constrained requests; the first one allocates it. */
static int get_constraints(struct constraints **out, infer_engine *e, infer_error *err)
{
	struct constraints *made;

	pthread_mutex_lock(&e->lock);
	*out = e->constraints;
	pthread_mutex_unlock(&e->lock);
	if (*out)
		return INFER_OK;
	TRY(constraints_new(&made, e->tok, e->n_vocab, err));
	pthread_mutex_lock(&e->lock);
	if (!e->constraints) {
		e->constraints = made;
		made = NULL;
	}
	*out = e->constraints;
	pthread_mutex_unlock(&e->lock);
	constraints_free(made);
	return INFER_OK;
}

/* True if a text contains the bytes of the tokens ids[0 .. n); at_start: if it begins with them. */
static int has_tokens(const infer_engine *e, struct infer_str text, const int32_t *ids, int32_t n,
                      int at_start)
{
	const char *bytes;
	size_t len;

	for (size_t from = 0; from < (at_start ? 1 : text.len); from++) {
		size_t at = from;
		int32_t i = 0;

		while (i < n &&
		       !infer_token_bytes(e->tok, ids[i], INFER_DECODE_SPECIAL, &bytes, &len,
		                          NULL) &&
		       len && len <= text.len - at && !memcmp(text.at + at, bytes, len)) {
			at += len;
			i++;
		}
		if (i == n)
			return 1;
	}
	return 0;
}

/* True if a token of a text, written after any other text, may be forbidden by the bias or by a banned
 * sequence. */
static int forbids_part(const infer_engine *e, const struct infer_sample_opts *o,
                        struct infer_str text)
{
	if (!text.len)
		return 0;
	for (int32_t i = 0; i < o->n_bias; i++)
		if (isinf(o->bias[i].bias) && o->bias[i].bias < 0 &&
		    has_tokens(e, text, &o->bias[i].token, 1, 0))
			return 1;
	for (int32_t b = 0; b < o->n_banned; b++)
		for (int32_t k = 0; k < o->n_banned_ids[b]; k++)
			if (has_tokens(e, text, o->banned[b] + k, o->n_banned_ids[b] - k, k > 0))
				return 1;
	return 0;
}

static int init_grammar_state(struct request *q, infer_engine *e, const struct infer_request *r,
                              infer_error *err)
{
	const struct grammar_state_opts o = {
		.grammar = r->grammar,
		.free_until = r->free_until,
		.reason_open = r->reason_open,
		.reason_close = r->reason_close,
		.reason_most = (q->cap - q->n_prompt) / 2,
		.reason_limit = r->reason_limit,
		.keeps_reason = forbids_part(e, &r->sample, r->reason_close),
		.last = r->prompt[r->n_prompt - 1],
		.stops = q->stop_tokens,
		.n_stops = q->n_stop_tokens,
		.ignore_ends = (r->flags & INFER_REQ_IGNORE_EOS) != 0,
		/* these may forbid a forced token */
		.no_forced = r->sample.n_bias > 0 || r->sample.n_banned > 0,
	};
	int64_t from = clock_now_ns();
	struct constraints *c;

	TRY(get_constraints(&c, e, err));
	TRY(grammar_state_new(&q->grammar_state, c, &o, err));
	q->usage.constraint_ns = clock_now_ns() - from;
	return INFER_OK;
}

static int request_nomem(const struct request *q, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "no memory for a request of %d tokens", (int)q->cap);
}

/* Set the tokens that do not end the answer, allowed until min_tokens. */
static void find_non_ends(struct request *q, const infer_engine *e, int32_t least)
{
	const size_t n = ((size_t)e->n_vocab + 63) / 64;
	uint64_t *bits = arena_alloc(&q->arena, 2 * n, sizeof *bits);

	q->stop.least = least;
	q->stop.others = bits;
	if (!bits)
		return;
	memset(bits, 0xff, n * sizeof *bits);
	for (int32_t id = 0; e->tok && !(q->flags & INFER_REQ_IGNORE_EOS) && id < e->n_vocab; id++)
		if (infer_token_is_eog(e->tok, id))
			bits[id / 64] &= ~(1ull << id % 64);
	for (int32_t i = 0; i < q->n_stop_tokens; i++)
		bits[q->stop_tokens[i] / 64] &= ~(1ull << q->stop_tokens[i] % 64);
}

static int fill_request(struct request *q, infer_engine *e, const struct infer_request *r,
                        infer_error *err)
{
	const int32_t numeric[] = { e->k_type, e->v_type, e->act_type, e->ctx };

	q->n = q->n_prompt = (int32_t)r->n_prompt;
	q->cap = r->max_tokens < 0 ? e->ctx
	                           : (int32_t)num_min((int64_t)q->n_prompt + r->max_tokens, e->ctx);
	q->user = r->user;
	q->top = r->top;
	q->priority = r->priority;
	q->flags = r->flags;
	q->deadline_ns = r->deadline_ns;
	q->root = rng_hash(r->salt, numeric, sizeof numeric);
	TRY(adapters_take(q, r, err));
	q->whole = e->model->h.bidirectional;
	q->second = r->second;
	q->scored_end = q->n_prompt;
	q->scored = !(r->flags & INFER_REQ_SCORE) ? q->n_prompt : r->score_from ? r->score_from : 1;
	q->usage.prompt_tokens = q->n_prompt;
	q->ids = arena_alloc(&q->arena, (size_t)q->cap, sizeof *q->ids);
	q->stop_tokens = arena_alloc(&q->arena, (size_t)r->n_stop_tokens, sizeof *q->stop_tokens);
	q->n_stop_tokens = r->n_stop_tokens;
	if (q->arena.bad || stop_init(&q->stop, &q->arena, r->stop, r->n_stop))
		return request_nomem(q, err);
	q->stop.keep = (r->flags & INFER_REQ_KEEP_STOP) != 0;
	for (int32_t i = 0; i < q->n; i++)
		q->ids[i] = (uint64_t)r->prompt[i];
	for (int32_t i = 0; i < r->n_stop_tokens; i++)
		q->stop_tokens[i] = r->stop_tokens[i];
	if (r->min_tokens > 0)
		find_non_ends(q, e, r->min_tokens);
	if (q->arena.bad)
		return request_nomem(q, err);
	if (r->embed)
		TRY(embed_new(q, e, r, err));
	if (q->cap > q->n)
		TRY(make_sampler(q, e, r, err));
	if (q->cap > q->n && (r->grammar || (r->reason_limit && r->reason_close.len)))
		TRY(init_grammar_state(q, e, r, err));
	if (!(r->flags & INFER_REQ_NO_TEXT))
		TRY(infer_detok_new(&q->detok, e->tok,
		                    r->flags & INFER_REQ_SPECIAL_TEXT ? INFER_DECODE_SPECIAL : 0,
		                    r->prompt[r->n_prompt - 1], err));
	return INFER_OK;
}

int request_new(struct request **out, infer_engine *e, const struct infer_request *r,
                infer_error *err)
{
	struct request *q;
	int rc;

	*out = NULL;
	TRY(check_fields(e, r, err));
	TRY(check_fits(e, r, err));
	q = mem_zalloc(MEM_ENGINE, 1, sizeof *q);
	if (!q)
		return err_set(err, INFER_ENOMEM, "no memory for a request");
	q->submit_ns = clock_now_ns();
	arena_init(&q->arena, MEM_ENGINE);
	rc = fill_request(q, e, r, err);
	if (rc)
		request_free(q);
	else
		*out = q;
	return rc;
}

void request_free(struct request *r)
{
	if (!r)
		return;
	infer_sampler_free(r->sampler);
	infer_detok_free(r->detok);
	grammar_state_free(r->grammar_state);
	adapters_drop(r);
	arena_fini(&r->arena);
	mem_free(r);
}

int request_before(const struct request *a, const struct request *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

/* Emit the text held back for stop strings: the text has ended. */
static void flush_text(infer_engine *e, struct request *r)
{
	struct buf *out = &e->events.text;
	const char *bytes;
	size_t n;

	if (!r->detok || infer_detok_end(r->detok, &bytes, &n, NULL))
		return;
	if (!stop_put(&r->stop, bytes, n, out))
		stop_flush(&r->stop, out);
}

void request_end(infer_engine *e, struct request *r, int finish, int code, const char *message)
{
	struct event_slot *s = events_add(&e->events, r, INFER_EVENT_DONE);

	must(!r->ended);
	r->ended = 1;
	flush_text(e, r);
	if (e->events.text.bad) { /* no memory for the end of the answer: an error */
		e->events.text.bad = 0;
		e->events.text.len = s->text_at;
		finish = INFER_FINISH_ERROR;
		code = INFER_ENOMEM;
		message = "no memory for text";
	}
	s->ev.text_bytes = e->events.text.len - s->text_at;
	s->ev.finish = finish;
	s->ev.stop = r->stop.met;
	s->message_at = e->events.text.len;
	buf_put(&e->events.text, message, strlen(message) + 1);
	if (e->events.text.bad) { /* no memory for the message: end without it */
		e->events.text.bad = 0;
		e->events.text.len = s->message_at;
		s->message_at = SIZE_MAX;
	}
	s->ev.code = code;
	if (!r->admitted)
		r->usage.queue_ns = clock_now_ns() - r->submit_ns;
	s->ev.usage = r->usage;
	e->digest += rng_hash(r->digest, &r->id, sizeof r->id);
	kv_swap_drop(e->kv, r->swapped);
	r->swapped = NULL;
	kv_seq_close(e->kv, r->seq, r->ids);
	r->seq = NULL;
}
