/* automata/regex_threads.c - classes of a pattern, threads and duties of the subset construction. */
#include "automata/regex_det.h"

#include <string.h>

/* -- threads -------------------------------------------------------------------------------- */

static int new_thread(struct det *d, uint32_t node, uint32_t duty)
{
	const uint64_t n = (uint64_t)d->n_threads + 1;

	TRY(work_grow(d->w, &d->threads, &d->cap_threads, n, sizeof *d->threads));
	TRY(work_grow(d->w, &d->stamp, &d->cap_stamp, n, sizeof *d->stamp));
	d->threads[d->n_threads++] = (struct thread){ node, duty };
	return INFER_OK;
}

int det_thread(struct det *d, uint32_t node, uint32_t duty, uint32_t *thread)
{
	*thread = node;
	if (!duty)
		return INFER_OK;
	uint32_t hash = htab_mix(node, duty);
	struct htab_slot *e = htab_find(&d->thread_index, hash);

	for (; e->index != NOWHERE; e = htab_next(&d->thread_index, e)) {
		const struct thread *t = d->threads + e->index;

		TRY(work_steps(d->w, 1));
		*thread = e->index;
		if (t->node == node && t->duty == duty)
			return INFER_OK;
	}
	*thread = d->n_threads;
	TRY(new_thread(d, node, duty));
	return htab_insert(d->w, &d->thread_index, e, hash, *thread);
}

/* -- duties --------------------------------------------------------------------------------- */

/* The set of the duties in duty_new, which are in order. */
static int find_duties(struct det *d, uint32_t *out)
{
	const uint32_t n = d->n_duty_new;
	uint32_t hash = n;
	struct htab_slot *e;

	for (uint32_t i = 0; i < n; i++)
		hash = htab_mix(htab_mix(hash, d->duty_new[i].look), d->duty_new[i].state);
	TRY(work_steps(d->w, n + 1));
	for (e = htab_find(&d->duty_index, hash); e->index != NOWHERE;
	     e = htab_next(&d->duty_index, e)) {
		const struct duties *s = d->duties + e->index;

		TRY(work_steps(d->w, n + 1));
		*out = e->index;
		if (s->n == n &&
		    (!n || !memcmp(d->duty_pool + s->at, d->duty_new, n * sizeof *d->duty_new)))
			return INFER_OK;
	}
	TRY(work_grow(d->w, &d->duties, &d->cap_duties, (uint64_t)d->n_duties + 1,
	              sizeof *d->duties));
	TRY(work_grow(d->w, &d->duty_pool, &d->cap_duty_pool, (uint64_t)d->n_duty_pool + n,
	              sizeof *d->duty_pool));
	if (n)
		memcpy(d->duty_pool + d->n_duty_pool, d->duty_new, n * sizeof *d->duty_new);
	*out = d->n_duties++;
	d->duties[*out] = (struct duties){ d->n_duty_pool, n };
	d->n_duty_pool += n;
	return htab_insert(d->w, &d->duty_index, e, hash, *out);
}

/* Put a duty into its place in duty_new. */
static int put_duty(struct det *d, uint32_t look, uint32_t state)
{
	uint32_t i = d->n_duty_new;

	for (; i; i--) {
		const struct duty *b = d->duty_new + i - 1;

		if (b->look == look && b->state == state)
			return INFER_OK;
		if (b->look < look || (b->look == look && b->state < state))
			break;
	}
	TRY(work_steps(d->w, d->n_duty_new - i + 1));
	TRY(work_grow(d->w, &d->duty_new, &d->cap_duty_new, (uint64_t)d->n_duty_new + 1,
	              sizeof *d->duty_new));
	memmove(d->duty_new + i + 1, d->duty_new + i, (d->n_duty_new - i) * sizeof *d->duty_new);
	d->duty_new[i] = (struct duty){ look, state };
	d->n_duty_new++;
	return INFER_OK;
}

int det_duty_add(struct det *d, uint32_t duty, uint32_t look, uint32_t state, uint32_t *out)
{
	const struct duties s = d->duties[duty];

	d->n_duty_new = 0;
	for (uint32_t i = 0; i < s.n; i++)
		TRY(put_duty(d, d->duty_pool[s.at + i].look, d->duty_pool[s.at + i].state));
	TRY(put_duty(d, look, state));
	return find_duties(d, out);
}

static const struct dfa *look_dfa(const struct det *d, uint32_t look)
{
	return d->nfa->looks[look / PREVS].dfa[look % PREVS];
}

int det_duty_step(struct det *d, uint32_t duty, uint32_t cp, uint32_t *out)
{
	const struct duties s = d->duties[duty];

	d->n_duty_new = 0;
	*out = NOWHERE;
	for (uint32_t i = 0; i < s.n; i++) {
		const struct duty at = d->duty_pool[s.at + i];
		const struct dfa *look = look_dfa(d, at.look);
		const uint32_t to = dfa_step(look, at.state, cp);

		TRY(work_steps(d->w, 4));
		if (!dfa_live(to))
			return INFER_OK;
		if (!(look->flags[to] & DFA_ALL))
			TRY(put_duty(d, at.look, to));
	}
	return find_duties(d, out);
}

int det_duty_ends(const struct det *d, uint32_t duty)
{
	const struct duties s = d->duties[duty];

	for (uint32_t i = 0; i < s.n; i++) {
		const struct duty at = d->duty_pool[s.at + i];

		if (!dfa_accepts(look_dfa(d, at.look), at.state))
			return 0;
	}
	return 1;
}

/* -- classes -------------------------------------------------------------------------------- */

/* One partition that is finer than all of parts[0 .. n), pairwise and so in n log n. */
static int join(struct work *w, struct classes *parts, uint32_t n, struct classes *out)
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
	/* with one of a single class, so that no class is empty */
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
	return join(w, parts, n, &d->m.classes);
}

/* A character of each class, and which sets it is in. */
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

	*d = (struct det){ .w = a->w, .nfa = a, .epoch = 1, .n_duties = 1 };
	TRY(work_alloc(d->w, &used, a->x->n_sets, sizeof *used));
	for (uint32_t i = 0; i < a->n; i++)
		if (a->at[i].kind == NFA_SET)
			used[a->at[i].arg] = 1;
	TRY(make_classes(d, used));
	TRY(describe_classes(d, used));
	TRY(htab_init(d->w, &d->thread_index));
	TRY(htab_init(d->w, &d->duty_index));
	TRY(htab_init(d->w, &d->index));
	TRY(work_grow(d->w, &d->duties, &d->cap_duties, 1, sizeof *d->duties));
	for (uint32_t i = 0; i < a->n; i++)
		TRY(new_thread(d, i, 0));
	d->n_behind = a->n_looks;
	TRY(work_alloc(d->w, &d->behind, d->n_behind, sizeof *d->behind));
	for (uint32_t i = 0; i < a->n_looks; i++)
		if (a->looks[i].re->kind == RE_BEHIND)
			d->behind[i] = a->looks[i].dfa[0]->start;
	return INFER_OK;
}
