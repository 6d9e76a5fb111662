/* test_mm.cpp - products with many rows of x (mm_tmpl.cu) and with F32 weights (f32.cu): against
 * float64, against products with few rows (mv) to the last bit, every tail, experts, several jobs.
 *
 * Weights are what the CPU's decoder makes of the encoder's bytes.  Rows of x are made here by the
 * definition of struct gpu_act. */
#include "gpu_test.h"
#include "backend/cuda/launch.h"
extern "C" {
#include "type/type.h"
}

enum { FEW = GPU_MV_ROWS, MOST = 130, SPARE = 3 /* floats after a row of y, not to be written */ };
enum path { MV, MM };
static const double bound_int8 = 2e-6, bound_floats = 1.5e-5 /* mma may cut terms */;

static int least(int a, int b) { return a < b ? a : b; }

/* ---- operands ---- */

struct weights {
	const struct gpu_type *type;
	int n, k, matrices;
	float *values; /* [matrices][n][k] */
	void *tiles;   /* device */
	size_t matrix_bytes;
};
static struct weights make_weights(const struct gpu_type *type, int n, int k, int matrices)
{
	const struct type *host_type = type_get(type->type);
	size_t row_bytes = type_row_bytes(type->type, k),
	       count = (size_t)n * (size_t)k * (size_t)matrices;
	unsigned char *raw = host<unsigned char>(row_bytes * (size_t)n * (size_t)matrices),
		      *raw_device;
	struct weights w = { type, n, k, matrices, host<float>(count), NULL, 0 };

	fill_uniform(w.values, count, 1);
	host_type->encode(raw, w.values, NULL, count / (size_t)host_type->info.block, ENCODE_PLAIN);
	host_type->decode(w.values, raw, count / (size_t)host_type->info.block);
	raw_device = give(raw, row_bytes * (size_t)n * (size_t)matrices);
	w.matrix_bytes = (size_t)((n + GPU_GROUP - 1) / GPU_GROUP) * (size_t)gpu_blocks(k) *
	                 type->tile_bytes;
	w.tiles = take<unsigned char>(w.matrix_bytes * (size_t)matrices);
	for (int i = 0; i < matrices; i++)
		expect_run(type->pack((unsigned char *)w.tiles + (size_t)i * w.matrix_bytes,
		                      raw_device + (size_t)i * (size_t)n * row_bytes, row_bytes, n,
		                      k, stream()));
	return w;
}

struct rows {
	int n, k;
	double *values; /* [n][k] what the form stands for */
	struct gpu_act act;
};
/* Round block b of a row: int8 in the order of mma.m16n8k32, scale, sums of 32. */
static void round_int8(int8_t *q, float *d, int16_t *sums, double *values, const float *x, int n)
{
	float most = 0;

	for (int i = 0; i < n; i++)
		most = fmaxf(most, fabsf(x[i]));
	*d = most / 127;
	for (int i = 0; i < GPU_BLOCK; i++) {
		int v = i < n && most > 0 ? (int)rintf(x[i] * (1 / *d)) : 0, j = i % 64;

		q[i / 64 * 64 + j % 16 / 4 * 16 + j / 32 * 8 + j % 32 / 16 * 4 + j % 4] = (int8_t)v;
		sums[i / 32] = (int16_t)((i % 32 ? sums[i / 32] : 0) + v);
		if (i < n)
			values[i] = (double)*d * v;
	}
}
/* Round block b of a row to terms of f16 or bf16; stride: from one term to the next. */
static void round_floats(uint16_t *q, size_t stride, int terms, bool half, float *d, double *values,
                         const float *x, int n)
{
	float most = 0;

	for (int i = 0; i < n; i++)
		most = fmaxf(most, fabsf(x[i]));
	*d = half && most > 0 ? ldexpf(1, ilogbf(most) - 13) : 1;
	for (int i = 0; i < GPU_BLOCK; i++) {
		float rest = i < n ? x[i] / *d : 0;

		if (i < n)
			values[i] = 0;
		for (int term = 0; term < terms; term++) {
			uint16_t h = half ? to_half(rest) : to_bf16(rest);
			float v = half ? from_half(h) : from_bf16(h);

			q[(size_t)term * stride + (size_t)i] = h;
			rest -= v;
			if (i < n)
				values[i] += (double)v * *d;
		}
	}
}
static struct rows make_rows(int form, int terms, int n, int k)
{
	size_t blocks = (size_t)gpu_blocks(k), padded = blocks * GPU_BLOCK,
	       term = form == GPU_I8 ? 1 : 2;
	size_t row_bytes = form == GPU_F32 ? (size_t)k * 4 : (size_t)terms * padded * term;
	struct rows r = { n, k, host<double>((size_t)n * (size_t)k), {} };
	float *x = host<float>((size_t)n * (size_t)k), *d = host<float>((size_t)n * blocks);
	int16_t *sums = host<int16_t>((size_t)n * blocks * 8);
	unsigned char *q = host<unsigned char>((size_t)n * row_bytes);

