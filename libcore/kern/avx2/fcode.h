/* kern/avx2/fcode.h - the operations of ref/fcode.h. */
#ifndef KERN_AVX2_FCODE_H
#define KERN_AVX2_FCODE_H
#include "kern/avx2/simd.h"
#include "type/nf4.h"

struct v_e4m3 {
	const uint8_t *q;
};
INLINE struct v_e4m3 v_e4m3_load(const uint8_t *q) { return (struct v_e4m3){ q }; }
INLINE vf v_e4m3(vf d, struct v_e4m3 c, int j)
{
	__m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)c.q + j));

	d = v_mul(d, v_set(256));
	h = _mm256_and_si256(_mm256_slli_epi16(h, 7), _mm256_set1_epi16((short)0xbf80));
	return (vf){ _mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(h)), d.a),
		     _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(h, 1)), d.b) };
}

/* Look up the value that bits 0 to 3 of each lane of q select. */
INLINE __m256 nf4_pick(__m256 low, __m256 high, __m256i q)
{
	return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, q), _mm256_permutevar8x32_ps(high, q),
	                        _mm256_castsi256_ps(_mm256_slli_epi32(q, 28)));
}
INLINE vf v_nf4(vf d, const uint8_t *qs, int j)
{
	const uint8_t *p = qs + j % 2 * 16;
	const __m256 lo = _mm256_mul_ps(_mm256_loadu_ps(nf4_table), d.a),
		     hi = _mm256_mul_ps(_mm256_loadu_ps(nf4_table + 8), d.a);
	__m256i a = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)),
		b = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p + 8)));

	if (j / 2)
		a = _mm256_srli_epi32(a, 4), b = _mm256_srli_epi32(b, 4);
	return (vf){ nf4_pick(lo, hi, a), nf4_pick(lo, hi, b) };
}
#endif
