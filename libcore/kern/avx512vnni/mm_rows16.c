/* kern/avx512vnni/mm_rows16.c - products in place of Q4_K with several rows of x, sixteen weight rows
 * to a register.
 *
 *   rows   16 rows in place, one to a lane (rows16.h), unpacked once for up to 8 rows of x.  The
 *          products read the bytes of x from memory
 *   isum = sum of S (q . x), exact; y = fma(d dx, isum, y)
 *   imin = sum of M sum(x), exact; ymin = fma(dmin dx, imin, ymin); y - ymin at the end
 *   A block of 16 rows takes 64 products and 17 more multiplications for each row of x, one a cycle on
 *   a processor whose 512-bit products take two pipes, and about 45 ns to unpack.
 *   layouts, bytes per flop, limits: ref/mm_q256.c;  one row of x: mm_rows4.c */
#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/rows16.h"
#include "kern/avx512vnni/rows4.h"
#include "kern/x86/q256.h"

/* most rows of x in a part */
enum { X_MOST = 8 };

/* The header of a block.  S: even scales are multiplied by 16, because odd codes are 16 times too
 * large.  M: words in the order of kern_q8k.s32. */
struct block16 {
	wi s[8], m[4];
	wf d, dmin;
};
INLINE void block16_get(struct block16 *h, const struct rows16 *w)
{
	const wi low = wi_set(0x0f0f0f0f), two = wi_set(0x30303030), six = wi_set(0x3f3f3f3f),
		 byte = wi_set(255), bytes = wi_set(0x00ff00ff);
	wi y[4], s[2], m[2];

	load_by16(y, w, 0);
	h->d = f16_words(y[0]);
	h->dmin = f16_words(_mm512_srli_epi32(y[0], 16));
	s[0] = _mm512_and_si512(y[1], six);
	s[1] = _mm512_or_si512(_mm512_and_si512(y[3], low),
	                       _mm512_and_si512(_mm512_srli_epi32(y[1], 2), two));
	m[0] = _mm512_and_si512(y[2], six);
	m[1] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(y[3], 4), low),
	                       _mm512_and_si512(_mm512_srli_epi32(y[2], 2), two));
	UNROLL
	for (int i = 0; i < 2; i++) {
		h->s[4 * i] = wi_shl(_mm512_and_si512(s[i], byte), 4);
		h->s[4 * i + 1] = _mm512_and_si512(_mm512_srli_epi32(s[i], 8), byte);
		h->s[4 * i + 2] = wi_shl(_mm512_and_si512(_mm512_srli_epi32(s[i], 16), byte), 4);
		h->s[4 * i + 3] = _mm512_srli_epi32(s[i], 24);
		h->m[2 * i] = _mm512_and_si512(m[i], bytes);
		h->m[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(m[i], 8), bytes);
	}
}

/* the sums of each row of x, in memory */
struct sums16 {
	wf sum[X_MOST], min[X_MOST];
};

/* isum += the products of 64 weights, from byte `at` of the block on.  s: scales.  Advances x. */
INLINE void isum64(wi *isum, int tn, const struct rows16 *w, int at, const wi *s, struct rows16 *x)
{
	const wi low = _mm512_set1_epi8(15);
	wi y[8];

	load_by16(y, w, at);
	load_by16(y + 4, w, at + 16);
	UNROLL
	for (int odd = 0; odd < 2; odd++) {
		wi sub[X_MOST];
		UNROLL
		for (int t = 0; t < tn; t++)
			sub[t] = wi_set(0);
		UNROLL
		for (int j = 0; j < 8; j++) {
			wi q = odd ? _mm512_andnot_si512(low, y[j]) : _mm512_and_si512(low, y[j]);
			UNROLL
			for (int t = 0; t < tn; t++)
				sub[t] = dot_at(sub[t], q, row16(x, t));
			rows16_advance(x, tn, 4);
		}
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = wi_add(isum[t], wi_mul(sub[t], s[odd]));
	}
}

INLINE void block_add(int tn, struct sums16 *a, const wi *isum, const struct block16 *h,
                      const struct rows16 *x)
{
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8k *xt = (const void *)row16(x, t);
		wf dx = wf_set(xt->d);
		wi imin = wi_set(0);
		UNROLL
		for (int i = 0; i < 4; i++)
			imin = wi_mac16(imin, h->m[i], wi_set((int32_t)num_u32(xt->s32 + 2 * i)));
		a->sum[t] =
			wf_fma(wf_mul(h->d, dx), wf_from(_mm512_srai_epi32(isum[t], 4)), a->sum[t]);
		a->min[t] = wf_fma(wf_mul(h->dmin, dx), wf_from(imin), a->min[t]);
	}
}

INLINE void part16(int tn, float *y, size_t ldy, const struct row_group *s,
                   const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(INFER_Q4_K);
	const struct kern_q8k *xb = act_q8k(x, x_row);
	struct sums16 sums, *a = &sums;
	struct rows16 w = rows16_at(s->w, s->stride);

	__asm__("" : "+r"(a)); /* otherwise the compiler copies all sums to the stack and back */
	UNROLL
	for (int t = 0; t < tn; t++)
		a->sum[t] = a->min[t] = wf_set(0);
	for (int b = 0, ahead = 0; b < k / 256; b++, xb++) {
		struct block16 head, *h = &head;
		struct rows16 xq = rows16_at(xb, x->q_row);
		wi isum[X_MOST];
		__asm__("" : "+r"(h));
		block16_get(h, &w);
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = wi_set(0);
		for (int i = 0; i < 4; i++) {
			for (int at = ahead; at < bytes; at += 64)
				prefetch4(&w, i, at + AHEAD16);
			isum64(isum, tn, &w, 16 + 32 * i, h->s + 2 * i, &xq);
		}
		ahead += (bytes - ahead + 63) / 64 * 64 - bytes;
		xq = rows16_at(xb, x->q_row);
		block_add(tn, a, isum, h, &xq);
		rows16_advance(&w, 16, (size_t)bytes);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put16(y + (size_t)t * ldy, wf_sub(a->sum[t], a->min[t]), s->y_step);
}

PART16(q4_k, 2)
PART16(q4_k, 3)
PART16(q4_k, 4)
PART16(q4_k, 5)
PART16(q4_k, 6)
PART16(q4_k, 7)
PART16(q4_k, 8)

/* One row of x, or few weight rows: use mm_rows4.c, four weight rows to a register. */
void KERN_FN(q4_k_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                        const struct kern_act *x, int x_row, int m, int n, int k)
{
	static rows_part *const part[X_MOST] = { 0,        q4_k_by2, q4_k_by3, q4_k_by4,
		                                 q4_k_by5, q4_k_by6, q4_k_by7, q4_k_by8 };

	if (m == 1 || n < 16)
		KERN_FN(q4_k_by4_rows)(y, ldy, w, row_bytes, x, x_row, m, n, k);
	else
		rows16_run(part, X_MOST, y, ldy, w, row_bytes, x, x_row, m, n, k);
}
