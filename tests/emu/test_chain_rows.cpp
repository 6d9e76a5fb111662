/* test_chain_rows.cpp - row operations (chain.cu) against float64: pieces of a row, routing,
 * tables and the cache. */
#include "backend/cuda/get.cuh"
#include "backend/cuda/kv.cuh"
#include "chain_test.h"

/* ---- pieces ---- */

static void test_part(void)
{
	struct step s = make_step(3, 3);
	int pieces = 4, of = 70, from = 5, width = 33, times = 2, cols = pieces * width * times;
	struct gpu_op o = op_of(GRAPH_SLICE, cols);
	float *a;
	double *t = host<double>((size_t)(3 * cols));

	o.a_cols = pieces * of;
	o.a = values(&a, (size_t)(3 * pieces * of), 3);
	o.node.slice.pieces = pieces, o.node.slice.from = from, o.node.slice.times = times;
	for (int r = 0; r < 3; r++)
		for (int i = 0; i < cols; i++)
			t[r * cols + i] =
				a[(r * pieces + i / width % pieces) * of + from + i % width];
	check_op("part", o, &s, 0, t, 0);
	o.node.slice.times = 0, o.node.cols = pieces * width;
	for (int r = 0; r < 3; r++)
		for (int i = 0; i < pieces * width; i++)
			t[r * pieces * width + i] =
				a[(r * pieces + i / width) * of + from + i % width];
	check_op("part once", o, &s, 0, t, 0);
}
static void test_permute(void)
{
	struct step s = make_step(3, 3);
	int cols = 700;
	struct gpu_op o = op_of(GRAPH_PERMUTE, cols);
	float *a;
	int32_t *order = host<int32_t>((size_t)cols);
	double *t = host<double>((size_t)(3 * cols));

	for (int i = 0; i < cols; i++)
		order[i] = (i * 37 + 11) % cols;
	o.a = values(&a, (size_t)(3 * cols), 3);
	o.w0 = give(order, (size_t)cols);
	for (int i = 0; i < 3 * cols; i++)
		t[i] = a[i / cols * cols + order[i % cols]];
	check_op("permute", o, &s, 0, t, 0);
}
static void test_mix(void)
{
	struct step s = make_step(2, 2);
	int pieces = 4, by = 3, width = 300, cols = pieces * width;
	struct gpu_op o = op_of(GRAPH_ALTUP_MIX, cols);
	float *a, *b, *m;
	double *t = host<double>((size_t)(2 * cols));

	o.b_cols = by * width, o.c_cols = pieces * by;
	o.a = values(&a, (size_t)(2 * cols), 3), o.b = values(&b, (size_t)(2 * by * width), 3);
	o.c = values(&m, (size_t)(2 * pieces * by), 1);
	o.node.altup_mix.pieces = pieces, o.node.altup_mix.by = by, o.node.altup_mix.plus = 1;
	for (int i = 0; i < 2 * cols; i++) {
		int r = i / cols, p = i % cols / width, q = i % width;

		t[i] = a[i];
		for (int j = 0; j < by; j++)
			t[i] += b[(r * by + j) * width + q] * (m[(r * pieces + p) * by + j] + 1.0);
	}
	check_op("mix", o, &s, 0, t, 1e-6);
}
static void test_cut(void)
{
	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		size_t all = (size_t)n * (size_t)cols;
		float *a;
		double *t = host<double>(all);
		struct gpu_op o = op_of(GRAPH_GAUSS_TOPK, cols);

		o.a = values(&a, all, 3), o.node.gauss_topk.mul = 0.4f;
		for (int i = 0; i < n; i++) {
			const float *x = a + (size_t)i * (size_t)cols;
			double mean = 0, var = 0;

			for (int j = 0; j < cols; j++)
				mean += x[j] / (double)cols;
			for (int j = 0; j < cols; j++)
				var += (x[j] - mean) * (x[j] - mean) / cols;
			for (int j = 0; j < cols; j++)
				t[(size_t)i * (size_t)cols + (size_t)j] =
					fmax(0, x[j] - (mean + (double)0.4f * sqrt(var)));
		}
		check_op("cut", o, &s, 0, t, 1e-6);
		free_buffers(mark);
	}
}
static double mean_square(const float *x, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	return sum / n;
}
static void test_level(void)
{
	int width = 300, more = 3;

	for (int mean = 0; mean < 2; mean++) {
		struct step s = make_step(2, 2);
		int cols = mean ? width : width * (more + 1);
		struct gpu_op o = op_of(GRAPH_ALTUP_RESCALE, cols);
		float *a, *b;
		double *t = host<double>((size_t)(2 * cols));

		o.a_cols = width, o.b_cols = more * width;
		o.a = values(&a, (size_t)(2 * width), 3),
		o.b = values(&b, (size_t)(2 * more * width), 2);
		o.node.altup_rescale.mean = mean,
		o.node.altup_rescale.least = 1.3f; /* some pieces have less */
		for (int r = 0; r < 2; r++)
			for (int i = 0; i < width; i++) {
				double sum = a[r * width + i];

				t[r * cols + i] = sum;
				for (int j = 0; j < more; j++) {
					const float *p = b + (r * more + j) * width;
					double v = p[i] *
					           sqrt(mean_square(a + r * width, width) /
					                fmax(mean_square(p, width), (double)1.3f));

					sum += v;
					if (!mean)
						t[r * cols + (j + 1) * width + i] = v;
				}
				if (mean)
					t[r * cols + i] = sum / (more + 1);
			}
		check_op(mean ? "level mean" : "level", o, &s, 0, t, 1e-6);
	}
}