	fill_uniform(x, (size_t)n * (size_t)k, 3);
	for (size_t i = 0; i < (size_t)n; i++) {
		for (size_t b = 0; b < blocks && form != GPU_F32; b++) {
			size_t at = i * (size_t)k + b * GPU_BLOCK;
			int left = least(GPU_BLOCK, k - (int)b * GPU_BLOCK);

			if (form == GPU_I8)
				round_int8((int8_t *)q + i * row_bytes + b * GPU_BLOCK,
				           &d[i * blocks + b], sums + (i * blocks + b) * 8,
				           r.values + at, x + at, left);
			else
				round_floats((uint16_t *)(q + i * row_bytes) + b * GPU_BLOCK,
				             padded, terms, form == GPU_F16, &d[i * blocks + b],
				             r.values + at, x + at, left);
		}
		for (size_t j = 0; form == GPU_F32 && j < (size_t)k; j++)
			r.values[i * (size_t)k + j] = (double)x[i * (size_t)k + j];
	}
	if (form == GPU_F32)
		memcpy(q, x, (size_t)n * row_bytes);
	r.act.q = give(q, (size_t)n * row_bytes);
	r.act.row_bytes = row_bytes;
	r.act.d = form == GPU_I8 || form == GPU_F16 ? give(d, (size_t)n * blocks) : NULL;
	r.act.sum = form == GPU_I8 ? give(sums, (size_t)n * blocks * 8) : NULL;
	r.act.form = form;
	r.act.terms = terms;
	return r;
}
/* Rows from `row` on. */
static struct gpu_act act_from(const struct rows *r, int row)
{
	struct gpu_act a = r->act;
	size_t blocks = (size_t)gpu_blocks(r->k);

	a.q = (unsigned char *)a.q + (size_t)row * a.row_bytes;
	a.d = a.d ? a.d + (size_t)row * blocks : NULL;
	a.sum = a.sum ? a.sum + (size_t)row * blocks * 8 : NULL;
	return a;
}

/* ---- products ---- */

static double *true_product(const struct weights *w, int matrix, const struct rows *x,
                            const int *of_row, int rows)
{
	double *y = host<double>((size_t)rows * (size_t)w->n);

	for (int r = 0; r < rows; r++)
		for (int i = 0; i < w->n; i++) {
			const float *a = w->values +
			                 ((size_t)matrix * (size_t)w->n + (size_t)i) * (size_t)w->k;
			const double *b =
				x->values + (size_t)(of_row ? of_row[r] : r) * (size_t)w->k;
			double s = 0;

			for (int j = 0; j < w->k; j++)
				s += (double)a[j] * b[j];
			y[(size_t)r * (size_t)w->n + (size_t)i] = s;
		}
	return y;
}
static struct gpu_job plain_job(const struct weights *w)
{
	struct gpu_job j = {};

