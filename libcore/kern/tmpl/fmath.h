/* kern/tmpl/fmath.h - the operations of base/fmath.c on vectors, in the same order: each lane has
 * the same bits (tests/kern). */
#ifndef KERN_TMPL_FMATH_H
#define KERN_TMPL_FMATH_H
#include "base/fmath_consts.h"

static inline vf v_abs(vf x) { return v_from(vi_and(v_bits(x), vi_set(0x7fffffff))); }
static inline vf v_neg_abs(vf x) { return v_from(vi_or(v_bits(x), vi_set(INT32_MIN))); }
/* 2^n */
static inline vf v_pow2(vi n) { return v_from(vi_shl23(vi_add(n, vi_set(127)))); }

static inline vf v_exp(vf x)
{
	const vf magic = v_set(FM_MAGICF);

	x = v_max(v_set(FM_EXPF_MIN), x);
	x = v_min(v_set(FM_EXPF_MAX), x);
	vf t = v_fma(x, v_set(FM_LOG2EF), magic);
	vi n = vi_sub(v_bits(t), v_bits(magic));
	vf nf = v_sub(t, magic);
	vf r = v_fma(nf, v_set(-FM_LN2_HIF), x);
	r = v_fma(nf, v_set(-FM_LN2_LOF), r);
	vf p = v_set(FM_EXPF_C6);
	p = v_fma(p, r, v_set(FM_EXPF_C5));
	p = v_fma(p, r, v_set(FM_EXPF_C4));
	p = v_fma(p, r, v_set(FM_EXPF_C3));
	p = v_fma(p, r, v_set(FM_EXPF_C2));
	vf y = v_add(v_fma(v_mul(r, r), p, r), v_set(1.0f));
	vi n1 = vi_sar1(n);
	return v_mul(v_mul(y, v_pow2(n1)), v_pow2(vi_sub(n, n1)));
}

/* exp of x <= 0, for the weights of attention; x below FM_EXPW_MIN is clamped to it; NaN is kept */
static inline vf v_exp_weight(vf x)
{
	const vf magic = v_set(FM_EXPW_MAGICF), one = v_set(1.0f);

	x = v_max(v_set(FM_EXPW_MIN), x);
	vf t = v_fma(x, v_set(FM_LOG2EF), magic);
	vf r = v_fma(v_sub(t, magic), v_set(-FM_EXPW_LN2F), x);
	vf p = v_set(FM_EXPW_C5);
	p = v_fma(p, r, v_set(FM_EXPW_C4));
	p = v_fma(p, r, v_set(FM_EXPW_C3));
	p = v_fma(p, r, v_set(FM_EXPW_C2));
	p = v_fma(p, r, one);
	p = v_fma(p, r, one);
	return v_mul(p, v_from(vi_shl23(v_bits(t))));
}

static inline vf v_tanh(vf x)
{
	vf a = v_abs(x), z = v_mul(a, a), p = v_set(FM_TANHF_C11);

	p = v_fma(p, z, v_set(FM_TANHF_C9));
	p = v_fma(p, z, v_set(FM_TANHF_C7));
	p = v_fma(p, z, v_set(FM_TANHF_C5));
	p = v_fma(p, z, v_set(FM_TANHF_C3));
	vf small = v_fma(v_mul(a, z), p, a);
	vf q = v_div(v_set(2.0f), v_add(v_exp(v_add(a, a)), v_set(1.0f)));
	vf y = v_pick(v_lt(a, v_set(FM_TANHF_SMALL)), small, v_sub(v_set(1.0f), q));
	return v_from(vi_or(v_bits(v_abs(y)), vi_and(v_bits(x), vi_set(INT32_MIN))));
}

/* P(N < x) of the normal distribution */
static inline vf v_normal(vf x)
{
	const vf one = v_set(1.0f);
	vf a = v_min(v_set(FM_TAILF_MAX), v_abs(x)), s = v_div(one, v_fma(a, v_set(0.25f), one)),
	   p = v_set(FM_TAILF_C8);

	p = v_fma(p, s, v_set(FM_TAILF_C7));
	p = v_fma(p, s, v_set(FM_TAILF_C6));
	p = v_fma(p, s, v_set(FM_TAILF_C5));
	p = v_fma(p, s, v_set(FM_TAILF_C4));
	p = v_fma(p, s, v_set(FM_TAILF_C3));
	p = v_fma(p, s, v_set(FM_TAILF_C2));
	p = v_fma(p, s, v_set(FM_TAILF_C1));
	p = v_fma(p, s, v_set(FM_TAILF_C0));
	p = v_mul(v_mul(p, s), v_exp(v_mul(v_set(-0.5f), v_mul(a, a))));
	return v_pick(v_lt(x, v_set(0)), p, v_sub(one, p));
}

static inline vf v_sigmoid(vf x)
{
	const vf one = v_set(1.0f);
	vf e = v_exp(v_neg_abs(x));

	return v_div(v_pick(v_lt(x, v_set(0)), e, one), v_add(one, e));
}
#endif
