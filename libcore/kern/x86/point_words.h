/* kern/x86/point_words.h - codebook operations that the points.h of an x86 folder defines, and a
 * check of them as in x86/words.h.
 *
 *   points8(grid, at)        the points at[0 ... 3] of 8 bytes, in order
 *   points4(grid, at)        the points at[0 ... 7] of 4 bytes, in order
 *   sign32                   signs of 32 weights;  sign_load(p): bit i of 4 bytes, any alignment
 *   sign_apply(x, s)         x with each byte negated if its sign is set
 * Panels contain signed points, tiles multiply them with unsigned bytes of x:
 *   group(t)                 how many sums of 4 weights of type t are added before scaling, so
 *                            that the integers of group_add do not overflow
 *   group_add(sum, x, w)     sum plus the products of x, unsigned, and w, signed
 *   group_scale(acc, sum, s) acc plus sum times s, a scale times S_UNIT */
#ifndef KERN_X86_POINT_WORDS_H
#define KERN_X86_POINT_WORDS_H
#include "kern/x86/words.h"

WORD(points8, __m256i, const uint64_t *, const int *);
WORD(points4, __m256i, const uint32_t *, const int *);
WORD(sign_load, sign32, const uint8_t *);
WORD(sign_apply, __m256i, __m256i, sign32);
WORD(group, int, enum infer_type);
WORD(group_add, wi, wi, wi, wi);
WORD(group_scale, wi, wi, wi, wi);
_Static_assert(S_UNIT != 0, "S_UNIT: what a scale is multiplied by");
#endif