	j.w = w->tiles;
	j.matrix_bytes = w->matrix_bytes;
	j.n = w->n;
	j.mul = 1;
	return j;
}
static void launch(const struct gpu_type *t, enum path path, const struct gpu_mm *m)
{
	expect_run((path == MM ? t->mm : t->mv)(m, stream()));
}
/* Run m with `y_rows` rows of y for each job, and write them to y[job], [y_rows][n].  Fails if
 * other elements of y were written. */
static void run_jobs(const struct gpu_type *t, enum path path, struct gpu_mm *m, int rows,
                     int y_rows, float **y)
{
	float *device[GPU_JOBS];
	int32_t count = rows;

	m->rows = give(&count, 1);
	for (int j = 0; j < m->n_jobs; j++) {
		m->jobs[j].ldy = m->jobs[j].n + SPARE;
		m->jobs[j].y = device[j] =
			take<float>((size_t)(y_rows + 1) * (size_t)m->jobs[j].ldy);
	}
	launch(t, path, m);
	for (int j = 0; j < m->n_jobs; j++) {
		size_t n = (size_t)m->jobs[j].n, ldy = n + SPARE;
		float *all = look(device[j], (size_t)(y_rows + 1) * ldy);

		y[j] = host<float>((size_t)y_rows * n);
		for (size_t i = 0; i < (size_t)(y_rows + 1) * ldy; i++) {
			uint32_t bits;

			memcpy(&bits, &all[i], 4);
			if (i % ldy < n && i / ldy < (size_t)y_rows)
				y[j][i / ldy * n + i % ldy] = all[i];
			else
				expect(bits == ~0u, "element %zu of row %zu of y was written",
				       i % ldy, i / ldy);
		}
	}
}
static float *run_rows(enum path path, const struct weights *w, const struct gpu_act *x, int rows,
                       int max_rows)
{
	struct gpu_mm m = {};
	float *y[GPU_JOBS];

	m.jobs[0] = plain_job(w);
	m.n_jobs = 1;
	m.k = w->k;
	m.x = *x;
	m.max_rows = max_rows;
	run_jobs(w->type, path, &m, rows, rows, y);
	return y[0];
}

/* ---- cases ---- */

static const char *name_of(const struct gpu_type *t) { return type_get(t->type)->info.name; }
static int most_terms(const struct gpu_type *t)
{
	return t->form == GPU_F16 ? 2 : t->form == GPU_BF16 ? 3 : 1;
}
static double bound_of(const struct gpu_type *t)
{
	return t->form == GPU_F16 || t->form == GPU_BF16 ? bound_floats : bound_int8;
}
static bool chip_bits(const struct gpu_type *t)
{
	return t->form == GPU_F16 || t->form == GPU_BF16;
}

/* Call test for each type, with each number of terms. */
static void each_type(void (*test)(const struct gpu_type *t, int terms))
{
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		const struct gpu_type *t = gpu_type_find(type);
		int mark = mark_buffers();

		if (t)
			test(t, most_terms(t));
		if (t && most_terms(t) > 1)
			test(t, 1);
		free_buffers(mark);
	}
}
/* Types whose kernels differ in more than how codes are unpacked: they run all shapes. */
static bool is_leader(const struct gpu_type *t)
{
	return t->type == INFER_F32 || t->type == INFER_F16 || t->type == INFER_Q8_0 ||
	       t->type == INFER_Q4_K;
}

