/* base/fmath.c - elementary functions.  The float functions use only what a vector unit has:
 * fma, + - * /, compare and select, and integer arithmetic on the bits. kern/tmpl repeats them
 * operation by operation. */
#include "base/fmath.h"
#include "base/fmath_consts.h"
#include "base/num.h"

#include <math.h>

static uint64_t bits64(double x)
{
	uint64_t u;
	memcpy(&u, &x, 8);
	return u;
}
static double float64(uint64_t u)
{
	double x;
	memcpy(&x, &u, 8);
	return x;
}

/* 2^n for -127 < n < 128; unsigned, because n may be any number for a NaN */
static float scale32(uint32_t n) { return num_float((n + 127) << 23); }
static double scale64(uint64_t n) { return float64((n + 1023) << 52); }

float fm_expf(float x)
{
	float t, nf, r, p, y;
	uint32_t n, n1;

	x = x < FM_EXPF_MIN ? FM_EXPF_MIN : x;
	x = x > FM_EXPF_MAX ? FM_EXPF_MAX : x;
	t = fmaf(x, FM_LOG2EF, FM_MAGICF);
	n = num_bits(t) - num_bits(FM_MAGICF);
	nf = t - FM_MAGICF;
	r = fmaf(nf, -FM_LN2_HIF, x); /* exact */
	r = fmaf(nf, -FM_LN2_LOF, r);
	p = FM_EXPF_C6;
	p = fmaf(p, r, FM_EXPF_C5);
	p = fmaf(p, r, FM_EXPF_C4);
	p = fmaf(p, r, FM_EXPF_C3);
	p = fmaf(p, r, FM_EXPF_C2);
	y = fmaf(r * r, p, r) + 1.0f;
	/* two multiplications, as 2^n may not be a normal number; only the second rounds */
	n1 = (uint32_t)((int32_t)n >> 1);
	return y * scale32(n1) * scale32(n - n1);
}

float fm_logf(float x)
{
	uint32_t u = num_bits(x), base = 0, i;
	int32_t e;
	float f, z, p, y, ef, hi, s;

	if (u - 0x00800000 >= 0x7f000000) { /* not a positive normal number */
		if (u << 1 == 0)
			return -INFINITY;
		if (u == 0x7f800000 || x != x)
			return x;
		if (u >> 31)
			return NAN;
		u = num_bits(x * 0x1p23f);
		base = 23;
	}
	i = u - FM_LOGF_SPLIT;
	e = (int32_t)i >> 23;
	f = num_float(u - ((uint32_t)e << 23)) - 1.0f; /* exact */
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

float fm_tanhf(float x)
{
	float a = fabsf(x), z = a * a, p, small, large;

	p = FM_TANHF_C11;
	p = fmaf(p, z, FM_TANHF_C9);
	p = fmaf(p, z, FM_TANHF_C7);
	p = fmaf(p, z, FM_TANHF_C5);
	p = fmaf(p, z, FM_TANHF_C3);
	small = fmaf(a * z, p, a);
	large = 1.0f - 2.0f / (fm_expf(a + a) + 1.0f);
	return copysignf(a < FM_TANHF_SMALL ? small : large, x);
}

float fm_sigmoidf(float x)
{
	float e = fm_expf(-fabsf(x)); /* at most 1, so that small results keep their bits */

	return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* e^(x + lo) for lo much smaller than x */
static double exp_sum(double x, double lo)
{
	double t, nf, hi, r, sum, p, y;
	uint64_t n, n1;

	x = x < -746.0 ? -746.0 : x;
	x = x > 710.0 ? 710.0 : x;
	t = fma(x, FM_LOG2E, FM_MAGIC);
	n = bits64(t) - bits64(FM_MAGIC);
	nf = t - FM_MAGIC;
	hi = fma(nf, -FM_LN2_HI, x); /* exact */
	r = fma(nf, -FM_LN2_LO, hi);
	lo += fma(nf, -FM_LN2_LO, hi - r);
	sum = r + lo;
	lo -= sum - r; /* lo is now below the last bit of r */
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
	/* 1 + r + y; the rounding error of 1 + r is added to y */
	y = fma(r * r, p, fma(r, lo, lo));
	t = 1.0 + r;
	y = t + (r - (t - 1.0) + y);
	n1 = (uint64_t)((int64_t)n >> 1);
	return y * scale64(n1) * scale64(n - n1);
}

double fm_exp(double x) { return exp_sum(x, 0.0); }

/* ln x = *hi + *lo to about 2^-65; x is finite and positive */
static void log_sum(double x, double *hi, double *lo)
{
	uint64_t u = bits64(x), i;
	double f, t, tl, s, sl, z, zl, p, ph, pl, q, ql, v, vl, a, b, c;
	double e = 0;
	int64_t k;

	if (u < 0x0010000000000000) {
		u = bits64(x * 0x1p52);
		e = -52;
	}
	i = u - FM_LOG_SPLIT;
	k = (int64_t)i >> 52;
	e += (double)k;
	f = float64(u - ((uint64_t)k << 52)) - 1.0;
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
	*hi = c + t;
	*lo = t - (*hi - c);
}

double fm_log(double x)
{
	double hi, lo;

	if (x == 0)
		return -INFINITY;
	if (!(x > 0))
		return NAN;
	if (x == INFINITY)
		return x;
	log_sum(x, &hi, &lo);
	return hi;
}

double fm_pow(double x, double y)
{
	double hi, lo, p;

	if (y == 0 || x == 1)
		return 1;
	if (x == 0 || x == INFINITY)
		return y != y ? y : (x == 0) == (y > 0) ? 0 : INFINITY;
	if (!(x > 0))
		return NAN;
	log_sum(x, &hi, &lo);
	p = y * hi;
	if (!(fabs(p) < 1000)) /* NaN, or so large that the lower half of the product would not
	                        * be finite */
		return fm_exp(p);
	return exp_sum(p, fma(y, hi, -p) + y * lo);
}

/* Reduce x: *r + *lo = x - n pi/2, |*r| slightly above pi/4 at most; returns n mod 4, or -1 if x is
 * out of range */
static int reduce(double x, double *r, double *lo)
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
	return (int)(bits64(t) & 3);
}

static double sin_part(double r, double lo)
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

static double cos_part(double r, double lo)
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
static double sin_quadrant(double x, int quadrant)
{
	double r, lo, y;
	int n = reduce(x, &r, &lo);

	if (n < 0)
		return NAN;
	n += quadrant;
	y = n & 1 ? cos_part(r, lo) : sin_part(r, lo);
	return n & 2 ? -y : y;
}

double fm_sin(double x)
{
	return fabs(x) < 0x1p-27 ? x : sin_quadrant(x, 0); /* keeps the sign of 0 */
}

double fm_cos(double x) { return sin_quadrant(x, 1); }
