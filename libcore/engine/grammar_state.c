/* engine/grammar_state.c - grammar state of one request: allowed tokens, and tokens that the grammar forces */
#include "engine/constrain.h"
#include "engine/reason.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

enum {
	UNUSED_MASKS = 8, /* unused masks kept for reuse */
	MASK_BYTES = 32 << 20
};

/* The text is unconstrained up to and including free_until. GAP: one token of newlines may precede the
 * constrained text. */
enum phase { FREE, GAP, CONSTRAINED };

/* The position whose mask `bits` is. */
enum mask_position { MASK_STALE, MASK_HERE, MASK_AFTER_FORCED };

struct grammar_state {
	struct constraints *c;
	struct grammar_state_opts o;
	struct shared_mask *shared;
	struct match *m;
	struct match_state at, try;
	uint64_t *bits,
		*one;    /* [n_vocab / 64]; one: zero, except while a forced token is allowed */
	int32_t *border; /* [bytes] KMP failure table of free_until */
	size_t matched;  /* leading bytes of free_until that the text ends with */
	enum phase phase;
	enum mask_position mask_at;
	int complete; /* at the position of `bits` the text ends: no token can follow */
	int at_start; /* the last token is BOS, after which a leading space is not shown */
	int32_t last;
	int32_t forced[FORCED_TOKENS], n_forced, next_forced; /* pending from next_forced on */
	struct reason reason;
	int32_t reason_end; /* control token that ends reasoning; -1: text ends reasoning */
	infer_error err;
};

static size_t mask_words(const struct grammar_state *f)
{
	return ((size_t)f->c->n_vocab + 63) / 64;
}

static void set_bit(uint64_t *bits, int32_t id) { bits[id / 64] |= UINT64_C(1) << id % 64; }

static void clear_bit(uint64_t *bits, int32_t id) { bits[id / 64] &= ~(UINT64_C(1) << id % 64); }

static int has_bit(const uint64_t *bits, int32_t id) { return bits[id / 64] >> id % 64 & 1; }

static int any_allowed(const struct grammar_state *f)
{
	uint64_t all = 0;

	for (size_t i = 0; i < mask_words(f); i++)
		all |= f->bits[i];
	return all != 0;
}

/* Turn INFER_EUNSUP, an exhausted budget, into INFER_EEMPTY. */
static int as_constraint(int rc, infer_error *err)
{
	if (rc != INFER_EUNSUP)
		return rc;
	err->code = INFER_EEMPTY;
	return INFER_EEMPTY;
}

/* ---- shared masks ---- */

/* Free unused masks except the most recently used. Caller holds the lock. */
static void trim_shared_masks(struct constraints *c)
{
	struct shared_mask **at = &c->masks;
	int idle = 0;

	while (*at) {
		struct shared_mask *k = *at;

		if (k->users || ++idle <= UNUSED_MASKS) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		mask_free(k->mask);
		infer_grammar_free(k->g);
		mem_free(k->tokens);
		mem_free(k);
	}
}

static int make_shared_mask(struct shared_mask **out, const struct constraints *c, infer_grammar *g,
                            infer_error *err)
{
	const struct budget most = { g->budget.steps, MASK_BYTES };
	struct shared_mask *k = mem_zalloc(MEM_ENGINE, 1, sizeof *k);
	int rc;

	*out = NULL;
	if (!k)
		return err_set(err, INFER_ENOMEM, "no memory for a constraint");
	rc = token_sets_new(&k->tokens, c, g->g, err);
	if (!rc)
		rc = mask_new(&k->mask, g->g, c->vocab, MATCH_TIDY, &most, err);
	if (rc) {
		mem_free(k->tokens);
		mem_free(k);
		return rc;
	}
	k->g = infer_grammar_share(g);
	*out = k;
	return INFER_OK;
}

static int get_shared_mask(struct shared_mask **out, struct constraints *c, infer_grammar *g,
                           infer_error *err)
{
	struct shared_mask **at = &c->masks, *k;
	int rc = INFER_OK;

	pthread_mutex_lock(&c->lock);
	while (*at && (*at)->g != g)
		at = &(*at)->next;
	k = *at;
	if (k)
		*at = k->next;
	else
		rc = make_shared_mask(&k, c, g, err);
	if (!rc) {
		k->next = c->masks;
		c->masks = k;
		k->users++;
	}
	trim_shared_masks(c);
	pthread_mutex_unlock(&c->lock);
	*out = k;
	return rc;
}

