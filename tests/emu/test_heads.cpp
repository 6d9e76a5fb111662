/* test_heads.cpp - products by heads: gpu_heads, then mv or mm of a type, against float64 from the
 * values that the product reads.  A row has the same bits in steps of any number of rows and under
 * larger launch bounds; the columns that are left are copied. */
#include "gpu_test.h"
#include "backend/cuda/launch.h"

enum { MOST_ROWS = 70, Q8_BLOCK = 32, Q8_BYTES = 34 };

struct shape {
	int type, heads, in, k, n; /* columns of a head, of the product's x and y */
};
struct work {
	struct shape s;
	const struct gpu_type *type;
	int out;
	unsigned char *tiles; /* device */
	size_t matrix_bytes;
	float *w; /* host [heads][n][k] */
	float *x; /* host [MOST_ROWS][heads][in] */
};

static size_t row_bytes(const struct shape *s)
{
	return s->type == INFER_F32    ? (size_t)s->k * sizeof(float)
	       : s->type == INFER_Q8_0 ? (size_t)(s->k / Q8_BLOCK * Q8_BYTES)
	                               : (size_t)s->k * sizeof(uint16_t);
}

/* One row of weights in the file's layout, and its values. */
static void make_row(const struct shape *s, unsigned char *raw, float *w)
{
	float d = 0;

	for (int i = 0; i < s->k; i++) {
		float v = uniform();
		uint16_t h = s->type == INFER_BF16 ? to_bf16(v) : to_half(v);
		unsigned char *block = raw + i / Q8_BLOCK * Q8_BYTES;

		w[i] = s->type == INFER_BF16 ? from_bf16(h) : from_half(h);
		if (s->type == INFER_F32) {
			w[i] = v;
			memcpy(raw + (size_t)i * 4, &v, 4);
		} else if (s->type != INFER_Q8_0) {
			memcpy(raw + (size_t)i * 2, &h, 2);
		} else {
			int8_t q = (int8_t)(random_below(255) - 127);

			if (i % Q8_BLOCK == 0) {
				h = to_half((uniform() + 1.5f) / 128);
				memcpy(block, &h, 2);
				d = from_half(h);
			}
			memcpy(block + 2 + i % Q8_BLOCK, &q, 1);
			w[i] = d * (float)q;
		}
	}
}

static struct work make_work(struct shape s)
{
	struct work t = { s, gpu_type_find(s.type), s.n + s.in - s.k, NULL, 0, NULL, NULL };
	size_t bytes = row_bytes(&s) * (size_t)s.n;
	unsigned char *raw = host<unsigned char>(bytes);

	t.matrix_bytes =
		(size_t)((s.n + GPU_GROUP - 1) / GPU_GROUP * gpu_blocks(s.k)) * t.type->tile_bytes;
	t.tiles = take<unsigned char>(t.matrix_bytes * (size_t)s.heads);
	t.w = host<float>((size_t)(s.heads * s.n * s.k));
	for (int h = 0; h < s.heads; h++) {
		for (int i = 0; i < s.n; i++)
			make_row(&s, raw + (size_t)i * row_bytes(&s), t.w + (h * s.n + i) * s.k);
		expect_run(t.type->pack(t.tiles + (size_t)h * t.matrix_bytes, give(raw, bytes),
		                        row_bytes(&s), s.n, s.k, stream()));
	}
	t.x = host<float>((size_t)(MOST_ROWS * s.heads * s.in));
	fill_uniform(t.x, (size_t)(MOST_ROWS * s.heads * s.in), 1);
	return t;
}

/* Activations of `rows` rows of the heads. */
static struct gpu_act make_act(const struct work *t, float *x, int rows)
{
	size_t n = (size_t)(rows * t->s.heads), blocks = (size_t)gpu_blocks(t->s.k),
	       k = blocks * GPU_BLOCK;
	struct gpu_act a;

	memset(&a, 0, sizeof a);
	a.form = t->type->form;
	a.terms = a.form == GPU_F16 ? 2 : a.form == GPU_BF16 ? 3 : 1;
	a.row_bytes = a.form == GPU_I8 ? k : (size_t)a.terms * k * sizeof(uint16_t);
	if (a.form == GPU_F32) {
		a.q = x;
		a.row_bytes = (size_t)t->s.in * sizeof(float);
		return a;
	}
	a.q = take<unsigned char>(n * a.row_bytes);
	a.d = a.form == GPU_BF16 ? NULL : take<float>(n * blocks);
	a.sum = a.form == GPU_I8 ? take<int16_t>(n * blocks * 8) : NULL;
	return a;
}

static void run_product(const struct work *t, const struct gpu_heads *h, float *y, int bound)
{
	struct gpu_mm m;

	memset(&m, 0, sizeof m);
	m.n_jobs = 1;
	m.jobs[0].w = t->tiles;
	m.jobs[0].matrix_bytes = t->matrix_bytes;
	m.jobs[0].y = y;
	m.jobs[0].ldy = t->out;
	m.jobs[0].n = t->s.n;
	m.jobs[0].mul = 0.5f;
	m.k = t->s.k;
	m.x = h->act;
	m.rows = h->rows;
	m.max_rows = bound;
	m.e.first = h->first;
	m.e.pair = h->pair;
	m.e.active = h->active;
	m.e.n_active = h->n_active;
	m.e.used = m.e.experts = t->s.heads;
	m.e.by_pair = 1;
	expect_run((bound <= GPU_MV_ROWS ? t->type->mv : t->type->mm)(&m, stream()));
}

