/* test_x8.cpp - X8, weights of types without kernels (recode.h): tiles against the types' decoders,
 * products against float64 sums of the decoded weights, and a row's bits in any number of rows. */
#include "gpu_test.h"
#include <infer/type.h>
#include "backend/cuda/get.cuh"
extern "C" {
#include "backend/cuda/recode.h"
}

#define ERROR 2e-6 /* over the root mean square */
enum { ROWS = 70, FEW = 8, MOST_K = 1280, BLOCKS = MOST_K / GPU_BLOCK };

/* Types by kind of block: bytes of a block, where its f16 scale is; -1: E4M3 scales */
static const struct source {
	int type, d;
} sources[] = {
	{ INFER_IQ2_XS, 0 }, { INFER_IQ3_XXS, 0 }, { INFER_TQ1_0, 52 },
	{ INFER_IQ1_S, 0 },  { INFER_Q2_0, 0 },    { INFER_NVFP4, -1 },
};

struct matrix {
	int n, k;
	float *w;
	unsigned char *tiles;
};
static unsigned char *make_file(const struct source *s, size_t blocks)
{
	size_t bytes = (size_t)infer_type_info(s->type)->block_bytes;
	unsigned char *raw = host<unsigned char>(blocks * bytes);

	fill_bytes(raw, blocks * bytes);
	for (size_t i = 0; i < blocks; i++) {
		unsigned char *p = raw + i * bytes;
		uint16_t d = to_half(uniform() * 0.1f);

		if (s->d >= 0)
			memcpy(p + s->d, &d, 2);
		for (int j = 0; s->d < 0 && j < 4; j++)
			p[j] &= 0x3f;
	}
	return raw;
}
static struct matrix make_matrix(const struct source *s, int n, int k)
{
	const struct infer_type_info *t = infer_type_info(s->type);
	const struct gpu_type *g = gpu_type_stored(s->type);
	size_t blocks = (size_t)(k / t->block), row = blocks * (size_t)t->block_bytes,
	       to = recode_row_bytes(k);
	unsigned char *raw = make_file(s, blocks * (size_t)n),
		      *x8 = host<unsigned char>(to * (size_t)n);
	struct matrix m = { n, k, host<float>((size_t)n * (size_t)k), NULL };
	infer_error err;

	expect(g && g->type == GPU_TYPE_X8, "%s is not recoded", t->name);
	for (int i = 0; i < n; i++)
		expect(recode_row(x8 + (size_t)i * to, raw + (size_t)i * row, s->type, k),
		       "%s: recode", t->name);
	if (infer_type_decode(s->type, m.w, raw, (size_t)n * (size_t)k, &err))
		fail("decode");
	for (size_t i = 0; i < (size_t)n * (size_t)k; i++)
		m.w[i] += 0.0f; /* -0 is +0 */
	m.tiles = take<unsigned char>((size_t)((n + GPU_GROUP - 1) / GPU_GROUP * gpu_blocks(k)) *
	                              g->tile_bytes);
	expect_run(g->pack(m.tiles, give(x8, to * (size_t)n), to, n, k, stream()));
	return m;
}

static __global__ void get_kernel(float *to, int type, const unsigned char *tiles, int n, int k)
{
	gpu_wait();
	for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n * k;
	     i += (int)(gridDim.x * blockDim.x))
		to[i] = gpu_get(type, tiles, tile_blocks(k), i / k, i % k);
}
static void check_tiles(const struct source *s, int n, int k)
{
	struct matrix m = make_matrix(s, n, k);
	size_t size = (size_t)n * (size_t)k;
	float *w = take<float>(size);

	expect_run(LAUNCH(get_kernel, dim3(4), dim3(128), 0, stream(), w, (int)GPU_TYPE_X8,
	                  (const unsigned char *)m.tiles, n, k));
	expect_same(infer_type_info(s->type)->name, look(w, size), m.w, size);
}
static void test_tiles(void)
{
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
		int mark = mark_buffers(), block = infer_type_info(sources[i].type)->block;

		check_tiles(&sources[i], 19, block == 256 ? 512 : 320);
		free_buffers(mark);
	}
}

