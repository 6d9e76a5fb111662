/* kern/avx512/simd.h - the operations of ref/simd.h on one 512-bit register.  A wider folder that
 * includes this defines KERN_FN first. */
#ifndef KERN_AVX512_SIMD_H
#define KERN_AVX512_SIMD_H
#include <immintrin.h>
#include <stdint.h>
#include "kern/tmpl/decl.h"

typedef __m512 vf;
typedef __m512i vi;
enum { MM_R = 4, MM_T = 6, MM_W = 8, MM_PANEL = 32 };

static inline __mmask16 first(int n)
{
	return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1);
}

static inline vf v_set(float x) { return _mm512_set1_ps(x); }
static inline vf v_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
static inline vf v_loadn(const float *p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
static inline void v_storen(float *p, vf x, int n) { _mm512_mask_storeu_ps(p, first(n), x); }
static inline vf v_load_h(const uint16_t *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline vf v_loadn_h(const uint16_t *p, int n)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), p));
}
static inline vf bf16(__m256i h)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
static inline vf v_load_b(const uint16_t *p)
{
	return bf16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline vf v_loadn_b(const uint16_t *p, int n)
{
	return bf16(_mm256_maskz_loadu_epi16(first(n), p));
}
static inline void v_storen_h(uint16_t *p, vf x, int n)
{
	_mm256_mask_storeu_epi16(p, first(n), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline vf v_add(vf x, vf y) { return _mm512_add_ps(x, y); }
static inline vf v_sub(vf x, vf y) { return _mm512_sub_ps(x, y); }
static inline vf v_mul(vf x, vf y) { return _mm512_mul_ps(x, y); }
static inline vf v_div(vf x, vf y) { return _mm512_div_ps(x, y); }
static inline vf v_fma(vf x, vf y, vf z) { return _mm512_fmadd_ps(x, y, z); }
static inline vf v_max(vf x, vf y) { return _mm512_max_ps(x, y); }
static inline vf v_min(vf x, vf y) { return _mm512_min_ps(x, y); }
static inline vf v_keep(int n, vf x, vf y) { return _mm512_mask_mov_ps(y, first(n), x); }

static inline vi v_bits(vf x) { return _mm512_castps_si512(x); }
static inline vf v_from(vi x) { return _mm512_castsi512_ps(x); }
static inline vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
static inline vi vi_add(vi x, vi y) { return _mm512_add_epi32(x, y); }
static inline vi vi_sub(vi x, vi y) { return _mm512_sub_epi32(x, y); }
static inline vi vi_and(vi x, vi y) { return _mm512_and_si512(x, y); }
static inline vi vi_or(vi x, vi y) { return _mm512_or_si512(x, y); }
static inline vi vi_shl23(vi x) { return _mm512_slli_epi32(x, 23); }
static inline vi vi_sar1(vi x) { return _mm512_srai_epi32(x, 1); }
static inline vi vi_shr4(vi x) { return _mm512_srli_epi32(x, 4); }
static inline vi vi_shr8(vi x) { return _mm512_srli_epi32(x, 8); }
static inline vi vi_max(vi x, vi y) { return _mm512_max_epi32(x, y); }
static inline int32_t vi_hmax(vi x) { return _mm512_reduce_max_epi32(x); }
static inline vf v_int(vi x) { return _mm512_cvtepi32_ps(x); }
static inline vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void vi_store_s16(int16_t *p, vi x)
{
	_mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(x));
}
static inline vi vi_mac16(vi acc, vi x, vi y)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(x, y));
}
static inline __mmask16 v_lt(vf x, vf y) { return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ); }
static inline vf v_pick(__mmask16 m, vf x, vf y) { return _mm512_mask_mov_ps(y, m, x); }

static inline __m512 swap(__m512 x)
{
	return _mm512_permute_ps(x, 0x4e);
} /* swap the halves of each four lanes */

static inline float v_sum(vf x)
{
	__m512 a = _mm512_add_ps(x, _mm512_shuffle_f32x4(x, x, 0x4e));
	__m512 b = _mm512_add_ps(a, _mm512_shuffle_f32x4(a, a, 0xb1));

	b = _mm512_add_ps(b, swap(b));
	return _mm512_cvtss_f32(_mm512_add_ps(b, _mm512_movehdup_ps(b)));
}

static inline void v_sum4(float s[4], vf p, vf q, vf r, vf t)
{
	/* eight lanes of p | q, and of r | t; then four lanes of p | q | r | t */
	__m512 a =
		_mm512_add_ps(_mm512_shuffle_f32x4(p, q, 0x44), _mm512_shuffle_f32x4(p, q, 0xee));
	__m512 b =
		_mm512_add_ps(_mm512_shuffle_f32x4(r, t, 0x44), _mm512_shuffle_f32x4(r, t, 0xee));
	__m512 c =
		_mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));

	c = _mm512_add_ps(c, swap(c));
	c = _mm512_add_ps(c, _mm512_movehdup_ps(c));
	/* through a register: compressing to memory is microcoded on some processors */
	_mm_storeu_ps(s, _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, c)));
}

static inline float v_hmax(vf x) { return _mm512_reduce_max_ps(x); }
INLINE void v_prefetch(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T0); }
INLINE void v_prefetch_far(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T1); }
#endif
