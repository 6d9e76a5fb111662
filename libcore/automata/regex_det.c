/* automata/regex_det.c - the subset construction.
 *
 * A thread is a node of the nondeterministic automaton and its duties: states of the automata of
 * look-ahead that must accept what is left of the text.  A state of the result is a set of threads,
 * and, where it decides anything, what the last character was, and the states of the automata of
 * look-behind.  Conditions on the next character ($, \b) wait in the set until that is known. */
#include "automata/regex_det.h"

#include <string.h>

enum next_is { NEXT_UNKNOWN, NEXT_END, NEXT_OTHER, NEXT_WORD };

static int is_wait(enum nfa_kind k)
{
	return k == NFA_END || k == NFA_WORD_NEXT || k == NFA_WORD_NOT_NEXT;
}

static int passes(enum nfa_kind k, enum next_is next)
{
	return k == NFA_END         ? next == NEXT_END
	       : k == NFA_WORD_NEXT ? next == NEXT_WORD
	                            : next != NEXT_WORD;
}

static int push(struct det *d, uint32_t node, uint32_t duty)
{
	uint32_t t;

	TRY(det_thread(d, node, duty, &t));
	if (d->stamp[t] == d->epoch)
		return INFER_OK;
	TRY(work_grow(d->w, &d->stack, &d->cap_stack, (uint64_t)d->n_stack + 1, sizeof *d->stack));
	d->stack[d->n_stack++] = t;
	return INFER_OK;
}

static int member(struct det *d, uint32_t t)
{
	TRY(work_grow(d->w, &d->list, &d->cap_list, (uint64_t)d->n_list + 1, sizeof *d->list));
	d->list[d->n_list++] = t;
	return INFER_OK;
}

static const struct dfa *ahead(const struct det *d, const struct nfa_node *v, enum nfa_prev prev,
                               uint32_t *which)
{
	const struct nfa_look *k = d->nfa->looks + v->arg;
	const int i = k->dfa[PREV_OTHER] ? (int)prev : 0;

	*which = v->arg * PREVS + (uint32_t)i;
	return k->dfa[i];
}

/* One thread at its node. */
static int visit(struct det *d, uint32_t t, enum nfa_prev prev, enum next_is next)
{
	const struct thread h = d->threads[t];
	const struct nfa_node v = d->nfa->at[h.node];
	const struct dfa *look;
	uint32_t which, duty;

	switch (v.kind) {
	case NFA_SET:
	case NFA_ACCEPT:
	case NFA_ALL:
		return member(d, t);
	case NFA_SPLIT:
		TRY(push(d, v.b, h.duty));
		return push(d, v.a, h.duty);
	case NFA_BEGIN:
		return prev == PREV_NONE ? push(d, v.a, h.duty) : INFER_OK;
	case NFA_EDGE:
		return push(d, prev == PREV_WORD ? v.a : v.b, h.duty);
	case NFA_END:
	case NFA_WORD_NEXT:
	case NFA_WORD_NOT_NEXT:
		if (next == NEXT_UNKNOWN)
			return member(d, t);
		return passes(v.kind, next) ? push(d, v.a, h.duty) : INFER_OK;
	case NFA_AHEAD:
		look = ahead(d, &v, prev, &which);
		if (dfa_is_none(look))
			return INFER_OK;
		duty = h.duty;
		if (!dfa_is_all(look))
			TRY(det_duty_add(d, h.duty, which, look->start, &duty));
		return push(d, v.a, duty);
	case NFA_BEHIND:
		look = d->nfa->looks[v.arg].dfa[0];
		return dfa_accepts(look, d->behind[v.arg]) ? push(d, v.a, h.duty) : INFER_OK;
	}
	return INFER_OK;
}

/* Add what follows from a thread without a character to the list. */
static int close(struct det *d, uint32_t node, uint32_t duty, enum nfa_prev prev, enum next_is next)
{
	TRY(push(d, node, duty));
	while (d->n_stack) {
		uint32_t t = d->stack[--d->n_stack];

		if (d->stamp[t] == d->epoch)
			continue;
		d->stamp[t] = d->epoch;
		TRY(work_steps(d->w, 8));
		TRY(visit(d, t, prev, next));
	}
	return INFER_OK;
}

/* Threads whose conditions others do not need are dropped; one that is content with anything
 * replaces all. */
