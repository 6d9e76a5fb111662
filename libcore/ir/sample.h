/* ir/sample.h - texts of a grammar, drawn at random.  Confined. */
#ifndef IR_SAMPLE_H
#define IR_SAMPLE_H
#include "base/buf.h"
#include "ir/match.h"

/* Append text number `draw` of stream `seed` (base/rng.h) of the matcher's grammar to out: at random
 * for about `length` bytes, then the shortest way to an end.  White space of a JSON text is none, or
 * one space behind each comma and colon.
 * INFER_EEMPTY  nothing satisfies the grammar
 * INFER_EUNSUP  the matcher's budget; no end was found within SAMPLE_MOST bytes
 * INFER_ENOMEM */
enum { SAMPLE_MOST = 1 << 17 };
int match_sample(struct match *m, uint64_t seed, uint64_t draw, uint32_t length, struct buf *out,
                 infer_error *err);
#endif
