/* test_mv.cpp - weights in tiles, and products with few rows.
 *   tiles      pack, then gpu_get of each element: the bits of the CPU's decoders
 *   products   against float64 sums of the decoded weights and of the rounded activations
 *   promise 1  a row has the same bits in batches of 1, 2, 8, 9 and 64 rows, wherever it is
 *   arguments  several jobs, bias, mul, cap, experts; nothing is written outside y */
#include "gpu_test.h"
#include <infer/type.h>
#include "backend/cuda/get.cuh"

#define GPU_TYPE(q) extern "C" const struct gpu_type gpu_type_##q;
#include "backend/cuda/type_list.h"
#undef GPU_TYPE

/* Bounds on the error over the root mean square: k / 256 sums of f32, or those of the inside of
 * mma, which may cut (k 2880). */
#define INT_ERROR 2e-6
#define FLOAT_ERROR 8e-6
enum { ROWS = 64, ACT_GROUP = 32, TILE_ROWS = GPU_GROUP };

/* ---- files ---- */
/* Offsets of the f16 numbers in a block of a type, and their size; e8: an exponent at byte 0. */
static const struct file_type {
	int type, n_f16, f16[2], e8;
	float size;
} file_types[] = {
	{ INFER_F16, 1, { 0, 0 }, 0, 1 },        { INFER_BF16, 0, { 0, 0 }, 0, 1 },
	{ INFER_Q4_0, 1, { 0, 0 }, 0, 0.1f },    { INFER_Q4_1, 2, { 0, 2 }, 0, 0.1f },
	{ INFER_Q5_0, 1, { 0, 0 }, 0, 0.1f },    { INFER_Q5_1, 2, { 0, 2 }, 0, 0.1f },
	{ INFER_Q8_0, 1, { 0, 0 }, 0, 0.01f },   { INFER_Q2_K, 2, { 80, 82 }, 0, 0.01f },
	{ INFER_Q3_K, 1, { 108, 0 }, 0, 0.01f }, { INFER_Q4_K, 2, { 0, 2 }, 0, 0.01f },
	{ INFER_Q5_K, 2, { 0, 2 }, 0, 0.01f },   { INFER_Q6_K, 1, { 208, 0 }, 0, 0.001f },
	{ INFER_IQ4_NL, 1, { 0, 0 }, 0, 0.01f }, { INFER_IQ4_XS, 1, { 0, 0 }, 0, 0.001f },
	{ INFER_MXFP4, 0, { 0, 0 }, 1, 0 },
};
static const struct file_type *find_file_type(int type)
{
	for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++)
		if (file_types[i].type == type)
			return &file_types[i];
	printf("Bail out! the test does not know type %d\n", type);
	exit(1);
}
/* n blocks of random codes, with scales that are numbers. */
static unsigned char *make_file(int type, size_t blocks)
{
	const struct infer_type_info *info = infer_type_info(type);
	const struct file_type *f = find_file_type(type);
	unsigned char *raw = host<unsigned char>(blocks * (size_t)info->block_bytes);

	fill_bytes(raw, blocks * (size_t)info->block_bytes);
	for (size_t i = 0; i < blocks; i++) {
		unsigned char *p = raw + i * (size_t)info->block_bytes;
		uint16_t h = to_bf16(uniform());

		for (int j = 0; j < f->n_f16; j++) {
			h = to_half(i % 29 == 7 ? uniform() * 0x1p-15f : uniform() * f->size);
			memcpy(p + f->f16[j], &h, 2);
		}
		if (type == INFER_BF16)
			memcpy(p, &h, 2);
		if (f->e8)
			p[0] = (unsigned char)(i % 13 == 5 ? random_below(3)
			                                   : 118 + random_below(8));
	}
	return raw;
}
/* A matrix of n rows of k elements: decoded on the host, in tiles on the device. */
struct matrix {
	int n, k;
	float *w;
	unsigned char *tiles;
	size_t bytes;
};
static struct matrix make_matrix(const struct gpu_type *t, int n, int k)
{
	const struct infer_type_info *info = infer_type_info(t->type);
	size_t blocks = (size_t)n * (size_t)(k / info->block),
	       row = (size_t)(k / info->block * info->block_bytes);
	unsigned char *raw = make_file(t->type, blocks);
	struct matrix m = { n, k, host<float>((size_t)n * (size_t)k), NULL, 0 };
	infer_error err;

