/* kern/neondot/int.h - integer words of the quantised products on 128 bits, four products an
 * instruction and lane. */
#ifndef KERN_NEONDOT_INT_H
#define KERN_NEONDOT_INT_H
#include <arm_neon.h>
#include "kern/arm/q.h"

enum { TILE_T = 4 };

/* acc + 16 products, in any lanes */
INLINE int32x4_t dot16(int32x4_t acc, int8x16_t w, int8x16_t x) { return vdotq_s32(acc, w, x); }
/* acc + sums of 4 products, of each 4 bytes of w with those of one lane of x */
#define dot_lane(acc, w, x, lane) vdotq_laneq_s32(acc, w, x, lane)
#endif
