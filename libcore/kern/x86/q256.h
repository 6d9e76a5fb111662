/* kern/x86/q256.h - unpack blocks of 256 in 256-bit registers (x86); layouts: ref/mm_q256.c. */
#ifndef KERN_X86_Q256_H
#define KERN_X86_Q256_H

/* Half a block of Q4_K, Q5_K, Q6_K or IQ4_XS: the number of parts of 32 bytes that contain its
 * weights, and the offset of part g.  The fifth bits of Q5_K are a part of both halves. */
INLINE int half_parts(enum infer_type t) { return t == INFER_Q5_K || t == INFER_Q6_K ? 3 : 2; }
INLINE int half_at(enum infer_type t, int half, int g)
{
	if (t == INFER_Q6_K)
		return g < 2 ? 64 * half + 32 * g : 128 + 32 * half;
	if (t == INFER_Q5_K)
		return g < 2 ? 48 + 64 * half + 32 * g : 16;
	return (t == INFER_Q4_K ? 16 : 8) + 64 * half + 32 * g;
}
/* Move bit c of every byte to bit 4. */
INLINE __m256i bit_4(__m256i x, int c)
{
	x = c < 4 ? _mm256_slli_epi16(x, 4 - c) : _mm256_srli_epi16(x, c - 4);
	return _mm256_and_si256(x, _mm256_set1_epi8(16));
}
/* Unpack the parts b of half a block to 4 times 32 weights, byte by byte.  b: 32 bytes of one row,
 * which gives the weights in order; or the same few bytes of several rows.  IQ4_XS: the low halves
 * of each 32 bytes are first. */
INLINE void half_unpack(enum infer_type t, int half, __m256i u[4], const __m256i b[3])
{
	const __m256i two = _mm256_set1_epi8(0x30);

	if (t == INFER_Q6_K) {
		u[0] = _mm256_or_si256(low4(b[0]),
		                       _mm256_and_si256(_mm256_slli_epi16(b[2], 4), two));
		u[1] = _mm256_or_si256(low4(b[1]),
		                       _mm256_and_si256(_mm256_slli_epi16(b[2], 2), two));
		u[2] = _mm256_or_si256(shr4(b[0]), _mm256_and_si256(b[2], two));
		u[3] = _mm256_or_si256(shr4(b[1]),
		                       _mm256_and_si256(_mm256_srli_epi16(b[2], 2), two));
		return;
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		u[i] = i % 2 ? shr4(b[i / 2]) : low4(b[i / 2]);
		if (t == INFER_Q5_K)
			u[i] = _mm256_or_si256(u[i], bit_4(b[2], 4 * half + i));
		if (t == INFER_IQ4_XS)
			u[i] = nl4(u[i]);
	}
}

/* Unpack 8 times 32 weights, in order. */
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

/* Unpack the weights of a block, plus q_zero. */
INLINE void unpack256(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	switch (t) {
	case INFER_Q2_K:
		unpack_k2(u, p + 16);
		return;
	case INFER_Q3_K:
		unpack_k3(u, p, p + 32);
		return;
	case INFER_IQ4_XS:
		unpack_x4(u, p + 8);
		return;
	default:
		break;
	}
	UNROLL
	for (int h = 0; h < 2; h++) {
		__m256i b[3];
		UNROLL
		for (int g = 0; g < half_parts(t); g++)
			b[g] = load32(p + half_at(t, h, g));
		half_unpack(t, h, u + 4 * h, b);
	}
}

/* Scales as 16 words.  Scales of 32 weights: 0-7 in both halves; of 16: the even ones in the low
 * half, the odd ones in the high half. */
INLINE __m256i evens_odds(__m128i bytes)
{
	return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(
		bytes, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)));
}

