/* kern/tmpl/bf16.h - the arithmetic of products with bf16 activations, number by number: that of
 * the tile instruction TDPBF16PS (Intel's manual, volume 2), which fma in f32 reproduces.
 *
 *   W  F16
 * BF16 [n][k], F16 rounded to bf16      x  rounded to bf16 [m][k]
 *   over each 32 of k: even, an fma chain from +0 over k = 0, 2 ... 30; odd, over k = 1, 3 ... 31
 *   y = y + (even + odd), y from +0, blocks of 32 ascending; W and x are padded with +0
 *
 * Subnormal numbers count as zeros, operands and results alike; a result is subnormal if it is
 * below 2^-126 once it is rounded to 24 bits. */
#ifndef KERN_TMPL_BF16_H
#define KERN_TMPL_BF16_H
#include <math.h>
#include "base/num.h"
#include "kern/act.h"
#include "kern/tmpl/decl.h"

/* zeros of their sign for subnormal numbers */
static inline float bf16_flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline float bf16_round(float x) { return bf16_flush(num_bf16(num_to_bf16(x))); }

/* a b + c; a and b are bf16, so that their product is exact in f64 */
static inline float bf16_fma(float a, float b, float c)
{
	float r = fmaf(a, b, c);

	if (fabsf(r) != 0x1p-126f)
		return bf16_flush(r);
	/* subnormal numbers round in wider steps: was it below 2^-126 in steps of 24 bits? */
	double p = (double)a * (double)b, s = p + (double)c, t = s - p;
	double rest = (p - (s - t)) + ((double)c - t), edge = 0x1p-126 - 0x1p-151;

	if (fabs(s) > edge || (fabs(s) == edge && (rest == 0 || (rest > 0) == (s > 0))))
		return r;
	return copysignf(0, r);
}
/* A sum that is subnormal is exact. */
static inline float bf16_add(float a, float b) { return bf16_flush(a + b); }

/* y after one block of 32: w and x [32] */
static inline float bf16_block(float y, const float *w, const float *x)
{
	float even = 0, odd = 0;

	for (int i = 0; i < 32; i += 2) {
		even = bf16_fma(w[i], x[i], even);
		odd = bf16_fma(w[i + 1], x[i + 1], odd);
	}
	return bf16_add(y, bf16_add(even, odd));
}
#endif
