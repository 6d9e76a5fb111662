/* test_attn.cpp - attention and the KV cache against sums in float64: all types of K and V, sizes
 * of heads, groups, windows, chunks, later positions, sinks and caps; pages in random order,
 * released ones before the window and NaN bytes in what was never written.  A row has the same bits
 * alone, in any batch and with any kernel. */
#include "gpu_test.h"
#include "backend/cuda/kv.cuh"

enum { MOST_SEQS = 12, LAYER = 1, LAYERS = 2, GROUP = 1, OTHER = 1 << 20 };

struct shape {
	int type, v_type;
	int heads, kv_heads, dk, dv;
	int window, chunked, later, sinks;
	float scale, cap;
};
struct seq {
	int len, rows; /* the last `rows` positions are rows of the step */
};
/* Sequences, their cache on the device, queries and the truth. */
struct world {
	struct shape s;
	int n_seqs, n, positions, pages;
	struct seq seqs[MOST_SEQS];
	int row[MOST_SEQS], at[MOST_SEQS]; /* first row; first position in k and v */
	int table[MOST_SEQS];              /* first entry of tables */
	float *k, *v, *q, *sinks; /* host: [positions][kv_heads][dk], [..][dv], [rows][heads][dk] */
	double *kd, *vd;          /* as the cache has them */
	double *truth;
	uint32_t *tables, *d_tables;
	struct gpu_layer *d_layers;
	float *d_sinks;
};

/* ---- the values of a cache, written anew from kern/kv.h ---- */

static void round_block(double *to, const float *x, int type)
{
	float most = x[0];
	int finite = 1;

	for (int i = 0; i < 32; i++) {
		finite &= isfinite(x[i]) != 0;
		if (fabsf(x[i]) > fabsf(most))
			most = x[i];
	}
	float d = type == INFER_Q8_0 ? fabsf(most) / 127.0f : most / -8.0f, by = 1.0f / d;
	double read = from_half(to_half(d));

	for (int i = 0; i < 32; i++) {
		if (!finite)
			to[i] = NAN;
		else if (fabsf(d) < 0x1p-126f)
			to[i] = 0;
		else if (type == INFER_Q8_0)
			to[i] = read * round((double)(x[i] * by));
		else
			to[i] = read * (fmin(15, floor((double)fmaf(x[i], by, 8.5f))) - 8);
	}
}
static void round_row(double *to, const float *x, int n, int type)
{
	for (int i = 0; i < n; i++)
		to[i] = type == INFER_F16 ? from_half(to_half(x[i])) : x[i];
	for (int i = 0; i < n && (type == INFER_Q8_0 || type == INFER_Q4_0); i += 32)
		round_block(to + i, x + i, type);
}

/* ---- truth ---- */

static void see(const struct shape *s, const struct seq *q, int pos, int *lo, int *end)
{
	*lo = 0;
	if (s->chunked)
		*lo = pos / s->window * s->window;
	else if (s->window && pos >= s->window)
		*lo = pos - s->window + 1;
	*end = pos + s->later + 1 < q->len ? pos + s->later + 1 : q->len;
}
static void attend(struct world *w, int seq, int r, int h)
{
	const struct shape *s = &w->s;
	const struct seq *q = &w->seqs[seq];
	int row = w->row[seq] + r, kv = h / (s->heads / s->kv_heads), lo, end;
	const float *x = w->q + ((size_t)row * s->heads + h) * s->dk;
	double *y = w->truth + ((size_t)row * s->heads + h) * s->dv, sum = 0, most = -INFINITY;
	double *e = host<double>(q->len);

	see(s, q, q->len - q->rows + r, &lo, &end);
	for (int p = lo; p < end; p++) {
		const double *k = w->kd + ((size_t)(w->at[seq] + p) * s->kv_heads + kv) * s->dk;
		e[p] = 0;
		for (int d = 0; d < s->dk; d++)
			e[p] += x[d] * k[d];
		e[p] *= s->scale;
		if (s->cap != 0)
			e[p] = s->cap * tanh(e[p] / s->cap);
		most = fmax(most, e[p]);
	}
	if (s->sinks) {
		most = fmax(most, w->sinks[h]);
		sum = exp(w->sinks[h] - most);
	}
	for (int d = 0; d < s->dv; d++)
		y[d] = 0;
	for (int p = lo; p < end; p++) {
		double f = exp(e[p] - most);
		sum += f;
		for (int d = 0; d < s->dv; d++)
			y[d] += f *
			        w->vd[((size_t)(w->at[seq] + p) * s->kv_heads + kv) * s->dv + d];
	}
	for (int d = 0; d < s->dv; d++)
		y[d] /= sum;
}
static void make_truth(struct world *w)
{
	const struct shape *s = &w->s;

	w->kd = host<double>((size_t)w->positions * s->kv_heads * s->dk);
	w->vd = host<double>((size_t)w->positions * s->kv_heads * s->dv);
	w->truth = host<double>((size_t)w->n * s->heads * s->dv);
	for (int i = 0; i < w->positions * s->kv_heads; i++) {
		round_row(w->kd + (size_t)i * s->dk, w->k + (size_t)i * s->dk, s->dk, s->type);
		round_row(w->vd + (size_t)i * s->dv, w->v + (size_t)i * s->dv, s->dv, s->v_type);
	}
	for (int i = 0; i < w->n_seqs; i++)
		for (int r = 0; r < w->seqs[i].rows; r++)
			for (int h = 0; h < s->heads; h++) {
				int mark = mark_buffers();
				attend(w, i, r, h);
				free_buffers(mark);
			}
}

