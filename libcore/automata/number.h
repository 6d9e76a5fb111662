/* automata/number.h - JSON numbers with bounds and multiples as automata over their characters.
 *
 * What is accepted is always a number of RFC 8259 (no leading zeros, a digit on both sides of the
 * point) whose exact decimal value satisfies everything that is asked; no double is involved, and
 * -0 is 0.  What is left out: values are not recognised in every spelling, because which exponents
 * bring 0.001e5 below a bound cannot be counted by a finite automaton.
 *
 *   any number         all spellings
 *   integer            digits, then .0 .00 ..., then e or E with an exponent that is not negative:
 *                      1, 1.0, 1e2, 1.0E+2; zero with any exponent.  Not 1.5e1, not 10e-1
 *   with a bound       an exponent only where it cannot change the answer: all numbers of the sign
 *                      that the bound leaves alone, both signs where the bound is 0
 *   with a multiple    no exponent
 *
 * The exponent itself is not bounded: 1e999 is a number of RFC 8259. */
#ifndef AUTOMATA_NUMBER_H
#define AUTOMATA_NUMBER_H
#include "automata/dfa.h"

enum number_kind {
	NUMBER_ANY,
	NUMBER_INTEGER, /* of JSON Schema: a number without a fractional part */
	NUMBER_DIGITS   /* an integer without point and exponent, as most languages read one */
};

/* a JSON number as it is written; at NULL: absent */
struct number_text {
	const char *at;
	size_t n;
};

struct number_spec {
	enum number_kind kind;
	struct number_text minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;
};

/* The numbers that satisfy all of it; none is an empty automaton, not a failure.
 * INFER_EINVAL  a text is no number, multiple_of is not greater than 0
 * INFER_EUNSUP  a bound with more than 4,096 digits before or behind the point when written without
 *               exponent, a multiple of more than 18 significant digits */
int number_dfa(struct dfa **out, const struct number_spec *spec, struct budget *left,
               infer_error *err);
#endif
