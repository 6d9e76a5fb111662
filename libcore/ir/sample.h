/* ir/sample.h - draw random texts of a grammar.  Confined. */
#ifndef IR_SAMPLE_H
#define IR_SAMPLE_H
#include "base/buf.h"
#include "ir/match.h"

/* Append text number `draw` of stream `seed` (base/rng.h) to out: random for about `length` bytes, then
 * the shortest completion.  A JSON text has no white space, or one space after each comma and colon.
 * INFER_EEMPTY  no text satisfies the grammar
 * INFER_EUNSUP  the budget of the matcher; no end within SAMPLE_MOST bytes
 * INFER_ENOMEM */
enum { SAMPLE_MOST = 1 << 17 };
int match_sample(struct match *m, uint64_t seed, uint64_t draw, uint32_t length, struct buf *out,
                 infer_error *err);
#endif
