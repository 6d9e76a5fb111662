/* kern/neon/simd.h - the operations of ref/simd.h on four 128-bit registers: lanes 0-3, 4-7, 8-11,
 * 12-15. */
#ifndef KERN_NEON_SIMD_H
#define KERN_NEON_SIMD_H
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>
#include "kern/tmpl/decl.h"

typedef struct {
	float32x4_t a, b, c, d;
} vf;
typedef struct {
	int32x4_t a, b, c, d;
} vi; /* also a mask: -1 or 0 in each lane */
enum { MM_R = 2, MM_T = 2, MM_W = 4, MM_PANEL = 16 };

static inline vf v_set(float x)
{
	float32x4_t v = vdupq_n_f32(x);

	return (vf){ v, v, v, v };
}
static inline vf v_load(const float *p)
{
	return (vf){ vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12) };
}
static inline void v_store(float *p, vf x)
{
	vst1q_f32(p, x.a);
	vst1q_f32(p + 4, x.b);
	vst1q_f32(p + 8, x.c);
	vst1q_f32(p + 12, x.d);
}
#define LOADN(name, type, load) \
	static inline vf name(const type *p, int n) \
	{ \
		type t[16] = { 0 }; \
		memcpy(t, p, (size_t)n * sizeof *t); \
		return load(t); \
	}
LOADN(v_loadn, float, v_load)
static inline void v_storen(float *p, vf x, int n)
{
	float t[16];

	v_store(t, x);
	memcpy(p, t, (size_t)n * 4);
}

static inline float32x4_t f16_lo(uint16x8_t h)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(h)));
}
static inline float32x4_t f16_hi(uint16x8_t h)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(h)));
}
static inline vf v_load_h(const uint16_t *p)
{
	uint16x8_t x = vld1q_u16(p), y = vld1q_u16(p + 8);

	return (vf){ f16_lo(x), f16_hi(x), f16_lo(y), f16_hi(y) };
}
static inline float32x4_t bf16_4(uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); }
static inline vf v_load_b(const uint16_t *p)
{
	uint16x8_t x = vld1q_u16(p), y = vld1q_u16(p + 8);

	return (vf){ bf16_4(vget_low_u16(x)), bf16_4(vget_high_u16(x)), bf16_4(vget_low_u16(y)),
		     bf16_4(vget_high_u16(y)) };
}
LOADN(v_loadn_h, uint16_t, v_load_h)
LOADN(v_loadn_b, uint16_t, v_load_b)
#undef LOADN
static inline void v_storen_h(uint16_t *p, vf x, int n)
{
	uint16_t t[16];

	vst1_u16(t, vreinterpret_u16_f16(vcvt_f16_f32(x.a)));
	vst1_u16(t + 4, vreinterpret_u16_f16(vcvt_f16_f32(x.b)));
	vst1_u16(t + 8, vreinterpret_u16_f16(vcvt_f16_f32(x.c)));
	vst1_u16(t + 12, vreinterpret_u16_f16(vcvt_f16_f32(x.d)));
	memcpy(p, t, (size_t)n * 2);
}

static inline float32x4_t larger(float32x4_t x, float32x4_t y)
{
	return vbslq_f32(vcgtq_f32(x, y), x, y);
}
static inline float32x4_t smaller(float32x4_t x, float32x4_t y)
{
	return vbslq_f32(vcltq_f32(x, y), x, y);
}
#define V4(name, type, op) \
	static inline type name(type x, type y) \
	{ \
		return (type){ op(x.a, y.a), op(x.b, y.b), op(x.c, y.c), op(x.d, y.d) }; \
	}
