/* ir/match.h - a text followed through a grammar, byte by byte.
 *
 * A place in a text is a set of stacks, one for each way in which the text so far can be read.
 * Stacks are persistent and shared, so a copy of a place costs its number of stacks, and going back
 * is keeping an earlier copy.  A byte after which nothing could be completed leaves the set empty.
 *
 * White space.  MATCH_TIDY admits at most one space, or a newline and an indentation of at most
 * MATCH_INDENT spaces and tabs, after { [ , and :, and none elsewhere; and in strings no escape of
 * a printable character of ASCII but \" and \\.  MATCH_ANY admits what
 * RFC 8259 does: it is for checking texts.
 *
 * Budget.  A byte takes at most the steps given, one for each frame that is looked at; all stacks
 * of a matcher together at most the bytes given: beyond that INFER_EUNSUP, and the place stays as
 * it was.
 * Confined: a matcher with its places; the grammar is shared and must outlive it. */
#ifndef IR_MATCH_H
#define IR_MATCH_H
#include "ir/ir.h"

enum match_spaces { MATCH_TIDY, MATCH_ANY };
enum { MATCH_INDENT = 64 };

struct stack_item;
struct match;

/* {0}: nowhere, no stack */
struct match_state {
	uint32_t n, cap;
	struct stack_item **top;
};

int match_new(struct match **out, const struct grammar *g, enum match_spaces spaces,
              const struct budget *most, infer_error *err);
/* all places must be dropped before */
void match_free(struct match *m);

int match_begin(struct match *m, struct match_state *at, infer_error *err); /* at: {0} or a place */
int match_copy(struct match *m, struct match_state *to, const struct match_state *from,
               infer_error *err);
void match_drop(struct match *m, struct match_state *at);

int match_byte(struct match *m, struct match_state *at, uint8_t byte, infer_error *err);
static inline int match_live(const struct match_state *at) { return at->n > 0; }
/* Whether the text may end here. */
int match_may_end(const struct match *m, const struct match_state *at);
/* The same place: the same texts may follow.  Two places may be alike and not be found so. */
int match_same(const struct match_state *a, const struct match_state *b);
#endif
