/* Matrix products as blocks of weight rows.  An item computes whole results, so how they are cut changes no bit.
 *
 * Few rows of x: weights are read where they lie, each byte once.  Many: nr weight rows at a time are packed into the
 * worker's scratch and all rows of x go past them.  A type without loops of its own is decoded to f32 in scratch. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/num.h"
#include "type/type.h"

enum {
	FEW_ROWS = 8,                /* up to here weights in place */
	ITEM_BYTES = 64 << 10,       /* of weights in place: a few pages, far below a worker's share */
	ITEM_WORK = 64 << 10,        /* multiplications below which an item is not worth a worker's turn */
	DECODED = 16,                /* weight rows decoded at a time */
};

static int has_loops(const struct backend *b, int type) { return b->kern.mm[type].rows != NULL; }

const struct kern_mm *cpu_mm(const struct backend *b, int type)
{
	return has_loops(b, type) ? &b->kern.mm[type] : &b->kern.mm[INFER_F32];
}

static int decoded_rows(const struct kern_mm *mm) { return mm->nr > DECODED ? mm->nr : DECODED; }

size_t cpu_tile_scratch(const struct backend *b, int type, int64_t k)
{
	const struct kern_mm *mm = cpu_mm(b, type);
	size_t packed = mm->tile ? num_round_up(mm->pack_bytes((int)k), 64) : 0;

	return packed + (has_loops(b, type) ? 0 : (size_t)decoded_rows(mm) * (size_t)k * sizeof(float));
}

void cpu_job_cut(const struct backend_plan *p, struct cpu_job *j)
{
	const struct kern_mm *mm = cpu_mm(p->b, j->type);
	int64_t row_work = (int64_t)j->k * j->m, want = 4 * (int64_t)pool_threads(p->b->pool), items;

	j->tiled = j->m > FEW_ROWS && mm->tile;
	j->parts = 1;
	j->part_rows = j->m;
	if (j->tiled) {
		j->block = (int)num_min(j->n, num_round_up((size_t)(ITEM_WORK / row_work + 1), mm->nr));
		items = (j->n + j->block - 1) / j->block;
		if (items < want && j->m >= 128) {      /* pack again in every part: only where x is long */
			j->part_rows = (int)num_round_up((size_t)num_max(64, j->m * items / want), mm->mr);
			j->parts = (j->m + j->part_rows - 1) / j->part_rows;
		}
	} else {
		int64_t rows = num_max(ITEM_BYTES / (int64_t)j->row_bytes, ITEM_WORK / row_work + 1);
		j->block = (int)num_min(j->n, (int64_t)num_round_up((size_t)rows, 16));
		if (j->n / j->block < want)             /* small: even shares, in whole blocks of what loops like */
			j->block = (int)num_min(j->block, (int64_t)num_round_up((size_t)num_max(ITEM_WORK / row_work + 1, j->n / want), 16));
	}
}

static int64_t items_of(const struct cpu_job *j) { return (int64_t)((j->n + j->block - 1) / j->block) * j->parts; }

/* n weight rows from `row` on as loops of `mm` read them: in place, or decoded to f32 in scratch. */
static const void *weights(const struct backend_plan *p, const struct cpu_job *j, int row, int n, float *decoded)
{
	const unsigned char *w = j->w + (size_t)row * j->row_bytes;
	const struct type *t = type_get(j->type);

	if (has_loops(p->b, j->type))
		return w;
	for (int r = 0; r < n; r++)
		t->decode(decoded + (size_t)r * (size_t)j->k, w + (size_t)r * j->row_bytes, (size_t)(j->k / t->info.block));
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

static void item(const struct backend_plan *p, const struct cpu_job *j, int64_t i, unsigned char *scratch)
{
	const struct kern_mm *mm = cpu_mm(p->b, j->type);
	int part = (int)(i % j->parts), m0 = part * j->part_rows, m = (int)num_min(j->part_rows, j->m - m0);
	int row = (int)(i / j->parts) * j->block, end = (int)num_min(j->n, (int64_t)row + j->block), x_row = j->x_row + m0;
	int in_place = has_loops(p->b, j->type);
	size_t row_bytes = in_place ? j->row_bytes : (size_t)j->k * sizeof(float);
	float *decoded = (float *)(void *)(scratch + (mm->tile ? num_round_up(mm->pack_bytes(j->k), 64) : 0));
	int step = j->tiled ? mm->nr : in_place ? end - row : decoded_rows(mm);

	for (int n; row < end; row += n) {
		n = (int)num_min(step, end - row);
		const void *w = weights(p, j, row, n, decoded);
		float *y = j->y + (size_t)m0 * j->ldy + row;
		if (j->tiled) {
			mm->pack(scratch, w, row_bytes, n, j->k);
			mm->tile(y, j->ldy, scratch, j->x, x_row, m, n, j->k);
		} else {
			mm->rows(y, j->ldy, w, row_bytes, j->x, x_row, m, n, j->k);
		}
		finish(&p->b->kern, j, m0, m, row, n);
	}
}

struct region { const struct backend_plan *p; const struct cpu_job *jobs; int n; };

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
	}
	if (work > 2 * ITEM_WORK) {
		pool_run(p->b->pool, items, region_item, &r);
		return;
	}
	for (int64_t i = 0; i < items; i++)     /* less than waking a worker takes */
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
		float mul = n->f[0] == 0 ? 1 : n->f[0];

		p->jobs[i] = (struct cpu_job){
			.type = w->type, .n = n->cols, .k = (int)w->ne[0], .m = m, .w = w->at[0], .row_bytes = w->row_bytes,
			.x = a ? &a->x : &direct, .y = cpu_value(p, step->first + i, 0), .ldy = (size_t)n->cols,
			.bias = n->w[1] < 0 ? NULL : p->m.weights[n->w[1]].at[0], .mul = mul * w->scale, .cap = n->f[1],
		};
		cpu_job_cut(p, &p->jobs[i]);
	}
	cpu_jobs_run(p, p->jobs, step->n);
}
