/* test_chain_act.cpp - elementary functions (math.cuh) against base/fmath and kern/ref,
 * activations in the forms of products against a host version, chains of operations against the
 * operations one by one. */
#include "backend/cuda/math.cuh"
#include "chain_test.h"
extern "C" {
#include "base/fmath.h"
void kern_ref_silu_mul(float *y, const float *gate, const float *up, int n);
void kern_ref_gelu_mul(float *y, const float *gate, const float *up, int n);
void kern_ref_gelu_erf_mul(float *y, const float *gate, const float *up, int n);
void kern_ref_swiglu_mul(float *y, const float *gate, const float *up, float limit, int n);
}

/* ---- functions ---- */

enum fn { FN_EXP, FN_LOG, FN_TANH, FN_SIGMOID, FN_SILU, FN_GELU, FN_ERF, FN_SWIGLU, FN_COUNT };
__global__ void apply(float *y, const float *x, const float *u, int n, int fn)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	gpu_wait();
	if (i >= n)
		return;
	switch (fn) {
	case FN_EXP:
		y[i] = gpu_exp(x[i]);
		break;
	case FN_LOG:
		y[i] = gpu_log(x[i]);
		break;
	case FN_TANH:
		y[i] = gpu_tanh(x[i]);
		break;
	case FN_SIGMOID:
		y[i] = gpu_sigmoid(x[i]);
		break;
	case FN_SILU:
		y[i] = gpu_silu(x[i], u[i]);
		break;
	case FN_GELU:
		y[i] = gpu_gelu(x[i], u[i]);
		break;
	case FN_ERF:
		y[i] = gpu_gelu_erf(x[i], u[i]);
		break;
	case FN_SWIGLU:
		y[i] = gpu_swiglu(x[i], u[i], 7.0f);
		break;
	}
}
__global__ void apply64(double *y, const double *x, int n, int fn)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	gpu_wait();
	if (i < n)
		y[i] = fn == 0 ? gpu_sin(x[i]) : fn == 1 ? gpu_cos(x[i]) : gpu_log(x[i]);
}

/* All NaN are equal. */
template <class T> static void expect_equal(const char *name, const T *y, const T *truth, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(y[i] != y[i] && truth[i] != truth[i]) &&
		    memcmp(&y[i], &truth[i], sizeof(T))) {
			fail("%s: [%zu] is %.17g, should be %.17g", name, i, (double)y[i],
			     (double)truth[i]);
			return;
		}
}
static void host_fn(float *y, const float *x, const float *u, int n, int fn)
{
	for (int i = 0; i < n; i++)
		y[i] = fn == FN_EXP    ? fm_expf(x[i])
		       : fn == FN_LOG  ? fm_logf(x[i])
		       : fn == FN_TANH ? fm_tanhf(x[i])
		                       : fm_sigmoidf(x[i]);
	if (fn == FN_SILU)
		kern_ref_silu_mul(y, x, u, n);
	if (fn == FN_GELU)
		kern_ref_gelu_mul(y, x, u, n);
	if (fn == FN_ERF)
		kern_ref_gelu_erf_mul(y, x, u, n);
	if (fn == FN_SWIGLU)
		kern_ref_swiglu_mul(y, x, u, 7.0f, n);
}
static void test_functions(void)
{
	static const char *const names[FN_COUNT] = { "exp",  "log",  "tanh",     "sigmoid",
		                                     "silu", "gelu", "gelu_erf", "swiglu" };
	int n = small_test() ? 1 << 10 : 1 << 16;
	float *x = host<float>((size_t)n), *u = host<float>((size_t)n), *y = host<float>((size_t)n),
	      *t = host<float>((size_t)n);

	for (int i = 0; i < n; i++) {
		uint32_t bits = random_bits();

		memcpy(&x[i], &bits, 4); /* any number, half of the time; else those of use */
		if (i % 2)
			x[i] = uniform() * (i % 4 == 1 ? 4.0f : 120.0f);
		u[i] = uniform() * 10;
	}
	x[0] = 0, x[2] = -0.0f, x[4] = INFINITY, x[6] = -INFINITY, x[8] = NAN, x[10] = 1e-42f,
	x[12] = 0.625f;
	float *dx = give(x, (size_t)n), *du = give(u, (size_t)n), *dy = take<float>((size_t)n);
	for (int fn = 0; fn < FN_COUNT; fn++) {
		expect_run(LAUNCH(apply, (unsigned)(n + 255) / 256, 256, 0, stream(), dy, dx, du, n,
		                  fn));
		fetch(y, dy, (size_t)n);
		host_fn(t, x, u, n, fn);
		expect_equal(names[fn], y, t, (size_t)n);
	}
}
static void test_functions64(void)
{
	int n = small_test() ? 1 << 10 : 1 << 15;
	double *x = host<double>((size_t)n), *y = host<double>((size_t)n),
	       *t = host<double>((size_t)n);

	for (int i = 0; i < n; i++)
		x[i] = ldexp((double)(int32_t)random_bits(), -random_below(70));
	x[0] = 0, x[1] = -0.0, x[2] = INFINITY, x[3] = NAN, x[4] = 0x1p30, x[5] = 0x1p31,
	x[6] = 1e-310;
	double *dx = give(x, (size_t)n), *dy = take<double>((size_t)n);
	for (int fn = 0; fn < 3; fn++) {
		expect_run(LAUNCH(apply64, (unsigned)(n + 255) / 256, 256, 0, stream(), dy, dx, n,
		                  fn));
		fetch(y, dy, (size_t)n);
		for (int i = 0; i < n; i++)
			t[i] = fn == 0 ? fm_sin(x[i]) : fn == 1 ? fm_cos(x[i]) : fm_log(x[i]);
		expect_equal(fn == 0 ? "sin" : fn == 1 ? "cos" : "log", y, t, (size_t)n);
	}
}