/* ---- allowed tokens ---- */

/* Disallow tokens with a leading space, which is not shown at the start of the text. */
static void clear_leading_spaces(struct grammar_state *f)
{
	for (int32_t id = 0; id < f->c->n_vocab; id++) {
		const char *at;
		size_t n, shown;

		if (!has_bit(f->bits, id))
			continue;
		(void)infer_token_bytes(f->c->tok, id, 0, &at, &n, NULL);
		(void)infer_token_bytes(f->c->tok, id, INFER_DECODE_FIRST, &at, &shown, NULL);
		if (n != shown)
			clear_bit(f->bits, id);
	}
}

static int is_stop(const struct grammar_state *f, int32_t token)
{
	for (int32_t i = 0; i < f->o.n_stops; i++)
		if (f->o.stops[i] == token)
			return 1;
	return !f->o.ignore_ends && infer_token_is_eog(f->c->tok, token);
}

/* Allow the tokens that end the answer if may_end; sets `complete`. */
static void add_end_tokens(struct grammar_state *f, int may_end)
{
	for (int32_t i = 0; i < f->o.n_stops; i++)
		clear_bit(f->bits, f->o.stops[i]);
	f->complete = may_end && !any_allowed(f);
	for (int32_t i = 0; i < f->o.n_stops && may_end; i++)
		set_bit(f->bits, f->o.stops[i]);
	for (int32_t i = 0; i < f->c->n_ends && may_end && !f->o.ignore_ends; i++)
		set_bit(f->bits, f->c->ends[i]);
}

enum mask_source { COMPUTE, LOOK_UP }; /* LOOK_UP: INFER_EAGAIN if the mask is not cached */

static int fill_constrained(struct grammar_state *f, enum mask_source source, infer_error *err)
{
	struct budget left = f->o.grammar->budget;

	if (source == LOOK_UP && f->at_start)
		return INFER_EAGAIN;
	memset(f->bits, 0, mask_words(f) * sizeof *f->bits);
	TRY((source == LOOK_UP ? mask_try_fill : mask_fill)(f->shared->mask, f->m, &f->at, f->bits,
	                                                    &left, err));
	if (f->at_start)
		clear_leading_spaces(f);
	add_end_tokens(f, match_may_end(f->m, &f->at));
	for (int32_t i = 0; i < f->c->n_newlines && f->phase == GAP; i++)
		set_bit(f->bits, f->c->newlines[i]);
	if (any_allowed(f))
		return INFER_OK;
	return f->complete
	               ? INFER_OK
	               : err_set(err, INFER_EEMPTY, "no token of the vocabulary can follow here");
}

/* Return how many bytes of free_until are matched after at[0 .. n), from `matched` before; *used: bytes up
 * to its end, or n. */
static size_t match_until(const struct grammar_state *f, size_t matched, const char *at, size_t n,
                          size_t *used)
{
	const struct infer_str *u = &f->o.free_until;

	for (*used = 0; *used < n && matched < u->len; ++*used) {
		while (matched && u->at[matched] != at[*used])
			matched = (size_t)f->border[matched - 1];
		matched += u->at[matched] == at[*used];
	}
	return matched;
}

static size_t count_spaces(const char *at, size_t n)
{
	size_t i = 0;

	while (i < n && (at[i] == ' ' || at[i] == '\n' || at[i] == '\t' || at[i] == '\r'))
		i++;
	return i;
}

/* Allow all tokens except those that end the answer and those that continue after the end of free_until
 * with anything but white space. */
static void fill_free(struct grammar_state *f)
{
	int32_t n = infer_tokenizer_count(f->c->tok);
	const char *at;
	size_t bytes, used;
	int control;

	memset(f->bits, 0, mask_words(f) * sizeof *f->bits);
	for (int32_t id = 0; id < n && id < f->c->n_vocab; id++) {
		constraints_bytes(f->c, id, &at, &bytes, &control);
		if (bytes && (match_until(f, f->matched, at, bytes, &used) < f->o.free_until.len ||
		              count_spaces(at + used, bytes - used) == bytes - used))
			set_bit(f->bits, id);
	}
	for (int32_t i = 0; i < f->o.n_stops; i++)
		clear_bit(f->bits, f->o.stops[i]);
}

