/* kern/avx512vnni/points.h - points of codebooks, their signs, and sums of products of a panel with
 * unsigned x.  group: how many sums of 4 weights are added before scaling. */
#ifndef KERN_AVX512VNNI_POINTS_H
#define KERN_AVX512VNNI_POINTS_H
#include "kern/avx512vnni/int.h"

INLINE long long point(const uint64_t *grid, int at) { return (long long)grid[at]; }
/* Load four points of 8 bytes; points4: eight points of 4 bytes. */
INLINE __m256i points8(const uint64_t *grid, const int at[4])
{
	__m256i u = _mm256_castsi128_si256(_mm_cvtsi64_si128(point(grid, at[0])));

	u = _mm256_mask_set1_epi64(u, 2, point(grid, at[1]));
	u = _mm256_mask_set1_epi64(u, 4, point(grid, at[2]));
	return _mm256_mask_set1_epi64(u, 8, point(grid, at[3]));
}
INLINE __m256i points4(const uint32_t *grid, const int at[8])
{
	return _mm256_setr_epi32((int)grid[at[0]], (int)grid[at[1]], (int)grid[at[2]],
	                         (int)grid[at[3]], (int)grid[at[4]], (int)grid[at[5]],
	                         (int)grid[at[6]], (int)grid[at[7]]);
}

/* the coordinates of IQ3_XXS and IQ3_S by code; and X applied to all codes of 6 bits */
#define V3A(c) ((c) == 7 ? 62 : 8 * (c) + 4)
#define V3B(c) (2 * (c) + 1)
#define EIGHT(X, c) \
	X((c)), X((c) + 1), X((c) + 2), X((c) + 3), X((c) + 4), X((c) + 5), X((c) + 6), X((c) + 7)
#define ALL64(X) \
	EIGHT(X, 0), EIGHT(X, 8), EIGHT(X, 16), EIGHT(X, 24), EIGHT(X, 32), EIGHT(X, 40), \
		EIGHT(X, 48), EIGHT(X, 56)

/* signs of 32 weights: bit i is set if weight i is negative */
typedef __mmask32 sign32;
INLINE sign32 sign_load(const uint8_t *p) { return num_u32(p); }
INLINE __m256i sign_apply(__m256i x, sign32 s)
{
	return _mm256_mask_sub_epi8(x, s, _mm256_setzero_si256(), x);
}

/* Return the horizontal sums of 8 registers. */
INLINE __m256i hsum8w(const __m512i a[8])
{
	__m512i s[4], t[2];

	UNROLL
	for (int i = 0; i < 4; i++)
		s[i] = wi_add(_mm512_unpacklo_epi32(a[2 * i], a[2 * i + 1]),
		              _mm512_unpackhi_epi32(a[2 * i], a[2 * i + 1]));
	UNROLL
	for (int i = 0; i < 2; i++)
		t[i] = wi_add(_mm512_unpacklo_epi64(s[2 * i], s[2 * i + 1]),
		              _mm512_unpackhi_epi64(s[2 * i], s[2 * i + 1]));
	/* four lanes of rows 0-3, then four of rows 4-7 */
	t[0] = wi_add(_mm512_shuffle_i64x2(t[0], t[1], 0x44),
	              _mm512_shuffle_i64x2(t[0], t[1], 0xee));
	t[0] = wi_add(t[0], _mm512_shuffle_i64x2(t[0], t[0], 0xb1));
	return _mm512_castsi512_si256(_mm512_shuffle_i64x2(t[0], t[0], 0x88));
}

/* the factor of S in a panel */
enum { S_UNIT = 1 };
INLINE int group(enum infer_type t)
{
	return t == INFER_TQ2_0 || t == INFER_TQ1_0                        ? 16
	       : t == INFER_IQ2_XS || t == INFER_IQ2_S || t == INFER_IQ1_M ? 4
	                                                                   : 8;
}
INLINE wi group_add(wi sum, wi x, wi w) { return wi_dot(sum, x, w); }
INLINE wi group_scale(wi acc, wi sum, wi s) { return wi_add(acc, wi_mul(sum, s)); }
#endif
