/* kern/avx512vnni/mm_few.c - products of a few rows of x with weights in blocks of 32, read in
 * place.
 *
 *   x      struct kern_turned: 16 rows; of each block 8 registers, four neighbours of a row a lane
 *   room   a block of each row of weights of a part, unpacked in the first cache while the block
 *          before is multiplied; each word of it goes into all lanes, or all of a row
 *   y = fma(d dx, sum q x, y), blocks ascending; with m a second chain fma(m dx, sum x, .) is added
 *   at the end
 *   bytes per flop and limits: ref/mm_q32.c */
#include "kern/avx512vnni/few.h"

/* sums of both chains and of integers want registers */
INLINE int sums_of(enum infer_type t) { return q_minima(t) ? 8 : SUMS; }

/* a block of each, as unsigned bytes */
struct room {
	_Alignas(64) uint8_t q[STREAMS][32];
	float d[STREAMS], m[STREAMS];
};
INLINE void room_fill(enum infer_type t, int xn, struct room *to, const uint8_t *w, size_t stride)
{
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(t) ? FLIP : 0));

	UNROLL
	for (int r = 0; r < rows_at_once(sums_of(t), xn); r += 2) {
		__m256i v[2];
		UNROLL
		for (int i = 0; i < 2; i++) {
			const uint8_t *p = w + (size_t)(r + i) * stride;
			v[i] = _mm256_xor_si256(unpack32(t, p), flip);
			to->d[r + i] = t == INFER_MXFP4 ? power_at(p) : half_at(p);
			if (q_minima(t))
				to->m[r + i] = half_at(p + 2);
		}
		words_put(xn, to->q[r], 32, 0, v);
	}
}

/* what the accumulators start from: the zero point times minus sum(x) */
INLINE wi few_start(enum infer_type t, wi minus)
{
	switch (q_signed(t) ? FLIP : q_zero(t)) {
	case 0:
		return wi_set(0);
	case 8:
		return wi_shl(minus, 3);
	case 16:
		return wi_shl(minus, 4);
	default:
		return wi_shl(minus, 7);
	}
}

/* isum of one block; x[g]: 16 rows of x */
INLINE void few_dots(enum infer_type t, int xn, wi *is, const struct room *q,
                     const struct kern_turned *const x[2])
{
	const int sums = sums_of(t), gn = x_regs(xn), rows = sums / gn;

	UNROLL
	for (int i = 0; i < sums; i++)
		is[i] = few_start(t, lane_x(xn, x[i % gn]->minus));
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

/* a part of xn rows of x */
INLINE void few32(enum infer_type t, int xn, float *out, size_t apart, const uint8_t *w,
                  size_t stride, const void *x, size_t next, int k)
{
	const int sums = sums_of(t), rn = rows_at_once(sums, xn), gn = x_regs(xn), wn = rows_in(xn),
		  bytes = block_bytes(t);
	struct room room[2];
	wf sum[SUMS], min[SUMS];

	UNROLL
	for (int i = 0; i < sums; i++)
		sum[i] = min[i] = wf_set(0);
	room_fill(t, xn, &room[0], w, stride);
	for (int b = 0, at = 0; b < k / 32; b++) {
		const struct kern_turned *x0 = (const struct kern_turned *)x + b, *const at_x[2] = {
			x0, row_of(x0, next, 1)
		};
		const struct room *q = &room[b % 2];
		wi is[SUMS];
		few_ask(w + KERN_AHEAD, stride, rn, at, bytes);
		at += b + 1 < k / 32 ? bytes : 0;
		room_fill(t, xn, &room[(b + 1) % 2], w + at, stride);
		few_dots(t, xn, is, q, at_x);
		UNROLL
		for (int i = 0; i < sums; i++) {
			const struct kern_turned *xg = at_x[i % gn];
			wf dx = lane_dx(xn, xg->d);
			sum[i] = wf_fma(wf_mul(lane_scale(xn, q->d + i / gn * wn), dx),
			                wf_from(is[i]), sum[i]);
			if (q_minima(t))
				min[i] = wf_fnma(wf_mul(lane_scale(xn, q->m + i / gn * wn), dx),
				                 wf_from(lane_x(xn, xg->minus)), min[i]);
		}
	}
	if (q_minima(t)) {
		UNROLL
		for (int i = 0; i < sums; i++)
			sum[i] = wf_add(sum[i], min[i]);
	}
	few_out(xn, out, apart, sum, sums);
}

/* the last row again for those of 16 that there are not */
void KERN_FN(turn_q8)(struct kern_act *x, int row, int m, int k, int from, int to)
{
	struct kern_turned *out = act_turned(x, row, k);

	for (int b = from / 32; b < to / 32; b++)
		for (int h = 0; h < WIDE; h += 8) {
			__m256i v[8];
			for (int r = 0; r < 8; r++) {
				int t = h + r < m ? h + r : m - 1;
				const struct kern_q8 *q = act_q8(x, row + t) + b;
				v[r] = load32(q->q);
				out[b].d[h + r] = q->d;
				out[b].minus[h + r] = q->minus;
			}
			turn8(v);
			UNROLL
			for (int i = 0; i < 8; i++)
				_mm256_store_si256((__m256i *)(void *)out[b].q[i][h], v[i]);
		}
}

#define ROW(TYPE, name) FEW_OF(few32, TYPE, name)
KERN_ROWS_32(ROW)
