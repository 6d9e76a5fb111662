/* engine/follow.c - a request under its constraint: the tokens allowed next, and those forced. */
#include "engine/constrain.h"
#include "engine/reason.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

enum { KEPT = 8, MASK_BYTES = 32 << 20 };

/* Before the constraint begins, the text is free up to and with `until`; one token of newlines may
 * stand between. */
enum phase { FREE, GAP, BOUND };

struct follow {
	struct constraints *c;
	struct follow_opts o;
	struct shared_mask *shared;
	struct match *m;
	struct match_at at, try;
	uint64_t *bits, *one; /* [n_vocab / 64]; one: all zero but for a token ahead */
	int32_t *border;      /* of free_until: its longest border, by length */
	size_t met;           /* bytes of free_until that have come */
	enum phase phase;
	/* filled: bits are those of this place; past: of the place behind the tokens ahead;
	 * done: with that mask, nothing can follow; first: the text begins, behind the token that
	 * begins all texts */
	int filled, past, done, first;
	int32_t last;
	int32_t ahead[AHEAD], n_ahead, at_ahead;
	struct reason reason;
	int32_t reason_end; /* its control token; -1: it is text */
	infer_error err;
};

static size_t words(const struct follow *f) { return ((size_t)f->c->n_vocab + 63) / 64; }

static void set(uint64_t *bits, int32_t id) { bits[id / 64] |= UINT64_C(1) << id % 64; }

static void clear(uint64_t *bits, int32_t id) { bits[id / 64] &= ~(UINT64_C(1) << id % 64); }

static int has(const uint64_t *bits, int32_t id) { return bits[id / 64] >> id % 64 & 1; }

static int any(const struct follow *f)
{
	uint64_t all = 0;

	for (size_t i = 0; i < words(f); i++)
		all |= f->bits[i];
	return all != 0;
}

/* Running out of a budget means that the constraint cannot be kept. */
static int as_constraint(int rc, infer_error *err)
{
	if (rc != INFER_EUNSUP)
		return rc;
	err->code = INFER_EEMPTY;
	return INFER_EEMPTY;
}

/* ---- shared masks ---- */

/* Free unused masks, except the few used last; the lock is held. */
static void trim(struct constraints *c)
{
	struct shared_mask **at = &c->masks;
	int idle = 0;

	while (*at) {
		struct shared_mask *k = *at;

		if (k->users || ++idle <= KEPT) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		mask_free(k->mask);
		infer_grammar_free(k->g);
		mem_free(k);
	}
}

static int make(struct shared_mask **out, const struct constraints *c, infer_grammar *g,
                infer_error *err)
{
	const struct budget most = { g->budget.steps, MASK_BYTES };
	struct shared_mask *k = mem_zalloc(MEM_ENGINE, 1, sizeof *k);
	int rc;

	*out = NULL;
	if (!k)
		return err_set(err, INFER_ENOMEM, "no memory for a constraint");
	rc = mask_new(&k->mask, g->g, c->vocab, MATCH_TIDY, &most, err);
	if (rc) {
		mem_free(k);
		return rc;
	}
	k->g = infer_grammar_share(g);
	*out = k;
	return INFER_OK;
}

static int get(struct shared_mask **out, struct constraints *c, infer_grammar *g, infer_error *err)
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
		rc = make(&k, c, g, err);
	if (!rc) {
		k->next = c->masks;
		c->masks = k;
		k->users++;
	}
	trim(c);
	pthread_mutex_unlock(&c->lock);
	*out = k;
	return rc;
}

/* ---- what may come ---- */

/* A space that begins the first token of all is not shown: its text would lack it. */
static void without_space(struct follow *f)
{
	for (int32_t id = 0; id < f->c->n_vocab; id++) {
		const char *at;
		size_t n, shown;

		if (!has(f->bits, id))
			continue;
		(void)infer_token_bytes(f->c->tok, id, 0, &at, &n, NULL);
		(void)infer_token_bytes(f->c->tok, id, INFER_DECODE_FIRST, &at, &shown, NULL);
		if (n != shown)
			clear(f->bits, id);
	}
}

static int is_stop(const struct follow *f, int32_t token)
{
	for (int32_t i = 0; i < f->o.n_stops; i++)
		if (f->o.stops[i] == token)
			return 1;
	return !f->o.ignore_ends && infer_token_is_eog(f->c->tok, token);
}

