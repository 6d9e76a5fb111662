/* kern/x86/mm_q256.h - products in place of weights in blocks of 256, by the operations of int.h
 * (x86).
 *
 *   rows   8 rows in place: bytes times x in pairs (16 bits), times the scale of their 16 or 32
 *          weights (32 bits); a transposing tree of adds makes 8 sums.  The block headers of 8 rows
 *          of Q2_K to Q5_K are transposed, so that a register holds one field of all of them
 *   isum = sum of S (q . x), exact; y = fma(d dx, isum, y)
 *   imin = sum of M sum(x), exact; ymin = fma(dmin dx, imin, ymin); y - ymin at the end
 *   bytes per flop and limits: ref/mm_q256.c;  panels: x86/mm_q256_tile.h
 *
 * A folder that includes this file defines ROWS_TYPES(X), the types whose kernels in place are
 * instances of this one. */

#include "kern/x86/q256.h"
#include "kern/x86/words.h"

/* The fields of the block headers of 8 rows. */
struct headers {
	__m256 d, dmin;
	__m256i min_lo, min_hi;
	uint8_t s[8][8], s16[8][16];
};

/* Read the headers of Q4_K, Q5_K.  M 0-3 and 4-7 stay transposed, one row per dword; S is
 * transposed back to bytes by row. */
INLINE void headers_k45(struct headers *h, const uint8_t *p, size_t stride)
{
	const struct rows8 e = rows8_at(p, stride);
	__m256i s[2], m[2], d = headers_k4(s, m, &e, 0);
	/* reorder: rows 0 1 4 5, then 2 3 6 7 */
	__m256i x = _mm256_unpacklo_epi32(s[0], s[1]), y = _mm256_unpackhi_epi32(s[0], s[1]);

	put32(h->s[0], _mm256_permute2x128_si256(x, y, 0x20));
	put32(h->s[4], _mm256_permute2x128_si256(x, y, 0x31));
	h->min_lo = m[0];
	h->min_hi = m[1];
	h->d = f16_low(d);
	h->dmin = f16_high(d);
}

/* Read the headers of Q3_K: S of 8 rows, 16 bytes each, and d. */
INLINE void headers_k3(struct headers *h, const uint8_t *p, size_t stride)
{
	const __m256i low = _mm256_set1_epi32(0x0f0f0f0f), two = _mm256_set1_epi32(0x30303030);
	__m256i x[4], s[4], a[4];

	/* load the 12 bytes of S together with the two bytes before them and d, so that all loads
	 * stay in the block */
	transpose16_at(x, p + 94, stride);
	__m256i c0 = _mm256_or_si256(_mm256_srli_epi32(x[0], 16), _mm256_slli_epi32(x[1], 16)),
		c1 = _mm256_or_si256(_mm256_srli_epi32(x[1], 16), _mm256_slli_epi32(x[2], 16)),
		c2 = _mm256_or_si256(_mm256_srli_epi32(x[2], 16), _mm256_slli_epi32(x[3], 16));
	h->d = f16_high(x[3]);
	s[0] = _mm256_or_si256(_mm256_and_si256(c0, low),
	                       _mm256_and_si256(_mm256_slli_epi32(c2, 4), two));
	s[1] = _mm256_or_si256(_mm256_and_si256(c1, low),
	                       _mm256_and_si256(_mm256_slli_epi32(c2, 2), two));
	s[2] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(c0, 4), low),
	                       _mm256_and_si256(c2, two));
	s[3] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(c1, 4), low),
	                       _mm256_and_si256(_mm256_srli_epi32(c2, 2), two));
	UNROLL
	for (int i = 0; i < 4; i += 2) {
		a[i] = _mm256_unpacklo_epi32(s[i], s[i + 1]);
		a[i + 1] = _mm256_unpackhi_epi32(s[i], s[i + 1]);
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i v = i & 1 ? _mm256_unpackhi_epi64(a[i / 2], a[i / 2 + 2])
		                  : _mm256_unpacklo_epi64(a[i / 2], a[i / 2 + 2]);
		v = _mm256_sub_epi8(v, _mm256_set1_epi8(32));
		_mm_storeu_si128((__m128i *)(void *)h->s16[i], _mm256_castsi256_si128(v));
		_mm_storeu_si128((__m128i *)(void *)h->s16[i + 4], _mm256_extracti128_si256(v, 1));
	}
}

