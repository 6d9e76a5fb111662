/* kern/avx512/fcode.h - the words of ref/fcode.h. */
#ifndef KERN_AVX512_FCODE_H
#define KERN_AVX512_FCODE_H
#include "kern/avx512/simd.h"
#include "type/nf4.h"

INLINE vf v_e4m3(vf d, const uint8_t *q, int j)
{
	__m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)q + j));

	d = v_mul(d, v_set(256));
	h = _mm256_and_si256(_mm256_slli_epi16(h, 7), _mm256_set1_epi16((short)0xbf80));
	return _mm512_mul_ps(_mm512_cvtph_ps(h), d);
}
INLINE vf v_nf4(vf d, const uint8_t *qs, int j)
{
	const vf table = _mm512_mul_ps(_mm512_loadu_ps(nf4_table), d);
	vi q = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)qs + j % 2));

	/* Bits 0 to 3 of each lane choose.  High halves of products are shifts; shifts would wait for the
	 * lookups on some processors. */
	return _mm512_permutexvar_ps(j / 2 ? _mm512_mulhi_epu16(q, vi_set(1 << 12)) : q, table);
}
#endif