/* Tokens that end the answer, where it may end. */
static void put_ends(struct follow *f, int may_end)
{
	for (int32_t i = 0; i < f->o.n_stops; i++)
		clear(f->bits, f->o.stops[i]);
	f->done = may_end && !any(f);
	for (int32_t i = 0; i < f->o.n_stops && may_end; i++)
		set(f->bits, f->o.stops[i]);
	for (int32_t i = 0; i < f->c->n_ends && may_end && !f->o.ignore_ends; i++)
		set(f->bits, f->c->ends[i]);
}

enum how { FIND, RECALL }; /* RECALL: INFER_EAGAIN rather than to find out */

static int fill_bound(struct follow *f, enum how how, infer_error *err)
{
	struct budget left = f->o.grammar->budget;

	if (how == RECALL && f->first)
		return INFER_EAGAIN;
	memset(f->bits, 0, words(f) * sizeof *f->bits);
	TRY((how == RECALL ? mask_recall : mask_fill)(f->shared->mask, f->m, &f->at, f->bits, &left,
	                                              err));
	if (f->first)
		without_space(f);
	put_ends(f, match_may_end(f->m, &f->at));
	for (int32_t i = 0; i < f->c->n_newlines && f->phase == GAP; i++)
		set(f->bits, f->c->newlines[i]);
	if (any(f))
		return INFER_OK;
	return f->done ? INFER_OK
	               : err_set(err, INFER_EEMPTY, "no token of the vocabulary can follow here");
}

/* How much of free_until has come after these bytes; *used: those up to its end, or all. */
static size_t advance(const struct follow *f, size_t met, const char *at, size_t n, size_t *used)
{
	const struct infer_str *u = &f->o.free_until;

	for (*used = 0; *used < n && met < u->len; ++*used) {
		while (met && u->at[met] != at[*used])
			met = (size_t)f->border[met - 1];
		met += u->at[met] == at[*used];
	}
	return met;
}

static size_t spaces(const char *at, size_t n)
{
	size_t i = 0;

	while (i < n && (at[i] == ' ' || at[i] == '\n' || at[i] == '\t' || at[i] == '\r'))
		i++;
	return i;
}

/* All tokens but those that end the answer, and those that go on with other than white space
 * behind the end of what is free. */
static void fill_free(struct follow *f)
{
	int32_t n = infer_tokenizer_count(f->c->tok);
	const char *at;
	size_t bytes, used;
	int control;

	memset(f->bits, 0, words(f) * sizeof *f->bits);
	for (int32_t id = 0; id < n && id < f->c->n_vocab; id++) {
		constraints_bytes(f->c, id, &at, &bytes, &control);
		if (bytes && (advance(f, f->met, at, bytes, &used) < f->o.free_until.len ||
		              spaces(at + used, bytes - used) == bytes - used))
			set(f->bits, id);
	}
	for (int32_t i = 0; i < f->o.n_stops; i++)
		clear(f->bits, f->o.stops[i]);
}

static int fill(struct follow *f, enum how how, infer_error *err)
{
	if (f->filled)
		return INFER_OK;
	if (f->phase != FREE)
		TRY(as_constraint(fill_bound(f, how, err), err));
	else if (how == RECALL)
		return INFER_EAGAIN;
	else
		fill_free(f);
	f->filled = 1;
	return INFER_OK;
}

const uint64_t *follow_allowed(struct follow *f, infer_error *err)
{
	if (f->at_ahead < f->n_ahead) {
		set(f->one, f->ahead[f->at_ahead]);
		return f->one;
	}
	return fill(f, FIND, err) ? NULL : f->bits;
}

/* ---- what comes ---- */

/* Whether the tokens may come here; the place stays. */
static int may_come(struct follow *f, const int32_t *ids, int32_t n, int *may, infer_error *err)
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
		if (control)
			rc = match_byte(f->m, &f->try, 0xff, err);
		for (size_t k = 0; k < bytes && !rc; k++)
			rc = match_byte(f->m, &f->try, (uint8_t)at[k], err);
	}
	*may = !rc && match_live(&f->try);
	return rc;
}

/* Reasoning that is too long ends as soon as it can. */
static int end_reasoning(struct follow *f, infer_error *err)
{
	int32_t n = 1;
	int may;

	if (!reason_is_long(&f->reason) || f->o.no_ahead)
		return INFER_OK;
	f->ahead[0] = f->reason_end;
	if (f->reason_end < 0)
		n = constraints_spell(f->c, f->last, f->reason.close, f->reason.n_close, 0,
		                      f->ahead, err);
	if (n < 0)
		return INFER_ENOMEM;
	for (int32_t i = 0; i < n; i++)
		if (is_stop(f, f->ahead[i]))
			n = 0;
	TRY(may_come(f, f->ahead, n, &may, err));
	f->n_ahead = may ? n : 0;
	return INFER_OK;
}

