/* automata/dfa_ops.c - automata of word lists and lengths; union, intersection, difference, complement. */
#include "automata/minimise.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Begin a draft whose only class is every character. */
static int init_one_class(struct work *w, struct draft *m)
{
	*m = (struct draft){ 0 };
	return classes_set(w, &m->classes, NULL, 0);
}

static int build_lengths(struct dfa **out, struct work *w, uint32_t lo, uint32_t hi)
{
	const uint32_t last = hi == DFA_FOREVER ? lo : hi;
	struct draft m;
	uint32_t s;

	TRY(init_one_class(w, &m));
	for (uint32_t i = 0;; i++) {
		TRY(draft_state(w, &m, i >= lo, &s));
		if (i == last || lo > hi)
			break;
		m.next[(size_t)s * m.classes.n_classes] = s + 1;
	}
	if (hi == DFA_FOREVER)
		m.next[(size_t)s * m.classes.n_classes] = s;
	return draft_finish(out, w, &m);
}

int dfa_lengths(struct dfa **out, uint32_t lo, uint32_t hi, struct budget *left, infer_error *err)
{
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, "a length", left, err);
	rc = build_lengths(out, &w, lo, hi);
	work_end(&w);
	return rc;
}

int dfa_all(struct dfa **out, struct budget *left, infer_error *err)
{
	return dfa_lengths(out, 0, DFA_FOREVER, left, err);
}

int dfa_none(struct dfa **out, struct budget *left, infer_error *err)
{
	return dfa_lengths(out, 1, 0, left, err);
}

/* -- words ---------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Decode the words into one array of code points; NOWHERE ends each word. */
static int decode_words(struct work *w, const struct dfa_word *words, size_t n, uint32_t **all,
                        uint32_t *n_all)
{
	uint64_t total = n;
	uint32_t k = 0;

	for (size_t i = 0; i < n; i++)
		total += words[i].n;
	if (total > INT32_MAX)
		return err_set(w->err, INFER_EUNSUP, "%s needs more than 2^31 entries", w->what);
	TRY(work_steps(w, total * 4));
	TRY(work_alloc(w, all, total, sizeof **all));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < words[i].n;) {
			int len = utf8_get(words[i].at + j, words[i].n - j, *all + k++);

			if (!len)
				return err_set(w->err, INFER_EINVAL, "%s: word %zu is not UTF-8",
				               w->what, i + 1);
			j += (size_t)len;
		}
		(*all)[k++] = NOWHERE;
	}
	*n_all = k;
	return INFER_OK;
}

/* Make a class, 1 and above, for each code point of all[0 .. n). */
static int make_word_classes(struct work *w, struct classes *c, uint32_t *all, uint32_t n)
{
	uint32_t *cp, k = 0;

	TRY(work_steps(w, (uint64_t)n * 16));
	TRY(work_alloc(w, &cp, n, sizeof *cp));
	for (uint32_t i = 0; i < n; i++)
		if (all[i] != NOWHERE)
			cp[k++] = all[i];
	if (k)
		qsort(cp, k, sizeof *cp, ascending);
	n = k;
	k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!i || cp[i] != cp[i - 1])
			cp[k++] = cp[i];
	return classes_each(w, c, cp, k);
}

/* Compare two words, each a list of classes ended by NOWHERE; a prefix sorts first. */
static int by_classes(const void *a, const void *b)
{
	const uint32_t *x = *(const uint32_t *const *)a, *y = *(const uint32_t *const *)b;

	while (*x == *y && *x != NOWHERE) {
		x++;
		y++;
	}
	/* NOWHERE + 1 is 0 */
	return (*x + 1 > *y + 1) - (*x + 1 < *y + 1);
}

static int sort_words(struct work *w, const uint32_t *all, uint32_t n_all, size_t n,
                      const uint32_t ***word)
{
	size_t k = 0;

	TRY(work_alloc(w, word, n, sizeof **word));
	TRY(work_steps(w, 16 * (uint64_t)n));
	for (uint32_t i = 0; i < n_all; i++)
		if (!i || all[i - 1] == NOWHERE)
			(*word)[k++] = all + i;
	if (n)
		qsort(*word, n, sizeof **word, by_classes);
	return INFER_OK;
}

/* Build the trie of the sorted words: a state is a common prefix of words[lo .. hi).  most: bound on
 * the number of states */
static int build_trie(struct work *w, struct partial *p, const uint32_t *const *word, size_t n,
                      uint32_t most)
{
	struct {
		size_t lo, hi;
		uint32_t depth;
	} * at;

	TRY(work_steps(w, 4 * (uint64_t)most));
	TRY(work_alloc(w, &at, (uint64_t)most + 1, sizeof *at));
	TRY(work_alloc(w, &p->accept, (uint64_t)most + 1, 1));
	TRY(work_alloc(w, &p->tail, most, sizeof *p->tail));
	TRY(work_alloc(w, &p->label, most, sizeof *p->label));
	TRY(work_alloc(w, &p->head, most, sizeof *p->head));
	at[0].hi = n;
	p->n = n > 0;
	for (uint32_t s = 0; s < p->n; s++) {
		const uint32_t depth = at[s].depth;
		size_t i = at[s].lo;

		for (; i < at[s].hi && word[i][depth] == NOWHERE; i++)
			p->accept[s] = 1;
		while (i < at[s].hi) {
			const uint32_t c = word[i][depth];

			at[p->n].lo = i;
			at[p->n].depth = depth + 1;
			while (i < at[s].hi && word[i][depth] == c)
				i++;
			at[p->n].hi = i;
			p->tail[p->m] = s;
			p->label[p->m] = c;
			p->head[p->m++] = p->n++;
		}
	}
	return INFER_OK;
}

