/* backend/cuda/math.cuh (private) - base/fmath.c and the activations of kern/tmpl/elem.h for
 * kernels, operation by operation: the same bits as on the CPU, except the payload of a NaN.
 *
 *   float    gpu_exp gpu_log gpu_tanh gpu_sigmoid gpu_normal (P(N < x) of the normal distribution)
 *   float    gpu_silu gpu_gelu gpu_gelu_erf gpu_swiglu: activation of g times u
 *   double   gpu_log gpu_sin gpu_cos: |x| up to 2^30 for sin and cos, NaN beyond
 *
 * Compiled without contraction (--fmad=false, -ffp-contract=off): a sum is fused only where
 * fmaf or fma is written.  Division and square root round to the nearest. */
#ifndef BACKEND_CUDA_MATH_CUH
#define BACKEND_CUDA_MATH_CUH
#include "backend/cuda/gpu.h"
#include "base/fmath_consts.h"

/* 2^n for -127 < n < 128; other n only if the argument was NaN */
GPU_FN float gpu_pow2(uint32_t n) { return gpu_float((n + 127) << 23); }

GPU_FN float gpu_exp(float x)
{
	float t, nf, r, p, y;
	uint32_t n, n1;

	x = x < FM_EXPF_MIN ? FM_EXPF_MIN : x;
	x = x > FM_EXPF_MAX ? FM_EXPF_MAX : x;
	t = fmaf(x, FM_LOG2EF, FM_MAGICF);
	n = gpu_bits(t) - gpu_bits(FM_MAGICF);
	nf = t - FM_MAGICF;
	r = fmaf(nf, -FM_LN2_HIF, x); /* exact */
	r = fmaf(nf, -FM_LN2_LOF, r);
	p = FM_EXPF_C6;
	p = fmaf(p, r, FM_EXPF_C5);
	p = fmaf(p, r, FM_EXPF_C4);
	p = fmaf(p, r, FM_EXPF_C3);
	p = fmaf(p, r, FM_EXPF_C2);
	y = fmaf(r * r, p, r) + 1.0f;
	/* two factors, because 2^n may not be a normal number; only the second product rounds */
	n1 = (uint32_t)((int32_t)n >> 1);
	return y * gpu_pow2(n1) * gpu_pow2(n - n1);
}

GPU_FN float gpu_log(float x)
{
	uint32_t u = gpu_bits(x), base = 0, i;
	int32_t e;
	float f, z, p, y, ef, hi, s;

	if (u - 0x00800000 >= 0x7f000000) { /* not a positive normal number */
		if (u << 1 == 0)
			return gpu_float(0xff800000);
		if (u == 0x7f800000 || x != x)
			return x;
		if (u >> 31)
			return gpu_float(0x7fc00000);
		u = gpu_bits(x * 0x1p23f);
		base = 23;
	}
	i = u - FM_LOGF_SPLIT;
	e = (int32_t)i >> 23;
	f = gpu_float(u - ((uint32_t)e << 23)) - 1.0f; /* exact */
	ef = (float)(e - (int32_t)base);
	z = f * f;
	p = FM_LOGF_C11;
	p = fmaf(p, f, FM_LOGF_C10);
	p = fmaf(p, f, FM_LOGF_C9);
	p = fmaf(p, f, FM_LOGF_C8);
	p = fmaf(p, f, FM_LOGF_C7);
	p = fmaf(p, f, FM_LOGF_C6);
	p = fmaf(p, f, FM_LOGF_C5);
	p = fmaf(p, f, FM_LOGF_C4);
	p = fmaf(p, f, FM_LOGF_C3);
	y = fmaf(ef, FM_LN2_LOF, z * f * p);
	y = fmaf(z, -0.5f, y);
	hi = ef * FM_LN2_HIF; /* exact */
	s = hi + f;
	/* hi is 0 or larger than f, so f - (s - hi) is the rounding error of s */
	return s + (f - (s - hi) + y);
}

