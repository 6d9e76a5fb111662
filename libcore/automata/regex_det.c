/* automata/regex_det.c - the subset construction.
 *
 * A state of the result is a set of threads and, if they matter, the previous character and the
 * states of the look-behinds.  A thread is a node of the nondeterministic automaton and a set of
 * look-aheads that must accept the rest of the text.  Nodes whose condition needs the next character
 * ($, \b) stay in the set until it is known. */
#include "automata/regex_det.h"

#include <string.h>

enum next_is { NEXT_UNKNOWN, NEXT_END, NEXT_OTHER, NEXT_WORD };

/* True if the condition of the node needs the next character. */
static int needs_next(enum nfa_kind k)
{
	return k == NFA_END || k == NFA_WORD_NEXT || k == NFA_WORD_NOT_NEXT;
}

static int condition_holds(enum nfa_kind k, enum next_is next)
{
	return k == NFA_END         ? next == NEXT_END
	       : k == NFA_WORD_NEXT ? next == NEXT_WORD
	                            : next != NEXT_WORD;
}

static int push_thread(struct det *d, uint32_t node, uint32_t aheads)
{
	uint32_t t;

	TRY(det_thread(d, node, aheads, &t));
	if (d->stamp[t] == d->epoch)
		return INFER_OK;
	TRY(work_grow(d->w, &d->stack, &d->cap_stack, (uint64_t)d->n_stack + 1, sizeof *d->stack));
	d->stack[d->n_stack++] = t;
	return INFER_OK;
}

static int list_thread(struct det *d, uint32_t t)
{
	TRY(work_grow(d->w, &d->list, &d->cap_list, (uint64_t)d->n_list + 1, sizeof *d->list));
	d->list[d->n_list++] = t;
	return INFER_OK;
}

/* Return the automaton of a look-ahead; *which: its number. */
static const struct dfa *ahead_dfa(const struct det *d, const struct nfa_node *v,
                                   enum nfa_prev prev, uint32_t *which)
{
	const struct nfa_look *k = d->nfa->looks + v->arg;
	const int i = k->dfa[PREV_OTHER] ? (int)prev : 0;

	*which = v->arg * PREVS + (uint32_t)i;
	return k->dfa[i];
}

/* List a thread that reads or needs the next character; of others follow the empty transitions. */
static int visit_thread(struct det *d, uint32_t t, enum nfa_prev prev, enum next_is next)
{
	const struct thread h = d->threads[t];
	const struct nfa_node v = d->nfa->at[h.node];
	const struct dfa *look;
	uint32_t which, aheads;

	switch (v.kind) {
	case NFA_SET:
	case NFA_ACCEPT:
	case NFA_ALL:
		return list_thread(d, t);
	case NFA_SPLIT:
		TRY(push_thread(d, v.b, h.aheads));
		return push_thread(d, v.a, h.aheads);
	case NFA_BEGIN:
		return prev == PREV_NONE ? push_thread(d, v.a, h.aheads) : INFER_OK;
	case NFA_EDGE:
		return push_thread(d, prev == PREV_WORD ? v.a : v.b, h.aheads);
	case NFA_END:
	case NFA_WORD_NEXT:
	case NFA_WORD_NOT_NEXT:
		if (next == NEXT_UNKNOWN)
			return list_thread(d, t);
		return condition_holds(v.kind, next) ? push_thread(d, v.a, h.aheads) : INFER_OK;
	case NFA_AHEAD:
		look = ahead_dfa(d, &v, prev, &which);
		if (dfa_is_none(look))
			return INFER_OK;
		aheads = h.aheads;
		if (!dfa_is_all(look))
			TRY(det_add_ahead(d, h.aheads, which, look->start, &aheads));
		return push_thread(d, v.a, aheads);
	case NFA_BEHIND:
		look = d->nfa->looks[v.arg].dfa[0];
		return dfa_accepts(look, d->behind[v.arg]) ? push_thread(d, v.a, h.aheads)
		                                           : INFER_OK;
	}
	return INFER_OK;
}

/* Add to the list all threads that are reached from a node without reading a character. */
static int add_closure(struct det *d, uint32_t node, uint32_t aheads, enum nfa_prev prev,
                       enum next_is next)
{
	TRY(push_thread(d, node, aheads));
	while (d->n_stack) {
		uint32_t t = d->stack[--d->n_stack];

		if (d->stamp[t] == d->epoch)
			continue;
		d->stamp[t] = d->epoch;
		TRY(work_steps(d->w, 8));
		TRY(visit_thread(d, t, prev, next));
	}
	return INFER_OK;
}

/* Drop subsumed threads: with look-aheads, if the same node is listed without any; all others, if
 * one thread accepts whatever follows.  *waits: a thread needs the next character */
static int prune_threads(struct det *d, int *waits)
{
	uint32_t n = 0;

	*waits = 0;
	for (uint32_t i = 0; i < d->n_list; i++) {
		const uint32_t t = d->list[i];
		const struct thread h = d->threads[t];

		if (!h.aheads && d->nfa->at[h.node].kind == NFA_ALL) {
			d->epoch++;
			d->stamp[t] = d->epoch;
			d->list[0] = t;
			d->n_list = 1;
			*waits = 0;
			return work_steps(d->w, i);
		}
		if (h.aheads && d->stamp[h.node] == d->epoch) {
			d->stamp[t] = 0;
			continue;
		}
		*waits |= needs_next(d->nfa->at[h.node].kind);
		d->list[n++] = t;
	}
	d->n_list = n;
	return work_steps(d->w, d->n_list);
}

