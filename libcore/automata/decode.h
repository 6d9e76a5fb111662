/* automata/decode.h - the characters of JSON strings and of UTF-8, byte by byte, and which
 * characters a beginning can still become. */
#ifndef AUTOMATA_DECODE_H
#define AUTOMATA_DECODE_H
#include "automata/dfa.h"

enum decoded { DECODE_BAD, DECODE_MORE, DECODE_CHAR, DECODE_QUOTE };

/* {0}: between characters */
struct decoder {
	uint32_t mode, acc;
};

/* One more byte of a JSON string behind its opening quote.  *cp: the character, for DECODE_CHAR */
enum decoded decode_json(struct decoder *d, uint8_t byte, uint32_t *cp);
/* The same, but printable characters of ASCII stand for themselves: of their escapes only \" and \\
 * are read. */
enum decoded decode_tidy(struct decoder *d, uint8_t byte, uint32_t *cp);
/* The same for plain UTF-8, where no byte is a quote. */
enum decoded decode_utf8(struct decoder *d, uint8_t byte, uint32_t *cp);
/* The characters that the bytes so far may begin, after DECODE_MORE; how many ranges. */
enum { DECODE_RANGES = 6 };
int decode_ranges(const struct decoder *d, struct dfa_range r[DECODE_RANGES]);
/* Whether a character of lo ... hi leads on from the state. */
int dfa_reaches(const struct dfa *d, uint32_t state, uint32_t lo, uint32_t hi);
#endif
