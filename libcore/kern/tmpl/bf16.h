/* kern/tmpl/bf16.h - scalar arithmetic of products with bf16 activations.  It is that of the tile
 * instruction TDPBF16PS (Intel's manual, volume 2), which fma in f32 reproduces.
 *
 *   W  F16 | BF16 [n][k], F16 rounded to bf16      x  rounded to bf16 [m][k]
 *   over each 32 of k: even, an fma chain from +0 over k = 0, 2 ... 30; odd, over k = 1, 3 ... 31
 *   y = y + (even + odd), y from +0, blocks of 32 ascending; W and x are padded with +0
 *
 * Subnormal operands and results count as zeros.  A result is subnormal if it is below 2^-126 after
 * rounding to 24 bits. */
#ifndef KERN_TMPL_BF16_H
#define KERN_TMPL_BF16_H
#include <math.h>
#include "base/num.h"
#include "kern/act.h"
#include "kern/tmpl/decl.h"

/* Replace a subnormal number by a zero of the same sign. */
static inline float bf16_flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline float bf16_round(float x) { return bf16_flush(num_bf16(num_to_bf16(x))); }

/* Return a b + c.  a, b: bf16, so their product is exact in f64. */
static inline float bf16_fma(float a, float b, float c)
{
	float r = fmaf(a, b, c);

	if (fabsf(r) != 0x1p-126f)
		return bf16_flush(r);
	/* the subnormal range rounds more coarsely than 24 bits: test the result rounded to 24
	 * bits */
	double p = (double)a * (double)b, s = p + (double)c, t = s - p;
	double rest = (p - (s - t)) + ((double)c - t), edge = 0x1p-126 - 0x1p-151;

	if (fabs(s) > edge || (fabs(s) == edge && (rest == 0 || (rest > 0) == (s > 0))))
		return r;
	return copysignf(0, r);
}
/* A subnormal sum is exact, so it can be flushed. */
static inline float bf16_add(float a, float b) { return bf16_flush(a + b); }

/* Return y with the products of one block of 32 added.  w, x: [32]. */
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
