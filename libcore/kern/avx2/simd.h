/* kern/avx2/simd.h - the operations of ref/simd.h on two 256-bit registers: lanes 0-7, lanes 8-15. */
#ifndef KERN_AVX2_SIMD_H
#define KERN_AVX2_SIMD_H
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include "kern/tmpl/decl.h"

typedef struct {
	__m256 a, b;
} vf;
typedef struct {
	__m256i a, b;
} vi;
enum { MM_R = 2, MM_T = 3, MM_W = 4, MM_PANEL = 16 };

static inline vf v_set(float x) { return (vf){ _mm256_set1_ps(x), _mm256_set1_ps(x) }; }
static inline vf v_load(const float *p)
{
	return (vf){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}
static inline void v_store(float *p, vf x)
{
	_mm256_storeu_ps(p, x.a);
	_mm256_storeu_ps(p + 8, x.b);
}

/* Return the mask of the first n lanes: -1 there, else 0. */
static inline vi first(int n)
{
	const __m256i i = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return (vi){ _mm256_cmpgt_epi32(_mm256_set1_epi32(n), i),
		     _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), i) };
}

static inline vf v_loadn(const float *p, int n)
{
	vi m = first(n);

	return (vf){ _mm256_maskload_ps(p, m.a),
		     n > 8 ? _mm256_maskload_ps(p + 8, m.b) : _mm256_setzero_ps() };
}

static inline void v_storen(float *p, vf x, int n)
{
	vi m = first(n);

	_mm256_maskstore_ps(p, m.a, x.a);
	if (n > 8)
		_mm256_maskstore_ps(p + 8, m.b, x.b);
}

static inline vf v_load_h(const uint16_t *p)
{
	return (vf){ _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)),
		     _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 8))) };
}

static inline vf v_load_b(const uint16_t *p)
{
	__m256i a = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
	__m256i b = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p + 8)));

	return (vf){ _mm256_castsi256_ps(_mm256_slli_epi32(a, 16)),
		     _mm256_castsi256_ps(_mm256_slli_epi32(b, 16)) };
}

static inline vf v_loadn_h(const uint16_t *p, int n)
{
	uint16_t t[16] = { 0 };

	memcpy(t, p, (size_t)n * 2);
	return v_load_h(t);
}

static inline vf v_loadn_b(const uint16_t *p, int n)
{
	uint16_t t[16] = { 0 };

	memcpy(t, p, (size_t)n * 2);
	return v_load_b(t);
}

static inline void v_storen_h(uint16_t *p, vf x, int n)
{
	uint16_t t[16];

	_mm_storeu_si128((__m128i *)(void *)t, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
	_mm_storeu_si128((__m128i *)(void *)(t + 8),
	                 _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
	memcpy(p, t, (size_t)n * 2);
}

#define V2(name, type, op) \
	static inline type name(type x, type y) { return (type){ op(x.a, y.a), op(x.b, y.b) }; }
V2(v_add, vf, _mm256_add_ps)
V2(v_sub, vf, _mm256_sub_ps)
V2(v_mul, vf, _mm256_mul_ps)
V2(v_div, vf, _mm256_div_ps)
V2(v_max, vf, _mm256_max_ps)
V2(v_min, vf, _mm256_min_ps)
V2(vi_add, vi, _mm256_add_epi32)
V2(vi_sub, vi, _mm256_sub_epi32)
V2(vi_and, vi, _mm256_and_si256)
V2(vi_or, vi, _mm256_or_si256)
V2(vi_max, vi, _mm256_max_epi32)
#undef V2
static inline vf v_fma(vf x, vf y, vf z)
{
	return (vf){ _mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b) };
}

static inline vi v_bits(vf x) { return (vi){ _mm256_castps_si256(x.a), _mm256_castps_si256(x.b) }; }
static inline vf v_from(vi x) { return (vf){ _mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b) }; }
static inline vi vi_set(int32_t x) { return (vi){ _mm256_set1_epi32(x), _mm256_set1_epi32(x) }; }
#define V2_BY(name, op, bits) \
	static inline vi name(vi x) { return (vi){ op(x.a, bits), op(x.b, bits) }; }
