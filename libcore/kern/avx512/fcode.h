/* kern/avx512/fcode.h - the operations of ref/fcode.h.  A folder with its own operations on E4M3
 * defines V_E4M3 first. */
#ifndef KERN_AVX512_FCODE_H
#define KERN_AVX512_FCODE_H
#include "kern/avx512/simd.h"
#include "type/nf4.h"

#ifndef V_E4M3
struct v_e4m3 {
	const uint8_t *q;
};
INLINE struct v_e4m3 v_e4m3_load(const uint8_t *q) { return (struct v_e4m3){ q }; }
INLINE vf v_e4m3(vf d, struct v_e4m3 c, int j)
{
	__m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)c.q + j));

	d = v_mul(d, v_set(256));
	h = _mm256_and_si256(_mm256_slli_epi16(h, 7), _mm256_set1_epi16((short)0xbf80));
	return _mm512_mul_ps(_mm512_cvtph_ps(h), d);
}
#endif
INLINE vf v_nf4(vf d, const uint8_t *qs, int j)
{
	const vf table = _mm512_mul_ps(_mm512_loadu_ps(nf4_table), d);
	vi q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)qs + j % 2));

	/* bits 0 to 3 of each lane select a value */
	return _mm512_permutexvar_ps(j / 2 ? _mm512_srli_epi32(q, 4) : q, table);
}
#endif
