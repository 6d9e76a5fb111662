/* automata/dfa.h - minimal deterministic finite automata over Unicode code points.
 *
 * A struct dfa is a regular language over the scalar values of Unicode (U+0000 ... U+10FFFF without
 * the surrogates): a total transition function over character classes, accepting states, and the
 * distance of each state from an end.  The caller decodes: the characters of a JSON string are
 * passed without escapes, those of a number or of plain text as they are.
 * Every automaton is minimal, and its states and classes have canonical numbers: two automata accept
 * the same language exactly if their tables are equal.  Surrogates are not characters: as input they
 * count as U+D7FF, and a set of surrogates alone is empty.
 *
 * Cost.  dfa_step is one look-up for ASCII, else a binary search among the ranges; it cannot fail.
 * A table takes 4 bytes for each state and class.  A binary operation on a and b takes at most
 * states(a) * states(b) * common classes, times log n for minimising.
 *
 * Budget.  A pattern of ten characters can need 2^30 states, so each builder counts down a struct
 * budget (automata/budget.h).  Working memory returns to it at the end of each operation; the bytes
 * of a result stay taken until dfa_drop.
 *
 * Ownership, threads.  A dfa is one block of memory that the caller owns and frees with dfa_free or
 * dfa_drop.  Immutable: share it freely.
 * On failure outputs are NULL.  Errors of every builder: INFER_EUNSUP (the budget; more than 65,535
 * classes or 2^31 states), INFER_ENOMEM; further ones are named. */
#ifndef AUTOMATA_DFA_H
#define AUTOMATA_DFA_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "automata/budget.h"

enum { DFA_DEAD = 0, DFA_START = 1 }; /* the empty language starts in DFA_DEAD */
enum { DFA_ACCEPT = 1, DFA_ALL = 2 }; /* flags of a state: accepting; accepts every continuation */
#define DFA_FOREVER UINT32_MAX        /* no bound */
#define DFA_MOST_CP UINT32_C(0x10ffff)

/* Classes are numbered by their first code point, states breadth first from the start.  State
 * DFA_DEAD is the only one from which no end can be reached. */
struct dfa {
	uint32_t n_states, n_classes, n_ranges;
	uint32_t start;
	size_t bytes;             /* of the whole block */
	const uint32_t *next;     /* [n_states][n_classes] */
	const uint8_t *flags;     /* [n_states] DFA_ACCEPT | DFA_ALL */
	const uint32_t *least;    /* [n_states] fewest code points to an end; DFA_FOREVER: none */
	const uint32_t *greatest; /* [n_states] most of them; DFA_FOREVER: no bound; DFA_DEAD: 0 */
	const uint32_t *from; /* [n_ranges] the first code point of each range, ascending from 0 */
	const uint16_t *range_class; /* [n_ranges] */
	uint16_t ascii[128];         /* the class of each ASCII character */
};

void dfa_free(struct dfa *d); /* NULL is fine, here and in dfa_drop */
/* Free d and return its bytes to the budget. */
void dfa_drop(struct dfa *d, struct budget *left);

uint32_t dfa_class_beyond(const struct dfa *d, uint32_t cp); /* the class of cp >= 128 */

static inline uint32_t dfa_class(const struct dfa *d, uint32_t cp)
{
	return cp < 128 ? d->ascii[cp] : dfa_class_beyond(d, cp);
}
static inline uint32_t dfa_step(const struct dfa *d, uint32_t state, uint32_t cp)
{
	return d->next[(size_t)state * d->n_classes + dfa_class(d, cp)];
}
static inline int dfa_accepts(const struct dfa *d, uint32_t state)
{
	return d->flags[state] & DFA_ACCEPT;
}
static inline int dfa_live(uint32_t state) { return state != DFA_DEAD; }

/* True if d accepts s[0 .. n), UTF-8; invalid UTF-8 is never accepted. */
int dfa_match(const struct dfa *d, const char *s, size_t n);
static inline int dfa_is_none(const struct dfa *d) { return d->start == DFA_DEAD; }
static inline int dfa_is_all(const struct dfa *d) { return d->flags[d->start] & DFA_ALL; }
/* True if the language has finitely many words. */
static inline int dfa_is_finite(const struct dfa *d)
{
	return d->greatest[d->start] != DFA_FOREVER;
}

/* Set *out to the number of words, or UINT64_MAX if there are as many or more.  O(table).
 * INFER_ENOMEM */
int dfa_count(uint64_t *out, const struct dfa *d, infer_error *err);
/* Call each(user, word, length) for the words in order of code points, at most `most` of them,
 * until it returns nonzero; returns that value, or 0.  cp: valid during the call.
 * INFER_EINVAL  the language is infinite; INFER_ENOMEM */
int dfa_list(const struct dfa *d, uint64_t most,
             int (*each)(void *user, const uint32_t *cp, uint32_t n), void *user, infer_error *err);

/* -- builders ------------------------------------------------------------------------------- */

/* code points lo ... hi, both included */
struct dfa_range {
	uint32_t lo, hi;
};
struct dfa_word {
	const char *at; /* UTF-8 */
	size_t n;
};

int dfa_none(struct dfa **out, struct budget *left, infer_error *err);
int dfa_all(struct dfa **out, struct budget *left, infer_error *err);
/* Accept exactly these words, given in any order, with or without repeats.
 * INFER_EINVAL  a word is not UTF-8 */
int dfa_words(struct dfa **out, const struct dfa_word *words, size_t n, struct budget *left,
              infer_error *err);
/* Accept all words of lo ... hi code points; hi DFA_FOREVER: no upper bound. */
int dfa_lengths(struct dfa **out, uint32_t lo, uint32_t hi, struct budget *left, infer_error *err);

int dfa_and(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
            infer_error *err);
int dfa_or(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
           infer_error *err);
/* Accept the words of a that are not words of b. */
int dfa_minus(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
              infer_error *err);
int dfa_not(struct dfa **out, const struct dfa *a, struct budget *left, infer_error *err);
#endif