V2_BY(vi_shl23, _mm256_slli_epi32, 23)
V2_BY(vi_sar1, _mm256_srai_epi32, 1)
V2_BY(vi_shr4, _mm256_srli_epi32, 4)
V2_BY(vi_shr8, _mm256_srli_epi32, 8)
#undef V2_BY
static inline int32_t vi_hmax(vi x)
{
	__m256i a = _mm256_max_epi32(x.a, x.b);
	__m128i b = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));

	b = _mm_max_epi32(b, _mm_shuffle_epi32(b, 0x4e));
	return _mm_cvtsi128_si32(_mm_max_epi32(b, _mm_shuffle_epi32(b, 0xb1)));
}
static inline vf v_int(vi x) { return (vf){ _mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b) }; }
static inline vi vi_load(const void *p)
{
	return (vi){ _mm256_loadu_si256((const __m256i *)p),
		     _mm256_loadu_si256((const __m256i *)p + 1) };
}
static inline void vi_store_s16(int16_t *p, vi x)
{
	__m256i t = _mm256_packs_epi32(x.a, x.b);

	_mm256_storeu_si256((__m256i *)(void *)p, _mm256_permute4x64_epi64(t, 0xd8));
}
static inline vi vi_mac16(vi acc, vi x, vi y)
{
	return (vi){ _mm256_add_epi32(acc.a, _mm256_madd_epi16(x.a, y.a)),
		     _mm256_add_epi32(acc.b, _mm256_madd_epi16(x.b, y.b)) };
}
static inline vi v_lt(vf x, vf y)
{
	return v_bits(
		(vf){ _mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ) });
}
static inline vf v_pick(vi m, vf x, vf y)
{
	vf f = v_from(m);

	return (vf){ _mm256_blendv_ps(y.a, x.a, f.a), _mm256_blendv_ps(y.b, x.b, f.b) };
}
static inline vf v_keep(int n, vf x, vf y) { return v_pick(first(n), x, y); }

static inline float v_sum(vf x)
{
	__m256 a = _mm256_add_ps(x.a, x.b);
	__m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

	b = _mm_add_ps(b, _mm_movehl_ps(b, b));
	return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

static inline void v_sum4(float s[4], vf p, vf q, vf r, vf t)
{
	__m256 a = _mm256_add_ps(p.a, p.b), b = _mm256_add_ps(q.a, q.b),
	       c = _mm256_add_ps(r.a, r.b), d = _mm256_add_ps(t.a, t.b);
	/* four lanes of p | q, and of r | t */
	__m256 u = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20),
	                         _mm256_permute2f128_ps(a, b, 0x31));
	__m256 v = _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20),
	                         _mm256_permute2f128_ps(c, d, 0x31));
	/* two lanes of p, r | q, t */
	__m256 w = _mm256_add_ps(_mm256_shuffle_ps(u, v, 0x44), _mm256_shuffle_ps(u, v, 0xee));

	w = _mm256_add_ps(w, _mm256_movehdup_ps(w));
	__m128 lo = _mm256_castps256_ps128(w), hi = _mm256_extractf128_ps(w, 1);
	_mm_storeu_ps(s, _mm_shuffle_ps(_mm_unpacklo_ps(lo, hi), _mm_unpackhi_ps(lo, hi), 0x44));
}

static inline float v_hmax(vf x)
{
	__m256 a = _mm256_max_ps(x.a, x.b);
	__m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

	b = _mm_max_ps(b, _mm_movehl_ps(b, b));
	return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}
INLINE void v_prefetch(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T0); }
INLINE void v_prefetch_far(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T1); }
#endif
