/* kern/avx512vbmi/codebook.h - codebooks of 256 ... 1024 points in registers, and lookup of 64
 * points by all bits of their indices.
 *
 * A point has two bytes of code: each byte has four coordinates of two bits (points of eight
 * coordinates) or two of three bits (points of four). */
#ifndef KERN_AVX512VBMI_CODEBOOK_H
#define KERN_AVX512VBMI_CODEBOOK_H
#include "kern/avx512vbmi/int.h"
#include "kern/x86/grid.h"

/* Return the number of points. */
INLINE int codebook_size(enum infer_type t)
{
	return t == INFER_IQ2_S ? 1024 : t == INFER_IQ2_XS || t == INFER_IQ3_S ? 512 : 256;
}
enum { MAX_TABLES = 1024 / 64 };

INLINE const uint16_t *codes(enum infer_type t)
{
	switch (t) {
	case INFER_IQ2_XXS:
		return grid_code_iq2_xxs;
	case INFER_IQ2_XS:
		return grid_code_iq2_xs;
	case INFER_IQ2_S:
		return grid_code_iq2_s;
	case INFER_IQ3_XXS:
		return grid_code_iq3_xxs;
	case INFER_IQ3_S:
		return grid_code_iq3_s;
	default:
		kern_no_case();
	}
}

/* Return the even (odd 1: the odd) bytes of a, then of b. */
INLINE vb bytes_of(vb a, vb b, int odd)
{
	const vb even = _mm512_set_epi64(0x7e7c7a7876747270, 0x6e6c6a6866646260, 0x5e5c5a5856545250,
	                                 0x4e4c4a4846444240, 0x3e3c3a3836343230, 0x2e2c2a2826242220,
	                                 0x1e1c1a1816141210, 0x0e0c0a0806040200);

	return _mm512_permutex2var_epi8(a, odd ? _mm512_or_si512(even, _mm512_set1_epi8(1)) : even,
	                                b);
}

/* Load the first bytes of all codes to table[0], the second bytes to table[1]. */
INLINE void tables_get(enum infer_type t, vb table[2][MAX_TABLES])
{
	UNROLL
	for (int i = 0; i < codebook_size(t) / 64; i++) {
		const uint16_t *c = codes(t) + 64 * i;
		UNROLL
		for (int h = 0; h < 2; h++)
			table[h][i] = bytes_of(vb_load(c), vb_load(c + 32), h);
	}
}

/* the indices of 64 points: the low 8 bits, and masks of bits 8 and 9 */
struct indices {
	vb low;
	__mmask64 high[2];
};
/* Return one byte of the codes of 64 points. */
INLINE vb codebook_lookup(enum infer_type t, const vb table[MAX_TABLES], const struct indices *at)
{
	const int n = codebook_size(t) / 128;
	vb r[MAX_TABLES / 2];

	UNROLL
	for (int i = 0; i < n; i++)
		r[i] = _mm512_permutex2var_epi8(table[2 * i], at->low, table[2 * i + 1]);
	UNROLL
	for (int left = n / 2, bit = 7; left > 0; left /= 2, bit++) {
		__mmask64 m = bit == 7 ? _mm512_movepi8_mask(at->low) : at->high[bit - 8];
		UNROLL
		for (int i = 0; i < left; i++)
			r[i] = _mm512_mask_blend_epi8(m, r[2 * i], r[2 * i + 1]);
	}
	return r[0];
}
#endif
