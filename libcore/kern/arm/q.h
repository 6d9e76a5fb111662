/* kern/arm/q.h - unpack quantised blocks in 128-bit registers (neon folders); layouts: ref/mm_q32.c
 * and ref/mm_q256.c.  Weights are unpacked to signed bytes with their zero point subtracted.  The
 * folder's int.h includes this after <arm_neon.h> and KERN_FN, and adds its own dot products. */
#ifndef KERN_ARM_Q_H
#define KERN_ARM_Q_H
#include "kern/tmpl/q.h"

INLINE uint8x16_t low4(uint8x16_t x) { return vandq_u8(x, vdupq_n_u8(15)); }
INLINE int8x16_t less_n(uint8x16_t x, int8_t n)
{
	return vsubq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(n));
}
/* Return byte i = 16 if bit i of the 16 bits at p is set, else 0. */
INLINE uint8x16_t fifth(const uint8_t *p)
{
	static const uint8_t bits[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128
	};
	uint8x16_t x = vcombine_u8(vdup_n_u8(p[0]), vdup_n_u8(p[1]));

	return vandq_u8(vtstq_u8(x, vld1q_u8(bits)), vdupq_n_u8(16));
}

/* Unpack the 32 weights of group g of a block; g is 0 in blocks of 32. */
INLINE void unpack32(enum infer_type t, int8x16_t u[2], const uint8_t *p, int g)
{
	const uint8_t *at = p + (block_bytes(t) - 16);
	uint8x16_t b, lo, hi;

	if (t == INFER_Q8_0 || t == INFER_Q8_F) {
		at = p + (t == INFER_Q8_0 ? 2 : 8 + 32 * g);
		u[0] = vld1q_s8((const int8_t *)at);
		u[1] = vld1q_s8((const int8_t *)at + 16);
		return;
	}
	if (t == INFER_NVFP4_F) {
		UNROLL
		for (int i = 0; i < 2; i++) {
			uint8x8_t v = vld1_u8(p + 8 + 16 * g + 8 * i);
			uint8x16_t n = vcombine_u8(vand_u8(v, vdup_n_u8(15)), vshr_n_u8(v, 4));
			u[i] = vqtbl1q_s8(vld1q_s8(grid_fp4), n);
		}
		return;
	}
	if (t == INFER_Q4_F) {
		const int8x16_t by = vdupq_n_s8((int8_t)(-4 * g));
		UNROLL
		for (int i = 0; i < 2; i++)
			u[i] = less_n(low4(vshlq_u8(vld1q_u8(p + 8 + 16 * i), by)), 8);
		return;
	}
	b = vld1q_u8(at);
	lo = low4(b);
	hi = vshrq_n_u8(b, 4);
	if (t == INFER_Q5_0 || t == INFER_Q5_1) {
		lo = vorrq_u8(lo, fifth(at - 4));
		hi = vorrq_u8(hi, fifth(at - 2));
	}
	if (t == INFER_IQ4_NL || t == INFER_MXFP4) {
		int8x16_t of = vld1q_s8(t == INFER_IQ4_NL ? grid_iq4 : grid_fp4);
		u[0] = vqtbl1q_s8(of, lo);
		u[1] = vqtbl1q_s8(of, hi);
		return;
	}
	u[0] = less_n(lo, (int8_t)q_zero(t));
	u[1] = less_n(hi, (int8_t)q_zero(t));
}

/* Load the f16 at p of 4 rows. */
INLINE float32x4_t f16x4(const uint8_t *p, size_t stride)
{
	const uint64_t h = num_u16(p) | (uint64_t)num_u16(p + stride) << 16 |
	                   (uint64_t)num_u16(p + 2 * stride) << 32 |
	                   (uint64_t)num_u16(p + 3 * stride) << 48;

	return vcvt_f32_f16(vcreate_f16(h));
}
/* Load the f32 at p of 4 rows. */
INLINE float32x4_t f32x4(const uint8_t *p, size_t stride)
{
	const float d[4] = { block_f32(p), block_f32(p + stride), block_f32(p + 2 * stride),
		             block_f32(p + 3 * stride) };

	return vld1q_f32(d);
}
INLINE float32x4_t scales32(enum infer_type t, const uint8_t *p, size_t stride)
{
	if (q_wide(t))
		return f32x4(p, stride);
	if (t != INFER_MXFP4)
		return f16x4(p, stride);
	const float d[4] = { num_e8m0(p[0]) * 0.5f, num_e8m0(p[stride]) * 0.5f,
		             num_e8m0(p[2 * stride]) * 0.5f, num_e8m0(p[3 * stride]) * 0.5f };
	return vld1q_f32(d);
}
INLINE float32x4_t minima32(enum infer_type t, const uint8_t *p, size_t stride)
{
	return q_wide(t) ? f32x4(p + 4, stride) : f16x4(p + 2, stride);
}
/* NVFP4_F: return d times half of the i-th scale of a block. */
INLINE float scale16_at(const uint8_t *p, int i)
{
	return block_f32(p) * block_half_e4m3(p[4 + i] & 127);
}
INLINE float32x4_t scales16(const uint8_t *p, size_t stride, int i)
{
	const float d[4] = { scale16_at(p, i), scale16_at(p + stride, i),
		             scale16_at(p + 2 * stride, i), scale16_at(p + 3 * stride, i) };

	return vld1q_f32(d);
}
/* Return float i of group g of a block.  They are d and, with minima, m; or two scales. */
INLINE float field_at(enum infer_type t, const uint8_t *p, int g, int i)
{
	if (q_halves(t))
		return scale16_at(p, 2 * g + i);
	if (q_wide(t))
		return block_f32(p + 4 * i);
	return t == INFER_MXFP4 ? num_e8m0(*p) * 0.5f : num_f16(num_u16(p + 2 * i));
}