static int tidy(struct det *d, int *waits)
{
	uint32_t n = 0;

	*waits = 0;
	for (uint32_t i = 0; i < d->n_list; i++) {
		const uint32_t t = d->list[i];
		const struct thread h = d->threads[t];

		if (!h.duty && d->nfa->at[h.node].kind == NFA_ALL) {
			d->epoch++;
			d->stamp[t] = d->epoch;
			d->list[0] = t;
			d->n_list = 1;
			*waits = 0;
			return work_steps(d->w, i);
		}
		if (h.duty && d->stamp[h.node] == d->epoch) {
			d->stamp[t] = 0;
			continue;
		}
		*waits |= is_wait(d->nfa->at[h.node].kind);
		d->list[n++] = t;
	}
	d->n_list = n;
	return work_steps(d->w, d->n_list);
}

/* Whether state i is the set in the list, with that prev and behind. */
static int same(const struct det *d, uint32_t i, enum nfa_prev prev)
{
	const struct det_state *s = d->states + i;
	const uint32_t *at = d->pool + s->at;

	if (s->n != d->n_list || s->prev != prev ||
	    (d->n_behind && memcmp(at, d->behind, d->n_behind * sizeof *at) != 0))
		return 0;
	for (uint32_t k = 0; k < s->n; k++)
		if (d->stamp[at[d->n_behind + k]] != d->epoch)
			return 0;
	return 1;
}

/* The state of the set in the list. */
static int intern(struct det *d, enum nfa_prev prev, uint32_t *state)
{
	uint32_t hash = 0, n;
	int waits;

	TRY(tidy(d, &waits));
	*state = NOWHERE;
	if (!d->n_list)
		return INFER_OK;
	prev = waits ? prev : PREV_NONE;
	for (uint32_t i = 0; i < d->n_list; i++)
		hash += htab_mix(1, d->list[i]); /* in any order */
	hash = htab_mix(hash, prev);
	if (d->n_list == 1 && d->threads[*d->list].duty == 0 &&
	    d->nfa->at[d->threads[*d->list].node].kind == NFA_ALL)
		memset(d->behind, 0, d->n_behind * sizeof *d->behind);
	for (uint32_t i = 0; i < d->n_behind; i++)
		hash = htab_mix(hash, d->behind[i]);
	struct htab_slot *e = htab_find(&d->index, hash);

	for (; e->index != NOWHERE; e = htab_next(&d->index, e)) {
		TRY(work_steps(d->w, 1));
		if (e->hash != hash)
			continue;
		TRY(work_steps(d->w, d->n_list));
		if (same(d, e->index, prev)) {
			*state = e->index;
			return INFER_OK;
		}
	}
	n = d->n_behind + d->n_list;
	TRY(draft_state(d->w, &d->m, 0, state));
	TRY(work_grow(d->w, &d->states, &d->cap_states, d->m.n, sizeof *d->states));
	TRY(work_grow(d->w, &d->pool, &d->cap_pool, (uint64_t)d->n_pool + n, sizeof *d->pool));
	d->states[*state] = (struct det_state){ d->n_pool, d->n_list, prev, waits };
	memcpy(d->pool + d->n_pool, d->behind, d->n_behind * sizeof *d->pool);
	memcpy(d->pool + d->n_pool + d->n_behind, d->list, d->n_list * sizeof *d->pool);
	d->n_pool += n;
	return htab_insert(d->w, &d->index, e, hash, *state);
}

/* The threads of state i when it is known what follows, into the list. */
static int expand(struct det *d, uint32_t i, enum next_is next)
{
	const struct det_state s = d->states[i];

	d->epoch++;
	d->n_list = 0;
	if (d->n_behind)
		memcpy(d->behind, d->pool + s.at, d->n_behind * sizeof *d->behind);
	TRY(work_steps(d->w, s.n));
	for (uint32_t k = 0; k < s.n; k++) {
		const uint32_t t = d->pool[s.at + d->n_behind + k];
		const struct thread h = d->threads[t];
		const struct nfa_node v = d->nfa->at[h.node];

		if (is_wait(v.kind)) {
			if (passes(v.kind, next))
				TRY(close(d, v.a, h.duty, s.prev, next));
		} else if (d->stamp[t] != d->epoch) {
			d->stamp[t] = d->epoch;
			TRY(member(d, t));
		}
	}
	return INFER_OK;
}

