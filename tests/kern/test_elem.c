/* tests/kern/test_elem.c - operations on one or two vectors: every set gives the bits of ref,
 * ref those of base/fmath, and all are close to the same function in f64. */
#include "kern_test.h"

#include <math.h>
#include "base/fmath.h"
#include "base/num.h"

enum { MOST = 300 };
static const int sizes[] = { 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256, 299 };

/* x, a, b of n numbers whose ends are ends of mappings; y as ref and as the set write it, and what
 * stood before */
struct data {
	struct fence x, a, b, y, z;
	float *fx, *fa, *fb, *fy, *fz;
	int n;
};

static struct data data_new(int n, enum kern_data_fill fill, uint64_t seed)
{
	struct data d = { .n = n };
	size_t bytes = (size_t)n * 4;

	d.x = fence_new(bytes), d.a = fence_new(bytes), d.b = fence_new(bytes),
	d.y = fence_new(bytes), d.z = fence_new(bytes);
	d.fx = (float *)(void *)d.x.at, d.fa = (float *)(void *)d.a.at,
	d.fb = (float *)(void *)d.b.at;
	d.fy = (float *)(void *)d.y.at, d.fz = (float *)(void *)d.z.at;
	kern_data_floats(d.fx, (size_t)n, fill, seed);
	kern_data_floats(d.fa, (size_t)n, fill, seed + 1);
	kern_data_floats(d.fb, (size_t)n, fill, seed + 2);
	return d;
}

static void data_free(struct data *d)
{
	fence_free(&d->x), fence_free(&d->a), fence_free(&d->b), fence_free(&d->y),
		fence_free(&d->z);
}

static void same(const float *got, const float *want, int n, const struct kern *k, const char *what)
{
	int64_t i = kern_data_differ(got, want, (size_t)n);

	if (i >= 0)
		fail_msg("%s %s n %d: at %lld %a, not %a", k->name, what, n, (long long)i,
		         (double)got[i], (double)want[i]);
}

/* each slot twice: into y, and over its own input */
#define BOTH(slot, in, ...) \
	do { \
		ref->slot(d->fz, in, __VA_ARGS__); \
		k->slot(d->fy, in, __VA_ARGS__); \
		same(d->fy, d->fz, d->n, k, #slot); \
		memcpy(d->fy, in, (size_t)d->n * 4); \
		k->slot(d->fy, d->fy, __VA_ARGS__); \
		same(d->fy, d->fz, d->n, k, #slot " in place"); \
	} while (0)

static void all_slots(const struct kern *k, const struct kern *ref, struct data *d)
{
	int n = d->n;
	float a, b;

	BOTH(rms_norm, d->fx, d->fa, n, 1e-6f);
	BOTH(rms_norm, d->fx, NULL, n, 1e-5f);
	BOTH(layer_norm, d->fx, d->fa, d->fb, n, 1e-6f);
	BOTH(layer_norm, d->fx, d->fa, NULL, n, 1e-5f);
	BOTH(layer_norm, d->fx, NULL, NULL, n, 1e-5f);
	BOTH(silu_mul, d->fx, d->fa, n);
	BOTH(gelu_erf_mul, d->fx, d->fa, n);
	BOTH(gelu_erf_mul, d->fx, NULL, n);
	BOTH(gelu_mul, d->fx, d->fa, n);
	BOTH(swiglu_mul, d->fx, d->fa, 1.5f, n);
	BOTH(swiglu_mul, d->fx, d->fa, 1e30f, n);
	BOTH(sigmoid_mul, d->fx, d->fa, n);
	BOTH(add_scaled, d->fx, d->fa, 0.37f, n);
	BOTH(scale, d->fx, -1.7f, n);
	BOTH(softcap, d->fx, 30.0f, n);
	ref->lse(&a, d->fx, n);
	k->lse(&b, d->fx, n);
	same(&b, &a, 1, k, "lse");
	uint16_t h[MOST], g[MOST];
	memset(h, 0, sizeof h), memset(g, 0, sizeof g);
	ref->to_f16(h, d->fx, n);
	k->to_f16(g, d->fx, n);
	assert_memory_equal(g, h, sizeof h);
}

static void set_same(const struct kern *k, const struct kern *ref)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int fill = 0; fill < 2; fill++) {
			struct data d =
				data_new(sizes[i], fill ? KERN_DATA_ODD : KERN_DATA_PLAIN, 40 + i);
			all_slots(k, ref, &d);
			for (int j = 0; j < d.n; j++) /* over the whole range of exp */
				d.fx[j] = d.fx[j] * (fill ? 60.0f : 4.0f);
			all_slots(k, ref, &d);
			data_free(&d);
		}
}

