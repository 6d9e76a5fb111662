/* backend/cpu/tile.c - matrix products, divided into blocks of weight rows.  An item computes whole
 * sums, so the division does not change a bit.
 *
 *   rows of x      kernel (kern/dispatch.h)
 *   few            rows: weights are read in place, each byte once
 *   more           skinny: weights in place, x transposed, if the kernel set has a skinny kernel
 *   many           tile: nr weight rows at a time are packed into the worker's scratch and
 *                  multiplied with all rows of x, while the next weights are prefetched
 *
 * Weights of a type without kernels are decoded to f32 in scratch. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/limits.h"
#include "base/err.h"
#include "base/num.h"
#include "type/type.h"

enum {
	SKINNY_ROWS = 96,   /* most weight rows of an item of a skinny kernel */
	DECODED = 16,       /* weight rows decoded to f32 at a time */
	STREAMS = 8,        /* weight rows read in parallel by a call in place (kern/kern.h) */
	STREAM_BYTES = 256, /* prefetched bytes of a stream in L1 */
	SETS_BYTES = 4096,  /* addresses this far apart map to one L1 set */
};

static int decoded_rows(const struct kern_mm *mm) { return mm->nr > DECODED ? mm->nr : DECODED; }

/* Return the kernels of a job; if they are not of its type, its weights are decoded to f32. */
static const struct kern_mm *job_mm(const struct backend_plan *p, const struct cpu_job *j)
{
	const struct kern_mm *mm = j->plain ? cpu_plain_mm(p->b, j->type) : cpu_mm(p->b, j->type);

	return mm ? mm : cpu_plain_mm(p->b, INFER_F32);
}

static int is_decoded(const struct backend_plan *p, const struct cpu_job *j)
{
	return j->plain ? !cpu_plain_mm(p->b, j->type) : !cpu_has_loops(p->b, j->type);
}

static size_t packed_bytes(const struct kern_mm *mm, int64_t k)
{
	return mm->tile ? KERN_PANELS * num_round_up(mm->pack_bytes((int)k), 64) : 0;
}

size_t cpu_tile_scratch(const struct backend *b, int type, int64_t k)
{
	const struct kern_mm *mm = cpu_mm(b, type);

	return packed_bytes(mm, k) +
	       (cpu_has_loops(b, type) ? 0 : (size_t)decoded_rows(mm) * (size_t)k * sizeof(float));
}

size_t cpu_plain_scratch(const struct backend *b, int64_t k)
{
	static const int types[] = { INFER_F32, INFER_F16, INFER_BF16 };
	size_t most = 0, decoded;

	for (int i = 0; i < 3; i++)
		most = (size_t)num_max((int64_t)most,
		                       (int64_t)packed_bytes(cpu_plain_mm(b, types[i]), k));
	decoded = (size_t)decoded_rows(cpu_plain_mm(b, INFER_F32)) * (size_t)k * sizeof(float);
	return most + decoded;
}

/* True if the streams of a call over `rows` weight rows map to the same L1 sets and evict each
 * other. */
static int share_sets(const struct cpu_job *j, int rows)
{
	size_t apart = (size_t)(rows / STREAMS) * j->row_bytes % SETS_BYTES;

	return apart < STREAM_BYTES || apart > SETS_BYTES - STREAM_BYTES;
}

/* Choose the kernel and the items of j, one of `jobs` jobs of a parallel region. */
static void divide_job(const struct backend_plan *p, struct cpu_job *j, int jobs)
{
	const struct kern_mm *mm = job_mm(p, j);
	int64_t row_work = (int64_t)j->k * j->m, want = 4 * (int64_t)pool_threads(p->b->pool),
		items;

	enum kern_loop loop = kern_loop(mm, j->m);

	j->transposed = loop == KERN_SKINNY && j->x->transposed;
	j->tiled = loop == KERN_TILE || (loop == KERN_SKINNY && !j->transposed);
	j->parts = 1;
	j->part_rows = j->m;
	if (j->transposed) {
		int64_t rows =
			num_max(CPU_ITEM_WORK / row_work + 1, num_min(SKINNY_ROWS, j->n / want));
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, mm->skinny_band));
	} else if (j->tiled) {
		int64_t rows = num_max(CPU_ITEM_WORK / row_work + 1,
		                       num_min(KERN_PANELS * mm->nr, j->n / want));
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, mm->nr));
		items = (j->n + j->block - 1) / j->block;
		if (items < want && j->m >= 128) { /* each part packs the weights again */
			j->part_rows =
				(int)num_round_up((size_t)num_max(64, j->m * items / want), mm->mr);
			j->parts = (j->m + j->part_rows - 1) / j->part_rows;
		}
	} else {
		/* the job's share of the items of all jobs; longer items read memory faster */
		want = (want + jobs - 1) / jobs;
		int64_t rows = num_max(KERN_ITEM_BYTES / (int64_t)j->row_bytes,
		                       CPU_ITEM_WORK / row_work + 1);
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, KERN_ITEM_ROWS));
		if (j->n / j->block < want) /* small: even shares */
			j->block = (int)num_min(
				j->block,
				(int64_t)num_round_up(
					(size_t)num_max(CPU_ITEM_WORK / row_work + 1, j->n / want),
					KERN_ITEM_ROWS));
		if (share_sets(j, j->block) && !share_sets(j, j->block + KERN_ITEM_ROWS))
			j->block = (int)num_min(j->n, (int64_t)j->block + KERN_ITEM_ROWS);
	}
}

