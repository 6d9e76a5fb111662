/* ir/match.h - an incremental parser: follow a text through a grammar byte by byte.
 *
 * A parser state is a set of stacks, one for each way to parse the text so far.  Stacks are
 * persistent and shared, so copying a state costs its number of stacks; to go back, keep a copy.
 * A byte after which no text can be completed leaves the state empty (match_live is 0).
 *
 * White space.  MATCH_TIDY accepts at most one space, or a newline and at most MATCH_INDENT spaces and
 * tabs, after { [ , and :, and none elsewhere; and in strings no escape of a printable ASCII character
 * but \" and \\.  MATCH_ANY accepts what RFC 8259 does, for checking texts.
 *
 * Errors.  INFER_EUNSUP: a byte needs more steps, or all states together more bytes, than the budget
 * given to match_new; INFER_ENOMEM.  On failure the state stays as it was.
 * Confined: a matcher with its states; the grammar is shared and must outlive it. */
#ifndef IR_MATCH_H
#define IR_MATCH_H
#include "ir/ir.h"

enum match_spaces { MATCH_TIDY, MATCH_ANY };
enum { MATCH_INDENT = 64 };

struct stack_item; /* ir/stack.h */
struct match;

/* {0}: no stack */
struct match_state {
	uint32_t n, cap;
	struct stack_item **top;
};

/* most: steps of one byte; bytes of all states together */
int match_new(struct match **out, const struct grammar *g, enum match_spaces spaces,
              const struct budget *most, infer_error *err);
void match_free(struct match *m); /* drop its states first; NULL is fine */

/* Set *at, {0} or a state, to the beginning of a text. */
int match_begin(struct match *m, struct match_state *at, infer_error *err);
/* Set *to, {0} or a state, to a copy. */
int match_copy(struct match *m, struct match_state *to, const struct match_state *from,
               infer_error *err);
void match_drop(struct match *m, struct match_state *at); /* free its stacks; *at becomes {0} */

/* Advance the state by a byte. */
int match_byte(struct match *m, struct match_state *at, uint8_t byte, infer_error *err);
/* The tokens of each set of the grammar: bits[set][words], borrowed; without them OP_TOKEN reads none. */
void match_set_tokens(struct match *m, const uint64_t *bits, uint32_t words);
/* Add the tokens that OP_TOKEN may read next to wants[words] (NULL: only ask); *some: 1 if it may. */
int match_wants(struct match *m, const struct match_state *at, uint64_t *wants, int *some,
                infer_error *err);
/* Advance the state by a token: by its bytes (control: 0xff before them), or by its id if a set of tokens
 * may come next. */
int match_token(struct match *m, struct match_state *at, uint32_t id, int control,
                const char *bytes, size_t n, infer_error *err);
static inline int match_live(const struct match_state *at) { return at->n > 0; }
/* True if the text may end here. */
int match_may_end(const struct match *m, const struct match_state *at);
/* True if the states have the same stacks in the same order, so the same texts may follow. */
int match_same(const struct match_state *a, const struct match_state *b);
#endif
