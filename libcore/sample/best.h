/* sample/best.h - sample from the best tokens alone, for devices that find them.  Confined. */
#ifndef SAMPLE_BEST_H
#define SAMPLE_BEST_H
#include <infer/sample.h>

/* Return n such that a draw can only choose among the n largest logits; 0: a draw needs all logits
 * (penalties, a bias, a stage that does not start with the most likely token). */
int32_t sampler_best(const infer_sampler *s);

/* Draw the same token, with the same candidates, as infer_sampler_draw without a constraint from
 * all logits.
 * ids, logits: [n] the largest logits, descending, equal ones by id: at least sampler_best, or the
 * whole vocabulary.  All are finite or -inf; entries from the first id -1 on are ignored.
 * INFER_EEMPTY: all logits are -inf. */
int sampler_draw_best(infer_sampler *s, const int32_t *ids, const float *logits, int32_t n,
                      uint64_t position, int32_t *token, infer_error *err);
#endif