static void test_same_bits(void **state)
{
	(void)state;
	each_set(set_same);
}

/* Channels and taps; taps that are not there. */
static void set_conv(const struct kern *k, const struct kern *ref)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int taps = 1; taps < 6; taps++) {
			struct data d = data_new(sizes[i], KERN_DATA_PLAIN, i);
			const float *x[5] = { d.fx, d.fa, taps & 1 ? NULL : d.fb, d.fx, d.fb };
			float w[5 * MOST];
			kern_data_floats(w, sizeof w / sizeof *w, KERN_DATA_PLAIN, i + 5);
			ref->conv(d.fz, x, w, taps, d.n);
			k->conv(d.fy, x, w, taps, d.n);
			same(d.fy, d.fz, d.n, k, "conv");
			for (int c = 0; c < d.n; c++) {
				double sum = 0;
				for (int t = 0; t < taps; t++)
					sum += x[t] ? (double)x[t][c] * (double)w[t * d.n + c] : 0;
				assert_true(fabs((double)d.fz[c] - sum / (1 + exp(-sum))) < 1e-5);
			}
			data_free(&d);
		}
}

/* Rows at once and one by one; some of the 16 columns. */
static void set_delta(const struct kern *k, const struct kern *ref)
{
	enum { ROWS = 5, ROW = 40, DK = 33 };
	float in[4 * ROWS * ROW], g[2 * ROWS], s[3][DK * 16], y[3][ROWS * 16];

	for (int dk = 1; dk <= 2 * DK; dk += 1 + dk % 5)
		for (int cols = 1; cols <= 16; cols += 5) {
			kern_data_floats(in, sizeof in / sizeof *in, KERN_DATA_PLAIN, (uint64_t)dk);
			kern_data_floats(g, 2 * ROWS, KERN_DATA_PLAIN, 3);
			memset(s, 0, sizeof s), memset(y, 0, sizeof y);
			struct kern_delta d = { s[0],     in,          in + ROW, in + 2 * ROW, g,
				                g + ROWS, y[0],        4 * ROW,  4 * ROW,      16,
				                ROWS,     1 + dk % DK, cols,     0.3f };
			if (dk > DK)
				d.plain = 1, d.skip = 0.7f;
			ref->delta(&d);
			d.s = s[1], d.y = y[1];
			k->delta(&d);
			d.s = s[2], d.rows = 1;
			for (int r = 0; r < ROWS;
			     r++, d.q += 4 * ROW, d.k += 4 * ROW, d.v += 4 * ROW) {
				d.y = y[2] + 16 * r, d.g = g + r, d.beta = g + ROWS + r;
				k->delta(&d);
			}
			for (int i = 1; i < 3; i++) {
				same(y[i], y[0], ROWS * 16, k, i == 1 ? "delta" : "delta by row");
				same(s[i], s[0], DK * 16, k, "state of delta");
			}
		}
}

static void test_recurrent(void **state)
{
	(void)state;
	each_set(set_conv);
	each_set(set_delta);
}

static void set_rope(const struct kern *k, const struct kern *ref)
{
	static const int shape[][3] = { { 1, 2, 2 },   { 3, 64, 64 }, { 2, 80, 32 },
		                        { 5, 96, 96 }, { 2, 10, 6 },  { 4, 128, 128 } };

	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		int heads = shape[i][0], dim = shape[i][1], rot = shape[i][2];
		float x[640], y[640], cs[128];
		kern_data_floats(x, 640, KERN_DATA_PLAIN, i);
		kern_data_floats(cs, 128, KERN_DATA_PLAIN, i + 9);
		memcpy(y, x, sizeof x);
		ref->rope_pairs(x, cs, heads, dim, rot);
		k->rope_pairs(y, cs, heads, dim, rot);
		same(y, x, 640, k, "rope_pairs");
		ref->rope_halves(x, cs, heads, dim, rot);
		k->rope_halves(y, cs, heads, dim, rot);
		same(y, x, 640, k, "rope_halves");
	}
}

