/* kern/x86/mm_q256_tile.h - products with panels of weights in blocks of 256, by the operations of
 * int.h (x86), for the types that the folder lists in TILE_TYPES.
 *
 *   panel  per block, each field [NR]: d f32 | with minima: dmin f32 | pairs i16[2] | S i32, one for
 *          each 32 or 16 weights | q u8 [64][NR][4]
 *   pairs  are multiplied with the sums of x in the order of kern_q8k.  They are M (Q4_K, Q5_K: 4,
 *          Q2_K: 8), or S if a zero point is subtracted after scaling (IQ4_XS: 4, Q6_K: 8)
 *   Q2_K and Q3_K store S q and -S q, which fit 8 bits, instead of q and S
 *   tile   NR rows x T rows of x: 4 bytes of x broadcast */

#include "kern/x86/q256.h"
#include "kern/x86/words.h"

INLINE int k_pairs(enum infer_type t)
{
	return t == INFER_Q3_K ? 0 : t == INFER_Q2_K || t == INFER_Q6_K ? 8 : 4;
}
INLINE int k_scales(enum infer_type t)
{
	return t == INFER_Q3_K || t == INFER_Q2_K ? 0 : t == INFER_Q6_K ? 16 : 8;
}
INLINE int k_fields(enum infer_type t) { return 1 + q_minima(t) + k_pairs(t) + k_scales(t); }
INLINE size_t panel256(enum infer_type t) { return (size_t)NR * 4 * (size_t)(k_fields(t) + 64); }

/* Store the fields before q of eight rows at dst. */
INLINE void header_put(enum infer_type t, uint8_t *dst, const struct header *h)
{
	const __m256i *pair = q_minima(t) ? h->m : h->s;
	const int dwords = k_pairs(t) / 2;

	_mm256_storeu_ps((float *)(void *)dst, h->d);
	dst += NR * 4;
	if (q_minima(t)) {
		_mm256_storeu_ps((float *)(void *)dst, h->dmin);
		dst += NR * 4;
	}
	/* in the order of the sums of kern_q8k */
	UNROLL
	for (int i = 0; i < 2 * dwords; i++, dst += NR * 4)
		put32(dst, q_by16(t) ? byte_pair(pair[i % dwords], i / dwords)
		                     : byte_pair(pair[i / 2], i % 2));
	UNROLL
	for (int i = 0; i < k_scales(t); i++, dst += NR * 4)
		put32(dst, byte_of(h->s[i / 4], i % 4));
}

/* Return S q of Q2_K, at most 45, or -S (q - 4) of Q3_K, -128 ... 124: each word of s times both
 * bytes of a word of q. */
INLINE __m256i times2(__m256i q, __m256i s) { return _mm256_mullo_epi16(q, s); }
INLINE __m256i times3(__m256i q, __m256i s)
{
	const __m256i low = _mm256_set1_epi16(255);
	__m256i a = _mm256_and_si256(_mm256_mullo_epi16(_mm256_and_si256(q, low), s), low);
	__m256i b = _mm256_slli_epi16(_mm256_mullo_epi16(_mm256_srli_epi16(q, 8), s), 8);
	__m256i four = _mm256_and_si256(_mm256_slli_epi16(s, 2), low);

	four = _mm256_or_si256(four, _mm256_slli_epi16(four, 8));
	return _mm256_sub_epi8(four, _mm256_or_si256(a, b));
}

INLINE void unpack_for_tile(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	__m256i s = t == INFER_Q3_K ? evens_odds(scales_k3(p + 96))
	                            : evens_odds(_mm_and_si128(load16(p), _mm_set1_epi8(15)));

	unpack256(t, u, p);
	UNROLL
	for (int k = 0; k < 8; k++) {
		__m256i word = _mm256_shuffle_epi8(
			s, _mm256_set1_epi16((short)(2 * k | (2 * k + 1) << 8)));
		if (t == INFER_Q2_K)
			u[k] = times2(u[k], word);
		else if (t == INFER_Q3_K)
			u[k] = times3(u[k], word);
		if (q_signed(t) || t == INFER_Q3_K)
			u[k] = _mm256_xor_si256(u[k], _mm256_set1_epi8((char)FLIP));
	}
}

#include "kern/x86/pack256.h"