/* Whether the text may end in state i. */
static int may_end(struct det *d, uint32_t i, uint8_t *yes)
{
	TRY(expand(d, i, NEXT_END));
	*yes = 0;
	for (uint32_t k = 0; k < d->n_list && !*yes; k++) {
		const struct thread h = d->threads[d->list[k]];
		const enum nfa_kind kind = d->nfa->at[h.node].kind;

		if (kind == NFA_ACCEPT || kind == NFA_ALL)
			*yes = (uint8_t)det_duty_ends(d, h.duty);
	}
	return INFER_OK;
}

/* The state that follows the n threads in d->from by class c. */
static int follow(struct det *d, uint32_t i, uint32_t n, uint32_t c, uint32_t *state)
{
	const uint32_t cp = d->rep[c];
	const enum nfa_prev prev = d->word[c] ? PREV_WORD : PREV_OTHER;

	d->epoch++;
	d->n_list = 0;
	TRY(work_steps(d->w, (uint64_t)n * 2 + d->n_behind));
	for (uint32_t k = 0; k < d->n_behind; k++)
		if (d->nfa->looks[k].re->kind == RE_BEHIND)
			d->behind[k] =
				dfa_step(d->nfa->looks[k].dfa[0], d->pool[d->states[i].at + k], cp);
	for (uint32_t k = 0; k < n; k++) {
		const struct thread h = d->threads[d->from[k]];
		const struct nfa_node v = d->nfa->at[h.node];
		uint32_t duty = h.duty;

		if (v.kind == NFA_ACCEPT || (v.kind == NFA_SET && !det_in(d, v.arg, c)))
			continue;
		if (duty)
			TRY(det_duty_step(d, h.duty, cp, &duty));
		if (duty != NOWHERE)
			TRY(close(d, v.kind == NFA_ALL ? h.node : v.a, duty, prev, NEXT_UNKNOWN));
	}
	return intern(d, prev, state);
}

/* The transitions of state i by the classes that `next` speaks of; NEXT_UNKNOWN: all. */
static int transitions(struct det *d, uint32_t i, enum next_is next)
{
	const uint32_t n_classes = d->m.classes.n_classes;
	uint32_t n, state;

	TRY(expand(d, i, next));
	n = d->n_list;
	TRY(work_grow(d->w, &d->from, &d->cap_from, n, sizeof *d->from));
	if (n)
		memcpy(d->from, d->list, n * sizeof *d->from);
	for (uint32_t c = 0; c < n_classes; c++) {
		if (next != NEXT_UNKNOWN && d->word[c] != (next == NEXT_WORD))
			continue;
		TRY(follow(d, i, n, c, &state));
		d->m.next[(size_t)i * n_classes + c] = state;
	}
	return INFER_OK;
}

int nfa_det(struct dfa **out, struct nfa *a)
{
	struct det d;
	uint32_t s;

	TRY(det_init(&d, a));
	TRY(close(&d, a->start, 0, a->frame.prev, NEXT_UNKNOWN));
	TRY(intern(&d, a->frame.prev, &s));
	if (s == NOWHERE)
		TRY(draft_state(d.w, &d.m, 0, &s));
	for (uint32_t i = 0; d.states && i < d.m.n; i++) {
		TRY(may_end(&d, i, &d.m.accept[i]));
		if (!d.states[i].waits) {
			TRY(transitions(&d, i, NEXT_UNKNOWN));
		} else {
			TRY(transitions(&d, i, NEXT_OTHER));
			TRY(transitions(&d, i, NEXT_WORD));
		}
	}
	return draft_finish(out, d.w, &d.m);
}

int regex_det(struct dfa **out, struct regex *x, const struct re *tree,
              const struct nfa_frame *frame)
{
	struct nfa a;
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, x->w->what, x->w->left, x->w->err);
	w.first = x->w->first;
	rc = nfa_init(&a, &w, x, tree, frame);
	if (!rc)
		rc = nfa_det(out, &a);
	nfa_fini(&a);
	work_end(&w);
	return rc;
}

int regex_dfa(struct dfa **out, const char *pattern, size_t n, enum regex_how how,
              struct budget *left, infer_error *err)
{
	const struct nfa_frame frame = { .open_front = how == REGEX_SEARCH,
		                         .open_back = how == REGEX_SEARCH };
	struct regex x;
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, "the pattern", left, err);
	rc = regex_parse(&x, &w, pattern, n);
	if (!rc)
		rc = regex_det(out, &x, x.tree, &frame);
	work_end(&w);
	return rc;
}