/* ---- routing ---- */

struct route_case {
	int n, used, sigmoid, norm, groups, groups_used, group_best;
	float mul;
	int bias, own;
};
/* The best of score that are not taken; a score that is NaN is never better than another. */
static int best_of(const double *score, const char *taken, int n)
{
	int best = -1;

	for (int i = 0; i < n; i++)
		if (!taken[i] && (best < 0 || score[i] > score[best]))
			best = i;
	return best;
}
static void route_groups_truth(const struct route_case *c, const double *score, char *taken)
{
	int each = c->n / c->groups;
	double of[64];
	char out[64] = { 0 };

	for (int g = 0; g < c->groups; g++) {
		char *mine = (char *)calloc((size_t)each, 1);

		of[g] = 0;
		for (int i = 0; i < c->group_best; i++) {
			int best = best_of(score + g * each, mine, each);

			mine[best] = 1;
			of[g] += score[g * each + best];
		}
		free(mine);
	}
	memset(taken, 1, (size_t)c->n);
	for (int i = 0; i < c->groups_used; i++) {
		int g = best_of(of, out, c->groups);

		out[g] = 1;
		memset(taken + g * each, 0, (size_t)each);
	}
}
static void route_truth(const struct route_case *c, const float *x, const float *bias,
                        const float *own, double *y)
{
	double *p = (double *)malloc((size_t)c->n * 2 * sizeof *p), *score = p + c->n, sum = 0;
	char *taken = (char *)calloc((size_t)c->n, 1);

	for (int i = 0; i < c->n; i++)
		sum += p[i] = c->sigmoid ? sigmoid(x[i]) : exp(x[i]);
	for (int i = 0; i < c->n; i++) {
		p[i] /= c->sigmoid ? 1 : sum;
		score[i] = bias ? p[i] + bias[i] : c->groups > 1 ? p[i] : x[i];
	}
	if (c->groups > 1)
		route_groups_truth(c, score, taken);
	sum = 0;
	for (int r = 0; r < c->used; r++) {
		int best = best_of(score, taken, c->n);

		taken[best] = 1;
		y[r] = best;
		sum += y[c->used + r] = p[best];
	}
	for (int r = 0; r < c->used; r++)
		y[c->used + r] *= (c->norm ? 1 / sum : 1) * (c->mul == 0 ? 1 : (double)c->mul) *
		                  (own ? own[(int)y[r]] : 1);
	free(p), free(taken);
}
static struct gpu_op route_op(const struct route_case *c)
{
	struct gpu_op o = op_of(GRAPH_ROUTE, 2 * c->used);

