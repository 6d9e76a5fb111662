/* bench_cuda.cpp - speed of kernels on a device, compared with its own: copies of memory and
 * chains of matrix products.  Built with CUDA=1 (build/cuda/tests/emu/bench_cuda).
 *
 *	bench_cuda [--quick] [WORD...]     only lines that contain one of the words: "mv q4_k"
 *
 * A line for each: name, microseconds, rate, rate over the device's own.  The shapes are
 * those of an 8B Llama: 4096 wide, 32 heads of 128, 8 KV heads, 14336 inside, 128256 tokens.
 *
 * A sequence of launches is captured in a graph, as an engine does it, and timed as a whole;
 * weights rotate through buffers that are larger than the caches of the device; the median of
 * turns counts. */
#include "gpu_test.h"
#include <infer/type.h>
#include "backend/cuda/gpu.h"
#include "backend/cuda/launch.h"

enum {
	EMBD = 4096,
	HEADS = 32,
	KV_HEADS = 8,
	HEAD_DIM = 128,
	FF = 14336,
	VOCAB = 128256,
	TURNS = 7,
	LAUNCHES = 24,     /* of a graph */
	MOST_COPIES = 64,  /* of a matrix */
	PEAK_STEPS = 4096, /* matrix products of a warp in a row */
	PEAK_SUMS = 8,     /* independent ones */
	PEAK_WARPS = 8,
	PEAK_BLOCKS = 4096,
};
static const size_t ROTATE = (size_t)512 << 20; /* bytes of weights that launches go through */
static const size_t COPY = (size_t)1 << 30;

static double copy_gbs, f16_tflops, s8_tops;
static bool quick;

/* ---- timing ---- */

struct work { /* launch number i of a graph */
	int (*launch)(const struct work *w, int i, cudaStream_t s);
	const void *with;
};
static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}
/* Microseconds of one launch; below 0: failed. */
static double time_work(const struct work *w, int launches)
{
	cudaStream_t s = stream();
	cudaEvent_t from, to;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	float ms[TURNS];
	int rc = 0;

	stop_on(cudaEventCreate(&from), "cudaEventCreate");
	stop_on(cudaEventCreate(&to), "cudaEventCreate");
	stop_on(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal),
	        "cudaStreamBeginCapture");
	for (int i = 0; i < launches && !rc; i++)
		rc = w->launch(w, i, s);
	stop_on(cudaStreamEndCapture(s, &graph), "cudaStreamEndCapture");
	if (rc)
		return printf("# launch: %s\n", cudaGetErrorString((cudaError_t)rc)), -1;
	stop_on(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
	for (int i = -1; i < TURNS; i++) {
		stop_on(cudaEventRecord(from, s), "cudaEventRecord");
		stop_on(cudaGraphLaunch(exec, s), "cudaGraphLaunch");
		stop_on(cudaEventRecord(to, s), "cudaEventRecord");
		stop_on(cudaStreamSynchronize(s), "cudaStreamSynchronize");
		if (i >= 0)
			stop_on(cudaEventElapsedTime(&ms[i], from, to), "cudaEventElapsedTime");
	}
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
	cudaEventDestroy(from);
	cudaEventDestroy(to);
	qsort(ms, TURNS, sizeof *ms, compare_floats);
	return ms[TURNS / 2] * 1e3 / launches;
}
static void say(const char *what, double us, double rate, const char *unit, double of)
{
	if (of > 0)
		printf("%-40s %10.1f us %9.1f %-7s %5.2f\n", what, us, rate, unit, rate / of);
	else
		printf("%-40s %10.1f us %9.1f %-7s\n", what, us, rate, unit);
}
/* Device memory with random bytes. */
static unsigned char *take_random(size_t n)
{
	enum { CHUNK = 1 << 22 };
	unsigned char *p = take<unsigned char>(n), *h = host<unsigned char>(CHUNK);

	fill_bytes(h, CHUNK);
	for (size_t i = 0; i < n; i += CHUNK)
		put(p + i, h, n - i < CHUNK ? n - i : (size_t)CHUNK);
	return p;
}

/* ---- the peak rates of the device ---- */

