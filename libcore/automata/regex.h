/* automata/regex.h - regular expressions of ECMA-262 as automata.
 *
 * The syntax is that of RegExp with the flag u, as JSON Schema asks for, and what real schemas
 * write beside it (Annex B): ] } { as themselves, a backslash before any character that is no
 * letter or digit.  A character is a code point.  Captures and laziness have no effect on what is
 * accepted.  Look-ahead, look-behind, ^ $ \b \B are exact wherever they stand.
 *
 * \p{..} knows the general categories, Script=Han, White_Space, Any, ASCII, Assigned and
 * ASCII_Hex_Digit, by the version of Unicode of text/unicode.h.
 *
 * Refused by name (INFER_EUNSUP): back-references, other properties, modifiers (?i:..), groups
 * nested deeper than 200, in look-behind and look-ahead what looks beyond it ($ \b \B (?= in the
 * former, (?<= in the latter). */
#ifndef AUTOMATA_REGEX_H
#define AUTOMATA_REGEX_H
#include "automata/dfa.h"

/* a match anywhere is enough, as for `pattern`; the whole text is the match */
enum regex_how { REGEX_SEARCH, REGEX_WHOLE };

/* The texts that pattern[0 .. n), UTF-8, matches.
 * INFER_EINVAL  not a regular expression; like all messages about a pattern it says the character,
 *               counted from 1 in code points */
int regex_dfa(struct dfa **out, const char *pattern, size_t n, enum regex_how how,
              struct budget *left, infer_error *err);
#endif
