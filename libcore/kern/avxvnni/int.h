/* kern/avxvnni/int.h - integer operations of the quantised products on 256 bits, for processors
 * without AVX-512.  wi, wf: 8 of the NR rows of a panel.  One instruction adds 4 products of bytes,
 * for any unsigned byte.  So signed weights are packed with the top bit flipped, and 128 sum(x) is
 * subtracted. */
#ifndef KERN_AVXVNNI_INT_H
#define KERN_AVXVNNI_INT_H
#include <immintrin.h>
#include "kern/x86/q.h"

typedef __m256i wi;
typedef __m256 wf;
enum { LANES = 8, H = 2, NR = LANES * H, TILE_T = 4, FLIP = 128 };
#include "kern/x86/words8.h"

/* Return sums of 4 products; u unsigned, x signed. */
INLINE __m256i dot_us(__m256i u, __m256i x)
{
	return _mm256_dpbusd_epi32(_mm256_setzero_si256(), u, x);
}
/* Return acc + sums of 4 products. */
INLINE __m256i dot_add(__m256i acc, __m256i u, __m256i x) { return _mm256_dpbusd_epi32(acc, u, x); }
/* Return acc + sums of 2 products. */
INLINE __m256i mac16(__m256i acc, __m256i a, __m256i b) { return _mm256_dpwssd_epi32(acc, a, b); }

INLINE wi wi_dot(wi acc, wi u, wi x) { return _mm256_dpbusd_epi32(acc, u, x); }
INLINE wi wi_dot_ws(wi acc, wi w, wi x) { return _mm256_dpbusd_epi32(acc, w, x); }
INLINE wi wi_mac16(wi acc, wi a, wi b) { return _mm256_dpwssd_epi32(acc, a, b); }
#endif