static int launch_copy(const struct work *w, int i, cudaStream_t s)
{
	unsigned char *p = (unsigned char *)w->with;

	return cudaMemcpyAsync(p + (size_t)(i + 1) % 2 * COPY, p + (size_t)i % 2 * COPY, COPY,
	                       cudaMemcpyDeviceToDevice, s);
}
static void measure_copy(void)
{
	unsigned char *p = take_random(2 * COPY);
	struct work w = { launch_copy, p };
	double us = time_work(&w, 4);

	copy_gbs = 2.0 * (double)COPY / us * 1e-3;
	say("copy, bytes read and written", us, copy_gbs, "GB/s", 0);
}
__global__ void __launch_bounds__(PEAK_WARPS * 32) run_f16(float *y, const uint4 *x, int steps)
{
	float d[PEAK_SUMS][4] = {};
	uint4 v = x[threadIdx.x];
	uint32_t a[4] = { v.x, v.y, v.z, v.w }, b[2] = { v.y, v.x };

	gpu_wait();
	for (int i = 0; i < steps; i += PEAK_SUMS)
#pragma unroll
		for (int j = 0; j < PEAK_SUMS; j++)
			mma_f16(d[j], a, b);
	for (int j = 1; j < PEAK_SUMS; j++)
		d[0][0] += d[j][0] + d[j][1] + d[j][2] + d[j][3];
	if (gpu_bits(d[0][0]) == 1)
		y[0] = d[0][0];
}
__global__ void __launch_bounds__(PEAK_WARPS * 32) run_s8(int *y, const uint4 *x, int steps)
{
	int d[PEAK_SUMS][4] = {};
	uint4 v = x[threadIdx.x];
	uint32_t a[4] = { v.x, v.y, v.z, v.w }, b[2] = { v.y, v.x };

	gpu_wait();
	for (int i = 0; i < steps; i += PEAK_SUMS)
#pragma unroll
		for (int j = 0; j < PEAK_SUMS; j++)
			mma_s8_32(d[j], a, b);
	for (int j = 1; j < PEAK_SUMS; j++)
		d[0][0] += d[j][0] + d[j][1] + d[j][2] + d[j][3];
	if (d[0][0] == 1)
		y[0] = d[0][0];
}
static int launch_f16(const struct work *w, int, cudaStream_t s)
{
	return LAUNCH(run_f16, PEAK_BLOCKS, PEAK_WARPS * 32, 0, s, (float *)w->with,
	              (const uint4 *)w->with, (int)PEAK_STEPS);
}
static int launch_s8(const struct work *w, int, cudaStream_t s)
{
	return LAUNCH(run_s8, PEAK_BLOCKS, PEAK_WARPS * 32, 0, s, (int *)w->with,
	              (const uint4 *)w->with, (int)PEAK_STEPS);
}
static void measure_peaks(void)
{
	/* small numbers: f16 near 1, int8 of 0 ... 63 */
	enum { BYTES = PEAK_WARPS * 32 * 16 };
	unsigned char *h = host<unsigned char>(BYTES);
	struct work f = { launch_f16, NULL }, q = { launch_s8, NULL };
	double products = (double)PEAK_BLOCKS * PEAK_WARPS * PEAK_STEPS, us;

	fill_bytes(h, BYTES);
	for (int i = 0; i < BYTES; i++)
		h[i] &= 0x3f;
	f.with = q.with = give(h, (size_t)BYTES);
	us = time_work(&f, 2);
	f16_tflops = products * 2 * 16 * 8 * 16 / us * 1e-6;
	say("mma.sync m16n8k16 f16, f32 sums", us, f16_tflops, "TFLOP/s", 0);
	us = time_work(&q, 2);
	s8_tops = products * 2 * 16 * 8 * 32 / us * 1e-6;
	say("mma.sync m16n8k32 int8", us, s8_tops, "TOP/s", 0);
}

/* ---- products ---- */

struct product {
	const struct gpu_type *type;
	struct gpu_mm m;
	size_t bytes; /* of the matrices of all jobs */
	int copies;
	bool many;
};
static int launch_product(const struct work *w, int i, cudaStream_t s)
{
	const struct product *p = (const struct product *)w->with;
	struct gpu_mm m = p->m;

	for (int j = 0; j < m.n_jobs; j++)
		m.jobs[j].w =
			(const unsigned char *)m.jobs[j].w + (size_t)(i % p->copies) * p->bytes;
	return p->many ? p->type->mm(&m, s) : p->type->mv(&m, s);
}
/* Activations of `rows` rows in the form that the type reads. */
static struct gpu_act make_act(int form, int rows, int k)
{
	static const size_t bytes_of[GPU_FORMS] = { 1, 2, 2, 4 };
	size_t n = (size_t)rows * (size_t)gpu_blocks(k), bytes = bytes_of[form];
	struct gpu_act a = {};

