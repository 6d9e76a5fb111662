/* kern/avx2/bf16.h - vector operations of tmpl/mm_bf16.h. */
#ifndef KERN_AVX2_BF16_H
#define KERN_AVX2_BF16_H
#include "kern/avx2/simd.h"
#include "kern/x86/flush.h"

enum { BF_T = 4, BF_ROWS_T = 4, BF_G = 1 };

static inline vi vi_shl16(vi x)
{
	return (vi){ _mm256_slli_epi32(x.a, 16), _mm256_slli_epi32(x.b, 16) };
}
static inline void vi_store(void *p, vi x)
{
	_mm256_storeu_si256((__m256i *)p, x.a);
	_mm256_storeu_si256((__m256i *)p + 1, x.b);
}

static inline __m256i round_b(__m256i u)
{
	const __m256i top = _mm256_set1_epi32((int32_t)0xffff0000),
		      abs = _mm256_set1_epi32(0x7fffffff);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
	__m256i r = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
	__m256i nan = _mm256_cmpgt_epi32(_mm256_and_si256(u, abs), _mm256_set1_epi32(0x7f800000));

	r = _mm256_blendv_epi8(r, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)), nan);
	r = _mm256_and_si256(r, top);
	__m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), _mm256_and_si256(r, abs));
	return _mm256_andnot_si256(_mm256_and_si256(low, abs), r);
}
/* Return the bits of x rounded to bf16, ties to even; subnormal numbers become zeros. */
static inline vi v_round_b(vf x)
{
	return (vi){ round_b(_mm256_castps_si256(x.a)), round_b(_mm256_castps_si256(x.b)) };
}
static inline __m256i pack_b(vi x)
{
	__m256i p = _mm256_packus_epi32(_mm256_srli_epi32(x.a, 16), _mm256_srli_epi32(x.b, 16));

	return _mm256_permute4x64_epi64(p, 0xd8);
}
/* Return the high halves of the lanes of a, then of b. */
static inline vi vi_pack_b(vi a, vi b) { return (vi){ pack_b(a), pack_b(b) }; }

/* Transpose: exchange lane i of w[j] and lane j of w[i]. */
INLINE void turn_8(__m256i w[8])
{
	__m256i a[8];

	UNROLL
	for (int i = 0; i < 8; i += 2) {
		a[i] = _mm256_unpacklo_epi32(w[i], w[i + 1]);
		a[i + 1] = _mm256_unpackhi_epi32(w[i], w[i + 1]);
	}
	UNROLL
	for (int i = 0; i < 8; i += 4) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			w[i + 2 * h] = _mm256_unpacklo_epi64(a[i + h], a[i + h + 2]);
			w[i + 2 * h + 1] = _mm256_unpackhi_epi64(a[i + h], a[i + h + 2]);
		}
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i x = w[i], y = w[4 + i];
		w[i] = _mm256_permute2x128_si256(x, y, 0x20);
		w[4 + i] = _mm256_permute2x128_si256(x, y, 0x31);
	}
}
INLINE void vi_turn(vi w[16])
{
	__m256i a[8], b[8], c[8], d[8];

	UNROLL
	for (int i = 0; i < 8; i++)
		a[i] = w[i].a, b[i] = w[i].b, c[i] = w[8 + i].a, d[i] = w[8 + i].b;
	turn_8(a), turn_8(b), turn_8(c), turn_8(d);
	UNROLL
	for (int i = 0; i < 8; i++) {
		w[i] = (vi){ a[i], c[i] };
		w[8 + i] = (vi){ b[i], d[i] };
	}
}
#endif