/* Shapes with tails: mm against float64, and its rows against mv and mm with other counts. */
static void check_shape(const struct gpu_type *t, int terms, int n, int k, int rows)
{
	int mark = mark_buffers();
	char name[64];
	size_t row = (size_t)n;

	if (k % type_get(t->type)->info.block)
		return;
	snprintf(name, sizeof name, "%s terms %d n %d k %d rows %d", name_of(t), terms, n, k, rows);
	struct weights w = make_weights(t, n, k, 1);
	struct rows x = make_rows(t->form, terms, rows, k);
	float *y = run_rows(MM, &w, &x.act, rows, rows);

	expect_close(name, y, true_product(&w, 0, &x, NULL, rows), row * (size_t)rows, bound_of(t));
	for (int from = 0; from < rows; from += FEW) {
		struct gpu_act part = act_from(&x, from);
		int few = least(FEW, rows - from);

		expect_same(name, y + (size_t)from * row, run_rows(MV, &w, &part, few, few),
		            row * (size_t)few);
	}
	if (rows == MOST || small_test())
		report_bits(name, y, row * (size_t)rows, !chip_bits(t));
	free_buffers(mark);
}
static void check_tails(const struct gpu_type *t, int terms)
{
	static const int n[] = { 1, 7, 16, 17, 127, 130 }, rows[] = { 1, 2, 8, 9, 64, 65, 130 },
			 k[] = { 32, 45, 64, 96, 256, 288, 320, 2816, 2880 };
	int n_k = (int)(sizeof k / sizeof *k), n_n = (int)(sizeof n / sizeof *n),
	    n_rows = (int)(sizeof rows / sizeof *rows);

	if (small_test()) {
		check_shape(t, terms, 17, 256, 9);
		return;
	}
	for (int i = 0; i < n_n; i++)
		for (int j = 0; j < n_rows; j++)
			if ((is_leader(t) && terms == most_terms(t)) ||
			    (n[i] == 127 && rows[j] == MOST))
				check_shape(t, terms, n[i], 256, rows[j]);
	for (int i = 0; i < n_k; i++)
		check_shape(t, terms, 17, k[i], 9);
	check_shape(t, terms, 130, 768, 9);
}
static void test_tails(void) { each_type(check_tails); }

/* A row has the same bits for any number of rows, also below the bound of the launch. */
static void check_counts(const struct gpu_type *t, int terms)
{
	static const int rows[] = { 1, 2, 8, 9, 64, 65, 129, 130 };
	int n = small_test() ? 16 : 33, k = 512;
	struct weights w = make_weights(t, n, k, 1);
	struct rows x = make_rows(t->form, terms, MOST, k);
	float *all = run_rows(MM, &w, &x.act, MOST, MOST);

	for (int i = 0; i < (small_test() ? 1 : 8); i++) {
		struct gpu_act last = act_from(&x, MOST - rows[i]);

		expect_same("first rows", all, run_rows(MM, &w, &x.act, rows[i], MOST),
		            (size_t)(n * rows[i]));
		expect_same("last rows", all + (MOST - rows[i]) * n,
		            run_rows(MM, &w, &last, rows[i], rows[i]), (size_t)(n * rows[i]));
		if (rows[i] <= FEW)
			expect_same("few rows", all, run_rows(MV, &w, &x.act, rows[i], FEW),
			            (size_t)(n * rows[i]));
	}
}
static void test_counts(void) { each_type(check_counts); }

/* Several jobs on the same x, with multipliers, biases and caps. */
static void check_jobs(const struct gpu_type *t, int terms)
{
	static const int n[GPU_JOBS] = { 130, 5, 48, 256 };
	static const float mul[GPU_JOBS] = { 1, 0.375f, -2, 1 }, cap[GPU_JOBS] = { 0, 0, 30, 5 };
	int k = 256, rows = small_test() ? 3 : 67;
	struct rows x = make_rows(t->form, terms, rows, k);
	struct gpu_mm m = {};
	float *y[GPU_JOBS], *few[GPU_JOBS];
	double *truth[GPU_JOBS];

	m.n_jobs = small_test() ? 2 : GPU_JOBS;
	m.k = k;
	m.x = x.act;
	m.max_rows = rows;
	for (int j = 0; j < m.n_jobs; j++) {
		struct weights w = make_weights(t, n[j], k, 1);
		float *bias = host<float>((size_t)n[j]);

		fill_uniform(bias, (size_t)n[j], 4);
		truth[j] = true_product(&w, 0, &x, NULL, rows);
		m.jobs[j] = plain_job(&w);
		m.jobs[j].mul = mul[j];
		m.jobs[j].cap = cap[j];
		m.jobs[j].bias = j % 2 ? give(bias, (size_t)n[j]) : NULL;
		for (int i = 0; i < rows * n[j]; i++) {
			double v =
				truth[j][i] * (double)mul[j] + (j % 2 ? (double)bias[i % n[j]] : 0);

			truth[j][i] = cap[j] > 0 ? (double)cap[j] * tanh(v / (double)cap[j]) : v;
		}
	}
	run_jobs(t, MM, &m, rows, rows, y);
	m.max_rows = least(rows, FEW);
	run_jobs(t, MV, &m, m.max_rows, m.max_rows, few);
	for (int j = 0; j < m.n_jobs; j++) {
		expect_close("jobs", y[j], truth[j], (size_t)(rows * n[j]), 2 * bound_of(t));
		expect_same("jobs, mv", y[j], few[j], (size_t)(m.max_rows * n[j]));
	}
}
static void test_jobs(void) { each_type(check_jobs); }

