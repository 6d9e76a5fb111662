/* automata/classes.c - partitions of the code points into classes. */
#include "automata/work.h"

#include <string.h>

enum { BEFORE = 0xd7ff, SURROGATES = 0xd800, AFTER = 0xe000, MOST_CLASSES = 65535 };

/* Return the index of the last of at[0 .. n) that is <= cp; at[0] is 0. */
static uint32_t find_range(const uint32_t *at, uint32_t n, uint32_t cp)
{
	uint32_t lo = 0, hi = n;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (at[mid] <= cp)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint32_t classes_get(const struct classes *c, uint32_t cp)
{
	return c->of[find_range(c->from, c->n, cp)];
}

uint32_t dfa_class_beyond(const struct dfa *d, uint32_t cp)
{
	return d->range_class[find_range(d->from, d->n_ranges, cp)];
}

/* Allocate c for at most n ranges. */
static int init_classes(struct work *w, struct classes *c, uint64_t n)
{
	*c = (struct classes){ 0 };
	TRY(work_steps(w, n));
	TRY(work_alloc(w, &c->from, n, sizeof *c->from));
	return work_alloc(w, &c->of, n, sizeof *c->of);
}

/* Begin a range of class k at cp; calls ascend.  A boundary within the surrogates is moved to their
 * end; if there are several, the last counts. */
static void add_boundary(struct classes *c, uint32_t cp, uint32_t k)
{
	if (cp >= SURROGATES && cp < AFTER)
		cp = AFTER;
	if (c->n && c->from[c->n - 1] == cp)
		c->n--;
	if (c->n && c->of[c->n - 1] == k)
		return;
	c->from[c->n] = cp;
	c->of[c->n++] = k;
}

int classes_set(struct work *w, struct classes *out, const struct dfa_range *r, uint32_t n)
{
	TRY(init_classes(w, out, (uint64_t)n * 2 + 1));
	add_boundary(out, 0, 0);
	for (uint32_t i = 0; i < n; i++) {
		add_boundary(out, r[i].lo, 1);
		if (r[i].hi < DFA_MOST_CP)
			add_boundary(out, r[i].hi + 1, 0);
	}
	out->n_classes = 2; /* even if one is empty */
	return INFER_OK;
}

int classes_each(struct work *w, struct classes *out, const uint32_t *cp, uint32_t n)
{
	if (n >= MOST_CLASSES)
		return err_set(w->err, INFER_EUNSUP, "%s needs more than %d character classes",
		               w->what, MOST_CLASSES);
	TRY(init_classes(w, out, (uint64_t)n * 2 + 1));
	add_boundary(out, 0, 0);
	for (uint32_t i = 0; i < n; i++) {
		add_boundary(out, cp[i], i + 1);
		if (cp[i] < DFA_MOST_CP)
			add_boundary(out, cp[i] + 1, 0);
	}
	out->n_classes = n + 1;
	return INFER_OK;
}

/* Find or make the class of the pair (a, b). */
static int pair_class(struct work *w, struct htab *t, struct classes *c, uint32_t (*pair)[2],
                      uint32_t a, uint32_t b, uint32_t *k)
{
	uint32_t hash = htab_mix(a, b);
	struct htab_slot *s = htab_find(t, hash);

	for (; s->index != NOWHERE; s = htab_next(t, s)) {
		TRY(work_steps(w, 1));
		if (pair[s->index][0] == a && pair[s->index][1] == b) {
			*k = s->index;
			return INFER_OK;
		}
	}
	if (c->n_classes == MOST_CLASSES)
		return err_set(w->err, INFER_EUNSUP, "%s needs more than %d character classes",
		               w->what, MOST_CLASSES);
	*k = c->n_classes++;
	pair[*k][0] = a;
	pair[*k][1] = b;
	return htab_insert(w, t, s, hash, *k);
}

int classes_both(struct work *w, struct classes *out, const struct classes *a,
                 const struct classes *b, uint32_t (**pair)[2])
{
	uint64_t most = (uint64_t)a->n + b->n;
	struct htab t;

	TRY(init_classes(w, out, most));
	TRY(work_alloc(w, pair, most < MOST_CLASSES ? most : MOST_CLASSES, sizeof **pair));
	TRY(htab_init(w, &t));
	for (uint32_t i = 0, j = 0;;) {
		uint32_t k = 0, i2 = i + 1 < a->n ? a->from[i + 1] : NOWHERE,
			 j2 = j + 1 < b->n ? b->from[j + 1] : NOWHERE;

		TRY(pair_class(w, &t, out, *pair, a->of[i], b->of[j], &k));
		add_boundary(out, a->from[i] > b->from[j] ? a->from[i] : b->from[j], k);
		if (i2 == NOWHERE && j2 == NOWHERE)
			return INFER_OK;
		i += i2 <= j2;
		j += j2 <= i2;
	}
}

int classes_of(struct work *w, struct classes *out, const struct dfa *d)
{
	TRY(init_classes(w, out, d->n_ranges));
	memcpy(out->from, d->from, d->n_ranges * sizeof *d->from);
	for (uint32_t i = 0; i < d->n_ranges; i++)
		out->of[i] = d->range_class[i];
	out->n = d->n_ranges;
	out->n_classes = d->n_classes;
	return INFER_OK;
}
