/* test_state.cpp - recurrent layers: CONV1D and GATED_DELTA against float64, and bit for bit against the
 * order of kern/state.h written down again.  The bits are the same for rows alone, in chunks, next
 * to other sequences, over released pages, and from a page of another sequence. */
#include "gpu_test.h"
#include "backend/cuda/launch.h"
extern "C" {
#include "base/fmath.h"
}

enum {
	SEQS = 3,
	ROWS = 105, /* of a sequence: four pages */
	PAGES = ROWS / GPU_PAGE + 1,
	ALL_PAGES = 24, /* in memory */
	INPUTS = 5,
	LAYERS = 2, /* of the group; the last is the one under test */
	NO_PAGE = -1,
	SMALL_FROM = 4, /* of the lengths of chunks: those that take few launches */
};

/* An operation on the rows of sequences, whose inputs and results are kept by sequence. */
struct layer {
	int n_in, cols[INPUTS], y_cols;    /* floats of a row of each input and of y */
	int state;                         /* floats of the state */
	float *in[SEQS][INPUTS], *y[SEQS]; /* host [ROWS][cols] */
	int (*launch)(const struct layer *l, const struct gpu_rows *rows, float *const *in,
	              float *y, int runs, int run_rows);
	union {
		struct gpu_conv conv;
		struct gpu_delta delta;
	};
};
/* The sequences and their pages, for one evaluation. */
struct world {
	unsigned char *pages; /* device */
	size_t page_bytes, layer_bytes;
	uint32_t tables[SEQS][PAGES];
	int pos[SEQS], spare; /* spare: by how much the launch's bounds exceed the step */
};
struct part { /* rows of one sequence in a step */
	int seq, n;
};

static struct world *new_world(const struct layer *l, uint32_t seed)
{
	struct world *w = host<struct world>(1);
	uint32_t order[ALL_PAGES];

	memset(w, 0, sizeof *w);
	w->layer_bytes = ((size_t)l->state * sizeof(float) + 63) / 64 * 64;
	w->page_bytes = LAYERS * w->layer_bytes;
	w->pages = take<unsigned char>(ALL_PAGES * w->page_bytes); /* NaN */
	for (uint32_t i = 0; i < ALL_PAGES; i++)
		order[i] = i;
	for (uint32_t i = 0; i < SEQS * PAGES; i++) {
		uint32_t k = i + (seed + i * 7) % (ALL_PAGES - i), page = order[k];

		order[k] = order[i];
		w->tables[i / PAGES][i % PAGES] = page;
	}
	return w;
}

/* Addresses of a step with these runs. */
static struct gpu_rows place_rows(const struct world *w, const struct part *parts, int n)
{
	struct gpu_step step = { 0, 0, n, 0 };
	struct gpu_run *runs = host<struct gpu_run>((size_t)n);
	struct gpu_layer layers[LAYERS];
	struct gpu_rows r;

	memset(layers, 0, sizeof layers);
	for (int i = 0; i < n; i++) {
		memset(&runs[i], 0, sizeof runs[i]);
		runs[i].row = step.n;
		runs[i].n = parts[i].n;
		runs[i].pos = w->pos[parts[i].seq];
		runs[i].tables[1] = (uint32_t)(parts[i].seq * PAGES);
		step.n += parts[i].n;
	}
	layers[LAYERS - 1].base = w->pages + (LAYERS - 1) * w->layer_bytes;
	layers[LAYERS - 1].page_bytes = w->page_bytes;
	layers[LAYERS - 1].group = 1;
	memset(&r, 0, sizeof r);
	r.step = give(&step, 1);
	r.runs = give(runs, (size_t)n);
	r.layers = give(layers, LAYERS);
	r.tables = give(w->tables[0], SEQS * PAGES);
	return r;
}

