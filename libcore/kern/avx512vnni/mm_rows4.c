/* kern/avx512vnni/mm_rows4.c - products in place of Q4_K, Q2_K and IQ4_XS, four rows to a register.
 *
 *   rows   8 rows in place, as two times 4: 64 packed bytes of each row are transposed within lanes
 *          of 16 bytes, so that each lane of a register holds 4 neighbours of 4 rows; x repeats the
 *          same 4 neighbours four times.  The sums of a lane share a scale, and lanes are added once
 *          per block
 *   isum = sum of S (q . x), exact; y = fma(d dx, isum, y)
 *   imin = sum of M sum(x), exact; ymin = fma(dmin dx, imin, ymin); y - ymin at the end
 *   layouts, bytes per flop, limits: ref/mm_q256.c;  Q4_K with several rows of x: mm_rows16.c;
 *   panels: mm_k46.c, x86/mm_q256_tile.h */
#include "kern/avx512vnni/rows4.h"
#include "kern/x86/q256.h"

/* The block headers of 8 rows: d, dmin and M, one dword per row; the scales in the order of the
 * sums of half a block of 4 rows, in pairs for Q4_K. */
struct row_headers {
	__m256 d, dmin;
	__m256i m[2];
	__m512i s[2][2];
};

/* Return the dwords of 4 of 8 rows, repeated in each 128-bit lane. */
INLINE __m512i lanes_of(__m256i x, int four)
{
	__m512i w = _mm512_castsi256_si512(x);

	return four ? _mm512_shuffle_i64x2(w, w, 0x55) : _mm512_shuffle_i64x2(w, w, 0);
}

INLINE void row_headers_k4(struct row_headers *a, const uint8_t *p, size_t stride)
{
	const __m512i pairs = _mm512_set_epi32(
		(int)0x800f800e, (int)0x800b800a, (int)0x80078006, (int)0x80038002, (int)0x800f800e,
		(int)0x800b800a, (int)0x80078006, (int)0x80038002, (int)0x800d800c, (int)0x80098008,
		(int)0x80058004, (int)0x80018000, (int)0x800d800c, (int)0x80098008, (int)0x80058004,
		(int)0x80018000);
	const struct rows8 e = rows8_at(p, stride);
	__m256i s[2], d = headers_k4(s, a->m, &e, 0);

	a->d = f16_low(d);
	a->dmin = f16_high(d);
	UNROLL
	for (int i = 0; i < 4; i++)
		a->s[i / 2][i % 2] = _mm512_shuffle_epi8(lanes_of(s[i / 2], i % 2), pairs);
}

/* IQ4_XS: set the scales to L - 32 of the four groups of 32 in each half, one per 128-bit lane. */
INLINE void row_headers_x4(struct row_headers *a, const uint8_t *p, size_t stride)
{
	const __m512i by4 = _mm512_set_epi32(12, 12, 12, 12, 8, 8, 8, 8, 4, 4, 4, 4, 0, 0, 0, 0),
		      by2 = _mm512_set_epi32(18, 18, 18, 18, 16, 16, 16, 16, 14, 14, 14, 14, 12, 12,
	                                     12, 12);
	__m256i y[4];

	transpose16_at(y, p, stride);
	a->d = f16_low(y[0]);
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m512i lo = _mm512_srlv_epi32(lanes_of(y[1], i % 2), by4),
			hi = _mm512_srlv_epi32(lanes_of(y[0], i % 2), by2);
		if (i / 2) {
			lo = _mm512_srli_epi32(lo, 16);
			hi = _mm512_srli_epi32(hi, 8);
		}
		lo = _mm512_or_si512(_mm512_and_si512(lo, wi_set(15)),
		                     _mm512_and_si512(hi, wi_set(48)));
		a->s[i / 2][i % 2] = wi_sub(lo, wi_set(32));
	}
}

INLINE void row_headers_get(enum infer_type t, struct row_headers *a, const uint8_t *p,
                            size_t stride)
{
	if (t == INFER_Q4_K)
		row_headers_k4(a, p, stride);
	else
		row_headers_x4(a, p, stride);
}

/* Transpose 64 bytes at p of 4 rows: lane l, dword r of y[j] is dword j of lane l of row r. */
INLINE void transpose64(__m512i y[4], const uint8_t *p, size_t stride)
{
	__m512i r0 = wi_load(p), r1 = wi_load(p + stride), r2 = wi_load(p + 2 * stride),
		r3 = wi_load(p + 3 * stride);

	/* otherwise compilers load r1 and r3 twice, and most loads touch two cache lines */
	__asm__("" : "+v"(r1), "+v"(r3));
	__m512i a = _mm512_unpacklo_epi32(r0, r1), b = _mm512_unpackhi_epi32(r0, r1),
		c = _mm512_unpacklo_epi32(r2, r3), d = _mm512_unpackhi_epi32(r2, r3);
	y[0] = _mm512_unpacklo_epi64(a, c);
	y[1] = _mm512_unpackhi_epi64(a, c);
	y[2] = _mm512_unpacklo_epi64(b, d);
	y[3] = _mm512_unpackhi_epi64(b, d);
}

