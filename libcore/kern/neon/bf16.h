/* kern/neon/bf16.h - vector operations of tmpl/mm_bf16.h.  The processor's mode for subnormal
 * numbers tests results before rounding, unlike x86, so it is not used: results are checked. */
#ifndef KERN_NEON_BF16_H
#define KERN_NEON_BF16_H
#include "kern/neon/simd.h"

enum { BF_T = 4, BF_ROWS_T = 4, BF_G = 1, V_FLUSHES = 0 };

static inline unsigned v_flush_begin(void) { return 0; }
static inline void v_flush_end(unsigned mode) { (void)mode; }

#define V4(name, op) \
	static inline vi name(vi x) { return (vi){ op(x.a), op(x.b), op(x.c), op(x.d) }; }
#define SHL16(x) vshlq_n_s32(x, 16)
V4(vi_shl16, SHL16)
#undef SHL16
#undef V4
static inline void vi_store(void *p, vi x)
{
	vst1q_s32((int32_t *)p, x.a);
	vst1q_s32((int32_t *)p + 4, x.b);
	vst1q_s32((int32_t *)p + 8, x.c);
	vst1q_s32((int32_t *)p + 12, x.d);
}

/* The least of 2 |bits| - 1: at most 2^24 - 1 for numbers up to 2^-126 that are not zero. */
static inline uint32x4_t low_of(uint32x4_t low, float32x4_t x)
{
	uint32x4_t u = vshlq_n_u32(vreinterpretq_u32_f32(x), 1);

	return vminq_u32(low, vsubq_u32(u, vdupq_n_u32(1)));
}
typedef uint32x4_t v_low_t;
static inline v_low_t v_low_none(void) { return vdupq_n_u32(UINT32_MAX); }
static inline v_low_t v_low(v_low_t low, vf x)
{
	return low_of(low_of(low_of(low_of(low, x.a), x.b), x.c), x.d);
}
static inline int v_is_low(v_low_t low) { return vminvq_u32(low) < 1u << 24; }

static inline int32x4_t round_b(float32x4_t x)
{
	const uint32x4_t abs = vdupq_n_u32(0x7fffffff), top = vdupq_n_u32(0xffff0000);
	uint32x4_t u = vreinterpretq_u32_f32(x),
		   odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
	uint32x4_t r = vaddq_u32(u, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
	uint32x4_t nan = vcgtq_u32(vandq_u32(u, abs), vdupq_n_u32(0x7f800000));

	r = vandq_u32(vbslq_u32(nan, vorrq_u32(u, vdupq_n_u32(0x400000)), r), top);
	uint32x4_t low = vcltq_u32(vandq_u32(r, abs), vdupq_n_u32(0x00800000));
	return vreinterpretq_s32_u32(vbicq_u32(r, vandq_u32(low, abs)));
}
/* Return the bits of x rounded to bf16, ties to even; subnormal numbers become zeros. */
static inline vi v_round_b(vf x)
{
	return (vi){ round_b(x.a), round_b(x.b), round_b(x.c), round_b(x.d) };
}
static inline int32x4_t pack_b(int32x4_t x, int32x4_t y)
{
	return vreinterpretq_s32_u16(
		vuzp2q_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
}
/* Return the high halves of the lanes of a, then of b. */
static inline vi vi_pack_b(vi a, vi b)
{
	return (vi){ pack_b(a.a, a.b), pack_b(a.c, a.d), pack_b(b.a, b.b), pack_b(b.c, b.d) };
}

static inline int32x4_t pairs_1(int32x4_t x, int32x4_t y)
{
	return vreinterpretq_s32_s64(
		vtrn1q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}
static inline int32x4_t pairs_2(int32x4_t x, int32x4_t y)
{
	return vreinterpretq_s32_s64(
		vtrn2q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}
/* Transpose: exchange lane i of w[j] and lane j of w[i]. */
static inline void turn_4(int32x4_t *w)
{
	int32x4_t a = vtrn1q_s32(w[0], w[1]), b = vtrn2q_s32(w[0], w[1]),
		  c = vtrn1q_s32(w[2], w[3]), d = vtrn2q_s32(w[2], w[3]);

	w[0] = pairs_1(a, c);
	w[1] = pairs_1(b, d);
	w[2] = pairs_2(a, c);
	w[3] = pairs_2(b, d);
}
INLINE void vi_turn(vi w[16])
{
	int32x4_t part[4][4][4]; /* [rows / 4][lanes / 4][4] */

	UNROLL
	for (int i = 0; i < 16; i++) {
		part[i / 4][0][i % 4] = w[i].a;
		part[i / 4][1][i % 4] = w[i].b;
		part[i / 4][2][i % 4] = w[i].c;
		part[i / 4][3][i % 4] = w[i].d;
	}
	UNROLL
	for (int i = 0; i < 16; i++)
		turn_4(part[i / 4][i % 4]);
	UNROLL
	for (int i = 0; i < 16; i++)
		w[i] = (vi){ part[0][i / 4][i % 4], part[1][i / 4][i % 4], part[2][i / 4][i % 4],
			     part[3][i / 4][i % 4] };
}
#endif