/* ---- experts ---- */

enum { EXPERTS = 5, USED = 2 };
struct choice {
	struct gpu_pairs e;
	int *expert; /* of each pair */
};
/* Rows choose two experts: 0 is chosen by most rows, 3 by none. */
static struct choice choose_experts(int rows, bool by_pair)
{
	int pairs = rows * USED, n = 0, n_active = 0;
	int32_t *first = host<int32_t>(EXPERTS + 1), *pair = host<int32_t>((size_t)pairs),
		active[EXPERTS];
	struct choice c = { {}, host<int>((size_t)pairs) };

	for (int r = 0; r < rows; r++) {
		c.expert[USED * r] = r % 16 == 15 ? 4 : 0;
		c.expert[USED * r + 1] = r % 3 == 0 ? 1 : 2;
	}
	for (int e = 0; e < EXPERTS; e++) {
		first[e] = n;
		for (int p = 0; p < pairs; p++)
			if (c.expert[p] == e)
				pair[n++] = p;
		if (n > first[e])
			active[n_active++] = e;
	}
	first[EXPERTS] = n;
	for (int i = n_active; i < EXPERTS; i++)
		active[i] = -1;
	c.e.first = give(first, EXPERTS + 1);
	c.e.pair = give(pair, (size_t)pairs);
	c.e.active = give(active, EXPERTS);
	c.e.n_active = give(&n_active, 1);
	c.e.used = USED;
	c.e.experts = EXPERTS;
	c.e.by_pair = by_pair;
	return c;
}
static void check_experts(const struct gpu_type *t, int terms, int rows, bool by_pair)
{
	int n = 40, k = 256, pairs = rows * USED, mark = mark_buffers();
	struct weights w = make_weights(t, n, k, EXPERTS);
	struct rows x = make_rows(t->form, terms, by_pair ? pairs : rows, k);
	struct choice c = choose_experts(rows, by_pair);
	float *bias = host<float>((size_t)(EXPERTS * n)), *y[GPU_JOBS], *few[GPU_JOBS];
	double *truth = host<double>((size_t)(pairs * n));
	struct gpu_mm m = {};

	fill_uniform(bias, (size_t)(EXPERTS * n), 2);
	for (int p = 0; p < pairs; p++) {
		int row = by_pair ? p : p / USED, e = c.expert[p];
		double *one = true_product(&w, e, &x, &row, 1);

		for (int i = 0; i < n; i++)
			truth[p * n + i] = one[i] + (double)bias[e * n + i];
	}
	m.jobs[0] = plain_job(&w);
	m.jobs[0].bias = give(bias, (size_t)(EXPERTS * n));
	m.n_jobs = 1;
	m.k = k;
	m.x = x.act;
	m.max_rows = rows + 1; /* the launch may be for more */
	m.e = c.e;
	run_jobs(t, MM, &m, rows, pairs, y);
	expect_close("experts", y[0], truth, (size_t)(pairs * n), bound_of(t));
	run_jobs(t, MV, &m, rows, pairs, few);
	expect_same("experts, mv", y[0], few[0], (size_t)(pairs * n));
	free_buffers(mark);
}
static void check_experts_of(const struct gpu_type *t, int terms)
{
	if (terms != most_terms(t))
		return;
	check_experts(t, terms, 3, false);
	if (small_test())
		return;
	check_experts(t, terms, 3, true);
	check_experts(t, terms, 150, false);
	check_experts(t, terms, 70, true);
}
static void test_experts(void) { each_type(check_experts_of); }