/* ---- the cache ---- */

__global__ void __launch_bounds__(GPU_ROW_THREADS)
	put_rows(struct gpu_rows r, const float *k, const float *v, int heads, int dk, int dv)
{
	size_t row = blockIdx.x;

	gpu_wait();
	gpu_kv_put_row(&r, LAYER, (int)row, heads, k + row * (size_t)(heads * dk), dk,
	               v + row * (size_t)(heads * dv), dv);
}
/* Page numbers of all sequences in random order, in a table that has other groups' entries too. */
static void make_tables(struct world *w)
{
	int n = 0, *order;

	for (int i = 0; i < w->n_seqs; i++)
		n += (w->seqs[i].len + GPU_PAGE - 1) / GPU_PAGE;
	order = host<int>(n);
	w->pages = n + 1;
	for (int i = 0; i < n; i++) {
		int j = random_below(i + 1);
		order[i] = order[j];
		order[j] = i + 1;
	}
	w->tables = host<uint32_t>(n + 5);
	for (int i = 0, at = 5; i < w->n_seqs; i++) {
		w->table[i] = at;
		for (int p = 0; p < (w->seqs[i].len + GPU_PAGE - 1) / GPU_PAGE; p++)
			w->tables[at++] = (uint32_t)order[--n];
	}
}
static struct gpu_layer make_layer(const struct world *w)
{
	const struct shape *s = &w->s;
	struct gpu_layer l = {};
	size_t k = gpu_kv_bytes(s->type, s->dk), v = gpu_kv_bytes(s->v_type, s->dv),
	       heads = (size_t)s->kv_heads;

	l.k_head = (uint32_t)k;
	l.v_head = (uint32_t)v;
	l.v_at = (uint32_t)(k * heads + 64);
	l.page_bytes = (k + v) * heads + 64 + 256;
	l.k_type = (int16_t)s->type;
	l.v_type = (int16_t)s->v_type;
	l.group = GROUP;
	l.base = take<unsigned char>(l.page_bytes * (size_t)w->pages) + 256;
	return l;
}
/* Addresses of a step with these runs. */
static struct gpu_rows make_rows(const struct world *w, const struct gpu_run *runs, int n_runs)
{
	struct gpu_rows r = {};
	struct gpu_step step = { runs[n_runs - 1].row + runs[n_runs - 1].n, 0, n_runs, 0 };
	int32_t *pos = host<int32_t>(step.n), *run = host<int32_t>(step.n);

	for (int i = 0; i < n_runs; i++)
		for (int j = 0; j < runs[i].n; j++) {
			pos[runs[i].row + j] = runs[i].pos + j;
			run[runs[i].row + j] = i;
		}
	r.step = give(&step, 1);
	r.runs = give(runs, (size_t)n_runs);
	r.layers = w->d_layers;
	r.pos = give(pos, step.n);
	r.run = give(run, step.n);
	r.tables = w->d_tables;
	return r;
}
static struct gpu_run make_run(const struct world *w, int seq, int row, int pos, int n)
{
	struct gpu_run r = {};

