/* test_chain.cpp - row operations (chain.cu) against float64: element-wise ones, norms,
 * rotations; the tables of rotations (angles.cu) against base/fmath. */
#include "chain_test.h"
extern "C" {
#include "base/fmath.h"
}

/* ---- element-wise ---- */

static double gelu_tanh(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
static double gelu_erf(double x) { return 0.5 * x * erfc(-x / M_SQRT2); }

static void test_add(void)
{
	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		size_t all = (size_t)n * (size_t)cols;
		struct gpu_op o = op_of(GRAPH_ADD, cols);
		float *a, *b;
		double *t = host<double>(all);

		o.a = values(&a, all, 3), o.b = values(&b, all, 3);
		for (int mul = 0; mul < 2; mul++) {
			o.node.add.mul = mul ? 0.22f : 0;
			for (size_t i = 0; i < all; i++)
				t[i] = a[i] + (mul ? (double)0.22f : 1) * b[i];
			check_op(mul ? "add mul" : "add", o, &s, 0, t, 1e-6);
		}
		free_buffers(mark);
	}
}
static void test_add_pieces(void)
{
	struct step s = make_step(3, 3);
	int pieces = 4, width = 70, cols = pieces * width;
	struct gpu_op o = op_of(GRAPH_ADD, cols);
	float *a, *b;
	double *t = host<double>((size_t)(3 * cols));

	o.b_cols = width;
	o.a = values(&a, (size_t)(3 * cols), 3), o.b = values(&b, (size_t)(3 * width), 3);
	o.node.add.pieces = pieces, o.node.add.from = 1, o.node.add.mul = 0.5f;
	for (int i = 0; i < 3 * cols; i++)
		t[i] = a[i] + (i % cols < width ? 0 : 0.5 * b[i / cols * width + i % width]);
	check_op("add pieces", o, &s, 0, t, 1e-6);
}

struct act_case {
	const char *name;
	int op, erf, plain;
	double (*f)(double);
};
static double one(double) { return 1; }
static double same(double x) { return x; }
static double silu(double x) { return x * sigmoid(x); }
static void test_activations(void)
{
	static const struct act_case cases[] = {
		{ "silu_mul", GRAPH_SILU_MUL, 0, 0, silu },
		{ "gelu_mul", GRAPH_GELU_MUL, 0, 0, gelu_tanh },
		{ "gelu_mul erf", GRAPH_GELU_MUL, 1, 0, gelu_erf },
		{ "gelu", GRAPH_GELU, 0, 0, gelu_erf },
		{ "gate", GRAPH_GATE, 0, 0, same },
		{ "gate plain", GRAPH_GATE, 0, 1, same },
	};

	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		size_t all = (size_t)n * (size_t)cols;
		float *a, *b, *da = values(&a, all, 5), *db = values(&b, all, 5);
		double *t = host<double>(all);

		for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
			const struct act_case *z = &cases[k];
			struct gpu_op o = op_of(z->op, cols);

			o.a = da, o.b = z->op == GRAPH_GELU ? NULL : db;
			if (z->op == GRAPH_GELU_MUL)
				o.node.gelu_mul.erf = z->erf;
			if (z->op == GRAPH_GATE)
				o.node.gate.no_sigmoid = z->plain;
			for (size_t i = 0; i < all; i++)
				t[i] = z->f(a[i]) * (z->op == GRAPH_GELU ? one(0)
				                     : z->op == GRAPH_GATE && !z->plain
				                             ? sigmoid(b[i])
				                             : (double)b[i]);
			check_op(z->name, o, &s, 0, t, 1e-6);
		}
		free_buffers(mark);
	}
}
static void test_gate_one(void)
{
	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		size_t all = (size_t)n * (size_t)cols;
		struct gpu_op o = op_of(GRAPH_GATE, cols);
		float *a, *b;
		double *t = host<double>(all);

		o.b_cols = 1;
		o.a = values(&a, all, 3), o.b = values(&b, (size_t)n, 3);
		for (int plain = 0; plain < 2; plain++) {
			o.node.gate.no_sigmoid = plain;
			for (size_t i = 0; i < all; i++) {
				double by = b[i / (size_t)cols];

				t[i] = a[i] * (plain ? by : sigmoid(by));
			}
			check_op(plain ? "gate one plain" : "gate one", o, &s, 0, t, 1e-6);
		}
		free_buffers(mark);
	}
}
static void test_scale(void)
{
	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		size_t all = (size_t)n * (size_t)cols;
		float *a, *w, *da = values(&a, all, 3), *dw = values(&w, (size_t)cols, 2);
		double *t = host<double>(all);
		struct gpu_op o = op_of(GRAPH_SCALE, cols);

		o.a = da, o.node.scale.mul = 0.7f;
		for (int kind = 0; kind < 3; kind++) {
			o.w0 = kind ? dw : NULL;
			o.w_rows = kind == 2 ? cols : kind;
			for (size_t i = 0; i < all; i++)
				t[i] = (double)a[i] * 0.7f *
				       (kind == 2 ? w[i % (size_t)cols]
				        : kind    ? w[0]
				                  : 1);
			check_op(kind == 2 ? "scale vector"
			         : kind    ? "scale w"
			                   : "scale",
			         o, &s, 0, t, 1e-6);
		}
		o = op_of(GRAPH_ATTN_TEMP, cols);
		o.a = da, o.node.attn_temp.length = 64, o.node.attn_temp.from = 1,
		o.node.attn_temp.beta = 0.1f;
		for (size_t i = 0; i < all; i++)
			t[i] = a[i] *
			       (1 + (double)0.1f *
			                    log(1 + floor((s.pos[i / (size_t)cols] + 1) / 64.0)));
		check_op("temper", o, &s, 0, t, 1e-6);
		o = op_of(GRAPH_GET_ROWS, cols);
		o.a = da;
		for (int i = 0; i < s.n_out * cols; i++)
			t[i] = a[s.out[i / cols] * cols + i % cols];
		check_op("pick", o, &s, 1, t, 0);
		free_buffers(mark);
	}
}

