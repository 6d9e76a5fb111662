/* kern/avx512vnni/points.h - points of codebooks and their signs; and the sums of a panel of them,
 * of unsigned x.   group: how many times 4 weights whose products are added before they are scaled. */
#ifndef KERN_AVX512VNNI_POINTS_H
#define KERN_AVX512VNNI_POINTS_H
#include "kern/avx512vnni/int.h"

INLINE long long point(const uint64_t *grid, int at) { return (long long)grid[at]; }
/* four points of 8, eight of 4 */
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

/* 1 where the sign of one of 32 weights is minus */
typedef __mmask32 sign32;
INLINE sign32 sign_load(const uint8_t *p) { return num_u32(p); }
INLINE __m256i sign_turn(__m256i x, sign32 s)
{
	return _mm256_mask_sub_epi8(x, s, _mm256_setzero_si256(), x);
}

/* S as a tile multiplies by it */
enum { S_UNIT = 1 };
INLINE int group(enum infer_type t)
{
	return t == INFER_TQ2_0 || t == INFER_TQ1_0                           ? 16
	       : t == INFER_IQ2_XS || t == INFER_IQ2_S || t == INFER_IQ1_M ? 4
	                                                                   : 8;
}
INLINE wi group_add(wi sum, wi x, wi w) { return wi_dot(sum, x, w); }
INLINE wi group_scale(wi acc, wi sum, wi s) { return wi_add(acc, wi_mul(sum, s)); }
#endif