static int fill_mask(struct grammar_state *f, enum mask_source source, infer_error *err)
{
	if (f->mask_at == MASK_HERE)
		return INFER_OK;
	if (f->phase != FREE)
		TRY(as_constraint(fill_constrained(f, source, err), err));
	else if (!f->o.grammar)
		memset(f->bits, 0xff, mask_words(f) * sizeof *f->bits);
	else if (source == LOOK_UP)
		return INFER_EAGAIN;
	else
		fill_free(f);
	f->mask_at = MASK_HERE;
	return INFER_OK;
}

const uint64_t *grammar_state_allowed(struct grammar_state *f, infer_error *err)
{
	if (f->next_forced < f->n_forced) {
		set_bit(f->one, f->forced[f->next_forced]);
		return f->one;
	}
	return fill_mask(f, COMPUTE, err) ? NULL : f->bits;
}

/* ---- accepting tokens ---- */

/* Set *may to 1 if the grammar accepts these tokens next, else to 0. The state does not change. */
static int may_follow(struct grammar_state *f, const int32_t *ids, int32_t n, int *may,
                      infer_error *err)
{
	const char *at;
	size_t bytes;
	int control, rc = INFER_OK;

	*may = 1;
	if (f->phase == FREE)
		return INFER_OK;
	TRY(match_copy(f->m, &f->try, &f->at, err));
	for (int32_t i = 0; i < n && !rc && match_live(&f->try); i++) {
		constraints_bytes(f->c, ids[i], &at, &bytes, &control);
		rc = match_token(f->m, &f->try, (uint32_t)ids[i], control, at, bytes, err);
	}
	*may = !rc && match_live(&f->try);
	return rc;
}

/* If reasoning is too long, force the tokens that end it, if the grammar accepts them. */
static int end_reasoning(struct grammar_state *f, infer_error *err)
{
	int32_t n = 1;
	int may;

	if (!reason_is_long(&f->reason) || f->o.keeps_reason)
		return INFER_OK;
	f->forced[0] = f->reason_end;
	if (f->reason_end < 0)
		n = constraints_spell(f->c, f->last, f->reason.close, f->reason.n_close, 0,
		                      f->forced, err);
	if (n < 0)
		return INFER_ENOMEM;
	for (int32_t i = 0; i < n; i++)
		if (is_stop(f, f->forced[i]))
			n = 0;
	TRY(may_follow(f, f->forced, n, &may, err));
	f->n_forced = may ? n : 0;
	return INFER_OK;
}

/* If the text may end here, compute the mask at once, because the text may be complete; otherwise find the
 * tokens that the grammar forces next. */
static int look_ahead(struct grammar_state *f, infer_error *err)
{
	char bytes[FORCED_BYTES];
	const char *control;
	uint32_t n = 0;

	if (f->next_forced < f->n_forced)
		return INFER_OK;
	f->n_forced = f->next_forced = 0;
	TRY(as_constraint(end_reasoning(f, err), err));
	if (f->n_forced || f->phase != CONSTRAINED)
		return INFER_OK;
	if (match_may_end(f->m, &f->at))
		return fill_mask(f, COMPUTE, err);
	if (f->o.no_forced)
		return INFER_OK;
	TRY(as_constraint(mask_forced(f->m, &f->at, bytes, FORCED_BYTES, &n, err), err));
	control = n ? memchr(bytes, 0xff, n) : NULL;
	if (control)
		n = (uint32_t)(control - bytes);
	if (n < 2)
		return INFER_OK;
	f->n_forced = constraints_spell(f->c, f->last, bytes, n, !control, f->forced, err);
	for (int32_t i = 0; i < f->n_forced; i++)
		if (is_stop(f, f->forced[i]))
			f->n_forced = i;
	return f->n_forced < 0 ? INFER_ENOMEM : INFER_OK;
}

/* Advance the grammar by the bytes of a token. INFER_EEMPTY if it does not accept them. */
static int feed_grammar(struct grammar_state *f, int32_t token, infer_error *err)
{
	const char *at;
	size_t n;
	int control;

	constraints_bytes(f->c, token, &at, &n, &control);
	TRY(match_token(f->m, &f->at, (uint32_t)token, control, at, n, err));
	return match_live(&f->at)
	               ? INFER_OK
	               : err_set(err, INFER_EEMPTY, "a token does not satisfy the constraint");
}

