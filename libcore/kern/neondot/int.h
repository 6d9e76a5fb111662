/* kern/neondot/int.h - integer operations of the quantised products on 128 bits, with four products per
 * lane in an instruction. */
#ifndef KERN_NEONDOT_INT_H
#define KERN_NEONDOT_INT_H
#include <arm_neon.h>
#include "kern/arm/q.h"

enum { TILE_T = 4 };

/* acc + 16 products, distributed over the lanes in any way */
INLINE int32x4_t dot16(int32x4_t acc, int8x16_t w, int8x16_t x) { return vdotq_s32(acc, w, x); }
/* acc + sums of 4 products of each 4 bytes of w and those of one lane of x */
#define dot_lane(acc, w, x, lane) vdotq_laneq_s32(acc, w, x, lane)
#endif
