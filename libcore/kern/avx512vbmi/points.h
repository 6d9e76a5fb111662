/* kern/avx512vbmi/points.h - codes, signs and scales of 64 points of a row; layouts in
 * ref/mm_grid.c */
#ifndef KERN_AVX512VBMI_POINTS_H
#define KERN_AVX512VBMI_POINTS_H
#include "kern/avx512vbmi/codebook.h"

/* For points of eight coordinates, which cover two blocks, each lane of 16 bytes of code and sign
 * has 8 points of the first block and 8 of the second.  Points of four coordinates are all of one
 * block, and have their signs twice. s: the argument of scale_of. */
struct points {
	vb code[2], sign, s;
};

/* Extend seven signs in every byte to eight, an even number of them set.  from 0: the low bits; 1:
 * the bits above the lowest. */
INLINE vb signs8(vb x, int from)
{
	return _mm512_gf2p8affine_epi64_epi8(
		x, _mm512_set1_epi64(from ? 0x02040810204080fe : 0x010204081020407f), 0);
}
/* Return 2 s + 1 for s in bits 1-4 of every dword. */
INLINE vb odd_scale(vb x)
{
	/* x & 0x1e | 1 */
	return _mm512_ternarylogic_epi32(x, _mm512_set1_epi32(0x1e), _mm512_set1_epi32(1), 0xea);
}
/* Return S of 16 half-bytes, one per dword. */
INLINE vb scales16(const uint8_t *p)
{
	const vb at =
		_mm512_set_epi64(55 | 59ll << 32, 47 | 51ll << 32, 39 | 43ll << 32, 31 | 35ll << 32,
	                         23 | 27ll << 32, 15 | 19ll << 32, 7 | 11ll << 32, 63 | 3ll << 32);

	return odd_scale(
		_mm512_multishift_epi64_epi8(at, _mm512_set1_epi64((long long)num_u64(p))));
}

INLINE void get_2xxs(struct points *a, struct indices *n, const uint8_t *p, const uint8_t *q)
{
	const vb sevens = _mm512_set1_epi64(0x352e2720150e0700);
	__m512 v = _mm512_loadu_ps(p + 2), w = _mm512_loadu_ps(q + 2);
	vb aux = _mm512_castps_si512(_mm512_shuffle_ps(v, w, 0xdd));

	n->low = _mm512_castps_si512(_mm512_shuffle_ps(v, w, 0x88));
	a->sign = signs8(_mm512_multishift_epi64_epi8(sevens, aux), 0);
	a->s = odd_scale(_mm512_srli_epi32(aux, 27));
}

INLINE void get_2xs(struct points *a, struct indices *n, const uint8_t *p, const uint8_t *q)
{
	const vb evens_then_odds = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
	vb v = _mm512_shuffle_epi8(vb_load(p + 2), evens_then_odds),
	   w = _mm512_shuffle_epi8(vb_load(q + 2), evens_then_odds);
	vb up = _mm512_unpackhi_epi64(v, w);

	n->low = _mm512_unpacklo_epi64(v, w);
	n->high[0] = _mm512_test_epi8_mask(up, _mm512_set1_epi8(1));
	a->sign = signs8(up, 1);
}

INLINE void get_2s(struct points *a, struct indices *n, const uint8_t *p, const uint8_t *q)
{
	const vb low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
		 pairs = _mm512_set_epi64(0x3e3c3a3836343230, 0x3e3c3a3836343230,
	                                  0x2e2c2a2826242220, 0x2e2c2a2826242220,
	                                  0x1e1c1a1816141210, 0x1e1c1a1816141210,
	                                  0x0e0c0a0806040200, 0x0e0c0a0806040200);
	vb v = vb_load(p + 2), w = vb_load(q + 2);
	vb up = _mm512_mask_set1_epi64(_mm512_set1_epi64((long long)num_u64(p + 66)), 0xaa,
	                               (long long)num_u64(q + 66));

	n->low = _mm512_permutex2var_epi64(v, low, w);
	up = _mm512_multishift_epi64_epi8(pairs, up);
	n->high[0] = _mm512_test_epi8_mask(up, _mm512_set1_epi8(1));
	n->high[1] = _mm512_test_epi8_mask(up, _mm512_set1_epi8(2));
	a->sign = _mm512_permutex2var_epi64(v, _mm512_or_si512(low, _mm512_set1_epi64(4)), w);
}

INLINE void get_3xxs(struct points *a, struct indices *n, const uint8_t *p)
{
	const vb sevens = _mm512_set1_epi64(0x15150e0e07070000),
		 scale = _mm512_set1_epi64(27 | 27ll << 32);
	vb aux = _mm512_cvtepu32_epi64(load32(p + 66));

	n->low = vb_load(p + 2);
	a->sign = signs8(_mm512_multishift_epi64_epi8(sevens, aux), 0);
	a->s = odd_scale(_mm512_multishift_epi64_epi8(scale, aux));
}

INLINE void get_3s(struct points *a, struct indices *n, const uint8_t *p)
{
	const vb scale =
		_mm512_set_epi64(27 | 27ll << 32, 23 | 23ll << 32, 19 | 19ll << 32, 15 | 15ll << 32,
	                         11 | 11ll << 32, 7 | 7ll << 32, 3 | 3ll << 32, 63 | 63ll << 32);
	const vb twos = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7));

	n->low = vb_load(p + 2);
	n->high[0] = num_u64(p + 66);
	a->sign = _mm512_shuffle_epi8(
		_mm512_permutexvar_epi64(_mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0),
	                                 _mm512_castsi256_si512(load32(p + 74))),
		twos);
	a->s = odd_scale(
		_mm512_multishift_epi64_epi8(scale, _mm512_set1_epi32((int)num_u32(p + 106))));
}

/* Return S of each 16 weights of block h of two at p.  s: from points_get. */
INLINE vb scale_of(enum infer_type t, vb s, int h, const uint8_t *p)
{
	switch (t) {
	case INFER_IQ2_XXS:
		return h ? _mm512_unpackhi_epi32(s, s) : _mm512_unpacklo_epi32(s, s);
	case INFER_IQ2_XS:
		return scales16(p + h * block_bytes(t) + 66);
	case INFER_IQ2_S:
		return scales16(p + h * block_bytes(t) + 74);
	case INFER_IQ3_XXS:
	case INFER_IQ3_S:
		return s;
	default:
		kern_no_case();
	}
}

/* Unpack 64 points.  p: a block; q: the next block, for types whose 64 points cover two. */
INLINE void points_get(enum infer_type t, struct points *a, const vb table[2][MAX_TABLES],
                       const uint8_t *p, const uint8_t *q)
{
	struct indices n;

	switch (t) {
	case INFER_IQ2_XXS:
		get_2xxs(a, &n, p, q);
		break;
	case INFER_IQ2_XS:
		get_2xs(a, &n, p, q);
		break;
	case INFER_IQ2_S:
		get_2s(a, &n, p, q);
		break;
	case INFER_IQ3_XXS:
		get_3xxs(a, &n, p);
		break;
	case INFER_IQ3_S:
		get_3s(a, &n, p);
		break;
	default:
		kern_no_case();
	}
	UNROLL
	for (int h = 0; h < 2; h++)
		a->code[h] = codebook_lookup(t, table[h], &n);
}
#endif