	r.row = row;
	r.n = n;
	r.pos = pos;
	for (int g = 0; g < GPU_CACHES; g++)
		r.tables[g] = g == GROUP ? (uint32_t)w->table[seq] : (uint32_t)OTHER;
	return r;
}
/* Pages that no row sees: as if they had been given back. */
static void release_pages(struct world *w)
{
	for (int i = 0; i < w->n_seqs; i++) {
		int lo, end;

		see(&w->s, &w->seqs[i], w->seqs[i].len - w->seqs[i].rows, &lo, &end);
		for (int p = 0; p < lo / GPU_PAGE; p++)
			w->tables[w->table[i] + p] = UINT32_MAX;
	}
	put(w->d_tables + 5, w->tables + 5, (size_t)w->pages - 1);
}
static void fill_cache(struct world *w)
{
	const struct shape *s = &w->s;
	struct gpu_layer layers[LAYERS] = {};
	struct gpu_run runs[MOST_SEQS];
	struct gpu_rows r;

	layers[LAYER] = make_layer(w);
	w->d_layers = give(layers, LAYERS);
	w->d_tables = give(w->tables, (size_t)w->pages + 4);
	for (int i = 0; i < w->n_seqs; i++)
		runs[i] = make_run(w, i, w->at[i], 0, w->seqs[i].len);
	r = make_rows(w, runs, w->n_seqs);
	expect_run(LAUNCH(put_rows, dim3((unsigned)w->positions), dim3(GPU_ROW_THREADS), 0,
	                  stream(), r, give(w->k, (size_t)w->positions * s->kv_heads * s->dk),
	                  give(w->v, (size_t)w->positions * s->kv_heads * s->dv), s->kv_heads,
	                  s->dk, s->dv));
	release_pages(w);
}
/* A world without truth and cache; its numbers may still be changed. */
static struct world make_numbers(struct shape s, const struct seq *seqs, int n)
{
	struct world w = {};

	w.s = s;
	w.n_seqs = n;
	for (int i = 0; i < n; i++) {
		w.seqs[i] = seqs[i];
		w.row[i] = w.n;
		w.at[i] = w.positions;
		w.n += seqs[i].rows;
		w.positions += seqs[i].len;
	}
	w.k = host<float>((size_t)w.positions * s.kv_heads * s.dk);
	w.v = host<float>((size_t)w.positions * s.kv_heads * s.dv);
	w.q = host<float>((size_t)w.n * s.heads * s.dk);
	w.sinks = host<float>(s.heads);
	fill_uniform(w.k, (size_t)w.positions * s.kv_heads * s.dk, 2);
	fill_uniform(w.v, (size_t)w.positions * s.kv_heads * s.dv, 3);
	fill_uniform(w.q, (size_t)w.n * s.heads * s.dk, 4);
	fill_uniform(w.sinks, s.heads, 3);
	return w;
}
static void finish_world(struct world *w)
{
	make_truth(w);
	make_tables(w);
	fill_cache(w);
	w->d_sinks = give(w->sinks, (size_t)w->s.heads);
}

/* ---- running ---- */

/* How a launch is made: the bounds of its plan and memory for partial results. */
struct bounds {
	int rows, runs, run_rows, splits, part;
};
/* Attention of these runs; q of row 0 is w->q's row `first`. */
static float *run_rows(const struct world *w, const struct gpu_run *runs, int n_runs, int first,
                       struct bounds b)
{
	const struct shape *s = &w->s;
	int n = runs[n_runs - 1].row + runs[n_runs - 1].n;
	struct gpu_attn a = {};
	size_t size = (size_t)n * s->heads * s->dv;