/* What is sure to follow: nothing where the text may end, which is looked at at once, because it
 * may be complete. */
static int look(struct follow *f, infer_error *err)
{
	char bytes[AHEAD_BYTES];
	const char *control;
	uint32_t n = 0;

	if (f->at_ahead < f->n_ahead)
		return INFER_OK;
	f->n_ahead = f->at_ahead = 0;
	TRY(as_constraint(end_reasoning(f, err), err));
	if (f->n_ahead || f->phase != BOUND)
		return INFER_OK;
	if (match_may_end(f->m, &f->at))
		return fill(f, FIND, err);
	if (f->o.no_ahead)
		return INFER_OK;
	TRY(as_constraint(mask_forced(f->m, &f->at, bytes, AHEAD_BYTES, &n, err), err));
	control = n ? memchr(bytes, 0xff, n) : NULL;
	if (control)
		n = (uint32_t)(control - bytes);
	if (n < 2)
		return INFER_OK;
	f->n_ahead = constraints_spell(f->c, f->last, bytes, n, !control, f->ahead, err);
	for (int32_t i = 0; i < f->n_ahead; i++)
		if (is_stop(f, f->ahead[i]))
			f->n_ahead = i;
	return f->n_ahead < 0 ? INFER_ENOMEM : INFER_OK;
}

/* The bytes of a token, behind those that are free. */
static int feed(struct follow *f, const char *at, size_t n, int control, infer_error *err)
{
	if (control)
		TRY(match_byte(f->m, &f->at, 0xff, err));
	for (size_t i = 0; i < n; i++)
		TRY(match_byte(f->m, &f->at, (uint8_t)at[i], err));
	return match_live(&f->at)
	               ? INFER_OK
	               : err_set(err, INFER_EEMPTY, "a token does not satisfy the constraint");
}

static int is_newlines(const struct follow *f, int32_t token)
{
	for (int32_t i = 0; i < f->c->n_newlines; i++)
		if (f->c->newlines[i] == token)
			return 1;
	return 0;
}

/* The first token behind what was free: newlines belong to neither, unless the constraint has
 * them. */
static int take_gap(struct follow *f, int32_t token, const char *at, size_t n, int control,
                    infer_error *err)
{
	int rc;

	f->phase = BOUND;
	if (!is_newlines(f, token))
		return feed(f, at, n, control, err);
	TRY(match_copy(f->m, &f->try, &f->at, err));
	rc = feed(f, at, n, control, err);
	return rc == INFER_EEMPTY ? match_copy(f->m, &f->at, &f->try, err) : rc;
}

static int take(struct follow *f, int32_t token, infer_error *err)
{
	const char *at;
	size_t n, used;
	int control;

	constraints_bytes(f->c, token, &at, &n, &control);
	reason_take(&f->reason, at, n);
	if (f->phase == FREE) {
		f->met = advance(f, f->met, at, n, &used);
		if (f->met == f->o.free_until.len)
			f->phase = used == n ? GAP : BOUND;
	} else if (f->phase == GAP) {
		TRY(as_constraint(take_gap(f, token, at, n, control, err), err));
	} else {
		TRY(as_constraint(feed(f, at, n, control, err), err));
	}
	return look(f, err);
}

void follow_take(struct follow *f, int32_t token)
{
	const int was_free = f->filled && f->phase == FREE;
	const size_t met = f->met;
	infer_error err = { 0 };

	f->filled = f->first = 0;
	if (f->at_ahead < f->n_ahead) {
		clear(f->one, f->ahead[f->at_ahead++]);
		f->filled = f->past && f->at_ahead == f->n_ahead;
		f->past &= !f->filled;
	}
	f->last = token;
	if (is_stop(f, token) || f->err.code)
		return;
	if (take(f, token, &err))
		f->err = err;
	if (was_free && f->phase == FREE && f->met == met) /* the same may come */
		f->filled = 1;
}

