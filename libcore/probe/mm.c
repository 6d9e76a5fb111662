/* probe/mm.c - measure matrix products with weights in memory, with packed panels in cache, packing
 * and quantising */
#include "probe/probe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "kern/act.h"
#include "kern/data.h"
#include "kern/dispatch.h"
#include "type/type.h"

#include <string.h>

enum { CHECKED_ROWS = 53, CHECKED_M = 24 };

static int uses_panels(const struct probe_case *c)
{
	return c->kind == PROBE_TILE || c->kind == PROBE_PACK || c->kind == PROBE_PANEL;
}

static const struct kern_mm *mm_of(const struct probe_job *j) { return probe_loops(j->k, j->c); }

static float *y_of(const struct probe_job *j, const struct probe_worker *w)
{
	return j->y + (size_t)w->id * j->y_floats;
}

typedef void mm_fn(float *y, size_t ldy, const void *w, size_t row_bytes, const struct kern_act *x,
                   int x_row, int m, int n, int k);
static mm_fn *row_loop(const struct probe_job *j)
{
	return j->c->kind == PROBE_SKINNY ? mm_of(j)->skinny : mm_of(j)->rows;
}

/* Multiply the next j->block rows of the matrix.  After its last row, the next copy of the matrix
 * in memory is used. */
static double rows_piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	const struct probe_case *c = j->c;
	int n = (int)num_min(j->block, c->n - w->row);

	if ((size_t)(w->to - w->at) < (size_t)n * j->row_bytes) {
		w->at = w->from;
		w->row = 0;
		n = (int)num_min(j->block, c->n);
	}
	row_loop(j)(y_of(j, w) + w->row, (size_t)c->n, w->at, j->row_bytes, &j->x, 0, c->m, n,
	            c->k);
	w->at += (size_t)n * j->row_bytes;
	w->row = (w->row + n) % c->n;
	return 2.0 * c->m * n * c->k;
}

static double tile_piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	const struct probe_case *c = j->c;
	const struct kern_mm *mm = mm_of(j);
	int chunk = kern_x_rows(mm, j->x.q_row);
	const unsigned char *panels = j->panels + (size_t)w->id * KERN_PANELS * j->panel_bytes;

	for (int at = 0; at < c->m; at += chunk)
		for (int i = 0; i < KERN_PANELS; i++)
			mm->tile(y_of(j, w) + at * KERN_PANELS * mm->nr + i * mm->nr,
			         (size_t)KERN_PANELS * mm->nr, panels + (size_t)i * j->panel_bytes,
			         &j->x, at, (int)num_min(chunk, c->m - at), mm->nr, c->k);
	return 2.0 * KERN_PANELS * mm->nr * c->m * c->k;
}

static double pack_piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	const struct kern_mm *mm = mm_of(j);
	size_t bytes = (size_t)mm->nr * j->row_bytes;

	if ((size_t)(w->to - w->at) < bytes)
		w->at = w->from;
	mm->pack(j->panels + (size_t)w->id * KERN_PANELS * j->panel_bytes, w->at, j->row_bytes,
	         mm->nr, j->c->k);
	w->at += bytes;
	return (double)mm->nr * j->c->k;
}

/* Pack a panel of weights, and multiply it with all rows of x; prefetch the next panel. */
static double panel_piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	const struct probe_case *c = j->c;
	const struct kern_mm *mm = mm_of(j);
	size_t bytes = (size_t)mm->nr * j->row_bytes;
	unsigned char *panel = j->panels + (size_t)w->id * KERN_PANELS * j->panel_bytes;
	int chunk = kern_x_rows(mm, j->x.q_row), calls = (c->m + mm->mr - 1) / mm->mr;
	struct kern_act x = j->x;

	if ((size_t)(w->to - w->at) < 2 * bytes)
		w->at = w->from;
	struct kern_prefetch next = {
		.at = (const char *)w->at + bytes,
		.end = (const char *)w->at + 2 * bytes,
		.lines = (int)(bytes / 64 / (size_t)(calls * (int)num_max(1, c->k / 256))) + 1,
	};

	x.prefetch = &next;
	mm->pack(panel, w->at, j->row_bytes, mm->nr, c->k);
	for (int at = 0; at < c->m; at += chunk)
		mm->tile(y_of(j, w) + (size_t)at * (size_t)c->n + w->row, (size_t)c->n, panel, &x,
		         at, (int)num_min(chunk, c->m - at), mm->nr, c->k);
	w->at += bytes;
	w->row += mm->nr;
	if (w->row + mm->nr > c->n)
		w->row = 0;
	return 2.0 * mm->nr * c->m * c->k;
}