	a.rows = make_rows(w, runs, n_runs);
	a.q = give(w->q + (size_t)first * s->heads * s->dk, (size_t)n * s->heads * s->dk);
	a.y = take<float>(size);
	a.sinks = s->sinks ? w->d_sinks : NULL;
	a.layer = LAYER;
	a.heads = s->heads;
	a.kv_heads = s->kv_heads;
	a.dk = s->dk;
	a.dv = s->dv;
	a.window = s->window;
	a.chunked = s->chunked;
	a.later = s->later;
	a.scale = s->scale;
	a.cap = s->cap;
	a.k_type = s->type;
	a.v_type = s->v_type;
	a.max_rows = b.rows > n ? b.rows : n;
	a.max_runs = b.runs > n_runs ? b.runs : n_runs;
	a.max_run_rows = b.run_rows;
	for (int i = 0; i < n_runs; i++) {
		int splits = (runs[i].pos + runs[i].n + GPU_SPLIT - 1) / GPU_SPLIT;
		a.max_run_rows = runs[i].n > a.max_run_rows ? runs[i].n : a.max_run_rows;
		a.max_splits = splits > a.max_splits ? splits : a.max_splits;
	}
	a.max_splits = b.splits > a.max_splits ? b.splits : a.max_splits;
	a.part_bytes = b.part ? gpu_attn_bytes(s->heads, s->dv, a.max_rows, a.max_splits) : 0;
	a.part = b.part ? (float *)take<unsigned char>(a.part_bytes) : NULL;
	expect_run(gpu_attn(&a, stream()));
	return look(a.y, size);
}
static float *run_all(const struct world *w, struct bounds b)
{
	struct gpu_run runs[MOST_SEQS];

	for (int i = 0; i < w->n_seqs; i++)
		runs[i] = make_run(w, i, w->row[i], w->seqs[i].len - w->seqs[i].rows,
		                   w->seqs[i].rows);
	return run_rows(w, runs, w->n_seqs, 0, b);
}
static const struct bounds SHARE = { 0, 0, 0, 0, 1 }, WHOLE = { 0, 0, 0, 0, 0 },
			   WIDE = { 40, 17, 9, 11, 1 };

/* Each row alone (with its run, if rows see later ones), and each sequence alone, has its bits of
 * the batch. */
static void expect_alone(const struct world *w, const float *y, struct bounds b)
{
	size_t size = (size_t)w->s.heads * w->s.dv;

	for (int i = 0; i < w->n_seqs; i++) {
		int step = w->s.later ? w->seqs[i].rows : 1, pos = w->seqs[i].len - w->seqs[i].rows;

		for (int r = 0;
		     r<w->seqs[i].rows; r += step> 1 || r < 2 ? step : w->seqs[i].rows / 3 + 1) {
			int mark = mark_buffers();
			struct gpu_run run = make_run(w, i, 0, pos + r, step);

			expect_same("alone", run_rows(w, &run, 1, w->row[i] + r, b),
			            y + (size_t)(w->row[i] + r) * size, size * step);
			free_buffers(mark);
		}
	}
}
/* The plain kernel adds the products of a score one after the other. */
static double bound_of(const struct shape *s)
{
	const char *sums = getenv("EMU_MMA");

	if (s->type == INFER_F32 || s->type != s->v_type)
		return 1e-5;
	/* the emulation cuts each term, which no device does */
	return sums && !strcmp(sums, "trunc") ? 2e-5 : 8e-6;
}

static void check_world(struct world *w, const char *name)
{
	size_t size = (size_t)w->n * w->s.heads * w->s.dv;
	float *y = run_all(w, SHARE);

	expect_close(name, y, w->truth, size, bound_of(&w->s));
	report_bits(name, y, size, w->s.type == INFER_F32);
	expect_same("whole", run_all(w, WHOLE), y, size);
	if (small_test())
		return;
	expect_same("wide", run_all(w, WIDE), y, size);
	expect_alone(w, y, SHARE);
	expect_alone(w, y, WHOLE);
}
static void check(const char *name, struct shape s, const struct seq *seqs, int n)
{
	int mark = mark_buffers();
	struct world w = make_numbers(s, seqs, n);

	finish_world(&w);
	check_world(&w, name);
	free_buffers(mark);
}
static const struct seq LENGTHS[] = { { 1, 1 },   { 31, 1 },  { 32, 3 },  { 33, 5 },
	                              { 255, 1 }, { 256, 2 }, { 257, 3 }, { 700, 4 } };
static const struct seq FEW[] = { { 70, 4 }, { 300, 1 }, { 5, 5 } };
static const int TYPES[] = { INFER_F32, INFER_F16, INFER_Q8_0, INFER_Q4_0 };
static const char *const NAMES[] = { "f32", "f16", "q8_0", "q4_0" };
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static struct shape make_shape(int type, int heads, int kv_heads, int dk, int dv)
{
	struct shape s = {};

	s.type = s.v_type = type;
	s.heads = heads;
	s.kv_heads = kv_heads;
	s.dk = dk;
	s.dv = dv;
	s.scale = 1 / sqrtf((float)dk);
	return s;
}
static const char *label(const char *what, int type, int a, int b)
{
	static char text[80];

	snprintf(text, sizeof text, "attn-%s-%s-%dx%d", what, NAMES[type], a, b);
	return text;
}

