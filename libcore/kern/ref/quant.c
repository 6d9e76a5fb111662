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

/* q = x * inverse to the nearest, ties to even: adding 1.5 * 2^23 leaves the integer in the low bits */
static float block(int8_t *q, const float *x, int n)
{
	float inverse, d = act_scale(amax(x, n), &inverse);

	for (int i = 0; i < n; i++)
		q[i] = inverse == 0 ? 0 : (int8_t)((int32_t)num_bits(x[i] * inverse + 0x1.8p23f) - 0x4b400000);
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
	int8_t *q = (int8_t *)x->q + (size_t)row * x->q_row;

	for (int b = 0; b < k / 32; b++) {
		x->d[(size_t)row * x->d_row + (size_t)b] = block(q + 32 * b, src + 32 * b, 32);
		x->s[(size_t)row * x->s_row + (size_t)b] = sum(q + 32 * b, 32);
	}
}

void kern_ref_quant_q8k(struct kern_act *x, int row, const float *src, int k)
{
	int8_t *q = (int8_t *)x->q + (size_t)row * x->q_row;
	struct kern_sums *s = (struct kern_sums *)(void *)(x->s + (size_t)row * x->s_row);

	for (int b = 0; b < k / 256; b++) {
		int32_t quad[64];
		x->d[(size_t)row * x->d_row + (size_t)b] = block(q + 256 * b, src + 256 * b, 256);
		for (int i = 0; i < 64; i++)
			quad[i] = sum(q + 256 * b + 4 * i, 4);
		act_sums_fill(&s[b], quad);
	}
}
