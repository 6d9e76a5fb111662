/* kern/avx2/points.h - points of codebooks, their signs, and sums of products of a panel with
 * unsigned x.  group: how many sums of 4 weights are added before scaling. */
#ifndef KERN_AVX2_POINTS_H
#define KERN_AVX2_POINTS_H
#include "kern/avx2/int.h"

/* Load four points of 8 bytes; points4: eight points of 4 bytes. */
INLINE __m256i points8(const uint64_t *grid, const int at[4])
{
	return _mm256_setr_epi64x((long long)grid[at[0]], (long long)grid[at[1]],
	                          (long long)grid[at[2]], (long long)grid[at[3]]);
}
INLINE __m256i points4(const uint32_t *grid, const int at[8])
{
	return _mm256_setr_epi32((int)grid[at[0]], (int)grid[at[1]], (int)grid[at[2]],
	                         (int)grid[at[3]], (int)grid[at[4]], (int)grid[at[5]],
	                         (int)grid[at[6]], (int)grid[at[7]]);
}

/* signs of 32 weights: byte i is -1 if weight i is negative */
typedef __m256i sign32;
INLINE sign32 sign_load(const uint8_t *p)
{
	const __m256i byte =
		_mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
	const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
	__m256i x = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)num_u32(p)), byte),
	                             bit);

	return _mm256_cmpeq_epi8(x, bit);
}
INLINE __m256i sign_apply(__m256i x, sign32 s)
{
	return _mm256_sub_epi8(_mm256_xor_si256(x, s), s);
}

/* the factor of S in a panel */
enum { S_UNIT = 0x10001 };
/* Two products of 255 q fit 16 bits; for weights up to 15 in magnitude, eight do. */
INLINE int group(enum infer_type t)
{
	return t == INFER_IQ2_XXS || t == INFER_IQ2_XS || t == INFER_IQ2_S || t == INFER_IQ3_XXS ? 1
	       : t == INFER_TQ2_0 || t == INFER_TQ1_0 ? 16
	                                              : 4;
}
INLINE wi group_add(wi sum, wi x, wi w)
{
	return _mm256_add_epi16(sum, _mm256_maddubs_epi16(x, w));
}
INLINE wi group_scale(wi acc, wi sum, wi s) { return mac16(acc, sum, s); }
#endif
