/* kern/neondot/int.h - integer operations of the quantised products on 128 bits, with four products per
 * lane in an instruction. */
#ifndef KERN_NEONDOT_INT_H
#define KERN_NEONDOT_INT_H
#include <arm_neon.h>
#include "kern/arm/q.h"

enum { TILE_T = 4 };

/* Return acc + 16 products, each in any lane. */
INLINE int32x4_t dot16(int32x4_t acc, int8x16_t w, int8x16_t x) { return vdotq_s32(acc, w, x); }
/* Return acc + sums of 4 products: each 4 bytes of w with the 4 bytes of one lane of x. */
#define dot_lane(acc, w, x, lane) vdotq_laneq_s32(acc, w, x, lane)
#endif
