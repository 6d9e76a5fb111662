/* kern/avx512vnni/mm_rows16_k2.c - products in place of Q2_K with several rows of x, sixteen weight rows
 * to a register.
 *
 *   rows   16 rows in place, one to a lane (rows16.h), unpacked once for up to 4 rows of x.  The
 *          products read the bytes of x from memory
 *   isum = sum of S (q . x), exact; y = fma(d dx, isum, y)
 *   imin = sum of M sum(x), exact; ymin = fma(dmin dx, imin, ymin); y - ymin at the end
 *   The 2-bit fields are multiplied without shifting, so their sums are 1, 4, 16 and 64 times too large;
 *     16 products of 3 and 127 fit 16 bits, and one instruction multiplies the sums of two fields with scales.
 *   layouts, bytes per flop, limits: ref/mm_q256.c;  one row of x: mm_rows4.c */
#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/rows16.h"
#include "kern/avx512vnni/rows4.h"
#include "kern/x86/q256.h"

/* most rows of x in a part */
enum { X_MOST = 4 };

/* The header of a block: S of groups 0 and 2, 4 and 6, ..., then of 1 and 3, ..., as words; M as
 * words in the order of kern_q8k.s16. */
struct block16 {
	wi s[8], m[8];
	wf d, dmin;
};
INLINE void block16_get(struct block16 *h, const struct rows16 *w)
{
	const wi nibble = wi_set(0x000f000f);
	wi y[4];

	load_by16(y, w, 68);
	h->d = f16_words(y[3]);
	h->dmin = f16_words(_mm512_srli_epi32(y[3], 16));
	load_by16(y, w, 0);
	UNROLL
	for (int i = 0; i < 4; i++) {
		h->s[i] = _mm512_and_si512(y[i], nibble);
		h->s[4 + i] = _mm512_and_si512(_mm512_srli_epi32(y[i], 8), nibble);
		h->m[i] = _mm512_and_si512(_mm512_srli_epi32(y[i], 4), nibble);
		h->m[4 + i] = _mm512_srli_epi16(y[i], 12);
	}
}

/* isum += the products of 16 bytes, the i-th of the block: four fields of 16 weights. */
INLINE void isum16(wi *isum, int tn, const struct rows16 *w, int i, const wi s[8],
                   const struct kern_act *x, int x_row, int b)
{
	const int half = i / 2, g = i % 2;
	const uint8_t *xq = (const uint8_t *)(act_q8k(x, x_row) + b)->q + 128 * half + 16 * g;
	wi y[4], a[4][X_MOST];

	load_by16(y, w, 16 + 16 * i);
	UNROLL
	for (int f = 0; f < 4; f++) {
		const wi field = _mm512_set1_epi8((char)(3 << 2 * f));
		UNROLL
		for (int t = 0; t < tn; t++)
			a[f][t] = wi_set(0);
		UNROLL
		for (int j = 0; j < 4; j++) {
			wi q = _mm512_and_si512(y[j], field);
			UNROLL
			for (int t = 0; t < tn; t++)
				a[f][t] = dot_at(a[f][t], q,
				                 (const uint8_t *)row_of(xq, x->q_row, t) + 32 * f +
				                         4 * j);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		isum[t] = wi_mac16(isum[t],
		                   _mm512_mask_mov_epi16(a[0][t], 0xaaaaaaaa, wi_shl(a[1][t], 14)),
		                   s[4 * g + 2 * half]);
		isum[t] = wi_mac16(isum[t],
		                   _mm512_mask_mov_epi16(_mm512_srli_epi32(a[2][t], 4), 0xaaaaaaaa,
		                                         wi_shl(a[3][t], 10)),
		                   s[4 * g + 2 * half + 1]);
	}
}
INLINE void part16(int tn, float *y, size_t ldy, const struct row_group *s,
                   const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(INFER_Q2_K);
	struct rows16 w = rows16_at(s->w, s->stride);
	wf sum[X_MOST], min[X_MOST];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = wf_set(0);
	for (int b = 0, ahead = 0; b < k / 256; b++) {
		struct block16 h;
		wi isum[X_MOST];
		block16_get(&h, &w);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
			wi imin = wi_set(0);
			UNROLL
			for (int i = 0; i < 8; i++)
				imin = wi_mac16(imin, h.m[i],
				                wi_set((int32_t)num_u32(xt->s16 + 2 * i)));
			min[t] = wf_fma(wf_mul(h.dmin, wf_set(xt->d)), wf_from(imin), min[t]);
			isum[t] = wi_set(0);
		}
		UNROLL
		for (int i = 0; i < 4; i++) {
			for (int at = ahead; at < bytes; at += 64)
				prefetch4(&w, i, at + AHEAD16);
			isum16(isum, tn, &w, i, h.s, x, x_row, b);
		}
		ahead += (bytes - ahead + 63) / 64 * 64 - bytes;
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = act_q8k(x, x_row + t) + b;
			sum[t] = wf_fma(wf_mul(h.d, wf_set(xt->d)), wf_from(isum[t]), sum[t]);
		}
		rows16_advance(&w, 16, (size_t)bytes);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put16(y + (size_t)t * ldy, wf_sub(sum[t], min[t]), s->y_step);
}

PART16(q2_k, 2)
PART16(q2_k, 3)
PART16(q2_k, 4)

/* One row of x, or few weight rows, are multiplied by mm_rows4.c, four weight rows to a register:
 * eight streams are read faster than sixteen. */
void KERN_FN(q2_k_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                        const struct kern_act *x, int x_row, int m, int n, int k)
{
	static rows_part *const part[X_MOST] = { 0, q2_k_by2, q2_k_by3, q2_k_by4 };

	if (m == 1 || n < 16)
		KERN_FN(q2_k_by4_rows)(y, ldy, w, row_bytes, x, x_row, m, n, k);
	else
		rows16_run(part, X_MOST, y, ldy, w, row_bytes, x, x_row, m, n, k);
}