/* The following functions unpack weights 64 i ... 64 i + 63 of a block of 256. */
INLINE void unpack_k4(uint8x16_t u[4], const uint8_t *qs, int i)
{
	uint8x16_t a = vld1q_u8(qs + 32 * i), b = vld1q_u8(qs + 32 * i + 16);

	u[0] = low4(a);
	u[1] = low4(b);
	u[2] = vshrq_n_u8(a, 4);
	u[3] = vshrq_n_u8(b, 4);
}
/* Move bit `from` of every byte to bit `to`. */
INLINE uint8x16_t move_bit(uint8x16_t x, int from, int to)
{
	int8x16_t by = vdupq_n_s8((int8_t)(to - from));

	return vandq_u8(vshlq_u8(x, by), vdupq_n_u8((uint8_t)(1 << to)));
}
INLINE void unpack_k5(uint8x16_t u[4], const uint8_t *qh, const uint8_t *qs, int i)
{
	uint8x16_t a = vld1q_u8(qh), b = vld1q_u8(qh + 16);

	unpack_k4(u, qs, i);
	u[0] = vorrq_u8(u[0], move_bit(a, 2 * i, 4));
	u[1] = vorrq_u8(u[1], move_bit(b, 2 * i, 4));
	u[2] = vorrq_u8(u[2], move_bit(a, 2 * i + 1, 4));
	u[3] = vorrq_u8(u[3], move_bit(b, 2 * i + 1, 4));
}
/* Return bits 2 j and 2 j + 1 of every byte. */
INLINE uint8x16_t bits2(uint8x16_t x, int j)
{
	return vandq_u8(vshlq_u8(x, vdupq_n_s8((int8_t)(-2 * j))), vdupq_n_u8(3));
}
INLINE void unpack_k6(uint8x16_t u[4], const uint8_t *ql, const uint8_t *qh, int i)
{
	/* i even: the low nibbles of 64 bytes; odd: the high ones */
	const uint8_t *l = ql + 64 * (i / 2), *h = qh + 32 * (i / 2);

	UNROLL
	for (int j = 0; j < 4; j++) {
		uint8x16_t x = vld1q_u8(l + 16 * j);
		uint8x16_t t = bits2(vld1q_u8(h + 16 * (j & 1)), 2 * (i & 1) + j / 2);
		u[j] = vorrq_u8(i & 1 ? vshrq_n_u8(x, 4) : low4(x), vshlq_n_u8(t, 4));
	}
}
INLINE void unpack_k2(uint8x16_t u[4], const uint8_t *qs, int i)
{
	UNROLL
	for (int j = 0; j < 4; j++)
		u[j] = bits2(vld1q_u8(qs + 32 * (i / 2) + 16 * (j & 1)), 2 * (i & 1) + j / 2);
}
INLINE void unpack_k3(uint8x16_t u[4], const uint8_t *hm, const uint8_t *qs, int i)
{
	unpack_k2(u, qs, i);
	UNROLL
	for (int j = 0; j < 4; j++)
		u[j] = vorrq_u8(u[j], move_bit(vld1q_u8(hm + 16 * (j & 1)), 2 * i + j / 2, 2));
}

#include "kern/arm/grid.h"

/* properties of all blocks of 256, codebook or not */
INLINE int by16(enum infer_type t) { return is_grid(t) ? grid_by16(t) : q_by16(t); }
INLINE float scale256(enum infer_type t, const uint8_t *p)
{
	return is_grid(t) ? grid_scale(t, p) : num_f16(num_u16(p + q_scale_at(t)));
}

