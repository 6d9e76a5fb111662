/* kern/arm/grid.h - unpack codebook and ternary blocks of 256 for the neon folders; layouts:
 * ref/mm_grid.c.  Points with signs and shifts fit signed bytes, so the kernels for blocks of 256
 * treat them like other types. */
#ifndef KERN_ARM_GRID_H
#define KERN_ARM_GRID_H
#include "type/block.h"
#include "type/grids.h"

INLINE int is_ternary(enum infer_type t) { return t == INFER_TQ2_0 || t == INFER_TQ1_0; }
INLINE int is_grid(enum infer_type t)
{
	return t == INFER_IQ2_XXS || t == INFER_IQ2_XS || t == INFER_IQ2_S || t == INFER_IQ3_XXS ||
	       t == INFER_IQ3_S || t == INFER_IQ1_S || t == INFER_IQ1_M || is_ternary(t);
}
/* 1 if there is a scale for each 16 weights, 0: for each 32 */
INLINE int grid_by16(enum infer_type t)
{
	return t == INFER_IQ2_XS || t == INFER_IQ2_S || t == INFER_IQ1_M;
}

/* Return d divided by the power of two that makes the weights integers. */
INLINE float grid_scale(enum infer_type t, const uint8_t *p)
{
	uint64_t sc;

	if (t == INFER_IQ1_M) {
		sc = num_u64(p + offsetof(struct iq1_m, sc));
		return 0.125f * num_f16((uint16_t)((sc >> 12 & 0xf) | (sc >> 24 & 0xf0) |
		                                   (sc >> 36 & 0xf00) | (sc >> 48 & 0xf000)));
	}
	if (is_ternary(t))
		return num_f16(num_u16(p + (t == INFER_TQ2_0 ? offsetof(struct tq2_0, d)
		                                             : offsetof(struct tq1_0, d))));
	return num_f16(num_u16(p)) * (t == INFER_IQ3_S     ? 1.0f
	                              : t == INFER_IQ3_XXS ? 0.25f
	                                                   : 0.125f);
}

/* Return 8 weights: a point with 8 signs. */
INLINE int8x8_t signed8(uint64_t point, int signs)
{
	const uint8x8_t bits = vcreate_u8(0x8040201008040201);
	uint8x8_t minus = vtst_u8(vdup_n_u8((uint8_t)signs), bits), x = vcreate_u8(point);

	return vreinterpret_s8_u8(vsub_u8(veor_u8(x, minus), minus));
}
/* Return 8 times a point plus its shift. */
INLINE int8x8_t shifted8(uint64_t point, int minus)
{
	return vadd_s8(vshl_n_s8(vcreate_s8(point), 3), vdup_n_s8(minus ? -1 : 1));
}

/* Return weights 8 g ... 8 g + 7. */
INLINE int8x8_t point_at(enum infer_type t, const uint8_t *p, int g)
{
	const uint8_t *at;

	switch (t) {
	case INFER_IQ2_XXS: {
		at = p + 2 + 8 * (g / 4);
		return signed8(grid_iq2_xxs[at[g % 4]],
		               grid_signs(num_u32(at + 4) >> 7 * (g % 4) & 127));
	}
	case INFER_IQ2_XS: {
		uint16_t q = num_u16(p + 2 + 2 * g);
		return signed8(grid_iq2_xs[q & 511], grid_signs(q >> 9));
	}
	case INFER_IQ2_S:
		return signed8(grid_iq2_s[p[2 + g] | (p[66 + g / 4] >> 2 * (g % 4) & 3) << 8],
		               p[34 + g]);
	case INFER_IQ3_XXS: {
		uint32_t aux = num_u32(p + 66 + 4 * (g / 4));
		at = p + 2 + 2 * g;
		return signed8(grid_iq3_xxs[at[0]] | (uint64_t)grid_iq3_xxs[at[1]] << 32,
		               grid_signs(aux >> 7 * (g % 4) & 127));
	}
	case INFER_IQ3_S: {
		int h = p[66 + g / 4] >> 2 * (g % 4);
		at = p + 2 + 2 * g;
		return signed8(grid_iq3_s[at[0] | (h & 1) << 8] |
		                       (uint64_t)grid_iq3_s[at[1] | (h >> 1 & 1) << 8] << 32,
		               p[74 + g]);
	}
	case INFER_IQ1_S: {
		uint16_t qh = num_u16(p + 34 + 2 * (g / 4));
		return shifted8(grid_iq1[p[2 + g] | (qh >> 3 * (g % 4) & 7) << 8], qh >> 15);
	}
	case INFER_IQ1_M: {
		int n = p[32 + g / 2] >> 4 * (g & 1) & 15;
		return shifted8(grid_iq1[p[g] | (n & 7) << 8], n >> 3);
	}
	default:
		kern_no_case();
	}
}

