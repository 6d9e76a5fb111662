/* automata/cpset.h - sets of code points.  Confined; memory and errors as in automata/work.h. */
#ifndef AUTOMATA_CPSET_H
#define AUTOMATA_CPSET_H
#include "automata/work.h"

/* A set as a list of ranges in any order.  Normal: the ranges ascend and do not touch. */
struct cpset {
	uint32_t n, cap;
	struct dfa_range *at;
};

int cpset_add(struct work *w, struct cpset *s, uint32_t lo, uint32_t hi);
int cpset_join(struct work *w, struct cpset *s,
               const struct cpset *more); /* add the ranges of more */
int cpset_norm(struct work *w, struct cpset *s);
int cpset_not(struct work *w, struct cpset *s);    /* complement a normal set; it stays normal */
int cpset_has(const struct cpset *s, uint32_t cp); /* s: normal */

/* Add the set of \d, \w, \s or . (ECMA-262; . is all but line terminators), by its letter. */
int cpset_escape(struct work *w, struct cpset *s, char letter);
/* Add the set of \p{name} to an empty set; the result is normal.  *known: 0 if unsupported */
int cpset_property(struct work *w, struct cpset *s, const char *name, size_t n, int *known);
#endif
