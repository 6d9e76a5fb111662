/* Products of a few rows of x with weights in blocks of 32, which stay where they lie: lanes are
 * rows of x, so four neighbouring weights are one word for all of them and nothing is packed.
 *
 *   x      struct kern_turned: 16 rows; of each block 8 registers, four neighbours of a row in a
 *   lane block  of R rows of weights, unpacked to a room in the first cache while the block before
 *   is
 *          multiplied; each word of it goes into all lanes of a register, for 8, 16, 24 or 32 rows
 *          of x
 *   y = fma(d dx, sum q x, y), blocks ascending; with m a second chain fma(m dx, sum x, .) is added
 *   at the end
 *   bytes per flop and limits: ref/mm_q32.c */
#include "kern/avx512vnni/few.h"

/* Weight rows taken together: as many as sums of both chains and of integers have registers for, by
 * eights of rows of x. */
INLINE int rows_at_once(enum infer_type t, int eights)
{
	return (q_minima(t) ? 4 : 6) * (eights > 2 ? 1 : 2);
}

/* a block of each, as unsigned bytes */
struct room {
	uint8_t q[12][32];
	float d[12], m[12];
};
INLINE float half_at(const uint8_t *p)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(num_u16(p))));
}
/* 2^(e - 128) as powers_of */
INLINE float power_at(const uint8_t *p)
{
	uint32_t e = *p;

	return num_float(e == 255 ? 0x7fc00000 : e < 2 ? 0x00200000u << e : (e - 1) << 23);
}
INLINE void room_fill(enum infer_type t, struct room *to, int rn, const uint8_t *w, size_t stride)
{
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(t) ? FLIP : 0));

	UNROLL
	for (int r = 0; r < rn; r++, w += stride) {
		__m256i q = _mm256_xor_si256(unpack32(t, w), flip);
		_mm256_store_si256((__m256i *)(void *)to->q[r], q);
		to->d[r] = t == INFER_MXFP4 ? power_at(w) : half_at(w);
		if (q_minima(t))
			to->m[r] = half_at(w + 2);
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

/* isum[r][g] of one block; x[g]: 16 rows of x */
INLINE void few_dots(enum infer_type t, int eights, wi *is, const struct room *q,
                     const struct kern_turned *const x[2])
{
	const int rn = rows_at_once(t, eights), gn = (eights + 1) / 2;

	UNROLL
	for (int i = 0; i < rn * gn; i++)
		is[i] = few_start(t, wi_load(x[i % gn]->minus));
	UNROLL
	for (int i = 0; i < 8; i++) {
		wi xv[2];
		UNROLL
		for (int g = 0; g < gn; g++)
			xv[g] = wi_load(x[g]->q[i]);
		UNROLL
		for (int r = 0; r < rn; r++) {
			wi w = lane_word(eights == 1, q->q[r] + 4 * i);
			UNROLL
			for (int g = 0; g < gn; g++)
				is[r * gn + g] =
					lane_dot(2 * g + 1 == eights, is[r * gn + g], w, xv[g]);
		}
	}
}

/* a part, of `eights` times 8 rows of x */
INLINE void few32(enum infer_type t, int eights, float *out, size_t apart, const uint8_t *w,
                  size_t stride, const void *x, size_t next, int k)
{
	const int rn = rows_at_once(t, eights), gn = (eights + 1) / 2, bytes = block_bytes(t);
	_Alignas(64) struct room room[2];
	wf sum[12], min[12];

	UNROLL
	for (int i = 0; i < rn * gn; i++)
		sum[i] = min[i] = wf_set(0);
	room_fill(t, &room[0], rn, w, stride);
	for (int b = 0, at = 0; b < k / 32; b++) {
		const struct kern_turned *x0 = (const struct kern_turned *)x + b, *const at_x[2] = {
			x0, row_of(x0, next, 1)
		};
		const struct room *q = &room[b % 2];
		wi is[12];
		for (int i = (at + 63) & ~63; i < at + bytes; i += 64) {
			UNROLL
			for (int r = 0; r < rn; r++)
				__builtin_prefetch(w + (size_t)r * stride + KERN_AHEAD + i, 0, 3);
		}
		at += b + 1 < k / 32 ? bytes : 0;
		room_fill(t, &room[(b + 1) % 2], rn, w + at, stride);
		few_dots(t, eights, is, q, at_x);
		UNROLL
		for (int i = 0; i < rn * gn; i++) {
			int half = i % gn * 2 + 1 == eights;
			wf dx = wf_load(at_x[i % gn]->d);
			sum[i] = lane_add(half, sum[i], wf_set(q->d[i / gn]), dx, is[i]);
			if (q_minima(t))
				min[i] = lane_take(half, min[i], wf_set(q->m[i / gn]), dx,
				                   wi_load(at_x[i % gn]->minus));
		}
	}
	UNROLL
	for (int i = 0; i < rn * gn; i++)
		_mm512_store_ps(out + (size_t)(i / gn) * apart * MOST + i % gn * WIDE,
		                q_minima(t) ? wf_add(sum[i], min[i]) : sum[i]);
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