/* True for Q2_K and Q3_K, which are unpacked without shifting each field down: the four 32 weights
 * of a half are 1, 4, 4 and 16 times too large, still below 128.  Their scales are multiplied by
 * 16, 4, 4 and 1, so isum is 16 times too large. */
INLINE int q_unshifted(enum infer_type t) { return t == INFER_Q2_K || t == INFER_Q3_K; }
INLINE __m256i unshifted_scales(__m256i s)
{
	return _mm256_mullo_epi16(s, _mm256_set1_epi64x(16 | 4ll << 16 | 4ll << 32 | 1ll << 48));
}
INLINE void unshifted_half(__m256i u[4], __m256i a)
{
	const __m256i two = _mm256_set1_epi8(12);
	__m256i b = _mm256_srli_epi16(a, 2);

	u[0] = _mm256_and_si256(a, _mm256_set1_epi8(3));
	u[1] = _mm256_and_si256(a, two);
	u[2] = _mm256_and_si256(b, two);
	u[3] = _mm256_and_si256(b, _mm256_set1_epi8(48));
}
INLINE __m256i or_bits(__m256i u, __m256i h, int bit)
{
	return _mm256_or_si256(u, _mm256_and_si256(h, _mm256_set1_epi8((char)bit)));
}
INLINE void unpack_unshifted(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	if (t == INFER_Q2_K) {
		unshifted_half(u, load32(p + 16));
		unshifted_half(u + 4, load32(p + 48));
		return;
	}
	__m256i h = load32(p), a, b;
	unshifted_half(u, load32(p + 32));
	unshifted_half(u + 4, load32(p + 64));
	a = _mm256_slli_epi16(h, 2), b = _mm256_slli_epi16(h, 3);
	u[0] = or_bits(u[0], a, 4), u[1] = or_bits(u[1], b, 16);
	u[2] = or_bits(u[2], a, 16), u[3] = or_bits(u[3], b, 64);
	a = _mm256_srli_epi16(h, 2), b = _mm256_srli_epi16(h, 1);
	u[4] = or_bits(u[4], a, 4), u[5] = or_bits(u[5], b, 16);
	u[6] = or_bits(u[6], a, 16), u[7] = or_bits(u[7], b, 64);
}

/* Read the headers of Q2_K: d, dmin and M of 8 rows. */
INLINE void headers_k2(struct headers *h, __m256i m[8], const uint8_t *p, size_t stride)
{
	__m256i sc[4];

	f16_pairs_k2(&h->d, &h->dmin, p, stride);
	transpose16_at(sc, p, stride);
	minima_words_k2(m, sc);
}

INLINE __m256i scale_words(enum infer_type t, const struct headers *h, int r, const uint8_t *p)
{
	switch (t) {
	case INFER_Q4_K:
	case INFER_Q5_K: {
		uint64_t s;
		memcpy(&s, h->s[r], 8);
		return dup128(_mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)s)));
	}
	case INFER_Q6_K:
		return evens_odds(load16(p + 192));
	case INFER_Q2_K:
		return evens_odds(_mm_and_si128(load16(p), _mm_set1_epi8(15)));
	case INFER_Q3_K:
		return evens_odds(load16(h->s16[r]));
	case INFER_IQ4_XS:
		return dup128(scales_x4(p));
	default:
		kern_no_case();
	}
}

/* Return 8 partial sums of isum of a row: q[k] . x[k] times word k of s, minus the zero point. */
INLINE __m256i isum256(enum infer_type t, const __m256i q[8], __m256i s, const struct kern_q8k *x)
{
	__m256i acc[2] = { _mm256_setzero_si256(), _mm256_setzero_si256() };

	if (q_zero(t)) {
		acc[0] = times_zero(t, _mm256_madd_epi16(s, load32(x->s16)));
		if (q_unshifted(t))
			acc[0] = _mm256_slli_epi32(acc[0], 4);
		acc[0] = _mm256_sub_epi32(_mm256_setzero_si256(), acc[0]);
	}
	if (q_unshifted(t))
		s = unshifted_scales(s);
	UNROLL
	for (int k = 0; k < 8; k++) {
		const __m256i word = _mm256_set1_epi16((short)(2 * k | (2 * k + 1) << 8));
		__m256i p = _mm256_maddubs_epi16(q[k], load32(x->q + 32 * k));
		acc[k & 1] = mac16(acc[k & 1], p, _mm256_shuffle_epi8(s, word));
	}
	return _mm256_add_epi32(acc[0], acc[1]);
}