/* Return the number of items of a job. */
static int64_t count_items(const struct cpu_job *j)
{
	return (int64_t)((j->n + j->block - 1) / j->block) * j->parts;
}

/* Return n weight rows from `row` on: in place, or decoded to f32 in `decoded`. */
static const void *weight_rows(const struct backend_plan *p, const struct cpu_job *j, int row,
                               int n, float *decoded)
{
	const unsigned char *w = j->w + (size_t)row * j->row_bytes;
	const struct type *t = type_get(j->type);

	if (!is_decoded(p, j))
		return w;
	for (int r = 0; r < n; r++)
		t->decode(decoded + (size_t)r * (size_t)j->k, w + (size_t)r * j->row_bytes,
		          (size_t)(j->k / t->info.block));
	return decoded;
}

/* Add the adapters, then apply scale, bias and cap, to rows [m0, m0 + m), columns [row, row + n) of
 * y. */
static void finish_product(const struct backend_plan *p, const struct cpu_job *j, int m0, int m,
                           int row, int n)
{
	const struct kern *k = &p->b->kern;
	const float mul = j->mul * j->scale, *bias = j->bias;

	if (j->t)
		cpu_adapt_add(p, j, m0, m, row, n);
	if (mul == 1 && !j->bias && j->cap == 0)
		return;
	for (int i = m0; i < m0 + m; i++) {
		float *y = j->y + (size_t)i * j->ldy + row;
		if (mul != 1)
			k->scale(y, y, mul, n);
		if (bias && p->adapt.on)
			bias = cpu_adapt_bias(p, j, i);
		if (bias)
			k->add_scaled(y, y, bias + row, 1, n);
		if (j->cap != 0)
			k->softcap(y, y, j->cap, n);
	}
}

/* Multiply by weight rows in place, from `row` on.  Returns the number of rows done. */
static int multiply_in_place(const struct backend_plan *p, const struct cpu_job *j, int row,
                             int end, unsigned char *scratch)
{
	const struct kern_mm *mm = job_mm(p, j);
	int own = !is_decoded(p, j),
	    n = own ? end - row : (int)num_min(decoded_rows(mm), end - row);
	float *decoded = (float *)(void *)(scratch + packed_bytes(mm, j->k));

	(j->transposed ? mm->skinny : mm->rows)(
		j->y + row, j->ldy, weight_rows(p, j, row, n, decoded),
		own ? j->row_bytes : (size_t)j->k * sizeof(float), j->x, j->x_row, j->m, n, j->k);
	finish_product(p, j, 0, j->m, row, n);
	return n;
}

/* Return the number of panels to pack at a time: 1 if all m rows of x fit in the cache with it.
 * bf16 tiles are bound by reading x, so two panels are better than one if they fit. */
static int count_panels(const struct kern_mm *mm, const struct cpu_job *j, int m)
{
	int64_t bytes = (int64_t)mm->pack_bytes(j->k), fit = KERN_PANEL_BYTES / bytes;

	if (mm->form == KERN_FORM_BF16 && bytes <= KERN_X_BYTES)
		fit = num_max(fit, 2);

	return (int64_t)m * (int64_t)j->x->q_row <= KERN_X_BYTES
	               ? 1
	               : (int)num_max(1, num_min(KERN_PANELS, fit));
}

/* Return the bytes to prefetch: up to n weight rows from `end` on, or the weights of the next
 * job. */
static struct kern_prefetch next_weights(const struct kern_mm *mm, const struct cpu_job *j, int end,
                                         int n, int m)
{
	int64_t rows = num_min(n, j->n - end),
		bytes = rows > 0 ? rows * (int64_t)j->row_bytes : j->next_bytes,
		calls = (int64_t)((n + mm->nr - 1) / mm->nr) * ((m + mm->mr - 1) / mm->mr),
		steps = calls * num_max(1, j->k / 256);
	const unsigned char *at = rows > 0 ? j->w + (size_t)end * j->row_bytes : j->next;

	return (struct kern_prefetch){ .at = (const char *)at,
		                       .end = at ? (const char *)at + bytes : NULL,
		                       .lines = (int)(bytes / 64 / steps) + 1 };
}

/* Pack panels of weight rows from `row` on and multiply rows [m0, m0 + m) of x by them, in chunks
 * that fit in cache.  Returns the number of weight rows done. */
