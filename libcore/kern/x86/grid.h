/* kern/x86/grid.h - unpack codebook and ternary blocks of 256 in 256-bit registers (x86); layouts:
 * ref/mm_grid.c.  Include the folder's points.h first: it loads points and applies signs. */
#ifndef KERN_X86_GRID_H
#define KERN_X86_GRID_H
#include "kern/x86/q256.h"
#include "kern/x86/ternary.h"
#include "type/grids.h"

INLINE int g_is1(enum infer_type t) { return t == INFER_IQ1_S || t == INFER_IQ1_M; }
INLINE int g_ternary(enum infer_type t) { return t == INFER_TQ2_0 || t == INFER_TQ1_0; }
INLINE int g_is3(enum infer_type t) { return t == INFER_IQ3_XXS || t == INFER_IQ3_S; }
/* 1 if there is a scale for each 16 weights, 0: for each 32 */
INLINE int g_by16(enum infer_type t)
{
	return t == INFER_IQ2_XS || t == INFER_IQ2_S || t == INFER_IQ1_M;
}
/* Return the constant factor of d. */
INLINE float g_factor(enum infer_type t)
{
	return t == INFER_IQ3_S || g_ternary(t) ? 1 : t == INFER_IQ3_XXS ? 0.25f : 0.125f;
}

INLINE int g_d_at(enum infer_type t)
{
	return (int)(t == INFER_TQ2_0   ? offsetof(struct tq2_0, d)
	             : t == INFER_TQ1_0 ? offsetof(struct tq1_0, d)
	                                : 0);
}
/* Return the bits of d, an f16. */
INLINE uint16_t g_d_bits(enum infer_type t, const uint8_t *p)
{
	if (t != INFER_IQ1_M)
		return num_u16(p + g_d_at(t));
	uint64_t sc = num_u64(p + offsetof(struct iq1_m, sc));
	return (uint16_t)((sc >> 12 & 0xf) | (sc >> 24 & 0xf0) | (sc >> 36 & 0xf00) |
	                  (sc >> 48 & 0xf000));
}

/* Store 32 indices as words: low 8 bits from `low`, the bits above from `high`. */
INLINE void widen(uint16_t *at, __m256i low, __m256i high)
{
	low = _mm256_permute4x64_epi64(low, 0xd8);
	high = _mm256_permute4x64_epi64(high, 0xd8);
	_mm256_storeu_si256((__m256i *)(void *)at, _mm256_unpacklo_epi8(low, high));
	_mm256_storeu_si256((__m256i *)(void *)(at + 16), _mm256_unpackhi_epi8(low, high));
}

/* IQ2_S: return the two high bits of the indices of points 16 i ... 16 i + 15, at bit 8 of 16
 * words. */
INLINE __m256i high_2s(__m128i qh, int i)
{
	const char z = -1, a = (char)(4 * i);
	__m256i pick = _mm256_setr_epi8(a, z, a, z, a, z, a, z, a + 1, z, a + 1, z, a + 1, z, a + 1,
	                                z, a + 2, z, a + 2, z, a + 2, z, a + 2, z, a + 3, z, a + 3,
	                                z, a + 3, z, a + 3, z);
	__m256i up = _mm256_set1_epi64x(256 | 64ll << 16 | 16ll << 32 | 4ll << 48);

	return _mm256_and_si256(_mm256_mullo_epi16(_mm256_shuffle_epi8(dup128(qh), pick), up),
	                        _mm256_set1_epi16(0x300));
}

/* IQ1_S: likewise, the three high bits of each index. */
INLINE __m256i high_1s(__m128i qh, int i)
{
	const short a = (short)(0x0100 + i * 0x0808), b = (short)(a + 0x0202),
		    c = (short)(a + 0x0404), d = (short)(a + 0x0606);
	__m256i pick = _mm256_setr_epi16(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);
	__m256i up = _mm256_set1_epi64x(256 | 32ll << 16 | 4ll << 32 | 1ll << 48);
	__m256i q = _mm256_shuffle_epi8(dup128(qh), pick);

	q = _mm256_blend_epi16(q, _mm256_srli_epi16(q, 1), 0x88);
	return _mm256_and_si256(_mm256_mullo_epi16(q, up), _mm256_set1_epi16(0x700));
}

/* Store 16 indices as words: low 8 bits from `low`, the bits above from `high`. */
INLINE void put_at(uint16_t *at, const uint8_t *low, __m256i high)
{
	_mm256_storeu_si256((__m256i *)(void *)at,
	                    _mm256_or_si256(_mm256_cvtepu8_epi16(load16(low)), high));
}

