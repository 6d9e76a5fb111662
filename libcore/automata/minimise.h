/* automata/minimise.h - (private) equivalent states of a partial automaton.  Confined; memory and
 * errors as in automata/work.h. */
#ifndef AUTOMATA_MINIMISE_H
#define AUTOMATA_MINIMISE_H
#include "automata/work.h"

/* A partial automaton whose states are all reachable and live. */
struct partial {
	uint32_t n, m, n_labels;
	uint32_t *tail, *label, *head; /* [m] transitions, sorted by tail */
	uint8_t *accept;               /* [n] */
};

/* Set block[n] to the equivalence class of each state, 0 ... *n_blocks - 1.
 * O(m) for a finite language: Revuz 1992, Minimisation of acyclic deterministic automata in linear
 * time.  Else O(m log m) and two words of memory for each of m and n: Hopcroft's algorithm for partial
 * automata, Valmari and Lehtinen 2008, in the form of Valmari 2012 (Fast brief practical DFA
 * minimization). */
int minimise(struct work *w, const struct partial *p, uint32_t *block, uint32_t *n_blocks);
/* draft.c: set *out to the minimal automaton of p, which starts in state 0; labels are classes.  If
 * p->n is 0, the language is empty. */
int partial_finish(struct dfa **out, struct work *w, const struct partial *p,
                   const struct classes *classes);
/* draft.c: set *out to the complement of a */
int complement_finish(struct dfa **out, struct work *w, const struct dfa *a);
#endif
