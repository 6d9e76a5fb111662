/* mask/vocab.h - a vocabulary, and token masks without a cache.
 *
 * A token may come next if all of its bytes may: also a token that ends within a character, or that
 * spans several parts of the constraint.  Tokens are walked as a trie, so a common prefix is followed
 * once, and all its tokens are dropped at the first byte that is not accepted.
 *
 * A vocabulary is immutable: share it freely. */
#ifndef MASK_VOCAB_H
#define MASK_VOCAB_H
#include "ir/match.h"

struct vocab;

/* the bytes of a token; n 0: never allowed, as for tokens that are not text */
struct vocab_token {
	const char *at;
	uint32_t n;
};

/* tokens: [n], by id; the bytes are copied.  O(bytes), but tokens that share their first eight bytes are
 * sorted by comparison.
 * INFER_EUNSUP  too large; INFER_ENOMEM */
int vocab_new(struct vocab **out, const struct vocab_token *tokens, uint32_t n, infer_error *err);
void vocab_free(struct vocab *v);            /* NULL is fine */
uint32_t vocab_words(const struct vocab *v); /* words of 64 bits in a mask */

/* Set bits to the tokens that may come next in state `at`.  match_may_end() says if the text may
 * end there.
 * bits   out, [vocab_words]: bit id % 64 of word id / 64
 * left   steps are counted down, one for each byte and stack
 * INFER_EUNSUP  the budget, or that of the matcher; INFER_ENOMEM; bits are zero then */
int vocab_mask(const struct vocab *v, struct match *m, const struct match_state *at, uint64_t *bits,
               struct budget *left, infer_error *err);
#endif