/* ---- norms ---- */

static void norm_truth(double *y, const float *x, const float *g, const float *b, int n, double eps,
                       int centred)
{
	double mean = 0, sum = 0;

	for (int i = 0; i < n && centred; i++)
		mean += x[i] / (double)n;
	for (int i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	for (int i = 0; i < n; i++)
		y[i] = (x[i] - mean) / sqrt(sum / n + eps) * (g ? g[i] : 1) + (g && b ? b[i] : 0);
}
static void test_norm(void)
{
	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		size_t all = (size_t)n * (size_t)cols;
		float *a, *g, *b, *da = values(&a, all, 3), *dg = values(&g, (size_t)cols, 2),
				  *db = values(&b, (size_t)cols, 2);
		double *t = host<double>(all);

		for (int kind = 0; kind < 5;
		     kind++) { /* rms, rms gain, centred, with gain, with gain and bias */
			struct gpu_op o = op_of(GRAPH_NORM, cols);
			static const char *const names[] = { "rms", "rms gain", "layer",
				                             "layer gain", "layer bias" };

			o.a = da, o.w0 = kind % 2 || kind == 4 ? dg : NULL,
			o.w1 = kind == 4 ? db : NULL;
			o.w_rows = 1, o.node.norm.groups = 1, o.node.norm.eps = 1e-5f,
			o.node.norm.centred = kind > 1;
			for (int i = 0; i < n; i++)
				norm_truth(t + (size_t)i * (size_t)cols,
				           a + (size_t)i * (size_t)cols, o.w0 ? g : NULL,
				           o.w1 ? b : NULL, cols, (double)1e-5f, kind > 1);
			check_op(names[kind], o, &s, 0, t, 2e-6);
		}
		free_buffers(mark);
	}
}
/* Groups by warps: the bits of each group as a row of its own. */
static void check_norm_groups(int n, int groups, int width, int centred, int own)
{
	struct step s = make_step(n, n);
	int cols = groups * width;
	size_t all = (size_t)n * (size_t)cols;
	float *a, *g, *b, *y;
	double *t = host<double>(all);
	struct gpu_op o = op_of(GRAPH_NORM, cols), p = op_of(GRAPH_NORM, width);

	o.a = values(&a, all, 3), o.w0 = values(&g, (size_t)cols, 2),
	o.w1 = values(&b, (size_t)width, 2);
	o.w_rows = own ? groups : 1, o.node.norm.groups = groups, o.node.norm.eps = 1e-6f,
	o.node.norm.centred = centred;
	for (int i = 0; i < n * groups; i++)
		norm_truth(t + (size_t)i * (size_t)width, a + (size_t)i * (size_t)width,
		           g + (own && !centred ? i % groups * width : 0), centred ? b : NULL,
		           width, (double)1e-6f, centred);
	y = check_op("norm groups", o, &s, 0, t, 2e-6);
	if (own)
		return;
	float *one_y = take<float>((size_t)width), *h = host<float>((size_t)width);
	p.node.norm = o.node.norm, p.node.norm.groups = 1, p.w0 = o.w0, p.w1 = o.w1, p.w_rows = 1,
	p.y = one_y;
	for (int i = 0; i < n * groups; i++) {
		p.a = o.a + (size_t)i * (size_t)width;
		run_ops(&p, 1, &s.one, 0, 1);
		fetch(h, one_y, (size_t)width);
		expect_same("norm group alone", h, y + (size_t)i * (size_t)width, (size_t)width);
	}
}
static void test_norm_groups(void)
{
	check_norm_groups(2, 3, 20, 0, 1);
	check_norm_groups(1, 12, 128, 0, 0);
	if (small_test())
		return;
	check_norm_groups(2, 9, 300, 0, 0);
	check_norm_groups(2, 9, 300, 1, 0);
	check_norm_groups(3, 2, 257, 0, 1);
	check_norm_groups(1, 8, 64, 1, 1);
}
static void test_norm_first(void)
{
	struct step s = make_step(2, 2);
	int cols = 576, first = 512;
	size_t all = (size_t)(2 * cols);
	float *a, *g;
	double *t = host<double>(all);
	struct gpu_op o = op_of(GRAPH_NORM, cols);

	o.a = values(&a, all, 3), o.w0 = values(&g, (size_t)first, 2);
	o.w_rows = 1, o.node.norm.groups = 1, o.node.norm.first = first, o.node.norm.eps = 1e-6f;
	for (size_t i = 0; i < all; i++)
		t[i] = a[i];
	for (int i = 0; i < 2; i++)
		norm_truth(t + i * cols, a + i * cols, g, NULL, first, (double)1e-6f, 0);
	check_op("norm first", o, &s, 0, t, 2e-6);
}