	a.form = form;
	a.terms = form == GPU_F16 ? 2 : form == GPU_BF16 ? 3 : 1;
	a.row_bytes = (size_t)gpu_blocks(k) * GPU_BLOCK * bytes * (size_t)a.terms;
	a.q = take_random((size_t)rows * a.row_bytes);
	a.d = take<float>(n);
	stop_on(cudaMemset(a.d, 0, n * sizeof *a.d), "cudaMemset");
	a.sum = take<int16_t>(n * (GPU_BLOCK / 32));
	return a;
}
static double bits_of_weight(int type)
{
	const struct infer_type_info *t = infer_type_info(type);

	return 8.0 * (double)t->block_bytes / (double)t->block;
}
static const struct shape {
	const char *name;
	int k, n[GPU_JOBS];
} shapes[] = {
	{ "q+k+v", EMBD, { EMBD, KV_HEADS *HEAD_DIM, KV_HEADS *HEAD_DIM } },
	{ "out", EMBD, { EMBD } },
	{ "gate+up", EMBD, { FF, FF } },
	{ "down", FF, { EMBD } },
	{ "head", EMBD, { VOCAB } },
};
static void fill_product(struct product *p, const struct shape *s, int rows)
{
	static const float scale = 1;
	int32_t *count = host<int32_t>(1);
	unsigned char *w;
	size_t at = 0;

	p->m.k = s->k;
	for (int j = 0; j < GPU_JOBS && s->n[j]; j++) {
		p->m.jobs[j].n = s->n[j];
		p->m.jobs[j].ldy = s->n[j];
		p->m.jobs[j].mul = scale;
		p->m.jobs[j].y = take<float>((size_t)rows * (size_t)s->n[j]);
		p->bytes += (size_t)((s->n[j] + GPU_GROUP - 1) / GPU_GROUP) *
		            (size_t)gpu_blocks(s->k) * p->type->tile_bytes;
		p->m.n_jobs++;
	}
	p->copies = 1 + (int)(ROTATE / p->bytes);
	p->copies = p->copies < MOST_COPIES ? p->copies : (int)MOST_COPIES;
	w = take_random(p->bytes * (size_t)p->copies);
	for (int j = 0; j < p->m.n_jobs; j++) {
		p->m.jobs[j].w = w + at;
		at += (size_t)((s->n[j] + GPU_GROUP - 1) / GPU_GROUP) * (size_t)gpu_blocks(s->k) *
		      p->type->tile_bytes;
	}
	*count = rows;
	p->m.rows = give(count, 1);
	p->m.max_rows = rows;
	p->m.x = make_act(p->type->form, rows, s->k);
}
static void measure_product(const struct gpu_type *type, const struct shape *s, int rows)
{
	struct product p = {};
	struct work w = { launch_product, &p };
	const char *name = infer_type_info(type->type)->name;
	double us, weights = 0, flops;
	char what[64];
	int mark = mark_buffers();

	p.type = type;
	p.many = rows > GPU_MV_ROWS;
	snprintf(what, sizeof what, "%s %s %s, %d rows", p.many ? "mm" : "mv", name, s->name, rows);
	if (!wanted_test(what))
		return;
	fill_product(&p, s, rows);
	for (int j = 0; j < p.m.n_jobs; j++)
		weights += (double)s->n[j] * s->k;
	us = time_work(&w, p.many ? 4 : LAUNCHES);
	flops = 2 * weights * rows;
	if (us < 0)
		printf("%-40s failed\n", what);
	else if (p.many)
		say(what, us, flops / us * 1e-6, "TFLOP/s", f16_tflops);
	else /* bytes of the file: they bound the decode rate */
		say(what, us, weights * bits_of_weight(type->type) / 8 / us * 1e-3, "GB/s",
		    copy_gbs);
	free_buffers(mark);
}
static void measure_products(void)
{
	static const int types[] = { INFER_Q4_K, INFER_Q8_0, INFER_F16,  INFER_BF16,
		                     INFER_Q6_K, INFER_Q4_0, INFER_MXFP4 },
			 few[] = { 1, 8, 64 }, many[] = { 128, 512, 2048 };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const struct gpu_type *t = gpu_type_find(types[i]);

		for (size_t j = 0; t && j < sizeof shapes / sizeof *shapes; j++) {
			for (int r = 0; r < (quick ? 1 : 3); r++)
				measure_product(t, &shapes[j], few[r]);
			for (int r = quick ? 2 : 0; r < 3 && shapes[j].n[0] != VOCAB; r++)
				measure_product(t, &shapes[j], many[r]);
		}
	}
}

/* ---- attention ---- */

