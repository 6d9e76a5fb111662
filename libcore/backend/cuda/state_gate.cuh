/* backend/cuda/state_gate.cuh (private) - the gates of GATED_DELTA, with the bits of backend/cpu/state.c:
 *
 *   soft = softplus(x + shift) in double
 *   g    = exp(rate soft), rounded once to float
 *   beta = sigmoid(beta) in float; ssm: soft, rounded once */
#ifndef BACKEND_CUDA_STATE_GATE_CUH
#define BACKEND_CUDA_STATE_GATE_CUH
#include "backend/cuda/math.cuh"

#define GATE_EXP_MIN -746.0
#define GATE_EXP_MAX 710.0
#define GATE_LINEAR 20 /* softplus(x) is x in float from this x on */

/* 2^n; the result must be a normal number */
GPU_FN double gate_pow2(uint64_t n) { return gpu_float64((n + 1023) << 52); }

/* fm_exp of base/fmath.c, operation by operation */
GPU_FN double gate_exp(double x)
{
	double t, nf, hi, r, lo, sum, p, y;
	uint64_t n, n1;

	x = x < GATE_EXP_MIN ? GATE_EXP_MIN : x;
	x = x > GATE_EXP_MAX ? GATE_EXP_MAX : x;
	t = fma(x, FM_LOG2E, FM_MAGIC);
	n = gpu_bits64(t) - gpu_bits64(FM_MAGIC);
	nf = t - FM_MAGIC;
	hi = fma(nf, -FM_LN2_HI, x); /* exact */
	r = fma(nf, -FM_LN2_LO, hi);
	lo = fma(nf, -FM_LN2_LO, hi - r);
	sum = r + lo;
	lo -= sum - r; /* now below the last bit of r */
	r = sum;
	p = FM_EXP_C11;
	p = fma(p, r, FM_EXP_C10);
	p = fma(p, r, FM_EXP_C9);
	p = fma(p, r, FM_EXP_C8);
	p = fma(p, r, FM_EXP_C7);
	p = fma(p, r, FM_EXP_C6);
	p = fma(p, r, FM_EXP_C5);
	p = fma(p, r, FM_EXP_C4);
	p = fma(p, r, FM_EXP_C3);
	p = fma(p, r, FM_EXP_C2);
	/* 1 + r + y; the rounding error of 1 + r is added to the small part */
	y = fma(r * r, p, fma(r, lo, lo));
	t = 1.0 + r;
	y = t + (r - (t - 1.0) + y);
	n1 = (uint64_t)((int64_t)n >> 1);
	return y * gate_pow2(n1) * gate_pow2(n - n1);
}

/* Set *g and *beta of one row of a head from its values before the gates. */
GPU_FN void gate_make(float *g, float *beta, float decay, float shift, float rate, float b,
                      bool ssm)
{
	float x = decay + shift;
	double soft = x > GATE_LINEAR ? (double)x : gpu_log(1 + gate_exp((double)x));

	*g = (float)gate_exp((double)rate * soft);
	*beta = ssm ? (float)soft : gpu_sigmoid(b);
}
#endif