static int build_words(struct dfa **out, struct work *w, const struct dfa_word *words, size_t n)
{
	struct partial p = { 0 };
	const uint32_t **word;
	struct classes classes;
	uint32_t *all, n_all = 0;

	TRY(decode_words(w, words, n, &all, &n_all));
	TRY(make_word_classes(w, &classes, all, n_all));
	for (uint32_t i = 0; i < n_all; i++)
		if (all[i] != NOWHERE)
			all[i] = classes_get(&classes, all[i]);
	TRY(sort_words(w, all, n_all, n, &word));
	p.n_labels = classes.n_classes;
	TRY(build_trie(w, &p, word, n, n_all));
	return partial_finish(out, w, &p, &classes);
}

int dfa_words(struct dfa **out, const struct dfa_word *words, size_t n, struct budget *left,
              infer_error *err)
{
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, "a list of words", left, err);
	rc = build_words(out, &w, words, n);
	work_end(&w);
	return rc;
}

/* -- products ------------------------------------------------------------------------------- */

enum op { AND, OR, MINUS };

struct product {
	enum op op;
	const struct dfa *a, *b;
	struct draft m;
	struct htab index;
	uint32_t (*pair)[2], cap; /* [m.n] the states of a and b */
};

/* Replace the pair by an equivalent one: (0, 0) if nothing is accepted, (s, 0) if only a matters. */
static void simplify_pair(const struct product *p, uint32_t *a, uint32_t *b)
{
	const int a_all = p->a->flags[*a] & DFA_ALL, b_all = p->b->flags[*b] & DFA_ALL;

	if (p->op == OR && a_all)
		*b = DFA_DEAD;
	else if (p->op == OR && b_all)
		*a = DFA_DEAD;
	else if (p->op == AND && (!*a || !*b))
		*a = *b = DFA_DEAD;
	else if (p->op == MINUS && (!*a || b_all))
		*a = *b = DFA_DEAD;
}

static int pair_accepts(const struct product *p, uint32_t a, uint32_t b)
{
	const int x = dfa_accepts(p->a, a), y = dfa_accepts(p->b, b);

	return p->op == AND ? x && y : p->op == OR ? x || y : x && !y;
}

/* Find or make the state of the pair; NOWHERE if nothing is accepted from it. */
static int pair_state(struct work *w, struct product *p, uint32_t a, uint32_t b, uint32_t *state)
{
	simplify_pair(p, &a, &b);
	*state = NOWHERE;
	if (!a && !b)
		return INFER_OK;
	uint32_t hash = htab_mix(a, b);
	struct htab_slot *e = htab_find(&p->index, hash);

	for (; e->index != NOWHERE; e = htab_next(&p->index, e)) {
		TRY(work_steps(w, 1));
		if (p->pair[e->index][0] == a && p->pair[e->index][1] == b) {
			*state = e->index;
			return INFER_OK;
		}
	}
	TRY(draft_state(w, &p->m, pair_accepts(p, a, b), state));
	TRY(work_grow(w, &p->pair, &p->cap, p->m.n, sizeof *p->pair));
	p->pair[*state][0] = a;
	p->pair[*state][1] = b;
	return htab_insert(w, &p->index, e, hash, *state);
}

static int build_product(struct dfa **out, struct work *w, struct product *p)
{
	struct classes a, b;
	uint32_t(*label)[2], s;

	TRY(classes_of(w, &a, p->a));
	TRY(classes_of(w, &b, p->b));
	TRY(classes_both(w, &p->m.classes, &a, &b, &label));
	TRY(htab_init(w, &p->index));
	TRY(pair_state(w, p, p->a->start, p->b->start, &s));
	if (s == NOWHERE)
		TRY(draft_state(w, &p->m, 0, &s));
	for (uint32_t i = 0; p->cap && i < p->m.n; i++) {
		const uint32_t *from_a = p->a->next + (size_t)p->pair[i][0] * p->a->n_classes,
			       *from_b = p->b->next + (size_t)p->pair[i][1] * p->b->n_classes;

		TRY(work_steps(w, 4 * (uint64_t)p->m.classes.n_classes));
		for (uint32_t c = 0; c < p->m.classes.n_classes; c++) {
			TRY(pair_state(w, p, from_a[label[c][0]], from_b[label[c][1]], &s));
			p->m.next[(size_t)i * p->m.classes.n_classes + c] = s;
		}
	}
	return draft_finish(out, w, &p->m);
}

static int product(struct dfa **out, enum op op, const char *what, const struct dfa *a,
                   const struct dfa *b, struct budget *left, infer_error *err)
{
	struct product p = { .op = op, .a = a, .b = b };
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, what, left, err);
	rc = build_product(out, &w, &p);
	work_end(&w);
	return rc;
}

int dfa_and(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
            infer_error *err)
{
	return product(out, AND, "an intersection", a, b, left, err);
}

int dfa_or(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
           infer_error *err)
{
	return product(out, OR, "a union", a, b, left, err);
}

int dfa_minus(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
              infer_error *err)
{
	return product(out, MINUS, "a difference", a, b, left, err);
}

int dfa_not(struct dfa **out, const struct dfa *a, struct budget *left, infer_error *err)
{
	struct work w;
	int rc;

	work_begin(&w, "a complement", left, err);
	rc = complement_finish(out, &w, a);
	work_end(&w);
	return rc;
}
