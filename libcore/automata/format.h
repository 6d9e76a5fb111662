/* automata/format.h - the formats of strings that JSON Schema names, as automata.
 *
 * Each is written from its RFC.  Where a format is not regular, or its automaton would be large for
 * what nobody writes, this differs from it:
 *   date, date-time   the year 0000 is left out, which many libraries do not read
 *   time, date-time   a leap second only as 23:59:60 with Z or an offset of 00:00, so those of other
 *                     zones are left out
 *   hostname, email   labels that begin with xn--, or have -- in that place, are left out: whether
 *                     they are valid takes Punycode
 *   hostname          names with more than 61 characters behind their third label are left out
 *   email             domains longer than 253 characters are let in
 *   email, idn-email  quoted local parts longer than 64 characters are let in
 *   idn-email         a label of the domain is any characters beyond ASCII, letters and digits
 *   regex             what other dialects read otherwise or not at all is left out: references back,
 *                     names of groups, what looks behind, ranges other than of letters and digits;
 *                     and groups that are three deep
 * Not here: idn-hostname (rules about the context of
 * characters, Punycode).
 * Immutable. */
#ifndef AUTOMATA_FORMAT_H
#define AUTOMATA_FORMAT_H
#include "automata/dfa.h"

struct string_format {
	const char *name, *pattern;
};

/* NULL: there is none of that name */
const struct string_format *string_format_find(const char *name, size_t n);
/* Names that say nothing of strings: they are for numbers, or for who reads. */
int string_format_is_free(const char *name, size_t n);
/* the formats in the order of their names; NULL behind the last one */
const struct string_format *string_format_at(size_t i);
int string_format_dfa(struct dfa **out, const struct string_format *f, struct budget *left,
                      infer_error *err);
#endif