/* One step.  Results go to the rows of their sequences. */
static void run_step(const struct layer *l, struct world *w, const struct part *parts, int n)
{
	int mark = mark_buffers(), rows = 0, most = 0, row = 0;
	float *in[INPUTS] = { 0 }, *y, *got;

	for (int i = 0; i < n; i++) {
		rows += parts[i].n;
		most = parts[i].n > most ? parts[i].n : most;
	}
	for (int k = 0; k < l->n_in; k++) {
		float *x = host<float>((size_t)(rows * l->cols[k]));

		for (int i = row = 0; i < n; row += parts[i++].n)
			memcpy(x + row * l->cols[k],
			       l->in[parts[i].seq][k] + w->pos[parts[i].seq] * l->cols[k],
			       (size_t)(parts[i].n * l->cols[k]) * sizeof *x);
		in[k] = give(x, (size_t)(rows * l->cols[k]));
	}
	y = take<float>((size_t)(rows * l->y_cols));
	struct gpu_rows r = place_rows(w, parts, n);
	expect_run(l->launch(l, &r, in, y, n + w->spare, most + w->spare));
	got = look(y, (size_t)(rows * l->y_cols));
	for (int i = row = 0; i < n; row += parts[i++].n) {
		memcpy(l->y[parts[i].seq] + w->pos[parts[i].seq] * l->y_cols, got + row * l->y_cols,
		       (size_t)(parts[i].n * l->y_cols) * sizeof *got);
		w->pos[parts[i].seq] += parts[i].n;
	}
	free_buffers(mark);
}

static void run_one(const struct layer *l, struct world *w, int seq, int n)
{
	struct part p = { seq, n };

	run_step(l, w, &p, 1);
}

/* Inputs of every sequence and empty results. */
static void fill_layer(struct layer *l)
{
	for (int s = 0; s < SEQS; s++) {
		for (int k = 0; k < l->n_in; k++) {
			l->in[s][k] = host<float>((size_t)(ROWS * l->cols[k]));
			fill_uniform(l->in[s][k], (size_t)(ROWS * l->cols[k]), 1);
		}
		l->y[s] = host<float>((size_t)(ROWS * l->y_cols));
	}
}

static void forget(const struct layer *l)
{
	for (int s = 0; s < SEQS; s++)
		memset(l->y[s], 0xff, (size_t)(ROWS * l->y_cols) * sizeof(float));
}

/* ---- changes that change no bits, compared with sequence 0 in one step ---- */

static void check_same(const struct layer *l, const char *name, int seq, const float *want,
                       int from)
{
	expect_same(name, l->y[seq] + from * l->y_cols, want + from * l->y_cols,
	            (size_t)((ROWS - from) * l->y_cols));
	forget(l);
}

static void check_chunks(const struct layer *l, const float *want)
{
	static const int chunks[] = { 1, 2, 8, 9, 31, 64 };

	for (int i = small_test() ? SMALL_FROM : 0; i < 6; i++) {
		int mark = mark_buffers();
		struct world *w = new_world(l, (uint32_t)i);

		w->spare = i % 2 * 70;
		for (int n; (n = ROWS - w->pos[0]) > 0;)
			run_one(l, w, 0, n < chunks[i] ? n : chunks[i]);
		check_same(l, "in chunks", 0, want, 0);
		free_buffers(mark);
	}
}

/* In steps with other sequences, which also have the same bits. */
static void check_batch(const struct layer *l, const float *want)
{
	struct part a[] = { { 1, 40 }, { 0, 31 }, { 2, 1 } }, b[] = { { 0, 2 }, { 2, 1 } },
		    c[] = { { 2, 1 }, { 0, ROWS - 33 }, { 1, ROWS - 40 } };
	struct world *w = new_world(l, 5);
	float *other = host<float>((size_t)(ROWS * l->y_cols));

	run_one(l, w, 1, ROWS);
	memcpy(other, l->y[1], (size_t)(ROWS * l->y_cols) * sizeof *other);
	forget(l);
	w = new_world(l, 3);
	run_step(l, w, a, 3);
	run_step(l, w, b, 2);
	run_step(l, w, c, 3);
	expect_same("another sequence", l->y[1], other, (size_t)(ROWS * l->y_cols));
	check_same(l, "in a batch", 0, want, 0);
}

/* Released pages are not written, and the state is carried over them. */
static void check_gaps(const struct layer *l, const float *want)
{
	struct world *w = new_world(l, 9);
	const unsigned char *page;
	size_t i = 0;

	uint32_t gone = w->tables[0][1];
	w->tables[0][0] = w->tables[0][1] = (uint32_t)NO_PAGE;
	run_one(l, w, 0, 3 * GPU_PAGE - 5);
	run_one(l, w, 0, ROWS - w->pos[0]);
	page = look(w->pages + gone * w->page_bytes, w->page_bytes);
	while (i < w->page_bytes && page[i] == 0xff)
		i++;
	expect(i == w->page_bytes, "byte %zu of a page that is not there was written", i);
	check_same(l, "over gaps", 0, want, 0);
}

