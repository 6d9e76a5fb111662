/* Matrix products as blocks of weight rows.  An item computes whole results, so how they are cut
 * changes no bit.
 *
 * Few rows of x: weights are read where they lie, each byte once; some more: the same, from a
 * turned copy of x, where a set has the loop for that.  Many: nr weight rows at a time
 * are packed into the worker's scratch and all rows of x go past them; meanwhile the memory is
 * asked for the weights that are packed next.  A type without loops of its own is decoded to f32 in
 * scratch. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/num.h"
#include "type/type.h"

enum {
	FEW_ROWS = 5,        /* up to here weights in place */
	TURNED_BAND = 48,    /* weight rows that the loop past a turned copy of x takes together */
	TURNED_ROWS = 96,    /* of an item, at most */
	FEW_FLOAT_ROWS = 64, /* the same of float weights, which need no unpacking */
	ITEM_BYTES = 512 << 10, /* of weights in place: eight streams of some pages each */
	ITEM_WORK = 64 << 10, /* multiplications below which an item is not worth a worker's turn */
	DECODED = 16,         /* weight rows decoded at a time */
	PANELS = 4,           /* packed at a time, at most */
	PANEL_BYTES = 320 << 10, /* of panels packed at a time, if that is one at least */
	X_BYTES = 512 << 10, /* of x that go past them before the next rows of x do: what stays in
	                         L2 beside them */
};

static int has_loops(const struct backend *b, int type) { return b->kern.mm[type].rows != NULL; }

const struct kern_mm *cpu_mm(const struct backend *b, int type)
{
	return has_loops(b, type) ? &b->kern.mm[type] : &b->kern.mm[INFER_F32];
}

/* Lanes come by eights: in the time that five empty ones cost a panel is packed.  Up to 12 rows it
 * is but for 7, which a tile takes in three parts. */
static int few_pays(const struct kern_mm *mm, int m)
{
	return mm->few && ((m > 12 && m <= CPU_TURNED && (m - 1) % 8 > 2) ||
	                   (m == 7 && mm->form == KERN_FORM_Q8));
}

/* The most rows of x that go past weights in place, and then past a turned copy of them, where
 * tiles are many times as quick as to pack for them.  Before the first limit rows cost what they
 * did alone. */
static const struct {
	uint8_t in_place, few;
} limits[INFER_TYPE_COUNT] = {
	[INFER_Q8_0] = { 5, 32 },  [INFER_Q4_0] = { 7, 32 },   [INFER_Q4_1] = { 7, 32 },
	[INFER_Q5_0] = { 7, 32 },  [INFER_Q5_1] = { 7, 32 },   [INFER_IQ4_NL] = { 7, 32 },
	[INFER_MXFP4] = { 7, 32 }, [INFER_Q4_K] = { 11, 32 },  [INFER_Q6_K] = { 8, 16 },
	[INFER_Q5_K] = { 11, 0 },  [INFER_IQ4_XS] = { 11, 0 }, [INFER_Q2_K] = { 7, 0 },
};

enum cpu_way cpu_way(const struct backend *b, int type, int m)
{
	const struct kern_mm *mm = cpu_mm(b, type);

	if (mm->tile_turned && limits[type].in_place)
		return m <= limits[type].in_place         ? CPU_IN_PLACE
		       : mm->few && m <= limits[type].few ? CPU_FEW
		                                          : CPU_TILE;
	if (few_pays(mm, m))
		return CPU_FEW;
	return mm->tile && m > (mm->form == KERN_FORM_F32 ? FEW_FLOAT_ROWS : FEW_ROWS)
	               ? CPU_TILE
	               : CPU_IN_PLACE;
}

int cpu_turned(const struct backend *b, int type, int m)
{
	enum cpu_way way = cpu_way(b, type, m);

	return way == CPU_FEW || (way == CPU_TILE && cpu_mm(b, type)->tile_turned);
}

static int decoded_rows(const struct kern_mm *mm) { return mm->nr > DECODED ? mm->nr : DECODED; }

static size_t packed_bytes(const struct kern_mm *mm, int64_t k)
{
	return mm->tile ? PANELS * num_round_up(mm->pack_bytes((int)k), 64) : 0;
}

size_t cpu_tile_scratch(const struct backend *b, int type, int64_t k)
{
	const struct kern_mm *mm = cpu_mm(b, type);

	return packed_bytes(mm, k) +
	       (has_loops(b, type) ? 0 : (size_t)decoded_rows(mm) * (size_t)k * sizeof(float));
}