	if (infer_type_decode(t->type, m.w, raw, (size_t)n * (size_t)k, &err))
		fail("decode");
	m.bytes = (size_t)((n + GPU_GROUP - 1) / GPU_GROUP * gpu_blocks(k)) * t->tile_bytes;
	m.tiles = take<unsigned char>(m.bytes);
	expect_run(t->pack(m.tiles, give(raw, blocks * (size_t)info->block_bytes), row, n, k,
	                   stream()));
	return m;
}

/* ---- activations, as launch_mm.h defines them ---- */
struct acts {
	struct gpu_act a;
	double *x; /* [rows][k] as rounded */
	int rows, k;
};
static void round_i8(const struct acts *s, int row, int b, const float *x, int8_t *q, float *d,
                     int16_t *sum)
{
	float amax = 0, inverse;

	for (int i = 0; i < GPU_BLOCK; i++)
		amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
	*d = amax / 127.0f;
	inverse = *d >= 0x1p-126f ? 1.0f / *d : 0.0f;
	memset(sum, 0, sizeof(int16_t) * GPU_BLOCK / ACT_GROUP);
	for (int i = 0; i < GPU_BLOCK; i++) {
		int v = (int)rintf(x[i] * inverse), in = i % 64, h = in / 32, u = in / 16 % 2,
		    t = in / 4 % 4;

		q[i / 64 * 64 + 16 * t + 8 * h + 4 * u + in % 4] = (int8_t)v;
		sum[i / ACT_GROUP] = (int16_t)(sum[i / ACT_GROUP] + v);
		if (b * GPU_BLOCK + i < s->k)
			s->x[(size_t)row * (size_t)s->k + (size_t)(b * GPU_BLOCK + i)] =
				(double)*d * v;
	}
}
static void round_float(const struct acts *s, int row, int b, const float *x, uint16_t *q, float *d)
{
	int all = gpu_blocks(s->k) * GPU_BLOCK, f16 = s->a.form == GPU_F16;
	float amax = 0;

	for (int i = 0; i < GPU_BLOCK; i++)
		amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
	if (f16)
		*d = amax > 0 ? ldexpf(1, ilogbf(amax) - 4) : 1;
	for (int i = 0; i < GPU_BLOCK; i++) {
		float rest = f16 ? x[i] / *d : x[i];
		double v = 0;

		for (int t = 0; t < s->a.terms; t++) {
			uint16_t h = f16 ? to_half(rest) : to_bf16(rest);
			float term = f16 ? from_half(h) : from_bf16(h);

			q[(size_t)t * (size_t)all + (size_t)(b * GPU_BLOCK + i)] = h;
			rest -= term;
			v += term;
		}
		if (b * GPU_BLOCK + i < s->k)
			s->x[(size_t)row * (size_t)s->k + (size_t)(b * GPU_BLOCK + i)] =
				f16 ? v * *d : v;
	}
}
static struct acts make_acts(int form, int terms, int rows, int k)
{
	int blocks = gpu_blocks(k), groups = blocks * (GPU_BLOCK / ACT_GROUP);
	size_t row_bytes =
		(size_t)(blocks * GPU_BLOCK) * (form == GPU_I8 ? 1 : (size_t)(2 * terms));
	unsigned char *q = host<unsigned char>(row_bytes * (size_t)rows);
	float *d = host<float>((size_t)(rows * blocks));
	int16_t *sum = host<int16_t>((size_t)(rows * groups));
	struct acts s;

	memset(&s, 0, sizeof s);
	s.a.form = form;
	s.a.terms = terms;
	s.a.row_bytes = row_bytes;
	s.rows = rows;
	s.k = k;
	s.x = host<double>((size_t)rows * (size_t)k);
	for (int r = 0; r < rows; r++)
		for (int b = 0; b < blocks; b++) {
			float x[GPU_BLOCK];

			for (int i = 0; i < GPU_BLOCK; i++)
				x[i] = b * GPU_BLOCK + i < k && (r + b) % 11 != 10
				               ? uniform() * (float)(1 + b % 3)
				               : 0;
			if (form == GPU_I8)
				round_i8(&s, r, b, x,
				         (int8_t *)q + row_bytes * (size_t)r + b * GPU_BLOCK,
				         d + r * blocks + b,
				         sum + r * groups + b * (GPU_BLOCK / ACT_GROUP));
			else
				round_float(&s, r, b, x, (uint16_t *)(q + row_bytes * (size_t)r),
				            d + r * blocks + b);
		}
	s.a.q = give(q, row_bytes * (size_t)rows);
	s.a.d = form == GPU_BF16 ? NULL : give(d, (size_t)(rows * blocks));
	s.a.sum = form == GPU_I8 ? give(sum, (size_t)(rows * groups)) : NULL;
	return s;
}
/* The same rows from `row` on */
static struct gpu_act act_from(const struct acts *s, int row)
{
	struct gpu_act a = s->a;
	int blocks = gpu_blocks(s->k);

