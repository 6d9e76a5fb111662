/* kern/x86/mm_grid.h - products in place of codebook and ternary weights (blocks of 256), by the
 * operations of int.h and points.h (x86).  The including folder lists the types in ROWS_TYPES(X).
 *
 *   rows   8 rows in place: points without signs are multiplied with x, which takes the signs, in
 *          pairs (16 bits), then with S (32 bits); a transposing tree of adds makes 8 sums.  IQ1:
 *          a weight is 8 (G + 1) - 7 or 8 (G + 1) - 9; the constant is multiplied with sums of x
 *   isum = sum of S (q . x), exact; y = fma(d' dx, isum, y)
 *   bytes per flop and limits: ref/mm_grid.c;  panels: x86/mm_grid_tile.h */

#include "kern/x86/grid.h"
#include "kern/x86/point_words.h"

/* Sums of the eight x of each point, in the order of the products of IQ1_M.  of[0]: points 4 i,
 * then 4 i + 2; of[1]: points 4 i + 1, then 4 i + 3. */
struct x_sums8 {
	__m256i of[2];
};
INLINE void x_sums8_get(struct x_sums8 *e, const struct kern_q8k *x)
{
	const __m256i one = _mm256_set1_epi8(1);
	__m256i p[8];

	UNROLL
	for (int i = 0; i < 8; i++)
		p[i] = _mm256_maddubs_epi16(one, load32(x->q + 32 * i));
	UNROLL
	for (int i = 0; i < 4; i++)
		p[i] = _mm256_hadd_epi16(p[2 * i], p[2 * i + 1]);
	__m256i a = _mm256_hadd_epi16(p[0], p[1]), b = _mm256_hadd_epi16(p[2], p[3]);
	e->of[0] = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_slli_epi32(a, 16), 16),
	                              _mm256_srai_epi32(_mm256_slli_epi32(b, 16), 16));
	e->of[1] = _mm256_packs_epi32(_mm256_srai_epi32(a, 16), _mm256_srai_epi32(b, 16));
}

/* Return the products of the constants of IQ1, S (+-1 - 8), with sums of x. */
INLINE __m256i shift_terms(enum infer_type t, const __m256i v[2], const struct x_sums8 *e,
                           const struct kern_q8k *x)
{
	if (t == INFER_IQ1_S) {
		__m128i w = _mm256_castsi256_si128(v[0]);
		w = _mm_shufflehi_epi16(_mm_shufflelo_epi16(w, 0xd8), 0xd8);
		return _mm256_zextsi128_si256(_mm_madd_epi16(w, load16(x->s32)));
	}
	return mac16(_mm256_madd_epi16(v[0], e->of[0]), v[1], e->of[1]);
}

/* The unpacked fields of a block of one row, except its points.  They are unpacked for all 8 rows
 * first, because the dependency chain within a row is long and the out-of-order window covers
 * little more than one row. */
struct fields {
	__m256i s, v[2];
	uint16_t at[64];
	uint8_t sign[32];
};
INLINE void fields_get(enum infer_type t, struct fields *a, const uint8_t *p)
{
	__m256i v[2], s = scales_grid(t, p);

	indices_get(t, a->at, p);
	if (g_is1(t)) {
		__m256i eight = _mm256_slli_epi16(s, 3);
		shifts_grid(t, v, s, p);
		a->v[0] = _mm256_sub_epi16(v[0], eight);
		a->v[1] = _mm256_sub_epi16(v[1], eight);
		s = eight;
	} else if (t != INFER_IQ2_S && t != INFER_IQ3_S) {
		signs_at(t, a->sign, p);
	}
	a->s = s;
}

/* Return 8 partial sums of isum of a row. */
INLINE __m256i isum_grid(enum infer_type t, const __m256i u[8], const struct fields *a,
                         const uint8_t *signs, const struct x_sums8 *e, const struct kern_q8k *x)
{
	__m256i acc[2] = { g_is1(t) ? shift_terms(t, a->v, e, x) : _mm256_setzero_si256(),
		           _mm256_setzero_si256() };

	UNROLL
	for (int k = 0; k < 8; k++) {
		const __m256i word = _mm256_set1_epi16((short)(2 * k | (2 * k + 1) << 8));
		__m256i xk = load32(x->q + 32 * k);
		if (!g_is1(t))
			xk = sign_apply(xk, sign_load(signs + 4 * k));
		acc[k & 1] = mac16(acc[k & 1], _mm256_maddubs_epi16(u[k], xk),
		                   _mm256_shuffle_epi8(a->s, word));
	}
	return _mm256_add_epi32(acc[0], acc[1]);
}

/* Likewise for a ternary row, with q + 1 instead of q. */
INLINE __m256i isum_ternary(const __m256i u[8], const struct kern_q8k *x)
{
	__m256i acc = _mm256_maddubs_epi16(u[0], load32(x->q));

	UNROLL
	for (int k = 1; k < 8; k++)
		acc = _mm256_add_epi16(acc, _mm256_maddubs_epi16(u[k], load32(x->q + 32 * k)));
	return _mm256_madd_epi16(acc, _mm256_set1_epi16(1));
}

INLINE __m256 d8(enum infer_type t, const uint8_t *p, size_t stride)
{
	if (t != INFER_IQ1_M)
		return _mm256_mul_ps(f16x8(p + g_d_at(t), stride), _mm256_set1_ps(g_factor(t)));
	uint16_t h[8];
	for (int r = 0; r < 8; r++)
		h[r] = g_d_bits(t, p + (size_t)r * stride);
	return _mm256_mul_ps(_mm256_cvtph_ps(load16(h)), _mm256_set1_ps(g_factor(t)));
}

INLINE void rows_grid(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                      const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type);
	const uint8_t *w = s->w;
	__m256 sum[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 256; b++, w += bytes) {
		struct fields fields[8];
		struct x_sums8 e[4];
		__m256i a[4][8];
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		for (int t = 0; t < tn && type == INFER_IQ1_M; t++)
			x_sums8_get(&e[t], act_q8k(x, x_row + t) + b);
		for (int r = 0; r < 8 && !g_ternary(type); r++)
			fields_get(type, &fields[r], w + (size_t)r * s->stride);
		/* make the compiler keep the fields in memory */
		__asm__("" : "+m"(fields));
		for (int r = 0; r < 8; r++) {
			const uint8_t *p = w + (size_t)r * s->stride;
			const uint8_t *signs = type == INFER_IQ2_S   ? p + 34
			                       : type == INFER_IQ3_S ? p + 74
			                                             : fields[r].sign;
			__m256i u[8];
			unpack_grid(type, u, fields[r].at, p);
			UNROLL
			for (int t = 0; t < tn; t++) {
				const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
				a[t][r] = g_ternary(type) ? isum_ternary(u, xt)
				                          : isum_grid(type, u, &fields[r], signs,
				                                      &e[t], xt);
			}
		}
		__m256 d = d8(type, w, s->stride);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
			__m256 dx = _mm256_set1_ps(xt->d);
			__m256i isum = hsum8(a[t]);
			if (g_ternary(type))
				isum = _mm256_sub_epi32(isum, _mm256_set1_epi32(xt->s256));
			sum[t] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(isum),
			                         sum[t]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, sum[t], s);
}

#define ROW(TYPE, name) ROWS_OF(rows_grid, TYPE, name)
ROWS_TYPES(ROW)
#undef ROW