/* Set lo and hi to the low and the high codes.  Q4_K: hi is 16 times too large.  IQ4_XS: both are
 * values plus 128. */
INLINE void codes(enum infer_type t, __m512i *lo, __m512i *hi, __m512i v)
{
	const __m512i low = _mm512_set1_epi8(15);

	*lo = _mm512_and_si512(v, low);
	if (t == INFER_Q4_K) {
		*hi = _mm512_andnot_si512(low, v);
		return;
	}
	const __m512i nl = _mm512_broadcast_i32x4(_mm_setr_epi8(
		1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15));
	*lo = _mm512_shuffle_epi8(nl, *lo);
	*hi = _mm512_shuffle_epi8(nl, _mm512_and_si512(_mm512_srli_epi16(v, 4), low));
}

/* Load x of half a block, in the order of the low codes and of the high codes. */
INLINE void x_get(enum infer_type t, __m512i *lo, __m512i *hi, const int8_t *x)
{
	__m512i a = wi_load(x), b = wi_load(x + 64);

	/* written twice, because clang accepts only constants that need no inlining */
	if (t == INFER_Q4_K) {
		*lo = _mm512_shuffle_i64x2(a, b, 0x44);
		*hi = _mm512_shuffle_i64x2(a, b, 0xee);
	} else {
		*lo = _mm512_shuffle_i64x2(a, b, 0x88);
		*hi = _mm512_shuffle_i64x2(a, b, 0xdd);
	}
}
/* Broadcast dword j of each 128-bit lane. */
INLINE __m512i broadcast_dword(__m512i x, int j)
{
	switch (j) {
	case 0:
		return _mm512_shuffle_epi32(x, 0);
	case 1:
		return _mm512_shuffle_epi32(x, 0x55);
	case 2:
		return _mm512_shuffle_epi32(x, 0xaa);
	default:
		return _mm512_shuffle_epi32(x, 0xff);
	}
}

/* IQ4_XS: return the start values of the sums, -128 times the sum of x, by lanes. */
INLINE __m512i start_x4(const struct kern_q8k *x, int half)
{
	const __m512i at = half ? _mm512_set_epi32(7, 7, 7, 7, 5, 5, 5, 5, 6, 6, 6, 6, 4, 4, 4, 4)
	                        : _mm512_set_epi32(3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0);
	__m256i s = _mm256_cvtepi16_epi32(load16(x->s32));

	s = _mm256_slli_epi32(_mm256_sub_epi32(_mm256_setzero_si256(), s), 7);
	return _mm512_permutexvar_epi32(at, _mm512_castsi256_si512(s));
}

/* Return isum of 8 rows from the sums of 4 + 4 rows. */
INLINE __m256i lanes_sum(__m512i a, __m512i b)
{
	__m512i t = wi_add(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xee));

	t = wi_add(t, _mm512_shuffle_i64x2(t, t, 0xb1));
	return _mm512_castsi512_si256(_mm512_shuffle_i64x2(t, t, 0x88));
}

/* The codes of half a block of two times 4 rows. */
struct half_block {
	__m512i lo[2][4], hi[2][4];
};
INLINE void half_block_get(enum infer_type t, struct half_block *h, const uint8_t *p, size_t stride)
{
	UNROLL
	for (int g = 0; g < 2; g++) {
		__m512i v[4];
		transpose64(v, p + (size_t)(4 * g) * stride, stride);
		UNROLL
		for (int j = 0; j < 4; j++)
			codes(t, &h->lo[g][j], &h->hi[g][j], v[j]);
	}
}

/* isum[g] of 4 rows each += the products of half a block.  s: scales. */
INLINE void isum_add_half(enum infer_type t, __m512i isum[2], const struct half_block *h,
                          const __m512i s[2], const struct kern_q8k *x, int half)
{
	__m512i xl, xh, a[2], b[2];

	x_get(t, &xl, &xh, x->q + 128 * half);
	b[0] = b[1] = wi_set(0);
	a[0] = a[1] = t == INFER_Q4_K ? wi_set(0) : start_x4(x, half);
	UNROLL
	for (int j = 0; j < 4; j++) {
		__m512i l = broadcast_dword(xl, j), m = broadcast_dword(xh, j);
		UNROLL
		for (int g = 0; g < 2; g++) {
			a[g] = wi_dot(a[g], h->lo[g][j], l);
			b[g] = wi_dot(b[g], h->hi[g][j], m);
		}
	}
	UNROLL
	for (int g = 0; g < 2; g++)
		if (t == INFER_Q4_K) /* 16 products of 15 and 127 fit 16 bits */
			isum[g] = wi_mac16(
				isum[g], _mm512_mask_mov_epi16(a[g], 0xaaaaaaaa, wi_shl(b[g], 12)),
				s[g]);
		else
			isum[g] = wi_add(isum[g], wi_mul(wi_add(a[g], b[g]), s[g]));
}

