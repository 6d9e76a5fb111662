/* mask/mask.h - token masks: the tokens that may come next, with a cache.
 *
 * A mask equals that of vocab_mask() (mask/vocab.h).  For most tokens only the top item of a stack
 * matters; its entry is cached.  For tokens in which the item ends, the entry contains the
 * remaining bytes, to which the item below is applied in the same way.  Neither a mask nor the
 * steps that it is charged depend on what is cached.
 *
 * Budget.  If the bytes given to mask_new are used up, the cache is emptied.
 * Shared: any threads may call, each with a matcher of its own for the same grammar.  The grammar and
 * the vocabulary must outlive the mask. */
#ifndef MASK_MASK_H
#define MASK_MASK_H
#include "mask/vocab.h"

struct mask;

/* most    bytes of the cache; steps of one byte, as in match_new
 * spaces  those of the matchers that will be passed to mask_fill
 * INFER_EUNSUP  too few bytes; INFER_ENOMEM */
int mask_new(struct mask **out, const struct grammar *g, const struct vocab *v,
             enum match_spaces spaces, const struct budget *most, infer_error *err);
void mask_free(struct mask *k); /* NULL is fine */
/* Set bits to the tokens that may come next in state `at` of m.  match_may_end() says if the text
 * may end there.
 * bits   out, [vocab_words]: bit id % 64 of word id / 64; bits past the vocabulary are zero
 * left   steps are counted down
 * INFER_EUNSUP  the budget, or that of the matcher; INFER_ENOMEM; bits are zero then */
int mask_fill(struct mask *k, struct match *m, const struct match_state *at, uint64_t *bits,
              struct budget *left, infer_error *err);
/* As mask_fill, if the cache suffices.
 * INFER_EAGAIN  without a message: an entry would have to be computed; bits are undefined then */
int mask_try_fill(struct mask *k, struct match *m, const struct match_state *at, uint64_t *bits,
                  struct budget *left, infer_error *err);
/* Find the bytes that the grammar forces next, at most cap: none if the text may end.  *at is unchanged.
 * *n   out, the number of bytes; 0 on failure
 * INFER_EUNSUP  the budget of the matcher; INFER_ENOMEM */
int mask_forced(struct match *m, const struct match_state *at, char *bytes, uint32_t cap,
                uint32_t *n, infer_error *err);

/* The states after each token of a text, to go back any number of tokens.  {0} is empty.
 * Confined, like its matcher. */
struct mask_past {
	uint32_t n, cap;
	struct match_state *at; /* [n] */
};

/* Advance by the bytes of a token and save the state before it.  *takes: 1 if the token is allowed; if
 * not, nothing changes, as on failure.  Errors as mask_forced. */
int mask_take(struct mask_past *past, struct match *m, struct match_state *at, const char *bytes,
              uint32_t n, int *takes, infer_error *err);
/* Go back to before the last n tokens, at most past->n. */
void mask_back(struct mask_past *past, struct match *m, struct match_state *at, uint32_t n);
/* Free all saved states. */
void mask_past_drop(struct mask_past *past, struct match *m);
#endif