/* A sequence that starts from a page in the middle of another sequence. */
static void check_resume(const struct layer *l, const float *want)
{
	struct world *w = new_world(l, 2);

	run_one(l, w, 0, ROWS);
	for (int page = 1; page < PAGES; page++) {
		forget(l);
		w->pos[0] = page * GPU_PAGE;
		w->tables[0][page] = w->tables[1][page];
		run_one(l, w, 0, 1);
		run_one(l, w, 0, ROWS - w->pos[0]);
		check_same(l, "from a page", 0, want, page * GPU_PAGE);
	}
}

/* Compare sequence 0 in one step with float64 and with floats, then all that must not change it. */
static void check_layer(struct layer *l, const char *name, const double *truth, const float *exact,
                        double within)
{
	size_t n = (size_t)(ROWS * l->y_cols);
	float *want = host<float>(n);

	run_one(l, new_world(l, 1), 0, ROWS);
	memcpy(want, l->y[0], n * sizeof *want);
	forget(l);
	expect_close(name, want, truth, n, within);
	expect_same("the CPU's order", want, exact, n);
	report_bits(name, want, n, true);
	check_chunks(l, want);
	check_batch(l, want);
	check_gaps(l, want);
	if (!small_test())
		check_resume(l, want);
}

/* ---- CONV1D ---- */

static int launch_conv(const struct layer *l, const struct gpu_rows *rows, float *const *in,
                       float *y, int runs, int run_rows)
{
	struct gpu_conv c = l->conv;

	c.rows = *rows;
	c.x = in[0];
	c.y = y;
	c.max_runs = runs;
	c.max_run_rows = run_rows;
	return gpu_conv(&c, stream());
}

static void conv_truth(const struct layer *l, const float *w, const float *bias, double *y,
                       float *exact)
{
	const struct gpu_conv *c = &l->conv;
	int taps = c->taps;

	for (int i = 0; i < ROWS * c->cols; i++) {
		int row = i / c->cols, col = i % c->cols;
		double s = 0;
		float f = 0;

		for (int t = 0; t < taps; t++) {
			float x = row - taps + 1 + t < 0
			                  ? 0
			                  : l->in[0][0][i + (t - taps + 1) * c->cols];

			s += (double)x * (double)w[col * taps + t];
			f = c->no_silu ? f + x * w[col * taps + t] : fmaf(x, w[col * taps + t], f);
		}
		s += bias ? (double)bias[col] : 0;
		f = bias ? f + bias[col] : f;
		y[i] = c->no_silu ? s : s / (1 + exp(-s));
		exact[i] = c->no_silu ? f : f * fm_sigmoidf(f);
	}
}

static void check_conv(int cols, int taps, int at, int plain, int biased)
{
	struct layer l;
	int mark = mark_buffers();
	float *w = host<float>((size_t)(cols * taps)), *bias = host<float>((size_t)cols);
	float *exact = host<float>((size_t)(ROWS * cols));
	double *truth = host<double>((size_t)(ROWS * cols));
	char name[64];

	memset(&l, 0, sizeof l);
	l.n_in = 1;
	l.cols[0] = l.y_cols = cols;
	l.state = at + (taps - 1) * cols;
	l.launch = launch_conv;
	fill_uniform(w, (size_t)(cols * taps), 1);
	fill_uniform(bias, (size_t)cols, 1);
	fill_layer(&l);
	l.conv.w = give(w, (size_t)(cols * taps));
	l.conv.bias = biased ? give(bias, (size_t)cols) : NULL;
	l.conv.layer = LAYERS - 1;
	l.conv.at = at;
	l.conv.cols = cols;
	l.conv.taps = taps;
	l.conv.no_silu = plain;
	conv_truth(&l, w, biased ? bias : NULL, truth, exact);
	snprintf(name, sizeof name, "conv-%dx%d%s%s", cols, taps, plain ? "-plain" : "",
	         biased ? "-bias" : "");
	check_layer(&l, name, truth, exact, 2e-6);
	free_buffers(mark);
}

static void test_conv(void)
{
	check_conv(130, 4, 0, 0, 0);
	if (small_test())
		return;
	check_conv(67, 4, 5, 0, 1);
	check_conv(64, 3, 0, 1, 0);
	check_conv(33, 4, 1, 1, 1);
	check_conv(5, 1, 0, 0, 0);
	check_conv(9, 33, 0, 0, 0);
	check_conv(9, 64, 2, 0, 1);
}