static void test_rope(void **state)
{
	const struct kern ref = kern_select(0);
	float x[12], y[12], cs[4] = { 0.8f, 0.6f, -0.28f, 0.96f };

	(void)state;
	each_set(set_rope);
	for (int i = 0; i < 12; i++)
		x[i] = y[i] = (float)(i + 1);
	ref.rope_pairs(x, cs, 2, 6, 4);
	ref.rope_halves(y, cs, 2, 6, 4);
	for (int h = 0; h < 2; h++) {
		const float *p = x + 6 * h, *q = y + 6 * h;
		float o = (float)(6 * h);
		assert_true(fabsf(p[0] - ((o + 1) * 0.8f - (o + 2) * 0.6f)) < 1e-5f &&
		            fabsf(p[1] - ((o + 2) * 0.8f + (o + 1) * 0.6f)) < 1e-5f);
		assert_true(fabsf(p[2] - ((o + 3) * -0.28f - (o + 4) * 0.96f)) < 1e-5f);
		assert_true(fabsf(q[0] - ((o + 1) * 0.8f - (o + 3) * 0.6f)) < 1e-5f &&
		            fabsf(q[2] - ((o + 3) * 0.8f + (o + 1) * 0.6f)) < 1e-5f);
		assert_true(fabsf(q[3] - ((o + 4) * -0.28f + (o + 2) * 0.96f)) < 1e-5f);
		assert_true(p[4] == o + 5 && p[5] == o + 6 && q[4] == o + 5 && q[5] == o + 6);
	}
}

/* lanes of vectors carry the bits of the scalar functions: silu of x with up 1, softcap with cap
 * 1 */
static void set_fmath(const struct kern *k, const struct kern *ref)
{
	float x[MOST], one[MOST], y[MOST];

	(void)ref;
	for (int round = 0; round < 300; round++) {
		kern_data_floats(x, MOST, round & 1 ? KERN_DATA_ODD : KERN_DATA_PLAIN,
		                 (uint64_t)round);
		for (int i = 0; i < MOST; i++) {
			x[i] *= (float)(1 << round % 9);
			one[i] = 1;
		}
		k->silu_mul(y, x, one, MOST);
		for (int i = 0; i < MOST; i++)
			if (kern_data_differ(&y[i], &(float){ x[i] * fm_sigmoidf(x[i]) }, 1) >= 0)
				fail_msg("%s sigmoid %a: %a", k->name, (double)x[i], (double)y[i]);
		k->softcap(y, x, 1.0f, MOST);
		for (int i = 0; i < MOST; i++)
			if (kern_data_differ(&y[i], &(float){ fm_tanhf(x[i]) }, 1) >= 0)
				fail_msg("%s tanh %a: %a, not %a", k->name, (double)x[i],
				         (double)y[i], (double)fm_tanhf(x[i]));
	}
}

static void test_fmath(void **state)
{
	(void)state;
	each_set(set_fmath);
}

/* A row far from 0, whose mean is what it loses; and the normal distribution, whose tail keeps its
 * digits. */
static void test_normal(void **state)
{
	const struct kern k = kern_select(0);
	float x[MOST], g[MOST], b[MOST], y[MOST];
	double mean = 0, ss = 0;

	(void)state;
	kern_data_floats(x, MOST, KERN_DATA_PLAIN, 1);
	kern_data_floats(g, MOST, KERN_DATA_PLAIN, 2);
	kern_data_floats(b, MOST, KERN_DATA_PLAIN, 3);
	for (int i = 0; i < MOST; i++)
		mean += (double)(x[i] += 50) / MOST;
	for (int i = 0; i < MOST; i++)
		ss += ((double)x[i] - mean) * ((double)x[i] - mean);
	k.layer_norm(y, x, g, b, MOST, 0.1f);
	for (int i = 0; i < MOST; i++) {
		double want =
			((double)x[i] - mean) / sqrt(ss / MOST + 0.1) * (double)g[i] + (double)b[i];
		assert_true(fabs((double)y[i] - want) <= 2e-5);
	}
	for (int i = 0; i < MOST; i++)
		x[i] = -12.5f + 25.0f * (float)i / MOST;
	k.gelu_erf_mul(y, x, g, MOST);
	for (int i = 0; i < MOST; i++) {
		double v = (double)x[i], want = v * 0.5 * erfc(-v / sqrt(2)) * (double)g[i];
		/* the square in the exponent is rounded */
		assert_true(fabs((double)y[i] - want) <= (1 + v * v / 2) * 3e-7 * fabs(want));
	}
}

