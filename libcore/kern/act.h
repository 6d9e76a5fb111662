/* kern/act.h - rows of activations as the quantised products read them.  Any thread; the caller's
 * storage. */
#ifndef KERN_ACT_H
#define KERN_ACT_H
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include "base/num.h"
#include "kern/kern.h"

struct kern_q8 {
	float d;
	int32_t minus; /* the sum of q, negated */
	int8_t q[32];
};

/* With the sums of q in the orders that the vector loops read without shuffles. */
struct kern_q8k {
	int8_t q[256];
	int16_t s16[16]; /* of 16: 0 2 4 ... 14, then 1 3 5 ... 15 */
	int16_t s32[8]; /* of 32: 0 2 1 3, 4 6 5 7 */
	int32_t s256;
	float d;
	int32_t zero[2];
	/* -32 times, for each 16: the sum of its elements 0-3 and 8-11, then of 4-7 and 12-15 */
	int32_t h8[32];
};

static inline const void *act_row(const struct kern_act *x, int row)
{
	return (const char *)x->q + (size_t)row * x->q_row;
}
static inline const float *act_f(const struct kern_act *x, int row) { return act_row(x, row); }
static inline const struct kern_q8 *act_q8(const struct kern_act *x, int row)
{
	return act_row(x, row);
}
static inline const struct kern_q8k *act_q8k(const struct kern_act *x, int row)
{
	return act_row(x, row);
}

/* Scale of a block whose largest magnitude has the bits amax (NaN above inf above all numbers), and
 * what to multiply by. */
static inline float act_scale(uint32_t amax, float *inverse)
{
	float d = num_float(amax) / 127.0f;
	int fine = d >= 0x1p-126f && num_bits(d) < 0x7f800000;

	*inverse = fine ? 1.0f / d : 0.0f;
	return fine || !(d < 0x1p-126f) ? d : 0.0f;
}

/* All sums from those of 4 neighbours, quad[64]. */
static inline void act_sums_fill(struct kern_q8k *s, const int32_t *quad)
{
	static const uint8_t at32[8] = {0, 2, 1, 3, 4, 6, 5, 7};
	int16_t of32[8];

	s->s256 = s->zero[0] = s->zero[1] = 0;
	for (int i = 0; i < 8; i++)
		of32[i] = 0;
	for (int i = 0; i < 16; i++) {
		int32_t a = quad[4 * i] + quad[4 * i + 2], b = quad[4 * i + 1] + quad[4 * i + 3];
		s->h8[2 * i] = -32 * a;
		s->h8[2 * i + 1] = -32 * b;
		s->s16[i / 2 + 8 * (i & 1)] = (int16_t)(a + b);
		of32[i / 2] = (int16_t)(of32[i / 2] + a + b);
	}
	for (int i = 0; i < 8; i++) {
		s->s32[i] = of32[at32[i]];
		s->s256 += of32[i];
	}
}
#endif
