/* kern/avx512vnni/mm_skinny.c - products of a skinny x with weights in blocks of 32, read in place.
 *
 *   x      struct kern_q8x16: 16 rows; 8 registers for each block, four neighbours of a row in a lane
 *   buffer a block of each weight row of a part, unpacked in L1 while the previous block is multiplied;
 *          each of its words is broadcast to all lanes, or to all lanes of its row
 *   y = fma(d dx, sum q x, y), blocks ascending; with m: ymin = fma(m dx, sum x, ymin), added
 *     at the end
 *   bytes per flop and limits: ref/mm_q32.c */
#include "kern/avx512vnni/skinny.h"

/* Return the registers of sums of a part: both float sums and the integer sums must fit. */
INLINE int sums_of(enum infer_type t) { return q_minima(t) ? 8 : SUMS; }

/* group g of a block of each weight row, as unsigned bytes */
struct unpacked {
	_Alignas(64) uint8_t q[STREAMS][32];
	float d[STREAMS], m[STREAMS];
};
INLINE void unpack_rows(enum infer_type t, int xn, struct unpacked *to, const uint8_t *w,
                        size_t stride, int g)
{
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(t) ? FLIP : 0));

	UNROLL
	for (int r = 0; r < w_rows_of_part(sums_of(t), xn); r += 2) {
		__m256i v[2];
		UNROLL
		for (int i = 0; i < 2; i++) {
			const uint8_t *p = w + (size_t)(r + i) * stride;
			v[i] = _mm256_xor_si256(unpack32(t, p, g), flip);
			to->d[r + i] = scale_at(t, p);
			if (q_minima(t))
				to->m[r + i] = minimum_at(t, p);
		}
		words_put(xn, to->q[r], 32, 0, v);
	}
}

/* Return the start value of the accumulators: the zero point times -sum(x). */
INLINE wi skinny_start(enum infer_type t, wi neg_sum)
{
	switch (q_signed(t) ? FLIP : q_zero(t)) {
	case 0:
		return wi_set(0);
	case 8:
		return wi_shl(neg_sum, 3);
	case 16:
		return wi_shl(neg_sum, 4);
	case 128:
		return wi_shl(neg_sum, 7);
	default:
		kern_no_case();
	}
}

/* Compute isum of one block.  x[g]: 16 rows of x. */
INLINE void skinny_dots(enum infer_type t, int xn, wi *is, const struct unpacked *q,
                        const struct kern_q8x16 *const x[2])
{
	const int sums = sums_of(t), gn = x_regs(xn), rows = sums / gn;

	UNROLL
	for (int i = 0; i < sums; i++)
		is[i] = skinny_start(t, lane_x(xn, x[i % gn]->neg_sum));
	UNROLL
	for (int i = 0; i < 8; i++) {
		wi xv[2];
		UNROLL
		for (int g = 0; g < gn; g++)
			xv[g] = lane_x(xn, x[g]->q[i]);
		UNROLL
		for (int r = 0; r < rows; r++) {
			wi w = lane_word(xn, word_at(xn, q->q[0], 32, r, i));
			UNROLL
			for (int g = 0; g < gn; g++)
				is[r * gn + g] = lane_dot(is[r * gn + g], w, xv[g]);
		}
	}
}

/* Multiply a part of xn rows of x. */
INLINE void skinny32(enum infer_type t, int xn, float *out, size_t out_step, const uint8_t *w,
                     size_t stride, const void *x, size_t x_step, int k)
{
	const int sums = sums_of(t), rn = w_rows_of_part(sums, xn), gn = x_regs(xn),
		  wn = w_rows_of_reg(xn), bytes = block_bytes(t), groups = q_groups(t);
	struct unpacked buf[2];
	wf sum[SUMS], min[SUMS];

	UNROLL
	for (int i = 0; i < sums; i++)
		sum[i] = min[i] = wf_set(0);
	unpack_rows(t, xn, &buf[0], w, stride, 0);
	for (int b = 0, at = 0; b < k / 32; b++) {
		const struct kern_q8x16 *x0 = (const struct kern_q8x16 *)x + b, *const at_x[2] = {
			x0, row_of(x0, x_step, 1)
		};
		const struct unpacked *q = &buf[b % 2];
		wi is[SUMS];
		skinny_prefetch(w + KERN_AHEAD, stride, rn, at, bytes);
		at += b + 1 < k / 32 && (b + 1) % groups == 0 ? bytes : 0;
		unpack_rows(t, xn, &buf[(b + 1) % 2], w + at, stride, (b + 1) % groups);
		skinny_dots(t, xn, is, q, at_x);
		UNROLL
		for (int i = 0; i < sums; i++) {
			const struct kern_q8x16 *xg = at_x[i % gn];
			wf dx = lane_dx(xn, xg->d);
			sum[i] = wf_fma(wf_mul(lane_scale(xn, q->d + i / gn * wn), dx),
			                wf_from(is[i]), sum[i]);
			if (q_minima(t))
				min[i] = wf_fnma(wf_mul(lane_scale(xn, q->m + i / gn * wn), dx),
				                 wf_from(lane_x(xn, xg->neg_sum)), min[i]);
		}
	}
	if (q_minima(t)) {
		UNROLL
		for (int i = 0; i < sums; i++)
			sum[i] = wf_add(sum[i], min[i]);
	}
	skinny_store(xn, out, out_step, sum, sums);
}

/* If fewer than 16 rows exist, the others repeat the last. */
void KERN_FN(transpose_q8)(struct kern_act *x, int row, int m, int k, int from, int to)
{
	struct kern_q8x16 *out = act_transposed(x, row, k);

	for (int b = from / 32; b < to / 32; b++)
		for (int h = 0; h < WIDE; h += 8) {
			__m256i v[8];
			for (int r = 0; r < 8; r++) {
				int t = h + r < m ? h + r : m - 1;
				const struct kern_q8 *q = act_q8(x, row + t) + b;
				v[r] = load32(q->q);
				out[b].d[h + r] = q->d;
				out[b].neg_sum[h + r] = q->neg_sum;
			}
			transpose8(v);
			UNROLL
			for (int i = 0; i < 8; i++)
				_mm256_store_si256((__m256i *)(void *)out[b].q[i][h], v[i]);
		}
}

#define ROW(TYPE, name) SKINNY_OF(skinny32, TYPE, name)
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