/* e^x of vectors through lse of (0, x): compared where softmax needs it, against f64 */
static void test_truth(void **state)
{
	const struct kern k = kern_select(0);
	float x[MOST], g[MOST], y[MOST], s;
	double ss = 0, sum = 0;

	(void)state;
	kern_data_floats(x, MOST, KERN_DATA_PLAIN, 1);
	kern_data_floats(g, MOST, KERN_DATA_PLAIN, 2);
	for (int i = 0; i < MOST; i++) {
		ss += (double)x[i] * (double)x[i];
		sum += exp((double)x[i]);
	}
	k.rms_norm(y, x, g, MOST, 1e-6f);
	for (int i = 0; i < MOST; i++) {
		double want = (double)x[i] / sqrt(ss / MOST + 1e-6) * (double)g[i];
		assert_true(fabs((double)y[i] - want) <= 1e-6 * fabs(want));
	}
	k.silu_mul(y, x, g, MOST);
	for (int i = 0; i < MOST; i++) {
		double want = (double)x[i] / (1 + exp(-(double)x[i])) * (double)g[i];
		assert_true(fabs((double)y[i] - want) <= 5e-7 * fabs(want));
	}
	k.gelu_mul(y, x, g, MOST);
	for (int i = 0; i < MOST; i++) {
		double v = (double)x[i],
		       want = 0.5 * v *
		              (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))) *
		              (double)g[i];
		assert_true(fabs((double)y[i] - want) <= 2e-6 * fabs(want));
	}
	k.swiglu_mul(y, x, g, 0.75f, MOST);
	for (int i = 0; i < MOST; i++) {
		double v = fmin((double)x[i], 0.75), u = fmax(-0.75, fmin((double)g[i], 0.75)),
		       want = v / (1 + exp(-(double)1.702f * v)) * (u + 1);
		assert_true(fabs((double)y[i] - want) <= 1e-6 * fabs(want));
	}
	k.sigmoid_mul(y, x, g, MOST);
	for (int i = 0; i < MOST; i++) {
		double want = (double)x[i] / (1 + exp(-(double)g[i]));
		assert_true(fabs((double)y[i] - want) <= 5e-7 * fabs(want));
	}
	k.softcap(y, x, 2.5f, MOST);
	for (int i = 0; i < MOST; i++) {
		double want = 2.5 * tanh((double)x[i] / 2.5);
		assert_true(fabs((double)y[i] - want) <= 5e-7 * fabs(want));
	}
	k.lse(&s, x, MOST);
	assert_true(fabs((double)s - log(sum)) <= 1e-6);
	const float none[3] = { -INFINITY, -INFINITY, -INFINITY },
		    bad[3] = { -INFINITY, NAN, -INFINITY };
	k.lse(&s, none, 3);
	assert_true(s == -INFINITY);
	k.lse(&s, bad, 3);
	assert_true(s != s);
}

/* every f16 that a float can round to, and ties, against base/num.h */
static void set_f16(const struct kern *k, const struct kern *ref)
{
	(void)ref;
	for (uint32_t u = 0; u < 0x10000; u++) {
		uint32_t b = u << 16 | (u * 2654435761u >> 16 & (u & 1 ? 0xffff : 0xf000));
		float x[3] = { num_float(b), num_f16((uint16_t)u),
			       num_float(num_bits(num_f16((uint16_t)u)) + 0x1000) };
		uint16_t h[3];
		k->to_f16(h, x, 3);
		for (int i = 0; i < 3; i++)
			if (h[i] != num_to_f16(x[i]))
				fail_msg("%s %a: %x, not %x", k->name, (double)x[i], h[i],
				         num_to_f16(x[i]));
	}
}

static void test_f16(void **state)
{
	(void)state;
	each_set(set_f16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bits), cmocka_unit_test(test_rope),
		cmocka_unit_test(test_fmath),     cmocka_unit_test(test_truth),
		cmocka_unit_test(test_f16),       cmocka_unit_test(test_recurrent),
		cmocka_unit_test(test_normal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