static int is_newlines(const struct grammar_state *f, int32_t token)
{
	for (int32_t i = 0; i < f->c->n_newlines; i++)
		if (f->c->newlines[i] == token)
			return 1;
	return 0;
}

/* Accept the first token after the free text. Newlines that the grammar does not accept are skipped. */
static int take_after_gap(struct grammar_state *f, int32_t token, infer_error *err)
{
	int rc;

	f->phase = CONSTRAINED;
	if (!is_newlines(f, token))
		return feed_grammar(f, token, err);
	TRY(match_copy(f->m, &f->try, &f->at, err));
	rc = feed_grammar(f, token, err);
	return rc == INFER_EEMPTY ? match_copy(f->m, &f->at, &f->try, err) : rc;
}

static int advance_state(struct grammar_state *f, int32_t token, infer_error *err)
{
	const char *at;
	size_t n, used;
	int control;

	constraints_bytes(f->c, token, &at, &n, &control);
	reason_take(&f->reason, at, n);
	if (!f->o.grammar)
		return look_ahead(f, err);
	if (f->phase == FREE) {
		f->matched = match_until(f, f->matched, at, n, &used);
		if (f->matched == f->o.free_until.len)
			f->phase = used == n ? GAP : CONSTRAINED;
	} else if (f->phase == GAP) {
		TRY(as_constraint(take_after_gap(f, token, err), err));
	} else {
		TRY(as_constraint(feed_grammar(f, token, err), err));
	}
	return look_ahead(f, err);
}

void grammar_state_accept(struct grammar_state *f, int32_t token)
{
	const int was_free = f->mask_at == MASK_HERE && f->phase == FREE;
	const size_t matched = f->matched;
	infer_error err = { 0 };

	f->at_start = 0;
	if (f->next_forced < f->n_forced)
		clear_bit(f->one, f->forced[f->next_forced++]);
	if (f->mask_at != MASK_AFTER_FORCED)
		f->mask_at = MASK_STALE;
	else if (f->next_forced == f->n_forced)
		f->mask_at = MASK_HERE;
	f->last = token;
	if (is_stop(f, token) || f->err.code)
		return;
	if (advance_state(f, token, &err))
		f->err = err;
	if (was_free && f->phase == FREE && f->matched == matched) /* same mask */
		f->mask_at = MASK_HERE;
}

/* Fill the mask of the position after the forced tokens. */
static int fill_after_forced(struct grammar_state *f, enum mask_source source, infer_error *err)
{
	const struct match_state here = f->at;
	int rc = INFER_OK;

	if (f->phase != CONSTRAINED || f->at_start)
		return INFER_OK;
	f->mask_at = MASK_STALE;
	TRY(match_copy(f->m, &f->try, &f->at, err));
	f->at = f->try;
	f->try = (struct match_state){ 0 };
	for (int32_t i = f->next_forced; i < f->n_forced && !rc; i++)
		rc = feed_grammar(f, f->forced[i], err);
	if (!rc)
		rc = fill_constrained(f, source, err);
	match_drop(f->m, &f->at);
	f->at = here;
	if (!rc)
		f->mask_at = MASK_AFTER_FORCED;
	return rc;
}

int32_t grammar_state_forced(const struct grammar_state *f, uint64_t *ids, int32_t cap)
{
	int32_t n = f->n_forced - f->next_forced < cap ? f->n_forced - f->next_forced : cap;

	for (int32_t i = 0; i < n; i++)
		ids[i] = (uint64_t)f->forced[f->next_forced + i];
	return n;
}

int grammar_state_ready(const struct grammar_state *f)
{
	if (f->next_forced < f->n_forced)
		return f->mask_at == MASK_AFTER_FORCED || f->phase != CONSTRAINED || f->at_start;
	return f->mask_at == MASK_HERE || f->err.code;
}

/* Errors are ignored: grammar_state_allowed reports them. */
static void prepare_mask(struct grammar_state *f, enum mask_source source)
{
	infer_error err;

	if (grammar_state_ready(f))
		return;
	if (f->next_forced < f->n_forced)
		(void)fill_after_forced(f, source, &err);
	else
		(void)fill_mask(f, source, &err);
}

void grammar_state_look_up(struct grammar_state *f) { prepare_mask(f, LOOK_UP); }