/* Return base-3 digit n of each of 16 bytes, minus 1: the top of 3 b after n multiplications by
 * 3 */
INLINE int8x16_t digit16(uint8x16_t b, int n)
{
	static const uint8_t power[5] = { 1, 3, 9, 27, 81 };
	uint8x16_t x = vmulq_u8(b, vdupq_n_u8(power[n])), three = vdupq_n_u8(3);
	uint8x8_t lo = vshrn_n_u16(vmull_u8(vget_low_u8(x), vget_low_u8(three)), 8);

	return less_n(vcombine_u8(lo, vshrn_n_u16(vmull_high_u8(x, three), 8)), 1);
}
/* Return weights 16 i ... 16 i + 15 of TQ1_0. */
INLINE int8x16_t ternary16(const uint8_t *p, int i)
{
	if (i < 10)
		return digit16(vld1q_u8(p + 16 * (i & 1)), i / 2);
	if (i < 15)
		return digit16(vld1q_u8(p + 32), i - 10);
	uint8_t b[16];
	for (int j = 0; j < 16; j++) {
		static const uint8_t power[4] = { 1, 3, 9, 27 };
		b[j] = (uint8_t)(p[48 + j % 4] * power[j / 4]);
	}
	return digit16(vld1q_u8(b), 0);
}

/* Unpack weights 64 i ... 64 i + 63 of a block of 256. */
INLINE void unpack_grid(enum infer_type t, int8x16_t s[4], const uint8_t *p, int i)
{
	uint8x16_t u[4];

	if (t == INFER_TQ2_0)
		unpack_k2(u, p, i);
	UNROLL
	for (int j = 0; j < 4; j++) {
		int g = 8 * i + 2 * j;
		if (t == INFER_TQ2_0)
			s[j] = less_n(u[j], 1);
		else if (t == INFER_TQ1_0)
			s[j] = ternary16(p, 4 * i + j);
		else
			s[j] = vcombine_s8(point_at(t, p, g), point_at(t, p, g + 1));
	}
}

/* Set s to S: 8 for 32 weights each, or 16 for 16 each. */
INLINE void grid_header(enum infer_type t, int16_t s[16], const uint8_t *p)
{
	for (int i = 0; i < (grid_by16(t) ? 16 : 8) && !is_ternary(t); i++) {
		int n;
		if (t == INFER_IQ2_XXS)
			n = p[2 + 8 * i + 7] >> 4;
		else if (t == INFER_IQ3_XXS)
			n = p[66 + 4 * i + 3] >> 4;
		else if (t == INFER_IQ2_XS || t == INFER_IQ2_S)
			n = p[(t == INFER_IQ2_S ? 74 : 66) + i / 2] >> 4 * (i & 1) & 15;
		else if (t == INFER_IQ3_S)
			n = p[106 + i / 2] >> 4 * (i & 1) & 15;
		else if (t == INFER_IQ1_S)
			n = num_u16(p + 34 + 2 * i) >> 12 & 7;
		else
			n = num_u16(p + 48 + 2 * (i / 4)) >> 3 * (i % 4) & 7;
		s[i] = (int16_t)(2 * n + 1);
	}
}
#endif
