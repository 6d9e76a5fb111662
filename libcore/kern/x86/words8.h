/* kern/x86/words8.h - operations of x86/words.h for panels of 8 rows in 256 bits, except dot
 * products.  The folder's int.h defines wi and wf. */
#ifndef KERN_X86_WORDS8_H
#define KERN_X86_WORDS8_H

INLINE wi wi_set(int32_t x) { return _mm256_set1_epi32(x); }
INLINE wi wi_load(const void *p) { return load32(p); }
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