/* ---- GATED_DELTA ---- */

struct delta_shape {
	int dk, dv, heads, k_heads, tiled, ssm, skip, at;
};
enum { Q, K, V, BETA, DECAY }; /* inputs */

static int launch_delta(const struct layer *l, const struct gpu_rows *rows, float *const *in,
                        float *y, int runs, int run_rows)
{
	struct gpu_delta d = l->delta;

	d.rows = *rows;
	d.q = in[Q];
	d.k = in[K];
	d.v = in[V];
	d.beta = in[BETA];
	d.decay = in[DECAY];
	d.y = y;
	d.max_runs = runs;
	d.max_run_rows = run_rows;
	return gpu_delta(&d, stream());
}

/* rate, shift and skip of a head */
struct gates {
	float rate, shift, skip;
};

/* One head in double. */
static void delta_head(const struct layer *l, const struct delta_shape *k, const struct gates *w,
                       int h, double *y)
{
	int kh = k->tiled ? h % k->k_heads : h / (k->heads / k->k_heads);
	double *s = (double *)calloc((size_t)(k->dk * k->dv), sizeof *s);

	for (int r = 0; r < ROWS; r++) {
		const float *q = l->in[0][Q] + (r * k->k_heads + kh) * k->dk;
		const float *key = l->in[0][K] + (r * k->k_heads + kh) * k->dk;
		const float *v = l->in[0][V] + (r * k->heads + h) * k->dv;
		double soft =
			log1p(exp((double)l->in[0][DECAY][r * k->heads + h] + (double)w[h].shift));
		double g = exp((double)w[h].rate * soft);
		double beta =
			k->ssm ? soft : 1 / (1 + exp(-(double)l->in[0][BETA][r * k->heads + h]));

		for (int c = 0; c < k->dv; c++) {
			double m = 0, o = 0, by;

			for (int i = 0; i < k->dk; i++)
				m += (s[i * k->dv + c] *= g) * (double)key[i];
			by = beta * ((double)v[c] - (k->ssm ? 0 : m));
			for (int i = 0; i < k->dk; i++)
				o += (s[i * k->dv + c] += (double)key[i] * by) * (double)q[i];
			y[(r * k->heads + h) * k->dv + c] =
				(double)l->delta.scale * o +
				(k->skip ? (double)w[h].skip * (double)v[c] : 0);
		}
	}
	free(s);
}

/* The sum of s[i] x[i] in four chains. */
static float chains(const float *s, const float *x, int n)
{
	float c[4] = { 0 };

	for (int i = 0; i < n; i++)
		c[i % 4] = fmaf(s[i], x[i], c[i % 4]);
	return (c[0] + c[2]) + (c[1] + c[3]);
}

/* One head in the operations of kern/state.h and backend/cpu/state.c. */
static void delta_floats(const struct layer *l, const struct delta_shape *k, const struct gates *w,
                         int h, float *y)
{
	int kh = k->tiled ? h % k->k_heads : h / (k->heads / k->k_heads);
	float *all = (float *)calloc((size_t)(k->dk * k->dv), sizeof *all);

	for (int r = 0; r < ROWS; r++) {
		const float *q = l->in[0][Q] + (r * k->k_heads + kh) * k->dk;
		const float *key = l->in[0][K] + (r * k->k_heads + kh) * k->dk;
		const float *v = l->in[0][V] + (r * k->heads + h) * k->dv;
		float x = l->in[0][DECAY][r * k->heads + h] + w[h].shift;
		double soft = x > 20 ? (double)x : fm_log(1 + fm_exp((double)x));
		float g = (float)fm_exp((double)w[h].rate * soft);
		float beta = k->ssm ? (float)soft : fm_sigmoidf(l->in[0][BETA][r * k->heads + h]);

		for (int c = 0; c < k->dv; c++) {
			float *s = all + c * k->dk, *to = &y[(r * k->heads + h) * k->dv + c];
			float by = beta * (k->ssm ? v[c] : v[c] - g * chains(s, key, k->dk));

			for (int i = 0; i < k->dk; i++)
				s[i] = fmaf(key[i], by, g * s[i]);
			*to = l->delta.scale * chains(s, q, k->dk);
			if (k->skip)
				*to = fmaf(w[h].skip, v[c], *to);
		}
	}
	free(all);
}

