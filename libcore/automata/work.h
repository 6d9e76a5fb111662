/* automata/work.h - the memory and steps of one operation, counted against a budget; partitions of
 * the code points, automata under construction, hash tables.  All confined.
 *
 * Errors of every function that takes a struct work: INFER_EUNSUP (the budget, or more than 2^31
 * entries or 65,535 classes), INFER_ENOMEM; the message begins with work.what. */
#ifndef AUTOMATA_WORK_H
#define AUTOMATA_WORK_H
#include "base/arena.h"
#include "base/err.h"
#include "automata/dfa.h"

#define NOWHERE UINT32_MAX /* no transition; no index */

struct work {
	struct arena mem;
	struct budget *left, first; /* first: *left at the beginning, for messages */
	uint64_t taken;             /* bytes of mem; work_end returns them to the budget */
	const char *what;           /* the subject of messages */
	infer_error *err;
};

/* what: borrowed; *left is counted down until work_end frees the memory and returns its bytes. */
void work_begin(struct work *w, const char *what, struct budget *left, infer_error *err);
void work_end(struct work *w);
/* Count down n steps, or n bytes. */
int work_steps(struct work *w, uint64_t n);
int work_bytes(struct work *w, uint64_t n);
/* Set *p (a pointer to any object) to n zeroed elements, valid until work_end. */
int work_alloc(struct work *w, void *p, uint64_t n, size_t size);
/* Grow the array *p of *cap elements to hold `need`; new elements are zeroed.  The elements move, and
 * the old array stays valid until work_end. */
int work_grow(struct work *w, void *p, uint32_t *cap, uint64_t need, size_t size);
/* Add v to the hash h. */
uint32_t htab_mix(uint32_t h, uint32_t v);

/* A partition of the code points into classes.  Surrogates have the class of U+D7FF. */
struct classes {
	uint32_t n, n_classes;
	uint32_t *from, *of; /* [n] first code point of a range, ascending from 0; its class */
};

uint32_t classes_get(const struct classes *c, uint32_t cp);
/* Make two classes: 1: the code points in r[0 .. n) (ascending, not touching); 0: the rest. */
int classes_set(struct work *w, struct classes *out, const struct dfa_range *r, uint32_t n);
/* Make n + 1 classes: i + 1: only code point cp[i], where cp[0 .. n) ascends; 0: the rest. */
int classes_each(struct work *w, struct classes *out, const uint32_t *cp, uint32_t n);
/* Make the coarsest common refinement of a and b.  *pair: [n_classes][2], classes in a and b. */
int classes_both(struct work *w, struct classes *out, const struct classes *a,
                 const struct classes *b, uint32_t (**pair)[2]);
/* Copy the classes of d. */
int classes_of(struct work *w, struct classes *out, const struct dfa *d);

/* An automaton under construction.  States need not be reachable or live. */
struct draft {
	struct classes classes;
	uint32_t n, start, cap_next, cap_accept;
	uint32_t *next;  /* [n][n_classes]; NOWHERE: no transition */
	uint8_t *accept; /* [n] */
};

/* Add a state without transitions; *state: its number. */
int draft_state(struct work *w, struct draft *m, int accept, uint32_t *state);
/* Set *out to the minimal automaton of m.  On failure *out is NULL. */
int draft_finish(struct dfa **out, struct work *w, const struct draft *m);

/* A hash table with open addressing from keys to indices; the caller stores the keys.  Probes are to
 * be counted as steps.
 *
 *	for (s = htab_find(t, hash); s->index != NOWHERE; s = htab_next(t, s))
 *		if (the key of s->index is the one sought) return s->index;
 *	htab_insert(w, t, s, hash, new index); */
struct htab_slot {
	uint32_t hash, index; /* index NOWHERE: free */
};
struct htab {
	struct htab_slot *at;
	uint32_t mask, n;
};
int htab_init(struct work *w, struct htab *t);
void htab_clear(struct htab *t);
static inline struct htab_slot *htab_find(const struct htab *t, uint32_t hash)
{
	return t->at + (hash & t->mask);
}
static inline struct htab_slot *htab_next(const struct htab *t, const struct htab_slot *s)
{
	return t->at + (((size_t)(s - t->at) + 1) & t->mask);
}
/* Fill the free slot s.  The slots may move. */
int htab_insert(struct work *w, struct htab *t, struct htab_slot *s, uint32_t hash, uint32_t index);
#endif
