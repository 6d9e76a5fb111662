/* sample/best.h - draws from the best tokens alone, for devices that find them.  Confined. */
#ifndef SAMPLE_BEST_H
#define SAMPLE_BEST_H
#include <infer/sample.h>

/* Returns how many of the largest logits hold every token that a draw may choose; 0: a draw reads all
 * logits (penalties, a bias, a stage that does not begin with the likeliest). */
int32_t sampler_best(const infer_sampler *s);

/* Draw as infer_sampler_draw from all logits without a constraint: the same token and candidates.
 * ids, logits  [n] of the largest logits, descending, equal ones by id; at least sampler_best or the
 *              whole vocabulary.  All logits are below infinity, none is NaN, and those after an id of
 *              -1 are not read.
 * INFER_EEMPTY  all logits are -inf */
int sampler_draw_best(infer_sampler *s, const int32_t *ids, const float *logits, int32_t n,
                      uint64_t position, int32_t *token, infer_error *err);
#endif