static void set_gates(struct layer *l, const struct delta_shape *k, struct gates *w)
{
	float *rate = host<float>((size_t)k->heads), *shift = host<float>((size_t)k->heads);
	float *skip = host<float>((size_t)k->heads);

	for (int h = 0; h < k->heads; h++) {
		w[h].rate = rate[h] = -0.3f * (uniform() + 1.01f);
		w[h].shift = shift[h] =
			h ? uniform() * 2 : 20; /* softplus of the first is about linear */
		w[h].skip = skip[h] = uniform();
	}
	l->delta.rate = give(rate, (size_t)k->heads);
	l->delta.shift = give(shift, (size_t)k->heads);
	l->delta.skip = k->skip ? give(skip, (size_t)k->heads) : NULL;
}

static void shape_layer(struct layer *l, const struct delta_shape *k)
{
	memset(l, 0, sizeof *l);
	l->n_in = INPUTS;
	l->cols[Q] = l->cols[K] = k->k_heads * k->dk;
	l->cols[V] = l->y_cols = k->heads * k->dv;
	l->cols[BETA] = l->cols[DECAY] = k->heads;
	l->state = k->at + k->heads * k->dv * k->dk;
	l->launch = launch_delta;
	l->delta.layer = LAYERS - 1;
	l->delta.at = k->at;
	l->delta.heads = k->heads;
	l->delta.k_heads = k->k_heads;
	l->delta.dk = k->dk;
	l->delta.dv = k->dv;
	l->delta.tiled = k->tiled;
	l->delta.ssm = k->ssm;
	l->delta.scale = 0.5f;
}

static void check_delta(struct delta_shape k)
{
	struct layer l;
	struct gates w[8];
	int mark = mark_buffers(), n = ROWS * k.heads * k.dv;
	double *truth = host<double>((size_t)n);
	float *exact = host<float>((size_t)n), unit = 1 / sqrtf((float)k.dk);
	char name[64];

	shape_layer(&l, &k);
	fill_layer(&l);
	for (int s = 0; s < SEQS; s++) /* keys no longer than 1, as models have them */
		for (int i = 0; i < ROWS * l.cols[K]; i++)
			l.in[s][K][i] *= unit;
	set_gates(&l, &k, w);
	for (int h = 0; h < k.heads; h++) {
		delta_head(&l, &k, w, h, truth);
		delta_floats(&l, &k, w, h, exact);
	}
	snprintf(name, sizeof name, "delta-%dx%d%s%s", k.dk, k.dv, k.ssm ? "-plain" : "",
	         k.skip ? "-skip" : "");
	check_layer(&l, name, truth, exact, 1e-5);
	free_buffers(mark);
}

static void test_delta(void)
{
	check_delta({ 16, 33, 2, 1, 0, 0, 0, 0 });
	if (small_test())
		return;
	check_delta({ 128, 20, 2, 2, 0, 0, 0, 16 });
	check_delta({ 64, 8, 4, 2, 1, 0, 0, 4 });
	check_delta({ 48, 12, 4, 2, 0, 0, 1, 5 }); /* not aligned */
	check_delta({ 12, 20, 2, 1, 0, 0, 0, 0 });
	check_delta({ 7, 5, 2, 2, 0, 0, 0, 3 });
	check_delta({ GPU_DELTA_DK, 9, 1, 1, 0, 0, 0, 0 });
	check_delta({ 132, 3, 1, 1, 0, 0, 0, 0 });
}

static void test_plain(void)
{
	check_delta({ 32, 16, 4, 1, 0, 1, 1, 0 });
	if (small_test())
		return;
	check_delta({ 128, 40, 2, 1, 0, 1, 1, 0 });
	check_delta({ 20, 6, 4, 2, 1, 1, 0, 2 });
}

/* A head that is too wide is refused. */
static void test_wide(void)
{
	struct delta_shape k = { GPU_DELTA_DK + 1, 4, 1, 1, 0, 0, 0, 0 };
	struct layer l;

	shape_layer(&l, &k);
	expect(gpu_delta(&l.delta, stream()) == cudaErrorInvalidValue, "dk %d is not refused",
	       k.dk);
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_conv);
	RUN(test_delta);
	RUN(test_plain);
	RUN(test_wide);
	return end_tests();
}