static int launch_attn(const struct work *w, int, cudaStream_t s)
{
	return gpu_attn((const struct gpu_attn *)w->with, s);
}
/* n_runs sequences, each with rows of its own at the end of `len` positions */
static struct gpu_rows make_rows(int n_runs, int rows, int len, struct gpu_layer layer)
{
	int pages = (len + GPU_PAGE - 1) / GPU_PAGE, n = n_runs * rows;
	struct gpu_step step = { n, 0, n_runs, 0 };
	struct gpu_run *runs = host<struct gpu_run>((size_t)n_runs);
	int32_t *pos = host<int32_t>((size_t)n), *run = host<int32_t>((size_t)n);
	uint32_t *tables = host<uint32_t>((size_t)(n_runs * pages));
	struct gpu_rows r = {};

	for (int i = 0; i < n_runs; i++) {
		runs[i] = gpu_run{};
		runs[i].row = i * rows;
		runs[i].n = rows;
		runs[i].pos = len - rows;
		runs[i].tables[0] = (uint32_t)(i * pages);
		for (int j = 0; j < pages; j++)
			tables[i * pages + j] = (uint32_t)(i * pages + j);
		for (int j = 0; j < rows; j++) {
			pos[i * rows + j] = len - rows + j;
			run[i * rows + j] = i;
		}
	}
	r.step = give(&step, 1);
	r.runs = give(runs, (size_t)n_runs);
	r.layers = give(&layer, 1);
	r.pos = give(pos, (size_t)n);
	r.run = give(run, (size_t)n);
	r.id = r.run;
	r.out = r.run;
	r.tables = give(tables, (size_t)(n_runs * pages));
	return r;
}
static struct gpu_layer make_layer(int type, int pages)
{
	struct gpu_layer l = {};

	l.k_head = l.v_head = (uint32_t)gpu_kv_bytes(type, HEAD_DIM);
	l.v_at = KV_HEADS * l.k_head;
	l.page_bytes = 2 * (uint64_t)KV_HEADS * l.k_head;
	l.k_type = l.v_type = (int16_t)type;
	l.base = take<unsigned char>(l.page_bytes * (size_t)pages);
	stop_on(cudaMemset(l.base, 0x11, l.page_bytes * (size_t)pages), "cudaMemset");
	return l;
}
static void measure_attn_of(int type, int n_runs, int rows, int len)
{
	int mark = mark_buffers(), pages = (len + GPU_PAGE - 1) / GPU_PAGE;
	size_t n = (size_t)(n_runs * rows);
	struct gpu_attn a = {};
	struct work w = { launch_attn, &a };
	double us, bytes;
	char what[64];

	snprintf(what, sizeof what, "attn %s %d x %d rows, %d positions",
	         infer_type_info(type)->name, n_runs, rows, len);
	if (!wanted_test(what))
		return;
	a.rows = make_rows(n_runs, rows, len, make_layer(type, n_runs * pages));
	a.heads = HEADS;
	a.kv_heads = KV_HEADS;
	a.dk = a.dv = HEAD_DIM;
	a.scale = 0.088388346f;
	a.k_type = a.v_type = type;
	a.max_rows = (int32_t)n;
	a.max_runs = n_runs;
	a.max_run_rows = rows;
	a.max_splits = (len + GPU_SPLIT - 1) / GPU_SPLIT;
	a.part_bytes = rows == 1 ? gpu_attn_bytes(HEADS, HEAD_DIM, a.max_rows, a.max_splits) : 0;
	a.part = (float *)take<unsigned char>(a.part_bytes);
	a.q = (const float *)take_random(n * HEADS * HEAD_DIM * 4);
	stop_on(cudaMemset((void *)a.q, 0x33, n * HEADS * HEAD_DIM * 4), "cudaMemset");
	a.y = take<float>(n * HEADS * HEAD_DIM);
	us = time_work(&w, 8);
	bytes = 2.0 * n_runs * len * KV_HEADS * HEAD_DIM * bits_of_weight(type) / 8;
	if (us < 0)
		printf("%-40s failed\n", what);
	else if (rows == 1)
		say(what, us, bytes / us * 1e-3, "GB/s", copy_gbs);
	else /* two products, half of the positions seen */
		say(what, us, 2.0 * (double)n * len * HEADS * HEAD_DIM / us * 1e-6, "TFLOP/s",
		    f16_tflops);
	free_buffers(mark);
}
static void measure_attn(void)
{
	static const int types[] = { INFER_F16, INFER_Q8_0 };

	for (int i = 0; i < 2; i++) {
		measure_attn_of(types[i], 1, 1, 4096);
		measure_attn_of(types[i], 1, 1, 32768);
		measure_attn_of(types[i], 8, 1, 32768);
		measure_attn_of(types[i], 64, 1, 4096);
		measure_attn_of(types[i], 1, 2048, 2048);
		measure_attn_of(types[i], 1, 512, 32768);
	}
}