/* Return S of Q3_K: 16 numbers of 6 bits, minus 32. */
INLINE __m128i scales_k3(const uint8_t *sc)
{
	uint32_t a = num_u32(sc), b = num_u32(sc + 4), c = num_u32(sc + 8);
	const uint32_t low = 0x0f0f0f0f, two = 0x30303030;
	__m128i s = _mm_setr_epi32(
		(int)((a & low) | (c << 4 & two)), (int)((b & low) | (c << 2 & two)),
		(int)((a >> 4 & low) | (c & two)), (int)((b >> 4 & low) | (c >> 2 & two)));

	return _mm_sub_epi8(s, _mm_set1_epi8(32));
}

/* Return L - 32 of IQ4_XS: 8 words.  A multiplication moves the field of each word to its top, and
 * a shift moves it down. */
INLINE __m128i scales_x4(const uint8_t *p)
{
	const __m128i head = _mm_loadl_epi64((const __m128i *)(const void *)p);
	__m128i lo = _mm_shuffle_epi8(
		head, _mm_setr_epi8(4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7, -1));
	__m128i hi = _mm_shuffle_epi8(head, _mm_set1_epi16(2 | 3 << 8));

	lo = _mm_mullo_epi16(lo, _mm_setr_epi16(1 << 12, 1 << 8, 1 << 12, 1 << 8, 1 << 12, 1 << 8,
	                                        1 << 12, 1 << 8));
	hi = _mm_mullo_epi16(
		hi, _mm_setr_epi16(1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1));
	hi = _mm_slli_epi16(_mm_srli_epi16(hi, 14), 4);
	return _mm_sub_epi16(_mm_or_si128(_mm_srli_epi16(lo, 12), hi), _mm_set1_epi16(32));
}

/* Scales and minima, for each 32 or 16 weights, of a block of eight rows: scale i is byte i % 4 of
 * the dwords of s[i / 4], one row per dword. */
struct header {
	__m256 d, dmin;
	__m256i s[4], m[4];
};

/* Q4_K, Q5_K: unpack sc to S and M 0-3, then 4-7.  sc[j]: dword j of 8 rows. */
INLINE void scales_k4(__m256i s[2], __m256i m[2], const __m256i sc[3])
{
	const __m256i six = _mm256_set1_epi32(0x3f3f3f3f), low = _mm256_set1_epi32(0x0f0f0f0f),
		      two = _mm256_set1_epi32(0x30303030);

	s[0] = _mm256_and_si256(sc[0], six);
	s[1] = _mm256_or_si256(_mm256_and_si256(sc[2], low),
	                       _mm256_and_si256(_mm256_srli_epi32(sc[0], 2), two));
	m[0] = _mm256_and_si256(sc[1], six);
	m[1] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(sc[2], 4), low),
	                       _mm256_and_si256(_mm256_srli_epi32(sc[1], 2), two));
}

/* Read the headers of Q4_K and Q5_K.  Returns the dwords of d and dmin. */
INLINE __m256i headers_k4(__m256i s[2], __m256i m[2], const struct rows8 *e, size_t at)
{
	__m128i x[8];
	__m256i y[4];

	UNROLL
	for (int r = 0; r < 8; r++)
		x[r] = load16(e->p[r] + at);
	transpose16(y, x);
	scales_k4(s, m, y + 1);
	return y[0];
}

/* Return imin of 8 rows: even and odd words of M times the sums of kern_q8k. */
INLINE __m256i minima_k4(__m256i m0, __m256i m1, const struct kern_q8k *s)
{
	const __m256i byte = _mm256_set1_epi32(0x00ff00ff);
	__m256i r = _mm256_madd_epi16(_mm256_and_si256(m0, byte),
	                              _mm256_set1_epi32((int)num_u32(s->s32)));

	r = mac16(r, _mm256_and_si256(_mm256_srli_epi16(m0, 8), byte),
	          _mm256_set1_epi32((int)num_u32(s->s32 + 2)));
	r = mac16(r, _mm256_and_si256(m1, byte), _mm256_set1_epi32((int)num_u32(s->s32 + 4)));
	return mac16(r, _mm256_and_si256(_mm256_srli_epi16(m1, 8), byte),
	             _mm256_set1_epi32((int)num_u32(s->s32 + 6)));
}