static double quant_piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	enum { TIMES = 32 };
	struct kern_act x = j->x;

	x.q = (char *)x.q + (size_t)w->id * x.q_row; /* each worker writes its own row */
	for (int i = 0; i < TIMES; i++)
		mm_of(j)->quant(&x, 0, j->fx, j->c->k);
	return 4.0 * TIMES * j->c->k;
}

static int act_new(struct kern_act *x, const struct kern_mm *mm, const float *fx, int m, int k)
{
	size_t bytes = kern_act_bytes(mm->form, m, k),
	       transposed = mm->transpose ? kern_transposed_bytes(mm->form, m, k) : 0;
	char *at = mem_aligned(MEM_PLAN, 64, num_round_up(bytes + transposed, 64));

	if (!at)
		return INFER_ENOMEM;
	memset(at, 0, bytes + transposed);
	kern_act_init(x, mm->form, at, m, k);
	for (int i = 0; i < m; i++)
		mm->quant(x, i, fx + (size_t)i * (size_t)k, k);
	if (!mm->transpose)
		return INFER_OK;
	x->transposed = at + bytes;
	for (int i = 0; i < m; i += KERN_LANES)
		mm->transpose(x, i, (int)num_min(KERN_LANES, m - i), k, 0, k);
	return INFER_OK;
}

/* Compare the results of a kernel bit for bit with the row kernel of the set ref, which quantises x
 * itself.  Sets j->same. */
static int compare_with_ref(struct probe_job *j, infer_error *err)
{
	const struct probe_case *c = j->c;
	const struct kern_mm *mm = mm_of(j), *ref = probe_loops(&j->p->ref, c);
	int tiled = uses_panels(c), m = c->kind == PROBE_PACK ? 1 : (int)num_min(c->m, CHECKED_M),
	    n = tiled ? mm->nr : (int)num_min(c->n, CHECKED_ROWS);
	size_t all = (size_t)m * (size_t)n;
	float *y = mem_aligned(MEM_PLAN, 64, num_round_up(2 * all * sizeof *y, 64));
	struct kern_act x = { 0 };

	if (!y || act_new(&x, ref, j->fx, m, c->k)) {
		mem_free(y);
		return err_nomem(err);
	}
	memset(y, 0, 2 * all * sizeof *y);
	ref->rows(y, (size_t)n, j->p->weights, j->row_bytes, &x, 0, m, n, c->k);
	if (tiled) {
		mm->pack(j->panels, j->p->weights, j->row_bytes, n, c->k);
		mm->tile(y + all, (size_t)n, j->panels, &j->x, 0, m, n, c->k);
	} else {
		row_loop(j)(y + all, (size_t)n, j->p->weights, j->row_bytes, &j->x, 0, m, n, c->k);
	}
	j->same = kern_data_differ(y + all, y, all) < 0;
	mem_free(x.q);
	mem_free(y);
	return INFER_OK;
}

/* Return the number of weight rows per call, as a backend chooses it: small matrices are divided
 * among all threads. */
static int choose_block(const struct probe_job *j)
{
	size_t like = j->c->kind == PROBE_SKINNY ? mm_of(j)->skinny_band : KERN_ITEM_ROWS;
	int64_t most = (int64_t)num_round_up((size_t)KERN_ITEM_BYTES / j->row_bytes, like),
		share = (int64_t)num_round_up((size_t)num_max(j->c->n / (4 * j->p->threads), 1),
	                                      like);

	return (int)num_min(num_min(most, share), j->c->n);
}

/* Return the ceiling (INFER_LIMIT_*) of a product that is not bound by memory. */
static int compute_limit(const struct probe_job *j)
{
	switch (mm_of(j)->form) {
	case KERN_FORM_F32:
		return INFER_LIMIT_FMA;
	case KERN_FORM_BF16:
		return j->k->peak_tile && j->c->kind != PROBE_PACK ? INFER_LIMIT_TILE
		                                                   : INFER_LIMIT_FMA;
	case KERN_FORM_Q8:
	case KERN_FORM_Q8K:
		break;
	}
	return INFER_LIMIT_DOT;
}

