/* kern/tmpl/q256.h - blocks of 256 in 256-bit registers (x86); layouts as drawn in
 * ref/mm_q256.c. */
#ifndef KERN_TMPL_Q256_H
#define KERN_TMPL_Q256_H

/* 8 times 32 weights, in order */
INLINE void unpack_k4(__m256i u[8], const uint8_t *qs)
{
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i b = load32(qs + 32 * i);
		u[2 * i] = low4(b);
		u[2 * i + 1] = shr4(b);
	}
}

INLINE void unpack_k5(__m256i u[8], const uint8_t *qh, const uint8_t *qs)
{
	const __m256i sixteen = _mm256_set1_epi8(16);
	__m256i h = load32(qh);

	unpack_k4(u, qs);
	/* bit c of every byte to bit 4 */
	u[0] = _mm256_or_si256(u[0], _mm256_and_si256(_mm256_slli_epi16(h, 4), sixteen));
	u[1] = _mm256_or_si256(u[1], _mm256_and_si256(_mm256_slli_epi16(h, 3), sixteen));
	u[2] = _mm256_or_si256(u[2], _mm256_and_si256(_mm256_slli_epi16(h, 2), sixteen));
	u[3] = _mm256_or_si256(u[3], _mm256_and_si256(_mm256_slli_epi16(h, 1), sixteen));
	u[4] = _mm256_or_si256(u[4], _mm256_and_si256(h, sixteen));
	u[5] = _mm256_or_si256(u[5], _mm256_and_si256(_mm256_srli_epi16(h, 1), sixteen));
	u[6] = _mm256_or_si256(u[6], _mm256_and_si256(_mm256_srli_epi16(h, 2), sixteen));
	u[7] = _mm256_or_si256(u[7], _mm256_and_si256(_mm256_srli_epi16(h, 3), sixteen));
}

INLINE void unpack_k6(__m256i u[8], const uint8_t *ql, const uint8_t *qh)
{
	const __m256i two = _mm256_set1_epi8(0x30);

	UNROLL
	for (int h = 0; h < 2; h++, u += 4, ql += 64, qh += 32) {
		__m256i a = load32(ql), b = load32(ql + 32), x = load32(qh);
		u[0] = _mm256_or_si256(low4(a), _mm256_and_si256(_mm256_slli_epi16(x, 4), two));
		u[1] = _mm256_or_si256(low4(b), _mm256_and_si256(_mm256_slli_epi16(x, 2), two));
		u[2] = _mm256_or_si256(shr4(a), _mm256_and_si256(x, two));
		u[3] = _mm256_or_si256(shr4(b), _mm256_and_si256(_mm256_srli_epi16(x, 2), two));
	}
}

INLINE void unpack_k2(__m256i u[8], const uint8_t *qs)
{
	const __m256i three = _mm256_set1_epi8(3);

	UNROLL
	for (int h = 0; h < 2; h++, u += 4) {
		__m256i a = load32(qs + 32 * h);
		u[0] = _mm256_and_si256(a, three);
		u[1] = _mm256_and_si256(_mm256_srli_epi16(a, 2), three);
		u[2] = _mm256_and_si256(_mm256_srli_epi16(a, 4), three);
		u[3] = _mm256_and_si256(_mm256_srli_epi16(a, 6), three);
	}
}

INLINE void unpack_k3(__m256i u[8], const uint8_t *hm, const uint8_t *qs)
{
	const __m256i four = _mm256_set1_epi8(4);
	__m256i h = load32(hm);

	unpack_k2(u, qs);
	/* bit c of every byte to bit 2 */
	u[0] = _mm256_or_si256(u[0], _mm256_and_si256(_mm256_slli_epi16(h, 2), four));
	u[1] = _mm256_or_si256(u[1], _mm256_and_si256(_mm256_slli_epi16(h, 1), four));
	u[2] = _mm256_or_si256(u[2], _mm256_and_si256(h, four));
	u[3] = _mm256_or_si256(u[3], _mm256_and_si256(_mm256_srli_epi16(h, 1), four));
	u[4] = _mm256_or_si256(u[4], _mm256_and_si256(_mm256_srli_epi16(h, 2), four));
	u[5] = _mm256_or_si256(u[5], _mm256_and_si256(_mm256_srli_epi16(h, 3), four));
	u[6] = _mm256_or_si256(u[6], _mm256_and_si256(_mm256_srli_epi16(h, 4), four));
	u[7] = _mm256_or_si256(u[7], _mm256_and_si256(_mm256_srli_epi16(h, 5), four));
}