	a.q = (unsigned char *)a.q + a.row_bytes * (size_t)row;
	a.d = a.d ? a.d + row * blocks : NULL;
	a.sum = a.sum ? a.sum + row * blocks * (GPU_BLOCK / ACT_GROUP) : NULL;
	return a;
}
static double dot(const float *w, const double *x, int k)
{
	double s = 0;

	for (int i = 0; i < k; i++)
		s += w[i] * x[i];
	return s;
}
static double error_bound(const struct gpu_type *t)
{
	return t->form == GPU_I8 ? INT_ERROR : FLOAT_ERROR;
}
static int32_t *give_count(int n)
{
	int32_t *p = host<int32_t>(1);

	*p = n;
	return give(p, 1);
}

/* ---- products of one matrix ---- */
/* y[rows][n] on the host; rows of x from `at` on */
static float *run_plain(const struct gpu_type *t, const struct matrix *w, const struct acts *x,
                        int at, int rows)
{
	struct gpu_mm m;
	float *y = take<float>((size_t)rows * (size_t)w->n);

	memset(&m, 0, sizeof m);
	m.jobs[0].w = w->tiles;
	m.jobs[0].y = y;
	m.jobs[0].ldy = w->n;
	m.jobs[0].n = w->n;
	m.jobs[0].mul = 1;
	m.n_jobs = 1;
	m.k = w->k;
	m.x = act_from(x, at);
	m.rows = give_count(rows);
	m.max_rows = rows;
	expect_run(t->mv(&m, stream()));
	return look(y, (size_t)rows * (size_t)w->n);
}
static void check_shape(const struct gpu_type *t, int n, int k, int terms, int rows)
{
	static const int batches[] = { 1, 2, 8, 9, 17 };
	struct matrix w = make_matrix(t, n, k);
	struct acts x = make_acts(t->form, terms, rows, k);
	double *truth = host<double>((size_t)rows * (size_t)n);
	float *y = run_plain(t, &w, &x, 0, rows);
	char name[80];

	for (int r = 0; r < rows; r++)
		for (int i = 0; i < n; i++)
			truth[r * n + i] =
				dot(w.w + (size_t)i * (size_t)k, x.x + (size_t)r * (size_t)k, k);
	snprintf(name, sizeof name, "mv %s %dx%d terms %d", infer_type_info(t->type)->name, n, k,
	         terms);
	expect_close(name, y, truth, (size_t)rows * (size_t)n, error_bound(t));
	report_bits(name, y, (size_t)rows * (size_t)n, t->form == GPU_I8);
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		if (batches[i] >= rows)
			break;
		int at = (int)(i * 13) % (rows - batches[i]);
		float *part = run_plain(t, &w, &x, at, batches[i]);

		expect_same(name, part, y + at * n, (size_t)batches[i] * (size_t)n);
	}
}
static void check_products(const struct gpu_type *t)
{
	static const int ks[] = { 32, 64, 96, 256, 288, 320, 2304, 2880 },
			 ns[] = { 1, 7, 16, 17, 40 };
	int block = infer_type_info(t->type)->block, mark = mark_buffers();
	int most = t->form == GPU_I8 ? 1 : t->form == GPU_F16 ? 2 : 3;

	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
		if (ks[i] % block == 0 && (!small_test() || ks[i] == 256)) {
			check_shape(t, ks[i] > 2000 ? 17 : 40, ks[i], i % 2 ? most : 1, ROWS);
			free_buffers(mark);
		}
	if (!small_test()) { /* so many groups that blocks have fewer warps; several tiles a warp */
		check_shape(t, 512 * GPU_GROUP, block, most, 10);
		free_buffers(mark);
		/* so many that no k is split, of 64 columns; the last 128 weight rows are not
		 * whole */
		check_shape(t, 1024 * GPU_GROUP + 17, block == 256 ? 512 : 544, 1, 35);
		free_buffers(mark);
	}
	for (size_t i = 0; i < sizeof ns / sizeof *ns && !small_test(); i++) {
		check_shape(t, ns[i], block == 256 ? 512 : 352, i % 2 ? most : 1, ROWS);
		free_buffers(mark);
	}
}