INLINE void rows4(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                  const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type);
	const uint8_t *w = s->w;
	__m256 sum[4], min[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 256; b++, w += bytes) {
		struct row_headers row_headers;
		__m512i isum[4][2];
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		row_headers_get(type, &row_headers, w, s->stride);
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t][0] = isum[t][1] = wi_set(0);
		UNROLL
		for (int i = 0; i < 2; i++) {
			struct half_block h;
			half_block_get(type, &h, w + bytes - 128 + 64 * i, s->stride);
			UNROLL
			for (int t = 0; t < tn; t++)
				isum_add_half(type, isum[t], &h, row_headers.s[i],
				              act_q8k(x, x_row + t) + b, i);
		}
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
			sum[t] = sum_add(sum[t], row_headers.d, xt->d,
			                 lanes_sum(isum[t][0], isum[t][1]));
			if (q_minima(type))
				min[t] = sum_add(min[t], row_headers.dmin, xt->d,
				                 minima_k4(row_headers.m[0], row_headers.m[1], xt));
		}
	}
	sums_put(type, tn, y, ldy, sum, min, s);
}

/* The block headers of 8 rows of Q2_K: S in the order of the sums of 4 rows, in pairs of fields. */
struct row_headers_k2 {
	__m256 d, dmin;
	__m256i m[8];
	__m512i s[2][2];
};
INLINE void row_headers_k2(struct row_headers_k2 *a, const uint8_t *p, size_t stride)
{
	const __m512i odd = _mm512_set_epi32(8, 8, 8, 8, 0, 0, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0);
	__m256i sc[4];

	f16_pairs_k2(&a->d, &a->dmin, p, stride);
	transpose16_at(sc, p, stride);
	minima_words_k2(a->m, sc);
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i x = _mm512_castsi256_si512(sc[i]), y = _mm512_castsi256_si512(sc[i + 2]);
		a->s[0][i] = _mm512_srlv_epi32(_mm512_shuffle_i64x2(x, y, 0), odd);
		a->s[1][i] = _mm512_srlv_epi32(_mm512_shuffle_i64x2(x, y, 0x55), odd);
		UNROLL
		for (int g = 0; g < 2; g++)
			a->s[g][i] = _mm512_and_si512(a->s[g][i], wi_set(0x000f000f));
	}
}

/* Compute isum[g] of 4 rows each, by lanes.  v: codes from transpose64.  The 2-bit fields are
 * multiplied without shifting, so their sums are 1, 4, 16 and 64 times too large; 16 products of 3
 * and 127 fit 16 bits. */
INLINE void isum_k2(__m512i isum[2], __m512i v[2][4], __m512i s[2][2], const struct kern_q8k *x)
{
	__m512i a[4][2];

	UNROLL
	for (int f = 0; f < 4; f++) {
		const __m512i field = _mm512_set1_epi8((char)(3 << 2 * f));
		__m512i xf = _mm512_inserti64x4(_mm512_castsi256_si512(load32(x->q + 32 * f)),
		                                load32(x->q + 128 + 32 * f), 1);
		a[f][0] = a[f][1] = wi_set(0);
		UNROLL
		for (int j = 0; j < 4; j++) {
			__m512i xj = broadcast_dword(xf, j);
			UNROLL
			for (int g = 0; g < 2; g++)
				a[f][g] = wi_dot(a[f][g], _mm512_and_si512(v[g][j], field), xj);
		}
	}
	UNROLL
	for (int g = 0; g < 2; g++) {
		isum[g] = wi_mac16(wi_set(0),
		                   _mm512_mask_mov_epi16(a[0][g], 0xaaaaaaaa, wi_shl(a[1][g], 14)),
		                   s[g][0]);
		isum[g] = wi_mac16(isum[g],
		                   _mm512_mask_mov_epi16(_mm512_srli_epi32(a[2][g], 4), 0xaaaaaaaa,
		                                         wi_shl(a[3][g], 10)),
		                   s[g][1]);
	}
}

INLINE void rows4_k2(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                     const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type);
	const uint8_t *w = s->w;
	__m256 sum[4], min[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 256; b++, w += bytes) {
		struct row_headers_k2 h;
		__m512i v[2][4];
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		row_headers_k2(&h, w, s->stride);
		transpose64(v[0], w + 16, s->stride);
		transpose64(v[1], w + 16 + 4 * s->stride, s->stride);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
			__m512i isum[2];
			isum_k2(isum, v, h.s, xt);
			sum[t] = sum_add(sum[t], h.d, xt->d, lanes_sum(isum[0], isum[1]));
			min[t] = sum_add(min[t], h.dmin, xt->d, minima_k2(h.m, xt));
		}
	}
	sums_put(type, tn, y, ldy, sum, min, s);
}

ROWS_OF(rows4, Q4_K, q4_k_by4)
ROWS_OF(rows4, IQ4_XS, iq4_xs)
ROWS_OF(rows4_k2, Q2_K, q2_k_by4)
