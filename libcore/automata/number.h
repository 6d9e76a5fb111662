/* automata/number.h - JSON numbers with bounds and multiples as automata over their characters.
 *
 * Every accepted text is a number of RFC 8259 (no leading zeros, digits on both sides of the point)
 * whose exact decimal value satisfies all conditions; no double is involved, and -0 equals 0.
 * Not every notation of such a value is accepted, because a finite automaton cannot decide which
 * exponents bring 0.001e5 below a bound:
 *
 *   any number         all notations
 *   integer            digits, then .0 .00 ..., then e or E with an exponent that is not negative:
 *                      1, 1.0, 1e2, 1.0E+2; zero with any exponent.  Not 1.5e1, not 10e-1
 *   with a bound       an exponent only if it cannot change the result: for numbers of the other
 *                      sign, and for both signs if the bound is 0
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

/* a JSON number as written; at NULL: no such condition */
struct number_text {
	const char *at;
	size_t n;
};

struct number_spec {
	enum number_kind kind;
	struct number_text minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;
};

/* Set *out to the numbers that satisfy all conditions; an empty language is not an error.
 * INFER_EINVAL  a text is not a number, or multiple_of is not greater than 0
 * INFER_EUNSUP  a bound with more than 4,096 digits before or after the point when written without
 *               an exponent, a multiple with more than 18 significant digits; the budget
 * INFER_ENOMEM */
int number_dfa(struct dfa **out, const struct number_spec *spec, struct budget *left,
               infer_error *err);
/* Set *out to the integers of 64 bits with sign: 0, and others without leading zeros, point and
 * exponent.  Errors: the budget, INFER_ENOMEM */
int number_int64(struct dfa **out, struct budget *left, infer_error *err);
#endif