/* ---- rotations ---- */

static void check_rope(int n, int heads, int dk, int from, int rot, int halves)
{
	struct step s = make_step(n, n);
	int cols = heads * dk, half = rot / 2;
	size_t all = (size_t)n * (size_t)cols;
	float *a, *cs;
	double *t = host<double>(all);
	struct gpu_op o = op_of(GRAPH_ROPE, cols);

	o.a = values(&a, all, 3);
	s.d.cs[1] = s.one.cs[1] = values(&cs, (size_t)n * (size_t)rot, 1);
	o.node.rope.heads = heads, o.node.rope.dk = dk, o.node.rope.from = from,
	o.node.rope.rot = rot;
	o.node.rope.halves = halves, o.node.rope.table = 1;
	for (int i = 0; i < (int)all; i++) {
		int d = i % dk - from, pair = halves ? d % half : d / 2,
		    second = halves ? d >= half : d % 2;
		double c, sn;

		t[i] = a[i];
		if (d < 0 || d >= rot)
			continue;
		c = cs[i / cols * rot + 2 * pair], sn = cs[i / cols * rot + 2 * pair + 1];
		t[i] = second ? a[i] * c + a[i - (halves ? half : 1)] * sn
		              : a[i] * c - a[i + (halves ? half : 1)] * sn;
	}
	check_op(halves ? "rope halves" : "rope", o, &s, 0, t, 1e-6);
}
static void test_rope(void)
{
	check_rope(2, 3, 20, 4, 12, 1);
	check_rope(2, 3, 20, 4, 12, 0);
	if (small_test())
		return;
	check_rope(1, 32, 128, 0, 128, 1);
	check_rope(9, 5, 64, 0, 64, 0);
	check_rope(2, 1, 576, 512, 64, 0);
}
static void test_angles(void)
{
	struct step s = make_step(9, 9);
	struct gpu_angles a;
	double *freq[2];
	float *cs[2];

	memset(&a, 0, sizeof a);
	a.n_ropes = 2, a.max_rows = 12;
	a.half[0] = 64, a.half[1] = 70;
	for (int t = 0; t < 2; t++) {
		freq[t] = host<double>((size_t)a.half[t]);
		for (int i = 0; i < a.half[t]; i++)
			freq[t][i] = pow(1e4 * (1 + t), -i / (double)a.half[t]);
		a.freq[t] = give(freq[t], (size_t)a.half[t]);
		a.mscale[t] = t ? 1.3 : 1;
		s.d.cs[t] = take<float>(9 * 2 * (size_t)a.half[t]);
	}
	a.rows = s.d;
	expect_run(gpu_angles(&a, stream()));
	for (int t = 0; t < 2; t++) {
		float *want = host<float>(9 * 2 * (size_t)a.half[t]);

		cs[t] = look(s.d.cs[t], 9 * 2 * (size_t)a.half[t]);
		for (int i = 0; i < 9 * a.half[t]; i++) {
			double angle = s.pos[i / a.half[t]] * freq[t][i % a.half[t]];

			want[2 * i] = (float)(fm_cos(angle) * a.mscale[t]);
			want[2 * i + 1] = (float)(fm_sin(angle) * a.mscale[t]);
		}
		expect_same("angles", cs[t], want, 9 * 2 * (size_t)a.half[t]);
	}
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_add);
	RUN(test_add_pieces);
	RUN(test_activations);
	RUN(test_gate_one);
	RUN(test_scale);
	RUN(test_norm);
	RUN(test_norm_groups);
	RUN(test_norm_first);
	RUN(test_rope);
	RUN(test_angles);
	return end_tests();
}