/* ---- the chains between products: latency ---- */

__global__ void run_nothing(float *y)
{
	gpu_next();
	gpu_wait();
	if (!y)
		*y = 0;
}
static int launch_nothing(const struct work *w, int, cudaStream_t s)
{
	return LAUNCH(run_nothing, 1, 128, 0, s, (float *)w->with);
}
static int launch_chain(const struct work *w, int, cudaStream_t s)
{
	return gpu_chain((const struct gpu_chain *)w->with, s);
}
static void measure_chain(const char *what, const struct gpu_chain *c)
{
	struct work w = { launch_chain, c };
	double us = wanted_test(what) ? time_work(&w, 64) : 0;

	if (us)
		printf("%-40s %10.1f us\n", what, us);
}
static struct gpu_op op_of(int op, int cols, const float *a, const float *b, float *y)
{
	struct gpu_op o = {};

	o.node.op = (uint8_t)op;
	o.node.cols = o.a_cols = o.b_cols = cols;
	o.a = a, o.b = b, o.y = y;
	return o;
}
static struct gpu_op act_of(int cols, const float *x)
{
	struct gpu_op o = op_of(GPU_OP_ACT, cols, x, NULL, NULL);

	o.act.form = GPU_I8, o.act.terms = 1, o.act.row_bytes = (size_t)cols;
	o.act.q = take<unsigned char>((size_t)cols);
	o.act.d = take<float>((size_t)gpu_blocks(cols));
	o.act.sum = take<int16_t>((size_t)gpu_blocks(cols) * 8);
	return o;
}
static struct gpu_op rope_of(int heads, float *x)
{
	struct gpu_op o = op_of(GRAPH_ROPE, heads * HEAD_DIM, x, NULL, x);

	o.node.rope.heads = heads, o.node.rope.dk = o.node.rope.rot = HEAD_DIM;
	return o;
}
static void measure_chains(void)
{
	float *x = take<float>(FF), *y = take<float>(FF), *z = take<float>(FF);
	struct work nothing = { launch_nothing, x };
	struct gpu_chain c = {};

	stop_on(cudaMemset(x, 0x33, FF * 4), "cudaMemset");
	stop_on(cudaMemset(y, 0x33, FF * 4), "cudaMemset");
	if (wanted_test("chain: nothing"))
		printf("%-40s %10.1f us\n", "chain: nothing", time_work(&nothing, 64));
	c.max_rows = 1;
	c.rows = make_rows(1, 1, 100, make_layer(INFER_F16, 4));
	c.rows.cs[0] = z;
	c.ops[0] = op_of(GRAPH_ADD, EMBD, x, y, x);
	c.ops[1] = op_of(GRAPH_NORM, EMBD, x, NULL, z);
	c.ops[1].w0 = y, c.ops[1].w_rows = 1, c.ops[1].node.norm.groups = 1;
	c.ops[2] = act_of(EMBD, z);
	c.n = 3;
	measure_chain("chain: sum, norm, act", &c);
	c.ops[0] = op_of(GRAPH_SILU_MUL, FF, x, y, z);
	c.ops[1] = act_of(FF, z);
	c.n = 2;
	measure_chain("chain: silu, act", &c);
	c.ops[0] = act_of(EMBD, z);
	c.n = 1;
	measure_chain("chain: act", &c);
	c.ops[0] = rope_of(HEADS, x);
	c.ops[1] = rope_of(KV_HEADS, y);
	c.ops[2] = op_of(GRAPH_KV_PUT, KV_HEADS * HEAD_DIM, y, z, NULL);
	c.ops[2].node.kv_put.heads = KV_HEADS;
	c.ops[2].node.kv_put.dk = c.ops[2].node.kv_put.dv = HEAD_DIM;
	c.n = 3;
	measure_chain("chain: rope, rope, put", &c);
	measure_attn_of(INFER_F16, 1, 1, 100);
	measure_attn_of(INFER_F16, 1, 1, 600);
	free_buffers(0);
}

int main(int argc, char **argv)
{
	quick = argc > 1 && !strcmp(argv[1], "--quick");
	start_tests(argc - quick, argv + quick);
	measure_copy();
	free_buffers(0);
	measure_peaks();
	free_buffers(0);
	measure_chains();
	measure_products();
	measure_attn();
	return 0;
}
