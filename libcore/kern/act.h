/* kern/act.h - rows of activations, in the forms that quantised products read.  Any thread; the
 * caller owns the storage. */
#ifndef KERN_ACT_H
#define KERN_ACT_H
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include "base/num.h"
#include "kern/kern.h"

struct kern_q8 {
	float d;
	int32_t neg_sum; /* minus the sum of q */
	int8_t q[32];
};

/* For kernels that add the sums of two groups of weights in one lane (avx512vnni/k46.h). */
struct kern_q8k_pairs {
	/* max32: largest (sum of |q|) + |sum of q| of a group of 32.  max16: largest sum of |q| of
	 * a group of 16 */
	int32_t max32, max16;
	/* -32 times the sum of each 16 q; odd entries plus KERN_BIT15 */
	int32_t start[16];
};
/* Activations of a block of 256.  The sums of q are in the order in which vector kernels read them
 * without shuffles. */
struct kern_q8k {
	int8_t q[256];
	int16_t s16[16]; /* sums of 16: groups 0 2 4 ... 14, then 1 3 5 ... 15 */
	int16_t s32[8];  /* sums of 32: groups 0 2 1 3, 4 6 5 7 */
	int32_t s256;
	float d;
	struct kern_q8k_pairs pairs;
};
enum { KERN_BIT15 = 1 << 15 };

/* A block of 16 rows of kern_q8 (or kern_q8k), transposed: lane t is row t. */
struct kern_q8x16 {
	float d[KERN_LANES];
	int32_t neg_sum[KERN_LANES];
	int8_t q[8][KERN_LANES][4];
};
struct kern_q8kx16 {
	float d[KERN_LANES];
	int8_t q[64][KERN_LANES][4];
	/* the sum of each 16 q as two bf16, a multiple of 64 and a remainder, so that products with
	 * 8-bit numbers, and sums of these, are exact */
	uint16_t s16[16][KERN_LANES][2];
	int16_t s32[4][KERN_LANES][2];
	int32_t start[16][KERN_LANES];
	int32_t max32, max16, pad[14]; /* maxima over the 16 rows, as in kern_q8k_pairs */
};

static inline const void *act_row(const struct kern_act *x, int row)
{
	return (const char *)x->q + (size_t)row * x->q_row;
}
/* k rounded up to whole blocks of 32 */
static inline int act_bf16_k(int k) { return (k + 31) & ~31; }
static inline const float *act_f(const struct kern_act *x, int row) { return act_row(x, row); }
static inline const uint16_t *act_bf16(const struct kern_act *x, int row, int k)
{
	return (const uint16_t *)(act_f(x, row) + act_bf16_k(k));
}
static inline const struct kern_q8 *act_q8(const struct kern_act *x, int row)
{
	return act_row(x, row);
}
static inline const struct kern_q8k *act_q8k(const struct kern_act *x, int row)
{
	return act_row(x, row);
}

/* Return the transposed blocks of the 16 rows from `row` on, a multiple of KERN_LANES. */
static inline void *act_transposed(const struct kern_act *x, int row, int k)
{
	return (char *)x->transposed + kern_transposed_bytes(x->form, row, k);
}

/* Return the scale of a block and set *inverse to its inverse.  amax: the bits of the largest
 * magnitude of the block; NaN counts above inf. */
static inline float act_scale(uint32_t amax, float *inverse)
{
	float d = num_float(amax) / 127.0f;
	int fine = d >= 0x1p-126f && num_bits(d) < 0x7f800000;

	*inverse = fine ? 1.0f / d : 0.0f;
	return fine || !(d < 0x1p-126f) ? d : 0.0f;
}

/* Set all sums of q.  sum4 [64]: the sums of each 4 elements of q. */
static inline void act_sums_fill(struct kern_q8k *s, const int32_t *sum4)
{
	struct kern_q8k_pairs *p = &s->pairs;
	static const uint8_t at32[8] = { 0, 2, 1, 3, 4, 6, 5, 7 };

	s->s256 = p->max32 = p->max16 = 0;
	for (int i = 0; i < 8; i++) {
		int32_t of16[2], abs_sum[2] = { 0, 0 };
		for (int h = 0; h < 2; h++) {
			const int32_t *x = sum4 + 8 * i + 4 * h;
			const int8_t *q = s->q + 32 * i + 16 * h;
			of16[h] = x[0] + x[1] + x[2] + x[3];
			for (int j = 0; j < 16; j++)
				abs_sum[h] += q[j] < 0 ? -q[j] : q[j];
			s->s16[i + 8 * h] = (int16_t)of16[h];
			p->start[2 * i + h] = -32 * of16[h] + h * KERN_BIT15;
			p->max16 = p->max16 < abs_sum[h] ? abs_sum[h] : p->max16;
		}
		int32_t sum = of16[0] + of16[1],
			abs32 = abs_sum[0] + abs_sum[1] + (sum < 0 ? -sum : sum);
		s->s32[at32[i]] = (int16_t)sum;
		p->max32 = p->max32 < abs32 ? abs32 : p->max32;
		s->s256 += sum;
	}
}
#endif