static const struct seq SMALL[] = { { 40, 2 } }, SMALL_PREFILL[] = { { 36, 30 } };

static void test_lengths(void)
{
	for (int t = 0; t < COUNT(TYPES); t++)
		check(label("lengths", t, 64, 64), make_shape(TYPES[t], 4, 2, 64, 64),
		      small_test() ? SMALL : LENGTHS, small_test() ? COUNT(SMALL) : COUNT(LENGTHS));
}
static void test_sizes(void)
{
	static const int dims[][2] = { { 12, 12 },   { 20, 20 },   { 48, 48 },   { 80, 80 },
		                       { 96, 96 },   { 112, 112 }, { 128, 128 }, { 192, 128 },
		                       { 256, 256 }, { 512, 512 }, { 64, 32 },   { 20, 36 },
		                       { 576, 512 }, { 32, 160 } };

	for (int t = 0; t < COUNT(TYPES) && !small_test(); t++)
		for (int i = 0; i < COUNT(dims); i++)
			if (gpu_kv_bytes(TYPES[t], dims[i][0]) &&
			    gpu_kv_bytes(TYPES[t], dims[i][1]))
				check(label("sizes", t, dims[i][0], dims[i][1]),
				      make_shape(TYPES[t], 2, 1, dims[i][0], dims[i][1]), FEW,
				      COUNT(FEW));
}
static void test_groups(void)
{
	static const int groups[] = { 1, 2, 3, 4, 5, 8, 12, 16, 17, 40, 64 };

	for (int t = 0; t < COUNT(TYPES) && !small_test(); t++)
		for (int i = 0; i < COUNT(groups); i++)
			check(label("groups", t, groups[i], 2),
			      make_shape(TYPES[t], groups[i] * 2, 2, 32, 32), FEW, COUNT(FEW));
}
static void test_mixed_types(void)
{
	for (int t = 0; t < COUNT(TYPES) && !small_test(); t++) {
		struct shape s = make_shape(TYPES[t], 4, 2, 64, 64);

		s.v_type = TYPES[(t + 1) % COUNT(TYPES)];
		check(label("mixed", t, 64, 64), s, FEW, COUNT(FEW));
	}
}
/* Windows, chunks, later positions, sinks and caps, together and apart. */
static void test_views(void)
{
	static const struct {
		int window, chunked, later, sinks;
		float cap;
	} views[] = { { 100, 0, 0, 0, 0 },  { 1, 0, 0, 0, 0 },     { 512, 0, 0, 1, 0 },
		      { 40, 1, 0, 0, 0 },   { 256, 1, 0, 1, 0 },   { 300, 1, 0, 0, 20 },
		      { 0, 0, 2, 0, 0 },    { 300, 0, 100, 0, 0 }, { 0, 0, 0, 1, 0 },
		      { 0, 0, 0, 0, 1.5f }, { 128, 0, 1, 1, 30 },  { 32, 1, 3, 1, 0 } };

	for (int t = 0; t < COUNT(TYPES); t++)
		for (int i = 0; i < COUNT(views) && !small_test(); i++) {
			struct shape s = make_shape(TYPES[t], 4, 2, 32, 64);

			s.window = views[i].window;
			s.chunked = views[i].chunked;
			s.later = views[i].later;
			s.sinks = views[i].sinks;
			s.cap = views[i].cap;
			check(label("views", t, s.window, i), s, LENGTHS, COUNT(LENGTHS));
		}
}
/* Many rows of one run, next to short ones: the kernel of prefill. */
static void test_prefill(void)
{
	static const struct seq seqs[] = { { 70, 70 }, { 420, 130 }, { 290, 1 }, { 34, 3 } };

	for (int t = 0; t < COUNT(TYPES); t++) {
		struct shape s = make_shape(TYPES[t], 4, 2, 64, 64);

		check(label("prefill", t, 64, 64), s, small_test() ? SMALL_PREFILL : seqs,
		      small_test() ? COUNT(SMALL_PREFILL) : COUNT(seqs));
		if (small_test())
			continue;
		s = make_shape(TYPES[t], 5, 1, 128, 96);
		s.window = 90;
		s.sinks = 1;
		check(label("prefill-window", t, 128, 96), s, seqs, COUNT(seqs));
		s.later = 7;
		s.cap = 10;
		check(label("prefill-later", t, 128, 96), s, seqs, COUNT(seqs));
	}
}
/* Numbers far from 1: the powers of two that scale q and the weights. */
static void test_ranges(void)
{
	static const float ranges[][3] = { { 1e-3f, 1e3f, 1e4f },
		                           { 1e4f, 1e-4f, 1e-3f },
		                           { 0x1p-100f, 1e2f, 2e-6f } };

	for (int t = 0; t < COUNT(TYPES) && !small_test(); t++)
		for (int i = 0; i < COUNT(ranges); i++) {
			int mark = mark_buffers();
			struct world w =
				make_numbers(make_shape(TYPES[t], 4, 2, 64, 64), FEW, COUNT(FEW));

			for (int j = 0; j < w.n * 4 * 64; j++)
				w.q[j] *= ranges[i][0];
			for (int j = 0; j < w.positions * 2 * 64; j++) {
				w.k[j] *= ranges[i][1];
				w.v[j] *= ranges[i][2] * (j % 64 < 32 ? 1 : 1e-3f);
			}
			if (ranges[i][0] < 1e-6f) /* some rows of zeros */
				memset(w.q, 0, 64 * 4 * sizeof(float));
			finish_world(&w);
			check_world(&w, label("ranges", t, i, 64));
			free_buffers(mark);
		}
}
/* Rows that see a number that is not finite are not finite; the others keep their bits. */
static void test_not_finite(void)
{
	static const struct seq seqs[] = { { 300, 40 }, { 60, 60 } };
	static const float bad[] = { NAN, INFINITY, 1e30f };

	for (int t = 0; t < COUNT(TYPES) && !small_test(); t++)
		for (int i = 0; i < 2 * COUNT(bad); i++) {
			int mark = mark_buffers(), at = 280, type = TYPES[t];
			struct world w = make_numbers(make_shape(type, 4, 2, 32, 32), seqs, 2);
			float *good, *y;
			size_t size = 4 * 32;

			if (i / 2 == 2 && type == INFER_F32)
				continue;
			finish_world(&w);
			good = run_all(&w, SHARE);
			(i % 2 ? w.k : w.v)[(at * 2 + 1) * 32 + 5] = bad[i / 2];
			fill_cache(&w);
			y = run_all(&w, SHARE);
			for (int r = 0; r < w.n; r++)
				for (size_t j = 0; j < size; j++) {
					int sees = r < 40 && 260 + r >= at && j >= size / 2;
					if (!sees && memcmp(&y[r * size + j], &good[r * size + j],
					                    sizeof(float)))
						fail("%s, %g: row %d [%zu] changed", NAMES[t],
						     bad[i / 2], r, j);
					/* a score of -inf only takes the position out */
					if (sees && j % 32 == 5 && (i % 2 == 0 || i / 2 == 0) &&
					    isfinite(y[r * size + j]))
						fail("%s, %g: row %d [%zu] is finite", NAMES[t],
						     bad[i / 2], r, j);
				}
			free_buffers(mark);
		}
}
/* Sizes: what the planner counts. */
static void test_bytes(void)
{
	expect(gpu_kv_bytes(INFER_F32, 64) == 64 * 32 * 4, "f32");
	expect(gpu_kv_bytes(INFER_F16, 128) == 128 * 32 * 2, "f16");
	expect(gpu_kv_bytes(INFER_F16, 80) == 96 * 32 * 2, "f16, padded");
	expect(gpu_kv_bytes(INFER_Q8_0, 128) == 128 * 32 + 4 * 32 * 2, "q8_0");
	expect(gpu_kv_bytes(INFER_Q4_0, 128) == 64 * 32 + 4 * 32 * 2, "q4_0");
	expect(gpu_kv_bytes(INFER_Q8_0, 80) == 0 && gpu_kv_bytes(INFER_Q4_0, 20) == 0,
	       "not whole blocks");
	expect(gpu_kv_bytes(INFER_BF16, 64) == 0 && gpu_kv_bytes(INFER_Q4_K, 256) == 0,
	       "no cache types");
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_bytes);
	RUN(test_lengths);
	RUN(test_sizes);
	RUN(test_groups);
	RUN(test_mixed_types);
	RUN(test_views);
	RUN(test_prefill);
	RUN(test_ranges);
	RUN(test_not_finite);
	return end_tests();
}
