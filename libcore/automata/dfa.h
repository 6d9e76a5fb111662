/* automata/dfa.h - deterministic automata over code points, and the languages that they accept.
 *
 * What it is.  A struct dfa is a regular language over the scalar values of Unicode (U+0000 ...
 * U+10FFFF without the surrogates): a total transition function over character classes, accepting
 * states, and for each state how far it is from the end.  A layer above feeds it characters: those
 * of a JSON string after its escapes were undone, those of a number or of plain text as they are.
 * Every automaton that this module returns is minimal and has one canonical numbering of states
 * and classes, so two of them accept the same language exactly if their tables are equal
 * (dfa_equal), and equal input gives equal bytes.  Surrogates are not characters: as input they
 * count as U+D7FF, and a set that contains only them is empty.
 *
 * Cost.  A step is one look-up for ASCII and a binary search among the ranges beyond; it cannot
 * fail.  A table takes 4 bytes for each state and class.  A binary operation takes at most the
 * product of the states, times the classes of both, and log n for minimising.
 *
 * Budget.  A pattern of ten characters can ask for 2^30 states.  So everything that builds counts
 * down a struct budget, in elementary steps (a few nanoseconds each) and in bytes,
 * never by a clock: the same input fails or succeeds on every machine.  A builder that runs out
 * says INFER_EUNSUP, "... needs more than ...".  Working memory is given back to the budget at
 * the end of each operation; the bytes of a result stay taken until dfa_drop.
 *
 * Ownership, threads.  The caller owns a dfa, which is one block of memory, and frees it with
 * dfa_free.  It is immutable: share it freely.  A budget is confined.
 * On failure outputs are NULL.  Errors everywhere: INFER_EUNSUP (the budget, or more than 65,535
 * classes or 2^31 states), INFER_ENOMEM; others where they are named. */
#ifndef AUTOMATA_DFA_H
#define AUTOMATA_DFA_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "automata/budget.h"

enum { DFA_DEAD = 0, DFA_START = 1 }; /* the empty language starts in DFA_DEAD */
enum { DFA_ACCEPT = 1, DFA_ALL = 2 }; /* of a state: accepts here; accepts every continuation */
#define DFA_FOREVER UINT32_MAX        /* no bound */
#define DFA_MOST_CP UINT32_C(0x10ffff)

/* Classes are numbered by their first code point, states in breadth-first order from the start, so
 * state 0 is the only one from which nothing is accepted. */
struct dfa {
	uint32_t n_states, n_classes, n_ranges;
	uint32_t start;
	size_t bytes;             /* of the whole block */
	const uint32_t *next;     /* [n_states][n_classes] */
	const uint8_t *flags;     /* [n_states] DFA_ACCEPT | DFA_ALL */
	const uint32_t *least;    /* [n_states] code points to the nearest end; DFA_FOREVER: none */
	const uint32_t *greatest; /* [n_states] to the farthest; DFA_FOREVER: no bound; 0: dead */
	const uint32_t *from; /* [n_ranges] the first code point of each range, ascending from 0 */
	const uint16_t *range_class; /* [n_ranges] */
	uint16_t ascii[128];
};

void dfa_free(struct dfa *d);
/* the same, and its bytes return to the budget */
void dfa_drop(struct dfa *d, struct budget *left);

uint32_t dfa_class_beyond(const struct dfa *d, uint32_t cp); /* cp >= 128 */

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

/* Whether the whole of the UTF-8 s[0 .. n) is accepted; not where it is invalid UTF-8. */
int dfa_match(const struct dfa *d, const char *s, size_t n);
static inline int dfa_is_none(const struct dfa *d) { return d->start == DFA_DEAD; }
static inline int dfa_is_all(const struct dfa *d) { return d->flags[d->start] & DFA_ALL; }
int dfa_equal(const struct dfa *a, const struct dfa *b); /* the same language */
/* finitely many words */
static inline int dfa_is_finite(const struct dfa *d)
{
	return d->greatest[d->start] != DFA_FOREVER;
}

/* The number of words, UINT64_MAX where that is infinite or too large for it.  O(table). */
int dfa_count(uint64_t *out, const struct dfa *d, infer_error *err);
/* Call each(user, word, length) for the words in order of code points, at most `most` of them,
 * until it returns nonzero, which is returned.
 * INFER_EINVAL  the language is infinite */
int dfa_list(const struct dfa *d, uint64_t most,
             int (*each)(void *user, const uint32_t *cp, uint32_t n), void *user, infer_error *err);
/* A word drawn by random number `draw` of stream `seed` (base/rng.h), of about `length` code
 * points where the language has such: after that many it goes the shortest way to an end.
 * cp  out, [cap]; it may be as long as length + the greatest `least` of a state
 * Returns the number of code points, or -1 where there is no word or it exceeds cap. */
int64_t dfa_sample(const struct dfa *d, uint64_t seed, uint64_t draw, uint32_t length, uint32_t *cp,
                   uint32_t cap);

/* -- builders ------------------------------------------------------------------------------- */

/* lo ... hi, both included */
struct dfa_range {
	uint32_t lo, hi;
};
struct dfa_word {
	const char *at; /* UTF-8 */
	size_t n;
};

int dfa_none(struct dfa **out, struct budget *left, infer_error *err);
int dfa_all(struct dfa **out, struct budget *left, infer_error *err);
/* Exactly these words, in any order, with or without repeats.
 * INFER_EINVAL  a word is not UTF-8 */
int dfa_words(struct dfa **out, const struct dfa_word *words, size_t n, struct budget *left,
              infer_error *err);
/* All words of lo ... hi code points; hi DFA_FOREVER: no upper bound. */
int dfa_lengths(struct dfa **out, uint32_t lo, uint32_t hi, struct budget *left, infer_error *err);

int dfa_and(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
            infer_error *err);
int dfa_or(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
           infer_error *err);
/* words of a that are not words of b */
int dfa_minus(struct dfa **out, const struct dfa *a, const struct dfa *b, struct budget *left,
              infer_error *err);
int dfa_not(struct dfa **out, const struct dfa *a, struct budget *left, infer_error *err);
/* words of a with lo ... hi code points */
int dfa_counted(struct dfa **out, const struct dfa *a, uint32_t lo, uint32_t hi,
                struct budget *left, infer_error *err);
#endif
