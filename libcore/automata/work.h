/* automata/work.h - the memory and the steps of one operation, and automata under
 * construction.  Confined. */
#ifndef AUTOMATA_WORK_H
#define AUTOMATA_WORK_H
#include "base/arena.h"
#include "base/err.h"
#include "automata/dfa.h"

#define NOWHERE UINT32_MAX /* a transition to nothing; no index */

struct work {
	struct arena mem;
	struct budget *left, first; /* first: as it was at the beginning, for messages */
	uint64_t taken;             /* bytes of mem, given back at the end */
	const char *what;           /* of the messages */
	infer_error *err;
};

void work_begin(struct work *w, const char *what, struct budget *left, infer_error *err);
void work_end(struct work *w);
int work_steps(struct work *w, uint64_t n);
int work_bytes(struct work *w, uint64_t n);
/* *p: zeroed memory for n things of a size, until work_end */
int work_alloc(struct work *w, void *p, uint64_t n, size_t size);
/* Make room for `need` things in the array *p of *cap; they move, and the old ones stay until
 * work_end.  New ones are zeroed. */
int work_grow(struct work *w, void *p, uint32_t *cap, uint64_t need, size_t size);
uint32_t htab_mix(uint32_t h, uint32_t v); /* for hash tables; probes are counted as steps */

/* A partition of the code points.  Surrogates have the class of U+D7FF. */
struct classes {
	uint32_t n, n_classes;
	uint32_t *from, *of; /* [n] first code point of a range, ascending from 0; its class */
};

uint32_t classes_get(const struct classes *c, uint32_t cp);
/* One class for what is in the set and one for the rest; ranges ascend and do not touch. */
int classes_set(struct work *w, struct classes *out, const struct dfa_range *r, uint32_t n);
/* A class for each of cp[0 .. n), which ascend: 1 ... n; class 0 is the rest. */
int classes_each(struct work *w, struct classes *out, const uint32_t *cp, uint32_t n);
/* The coarsest partition that is finer than a and b.  *pair: [n_classes][2], of a and of b. */
int classes_both(struct work *w, struct classes *out, const struct classes *a,
                 const struct classes *b, uint32_t (**pair)[2]);
/* of a dfa, borrowed from it where it can be */
int classes_of(struct work *w, struct classes *out, const struct dfa *d);

/* An automaton under construction; any states, NOWHERE where nothing follows. */
struct draft {
	struct classes classes;
	uint32_t n, start, cap_next, cap_accept;
	uint32_t *next;  /* [n][n_classes] */
	uint8_t *accept; /* [n] */
};

/* A new state without transitions; its number in *state. */
int draft_state(struct work *w, struct draft *m, int accept, uint32_t *state);
/* The minimal automaton of m. */
int draft_finish(struct dfa **out, struct work *w, const struct draft *m);

/* Open addressing over indices, for keys that lie elsewhere. */
struct htab_slot {
	uint32_t hash, index; /* index NOWHERE: free */
};
struct htab {
	struct htab_slot *at;
	uint32_t mask, n;
};
int htab_init(struct work *w, struct htab *t);
void htab_clear(struct htab *t);
/* Begin with htab_find(t, hash); go on with the next while the key of the seat's index is another
 * one.  A free seat is filled by htab_insert, after which the table may move. */
static inline struct htab_slot *htab_find(const struct htab *t, uint32_t hash)
{
	return t->at + (hash & t->mask);
}
static inline struct htab_slot *htab_next(const struct htab *t, const struct htab_slot *s)
{
	return t->at + (((size_t)(s - t->at) + 1) & t->mask);
}
int htab_insert(struct work *w, struct htab *t, struct htab_slot *s, uint32_t hash, uint32_t index);
#endif
