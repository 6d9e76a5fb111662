/* kern/avx512vbmi/fcode.h - the words of ref/fcode.h: codes of E4M3 are looked up by their bytes. */
#ifndef KERN_AVX512VBMI_FCODE_H
#define KERN_AVX512VBMI_FCODE_H
#include "kern/avx512/simd.h"
#include "type/nf4.h"

/* The magnitudes of E4M3 as bf16, which is exact; below 8 they are subnormal. */
#define E4M3_LOW(c) \
	((c) < 2 ? 118 * (c) << 7 : (c) < 4 ? 119 << 7 | ((c)&1) << 6 : 120 << 7 | ((c)&3) << 5)
#define E4M3_BF16(c) ((c) < 8 ? E4M3_LOW(c) : (((c) >> 3) + 120) << 7 | ((c)&7) << 4)
#define B0(c) (uint8_t) E4M3_BF16(c)
#define B1(c) (uint8_t)(E4M3_BF16(c) >> 8)
#define EIGHT(b, c) \
	b(c), b((c) + 1), b((c) + 2), b((c) + 3), b((c) + 4), b((c) + 5), b((c) + 6), b((c) + 7)
#define ALL(b) \
	EIGHT(b, 0), EIGHT(b, 8), EIGHT(b, 16), EIGHT(b, 24), EIGHT(b, 32), EIGHT(b, 40), \
		EIGHT(b, 48), EIGHT(b, 56), EIGHT(b, 64), EIGHT(b, 72), EIGHT(b, 80), \
		EIGHT(b, 88), EIGHT(b, 96), EIGHT(b, 104), EIGHT(b, 112), EIGHT(b, 120)
_Alignas(64) static const uint8_t e4m3_low[128] = { ALL(B0) }, e4m3_high[128] = { ALL(B1) };
#undef ALL
#undef EIGHT
#undef B1
#undef B0

/* dword i: a + i, b + i, c + i, d + i */
INLINE vi byte_order(int a, int b, int c, int d)
{
	const vi i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

	return _mm512_add_epi32(_mm512_mullo_epi32(i, vi_set(0x01010101)),
	                        vi_set(a | b << 8 | c << 16 | d << 24));
}
INLINE vf v_e4m3(vf d, const uint8_t *q, int j)
{
	const vi c = vi_load(q);
	/* 7 bits of a code choose; then its sign */
	vi low = _mm512_permutex2var_epi8(vi_load(e4m3_low), c, vi_load(e4m3_low + 64)),
	   high = _mm512_permutex2var_epi8(vi_load(e4m3_high), c, vi_load(e4m3_high + 64));
	high = _mm512_ternarylogic_epi32(high, c, _mm512_set1_epi8((char)0x80), 0xf8);
	/* lane i: the bf16 of elements i and 16 + i, or 32 + i and 48 + i */
	vi both = _mm512_permutex2var_epi8(
		low, j / 2 ? byte_order(32, 96, 48, 112) : byte_order(0, 64, 16, 80), high);
	return v_mul(d, v_from(j % 2 ? vi_and(both, vi_set((int32_t)0xffff0000))
	                             : _mm512_slli_epi32(both, 16)));
}
INLINE vf v_nf4(vf d, const uint8_t *qs, int j)
{
	const vf table = _mm512_mul_ps(_mm512_loadu_ps(nf4_table), d);
	__m256i all = _mm256_loadu_si256((const __m256i *)(const void *)qs);
	/* lane i: bytes i and 16 + i */
	vi q = _mm512_permutexvar_epi8(byte_order(0, 16, 0, 16), _mm512_castsi256_si512(all));

	/* bits 0 to 3 of each lane choose; shifts by products, as in avx512/fcode.h */
	if (j)
		q = _mm512_mulhi_epu16(q, vi_set(1 << (j == 2 ? 12 : j == 1 ? 8 : 4)));
	return _mm512_permutexvar_ps(q, table);
}
#endif
