/* kern/avx512vbmi/fcode.h - the operations of ref/fcode.h: E4M3 by table lookup. */
#ifndef KERN_AVX512VBMI_FCODE_H
#define KERN_AVX512VBMI_FCODE_H
#include "kern/avx512/simd.h"

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

struct v_e4m3 {
	vi pairs[2]; /* lane i: the bf16 of elements i and 16 + i; of 32 + i and 48 + i */
};
INLINE struct v_e4m3 v_e4m3_load(const uint8_t *q)
{
	/* i, 16 + i for four i, then 32 + i, 48 + i, in each 16 bytes */
	const vi order = _mm512_set_epi64(
		0x3f2f3e2e3d2d3c2c, 0x1f0f1e0e1d0d1c0c, 0x3b2b3a2a39293828, 0x1b0b1a0a19091808,
		0x3727362635253424, 0x1707160615051404, 0x3323322231213020, 0x1303120211011000);
	vi c = _mm512_permutexvar_epi8(order, vi_load(q));
	/* look up 7 bits of each code, then add the sign */
	vi low = _mm512_permutex2var_epi8(vi_load(e4m3_low), c, vi_load(e4m3_low + 64)),
	   high = _mm512_permutex2var_epi8(vi_load(e4m3_high), c, vi_load(e4m3_high + 64));
	high = _mm512_ternarylogic_epi32(high, c, _mm512_set1_epi8((char)0x80), 0xf8);
	return (struct v_e4m3){ { _mm512_unpacklo_epi8(low, high),
		                  _mm512_unpackhi_epi8(low, high) } };
}
INLINE vf v_e4m3(vf d, struct v_e4m3 c, int j)
{
	vi both = c.pairs[j / 2];

	return v_mul(d, v_from(j % 2 ? vi_and(both, vi_set((int32_t)0xffff0000))
	                             : _mm512_slli_epi32(both, 16)));
}
#define V_E4M3
#include "kern/avx512/fcode.h"
#endif