/* ---- arguments ---- */
/* Three jobs that share x: bias, mul and cap; fewer rows than the launch allows; ldy above n */
static void check_jobs(const struct gpu_type *t)
{
	enum { JOBS = 3, K = 512, MOST = 20, NOW = 11, MORE = 3 };
	static const int n[JOBS] = { 40, 5, 16 };
	static const float mul[JOBS] = { 0.5f, 1, -2.25f }, cap[JOBS] = { 0, 0, 3 };
	struct acts x = make_acts(t->form, 1, MOST, K);
	struct matrix w[JOBS];
	float *bias[JOBS];
	struct gpu_mm m;

	memset(&m, 0, sizeof m);
	for (int j = 0; j < JOBS; j++) {
		w[j] = make_matrix(t, n[j], K);
		bias[j] = host<float>((size_t)n[j]);
		fill_uniform(bias[j], (size_t)n[j], 1);
		m.jobs[j].w = w[j].tiles;
		m.jobs[j].bias = j == 1 ? NULL : give(bias[j], (size_t)n[j]);
		m.jobs[j].ldy = n[j] + MORE;
		m.jobs[j].y = take<float>((size_t)(MOST * m.jobs[j].ldy));
		m.jobs[j].n = n[j];
		m.jobs[j].mul = mul[j];
		m.jobs[j].cap = cap[j];
	}
	m.n_jobs = JOBS;
	m.k = K;
	m.x = x.a;
	m.rows = give_count(NOW);
	m.max_rows = MOST;
	expect_run(t->mv(&m, stream()));
	for (int j = 0; j < JOBS; j++) {
		int ld = n[j] + MORE;
		float *y = look(m.jobs[j].y, (size_t)(MOST * ld)),
		      *got = host<float>((size_t)(NOW * n[j]));
		double *truth = host<double>((size_t)(NOW * n[j]));

		for (int r = 0; r < MOST; r++)
			for (int i = 0; i < ld; i++)
				if (r >= NOW || i >= n[j]) {
					expect(isnan(y[r * ld + i]),
					       "job %d: y[%d][%d] was written", j, r, i);
				} else {
					double s = mul[j] * dot(w[j].w + i * K, x.x + r * K, K) +
					           (j == 1 ? 0 : bias[j][i]);

					got[r * n[j] + i] = y[r * ld + i];
					truth[r * n[j] + i] =
						cap[j] != 0 ? cap[j] * tanh(s / cap[j]) : s;
				}
		expect_close("jobs", got, truth, (size_t)(NOW * n[j]), 2 * error_bound(t));
	}
	m.rows = give_count(0);
	m.n_jobs = 1;
	m.jobs[0].y = take<float>((size_t)(MOST * m.jobs[0].ldy));
	expect_run(t->mv(&m, stream()));
	expect(isnan(look(m.jobs[0].y, 1)[0]), "y was written without rows");
}

/* Experts: pair p is of expert chosen[p]; expert 1 has most pairs, more than are computed at
 * once, expert 3 none.  k: a warp has more than one tile. */