/* Store the indices of all points, for types whose indices are longer than a byte. */
INLINE void indices_get(enum infer_type t, uint16_t *at, const uint8_t *p)
{
	const __m256i nine = _mm256_set1_epi16(511);

	switch (t) {
	case INFER_IQ2_XS:
		UNROLL
		for (int i = 0; i < 2; i++)
			_mm256_storeu_si256((__m256i *)(void *)(at + 16 * i),
			                    _mm256_and_si256(load32(p + 2 + 32 * i), nine));
		break;
	case INFER_IQ2_S:
		UNROLL
		for (int i = 0; i < 2; i++) {
			__m128i qh = _mm_loadl_epi64((const __m128i *)(const void *)(p + 66));
			put_at(at + 16 * i, p + 2 + 16 * i, high_2s(qh, i));
		}
		break;
	case INFER_IQ1_S:
		UNROLL
		for (int i = 0; i < 2; i++)
			put_at(at + 16 * i, p + 2 + 16 * i, high_1s(load16(p + 34), i));
		break;
	case INFER_IQ1_M: {
		__m128i qh = load16(p + 32), seven = _mm_set1_epi8(7);
		__m128i lo = _mm_and_si128(qh, seven),
			hi = _mm_and_si128(_mm_srli_epi16(qh, 4), seven);
		widen(at, load32(p),
		      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(lo, hi)),
		                              _mm_unpackhi_epi8(lo, hi), 1));
		break;
	}
	case INFER_IQ3_S:
		UNROLL
		for (int i = 0; i < 2; i++)
			widen(at + 32 * i, load32(p + 2 + 32 * i),
			      _mm256_srli_epi16(fifth(p + 66 + 4 * i), 4));
		break;
	default:
		break;
	}
}

/* Set i[n] to the indices of the n points of weights 32 k ... 32 k + 31. */
INLINE void indices_of(enum infer_type t, int *i, int n, const uint16_t *at, const uint8_t *p,
                       int k)
{
	if (t == INFER_IQ3_XXS) {
		UNROLL
		for (int g = 0; g < n; g++)
			i[g] = p[2 + n * k + g];
		return;
	}
	/* four with one load, because the number of loads limits the speed */
	UNROLL
	for (int g = 0; g < n; g += 4) {
		if (t == INFER_IQ2_XXS) {
			uint32_t b = num_u32(p + 2 + 8 * k);
			i[g] = b & 255, i[g + 1] = b >> 8 & 255;
			i[g + 2] = b >> 16 & 255, i[g + 3] = (int)(b >> 24);
			continue;
		}
		uint64_t b;
		memcpy(&b, at + n * k + g, 8);
		i[g] = b & 0xffff, i[g + 1] = b >> 16 & 0xffff;
		i[g + 2] = b >> 32 & 0xffff, i[g + 3] = (int)(b >> 48);
	}
}

/* Load the eight words aux of IQ2_XXS and IQ3_XXS. */
INLINE __m256i aux8(enum infer_type t, const uint8_t *p)
{
	if (t == INFER_IQ3_XXS)
		return load32(p + 66);
	__m256 a = _mm256_castsi256_ps(load32(p + 2)), b = _mm256_castsi256_ps(load32(p + 34));
	return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)), 0xd8);
}

/* Extend 32 times 7 signs to 8 signs, an even number of them set. */
INLINE __m256i signs_from7(__m256i s)
{
	const char o = (char)0x80;
	const __m256i parity =
		dup128(_mm_setr_epi8(0, o, o, 0, o, 0, 0, o, o, 0, 0, o, 0, o, o, 0));
	__m256i hi = _mm256_shuffle_epi8(parity, shr4(s));

	return _mm256_xor_si256(s, _mm256_xor_si256(hi, _mm256_shuffle_epi8(parity, s)));
}

/* Return the address of the signs of 256 weights, in the block or in buf. */
INLINE const uint8_t *signs_at(enum infer_type t, uint8_t buf[32], const uint8_t *p)
{
	__m256i s;

	if (t == INFER_IQ2_S || t == INFER_IQ3_S)
		return p + (t == INFER_IQ2_S ? 34 : 74);
	if (t == INFER_IQ2_XS) {
		s = _mm256_packus_epi16(_mm256_srli_epi16(load32(p + 2), 9),
		                        _mm256_srli_epi16(load32(p + 34), 9));
		s = _mm256_permute4x64_epi64(s, 0xd8);
	} else {
		/* spread twice 14 bits to words, then twice 7 bits to bytes */
		s = aux8(t, p);
		s = _mm256_or_si256(
			_mm256_and_si256(s, _mm256_set1_epi32(0x3fff)),
			_mm256_and_si256(_mm256_slli_epi32(s, 2), _mm256_set1_epi32(0x3fff0000)));
		s = _mm256_or_si256(
			_mm256_and_si256(s, _mm256_set1_epi16(0x7f)),
			_mm256_and_si256(_mm256_slli_epi16(s, 1), _mm256_set1_epi16(0x7f00)));
	}
	_mm256_storeu_si256((__m256i *)(void *)buf, signs_from7(s));
	return buf;
}

