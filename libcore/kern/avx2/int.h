/* kern/avx2/int.h - integer words of the quantised products.  wi, wf: NR rows of a panel.
 * Bytes are multiplied in pairs into 16 bits, so an unsigned side stays below 130. */
#ifndef KERN_AVX2_INT_H
#define KERN_AVX2_INT_H
#include <immintrin.h>
#define KERN_FN(x) kern_avx2_##x
#include "kern/tmpl/q_x86.h"

typedef __m256i wi;
typedef __m256 wf;
enum { LANES = 8, H = 1, NR = LANES * H, TILE_T = 4, FLIP = 0 };

/* sums of 4 products; u unsigned, w and x signed, x above -128 */
INLINE __m256i dot_us(__m256i u, __m256i x)
{
	return _mm256_madd_epi16(_mm256_maddubs_epi16(u, x), _mm256_set1_epi16(1));
}
INLINE __m256i dot_ss(__m256i w, __m256i x)
{
	return dot_us(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}
/* acc + sums of 2 products */
INLINE __m256i mac16(__m256i acc, __m256i a, __m256i b)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

INLINE wi wi_set(int32_t x) { return _mm256_set1_epi32(x); }
INLINE wi wi_load(const void *p) { return load32(p); }
INLINE wi wi_dot(wi acc, wi u, wi x) { return _mm256_add_epi32(acc, dot_us(u, x)); }
INLINE wi wi_dot_ws(wi acc, wi w, wi x) { return _mm256_add_epi32(acc, dot_ss(w, x)); }
INLINE wi wi_mac16(wi acc, wi a, wi b) { return mac16(acc, a, b); }
INLINE wi wi_add(wi a, wi b) { return _mm256_add_epi32(a, b); }
INLINE wi wi_sub(wi a, wi b) { return _mm256_sub_epi32(a, b); }
INLINE wi wi_mul(wi a, wi b) { return _mm256_mullo_epi32(a, b); }
#define wi_shl(a, n) _mm256_slli_epi32(a, n)
INLINE wf wf_set(float x) { return _mm256_set1_ps(x); }
INLINE wf wf_load(const void *p) { return _mm256_loadu_ps((const float *)p); }
INLINE wf wf_mul(wf a, wf b) { return _mm256_mul_ps(a, b); }
INLINE wf wf_add(wf a, wf b) { return _mm256_add_ps(a, b); }
INLINE wf wf_sub(wf a, wf b) { return _mm256_sub_ps(a, b); }
INLINE wf wf_fma(wf a, wf b, wf c) { return _mm256_fmadd_ps(a, b, c); }
INLINE wf wf_fnma(wf a, wf b, wf c) { return _mm256_fnmadd_ps(a, b, c); }
INLINE wf wf_from(wi a) { return _mm256_cvtepi32_ps(a); }
INLINE void wf_put(float *y, wf v, int n)
{
	float t[8];

	if (n >= 8) {
		_mm256_storeu_ps(y, v);
		return;
	}
	_mm256_storeu_ps(t, v);
	for (int i = 0; i < n; i++)
		y[i] = t[i];
}
#endif