/* x and |x| in the order of the bytes of IQ4_XS: a byte has weight i and weight i + 16. */
struct x_reordered {
	__m256i x[8], abs_x[8];
};
INLINE void x_reorder(struct x_reordered *t, const struct kern_q8k *x)
{
	UNROLL
	for (int i = 0; i < 8; i += 2) {
		__m256i a = load32(x->q + 32 * i), b = load32(x->q + 32 * i + 32);
		t->x[i] = _mm256_permute2x128_si256(a, b, 0x20);
		t->x[i + 1] = _mm256_permute2x128_si256(a, b, 0x31);
		t->abs_x[i] = _mm256_abs_epi8(t->x[i]);
		t->abs_x[i + 1] = _mm256_abs_epi8(t->x[i + 1]);
	}
}

INLINE __m256i isum_x4(const uint8_t *qs, __m256i s, const struct x_reordered *t)
{
	__m256i acc = _mm256_setzero_si256();

	UNROLL
	for (int i = 0; i < 4; i++) {
		const short a = (short)(4 * i | (4 * i + 1) << 8),
			    b = (short)((4 * i + 2) | (4 * i + 3) << 8);
		const __m256i word =
			_mm256_setr_epi16(a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b);
		__m256i n = load32(qs + 32 * i), scale = _mm256_shuffle_epi8(s, word);
		acc = mac16(acc,
		            _mm256_maddubs_epi16(t->abs_x[2 * i],
		                                 _mm256_sign_epi8(nl4(low4(n)), t->x[2 * i])),
		            scale);
		acc = mac16(acc,
		            _mm256_maddubs_epi16(t->abs_x[2 * i + 1],
		                                 _mm256_sign_epi8(nl4(shr4(n)), t->x[2 * i + 1])),
		            scale);
	}
	return acc;
}

INLINE void rows256(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                    const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type);
	const uint8_t *w = s->w;
	__m256 sum[4], min[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 256; b++, w += bytes) {
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		struct headers h;
		struct x_reordered x_reordered[4];
		__m256i a[4][8], m[8];
		if (type == INFER_Q4_K || type == INFER_Q5_K)
			headers_k45(&h, w, s->stride);
		else if (type == INFER_Q3_K)
			headers_k3(&h, w, s->stride);
		else if (type == INFER_Q2_K)
			headers_k2(&h, m, w, s->stride);
		else
			h.d = f16x8(w + q_scale_at(type), s->stride);
		for (int t = 0; t < tn && type == INFER_IQ4_XS; t++)
			x_reorder(&x_reordered[t], act_q8k(x, x_row + t) + b);
		for (int r = 0; r < 8; r++) {
			const uint8_t *p = w + (size_t)r * s->stride;
			__m256i q[8], words = scale_words(type, &h, r, p);
			if (q_unshifted(type))
				unpack_unshifted(type, q, p);
			else if (type != INFER_IQ4_XS)
				unpack256(type, q, p);
			UNROLL
			for (int t = 0; t < tn; t++) {
				const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
				a[t][r] = type == INFER_IQ4_XS
				                  ? isum_x4(p + 8, words, &x_reordered[t])
				                  : isum256(type, q, words, xt);
			}
		}
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
			__m256i isum = hsum8(a[t]);
			if (q_unshifted(type))
				isum = _mm256_srai_epi32(isum, 4);
			sum[t] = sum_add(sum[t], h.d, xt->d, isum);
			if (q_minima(type))
				min[t] = sum_add(min[t], h.dmin, xt->d,
				                 type == INFER_Q2_K
				                         ? minima_k2(m, xt)
				                         : minima_k4(h.min_lo, h.min_hi, xt));
		}
	}
	sums_put(type, tn, y, ldy, sum, min, s);
}

#define ROW(TYPE, name) ROWS_OF(rows256, TYPE, name)
ROWS_TYPES(ROW)
#undef ROW
