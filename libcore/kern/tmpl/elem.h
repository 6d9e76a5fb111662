/* kern/tmpl/elem.h - elementwise operations and norms: y[i] from x[i], or from x[i] and a sum over
 * x in 16 lanes.  Sums: lane l adds elements i = l mod 16, ascending, from +0; lanes with index >=
 * n are skipped; then kern_sum16. */
#include <math.h>
#include "base/fmath.h"
#include "kern/tmpl/fmath.h"

/* Set y[i] = e for all i; in e, AT(p) is the vector at index i of array p */
#define MAP(n, e) \
	do { \
		int i = 0; \
		for (; i + 16 <= (n); i += 16) \
			v_store(y + i, e(v_load, AT_ALL)); \
		if (i < (n)) \
			v_storen(y + i, e(v_loadn, AT_SOME), (n)-i); \
	} while (0)
#define AT_ALL(load, p) load((p) + i)
#define AT_SOME(load, p) load((p) + i, n - i)

static inline vf silu(vf g, vf u) { return v_mul(v_mul(g, v_sigmoid(g)), u); }

/* g sigmoid(2 sqrt(2 / pi) (g + 0.044715 g^3)) u: the tanh form without its cancellation */
static inline vf gelu(vf g, vf u)
{
	vf t = v_fma(v_set(0.044715f), v_mul(g, g), v_set(1.0f));

	return v_mul(v_mul(g, v_sigmoid(v_mul(v_mul(v_set(0x1.988454p+0f), g), t))), u);
}

static inline vf gelu_erf(vf g, vf u) { return v_mul(v_mul(g, v_normal(g)), u); }

/* g sigmoid(1.702 g) (u + 1), with g = min(g, limit), u clamped to [-limit, limit].  NaN is kept:
 * it is the second operand of v_min and v_max. */
static inline vf swiglu(vf g, vf u, float limit)
{
	g = v_min(v_set(limit), g);
	u = v_max(v_set(-limit), v_min(v_set(limit), u));
	return v_mul(v_mul(g, v_sigmoid(v_mul(v_set(1.702f), g))), v_add(u, v_set(1.0f)));
}

void KERN_FN(silu_mul)(float *y, const float *gate, const float *up, int n)
{
#define E(load, at) silu(at(load, gate), at(load, up))
	MAP(n, E);
#undef E
}

void KERN_FN(gelu_mul)(float *y, const float *gate, const float *up, int n)
{
#define E(load, at) gelu(at(load, gate), at(load, up))
	MAP(n, E);
#undef E
}

void KERN_FN(gelu_erf_mul)(float *y, const float *gate, const float *up, int n)
{
#define E(load, at) gelu_erf(at(load, gate), at(load, up))
	if (up) {
		MAP(n, E);
		return;
	}
#undef E
#define E(load, at) gelu_erf(at(load, gate), v_set(1.0f))
	MAP(n, E);
#undef E
}

void KERN_FN(swiglu_mul)(float *y, const float *gate, const float *up, float limit, int n)
{
#define E(load, at) swiglu(at(load, gate), at(load, up), limit)
	MAP(n, E);
#undef E
}

void KERN_FN(sigmoid_mul)(float *y, const float *x, const float *gate, int n)
{
#define E(load, at) v_mul(at(load, x), v_sigmoid(at(load, gate)))
	MAP(n, E);
#undef E
}

void KERN_FN(add_scaled)(float *y, const float *a, const float *b, float s, int n)
{
#define E(load, at) v_fma(v_set(s), at(load, b), at(load, a))
	MAP(n, E);
#undef E
}

void KERN_FN(scale)(float *y, const float *x, float s, int n)
{
#define E(load, at) v_mul(at(load, x), v_set(s))
	MAP(n, E);
#undef E
}

void KERN_FN(softcap)(float *y, const float *x, float cap, int n)
{
#define E(load, at) v_mul(v_set(cap), v_tanh(v_div(at(load, x), v_set(cap))))
	MAP(n, E);
#undef E
}

