/* mask/mask.h - the tokens that may come next, remembered.
 *
 * What it is.  What vocab_mask() says, for one grammar and one vocabulary, at the cost of looking
 * it up.  A frame of a stack by itself decides on most tokens: some may come whatever is below it,
 * most never may.  Both are remembered for each frame.  Tokens that end the frame and go on below
 * it are remembered with their remaining bytes; the frame below decides on these in the same way.
 * What a mask says depends neither on what is remembered nor on the order of questions; nor do the
 * steps that are counted, since what is remembered is charged as if it were found out again.
 *
 * Budget.  Memory is bounded by the bytes given to mask_new: where they are used up everything is
 * forgotten.  One mask takes at most the steps that are left.
 * Shared: any threads may ask one struct mask at a time, each with a matcher of its own, which is
 * for the same grammar.  The grammar and the vocabulary are shared and must outlive it. */
#ifndef MASK_MASK_H
#define MASK_MASK_H
#include "mask/vocab.h"

struct mask;

/* most: bytes of all that is remembered; steps of one byte, as in match_new
 * spaces: of the matchers that will ask */
int mask_new(struct mask **out, const struct grammar *g, const struct vocab *v,
             enum match_spaces spaces, const struct budget *most, infer_error *err);
void mask_free(struct mask *k);
/* Which tokens may come at this place of m.  Whether the text may end there is match_may_end().
 * bits   out, a bit for each token: id % 64 of word id / 64; bits past the vocabulary are zero
 * left   steps are counted down
 * INFER_EUNSUP  the budget, or that of the matcher; bits are zero then */
int mask_fill(struct mask *k, struct match *m, const struct match_state *at, uint64_t *bits,
              struct budget *left, infer_error *err);
/* The same at about the cost of looking it up: INFER_EAGAIN, without a message, where something would
 * have to be found out first; bits say nothing then. */
int mask_try_fill(struct mask *k, struct match *m, const struct match_state *at, uint64_t *bits,
                  struct budget *left, infer_error *err);
/* The bytes that every text goes on with here, as many as there are, up to cap.  None where the
 * text may end.  at stays where it is.
 * *n   out, how many; 0 on failure */
int mask_forced(struct match *m, const struct match_state *at, char *bytes, uint32_t cap,
                uint32_t *n, infer_error *err);

/* The places of a text behind each token, to go back any number of tokens.  {0} is empty.
 * Confined, like its matcher. */
struct mask_past {
	uint32_t n, cap;
	struct match_state *at; /* [n] */
};

/* Take the bytes of a token and remember where the text was.  *takes: whether it may come; if not
 * nothing changes, as on failure. */
int mask_take(struct mask_past *past, struct match *m, struct match_state *at, const char *bytes,
              uint32_t n, int *takes, infer_error *err);
/* Back to before the last n tokens, at most past->n. */
void mask_back(struct mask_past *past, struct match *m, struct match_state *at, uint32_t n);
/* Forget all. */
void mask_past_drop(struct mask_past *past, struct match *m);
#endif
