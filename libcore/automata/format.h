/* automata/format.h - the string formats of JSON Schema as automata.
 *
 * Each follows its RFC.  Exceptions, because a format is not regular or rare texts would make its
 * automaton large:
 *   date, date-time   reject the year 0000, which many libraries cannot read
 *   time, date-time   accept a leap second only as 23:59:60 with Z or offset 00:00
 *   hostname, email   reject labels with -- in the third and fourth place (xn--): they need Punycode
 *   hostname          reject names with more than 61 characters after the third label
 *   email             accept domains of more than 253 characters
 *   email, idn-email  accept quoted local parts of more than 64 characters
 *   idn-email         accept any characters beyond ASCII, letters and digits in a domain label
 *   regex             reject what dialects parse differently or not at all: back-references, named
 *                     groups, look-behind, ranges other than of letters or digits; and groups
 *                     nested three deep
 * idn-hostname is not supported (context rules, Punycode).
 * Immutable. */
#ifndef AUTOMATA_FORMAT_H
#define AUTOMATA_FORMAT_H
#include "automata/dfa.h"

struct string_format {
	const char *name, *pattern;
};

/* Return the format of that name, or NULL. */
const struct string_format *string_format_find(const char *name, size_t n);
/* True for names that do not restrict strings: formats of numbers (int32), hints (password). */
int string_format_is_free(const char *name, size_t n);
/* True for names of the lists above, and for idn-hostname: names that have a meaning, so that to
 * ignore them would be wrong. */
int string_format_is_known(const char *name, size_t n);
/* Return the i-th format in the order of names; NULL after the last. */
const struct string_format *string_format_at(size_t i);
/* Errors: the budget, INFER_ENOMEM. */
int string_format_dfa(struct dfa **out, const struct string_format *f, struct budget *left,
                      infer_error *err);
#endif
