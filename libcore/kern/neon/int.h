/* kern/neon/int.h - integer operations of the quantised products on 128 bits.  Sums of two products
 * of bytes fit 16 bits: both operands are signed, and one is above -128. */
#ifndef KERN_NEON_INT_H
#define KERN_NEON_INT_H
#include <arm_neon.h>
#include "kern/arm/q.h"

enum { TILE_T = 4 };

/* Return acc + 16 products, each in any lane. */
INLINE int32x4_t dot16(int32x4_t acc, int8x16_t w, int8x16_t x)
{
	int16x8_t p = vmull_s8(vget_low_s8(w), vget_low_s8(x));

	return vpadalq_s16(acc, vmlal_high_s8(p, w, x));
}
/* Return acc + sums of 4 products: each 4 bytes of w with the 4 bytes of one lane of x. */
#define dot_lane(acc, w, x, lane) \
	dot_four(acc, w, vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(x), lane)))
INLINE int32x4_t dot_four(int32x4_t acc, int8x16_t w, int8x16_t x)
{
	int16x8_t lo = vmull_s8(vget_low_s8(w), vget_low_s8(x)), hi = vmull_high_s8(w, x);

	return vpadalq_s16(acc, vpaddq_s16(lo, hi));
}
#endif