/* Bits of the place behind the tokens ahead. */
static int fill_past(struct follow *f, enum how how, infer_error *err)
{
	const struct match_at here = f->at;
	const char *at;
	size_t n;
	int control, rc = INFER_OK;

	if (f->phase != BOUND || f->first)
		return INFER_OK;
	TRY(match_copy(f->m, &f->try, &f->at, err));
	f->at = f->try;
	f->try = (struct match_at){ 0 };
	for (int32_t i = f->at_ahead; i < f->n_ahead && !rc; i++) {
		constraints_bytes(f->c, f->ahead[i], &at, &n, &control);
		rc = feed(f, at, n, control, err);
	}
	if (!rc)
		rc = fill_bound(f, how, err);
	match_drop(f->m, &f->at);
	f->at = here;
	f->past = !rc;
	return rc;
}

int32_t follow_ahead(const struct follow *f, uint64_t *ids, int32_t cap)
{
	int32_t n = f->n_ahead - f->at_ahead < cap ? f->n_ahead - f->at_ahead : cap;

	for (int32_t i = 0; i < n; i++)
		ids[i] = (uint64_t)f->ahead[f->at_ahead + i];
	return n;
}

int follow_ready(const struct follow *f)
{
	if (f->at_ahead < f->n_ahead)
		return f->past || f->phase != BOUND || f->first;
	return f->filled || f->err.code;
}

/* What is wrong is said when it is asked for. */
static void prepare(struct follow *f, enum how how)
{
	infer_error err;

	if (follow_ready(f))
		return;
	if (f->at_ahead < f->n_ahead)
		(void)fill_past(f, how, &err);
	else
		(void)fill(f, how, &err);
}

void follow_recall(struct follow *f) { prepare(f, RECALL); }

void follow_find(struct follow *f) { prepare(f, FIND); }

int follow_done(const struct follow *f) { return f->filled && f->done; }

const infer_error *follow_error(const struct follow *f) { return f->err.code ? &f->err : NULL; }

/* ---- from start to end ---- */

static void find_borders(struct follow *f)
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

/* The control token that ends reasoning, if one does. */
static int find_reasoning(struct follow *f, infer_error *err)
{
	const struct follow_opts *o = &f->o;
	const char *at;
	size_t n;
	int control;

	TRY(reason_init(&f->reason, o->reason_open, o->reason_close, o->reason_most, err));
	f->reason_end = -1;
	for (int32_t id = 0; id < f->c->n_vocab && o->reason_close.len; id++) {
		constraints_bytes(f->c, id, &at, &n, &control);
		if (n == o->reason_close.len && !memcmp(at, o->reason_close.at, n))
			f->reason_end = id;
	}
	return INFER_OK;
}

static int begin(struct follow *f, infer_error *err)
{
	const struct follow_opts *o = &f->o;
	char *until = mem_strndup(MEM_ENGINE, o->free_until.at ? o->free_until.at : "",
	                          o->free_until.len);

	f->o.free_until.at = until;
	f->border = mem_alloc(MEM_ENGINE, o->free_until.len + 1, sizeof *f->border);
	f->bits = mem_zalloc(MEM_ENGINE, words(f), sizeof *f->bits);
	f->one = mem_zalloc(MEM_ENGINE, words(f), sizeof *f->one);
	if (!until || !f->border || !f->bits || !f->one)
		return err_set(err, INFER_ENOMEM, "no memory for a constraint");
	find_borders(f);
	TRY(find_reasoning(f, err));
	TRY(get(&f->shared, f->c, o->grammar, err));
	TRY(match_new(&f->m, o->grammar->g, MATCH_TIDY, &o->grammar->budget, err));
	TRY(match_begin(f->m, &f->at, err));
	f->phase = o->free_until.len ? FREE : BOUND;
	f->first = o->last == infer_token_special(f->c->tok, INFER_BOS);
	f->last = o->last;
	TRY(look(f, err));
	f->done = 0; /* an answer that is empty ends with a token */
	return INFER_OK;
}

int follow_new(struct follow **out, struct constraints *c, const struct follow_opts *o,
               infer_error *err)
{
	struct follow *f = mem_zalloc(MEM_ENGINE, 1, sizeof *f);
	int rc;

	*out = NULL;
	if (!f)
		return err_set(err, INFER_ENOMEM, "no memory for a constraint");
	f->c = c;
	f->o = *o;
	f->o.grammar = infer_grammar_share(o->grammar);
	rc = begin(f, err);
	if (rc)
		follow_free(f);
	else
		*out = f;
	return rc;
}

void follow_free(struct follow *f)
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
		trim(f->c);
		pthread_mutex_unlock(&f->c->lock);
	}
	infer_grammar_free(f->o.grammar);
	mem_free((void *)(uintptr_t)f->o.free_until.at);
	mem_free(f->border);
	mem_free(f->bits);
	mem_free(f->one);
	mem_free(f);
}