V4(v_add, vf, vaddq_f32)
V4(v_sub, vf, vsubq_f32)
V4(v_mul, vf, vmulq_f32)
V4(v_div, vf, vdivq_f32)
V4(v_max, vf, larger)
V4(v_min, vf, smaller)
V4(vi_add, vi, vaddq_s32)
V4(vi_sub, vi, vsubq_s32)
V4(vi_and, vi, vandq_s32)
V4(vi_or, vi, vorrq_s32)
#undef V4
static inline vf v_fma(vf x, vf y, vf z)
{
	return (vf){ vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
		     vfmaq_f32(z.d, x.d, y.d) };
}

#define V1(name, to, from, op) \
	static inline to name(from x) { return (to){ op(x.a), op(x.b), op(x.c), op(x.d) }; }
#define SHL23(x) vshlq_n_s32(x, 23)
#define SAR1(x) vshrq_n_s32(x, 1)
V1(v_bits, vi, vf, vreinterpretq_s32_f32)
V1(v_from, vf, vi, vreinterpretq_f32_s32)
V1(vi_shl23, vi, vi, SHL23)
V1(vi_sar1, vi, vi, SAR1)
#undef V1
#undef SHL23
#undef SAR1
static inline vi vi_set(int32_t x)
{
	int32x4_t v = vdupq_n_s32(x);

	return (vi){ v, v, v, v };
}
static inline int32x4_t less(float32x4_t x, float32x4_t y)
{
	return vreinterpretq_s32_u32(vcltq_f32(x, y));
}
static inline vi v_lt(vf x, vf y)
{
	return (vi){ less(x.a, y.a), less(x.b, y.b), less(x.c, y.c), less(x.d, y.d) };
}
static inline float32x4_t pick(int32x4_t m, float32x4_t x, float32x4_t y)
{
	return vbslq_f32(vreinterpretq_u32_s32(m), x, y);
}
static inline vf v_pick(vi m, vf x, vf y)
{
	return (vf){ pick(m.a, x.a, y.a), pick(m.b, x.b, y.b), pick(m.c, x.c, y.c),
		     pick(m.d, x.d, y.d) };
}
static inline vf v_keep(int n, vf x, vf y)
{
	static const int32_t lanes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	const int32x4_t m = vdupq_n_s32(n);

	return (vf){ vbslq_f32(vcltq_s32(vld1q_s32(lanes), m), x.a, y.a),
		     vbslq_f32(vcltq_s32(vld1q_s32(lanes + 4), m), x.b, y.b),
		     vbslq_f32(vcltq_s32(vld1q_s32(lanes + 8), m), x.c, y.c),
		     vbslq_f32(vcltq_s32(vld1q_s32(lanes + 12), m), x.d, y.d) };
}

/* Add lanes i, i + 4, i + 8, i + 12 in the order of kern_sum16. */
static inline float32x4_t fold(vf x) { return vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d)); }
static inline float v_sum(vf x)
{
	float32x4_t b = fold(x);
	float32x2_t c = vadd_f32(vget_low_f32(b), vget_high_f32(b));

	return vaddv_f32(c);
}
static inline void v_sum4(float s[4], vf p, vf q, vf r, vf t)
{
	float32x4_t a = fold(p), b = fold(q), c = fold(r), d = fold(t);
	/* lanes 0 + 2, 1 + 3 of p | q, and of r | t */
	float64x2_t u = vreinterpretq_f64_f32(a), v = vreinterpretq_f64_f32(b),
		    w = vreinterpretq_f64_f32(c), x = vreinterpretq_f64_f32(d);
	float32x4_t e = vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(u, v)),
	                          vreinterpretq_f32_f64(vtrn2q_f64(u, v)));
	float32x4_t f = vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(w, x)),
	                          vreinterpretq_f32_f64(vtrn2q_f64(w, x)));

	vst1q_f32(s, vpaddq_f32(e, f));
}

static inline float v_hmax(vf x)
{
	return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.a, x.b), vmaxq_f32(x.c, x.d)));
}
#include "kern/neon/pairs.h"
static inline void v_prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }
static inline void v_prefetch_far(const void *p) { __builtin_prefetch(p, 0, 2); }
#endif
