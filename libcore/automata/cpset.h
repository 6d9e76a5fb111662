/* automata/cpset.h - sets of code points while a pattern is read.  Confined. */
#ifndef AUTOMATA_CPSET_H
#define AUTOMATA_CPSET_H
#include "automata/work.h"

/* Ranges in any order, until cpset_norm: then ascending ones that do not touch. */
struct cpset {
	uint32_t n, cap;
	struct dfa_range *at;
};

int cpset_add(struct work *w, struct cpset *s, uint32_t lo, uint32_t hi);
int cpset_join(struct work *w, struct cpset *s, const struct cpset *more);
int cpset_norm(struct work *w, struct cpset *s);
int cpset_not(struct work *w, struct cpset *s);    /* of a normal set, normal */
int cpset_has(const struct cpset *s, uint32_t cp); /* normal */

/* The set of \d \w \s, by its letter; of . by '.': all but the line terminators of ECMA-262. */
int cpset_escape(struct work *w, struct cpset *s, char letter);
/* The set of \p{name}, normal; *known: 0 where we have no such property. */
int cpset_property(struct work *w, struct cpset *s, const char *name, size_t n, int *known);
#endif
