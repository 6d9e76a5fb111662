/* kern/x86/point_words.h - what the points.h of an x86 folder adds to its int.h for codebooks, and a
 * check that it does, as x86/words.h.
 *
 *   points8(grid, at)        the points at[0 ... 3] of 8 bytes, in order
 *   points4(grid, at)        the points at[0 ... 7] of 4 bytes, in order
 *   sign32                   signs of 32 weights;  sign_load(p): bit i of 4 bytes, any alignment
 *   sign_turn(x, s)          bytes of x, those with a sign negated
 * Panels hold signed points and the tile unsigned bytes of x, so that products are u8 by i8:
 *   group(t)                 how many times 4 weights of type t add up before they are scaled: as
 *                            many as cannot overflow what group_add adds in
 *   group_add(sum, x, w)     sum and the products of x, unsigned, with w, signed
 *   group_scale(acc, sum, s) acc and sum times s, a scale times S_UNIT */
#ifndef KERN_X86_POINT_WORDS_H
#define KERN_X86_POINT_WORDS_H
#include "kern/x86/words.h"

WORD(points8, __m256i, const uint64_t *, const int *);
WORD(points4, __m256i, const uint32_t *, const int *);
WORD(sign_load, sign32, const uint8_t *);
WORD(sign_turn, __m256i, __m256i, sign32);
WORD(group, int, enum infer_type);
WORD(group_add, wi, wi, wi, wi);
WORD(group_scale, wi, wi, wi, wi);
_Static_assert(S_UNIT != 0, "S_UNIT: what a scale is multiplied by");
#endif
