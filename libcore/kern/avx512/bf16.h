/* kern/avx512/bf16.h - vector operations of tmpl/mm_bf16.h. */
#ifndef KERN_AVX512_BF16_H
#define KERN_AVX512_BF16_H
#include "kern/avx512/simd.h"
#include "kern/x86/flush.h"

enum { BF_T = 6, BF_ROWS_T = 4, BF_G = 2 };

static inline vi vi_shl16(vi x) { return _mm512_slli_epi32(x, 16); }
static inline void vi_store(void *p, vi x) { _mm512_storeu_si512(p, x); }

/* Return the bits of x rounded to bf16, ties to even; subnormal numbers become zeros. */
static inline vi v_round_b(vf x)
{
	const vi top = vi_set((int32_t)0xffff0000), abs = vi_set(0x7fffffff);
	vi u = v_bits(x), odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), vi_set(1));
	vi r = vi_and(vi_add(u, vi_add(odd, vi_set(0x7fff))), top);
	__mmask16 nan = _mm512_cmpgt_epi32_mask(vi_and(u, abs), vi_set(0x7f800000));

	r = _mm512_mask_and_epi32(r, nan, vi_or(u, vi_set(0x400000)), top);
	return _mm512_mask_and_epi32(r, _mm512_cmplt_epi32_mask(vi_and(r, abs), vi_set(0x00800000)),
	                             r, vi_set(INT32_MIN));
}
/* Return the high halves of the lanes of a, then of b. */
static inline vi vi_pack_b(vi a, vi b)
{
	const vi at = _mm512_add_epi16(_mm512_set1_epi16(1),
	                               _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42,
	                                                40, 38, 36, 34, 32, 30, 28, 26, 24, 22, 20,
	                                                18, 16, 14, 12, 10, 8, 6, 4, 2, 0));

	return _mm512_permutex2var_epi16(a, at, b);
}

/* Transpose: exchange lane i of w[j] and lane j of w[i]. */
INLINE void vi_turn(vi w[16])
{
	vi a[16];

	UNROLL
	for (int i = 0; i < 16; i += 2) {
		a[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
		a[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
	}
	UNROLL
	for (int i = 0; i < 16; i += 4) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			w[i + 2 * h] = _mm512_unpacklo_epi64(a[i + h], a[i + h + 2]);
			w[i + 2 * h + 1] = _mm512_unpackhi_epi64(a[i + h], a[i + h + 2]);
		}
	}
	/* w[4 j + i]: lanes i, i + 4, i + 8, i + 12 of rows 4 j ... 4 j + 3 */
	UNROLL
	for (int i = 0; i < 4; i++) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			vi x = w[8 * h + i], y = w[8 * h + 4 + i];
			a[8 * h + i] = _mm512_shuffle_i32x4(x, y, 0x88);
			a[8 * h + 4 + i] = _mm512_shuffle_i32x4(x, y, 0xdd);
		}
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		w[i] = _mm512_shuffle_i32x4(a[i], a[8 + i], 0x88);
		w[4 + i] = _mm512_shuffle_i32x4(a[4 + i], a[12 + i], 0x88);
		w[8 + i] = _mm512_shuffle_i32x4(a[i], a[8 + i], 0xdd);
		w[12 + i] = _mm512_shuffle_i32x4(a[4 + i], a[12 + i], 0xdd);
	}
}
#endif