void cpu_job_cut(const struct backend_plan *p, struct cpu_job *j)
{
	const struct kern_mm *mm = cpu_mm(p->b, j->type);
	int64_t row_work = (int64_t)j->k * j->m, want = 4 * (int64_t)pool_threads(p->b->pool),
		items;

	enum cpu_way way = cpu_way(p->b, j->type, j->m);

	j->turned = way == CPU_FEW && j->x->turned;
	j->tiled = way == CPU_TILE || (way == CPU_FEW && !j->turned && j->m > FEW_ROWS);
	j->parts = 1;
	j->part_rows = j->m;
	if (j->turned) {
		int64_t rows = num_max(ITEM_WORK / row_work + 1, num_min(TURNED_ROWS, j->n / want));
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, TURNED_BAND));
	} else if (j->tiled) {
		int64_t rows =
			num_max(ITEM_WORK / row_work + 1, num_min(PANELS * mm->nr, j->n / want));
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, mm->nr));
		items = (j->n + j->block - 1) / j->block;
		if (items < want &&
		    j->m >= 128) { /* pack again in every part: only where x is long */
			j->part_rows =
				(int)num_round_up((size_t)num_max(64, j->m * items / want), mm->mr);
			j->parts = (j->m + j->part_rows - 1) / j->part_rows;
		}
	} else {
		int64_t rows =
			num_max(ITEM_BYTES / (int64_t)j->row_bytes, ITEM_WORK / row_work + 1);
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, 16));
		if (j->n / j->block <
		    want) /* small: even shares, in whole blocks of what loops like */
			j->block = (int)num_min(
				j->block,
				(int64_t)num_round_up(
					(size_t)num_max(ITEM_WORK / row_work + 1, j->n / want),
					16));
	}
}

static int64_t items_of(const struct cpu_job *j)
{
	return (int64_t)((j->n + j->block - 1) / j->block) * j->parts;
}

/* n weight rows from `row` on as the loops read them: in place, or decoded to f32 in scratch. */
static const void *weights(const struct backend_plan *p, const struct cpu_job *j, int row, int n,
                           float *decoded)
{
	const unsigned char *w = j->w + (size_t)row * j->row_bytes;
	const struct type *t = type_get(j->type);

	if (has_loops(p->b, j->type))
		return w;
	for (int r = 0; r < n; r++)
		t->decode(decoded + (size_t)r * (size_t)j->k, w + (size_t)r * j->row_bytes,
		          (size_t)(j->k / t->info.block));
	return decoded;
}

static void finish(const struct kern *k, const struct cpu_job *j, int m0, int m, int row, int n)
{
	if (j->mul == 1 && !j->bias && j->cap == 0)
		return;
	for (int i = m0; i < m0 + m; i++) {
		float *y = j->y + (size_t)i * j->ldy + row;
		if (j->mul != 1)
			k->scale(y, y, j->mul, n);
		if (j->bias)
			k->add_scaled(y, y, j->bias + row, 1, n);
		if (j->cap != 0)
			k->softcap(y, y, j->cap, n);
	}
}

/* Weight rows [row, end) in place, as far as one call goes. */
static int rows_item(const struct backend_plan *p, const struct cpu_job *j, int row, int end,
                     unsigned char *scratch)
{
	const struct kern_mm *mm = cpu_mm(p->b, j->type);
	int own = has_loops(p->b, j->type),
	    n = own ? end - row : (int)num_min(decoded_rows(mm), end - row);
	float *decoded = (float *)(void *)(scratch + packed_bytes(mm, j->k));

	(j->turned ? mm->few : mm->rows)(j->y + row, j->ldy, weights(p, j, row, n, decoded),
	                                 own ? j->row_bytes : (size_t)j->k * sizeof(float), j->x,
	                                 j->x_row, j->m, n, j->k);
	finish(&p->b->kern, j, 0, j->m, row, n);
	return n;
}

/* Panels that are packed at a time: one, where all m rows of x stay in cache beside it. */
static int panels_of(const struct kern_mm *mm, const struct cpu_job *j, int m)
{
	int64_t fit = PANEL_BYTES / (int64_t)mm->pack_bytes(j->k);

	return (int64_t)m * (int64_t)j->x->q_row <= X_BYTES ? 1
	                                                    : (int)num_max(1, num_min(PANELS, fit));
}

/* What follows weight row `end` in memory, which is packed next: as much as n rows are. */
static struct kern_next next_of(const struct kern_mm *mm, const struct cpu_job *j, int end, int n,
                                int m)
{
	int64_t rows = num_min(n, j->n - end),
		bytes = rows > 0 ? rows * (int64_t)j->row_bytes : j->then_bytes,
		calls = (int64_t)((n + mm->nr - 1) / mm->nr) * ((m + mm->mr - 1) / mm->mr),
		turns = calls * num_max(1, j->k / 256);
	const unsigned char *at = rows > 0 ? j->w + (size_t)end * j->row_bytes : j->then;

	return (struct kern_next){ .at = (const char *)at,
		                   .end = (const char *)at + bytes,
		                   .lines = (int)(bytes / 64 / turns) + 1 };
}