/* ---- the order of sums, by its definition ---- */

/* F32: 16 chains, then the tree of kern_sum16, in each block of 256. */
static float ordered_f32(const float *w, const double *x, int k)
{
	float y = 0;

	for (int b = 0; b < k; b += GPU_BLOCK) {
		float l[16] = {};

		for (int i = b; i < least(b + GPU_BLOCK, k); i++)
			l[i % 16] = fmaf(w[i], (float)x[i], l[i % 16]);
		for (int half = 8; half > 1; half /= 2)
			for (int i = 0; i < half; i++)
				l[i] = l[i] + l[i + half];
		y = y + (l[0] + l[1]);
	}
	return y;
}
static void test_order_f32(void)
{
	const struct gpu_type *t = gpu_type_find(INFER_F32);
	int n = 5, k = 613, rows = 3;
	struct weights w = make_weights(t, n, k, 1);
	struct rows x = make_rows(GPU_F32, 1, rows, k);
	float *mv = run_rows(MV, &w, &x.act, rows, rows),
	      *mm = run_rows(MM, &w, &x.act, rows, rows);

	for (int r = 0; r < rows; r++)
		for (int i = 0; i < n; i++) {
			float y = ordered_f32(w.values + i * k, x.values + r * k, k);

			expect_same("f32, mv", &mv[r * n + i], &y, 1);
			expect_same("f32, mm", &mm[r * n + i], &y, 1);
		}
}
static uint32_t random_scale(void) { return 0x2c00 | random_below(1024); } /* about 1/16, as f16 */
/* Q8_0: fma of scale and sum over groups of 32 inside a block, then fma of the scale of x. */
static void test_order_q8_0(void)
{
	const struct gpu_type *t = gpu_type_find(INFER_Q8_0);
	enum { N = 3, K = 544, GROUP = 32, RAW = 34 };
	static unsigned char raw[N * K / GROUP * RAW];
	struct rows x = make_rows(GPU_I8, 1, 2, K);
	struct weights w = { t, N, K, 1, NULL, NULL, 0 };
	float *d = look(x.act.d, (size_t)(2 * gpu_blocks(K))), *y;

	fill_bytes(raw, sizeof raw);
	for (size_t i = 0; i < sizeof raw; i += RAW) {
		uint32_t scale = random_scale();

		raw[i] = (unsigned char)scale;
		raw[i + 1] = (unsigned char)(scale >> 8);
	}
	w.tiles = take<unsigned char>((size_t)gpu_blocks(K) * t->tile_bytes);
	expect_run(t->pack(w.tiles, give(raw, sizeof raw), K / GROUP * RAW, N, K, stream()));
	y = run_rows(MM, &w, &x.act, 2, 2);
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < N; i++) {
			float sum = 0;

			for (int b = 0; b < gpu_blocks(K); b++) {
				float part = 0, dx = d[r * gpu_blocks(K) + b];

				for (int j = b * 8; j < least(b * 8 + 8, K / GROUP); j++) {
					const unsigned char *p = raw + (i * (K / GROUP) + j) * RAW;
					int isum = 0;

					for (int e = 0; e < GROUP; e++)
						isum += (int8_t)p[2 + e] *
						        (int)rint(x.values[r * K + j * GROUP + e] /
						                  (double)dx);
					part = fmaf(from_half((uint16_t)(p[0] | p[1] << 8)),
					            (float)isum, part);
				}
				sum = fmaf(dx, part, sum);
			}
			expect_same("q8_0", &y[r * N + i], &sum, 1);
		}
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_tails);
	RUN(test_counts);
	RUN(test_jobs);
	RUN(test_experts);
	RUN(test_order_f32);
	RUN(test_order_q8_0);
	return end_tests();
}
