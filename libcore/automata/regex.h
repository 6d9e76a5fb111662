/* automata/regex.h - regular expressions of ECMA-262 as automata.
 *
 * The syntax is that of RegExp with the flag u, as JSON Schema requires, and two things of Annex B
 * that real schemas use: literal ] } {, and a backslash before any character that is not a letter
 * or digit.  A character is a code point.  Captures and laziness do not change what is accepted.
 * Look-ahead, look-behind, ^ $ \b \B are exact everywhere.
 *
 * \p{..}: general categories, Script=Han, White_Space, Any, ASCII, Assigned and ASCII_Hex_Digit, in
 * the version of Unicode of text/unicode.h.
 *
 * Not supported (INFER_EUNSUP): back-references, other properties, modifiers (?i:..), groups nested
 * deeper than 200, $ \b \B and look-ahead within look-behind, look-behind within look-ahead. */
#ifndef AUTOMATA_REGEX_H
#define AUTOMATA_REGEX_H
#include "automata/dfa.h"

enum regex_how {
	REGEX_SEARCH, /* the pattern matches somewhere in the text, as for `pattern` */
	REGEX_WHOLE   /* the pattern matches the whole text */
};

/* Accept the texts that pattern[0 .. n), UTF-8, matches.
 * INFER_EINVAL  not a regular expression
 * INFER_EUNSUP  see above; the budget
 * INFER_ENOMEM
 * Messages name the character of the pattern, counted from 1 in code points. */
int regex_dfa(struct dfa **out, const char *pattern, size_t n, enum regex_how how,
              struct budget *left, infer_error *err);
#endif