/* Weight rows [row, end), as many panels as are packed at a time; x rows [m0, m0 + m) go past them,
 * as many at once as stay in cache. */
static int tile_item(const struct backend_plan *p, const struct cpu_job *j, int row, int end,
                     int m0, int m, unsigned char *scratch)
{
	const struct kern_mm *mm = cpu_mm(p->b, j->type);
	size_t panel = packed_bytes(mm, j->k) / PANELS, own = has_loops(p->b, j->type);
	float *decoded = (float *)(void *)(scratch + PANELS * panel);
	int n = (int)num_min(panels_of(mm, j, m) * mm->nr, end - row);
	int chunk = (int)num_max(mm->mr, X_BYTES / (int64_t)(j->x->q_row + 1) / mm->mr * mm->mr);
	struct kern_next next = next_of(mm, j, row + n, n, m);
	struct kern_act x = *j->x;

	x.next = &next;
	for (int r = 0; r < n; r += mm->nr) {
		int rows = (int)num_min(mm->nr, n - r);
		mm->pack(scratch + (size_t)(r / mm->nr) * panel,
		         weights(p, j, row + r, rows, decoded),
		         own ? j->row_bytes : (size_t)j->k * sizeof(float), rows, j->k);
	}
	for (int at = m0; at < m0 + m; at += chunk) {
		int part = (int)num_min(chunk, m0 + m - at);
		for (int r = 0; r < n; r += mm->nr)
			mm->tile(j->y + (size_t)at * j->ldy + row + r, j->ldy,
			         scratch + (size_t)(r / mm->nr) * panel, &x, j->x_row + at, part,
			         (int)num_min(mm->nr, n - r), j->k);
		finish(&p->b->kern, j, at, part, row, n);
	}
	return n;
}

static void item(const struct backend_plan *p, const struct cpu_job *j, int64_t i,
                 unsigned char *scratch)
{
	int part = (int)(i % j->parts), m0 = part * j->part_rows,
	    m = (int)num_min(j->part_rows, j->m - m0);
	int row = (int)(i / j->parts) * j->block, end = (int)num_min(j->n, (int64_t)row + j->block);

	while (row < end)
		row += j->tiled ? tile_item(p, j, row, end, m0, m, scratch)
		                : rows_item(p, j, row, end, scratch);
}

struct region {
	const struct backend_plan *p;
	const struct cpu_job *jobs;
	int n;
};

/* The job that item i belongs to: the last whose first is not above i. */
static const struct cpu_job *job_of(const struct region *r, int64_t i)
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

static void region_item(void *user, int64_t i, int worker)
{
	const struct region *r = user;
	const struct cpu_job *j = job_of(r, i);

	item(r->p, j, i - j->first, r->p->scratch + (size_t)worker * r->p->scratch_bytes);
}

void cpu_jobs_run(struct backend_plan *p, struct cpu_job *jobs, int n)
{
	struct region r = { p, jobs, n };
	int64_t items = 0, work = 0;

	for (int i = 0; i < n; i++) {
		jobs[i].first = items;
		items += items_of(&jobs[i]);
		work += (int64_t)jobs[i].m * jobs[i].n * jobs[i].k;
		if (i) {
			jobs[i - 1].then = jobs[i].w;
			jobs[i - 1].then_bytes =
				(int64_t)jobs[i].row_bytes * num_min(64, jobs[i].n);
		}
	}
	if (work > 2 * ITEM_WORK) {
		pool_run(p->b->pool, items, region_item, &r);
		return;
	}
	for (int64_t i = 0; i < items; i++) /* less than waking a worker takes */
		region_item(&r, i, 0);
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
		float mul = n->mm.mul == 0 ? 1 : n->mm.mul;

		p->jobs[i] = (struct cpu_job){
			.type = w->type,
			.n = n->cols,
			.k = (int)w->ne[0],
			.m = m,
			.w = w->at[0],
			.row_bytes = w->row_bytes,
			.x = a ? &a->x : &direct,
			.y = cpu_value(p, step->first + i, 0),
			.ldy = (size_t)n->cols,
			.bias = n->w[1] < 0 ? NULL : p->m.weights[n->w[1]].at[0],
			.mul = mul * w->scale,
			.cap = n->mm.cap,
		};
		cpu_job_cut(p, &p->jobs[i]);
	}
	cpu_jobs_run(p, p->jobs, step->n);
}