static void check_experts(const struct gpu_type *t, int by_pair)
{
	enum { N = 23, EXPERTS = 12, USED = 2, NOW = 19, PAIRS = NOW * USED };
	const int k = small_test() ? 256 : 2304;
	struct matrix all = make_matrix(t, EXPERTS * TILE_ROWS * 2, k);
	struct acts x = make_acts(t->form, 1, by_pair ? PAIRS : NOW, k);
	int32_t *first = host<int32_t>(EXPERTS + 1), *pair = host<int32_t>(PAIRS),
		*active = host<int32_t>(EXPERTS);
	int chosen[PAIRS], n = 0, n_active = 0;
	float *bias = host<float>(EXPERTS * N), *y = take<float>(PAIRS * N), *got;
	double *truth = host<double>(PAIRS * N);
	struct gpu_mm m;
	char name[80];

	for (int p = 0; p < PAIRS; p++)
		chosen[p] = p % USED ? (p / USED % 6 ? 0 : 2) : p / USED % 4 ? 1 : 4;
	for (int e = 0; e < EXPERTS; e++) {
		first[e] = n;
		for (int p = 0; p < PAIRS; p++)
			if (chosen[p] == e)
				pair[n++] = p;
		if (n > first[e])
			active[n_active++] = e;
	}
	first[EXPERTS] = n;
	fill_uniform(bias, EXPERTS * N, 1);
	memset(&m, 0, sizeof m);
	m.jobs[0].w = all.tiles;
	m.jobs[0].matrix_bytes = all.bytes / EXPERTS;
	m.jobs[0].bias = give(bias, EXPERTS * N);
	m.jobs[0].y = y;
	m.jobs[0].ldy = N;
	m.jobs[0].n = N;
	m.jobs[0].mul = 0.75f;
	m.n_jobs = 1;
	m.k = k;
	m.x = x.a;
	m.rows = give_count(NOW);
	m.max_rows = NOW;
	m.e.first = give(first, EXPERTS + 1);
	m.e.pair = give(pair, PAIRS);
	m.e.active = give(active, EXPERTS);
	m.e.n_active = give_count(n_active);
	m.e.used = USED;
	m.e.experts = EXPERTS;
	m.e.by_pair = by_pair;
	expect_run(t->mv(&m, stream()));
	got = look(y, PAIRS * N);
	for (int p = 0; p < PAIRS; p++)
		for (int i = 0; i < N; i++)
			truth[p * N + i] = 0.75 * dot(all.w + (chosen[p] * TILE_ROWS * 2 + i) * k,
			                              x.x + (by_pair ? p : p / USED) * k, k) +
			                   bias[chosen[p] * N + i];
	expect_close("experts", got, truth, PAIRS * N, error_bound(t));
	snprintf(name, sizeof name, "mv %s experts%s", infer_type_info(t->type)->name,
	         by_pair ? " by pair" : "");
	report_bits(name, got, PAIRS * N, t->form == GPU_I8);
}

/* ---- tiles ---- */
__global__ void get_kernel(float *w, int type, const unsigned char *tiles, int n, int k)
{
	int blocks = (k + GPU_BLOCK - 1) / GPU_BLOCK;

	gpu_wait();
	for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n * k;
	     i += (int)(gridDim.x * blockDim.x))
		w[i] = gpu_get(type, tiles, blocks, i / k, i % k);
}
static void check_tiles(const struct gpu_type *t, int n, int k)
{
	size_t size = (size_t)n * (size_t)k;
	struct matrix m = make_matrix(t, n, k);
	float *w = take<float>(size);

	expect_run(LAUNCH(get_kernel, dim3(4), dim3(128), 0, stream(), w, (int)t->type,
	                  (const unsigned char *)m.tiles, n, k));
	expect_same(infer_type_info(t->type)->name, look(w, size), m.w, size);
}

/* One case for each type and subject */
#define GPU_TYPE(q) \
	static void test_tiles_##q(void) \
	{ \
		int mark = mark_buffers(); \
		check_tiles(&gpu_type_##q, 35, \
		            infer_type_info(gpu_type_##q.type)->block == 256 ? 512 : 352); \
		free_buffers(mark); \
		check_tiles(&gpu_type_##q, 3, 256); \
	} \
	static void test_products_##q(void) { check_products(&gpu_type_##q); } \
	static void test_jobs_##q(void) { check_jobs(&gpu_type_##q); } \
	static void test_experts_##q(void) \
	{ \
		check_experts(&gpu_type_##q, 0); \
		check_experts(&gpu_type_##q, 1); \
	}
#include "backend/cuda/type_list.h"
#undef GPU_TYPE

int main(int argc, char **argv)
{
	start_tests(argc, argv);
#define GPU_TYPE(q) \
	RUN(test_tiles_##q); \
	RUN(test_products_##q); \
	RUN(test_jobs_##q); \
	RUN(test_experts_##q);
#include "backend/cuda/type_list.h"
#undef GPU_TYPE
	return end_tests();
}