	o.a_cols = c->n;
	o.node.route.used = c->used, o.node.route.sigmoid = c->sigmoid, o.node.route.norm = c->norm;
	o.node.route.groups = c->groups, o.node.route.groups_used = c->groups_used;
	o.node.route.group_best = c->group_best, o.node.route.mul = c->mul;
	return o;
}
/* Logits that rounding cannot reorder: multiples of 1 / 16 in random order. */
static void fill_apart(float *x, int n)
{
	for (int i = 0; i < n; i++)
		x[i] = (float)(i - n / 2) / 16;
	for (int i = n - 1; i > 0; i--) {
		int j = random_below(i + 1);
		float v = x[i];

		x[i] = x[j], x[j] = v;
	}
}
static void test_route(void)
{
	static const struct route_case cases[] = {
		{ 8, 2, 0, 1, 0, 0, 0, 0, 0, 0 },      { 4, 4, 0, 0, 0, 0, 0, 2.5f, 0, 1 },
		{ 128, 8, 0, 1, 0, 0, 0, 0, 0, 0 },    { 64, 6, 1, 1, 8, 4, 2, 2.5f, 1, 0 },
		{ 100, 16, 1, 0, 1, 0, 0, 0, 0, 1 },   { 512, 10, 0, 1, 1, 1, 1, 0, 0, 0 },
		{ 33, 33, 0, 0, 0, 0, 0, 1.5f, 0, 0 }, { 64, 6, 0, 0, 4, 2, 1, 16, 0, 0 },
		{ 1, 1, 0, 1, 0, 0, 0, 0, 0, 0 },
	};

	for (size_t k = 0; k < (small_test() ? 4 : sizeof cases / sizeof *cases); k++) {
		const struct route_case *c = &cases[k];
		int rows = small_test() ? 1 : 5, mark = mark_buffers();
		struct step s = make_step(rows, rows);
		struct gpu_op o = route_op(c);
		float *x = host<float>((size_t)(rows * c->n)), *bias, *own, *db, *dw;
		double *t = host<double>((size_t)(rows * 2 * c->used));
		char name[NAME];

		for (int r = 0; r < rows; r++)
			fill_apart(x + r * c->n, c->n);
		db = values(&bias, (size_t)c->n, 0.3f), dw = values(&own, (size_t)c->n, 2);
		o.a = give(x, (size_t)(rows * c->n));
		o.w0 = c->bias ? db : NULL, o.w1 = c->own ? dw : NULL;
		for (int r = 0; r < rows; r++)
			route_truth(c, x + r * c->n, c->bias ? bias : NULL, c->own ? own : NULL,
			            t + r * 2 * c->used);
		snprintf(name, sizeof name, "route %d of %d", c->used, c->n);
		float *y = check_op(name, o, &s, 0, t, 1e-6);
		for (int r = 0; r < rows; r++)
			for (int i = 0; i < c->used; i++)
				expect(y[r * 2 * c->used + i] == (float)t[r * 2 * c->used + i],
				       "%s: row %d rank %d is %g", name, r, i,
				       (double)y[r * 2 * c->used + i]);
		free_buffers(mark);
	}
}
/* Ties go to the lower id; NaN is below every number. */
static void check_ties(const char *what, const float *x, int n, int sigmoid, const int *ids,
                       int used)
{
	struct route_case c = { n, used, sigmoid, 0, 0, 0, 0, 0, 0, 0 };
	struct step s = make_step(1, 1);
	struct gpu_op o = route_op(&c);
	float *y = host<float>((size_t)(2 * used));

	o.a = give(x, (size_t)n), o.y = take<float>((size_t)(2 * used));
	run_ops(&o, 1, &s.d, 0, 1);
	fetch(y, o.y, (size_t)(2 * used));
	for (int i = 0; i < used; i++)
		expect(y[i] == (float)ids[i], "%s: rank %d is %g, should be %d", what, i,
		       (double)y[i], ids[i]);
}
static void test_route_ties(void)
{
	float x[70];
	const int ascending[] = { 0, 1, 2, 3 }, same_two[] = { 40, 69, 0, 1 },
		  zeros[] = { 0, 1, 2, 3 }, after_nan[] = { 1, 2, 33, 3 }, none[] = { 0, 0, 0, 0 };

	for (int i = 0; i < 70; i++)
		x[i] = 1;
	check_ties("equal", x, 70, 0, ascending, 4);
	x[40] = x[69] = 2;
	check_ties("two", x, 70, 0, same_two, 4);
	for (int i = 0; i < 70; i++)
		x[i] = i % 2 ? 0.0f : -0.0f;
	check_ties("zeros", x, 70, 1, zeros, 4);
	for (int i = 0; i < 70; i++)
		x[i] = i == 0 || i == 32 ? NAN : i < 3 || i == 33 ? 5.0f : 4.0f;
	check_ties("NaN", x, 70, 1, after_nan, 4);
	for (int i = 0; i < 70; i++)
		x[i] = NAN;
	check_ties("all NaN", x, 70, 0, none, 4);
}