void grammar_state_compute(struct grammar_state *f) { prepare_mask(f, COMPUTE); }

int grammar_state_complete(const struct grammar_state *f)
{
	return f->mask_at == MASK_HERE && f->complete;
}

const infer_error *grammar_state_error(const struct grammar_state *f)
{
	return f->err.code ? &f->err : NULL;
}

/* ---- opening and closing ---- */

static void find_borders(struct grammar_state *f)
{
	const struct infer_str *u = &f->o.free_until;
	int32_t k = 0;

	f->border[0] = 0;
	for (size_t i = 1; i < u->len; i++) {
		while (k && u->at[i] != u->at[k])
			k = f->border[k - 1];
		k += u->at[i] == u->at[k];
		f->border[i] = k;
	}
}

/* Find the control token that ends reasoning, if there is one. */
static int find_reasoning_end(struct grammar_state *f, infer_error *err)
{
	const struct grammar_state_opts *o = &f->o;
	const char *at;
	size_t n;
	int control;

	TRY(reason_init(&f->reason, o->reason_open, o->reason_close, o->reason_most,
	                o->reason_limit, err));
	f->reason_end = -1;
	for (int32_t id = 0; id < f->c->n_vocab && o->reason_close.len; id++) {
		constraints_bytes(f->c, id, &at, &n, &control);
		if (n == o->reason_close.len && !memcmp(at, o->reason_close.at, n))
			f->reason_end = id;
	}
	return INFER_OK;
}

static int begin_grammar_state(struct grammar_state *f, infer_error *err)
{
	const struct grammar_state_opts *o = &f->o;
	char *until = mem_strndup(MEM_ENGINE, o->free_until.at ? o->free_until.at : "",
	                          o->free_until.len);

	f->o.free_until.at = until;
	f->border = mem_alloc(MEM_ENGINE, o->free_until.len + 1, sizeof *f->border);
	f->bits = mem_zalloc(MEM_ENGINE, mask_words(f), sizeof *f->bits);
	f->one = mem_zalloc(MEM_ENGINE, mask_words(f), sizeof *f->one);
	if (!until || !f->border || !f->bits || !f->one)
		return err_set(err, INFER_ENOMEM, "no memory for a constraint");
	find_borders(f);
	TRY(find_reasoning_end(f, err));
	if (o->grammar) {
		TRY(get_shared_mask(&f->shared, f->c, o->grammar, err));
		TRY(match_new(&f->m, o->grammar->g, MATCH_TIDY, &o->grammar->budget, err));
		match_set_tokens(f->m, f->shared->tokens, (uint32_t)mask_words(f));
		TRY(match_begin(f->m, &f->at, err));
	}
	f->phase = o->free_until.len || !o->grammar ? FREE : CONSTRAINED;
	f->at_start = o->last == infer_token_special(f->c->tok, INFER_BOS);
	f->last = o->last;
	TRY(look_ahead(f, err));
	f->complete = 0; /* even an empty answer ends with an end token */
	return INFER_OK;
}

int grammar_state_new(struct grammar_state **out, struct constraints *c,
                      const struct grammar_state_opts *o, infer_error *err)
{
	struct grammar_state *f = mem_zalloc(MEM_ENGINE, 1, sizeof *f);
	int rc;

	*out = NULL;
	if (!f)
		return err_set(err, INFER_ENOMEM, "no memory for a constraint");
	f->c = c;
	f->o = *o;
	f->o.grammar = o->grammar ? infer_grammar_share(o->grammar) : NULL;
	rc = begin_grammar_state(f, err);
	if (rc)
		grammar_state_free(f);
	else
		*out = f;
	return rc;
}

void grammar_state_free(struct grammar_state *f)
{
	if (!f)
		return;
	if (f->m) {
		match_drop(f->m, &f->at);
		match_drop(f->m, &f->try);
		match_free(f->m);
	}
	if (f->shared) {
		pthread_mutex_lock(&f->c->lock);
		f->shared->users--;
		trim_shared_masks(f->c);
		pthread_mutex_unlock(&f->c->lock);
	}
	infer_grammar_free(f->o.grammar);
	mem_free((void *)(uintptr_t)f->o.free_until.at);
	mem_free(f->border);
	mem_free(f->bits);
	mem_free(f->one);
	mem_free(f);
}
