/* automata/regex_threads.c - the character classes, threads and look-ahead sets of the subset construction. */
#include "automata/regex_det.h"

#include <string.h>

/* -- threads -------------------------------------------------------------------------------- */

static int add_thread(struct det *d, uint32_t node, uint32_t aheads)
{
	const uint64_t n = (uint64_t)d->n_threads + 1;

	TRY(work_grow(d->w, &d->threads, &d->cap_threads, n, sizeof *d->threads));
	TRY(work_grow(d->w, &d->stamp, &d->cap_stamp, n, sizeof *d->stamp));
	d->threads[d->n_threads++] = (struct thread){ node, aheads };
	return INFER_OK;
}

int det_thread(struct det *d, uint32_t node, uint32_t aheads, uint32_t *thread)
{
	*thread = node;
	if (!aheads)
		return INFER_OK;
	uint32_t hash = htab_mix(node, aheads);
	struct htab_slot *e = htab_find(&d->thread_index, hash);

	for (; e->index != NOWHERE; e = htab_next(&d->thread_index, e)) {
		const struct thread *t = d->threads + e->index;

		TRY(work_steps(d->w, 1));
		*thread = e->index;
		if (t->node == node && t->aheads == aheads)
			return INFER_OK;
	}
	*thread = d->n_threads;
	TRY(add_thread(d, node, aheads));
	return htab_insert(d->w, &d->thread_index, e, hash, *thread);
}

/* -- look-aheads ---------------------------------------------------------------------------- */

/* Find or make the set of the sorted look-aheads in ahead_new. */
static int intern_ahead_set(struct det *d, uint32_t *out)
{
	const uint32_t n = d->n_ahead_new;
	uint32_t hash = n;
	struct htab_slot *e;

	for (uint32_t i = 0; i < n; i++)
		hash = htab_mix(htab_mix(hash, d->ahead_new[i].look), d->ahead_new[i].state);
	TRY(work_steps(d->w, n + 1));
	for (e = htab_find(&d->ahead_index, hash); e->index != NOWHERE;
	     e = htab_next(&d->ahead_index, e)) {
		const struct ahead_set *s = d->ahead_sets + e->index;

		TRY(work_steps(d->w, n + 1));
		*out = e->index;
		if (s->n == n &&
		    (!n || !memcmp(d->ahead_pool + s->at, d->ahead_new, n * sizeof *d->ahead_new)))
			return INFER_OK;
	}
	TRY(work_grow(d->w, &d->ahead_sets, &d->cap_ahead_sets, (uint64_t)d->n_ahead_sets + 1,
	              sizeof *d->ahead_sets));
	TRY(work_grow(d->w, &d->ahead_pool, &d->cap_ahead_pool, (uint64_t)d->n_ahead_pool + n,
	              sizeof *d->ahead_pool));
	if (n)
		memcpy(d->ahead_pool + d->n_ahead_pool, d->ahead_new, n * sizeof *d->ahead_new);
	*out = d->n_ahead_sets++;
	d->ahead_sets[*out] = (struct ahead_set){ d->n_ahead_pool, n };
	d->n_ahead_pool += n;
	return htab_insert(d->w, &d->ahead_index, e, hash, *out);
}

/* Insert a look-ahead into the sorted ahead_new, unless it is there. */
static int add_ahead(struct det *d, uint32_t look, uint32_t state)
{
	uint32_t i = d->n_ahead_new;

	for (; i; i--) {
		const struct ahead *b = d->ahead_new + i - 1;

		if (b->look == look && b->state == state)
			return INFER_OK;
		if (b->look < look || (b->look == look && b->state < state))
			break;
	}
	TRY(work_steps(d->w, d->n_ahead_new - i + 1));
	TRY(work_grow(d->w, &d->ahead_new, &d->cap_ahead_new, (uint64_t)d->n_ahead_new + 1,
	              sizeof *d->ahead_new));
	memmove(d->ahead_new + i + 1, d->ahead_new + i,
	        (d->n_ahead_new - i) * sizeof *d->ahead_new);
	d->ahead_new[i] = (struct ahead){ look, state };
	d->n_ahead_new++;
	return INFER_OK;
}

int det_add_ahead(struct det *d, uint32_t aheads, uint32_t look, uint32_t state, uint32_t *out)
{
	const struct ahead_set s = d->ahead_sets[aheads];

	d->n_ahead_new = 0;
	for (uint32_t i = 0; i < s.n; i++)
		TRY(add_ahead(d, d->ahead_pool[s.at + i].look, d->ahead_pool[s.at + i].state));
	TRY(add_ahead(d, look, state));
	return intern_ahead_set(d, out);
}

static const struct dfa *look_dfa(const struct det *d, uint32_t look)
{
	return d->nfa->looks[look / PREVS].dfa[look % PREVS];
}

int det_step_aheads(struct det *d, uint32_t aheads, uint32_t cp, uint32_t *out)
{
	const struct ahead_set s = d->ahead_sets[aheads];

	d->n_ahead_new = 0;
	*out = NOWHERE;
	for (uint32_t i = 0; i < s.n; i++) {
		const struct ahead at = d->ahead_pool[s.at + i];
		const struct dfa *look = look_dfa(d, at.look);
		const uint32_t to = dfa_step(look, at.state, cp);

		TRY(work_steps(d->w, 4));
		if (!dfa_live(to))
			return INFER_OK;
		if (!(look->flags[to] & DFA_ALL))
			TRY(add_ahead(d, at.look, to));
	}
	return intern_ahead_set(d, out);
}