/* Rows of x: codes and scales, as launch_mm.h defines them */
struct rows {
	struct gpu_act a;
	double *x;
	int32_t *n; /* on the device */
};
static struct rows make_rows(int k)
{
	int blocks = gpu_blocks(k);
	size_t codes = (size_t)ROWS * (size_t)(blocks * GPU_BLOCK);
	int8_t *q = host<int8_t>(codes);
	float *d = host<float>((size_t)(ROWS * blocks));
	struct rows r = {};

	r.x = host<double>(codes);
	memset(q, 0, codes);
	fill_uniform(d, (size_t)(ROWS * blocks), 1);
	for (int i = 0; i < ROWS * blocks * GPU_BLOCK; i++) {
		int e = i % (blocks * GPU_BLOCK), in = e % 64, to = i - in;
		int v = e < k ? random_below(255) - 127 : 0;

		q[to + 16 * (in / 4 % 4) + 8 * (in / 32) + 4 * (in / 16 % 2) + in % 4] = (int8_t)v;
		r.x[i] = (double)d[i / GPU_BLOCK] * v;
	}
	r.a.q = give(q, codes);
	r.a.row_bytes = (size_t)(blocks * GPU_BLOCK);
	r.a.d = give(d, (size_t)(ROWS * blocks));
	r.a.form = GPU_I8;
	r.a.terms = 1;
	return r;
}
/* Rows from ... from + n - 1 */
static float *run_rows(const struct matrix *m, const struct rows *x, int from, int32_t n, bool many)
{
	const struct gpu_type *t = gpu_type_find(GPU_TYPE_X8);
	size_t size = (size_t)n * (size_t)m->n;
	struct gpu_mm p = {};

	p.jobs[0].w = m->tiles;
	p.jobs[0].y = take<float>(size);
	p.jobs[0].ldy = p.jobs[0].n = m->n;
	p.jobs[0].mul = 1;
	p.n_jobs = 1;
	p.k = m->k;
	p.x = x->a;
	p.x.q = (int8_t *)x->a.q + (size_t)from * x->a.row_bytes;
	p.x.d = x->a.d + from * gpu_blocks(m->k);
	p.rows = give(&n, 1);
	p.max_rows = n;
	expect_run((many ? t->mm : t->mv)(&p, stream()));
	return look(p.jobs[0].y, size);
}
static void check_products(const struct source *s, int n, int k, int count)
{
	struct matrix m = make_matrix(s, n, k);
	struct rows x = make_rows(k);
	const char *name = infer_type_info(s->type)->name;
	double *truth = host<double>((size_t)(ROWS * n));
	size_t stride = (size_t)gpu_blocks(k) * GPU_BLOCK;

	for (int r = 0; r < count; r++)
		for (int i = 0; i < n; i++) {
			double sum = 0;

			for (int j = 0; j < k; j++)
				sum += m.w[(size_t)i * (size_t)k + (size_t)j] *
				       x.x[(size_t)r * stride + (size_t)j];
			truth[r * n + i] = sum;
		}
	float *y = run_rows(&m, &x, 0, count, true);

	expect_close(name, y, truth, (size_t)(count * n), ERROR);
	for (int rows = 1; rows <= GPU_MV_ROWS && rows <= count; rows = rows * 3 + 2) {
		int from = count - rows;

		expect_same(name, run_rows(&m, &x, from, rows, false), y + from * n,
		            (size_t)(rows * n));
		expect_same(name, run_rows(&m, &x, from, rows, true), y + from * n,
		            (size_t)(rows * n));
	}
	report_bits(name, y, (size_t)(count * n), true);
}
static void test_products(void)
{
	int most = small_test() ? 1 : (int)(sizeof sources / sizeof *sources);

	for (int i = 0; i < most; i++) {
		int mark = mark_buffers(), block = infer_type_info(sources[i].type)->block,
		    k = block == 256 ? MOST_K : 1216;

		check_products(&sources[i], 35, small_test() ? 512 : k, small_test() ? FEW : ROWS);
		free_buffers(mark);
	}
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_tiles);
	RUN(test_products);
	return end_tests();
}
