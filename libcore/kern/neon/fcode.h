/* kern/neon/fcode.h - the operations of ref/fcode.h. */
#ifndef KERN_NEON_FCODE_H
#define KERN_NEON_FCODE_H
#include "kern/neon/simd.h"
#include "type/nf4.h"

INLINE uint16x8_t e4m3_f16(int8x8_t q)
{
	return vandq_u16(vreinterpretq_u16_s16(vshll_n_s8(q, 7)), vdupq_n_u16(0xbf80));
}
struct v_e4m3 {
	const uint8_t *q;
};
INLINE struct v_e4m3 v_e4m3_load(const uint8_t *q) { return (struct v_e4m3){ q }; }
INLINE vf v_e4m3(vf d, struct v_e4m3 c, int j)
{
	int8x16_t q = vreinterpretq_s8_u8(vld1q_u8(c.q + 16 * j));
	uint16x8_t x = e4m3_f16(vget_low_s8(q)), y = e4m3_f16(vget_high_s8(q));

	d = v_mul(d, v_set(256));
	return v_mul((vf){ f16_lo(x), f16_hi(x), f16_lo(y), f16_hi(y) }, d);
}
/* each byte of a float is looked up separately */
INLINE vf v_nf4(vf d, const uint8_t *qs, int j)
{
	const uint8x16x4_t table = vld4q_u8((const uint8_t *)nf4_table);
	uint8x16_t q = vld1q_u8(qs + j % 2 * 16), b[4];

	q = j / 2 ? vshrq_n_u8(q, 4) : vandq_u8(q, vdupq_n_u8(15));
	UNROLL
	for (int i = 0; i < 4; i++)
		b[i] = vqtbl1q_u8(table.val[i], q);
	/* the low and the high halves of lanes 0 to 7, 8 to 15 */
	uint16x8_t l0 = vreinterpretq_u16_u8(vzip1q_u8(b[0], b[1])),
		   l1 = vreinterpretq_u16_u8(vzip2q_u8(b[0], b[1])),
		   h0 = vreinterpretq_u16_u8(vzip1q_u8(b[2], b[3])),
		   h1 = vreinterpretq_u16_u8(vzip2q_u8(b[2], b[3]));
	return v_mul((vf){ vreinterpretq_f32_u16(vzip1q_u16(l0, h0)),
	                   vreinterpretq_f32_u16(vzip2q_u16(l0, h0)),
	                   vreinterpretq_f32_u16(vzip1q_u16(l1, h1)),
	                   vreinterpretq_f32_u16(vzip2q_u16(l1, h1)) },
	             d);
}
#endif