INLINE void unpack_x4(__m256i u[8], const uint8_t *qs)
{
	UNROLL
	for (int i = 0; i < 8; i++)
		u[i] = nl4(nibbles(qs + 16 * i));
}

/* weights of a block, q_zero above what they mean */
INLINE void unpack256(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	switch (t) {
	case INFER_Q4_K:
		unpack_k4(u, p + 16);
		break;
	case INFER_Q5_K:
		unpack_k5(u, p + 16, p + 48);
		break;
	case INFER_Q6_K:
		unpack_k6(u, p, p + 128);
		break;
	case INFER_Q2_K:
		unpack_k2(u, p + 16);
		break;
	case INFER_Q3_K:
		unpack_k3(u, p, p + 32);
		break;
	default:
		unpack_x4(u, p + 8);
	}
}

/* Scales as 16 words: of 32, 0-7 in both halves; of 16, the even ones in the low half, the odd in
 * the high one. */
INLINE __m256i evens_odds(__m128i bytes)
{
	return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(
	    bytes, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)));
}

/* S of Q3_K: 16 times 6 bits, less 32 */
INLINE __m128i scales_k3(const uint8_t *sc)
{
	uint32_t a = num_u32(sc), b = num_u32(sc + 4), c = num_u32(sc + 8);
	const uint32_t low = 0x0f0f0f0f, two = 0x30303030;
	__m128i s = _mm_setr_epi32(
	    (int)((a & low) | (c << 4 & two)), (int)((b & low) | (c << 2 & two)),
	    (int)((a >> 4 & low) | (c & two)), (int)((b >> 4 & low) | (c >> 2 & two)));

	return _mm_sub_epi8(s, _mm_set1_epi8(32));
}

/* L of IQ4_XS, less 32: 8 words.  Multiplying moves the field of each word to its top, from where
 * it is shifted down. */
INLINE __m128i scales_x4(const uint8_t *p)
{
	const __m128i head = _mm_loadl_epi64((const __m128i *)(const void *)p);
	__m128i lo = _mm_shuffle_epi8(
	    head, _mm_setr_epi8(4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7, -1));
	__m128i hi = _mm_shuffle_epi8(head, _mm_set1_epi16(2 | 3 << 8));

	lo = _mm_mullo_epi16(
	    lo, _mm_setr_epi16(1 << 12, 1 << 8, 1 << 12, 1 << 8, 1 << 12, 1 << 8, 1 << 12, 1 << 8));
	hi = _mm_mullo_epi16(
	    hi, _mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1));
	hi = _mm_slli_epi16(_mm_srli_epi16(hi, 14), 4);
	return _mm_sub_epi16(_mm_or_si128(_mm_srli_epi16(lo, 12), hi), _mm_set1_epi16(32));
}

/* scales and minima of one row's block, those of 32 or of 16 */
struct head {
	float d, dmin;
	int16_t s[16], m[16];
};

INLINE void head_get(enum infer_type t, struct head *h, const uint8_t *p)
{
	h->d = num_f16(num_u16(p + q_scale_at(t)));
	h->dmin = q_minima(t) ? num_f16(num_u16(p + q_scale_at(t) + 2)) : 0;
	switch (t) {
	case INFER_Q4_K:
	case INFER_Q5_K:
		for (int c = 0; c < 4; c++) {
			const uint8_t *sc = p + 4;
			h->s[c] = sc[c] & 63;
			h->m[c] = sc[c + 4] & 63;
			h->s[c + 4] = (int16_t)((sc[c + 8] & 15) | sc[c] >> 6 << 4);
			h->m[c + 4] = (int16_t)(sc[c + 8] >> 4 | sc[c + 4] >> 6 << 4);
		}
		break;
	case INFER_Q2_K:
		for (int i = 0; i < 16; i++) {
			h->s[i] = p[i] & 15;
			h->m[i] = p[i] >> 4;
		}
		break;
	case INFER_Q6_K:
		for (int i = 0; i < 16; i++)
			h->s[i] = (int8_t)p[192 + i];
		break;
	case INFER_Q3_K:
		_mm256_storeu_si256((__m256i *)(void *)h->s,
		                    _mm256_cvtepi8_epi16(scales_k3(p + 96)));
		break;
	default:
		_mm_storeu_si128((__m128i *)(void *)h->s, scales_x4(p));
	}
}
#endif