INLINE __m256i twice_plus1(__m256i s)
{
	return _mm256_or_si256(_mm256_slli_epi16(s, 1), _mm256_set1_epi16(1));
}

/* Return S as words.  8 scales: all in both halves; 16 scales: even ones in the low half, odd ones
 * in the high half. */
INLINE __m256i scales_grid(enum infer_type t, const uint8_t *p)
{
	switch (t) {
	case INFER_IQ2_XXS:
	case INFER_IQ3_XXS: {
		__m256i s = _mm256_srli_epi32(aux8(t, p), 28);
		return twice_plus1(dup128(_mm_packus_epi32(_mm256_castsi256_si128(s),
		                                           _mm256_extracti128_si256(s, 1))));
	}
	case INFER_IQ2_XS:
	case INFER_IQ2_S: {
		__m128i s = _mm_loadl_epi64(
			(const __m128i *)(const void *)(p + (t == INFER_IQ2_S ? 74 : 66)));
		s = _mm_unpacklo_epi64(s, _mm_srli_epi16(s, 4));
		return twice_plus1(_mm256_cvtepu8_epi16(_mm_and_si128(s, _mm_set1_epi8(15))));
	}
	case INFER_IQ3_S: {
		__m128i s = _mm_cvtsi32_si128((int)num_u32(p + 106));
		s = _mm_unpacklo_epi8(s, _mm_srli_epi16(s, 4));
		return twice_plus1(dup128(_mm_cvtepu8_epi16(_mm_and_si128(s, _mm_set1_epi8(15)))));
	}
	case INFER_IQ1_S: {
		__m128i s = _mm_srli_epi16(load16(p + 34), 12);
		return twice_plus1(dup128(_mm_and_si128(s, _mm_set1_epi16(7))));
	}
	case INFER_IQ1_M: { /* a multiplication moves the three bits to the top */
		const __m256i up = _mm256_setr_epi16(
			1 << 13, 1 << 7, 1 << 13, 1 << 7, 1 << 13, 1 << 7, 1 << 13, 1 << 7, 1 << 10,
			1 << 4, 1 << 10, 1 << 4, 1 << 10, 1 << 4, 1 << 10, 1 << 4);
		__m128i s = _mm_loadl_epi64((const __m128i *)(const void *)(p + 48));
		s = _mm_unpacklo_epi16(s, s);
		return twice_plus1(_mm256_srli_epi16(_mm256_mullo_epi16(dup128(s), up), 13));
	}
	default:
		kern_no_case();
	}
}

/* Set v to S with the signs of the shifts of IQ1: one shift for each S (IQ1_S), or two, those of
 * its two points (IQ1_M). */
INLINE void shifts_grid(enum infer_type t, __m256i v[2], __m256i s, const uint8_t *p)
{
	const __m256i one = _mm256_set1_epi16(1);

	if (t == INFER_IQ1_S) {
		v[0] = v[1] = _mm256_sign_epi16(s, _mm256_or_si256(dup128(load16(p + 34)), one));
		return;
	}
	__m256i n = evens_odds(load16(p + 32));
	v[0] = _mm256_sign_epi16(s, _mm256_or_si256(_mm256_slli_epi16(n, 12), one));
	v[1] = _mm256_sign_epi16(s, _mm256_or_si256(n, one));
}

INLINE const uint64_t *grid8(enum infer_type t)
{
	return t == INFER_IQ2_XXS  ? grid_iq2_xxs
	       : t == INFER_IQ2_XS ? grid_iq2_xs
	       : t == INFER_IQ2_S  ? grid_iq2_s
	                           : grid_iq1;
}

/* Unpack the points of 8 times 32 weights, without signs; plus 1 for IQ1 and ternary types.  at:
 * from indices_get. */
INLINE void unpack_grid(enum infer_type t, __m256i u[8], const uint16_t *at, const uint8_t *p)
{
	const int n = g_is3(t) ? 8 : 4;

	if (g_ternary(t)) {
		unpack_ternary(t, u, p);
		return;
	}
	UNROLL
	for (int k = 0; k < 8; k++) {
		int i[8];
		indices_of(t, i, n, at, p, k);
		u[k] = g_is3(t) ? points4(t == INFER_IQ3_S ? grid_iq3_s : grid_iq3_xxs, i)
		                : points8(grid8(t), i);
		if (g_is1(t))
			u[k] = _mm256_add_epi8(u[k], _mm256_set1_epi8(1));
	}
}
#endif