/* ---- tables and caches ---- */

__global__ void read_table(float *y, const void *tiles, int type, int cols, int row)
{
	gpu_wait();
	for (int i = (int)threadIdx.x; i < cols; i += (int)blockDim.x)
		y[i] = gpu_get(type, tiles, (cols + GPU_BLOCK - 1) / GPU_BLOCK, row, i);
}
static void test_embed(void)
{
	enum { TABLE = 64 };

	EACH_SHAPE(r, n, c, cols)
	{
		struct step s = make_step(n, n);
		int blocks = (cols + GPU_BLOCK - 1) / GPU_BLOCK;
		float *table, *want = host<float>((size_t)cols),
			      *dt = values(&table, (size_t)(TABLE * blocks * GPU_BLOCK), 1),
			      *dw = take<float>((size_t)cols);
		double *t = host<double>((size_t)(n * cols));
		struct gpu_op o = op_of(GRAPH_EMBED, cols);

		for (int i = 0; i < n; i++)
			s.pos[i] %= TABLE;
		for (int i = 0; i < s.n_runs; i++)
			s.runs[i].second = i % 2 ? s.pos[s.runs[i].row] + 1 : 0;
		put((int32_t *)s.d.pos, s.pos, (size_t)n),
			put((struct gpu_run *)s.d.runs, s.runs, (size_t)s.n_runs);
		o.w0 = dt, o.w_type = INFER_F32, o.w_scale = 0.5f;
		for (int by = 0; by < 3; by++) {
			o.node.embed.index = by, o.node.embed.mul = by ? 3.0f : 0;
			o.w_rows = by == 2 ? 2 : TABLE;
			for (int i = 0; i < n; i++) {
				const struct gpu_run *run = &s.runs[s.run[i]];
				int row = by == 0   ? s.id[i]
				          : by == 1 ? s.pos[i]
				                    : run->second && s.pos[i] >= run->second;

				expect_run(LAUNCH(read_table, 1, 256, 0, stream(), dw, dt,
				                  (int)INFER_F32, cols, row));
				fetch(want, dw, (size_t)cols);
				for (int j = 0; j < cols; j++)
					t[i * cols + j] = want[j] * (by ? 1.5 : 0.5);
			}
			check_op(by == 0   ? "embed id"
			         : by == 1 ? "embed pos"
			                   : "embed part",
			         o, &s, 0, t, 1e-6);
		}
		free_buffers(mark);
	}
}