void KERN_FN(to_f16)(uint16_t *y, const float *x, int n)
{
	int i = 0;

	for (; i + 16 <= n; i += 16)
		v_storen_h(y + i, v_load(x + i), 16);
	if (i < n)
		v_storen_h(y + i, v_loadn(x + i, n - i), n - i);
}

void KERN_FN(rms_norm)(float *y, const float *x, const float *g, int n, float eps)
{
	vf sum = v_set(0);
	int j = 0;

	for (; j + 16 <= n; j += 16) {
		vf v = v_load(x + j);
		sum = v_fma(v, v, sum);
	}
	if (j < n) {
		vf v = v_loadn(x + j, n - j);
		sum = v_keep(n - j, v_fma(v, v, sum), sum);
	}
	const vf r = v_set(1.0f / sqrtf(v_sum(sum) / (float)n + eps));
#define E(load, at) v_mul(v_mul(at(load, x), r), at(load, g))
	if (g) {
		MAP(n, E);
		return;
	}
#undef E
#define E(load, at) v_mul(at(load, x), r)
	MAP(n, E);
#undef E
}

static inline vf centred(vf x, vf mean, vf r) { return v_mul(v_sub(x, mean), r); }

void KERN_FN(layer_norm)(float *y, const float *x, const float *g, const float *b, int n, float eps)
{
	vf sum = v_set(0);
	int j = 0;

	for (; j + 16 <= n; j += 16)
		sum = v_add(sum, v_load(x + j));
	if (j < n)
		sum = v_keep(n - j, v_add(sum, v_loadn(x + j, n - j)), sum);
	const vf mean = v_set(v_sum(sum) / (float)n);
	sum = v_set(0);
	for (j = 0; j + 16 <= n; j += 16) {
		vf v = v_sub(v_load(x + j), mean);
		sum = v_fma(v, v, sum);
	}
	if (j < n) {
		vf v = v_sub(v_loadn(x + j, n - j), mean);
		sum = v_keep(n - j, v_fma(v, v, sum), sum);
	}
	const vf r = v_set(1.0f / sqrtf(v_sum(sum) / (float)n + eps));
#define E(load, at) v_fma(centred(at(load, x), mean, r), at(load, g), at(load, b))
	if (g && b) {
		MAP(n, E);
		return;
	}
#undef E
#define E(load, at) v_mul(centred(at(load, x), mean, r), at(load, g))
	if (g) {
		MAP(n, E);
		return;
	}
#undef E
#define E(load, at) centred(at(load, x), mean, r)
	MAP(n, E);
#undef E
}

void KERN_FN(lse)(float *out, const float *x, int n)
{
	vf vmax = v_set(-INFINITY), sum = v_set(0);
	int i = 0;

	for (; i + 16 <= n; i += 16)
		vmax = v_max(v_load(x + i), vmax);
	if (i < n)
		vmax = v_keep(n - i, v_max(v_loadn(x + i, n - i), vmax), vmax);
	const float max = v_hmax(vmax) + 0.0f; /* -0 becomes +0, in whatever order they are
	                                        * compared */
	const vf m = v_set(max);
	for (i = 0; i + 16 <= n; i += 16)
		sum = v_add(sum, v_exp(v_sub(v_load(x + i), m)));
	if (i < n)
		sum = v_keep(n - i, v_add(sum, v_exp(v_sub(v_loadn(x + i, n - i), m))), sum);
	*out = max + fm_logf(v_sum(sum));
	if (max == -INFINITY) { /* -inf - -inf is NaN: return -inf, or NaN if x has one */
		*out = max;
		for (i = 0; i < n; i++)
			*out += x[i] == x[i] ? 0 : x[i];
	}
}
#include "kern/tmpl/peak.h"
#undef MAP
#undef AT_ALL
#undef AT_SOME
