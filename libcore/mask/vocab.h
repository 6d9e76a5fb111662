/* mask/vocab.h - which tokens of a vocabulary may come next.
 *
 * A token may come where all of its bytes may: also tokens that end in the middle of a character,
 * and those that begin in one part of the constraint and end in another.  Tokens are walked in the
 * order of their bytes, so that a beginning is followed once for all that share it, and dropped
 * for all with the first byte that may not come.
 *
 * A vocabulary is immutable: share it freely. */
#ifndef MASK_VOCAB_H
#define MASK_VOCAB_H
#include "ir/match.h"

struct vocab;

/* its bytes; n 0: never admitted, as for tokens that are not text */
struct vocab_token {
	const char *at;
	uint32_t n;
};

/* tokens: by their ids; the bytes are copied.  O(bytes) but for tokens
 * that share their first eight bytes */
int vocab_new(struct vocab **out, const struct vocab_token *tokens, uint32_t n, infer_error *err);
void vocab_free(struct vocab *v);
uint32_t vocab_words(const struct vocab *v); /* of 64 bits, in a mask */

/* Which tokens may come at this place.  Whether the text may end there is match_may_end().
 * bits   out, [vocab_words]; bit id % 64 of word id / 64
 * left   steps are counted down, one for each byte and stack
 * INFER_EUNSUP  the budget, or that of the matcher; bits are zero then */
int vocab_mask(const struct vocab *v, struct match *m, const struct match_state *at, uint64_t *bits,
               struct budget *left, infer_error *err);
#endif