/* Let j use the probe's memory for n_fx random floats and n_y results, enlarged if necessary.  The
 * memory is kept for the next case, because clearing new pages takes longer than measuring. */
static int borrow_floats(struct probe_job *j, infer_probe *p, size_t n_fx, size_t n_y,
                         infer_error *err)
{
	j->borrows = 1;
	if (p->n_fx < n_fx) {
		mem_free(p->fx);
		p->fx = probe_floats(n_fx, 1);
		p->n_fx = p->fx ? n_fx : 0;
	}
	if (p->n_y < n_y) {
		mem_free(p->y);
		p->y = mem_aligned(MEM_PLAN, 64, n_y * sizeof(float));
		p->n_y = p->y ? n_y : 0;
		if (p->y)
			memset(p->y, 0, n_y * sizeof(float));
	}
	j->fx = p->fx;
	j->y = p->y;
	return p->fx && p->y ? INFER_OK : err_nomem(err);
}

void probe_forget(infer_probe *p)
{
	mem_free(p->fx);
	mem_free(p->y);
	p->fx = p->y = NULL;
	p->n_fx = p->n_y = 0;
}

int probe_mm(struct probe_job *j, infer_probe *p, infer_error *err)
{
	const struct probe_case *c = j->c;
	const struct kern_mm *mm = mm_of(j);
	int m = c->kind == PROBE_PACK ? 1 : c->m;
	size_t threads = (size_t)p->threads;

	probe_fill(p, c->type, c->k);
	j->row_bytes = type_row_bytes(c->type, c->k);
	j->block = choose_block(j);
	j->y_floats = num_round_up((size_t)m * (size_t)(uses_panels(c) && c->kind != PROBE_PANEL
	                                                        ? KERN_PANELS * mm->nr
	                                                        : c->n),
	                           16);
	TRY(borrow_floats(j, p, (size_t)m * (size_t)c->k, threads * j->y_floats, err));
	if (act_new(&j->x, mm, j->fx, m, c->k))
		return err_nomem(err);
	if (uses_panels(c)) {
		j->panel_bytes = num_round_up(mm->pack_bytes(c->k), 64);
		j->panels = mem_aligned(MEM_PLAN, 64, threads * KERN_PANELS * j->panel_bytes);
	}
	if (uses_panels(c) && !j->panels)
		return err_nomem(err);
	if (!(p->flags & PROBE_UNCHECKED))
		TRY(compare_with_ref(j, err));
	for (size_t i = 0; c->kind == PROBE_TILE && i < threads * KERN_PANELS; i++)
		mm->pack(j->panels + i * j->panel_bytes,
		         p->weights + i % KERN_PANELS * mm->nr * j->row_bytes, j->row_bytes, mm->nr,
		         c->k);
	j->fn = !uses_panels(c)         ? rows_piece
	        : c->kind == PROBE_TILE ? tile_piece
	        : c->kind == PROBE_PACK ? pack_piece
	                                : panel_piece;
	j->limit = compute_limit(j);
	j->bytes_per_op = (double)j->row_bytes / c->k / (c->kind == PROBE_PACK ? 1 : 2.0 * m);
	if (c->kind != PROBE_TILE)
		j->mem = (struct probe_memory){ p->weights, p->bytes, j->row_bytes * 16 };
	return INFER_OK;
}

int probe_quant(struct probe_job *j, infer_probe *p, infer_error *err)
{
	const struct probe_case *c = j->c;
	const struct kern_mm *mm = mm_of(j), *ref = probe_loops(&p->ref, c);
	int m = p->threads, k = c->k;
	struct kern_act x = { 0 };
	double *a;

	j->fx = probe_floats((size_t)m * (size_t)k, 1);
	a = mem_alloc(MEM_PLAN, 2 * (size_t)k, sizeof *a);
	if (!j->fx || !a || act_new(&j->x, mm, j->fx, m, k) || act_new(&x, ref, j->fx, 1, k)) {
		mem_free(a);
		return err_nomem(err);
	}
	kern_data_act(a, &j->x, 0, k);
	kern_data_act(a + k, &x, 0, k);
	j->same = !memcmp(a, a + k, (size_t)k * sizeof *a);
	mem_free(x.q);
	mem_free(a);
	j->fn = quant_piece;
	j->limit = INFER_LIMIT_FMA;
	j->bytes_per_op = (4 + (double)j->x.q_row / k) / 4;
	return INFER_OK;
}