/* is[t][h] += the products of 4 count weights of each row, from q on, with x from byte `at` on. */
INLINE void chain(enum infer_type type, int tn, wi *is, const uint8_t *q, const struct x_rows *x,
                  int at, int count)
{
	UNROLL
	for (int i = 0; i < count; i++) {
		wi w[H];
		UNROLL
		for (int h = 0; h < H; h++)
			w[h] = wi_load(q + i * NR * 4 + h * LANES * 4);
		UNROLL
		for (int t = 0; t < tn; t++) {
			wi xv = wi_set((int32_t)num_u32((const char *)x_row_at(x, t) + at + 4 * i));
			UNROLL
			for (int h = 0; h < H; h++)
				is[t * H + h] = q_signed(type) || type == INFER_Q3_K
				                        ? wi_dot_ws(is[t * H + h], w[h], xv)
				                        : wi_dot(is[t * H + h], w[h], xv);
		}
	}
}

/* Compute isum of one block.  sc: scales, q: weights of the block. */
INLINE void tile_isum(enum infer_type type, int tn, wi *isum, const uint8_t *sc, const uint8_t *q,
                      const struct x_rows *x)
{
	enum { MOST = 16 };

	UNROLL
	for (int i = 0; i < tn * H; i++)
		isum[i] = wi_set(0);
	if (!k_scales(type)) {
		for (int i = 0; i < 64; i += MOST, q += MOST * NR * 4)
			chain(type, tn, isum, q, x, 4 * i, MOST);
		return;
	}
	const int count = k_scales(type) == 16 ? 4 : 8;
	for (int j = 0; j < k_scales(type); j++, q += count * NR * 4) {
		wi sub[TILE_T * H];
		UNROLL
		for (int i = 0; i < tn * H; i++)
			sub[i] = wi_set(0);
		chain(type, tn, sub, q, x, 4 * count * j, count);
		UNROLL
		for (int i = 0; i < tn * H; i++)
			isum[i] = wi_add(isum[i], wi_mul(sub[i], wi_load(sc + j * NR * 4 +
			                                                 i % H * LANES * 4)));
	}
}

/* Return the pairs of one block times the sums of x. */
INLINE wi tile_pairs(enum infer_type type, const uint8_t *pairs, const struct kern_q8k *s)
{
	const int16_t *of = q_by16(type) ? s->s16 : s->s32;
	wi r = wi_set(0);

	UNROLL
	for (int i = 0; i < k_pairs(type); i++)
		r = wi_mac16(r, wi_load(pairs + i * NR * 4), wi_set((int32_t)num_u32(of + 2 * i)));
	return r;
}

INLINE void tile256(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                    const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8k *xb = act_q8k(x, x_row);
	wf sum[TILE_T * H], min[TILE_T * H];

	UNROLL
	for (int i = 0; i < tn * H; i++)
		sum[i] = min[i] = wf_set(0);
	for (int b = 0; b < k / 256; b++, p += panel256(type), xb++) {
		const struct x_rows at = x_rows_at(xb, x->q_row);
		const uint8_t *pairs = p + NR * 4 * (1 + q_minima(type)),
			      *sc = pairs + NR * 4 * k_pairs(type);
		wi isum[TILE_T * H];
		prefetch_next(x, 1);
		tile_isum(type, tn, isum, sc, sc + NR * 4 * k_scales(type), &at);
		UNROLL
		for (int i = 0; i < tn * H; i++) {
			const struct kern_q8k *s = x_row_at(&at, i / H);
			const int off = i % H * LANES * 4;
			wf dx = wf_set(s->d);
			if (type == INFER_Q3_K)
				isum[i] = wi_sub(wi_set(FLIP * s->s256), isum[i]);
			if (type == INFER_Q6_K)
				isum[i] = wi_sub(isum[i],
				                 wi_shl(tile_pairs(type, pairs + off, s), 5));
			if (type == INFER_IQ4_XS && FLIP != 0)
				isum[i] = wi_sub(isum[i],
				                 wi_shl(tile_pairs(type, pairs + off, s), 7));
			sum[i] = wf_fma(wf_mul(wf_load(p + off), dx), wf_from(isum[i]), sum[i]);
			if (q_minima(type))
				min[i] = wf_fma(wf_mul(wf_load(p + NR * 4 + off), dx),
				                wf_from(tile_pairs(type, pairs + off, s)), min[i]);
		}
	}
	UNROLL
	for (int i = 0; i < tn * H; i++)
		wf_put(y + (size_t)(i / H) * ldy + i % H * LANES,
		       q_minima(type) ? wf_sub(sum[i], min[i]) : sum[i], n - i % H * LANES);
}

#define ROW(TYPE, name) \
	TILE_OF(tile256, TYPE, name, TILE_T) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack256(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 256) * panel256(INFER_##TYPE); \
	}
TILE_TYPES(ROW)
#undef ROW
