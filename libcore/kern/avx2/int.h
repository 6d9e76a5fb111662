/* kern/avx2/int.h - integer operations of the quantised products.  wi, wf: NR rows of a panel.
 * Products of two bytes are added in 16 bits, so unsigned operands must be below 130. */
#ifndef KERN_AVX2_INT_H
#define KERN_AVX2_INT_H
#include <immintrin.h>
#include "kern/x86/q.h"

typedef __m256i wi;
typedef __m256 wf;
enum { LANES = 8, H = 1, NR = LANES * H, TILE_T = 4, FLIP = 0 };

#include "kern/x86/words8.h"

/* Return sums of 4 products; u unsigned, x signed and above -128. */
INLINE __m256i dot_us(__m256i u, __m256i x)
{
	return _mm256_madd_epi16(_mm256_maddubs_epi16(u, x), _mm256_set1_epi16(1));
}
/* Return acc + sums of 4 products. */
INLINE __m256i dot_add(__m256i acc, __m256i u, __m256i x)
{
	return _mm256_add_epi32(acc, dot_us(u, x));
}
INLINE __m256i dot_ss(__m256i w, __m256i x)
{
	return dot_us(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}
/* Return acc + sums of 2 products. */
INLINE __m256i mac16(__m256i acc, __m256i a, __m256i b)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

INLINE wi wi_dot(wi acc, wi u, wi x) { return _mm256_add_epi32(acc, dot_us(u, x)); }
INLINE wi wi_dot_ws(wi acc, wi w, wi x) { return _mm256_add_epi32(acc, dot_ss(w, x)); }
INLINE wi wi_mac16(wi acc, wi a, wi b) { return mac16(acc, a, b); }
#endif
