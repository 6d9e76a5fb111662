/* kern/avx512vnni/int.h - integer operations of the quantised products: rows on 256 bits, panels on
 * 512.  wi, wf: NR rows of a panel.  One instruction adds 4 products of bytes, for any unsigned
 * byte.  So signed weights are packed with the top bit flipped, and 128 sum(x) is subtracted. */
#ifndef KERN_AVX512VNNI_INT_H
#define KERN_AVX512VNNI_INT_H
#include <immintrin.h>
#include "kern/x86/q.h"

typedef __m512i wi;
typedef __m512 wf;
enum { LANES = 16, H = 2, NR = LANES * H, TILE_T = 6, FLIP = 128 };
/* weight rows of a band of the skinny kernels */
enum { SKINNY_BAND = 48 };

/* Return sums of 4 products; u unsigned, x signed. */
INLINE __m256i dot_us(__m256i u, __m256i x)
{
	return _mm256_dpbusd_epi32(_mm256_setzero_si256(), u, x);
}
/* Return acc + sums of 4 products. */
INLINE __m256i dot_add(__m256i acc, __m256i u, __m256i x) { return _mm256_dpbusd_epi32(acc, u, x); }
/* Return acc + sums of 2 products. */
INLINE __m256i mac16(__m256i acc, __m256i a, __m256i b) { return _mm256_dpwssd_epi32(acc, a, b); }

INLINE wi wi_set(int32_t x) { return _mm512_set1_epi32(x); }
INLINE wi wi_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE wi wi_dot(wi acc, wi u, wi x) { return _mm512_dpbusd_epi32(acc, u, x); }
INLINE wi wi_dot_ws(wi acc, wi w, wi x) { return _mm512_dpbusd_epi32(acc, w, x); }
INLINE wi wi_mac16(wi acc, wi a, wi b) { return _mm512_dpwssd_epi32(acc, a, b); }
INLINE wi wi_add(wi a, wi b) { return _mm512_add_epi32(a, b); }
INLINE wi wi_sub(wi a, wi b) { return _mm512_sub_epi32(a, b); }
INLINE wi wi_mul(wi a, wi b) { return _mm512_mullo_epi32(a, b); }
#define wi_shl(a, n) _mm512_slli_epi32(a, n)
INLINE wf wf_set(float x) { return _mm512_set1_ps(x); }
INLINE wf wf_load(const void *p) { return _mm512_loadu_ps(p); }
INLINE wf wf_mul(wf a, wf b) { return _mm512_mul_ps(a, b); }
INLINE wf wf_add(wf a, wf b) { return _mm512_add_ps(a, b); }
INLINE wf wf_sub(wf a, wf b) { return _mm512_sub_ps(a, b); }
INLINE wf wf_fma(wf a, wf b, wf c) { return _mm512_fmadd_ps(a, b, c); }
INLINE wf wf_fnma(wf a, wf b, wf c) { return _mm512_fnmadd_ps(a, b, c); }
INLINE wf wf_from(wi a) { return _mm512_cvtepi32_ps(a); }
INLINE void wf_put(float *y, wf v, int n)
{
	_mm512_mask_storeu_ps(y,
	                      n >= 16 ? (__mmask16)0xffff
	                      : n > 0 ? (__mmask16)((1u << n) - 1)
	                              : 0,
	                      v);
}
/* Transpose: exchange lane j of v[i] and lane i of v[j]. */
INLINE void transpose_lanes(wf v[16])
{
	wf a[16];

	UNROLL
	for (int i = 0; i < 16; i += 2) {
		a[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
		a[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
	}
	UNROLL
	for (int i = 0; i < 16; i += 4) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			__m512d x = _mm512_castps_pd(a[i + h]), y = _mm512_castps_pd(a[i + h + 2]);
			v[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
			v[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
		}
	}
	/* v[4 j + i]: lanes i, i + 4, i + 8, i + 12 of rows 4 j ... 4 j + 3 */
	UNROLL
	for (int i = 0; i < 4; i++) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			a[8 * h + i] = _mm512_shuffle_f32x4(v[8 * h + i], v[8 * h + 4 + i], 0x88);
			a[8 * h + 4 + i] =
				_mm512_shuffle_f32x4(v[8 * h + i], v[8 * h + 4 + i], 0xdd);
		}
	}
	UNROLL
	for (int i = 0; i < 8; i++) {
		v[i] = _mm512_shuffle_f32x4(a[i], a[8 + i], 0x88);
		v[i + 8] = _mm512_shuffle_f32x4(a[i], a[8 + i], 0xdd);
	}
}
#endif