GPU_FN float gpu_tanh(float x)
{
	float a = fabsf(x), z = a * a, p, small, large;

	p = FM_TANHF_C11;
	p = fmaf(p, z, FM_TANHF_C9);
	p = fmaf(p, z, FM_TANHF_C7);
	p = fmaf(p, z, FM_TANHF_C5);
	p = fmaf(p, z, FM_TANHF_C3);
	small = fmaf(a * z, p, a);
	large = 1.0f - 2.0f / (gpu_exp(a + a) + 1.0f);
	p = a < FM_TANHF_SMALL ? small : large;
	return gpu_float((gpu_bits(p) & 0x7fffffff) | (gpu_bits(x) & 0x80000000));
}

GPU_FN float gpu_sigmoid(float x)
{
	float e = gpu_exp(-fabsf(x)); /* at most 1, so that small results keep their bits */

	return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

GPU_FN float gpu_normal(float x)
{
	float a = fabsf(x), s, p = FM_TAILF_C8;

	a = FM_TAILF_MAX < a ? FM_TAILF_MAX : a; /* keeps NaN */
	s = 1.0f / fmaf(a, 0.25f, 1.0f);
	p = fmaf(p, s, FM_TAILF_C7);
	p = fmaf(p, s, FM_TAILF_C6);
	p = fmaf(p, s, FM_TAILF_C5);
	p = fmaf(p, s, FM_TAILF_C4);
	p = fmaf(p, s, FM_TAILF_C3);
	p = fmaf(p, s, FM_TAILF_C2);
	p = fmaf(p, s, FM_TAILF_C1);
	p = fmaf(p, s, FM_TAILF_C0);
	p = p * s * gpu_exp(-0.5f * (a * a));
	return x < 0.0f ? p : 1.0f - p;
}

GPU_FN float gpu_silu(float g, float u) { return g * gpu_sigmoid(g) * u; }

/* g sigmoid(2 sqrt(2 / pi) (g + 0.044715 g^3)) u: the tanh form without its cancellation */
GPU_FN float gpu_gelu(float g, float u)
{
	float t = fmaf(0.044715f, g * g, 1.0f);

	return g * gpu_sigmoid(0x1.988454p+0f * g * t) * u;
}

GPU_FN float gpu_gelu_erf(float g, float u) { return g * gpu_normal(g) * u; }

/* g sigmoid(1.702 g) (u + 1), with g = min(g, limit), u clamped to [-limit, limit]; NaN is kept */
GPU_FN float gpu_swiglu(float g, float u, float limit)
{
	g = limit < g ? limit : g;
	u = limit < u ? limit : u;
	u = -limit > u ? -limit : u;
	return g * gpu_sigmoid(1.702f * g) * (u + 1.0f);
}

/* ---- double ---- */

/* ln x of a finite positive x: the high part of the result of log_sum in base/fmath.c */
GPU_FN double gpu_log_positive(double x)
{
	uint64_t u = gpu_bits64(x), i;
	double f, t, tl, s, sl, z, zl, p, ph, pl, q, ql, v, vl, a, b, c;
	double e = 0;
	int64_t k;

	if (u < 0x0010000000000000) {
		u = gpu_bits64(x * 0x1p52);
		e = -52;
	}
	i = u - FM_LOG_SPLIT;
	k = (int64_t)i >> 52;
	e += (double)k;
	f = gpu_float64(u - ((uint64_t)k << 52)) - 1.0;
	/* s + sl = f / (2 + f) */
	t = 2.0 + f;
	tl = f - (t - 2.0);
	s = f / t;
	sl = (fma(-s, t, f) - s * tl) / t;
	z = s * s;
	zl = fma(s, s, -z) + 2.0 * s * sl;
	p = FM_LOG_C21;
	p = fma(p, z, FM_LOG_C19);
	p = fma(p, z, FM_LOG_C17);
	p = fma(p, z, FM_LOG_C15);
	p = fma(p, z, FM_LOG_C13);
	p = fma(p, z, FM_LOG_C11);
	p = fma(p, z, FM_LOG_C9);
	p = fma(p, z, FM_LOG_C7);
	p = fma(p, z, FM_LOG_C5);
	/* ph + pl = 2/3 + z p,  q + ql = z (ph + pl),  v + vl = s (q + ql) */
	p *= z;
	ph = FM_LOG_C3_HI + p;
	pl = p - (ph - FM_LOG_C3_HI) + FM_LOG_C3_LO;
	q = z * ph;
	ql = fma(z, ph, -q) + fma(z, pl, zl * ph);
	v = s * q;
	vl = fma(s, q, -v) + fma(s, ql, sl * q);
	/* e ln2 + 2 s + v, largest first */
	a = e * FM_LN2_HI; /* exact */
	b = a + 2.0 * s;
	c = b + v;
	t = 2.0 * s - (b - a) + (v - (c - b));
	t += fma(e, FM_LN2_LO, 2.0 * sl + vl);
	return c + t;
}

GPU_FN double gpu_log(double x)
{
	if (x == 0)
		return gpu_float64(0xfff0000000000000);
	if (!(x > 0))
		return gpu_float64(0x7ff8000000000000);
	if (gpu_bits64(x) == 0x7ff0000000000000)
		return x;
	return gpu_log_positive(x);
}

/* *r + *lo = x - n pi/2, |*r| at most slightly above pi/4.  Returns n mod 4; -1: out of range. */
GPU_FN int gpu_reduce(double x, double *r, double *lo)
{
	double t, n, a, b, c, h, v, l;

	if (!(fabs(x) <= 0x1p30))
		return -1;
	t = fma(x, FM_2_PI, FM_MAGIC);
	n = t - FM_MAGIC;
	/* exact: both operands are multiples of 2^-53, or n is 0 */
	a = fma(-n, FM_PIO2_1, x);
	b = n * FM_PIO2_2;
	c = fma(n, FM_PIO2_2, -b);
	h = a - b;
	v = h - a;
	l = a - (h - v) - (b + v) - c;
	l = fma(-n, FM_PIO2_3, l);
	*r = h + l;
	*lo = l - (*r - h);
	return (int)(gpu_bits64(t) & 3);
}

GPU_FN double gpu_sin_part(double r, double lo)
{
	double z = r * r, p;

	p = FM_SIN_S13;
	p = fma(p, z, FM_SIN_S11);
	p = fma(p, z, FM_SIN_S9);
	p = fma(p, z, FM_SIN_S7);
	p = fma(p, z, FM_SIN_S5);
	p = fma(p, z, FM_SIN_S3);
	return r + fma(r * z, p, fma(z * -0.5, lo, lo));
}

GPU_FN double gpu_cos_part(double r, double lo)
{
	double z = r * r, h = 0.5 * z, w = 1.0 - h, p;

	p = FM_COS_C14;
	p = fma(p, z, FM_COS_C12);
	p = fma(p, z, FM_COS_C10);
	p = fma(p, z, FM_COS_C8);
	p = fma(p, z, FM_COS_C6);
	p = fma(p, z, FM_COS_C4);
	return w + (1.0 - w - h + fma(z * z, p, -r * lo));
}

/* sin(x + quadrant pi/2) */
GPU_FN double gpu_sin_quadrant(double x, int quadrant)
{
	double r, lo, y;
	int n = gpu_reduce(x, &r, &lo);

	if (n < 0)
		return gpu_float64(0x7ff8000000000000);
	n += quadrant;
	y = n & 1 ? gpu_cos_part(r, lo) : gpu_sin_part(r, lo);
	return n & 2 ? -y : y;
}

GPU_FN double gpu_sin(double x)
{
	return fabs(x) < 0x1p-27 ? x : gpu_sin_quadrant(x, 0); /* keeps the sign of 0 */
}

GPU_FN double gpu_cos(double x) { return gpu_sin_quadrant(x, 1); }
#endif