/* ---- activations ---- */

static float round_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}
/* One block of 256 on the host, by launch.h: q bytes in the device's order, d, 8 sums. */
static void act_truth8(const float *x, unsigned char *q, float *d, int16_t *sum)
{
	float most = 0, inverse;
	bool odd = false;

	for (int i = 0; i < GPU_BLOCK; i++) {
		odd = odd || !isfinite(x[i]);
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	}
	*d = most / 127.0f;
	if (*d < round_bits(0x00800000))
		*d = 0;
	inverse = *d > 0 && !odd ? 1.0f / *d : 0;
	for (int j = 0; j < GPU_BLOCK / 32; j++)
		sum[j] = 0;
	for (int p = 0; p < GPU_BLOCK; p++) {
		int in = p % 64, k = p / 64 * 64 + 32 * (in / 8 % 2) + 16 * (in / 4 % 2) +
		                     4 * (in / 16) + in % 4;
		int v = inverse > 0 ? (int)rint((double)(float)(x[k] * inverse)) : 0;

		q[p] = (unsigned char)(v & 255);
		sum[k / 32] = (int16_t)(sum[k / 32] + v);
	}
}
static void act_truth16(const float *x, int form, int terms, uint16_t *q, size_t term, float *d)
{
	float most = 0;
	int e = 0;

	for (int i = 0; i < GPU_BLOCK; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	if (form == GPU_F16) {
		frexp(most, &e);
		e = most > 0 && e - 14 > -126 ? e - 14 : -126;
		*d = (float)ldexp(1, e);
	}
	for (int i = 0; i < GPU_BLOCK; i++) {
		float rest = (float)ldexp(x[i], -e);

		for (int t = 0; t < terms; t++) {
			uint16_t h = form == GPU_F16 ? to_half(rest) : to_bf16(rest);

			q[(size_t)t * term + (size_t)i] = h;
			rest -= form == GPU_F16 ? from_half(h) : from_bf16(h);
		}
	}
}
struct act_buffers {
	struct gpu_act act;
	size_t q_bytes, d, sums;
	int blocks;
};
static struct act_buffers make_act(int form, int terms, int rows, int k)
{
	struct act_buffers b;

	memset(&b, 0, sizeof b);
	b.blocks = (k + GPU_BLOCK - 1) / GPU_BLOCK;
	b.act.form = form, b.act.terms = terms;
	b.act.row_bytes =
		(size_t)b.blocks * GPU_BLOCK * (form == GPU_I8 ? 1 : 2 * (size_t)terms) + 16;
	b.q_bytes = b.act.row_bytes * (size_t)rows;
	b.d = (size_t)(rows * b.blocks), b.sums = b.d * 8;
	b.act.q = take<unsigned char>(b.q_bytes);
	b.act.d = form == GPU_BF16 ? NULL : take<float>(b.d);
	b.act.sum = form == GPU_I8 ? take<int16_t>(b.sums) : NULL;
	return b;
}
/* Block b of row r on the host and on the device */
static void compare_block(const char *name, const struct act_buffers *a, const float *x, int r,
                          int b, const unsigned char *q, const float *d, const int16_t *sum)
{
	const unsigned char *row = q + (size_t)r * a->act.row_bytes;
	unsigned char q8[GPU_BLOCK];
	uint16_t q16[3 * GPU_BLOCK];
	int16_t s8[GPU_BLOCK / 32];
	float d1 = 0;
	int at = r * a->blocks + b;

	if (a->act.form == GPU_I8) {
		act_truth8(x, q8, &d1, s8);
		expect_same(name, row + b * GPU_BLOCK, q8, GPU_BLOCK);
		expect_same(name, sum + at * 8, s8, 8);
	} else {
		act_truth16(x, a->act.form, a->act.terms, q16, GPU_BLOCK, &d1);
		for (int t = 0; t < a->act.terms; t++)
			expect_same(name,
			            (const uint16_t *)(const void *)row +
			                    (t * a->blocks + b) * GPU_BLOCK,
			            q16 + t * GPU_BLOCK, GPU_BLOCK);
	}
	if (a->act.form != GPU_BF16)
		expect_same(name, d + at, &d1, 1);
}
static void check_act(int form, int terms, int rows, int k, const float *x)
{
	struct step s = make_step(rows, rows);
	struct act_buffers a = make_act(form, terms, rows, k);
	struct gpu_op o = op_of(GPU_OP_ACT, 0);
	float block[GPU_BLOCK];
	char name[NAME];

	o.a = give(x, (size_t)(rows * k)), o.a_cols = k, o.act = a.act;
	run_ops(&o, 1, &s.d, 0, rows + 2);
	unsigned char *q = look((unsigned char *)a.act.q, a.q_bytes);
	float *d = a.act.d ? look(a.act.d, a.d) : NULL;
	int16_t *sum = a.act.sum ? look(a.act.sum, a.sums) : NULL;
	snprintf(name, sizeof name, "act form %d terms %d %dx%d", form, terms, rows, k);
	for (int r = 0; r < rows; r++)
		for (int b = 0; b < a.blocks; b++) {
			for (int i = 0; i < GPU_BLOCK; i++)
				block[i] = b * GPU_BLOCK + i < k ? x[r * k + b * GPU_BLOCK + i] : 0;
			compare_block(name, &a, block, r, b, q, d, sum);
		}
	report_bits(name, q, a.q_bytes, true);
}
struct form_case {
	int form, terms;
};
static const struct form_case form_cases[] = { { GPU_I8, 1 },   { GPU_F16, 1 },  { GPU_F16, 2 },
	                                       { GPU_BF16, 1 }, { GPU_BF16, 2 }, { GPU_BF16, 3 } };
static void test_act(void)
{
	for (size_t f = 0; f < sizeof form_cases / sizeof *form_cases; f++)
		EACH_SHAPE(r, n, c, cols)
		{
			float *x = host<float>((size_t)(n * cols));

			for (int i = 0; i < n * cols; i++)
				x[i] = uniform() * ldexpf(1, i / 300 % 3 * 40 - 40);
			check_act(form_cases[f].form, form_cases[f].terms, n, cols, x);
			free_buffers(mark);
		}
}
/* Zeros, ties, the smallest and the largest numbers; a block that is not finite as I8. */
static void test_act_extremes(void)
{
	enum { BLOCKS = 8, K = BLOCKS * GPU_BLOCK };
	static const float scales[BLOCKS] = {
		0, 1e-44f, 1e-37f, 2.3e-36f, 1, 63.5f, 1e30f, 3.4e38f
	};
	float *x = host<float>(K), *y = host<float>(GPU_BLOCK);

	for (int i = 0; i < K; i++)
		x[i] = uniform() * scales[i / GPU_BLOCK];
	for (int i = 0; i < GPU_BLOCK; i++) /* ties: d = 1 exactly */
		x[5 * GPU_BLOCK + i] = i ? (float)(i - 128) + 0.5f : 127.0f;
	for (size_t f = 0; f < sizeof form_cases / sizeof *form_cases; f++)
		check_act(form_cases[f].form, form_cases[f].terms, 1, K, x);
	for (int i = 0; i < GPU_BLOCK; i++)
		y[i] = i == 77 ? INFINITY : 1;
	check_act(GPU_I8, 1, 1, GPU_BLOCK, y);
}
/* NaN and inf have to reach the products. */
static void test_act_odd(void)
{
	struct step s = make_step(1, 1);

	for (int nan = 0; nan < 2; nan++)
		for (size_t f = 0; f < sizeof form_cases / sizeof *form_cases; f++) {
			struct act_buffers a =
				make_act(form_cases[f].form, form_cases[f].terms, 1, GPU_BLOCK);
			struct gpu_op o = op_of(GPU_OP_ACT, 0);
			float *x = host<float>(GPU_BLOCK);

			fill_uniform(x, GPU_BLOCK, 1);
			x[200] = nan ? NAN : INFINITY;
			o.a = give(x, GPU_BLOCK), o.a_cols = GPU_BLOCK, o.act = a.act;
			run_ops(&o, 1, &s.d, 0, 1);
			uint16_t *q = look((uint16_t *)a.act.q, a.q_bytes / 2);
			float *d = a.act.d ? look(a.act.d, 1) : NULL;
			if (a.act.form == GPU_I8)
				expect(nan ? isnan(d[0]) : isinf(d[0]), "d of %g is %g",
				       (double)x[200], (double)d[0]);
			else if (nan)
				expect(a.act.form == GPU_F16 ? isnan(from_half(q[200]))
				                             : isnan(from_bf16(q[200])),
				       "NaN is lost");
			else
				expect(a.act.form == GPU_F16 ? isinf(from_half(q[200]))
				                             : isinf(from_bf16(q[200])),
				       "inf is lost");
			if (a.act.terms > 1)
				expect(q[GPU_BLOCK + 200] == 0, "the rest of %g is %04x",
				       (double)x[200], q[GPU_BLOCK + 200]);
		}
}

/* ---- chains ---- */

enum { VALUES = 7 };
struct chain_values {
	float *v[VALUES];
	struct act_buffers i8, f16;
};
/* Every kind of barrier: operations on owned columns, on heads and on rows, in place and not. */
static int make_ops(struct gpu_op *ops, const struct chain_values *z, const float *gain, int cols)
{
	struct gpu_op o = op_of(GRAPH_ADD, cols);
	int n = 0;

	o.a = o.y = z->v[0], o.b = z->v[1], ops[n++] = o;
	o = op_of(GRAPH_NORM, cols), o.a = z->v[0], o.y = z->v[2], o.w0 = gain, o.w_rows = 1;
	o.node.norm.groups = 1, o.node.norm.eps = 1e-6f, ops[n++] = o;
	o = op_of(GPU_OP_ACT, cols), o.a = z->v[2], o.act = z->i8.act, ops[n++] = o;
	o = op_of(GRAPH_ROPE, cols), o.a = z->v[2], o.y = z->v[3];
	o.node.rope.heads = cols / 64, o.node.rope.dk = o.node.rope.rot = 64,
	o.node.rope.halves = 1, ops[n++] = o;
	o = op_of(GRAPH_NORM, cols), o.a = o.y = z->v[3], o.w0 = gain, o.w_rows = 1;
	o.node.norm.groups = cols / 64, o.node.norm.eps = 1e-6f, ops[n++] = o;
	o = op_of(GRAPH_SILU_MUL, cols), o.a = z->v[3], o.b = z->v[2], o.y = z->v[4], ops[n++] = o;
	o = op_of(GRAPH_GAUSS_TOPK, cols), o.a = o.y = z->v[4], o.node.gauss_topk.mul = -0.5f,
	ops[n++] = o;
	o = op_of(GRAPH_SLICE, 1), o.a = z->v[4], o.a_cols = cols, o.y = z->v[5];
	o.node.slice.pieces = 1, o.node.slice.from = 77, ops[n++] = o;
	o = op_of(GRAPH_SCALE, 1), o.a = o.y = z->v[5], o.node.scale.mul = 0.5f, ops[n++] = o;
	o = op_of(GRAPH_GATE, cols), o.a = o.y = z->v[4], o.b = z->v[5], o.b_cols = 1, ops[n++] = o;
	o = op_of(GPU_OP_ACT, cols), o.a = z->v[4], o.act = z->f16.act, ops[n++] = o;
	o = op_of(GRAPH_ADD, cols), o.a = z->v[0], o.b = z->v[4], o.y = z->v[6], ops[n++] = o;
	return n;
}
static struct chain_values make_values(const float *a, const float *b, int n, int cols)
{
	struct chain_values z;
	size_t all = (size_t)(n * cols);

	z.v[0] = give(a, all), z.v[1] = give(b, all);
	for (int i = 2; i < VALUES; i++)
		z.v[i] = take<float>(all);
	z.i8 = make_act(GPU_I8, 1, n, cols), z.f16 = make_act(GPU_F16, 2, n, cols);
	return z;
}
static void test_chain(void)
{
	int n = small_test() ? 1 : 3, cols = 704;
	size_t all = (size_t)(n * cols);
	struct step s = make_step(n, n);
	struct gpu_op ops[GPU_CHAIN];
	float *a = host<float>(all), *b = host<float>(all), *gain, *cs,
	      *dg = values(&gain, (size_t)cols, 2);

	fill_uniform(a, all, 3), fill_uniform(b, all, 3);
	s.d.cs[0] = values(&cs, (size_t)n * 64, 1);
	struct chain_values x = make_values(a, b, n, cols), y = make_values(a, b, n, cols);
	run_ops(ops, make_ops(ops, &x, dg, cols), &s.d, 0, n);
	for (int i = 0, count = make_ops(ops, &y, dg, cols); i < count; i++)
		run_ops(ops + i, 1, &s.d, 0, n);
	for (int i = 0; i < VALUES; i++) {
		size_t of = i == 5 ? (size_t)n : all;

		expect_same("chain", look(x.v[i], of), look(y.v[i], of), of);
	}
	expect_same("chain i8", look((unsigned char *)x.i8.act.q, x.i8.q_bytes),
	            look((unsigned char *)y.i8.act.q, y.i8.q_bytes), x.i8.q_bytes);
	expect_same("chain d", look(x.i8.act.d, x.i8.d), look(y.i8.act.d, y.i8.d), x.i8.d);
	expect_same("chain sum", look(x.i8.act.sum, x.i8.sums), look(y.i8.act.sum, y.i8.sums),
	            x.i8.sums);
	expect_same("chain f16", look((unsigned char *)x.f16.act.q, x.f16.q_bytes),
	            look((unsigned char *)y.f16.act.q, y.f16.q_bytes), x.f16.q_bytes);
	report_bits("chain", look(x.v[6], all), all, true);
}
/* Columns of a row in several blocks: the bits of one that takes all, which a norm of groups
 * before makes. */
static void test_split(void)
{
	int n = 2, cols = 2600;
	size_t all = (size_t)(n * cols);
	struct step s = make_step(n, n);
	struct gpu_op ops[4];
	float *a, *b, *da = values(&a, all, 3), *db = values(&b, all, 3);
	struct chain_values x = make_values(a, b, n, cols), y = make_values(a, b, n, cols);

	for (int whole = 0; whole < 2; whole++) {
		struct chain_values *z = whole ? &y : &x;
		int k = 0;

		ops[k] = op_of(GRAPH_SILU_MUL, cols), ops[k].a = da, ops[k].b = db,
		ops[k++].y = z->v[0];
		ops[k] = op_of(GRAPH_SCALE, cols), ops[k].a = ops[k].y = z->v[0],
		ops[k++].node.scale.mul = 0.3f;
		ops[k] = op_of(GPU_OP_ACT, cols), ops[k].a = z->v[0], ops[k++].act = z->i8.act;
		if (whole) {
			ops[k] = op_of(GRAPH_SLICE, 1), ops[k].a = z->v[0], ops[k].a_cols = cols,
			ops[k].y = z->v[5];
			ops[k++].node.slice.pieces = 1;
		}
		run_ops(ops, k, &s.d, 0, n);
	}
	expect_same("split", look(x.v[0], all), look(y.v[0], all), all);
	expect_same("split i8", look((unsigned char *)x.i8.act.q, x.i8.q_bytes),
	            look((unsigned char *)y.i8.act.q, y.i8.q_bytes), x.i8.q_bytes);
	expect_same("split sum", look(x.i8.act.sum, x.i8.sums), look(y.i8.act.sum, y.i8.sums),
	            x.i8.sums);
}
static void test_limits(void)
{
	struct gpu_chain c;

	memset(&c, 0, sizeof c);
	c.n = GPU_CHAIN + 1, c.max_rows = 1;
	expect(gpu_chain(&c, stream()) != cudaSuccess, "a chain that is too long is taken");
	c.n = 1, c.ops[0] = op_of(GRAPH_ROUTE, 2), c.ops[0].a_cols = GPU_EXPERTS + 1;
	expect(gpu_chain(&c, stream()) != cudaSuccess, "too many experts are taken");
	c.n = 0;
	expect_run(gpu_chain(&c, stream()));
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_functions);
	RUN(test_functions64);
	RUN(test_act);
	RUN(test_act_extremes);
	RUN(test_act_odd);
	RUN(test_chain);
	RUN(test_split);
	RUN(test_limits);
	return end_tests();
}
