/* kern/ref/quant.c - quantise activations to 8 bits (reference); rounding: enum kern_form. */
#include "kern/act.h"
#include "kern/ref/simd.h"

static uint32_t amax(const float *x, int n)
{
	uint32_t a = 0;

	for (int i = 0; i < n; i++) {
		uint32_t u = num_bits(x[i]) & 0x7fffffff;
		a = u > a ? u : a;
	}
	return a;
}

/* Set q = x * inverse to the nearest, ties to even: adding 1.5 * 2^23 leaves the integer in the low
 * bits */
static float block(int8_t *q, const float *x, int n)
{
	float inverse, d = act_scale(amax(x, n), &inverse);

	for (int i = 0; i < n; i++)
		q[i] = inverse == 0 ? 0
		                    : (int8_t)((int32_t)num_bits(x[i] * inverse + 0x1.8p23f) -
		                               0x4b400000);
	return d;
}

static int32_t sum(const int8_t *q, int n)
{
	int32_t s = 0;

	for (int i = 0; i < n; i++)
		s += q[i];
	return s;
}

void kern_ref_quant_q8(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8 *b = (struct kern_q8 *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 32; i++) {
		b[i].d = block(b[i].q, src + 32 * i, 32);
		b[i].neg_sum = -sum(b[i].q, 32);
	}
}

void kern_ref_quant_q8k(struct kern_act *x, int row, const float *src, int k)
{
	struct kern_q8k *b = (struct kern_q8k *)(void *)((char *)x->q + (size_t)row * x->q_row);

	for (int i = 0; i < k / 256; i++) {
		int32_t sum4[64];
		b[i].d = block(b[i].q, src + 256 * i, 256);
		for (int j = 0; j < 64; j++)
			sum4[j] = sum(b[i].q + 4 * j, 4);
		act_sums_fill(&b[i], sum4);
	}
}

void KERN_FN(peak_dot)(double *ops, int32_t *sink, int reps)
{
	uint8_t u[64];
	int8_t x[64];
	int32_t acc = 0;

	for (int i = 0; i < 64; i++) {
		u[i] = (uint8_t)(i + reps);
		x[i] = (int8_t)(i ^ reps);
	}
	for (int t = 0; t < reps; t++, u[t & 63]++)
		for (int i = 0; i < 64; i++)
			acc = (int32_t)((uint32_t)acc + (uint32_t)(u[i] * x[i]));
	*sink = acc;
	*ops = 2.0 * 64 * reps;
}