static int multiply_packed(const struct backend_plan *p, const struct cpu_job *j, int row, int end,
                           int m0, int m, unsigned char *scratch)
{
	const struct kern_mm *mm = job_mm(p, j);
	size_t panel = packed_bytes(mm, j->k) / KERN_PANELS;
	int own = !is_decoded(p, j);
	float *decoded = (float *)(void *)(scratch + KERN_PANELS * panel);
	int n = (int)num_min(count_panels(mm, j, m) * mm->nr, end - row);
	int chunk = kern_x_rows(mm, j->x->q_row);
	struct kern_prefetch next = next_weights(mm, j, row + n, n, m);
	struct kern_act x = *j->x;

	x.prefetch = &next;
	for (int r = 0; r < n; r += mm->nr) {
		int rows = (int)num_min(mm->nr, n - r);
		mm->pack(scratch + (size_t)(r / mm->nr) * panel,
		         weight_rows(p, j, row + r, rows, decoded),
		         own ? j->row_bytes : (size_t)j->k * sizeof(float), rows, j->k);
	}
	for (int at = m0; at < m0 + m; at += chunk) {
		int part = (int)num_min(chunk, m0 + m - at);
		for (int r = 0; r < n; r += mm->nr)
			mm->tile(j->y + (size_t)at * j->ldy + row + r, j->ldy,
			         scratch + (size_t)(r / mm->nr) * panel, &x, j->x_row + at, part,
			         (int)num_min(mm->nr, n - r), j->k);
		finish_product(p, j, at, part, row, n);
	}
	return n;
}

static void run_item(const struct backend_plan *p, const struct cpu_job *j, int64_t i,
                     unsigned char *scratch)
{
	int part = (int)(i % j->parts), m0 = part * j->part_rows,
	    m = (int)num_min(j->part_rows, j->m - m0);
	int row = (int)(i / j->parts) * j->block, end = (int)num_min(j->n, (int64_t)row + j->block);

	while (row < end)
		row += j->tiled ? multiply_packed(p, j, row, end, m0, m, scratch)
		                : multiply_in_place(p, j, row, end, scratch);
}

struct region {
	const struct backend_plan *p;
	const struct cpu_job *jobs;
	int n;
};

/* Find the job of item i: the last job with first <= i. */
static const struct cpu_job *find_job(const struct region *r, int64_t i)
{
	int lo = 0, hi = r->n - 1;

	while (lo < hi) {
		int mid = (lo + hi + 1) / 2;
		if (r->jobs[mid].first <= i)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &r->jobs[lo];
}

static void run_region_item(void *user, int64_t i, int worker)
{
	const struct region *r = user;
	const struct cpu_job *j = find_job(r, i);

	run_item(r->p, j, i - j->first, r->p->scratch + (size_t)worker * r->p->scratch_bytes);
}

void cpu_jobs_run(struct backend_plan *p, struct cpu_job *jobs, int n)
{
	struct region r = { p, jobs, n };
	int64_t items = 0, work = 0;

	for (int i = 0; i < n; i++) {
		divide_job(p, &jobs[i], n);
		jobs[i].first = items;
		items += count_items(&jobs[i]);
		work += (int64_t)jobs[i].m * jobs[i].n * jobs[i].k;
		if (i) {
			jobs[i - 1].next = jobs[i].w;
			jobs[i - 1].next_bytes =
				(int64_t)jobs[i].row_bytes * num_min(64, jobs[i].n);
		}
	}
	if (work > 2 * CPU_ITEM_WORK) {
		pool_run(p->b->pool, items, run_region_item, &r);
		return;
	}
	for (int64_t i = 0; i < items; i++) /* in this thread: cheaper than waking a worker */
		run_region_item(&r, i, 0);
}

void cpu_mm_run(struct backend_plan *p, const struct cpu_step *step)
{
	struct kern_act direct = { .form = KERN_FORM_F32 };
	int32_t src = cpu_node(p, step->first)->src[0];
	int m = cpu_rows(p, step->rows);

	direct.q = cpu_value(p, src, 0);
	direct.q_row = (size_t)cpu_node(p, src)->cols * sizeof(float);
	for (int i = 0; i < step->n; i++) {
		const struct graph_node *n = cpu_node(p, step->first + i);
		const struct weight *w = &p->m.weights[n->w[0]];
		const struct cpu_act *a = cpu_act_find(p, src, w->type);

		p->jobs[i] = (struct cpu_job){
			.type = w->type,
			.n = n->cols,
			.k = (int)w->ne[0],
			.m = m,
			.w = w->at[0],
			.row_bytes = w->row_bytes,
			.weight = n->w[0],
			.bias_weight = n->w[1],
			.in = direct,
			.out = n->rows == GRAPH_OUT,
			.x = a ? &a->x : &direct,
			.y = cpu_value(p, step->first + i, 0),
			.ldy = (size_t)n->cols,
			.bias = n->w[1] < 0 ? NULL : p->m.weights[n->w[1]].at[0],
			.mul = n->mm.mul == 0 ? 1 : n->mm.mul,
			.scale = w->scale,
			.cap = n->mm.cap,
		};
	}
	cpu_products_run(p, p->jobs, step->n);
}
