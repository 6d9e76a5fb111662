/* kern/x86/ternary.h - unpack ternary blocks of 256 in 256-bit registers (x86); layouts:
 * ref/mm_grid.c. */
#ifndef KERN_X86_TERNARY_H
#define KERN_X86_TERNARY_H

INLINE __m256i times3b(__m256i b) { return _mm256_add_epi8(b, _mm256_add_epi8(b, b)); }
/* Return the first digit, 3 b / 256, in the top two bits: with c = max(b - 1, 0), these are the top
 * bits of the mean of c and c / 2, both rounded up. */
INLINE __m256i digit(__m256i b)
{
	__m256i c = _mm256_subs_epu8(b, _mm256_set1_epi8(1));
	__m256i v = _mm256_avg_epu8(c, _mm256_avg_epu8(c, _mm256_setzero_si256()));

	return _mm256_and_si256(_mm256_srli_epi16(v, 6), _mm256_set1_epi8(3));
}

/* Unpack q + 1 of 8 times 32 weights. */
INLINE void unpack_ternary(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	if (t == INFER_TQ2_0) {
		unpack_k2(u, p);
		return;
	}
	__m256i a = load32(p), b = dup128(load16(p + 32)),
		c = _mm256_set1_epi32((int)num_u32(p + 48));
	UNROLL
	for (int n = 0; n < 5; n++) {
		u[n] = digit(a);
		a = times3b(a);
	}
	b = _mm256_blend_epi32(b, times3b(b), 0xf0);
	u[5] = digit(b);
	b = times3b(times3b(b));
	u[6] = digit(b);
	b = times3b(times3b(b));
	/* the last register: the digits of four bytes, one after another */
	b = _mm256_blend_epi32(b, c, 0x10);
	c = times3b(c);
	b = _mm256_blend_epi32(b, c, 0x20);
	c = times3b(c);
	b = _mm256_blend_epi32(b, c, 0x40);
	b = _mm256_blend_epi32(b, times3b(c), 0x80);
	u[7] = digit(b);
}
#endif