/* y of rows [from, from + n), with launches for up to `bound` rows. */
static float *run_heads(const struct work *t, int from, int n, int bound)
{
	const struct shape *s = &t->s;
	size_t heads = (size_t)s->heads;
	struct gpu_heads h;
	float *x = give(t->x + from * s->heads * s->in, (size_t)n * heads * (size_t)s->in);
	float *y = take<float>((size_t)n * heads * (size_t)t->out);

	memset(&h, 0, sizeof h);
	h.x = x;
	h.y = y;
	h.rows = give(&n, 1);
	h.max_rows = bound;
	h.heads = s->heads;
	h.in = s->in;
	h.out = t->out;
	h.k = s->k;
	h.act = make_act(t, x, n);
	h.first = take<int32_t>(heads + 1);
	h.pair = take<int32_t>((size_t)n * heads);
	h.active = take<int32_t>(heads);
	h.n_active = take<int32_t>(1);
	expect_run(gpu_heads(&h, stream()));
	run_product(t, &h, y, bound);
	return look(y, (size_t)n * heads * (size_t)t->out);
}

/* A block of n elements of x as an int8 product reads it. */
static void round_block(double *to, const float *x, int n)
{
	float most = 0, d;

	for (int i = 0; i < n; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	d = most / 127;
	for (int i = 0; i < n; i++)
		to[i] = d > 0 ? (double)d * (double)rintf(x[i] * (1 / d)) : 0;
}

static void head_truth(const struct work *t, const float *x, int head, double *y)
{
	const struct shape *s = &t->s;
	double *seen = (double *)malloc((size_t)s->k * sizeof *seen);

	for (int i = 0; i < s->k; i++)
		seen[i] = (double)x[i];
	for (int i = 0; i < s->k && t->type->form == GPU_I8; i += GPU_BLOCK)
		round_block(seen + i, x + i, s->k - i < GPU_BLOCK ? s->k - i : GPU_BLOCK);
	for (int r = 0; r < s->n; r++) {
		y[r] = 0;
		for (int i = 0; i < s->k; i++)
			y[r] += 0.5 * seen[i] * (double)t->w[(head * s->n + r) * s->k + i];
	}
	free(seen);
}

static void check_truth(const struct work *t, const char *name, const float *y, int rows)
{
	const struct shape *s = &t->s;
	size_t n = (size_t)(rows * s->heads * s->n);
	double *truth = host<double>(n);
	float *made = host<float>(n);

	for (int p = 0; p < rows * s->heads; p++) {
		head_truth(t, t->x + p * s->in, p % s->heads, truth + p * s->n);
		memcpy(made + p * s->n, y + p * t->out, (size_t)s->n * sizeof *made);
		expect_same("columns that are left", y + p * t->out + s->n, t->x + p * s->in + s->k,
		            (size_t)(s->in - s->k));
	}
	expect_close(name, made, truth, n, 1e-5);
}

static void check_shape(struct shape s)
{
	static const struct {
		int from, n, bound;
	} parts[] = { { 0, 1, 1 },  { 69, 1, 64 }, { 3, 2, 2 },   { 5, 8, 8 },
		      { 7, 9, 16 }, { 2, 64, 64 }, { 4, 65, 65 }, { 9, 20, 100 } };
	struct work t = make_work(s);
	int row = s.heads * t.out;
	const float *all = run_heads(&t, 0, MOST_ROWS, MOST_ROWS);
	char name[64];

	snprintf(name, sizeof name, "heads-%d-%dx%d-%dx%d", s.type, s.heads, s.in, s.k, s.n);
	check_truth(&t, name, all, MOST_ROWS);
	report_bits(name, all, (size_t)(MOST_ROWS * row),
	            s.type == INFER_F32 || s.type == INFER_Q8_0);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		int mark = mark_buffers();

		expect_same(name, run_heads(&t, parts[i].from, parts[i].n, parts[i].bound),
		            all + parts[i].from * row, (size_t)(parts[i].n * row));
		free_buffers(mark);
		if (small_test())
			break;
	}
}

static void test_f32(void)
{
	check_shape({ INFER_F32, 3, 56, 48, 20 });
	if (small_test())
		return;
	check_shape({ INFER_F32, 2, 261, 259, 33 });
	check_shape({ INFER_F32, 5, 16, 16, 16 });
}

static void test_q8_0(void)
{
	check_shape({ INFER_Q8_0, 3, 69, 64, 20 });
	if (small_test())
		return;
	check_shape({ INFER_Q8_0, 2, 352, 288, 40 });
	check_shape({ INFER_Q8_0, 9, 256, 256, 17 });
}

static void test_f16(void)
{
	check_shape({ INFER_F16, 2, 55, 50, 24 });
	if (small_test())
		return;
	check_shape({ INFER_F16, 3, 310, 300, 30 });
}

static void test_bf16(void)
{
	check_shape({ INFER_BF16, 2, 200, 192, 24 });
	if (small_test())
		return;
	check_shape({ INFER_BF16, 3, 257, 257, 16 });
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_f32);
	RUN(test_q8_0);
	RUN(test_f16);
	RUN(test_bf16);
	return end_tests();
}
