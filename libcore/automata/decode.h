/* automata/decode.h - decode JSON strings and UTF-8 byte by byte; characters that an incomplete
 * sequence can become. */
#ifndef AUTOMATA_DECODE_H
#define AUTOMATA_DECODE_H
#include "automata/dfa.h"

enum decoded {
	DECODE_BAD,  /* not valid */
	DECODE_MORE, /* the character is incomplete */
	DECODE_CHAR, /* the character is complete */
	DECODE_QUOTE /* the closing quote of a JSON string */
};

/* {0}: between two characters */
struct decoder {
	uint32_t mode, acc;
};

/* Decode one more byte of a JSON string, after its opening quote.  *cp: the character, set for
 * DECODE_CHAR only */
enum decoded decode_json(struct decoder *d, uint8_t byte, uint32_t *cp);
/* As decode_json, but a printable ASCII character may be escaped only as \" or \\. */
enum decoded decode_tidy(struct decoder *d, uint8_t byte, uint32_t *cp);
/* Decode one more byte of plain UTF-8; never DECODE_QUOTE. */
enum decoded decode_utf8(struct decoder *d, uint8_t byte, uint32_t *cp);
/* After DECODE_MORE: set r to the characters that the bytes so far can begin.  Returns the number of
 * ranges. */
enum { DECODE_RANGES = 6 };
int decode_ranges(const struct decoder *d, struct dfa_range r[DECODE_RANGES]);
/* the numbers of characters that may follow; most DFA_FAR: no limit */
struct span {
	uint32_t least, most;
};
#define DFA_FAR (DFA_FOREVER - 1)
#define SPAN_ANY ((struct span){ 0, DFA_FAR })
/* True if from the state an end is at least n.least, and one at most n.most characters away. */
static inline int dfa_spans(const struct dfa *d, uint32_t state, struct span n)
{
	return d->least[state] <= n.most && d->greatest[state] >= n.least;
}
/* Count one character, which `n` must admit. */
static inline struct span span_after(struct span n)
{
	return (struct span){ n.least - (n.least > 0), n.most - (n.most != DFA_FAR) };
}
/* True if some character of lo ... hi leads from the state to one that spans n. */
int dfa_reaches(const struct dfa *d, uint32_t state, uint32_t lo, uint32_t hi, struct span n);
#endif
