/* kern/avx512vnni/mm_rows16_32.c - products in place of Q8_0 and Q4_0 with several rows of x, sixteen
 * weight rows to a register (rows16.h).
 *
 *   rows   16 rows in place, one to a lane, unpacked once for up to 8 rows of x.  The products read
 *          the bytes of x from memory
 *   y = fma(d dx, sum q x, y), blocks ascending
 *   Weights are used as unsigned bytes, plus a zero point; the sums start from the zero point times
 *   -sum(x).  A block of 16 rows takes 8 products, a multiplication and an fma for each row of x, one a
 *   cycle on a processor whose 512-bit products take two pipes.
 *   layouts, bytes per flop, limits: ref/mm_q32.c;  fewer rows of x: x86/mm_q32.h */
#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/rows16.h"
#include "kern/avx512vnni/rows4.h"

enum { PART_MOST = 8 }; /* most rows of x in a part */

/* Unpack 16 weights of each row to unsigned bytes: dword j of all rows to q[j]. */
INLINE void weights_get(enum infer_type t, wi q[4], wi y[4], const struct rows16 *w, int half)
{
	const wi low = _mm512_set1_epi8(15), flip = _mm512_set1_epi8((char)FLIP);

	if (t == INFER_Q8_0 || half == 0)
		load_by16(y, w, 2 + 16 * half);
	UNROLL
	for (int j = 0; j < 4; j++)
		if (t == INFER_Q8_0)
			q[j] = _mm512_xor_si512(y[j], flip);
		else
			q[j] = _mm512_and_si512(half ? _mm512_srli_epi32(y[j], 4) : y[j], low);
}

/* sum += the products of a block with tn rows of x. */
INLINE void block_add(enum infer_type type, int tn, wf *sum, const struct rows16 *w,
                      const struct kern_q8 *xb, size_t x_step)
{
	const struct rows16 x = rows16_at(xb, x_step);
	wf d = f16_by16(w, 0);
	wi isum[PART_MOST], q[4], y[4];

	UNROLL
	for (int t = 0; t < tn; t++) {
		wi n = wi_set(((const struct kern_q8 *)(const void *)row16(&x, t))->neg_sum);
		isum[t] = type == INFER_Q8_0 ? wi_shl(n, 7) : wi_shl(n, 3);
	}
	UNROLL
	for (int i = 0; i < 8; i++) {
		if (i % 4 == 0)
			weights_get(type, q, y, w, i / 4);
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = dot_at(isum[t], q[i % 4],
			                 row16(&x, t) + offsetof(struct kern_q8, q) + 4 * i);
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		wf dx = wf_set(((const struct kern_q8 *)(const void *)row16(&x, t))->d);
		sum[t] = wf_fma(wf_mul(d, dx), wf_from(isum[t]), sum[t]);
	}
}

INLINE void part16(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                   const struct kern_act *x, int x_row, int k)
{
	enum { QUARTERS = 4 };
	const int bytes = block_bytes(type);
	const struct kern_q8 *xb = act_q8(x, x_row);
	struct rows16 w = rows16_at(s->w, s->stride);
	wf sum[PART_MOST];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = wf_set(0);
	for (int b = 0, ahead = 0; b < k / 32; b += QUARTERS) {
		for (int i = 0; i < QUARTERS && b + i < k / 32; i++, xb++) {
			for (int at = ahead; at < QUARTERS * bytes; at += 64)
				prefetch4(&w, i, at + AHEAD16 - i * bytes);
			block_add(type, tn, sum, &w, xb, x->q_row);
			rows16_advance(&w, 16, (size_t)bytes);
		}
		ahead += (QUARTERS * bytes - ahead + 63) / 64 * 64 - QUARTERS * bytes;
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put16(y + (size_t)t * ldy, sum[t], s->y_step);
}

#define PART(TYPE, name, by) \
	NOINLINE void name##_part##by(float *y, size_t ldy, const struct row_group *s, \
	                              const struct kern_act *x, int x_row, int k) \
	{ \
		part16(INFER_##TYPE, by, y, ldy, s, x, x_row, k); \
	}
#define ROWS(TYPE, name) \
	PART(TYPE, name, 2) \
	PART(TYPE, name, 3) \
	PART(TYPE, name, 4) \
	PART(TYPE, name, 5) \
	PART(TYPE, name, 6) \
	PART(TYPE, name, 7) \
	PART(TYPE, name, 8) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		static rows_part *const part[PART_MOST] = { 0, \
			                                    name##_part2, \
			                                    name##_part3, \
			                                    name##_part4, \
			                                    name##_part5, \
			                                    name##_part6, \
			                                    name##_part7, \
			                                    name##_part8 }; \
		if (m == 1 || n < 16) \
			KERN_FN(name##_by8_rows)(y, ldy, w, row_bytes, x, x_row, m, n, k); \
		else \
			rows16_run(part, PART_MOST, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	}
ROWS(Q8_0, q8_0)
ROWS(Q4_0, q4_0)