int det_aheads_end(const struct det *d, uint32_t aheads)
{
	const struct ahead_set s = d->ahead_sets[aheads];

	for (uint32_t i = 0; i < s.n; i++) {
		const struct ahead at = d->ahead_pool[s.at + i];

		if (!dfa_accepts(look_dfa(d, at.look), at.state))
			return 0;
	}
	return 1;
}

/* -- classes -------------------------------------------------------------------------------- */

/* Set *out to the coarsest common refinement of parts[0 .. n), pairwise: O(n log n). */
static int refine_all(struct work *w, struct classes *parts, uint32_t n, struct classes *out)
{
	uint32_t(*pair)[2];
	struct classes one;

	while (n > 1) {
		uint32_t k = 0;

		for (uint32_t i = 0; i < n; i += 2, k++) {
			if (i + 1 == n)
				parts[k] = parts[i];
			else
				TRY(classes_both(w, &one, parts + i, parts + i + 1, &pair));
			if (i + 1 < n)
				parts[k] = one;
		}
		n = k;
	}
	/* refining a partition of one class leaves no class empty */
	TRY(classes_each(w, &one, NULL, 0));
	return classes_both(w, out, &one, parts, &pair);
}

static int make_classes(struct det *d, const uint8_t *used)
{
	const struct regex *x = d->nfa->x;
	struct work *w = d->w;
	struct cpset word = { 0 };
	struct classes *parts;
	uint32_t n = 0;

	TRY(work_alloc(w, &parts, (uint64_t)x->n_sets + d->nfa->n_looks * PREVS + 1,
	               sizeof *parts));
	for (uint32_t i = 0; i < x->n_sets; i++)
		if (used[i])
			TRY(classes_set(w, parts + n++, x->sets[i].at, x->sets[i].n));
	for (uint32_t i = 0; i < d->nfa->n_looks * PREVS; i++)
		if (look_dfa(d, i))
			TRY(classes_of(w, parts + n++, look_dfa(d, i)));
	if (d->nfa->edges)
		TRY(cpset_escape(w, &word, 'w'));
	TRY(classes_set(w, parts + n++, word.at, word.n));
	return refine_all(w, parts, n, &d->m.classes);
}

/* Set d->rep, d->word and d->in. */
static int describe_classes(struct det *d, const uint8_t *used)
{
	const struct classes *c = &d->m.classes;
	const struct regex *x = d->nfa->x;
	struct cpset word = { 0 };

	d->words = (c->n_classes + 63) / 64;
	TRY(work_alloc(d->w, &d->rep, c->n_classes, sizeof *d->rep));
	TRY(work_alloc(d->w, &d->word, c->n_classes, sizeof *d->word));
	TRY(work_alloc(d->w, &d->in, (uint64_t)x->n_sets * d->words, sizeof *d->in));
	TRY(cpset_escape(d->w, &word, 'w'));
	for (uint32_t i = c->n; i--;)
		d->rep[c->of[i]] = c->from[i];
	for (uint32_t k = 0; k < c->n_classes; k++)
		d->word[k] = (uint8_t)cpset_has(&word, d->rep[k]);
	for (uint32_t i = 0; i < x->n_sets; i++) {
		if (!used[i])
			continue;
		TRY(work_steps(d->w, 8 * (uint64_t)c->n_classes));
		for (uint32_t k = 0; k < c->n_classes; k++)
			if (cpset_has(x->sets + i, d->rep[k]))
				d->in[(size_t)i * d->words + k / 64] |= UINT64_C(1) << k % 64;
	}
	return INFER_OK;
}

int det_init(struct det *d, struct nfa *a)
{
	uint8_t *used;

	*d = (struct det){ .w = a->w, .nfa = a, .epoch = 1, .n_ahead_sets = 1 };
	TRY(work_alloc(d->w, &used, a->x->n_sets, sizeof *used));
	for (uint32_t i = 0; i < a->n; i++)
		if (a->at[i].kind == NFA_SET)
			used[a->at[i].arg] = 1;
	TRY(make_classes(d, used));
	TRY(describe_classes(d, used));
	TRY(htab_init(d->w, &d->thread_index));
	TRY(htab_init(d->w, &d->ahead_index));
	TRY(htab_init(d->w, &d->index));
	TRY(work_grow(d->w, &d->ahead_sets, &d->cap_ahead_sets, 1, sizeof *d->ahead_sets));
	for (uint32_t i = 0; i < a->n; i++)
		TRY(add_thread(d, i, 0));
	d->n_behind = a->n_looks;
	TRY(work_alloc(d->w, &d->behind, d->n_behind, sizeof *d->behind));
	for (uint32_t i = 0; i < a->n_looks; i++)
		if (a->looks[i].re->kind == RE_BEHIND)
			d->behind[i] = a->looks[i].dfa[0]->start;
	return INFER_OK;
}