/* the low or the high f16 of 8 dwords */
INLINE __m256 f16_low(__m256i x)
{
	x = _mm256_shuffle_epi8(x, _mm256_setr_epi64x(0x0d0c090805040100, 0x0f0e0b0a07060302,
	                                              0x0d0c090805040100, 0x0f0e0b0a07060302));
	return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(x, 0xd8)));
}
INLINE __m256 f16_high(__m256i x) { return f16_low(_mm256_srli_epi32(x, 16)); }

/* Q2_K: load d and dmin of 8 rows, the last dword of each block. */
INLINE void f16_pairs_k2(__m256 *d, __m256 *dmin, const uint8_t *p, size_t stride)
{
	__m256i y[4];

	transpose16_at(y, p + sizeof(struct q2_k) - 16, stride);
	*d = f16_low(y[3]);
	*dmin = f16_high(y[3]);
}
/* Q2_K: set m to M (the high halves of sc) as words: even ones, then odd ones.  sc[j]: dword j of 8
 * rows. */
INLINE void minima_words_k2(__m256i m[8], const __m256i sc[4])
{
	UNROLL
	for (int i = 0; i < 4; i++) {
		m[i] = _mm256_and_si256(_mm256_srli_epi16(sc[i], 4), _mm256_set1_epi32(0x000f000f));
		m[i + 4] = _mm256_srli_epi16(sc[i], 12);
	}
}
/* Q2_K: return imin of 8 rows. */
INLINE __m256i minima_k2(const __m256i m[8], const struct kern_q8k *s)
{
	__m256i r = _mm256_madd_epi16(m[0], _mm256_set1_epi32((int)num_u32(s->s16)));

	UNROLL
	for (int i = 1; i < 8; i++)
		r = mac16(r, m[i], _mm256_set1_epi32((int)num_u32(s->s16 + 2 * i)));
	return r;
}

INLINE __m128i scales_by16(enum infer_type t, const uint8_t *p)
{
	return t == INFER_Q6_K   ? load16(p + 192)
	       : t == INFER_Q3_K ? scales_k3(p + 96)
	       : t == INFER_Q2_K ? load16(p)
	                         : _mm_packs_epi16(scales_x4(p), _mm_setzero_si128());
}

INLINE void header_get(enum infer_type t, struct header *h, const struct rows8 *e, size_t at)
{
	const __m256i low = _mm256_set1_epi8(15);
	__m128i x[8];

	if (t == INFER_Q4_K || t == INFER_Q5_K) {
		__m256i d = headers_k4(h->s, h->m, e, at);
		h->d = f16_low(d);
		h->dmin = f16_high(d);
		return;
	}
	UNROLL
	for (int r = 0; r < 8; r++)
		x[r] = scales_by16(t, e->p[r] + at);
	transpose16(h->s, x);
	h->d = f16_of(e, at + (size_t)q_scale_at(t));
	if (t != INFER_Q2_K)
		return;
	h->dmin = f16_of(e, at + (size_t)q_scale_at(t) + 2);
	UNROLL
	for (int i = 0; i < 4; i++) {
		h->m[i] = _mm256_and_si256(_mm256_srli_epi16(h->s[i], 4), low);
		h->s[i] = _mm256_and_si256(h->s[i], low);
	}
}

/* Return bytes 0 and 2 (odd 1: 1 and 3) of every dword as words. */
INLINE __m256i byte_pair(__m256i x, int odd)
{
	return _mm256_srai_epi16(odd ? x : _mm256_slli_epi16(x, 8), 8);
}
/* Return byte i of every dword. */
INLINE __m256i byte_of(__m256i x, int i)
{
	switch (i) {
	case 0:
		x = _mm256_slli_epi32(x, 24);
		break;
	case 1:
		x = _mm256_slli_epi32(x, 16);
		break;
	case 2:
		x = _mm256_slli_epi32(x, 8);
		break;
	}
	return _mm256_srai_epi32(x, 24);
}
INLINE void put32(void *p, __m256i x) { _mm256_storeu_si256((__m256i *)p, x); }
#endif