/* A table of one f32 row, whatever the part of the text */
static void test_embed_row(void)
{
	struct step s = make_step(4, 4);
	int cols = 300;
	float *table;
	double *t = host<double>((size_t)(4 * cols));
	struct gpu_op o = op_of(GRAPH_EMBED, cols);

	o.w0 = values(&table, (size_t)cols, 1), o.w_type = -1, o.w_rows = 1, o.w_scale = 1,
	o.node.embed.index = 2;
	for (int i = 0; i < 4 * cols; i++)
		t[i] = table[i % cols];
	check_op("embed row", o, &s, 0, t, 0);
}

__global__ void read_cache(float *y, struct gpu_rows rows, int row, int heads, int dim, int v)
{
	const struct gpu_layer *l = &rows.layers[1];
	int pos = rows.pos[row];
	const unsigned char *page =
		l->base +
		gpu_kv_page(&rows, &rows.runs[rows.run[row]], l->group, pos) * l->page_bytes;

	gpu_wait();
	for (int i = (int)threadIdx.x; i < heads * dim; i += (int)blockDim.x)
		y[i] = kv_read(page + (v ? l->v_at + i / dim * l->v_head : i / dim * l->k_head),
		               v ? l->v_type : l->k_type, v, pos % GPU_PAGE, i % dim,
		               (dim + KV_DIMS - 1) / KV_DIMS);
}
/* Each row's K and V are in the pages of its run; pages in descending order. */
static void test_kv_put(void)
{
	int n = 7, heads = 3, dk = 40, dv = 36, pages = MOST_POS / GPU_PAGE + 1;
	struct step s = make_step(n, n);
	struct gpu_layer layers[2];
	uint32_t *tables = host<uint32_t>((size_t)(pages * s.n_runs));
	struct gpu_op o = op_of(GRAPH_KV_PUT, 0);
	float *k, *v, *y = host<float>((size_t)(heads * dk)),
		      *dy = take<float>((size_t)(heads * dk));

	for (int i = 0; i < s.n_runs; i++) {
		s.runs[i].tables[2] = (uint32_t)(i * pages);
		for (int j = 0; j < pages; j++)
			tables[i * pages + j] = (uint32_t)((s.n_runs - i) * pages - 1 - j);
	}
	memset(layers, 0, sizeof layers);
	layers[1].k_type = layers[1].v_type = INFER_F32, layers[1].group = 2;
	layers[1].k_head = layers[1].v_head = 2 * KV_UNIT * 4,
	layers[1].v_at = (uint32_t)heads * layers[1].k_head;
	layers[1].page_bytes = 2 * layers[1].v_at;
	layers[1].base = take<unsigned char>((size_t)(s.n_runs * pages) * layers[1].page_bytes);
	put((struct gpu_run *)s.d.runs, s.runs, (size_t)s.n_runs);
	s.d.layers = give(layers, 2), s.d.tables = give(tables, (size_t)(pages * s.n_runs));
	o.a_cols = heads * dk, o.b_cols = heads * dv;
	o.a = values(&k, (size_t)(n * heads * dk), 2),
	o.b = values(&v, (size_t)(n * heads * dv), 2);
	o.node.kv_put.layer = 1, o.node.kv_put.heads = heads, o.node.kv_put.dk = dk,
	o.node.kv_put.dv = dv;
	run_ops(&o, 1, &s.d, 0, n);
	for (int r = 0; r < n; r++) {
		expect_run(LAUNCH(read_cache, 1, 32, 0, stream(), dy, s.d, r, heads, dk, 0));
		fetch(y, dy, (size_t)(heads * dk));
		expect_same("k", y, k + r * heads * dk, (size_t)(heads * dk));
		expect_run(LAUNCH(read_cache, 1, 32, 0, stream(), dy, s.d, r, heads, dv, 1));
		fetch(y, dy, (size_t)(heads * dv));
		expect_same("v", y, v + r * heads * dv, (size_t)(heads * dv));
	}
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_part);
	RUN(test_permute);
	RUN(test_mix);
	RUN(test_cut);
	RUN(test_level);
	RUN(test_route);
	RUN(test_route_ties);
	RUN(test_embed);
	RUN(test_embed_row);
	RUN(test_kv_put);
	return end_tests();
}
