/* kern/avx512vnni/k46.h - Q4_K and Q6_K by pairs: the sums of two neighbouring groups of weights
 * (groups of 32; Q6_K: of 16) share a lane, 16 bits each, the first in the high half. */
#ifndef KERN_AVX512VNNI_K46_H
#define KERN_AVX512VNNI_K46_H
#include "kern/avx512vnni/int.h"
#include "kern/x86/q256.h"

INLINE int n_pairs(enum infer_type t) { return q_by16(t) ? 8 : 4; }
/* Return the scales of pair i of eight rows as words: second group, then first group. */
INLINE __m256i pair_scales(const struct header *h, int i)
{
	__m256i first = byte_pair(h->s[i / 2], 0), second = byte_pair(h->s[i / 2], 1);

	return i % 2 ? _mm256_blend_epi16(_mm256_srli_epi32(second, 16), first, 0xaa)
	             : _mm256_blend_epi16(second, _mm256_slli_epi32(first, 16), 0xaa);
}
/* True if all sums with a block of x fit 16 bits.  max32, max16: of its kern_q8k_pairs. */
INLINE int fits16(enum infer_type t, int32_t max32, int32_t max16)
{
	return t == INFER_Q6_K ? max16 <= 32767 / 32 : max32 <= 2 * 32767 / 15;
}
#endif