INLINE void unpack256(enum infer_type t, int8x16_t s[4], const uint8_t *p, int i)
{
	uint8x16_t u[4];

	if (is_grid(t)) {
		unpack_grid(t, s, p, i);
		return;
	}
	switch (t) {
	case INFER_Q4_K:
		unpack_k4(u, p + 16, i);
		break;
	case INFER_Q5_K:
		unpack_k5(u, p + 16, p + 48, i);
		break;
	case INFER_Q6_K:
		unpack_k6(u, p, p + 128, i);
		break;
	case INFER_Q2_K:
		unpack_k2(u, p + 16, i);
		break;
	case INFER_Q3_K:
		unpack_k3(u, p, p + 32, i);
		break;
	case INFER_IQ4_XS:
		UNROLL
		for (int j = 0; j < 2; j++) {
			uint8x16_t n = vld1q_u8(p + 8 + 32 * i + 16 * j);
			s[2 * j] = vqtbl1q_s8(vld1q_s8(grid_iq4), low4(n));
			s[2 * j + 1] = vqtbl1q_s8(vld1q_s8(grid_iq4), vshrq_n_u8(n, 4));
		}
		return;
	default:
		kern_no_case();
	}
	UNROLL
	for (int j = 0; j < 4; j++)
		s[j] = less_n(u[j], (int8_t)q_zero(t));
}

/* Scales and minima of a block, 8 for 32 weights each or 16 for 16 each; the minima in the order of
 * the sums in kern_q8k. */
struct header {
	int16_t s[16], m[16];
};
INLINE void header_k4(struct header *h, const uint8_t *sc)
{
	uint32_t a = num_u32(sc), b = num_u32(sc + 4), c = num_u32(sc + 8);
	const uint32_t six = 0x3f3f3f3f, low = 0x0f0f0f0f, top = 0x30303030;
	uint64_t s = (a & six) | (uint64_t)((c & low) | (a >> 2 & top)) << 32;
	uint64_t m = (b & six) | (uint64_t)((c >> 4 & low) | (b >> 2 & top)) << 32;
	/* 0 2 1 3, 4 6 5 7 */
	const uint8x8_t order = vcreate_u8(0x0705060403010200);

	vst1q_s16(h->s, vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(s))));
	vst1q_s16(h->m, vreinterpretq_s16_u16(vmovl_u8(vtbl1_u8(vcreate_u8(m), order))));
}
INLINE void header_k3(struct header *h, const uint8_t *sc)
{
	uint32_t a = num_u32(sc), b = num_u32(sc + 4), c = num_u32(sc + 8);
	const uint32_t low = 0x0f0f0f0f, top = 0x30303030;
	uint64_t s0 = ((a & low) | (c << 4 & top)) | (uint64_t)((b & low) | (c << 2 & top)) << 32;
	uint64_t s1 = ((a >> 4 & low) | (c & top)) | (uint64_t)((b >> 4 & low) | (c >> 2 & top))
	                                                     << 32;
	const int16x8_t less = vdupq_n_s16(32);

	vst1q_s16(h->s, vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(s0))), less));
	vst1q_s16(h->s + 8, vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(s1))), less));
}
INLINE void header_get(enum infer_type t, struct header *h, const uint8_t *p)
{
	if (is_grid(t)) {
		grid_header(t, h->s, p);
		return;
	}
	switch (t) {
	case INFER_Q4_K:
	case INFER_Q5_K:
		header_k4(h, p + 4);
		break;
	case INFER_Q2_K: {
		uint8x16_t x = vld1q_u8(p), s = low4(x), m = vshrq_n_u8(x, 4);
		vst1q_s16(h->s, vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(s))));
		vst1q_s16(h->s + 8, vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(s))));
		vst1q_s16(h->m, vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(vuzp1q_u8(m, m)))));
		vst1q_s16(h->m + 8, vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(vuzp2q_u8(m, m)))));
		break;
	}
	case INFER_Q6_K: {
		int8x16_t s = vld1q_s8((const int8_t *)p + 192);
		vst1q_s16(h->s, vmovl_s8(vget_low_s8(s)));
		vst1q_s16(h->s + 8, vmovl_s8(vget_high_s8(s)));
		break;
	}
	case INFER_Q3_K:
		header_k3(h, p + 96);
		break;
	case INFER_IQ4_XS:
		for (int c = 0; c < 8; c++)
			h->s[c] = (int16_t)(((p[4 + c / 2] >> 4 * (c & 1) & 15) |
			                     (num_u16(p + 2) >> 2 * c & 3) << 4) -
			                    32);
		break;
	default:
		kern_no_case();
	}
}
#endif
