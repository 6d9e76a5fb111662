/* kern/neon/pairs.h - the operations of ref/simd.h on integers, in lanes and in 16-bit halves of lanes;
 * part of simd.h. */
#ifndef KERN_NEON_PAIRS_H
#define KERN_NEON_PAIRS_H

static inline int32x4_t shr4(int32x4_t x)
{
	return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(x), 4));
}
static inline vi vi_shr4(vi x) { return (vi){ shr4(x.a), shr4(x.b), shr4(x.c), shr4(x.d) }; }
static inline int32x4_t shr8(int32x4_t x)
{
	return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(x), 8));
}
static inline vi vi_shr8(vi x) { return (vi){ shr8(x.a), shr8(x.b), shr8(x.c), shr8(x.d) }; }
static inline vi vi_max(vi x, vi y)
{
	return (vi){ vmaxq_s32(x.a, y.a), vmaxq_s32(x.b, y.b), vmaxq_s32(x.c, y.c),
		     vmaxq_s32(x.d, y.d) };
}
static inline int32_t vi_hmax(vi x)
{
	return vmaxvq_s32(vmaxq_s32(vmaxq_s32(x.a, x.b), vmaxq_s32(x.c, x.d)));
}
static inline vf v_int(vi x)
{
	return (vf){ vcvtq_f32_s32(x.a), vcvtq_f32_s32(x.b), vcvtq_f32_s32(x.c),
		     vcvtq_f32_s32(x.d) };
}
static inline int32x4_t bytes(const uint8_t *p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
static inline vi vi_load(const void *p)
{
	const uint8_t *b = p;

	return (vi){ bytes(b), bytes(b + 16), bytes(b + 32), bytes(b + 48) };
}
static inline void vi_store_s16(int16_t *p, vi x)
{
	vst1q_s16(p, vcombine_s16(vmovn_s32(x.a), vmovn_s32(x.b)));
	vst1q_s16(p + 8, vcombine_s16(vmovn_s32(x.c), vmovn_s32(x.d)));
}
static inline int32x4_t mac16(int32x4_t acc, int32x4_t x, int32x4_t y)
{
	int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(y);

	return vaddq_s32(
		acc, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
}
static inline vi vi_mac16(vi acc, vi x, vi y)
{
	return (vi){ mac16(acc.a, x.a, y.a), mac16(acc.b, x.b, y.b), mac16(acc.c, x.c, y.c),
		     mac16(acc.d, x.d, y.d) };
}
#endif