/* True if state i is the set in the list, and its prev and look-behind states are equal. */
static int is_state(const struct det *d, uint32_t i, enum nfa_prev prev)
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

/* Find or make the state of the set in the list; NOWHERE if it is empty. */
static int intern_state(struct det *d, enum nfa_prev prev, uint32_t *state)
{
	uint32_t hash = 0, n;
	int waits;

	TRY(prune_threads(d, &waits));
	*state = NOWHERE;
	if (!d->n_list)
		return INFER_OK;
	prev = waits ? prev : PREV_NONE;
	for (uint32_t i = 0; i < d->n_list; i++)
		hash += htab_mix(1, d->list[i]); /* the order does not matter */
	hash = htab_mix(hash, prev);
	if (d->n_list == 1 && d->threads[*d->list].aheads == 0 &&
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
		if (is_state(d, e->index, prev)) {
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

/* List the threads of state i, given what follows. */
static int expand_state(struct det *d, uint32_t i, enum next_is next)
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

		if (needs_next(v.kind)) {
			if (condition_holds(v.kind, next))
				TRY(add_closure(d, v.a, h.aheads, s.prev, next));
		} else if (d->stamp[t] != d->epoch) {
			d->stamp[t] = d->epoch;
			TRY(list_thread(d, t));
		}
	}
	return INFER_OK;
}

/* Set *yes if the text may end in state i. */
static int may_end(struct det *d, uint32_t i, uint8_t *yes)
{
	TRY(expand_state(d, i, NEXT_END));
	*yes = 0;
	for (uint32_t k = 0; k < d->n_list && !*yes; k++) {
		const struct thread h = d->threads[d->list[k]];
		const enum nfa_kind kind = d->nfa->at[h.node].kind;

		if (kind == NFA_ACCEPT || kind == NFA_ALL)
			*yes = (uint8_t)det_aheads_end(d, h.aheads);
	}
	return INFER_OK;
}

/* Find the successor of state i, whose n threads are in d->from, by class c. */
static int find_successor(struct det *d, uint32_t i, uint32_t n, uint32_t c, uint32_t *state)
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
		uint32_t aheads = h.aheads;

		if (v.kind == NFA_ACCEPT || (v.kind == NFA_SET && !det_in(d, v.arg, c)))
			continue;
		if (aheads)
			TRY(det_step_aheads(d, h.aheads, cp, &aheads));
		if (aheads != NOWHERE)
			TRY(add_closure(d, v.kind == NFA_ALL ? h.node : v.a, aheads, prev,
			                NEXT_UNKNOWN));
	}
	return intern_state(d, prev, state);
}

/* Set the transitions of state i by the classes that `next` describes; NEXT_UNKNOWN: by all. */
static int set_transitions(struct det *d, uint32_t i, enum next_is next)
{
	const uint32_t n_classes = d->m.classes.n_classes;
	uint32_t n, state;

	TRY(expand_state(d, i, next));
	n = d->n_list;
	TRY(work_grow(d->w, &d->from, &d->cap_from, n, sizeof *d->from));
	if (n)
		memcpy(d->from, d->list, n * sizeof *d->from);
	for (uint32_t c = 0; c < n_classes; c++) {
		if (next != NEXT_UNKNOWN && d->word[c] != (next == NEXT_WORD))
			continue;
		TRY(find_successor(d, i, n, c, &state));
		d->m.next[(size_t)i * n_classes + c] = state;
	}
	return INFER_OK;
}

int nfa_det(struct dfa **out, struct nfa *a)
{
	struct det d;
	uint32_t s;

	TRY(det_init(&d, a));
	TRY(add_closure(&d, a->start, 0, a->context.prev, NEXT_UNKNOWN));
	TRY(intern_state(&d, a->context.prev, &s));
	if (s == NOWHERE)
		TRY(draft_state(d.w, &d.m, 0, &s));
	for (uint32_t i = 0; d.states && i < d.m.n; i++) {
		TRY(may_end(&d, i, &d.m.accept[i]));
		if (!d.states[i].waits) {
			TRY(set_transitions(&d, i, NEXT_UNKNOWN));
		} else {
			TRY(set_transitions(&d, i, NEXT_OTHER));
			TRY(set_transitions(&d, i, NEXT_WORD));
		}
	}
	return draft_finish(out, d.w, &d.m);
}

int regex_det(struct dfa **out, struct regex *x, const struct re *tree,
              const struct nfa_context *context)
{
	struct nfa a;
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, x->w->what, x->w->left, x->w->err);
	w.first = x->w->first;
	rc = nfa_init(&a, &w, x, tree, context);
	if (!rc)
		rc = nfa_det(out, &a);
	nfa_fini(&a);
	work_end(&w);
	return rc;
}

int regex_dfa(struct dfa **out, const char *pattern, size_t n, enum regex_how how,
              struct budget *left, infer_error *err)
{
	const struct nfa_context context = { .open_front = how == REGEX_SEARCH,
		                             .open_back = how == REGEX_SEARCH };
	struct regex x;
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, "the pattern", left, err);
	rc = regex_parse(&x, &w, pattern, n);
	if (!rc)
		rc = regex_det(out, &x, x.tree, &context);
	work_end(&w);
	return rc;
}
