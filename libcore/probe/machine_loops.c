/* probe/machine_loops.c - measure all kernels of the widest kernel set, for predictions */
#include <infer/kvtype.h>
#include <infer/machine.h>
#include "probe/probe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/clock.h"
#include "kern/act.h"
#include "kern/kv.h"
#include "base/num.h"
#include "type/type.h"

#include <string.h>

/* N x K: shape of the matrix of a case, large enough for all threads.  CACHED: bytes that a thread
 * reads repeatedly in cached cases; larger than its private caches, smaller than the shared
 * cache. */
enum { K = 2048, N = 2048, CACHED = 3 << 20 };
/* State of the measurement.  reads: rates of reading memory (bytes/s); dots: rates of int8 products
 * (GOP/s), both measured between the kernels. */
enum { READS = 1024, DOTS = INFER_TYPE_COUNT + 32 };
struct loops {
	infer_probe *p;
	double reads[READS], dots[DOTS];
	int32_t n_reads, n_dots;
};

/* Set *gop_s to the current rate of int8 products.  The clock frequency changes with load, so the
 * rates of each type are divided by this rate, which is measured at about the same time. */
static int measure_clock(double *gop_s, struct loops *l, infer_error *err)
{
	struct infer_rate r;

	TRY(probe_alone(l->p, probe_dot, (struct probe_memory){ .grain = 1 }, &r, err));
	*gop_s = r.most;
	must(l->n_dots < DOTS);
	l->dots[l->n_dots++] = r.most;
	return INFER_OK;
}

static int make_job(struct probe_job *j, infer_probe *p, infer_error *err)
{
	if (j->c->kind <= PROBE_PANEL) { /* keep the weights, as values do not affect the time */
		p->fill_type = j->c->type;
		p->fill_k = j->c->k;
	}
	return probe_make(j, p, err);
}

/* Measure the rate of a case in GOP/s: the best of some turns, because other load can only reduce
 * it; for PROBE_ROWS the median, because shared caches vary.  cached: bytes of weights to read; 0:
 * all. */
static int measure_rate(infer_probe *p, const struct probe_case *c, size_t cached, double *gop_s,
                        infer_error *err)
{
	struct probe_job j = { .p = p, .k = &p->widest, .c = c, .mem = { .grain = 1 } };
	double rates[PROBE_TURNS], *at[2] = { rates, NULL };
	int rc = make_job(&j, p, err);
	probe_fn *fns[2] = { j.fn, NULL };
	struct probe_memory mems[2] = { j.mem, { .grain = 1 } };

	if (cached && mems[0].bytes > cached)
		mems[0].bytes = num_round_up(cached, mems[0].grain * (size_t)p->threads);
	if (!rc)
		rc = probe_run(p, fns, mems, &j, at, err);
	probe_job_fini(&j);
	TRY(rc);
	struct infer_rate r = probe_rate(rates, p->repeat, 1e-9);

	*gop_s = c->kind == PROBE_ROWS ? r.median : r.most;
	return INFER_OK;
}

/* Measure the rate of a case divided by that of reading memory: operations per byte.  Turns of
 * both alternate, because the rate of memory varies from second to second. */
static int measure_ops_per_byte(struct loops *l, const struct probe_case *c, double *ops_a_byte,
                                infer_error *err)
{
	enum { TURNS = 5, TURN_NS = 500000 };
	infer_probe *p = l->p, usual = *p;
	struct probe_job j = { .p = p, .k = &p->widest, .c = c, .mem = { .grain = 1 } };
	double rates[2][TURNS], *at[2] = { rates[0], rates[1] };
	int rc = make_job(&j, p, err);
	probe_fn *fns[2] = { probe_read, j.fn };
	struct probe_memory mems[2] = { { p->weights, p->bytes, 512 }, j.mem };

	p->repeat = TURNS;
	p->turn_ns = TURN_NS;
	if (!rc)
		rc = probe_run(p, fns, mems, &j, at, err);
	p->repeat = usual.repeat;
	p->turn_ns = usual.turn_ns;
	probe_job_fini(&j);
	TRY(rc);
	for (int i = 0; i < TURNS; i++) {
		if (l->n_reads < READS)
			l->reads[l->n_reads++] = rates[0][i];
		rates[1][i] /= rates[0][i];
	}
	*ops_a_byte = probe_rate(rates[1], TURNS, 1).median;
	return INFER_OK;
}

static int measure_type(struct infer_loop_rate *r, struct loops *l, int type, infer_error *err)
{
	infer_probe *p = l->p;
	static const int rows_m[] = { 1, 2, 4, 8 }, few_m[] = { 8, 16, 32 },
			 tile_m[] = { 16, 64, 512 };
	const struct kern_mm *mm = &p->widest.mm[type];
	struct probe_case c = { .type = type, .shape = "square", .n = N, .k = K };
	size_t cached = (size_t)p->threads * CACHED;

	if (!mm->rows || K % infer_type_info(type)->block)
		return INFER_OK;
	c.kind = PROBE_ROWS;
	for (int i = 0; i < 4; i++) {
		c.m = rows_m[i];
		if (i && c.m > mm->rows_max)
			break;
		TRY(measure_ops_per_byte(l, &c, &r->rows[i], err));
		TRY(measure_rate(p, &c, cached, &r->cached[i], err));
		r->rows[i] /= 2 * c.m;
		r->cached[i] /= 2 * c.m;
	}
	c.kind = PROBE_SKINNY;
	for (int i = 0; mm->skinny && i < 3; i++) {
		c.m = few_m[i];
		TRY(measure_rate(p, &c, 0, &r->few[i], err));
		r->few[i] /= 2 * c.m;
	}
	c.kind = PROBE_PANEL;
	for (int i = 0; mm->tile && i < 3; i++) {
		c.m = tile_m[i];
		TRY(measure_rate(p, &c, 0, &r->tile[i], err));
	}
	c.m = c.n = 1;
	c.kind = PROBE_QUANT;
	if (mm->form != KERN_FORM_F32) {
		TRY(measure_rate(p, &c, 0, &r->quant, err));
		r->quant /= 4;
	}
	return INFER_OK;
}

/* Measure attention over a whole split and over one page.  Sets *gop_s to the rate per position,
 * and *once_ns to the constant time per row and head on one thread. */
static int measure_attn(double *gop_s, double *once_ns, infer_probe *p, struct probe_case c,
                        infer_error *err)
{
	double all = 0, few = 0, ops = 4.0 * c.k * p->threads; /* per position and head */
	int rc;

	c.n = KERN_SPLIT;
	rc = measure_rate(p, &c, 0, &all, err);
	c.n = KERN_PAGE;
	if (!rc)
		rc = measure_rate(p, &c, 0, &few, err);
	TRY(rc);
	double long_ns = ops * KERN_SPLIT / all, short_ns = ops * KERN_PAGE / few,
	       each = (long_ns - short_ns) / (KERN_SPLIT - KERN_PAGE);

	*once_ns = short_ns - each * KERN_PAGE;
	*gop_s = ops / each;
	if (!(each > 0) || !(*once_ns > 0)) {
		*once_ns = 0;
		*gop_s = all;
	}
	return INFER_OK;
}

/* Measure storing rows of K and V into pages, in elements per ns. */
static int measure_put(double *rate, infer_probe *p, int type, infer_error *err)
{
	enum { DIM = 128, ROWS = 2048, TURNS = 3 };
	float *x = probe_floats(2 * DIM, 13);
	size_t page = kern_kv_bytes(type, DIM);
	double ns[TURNS];

	if (!x)
		return err_nomem(err);
	for (int t = 0; t < TURNS; t++) {
		int64_t from = clock_thread_ns();
		for (int i = 0; i < ROWS; i++) {
			unsigned char *at = p->weights + (size_t)(i / KERN_PAGE) * 2 * page;
			kern_k_put(&p->widest, at, type, i % KERN_PAGE, x, DIM);
			kern_v_put(&p->widest, at + page, type, i % KERN_PAGE, x + DIM, DIM);
		}
		ns[t] = (double)(clock_thread_ns() - from);
	}
	mem_free(x);
	*rate = 2.0 * ROWS * DIM / probe_rate(ns, TURNS, 1).median;
	return INFER_OK;
}

static int measure_kv_type(struct infer_attn_rate *r, infer_probe *p, int type, infer_error *err)
{
	static const int dims[INFER_MACHINE_HEADS] = { 32, 64, 128 };

	for (int d = 0; d < INFER_MACHINE_HEADS; d++) {
		struct probe_case c = { .kind = PROBE_ATTN,
			                .type = type,
			                .shape = "decode",
			                .n = KERN_SPLIT,
			                .k = dims[d],
			                .m = 1 };
		TRY(measure_attn(&r->cached[d], &r->one_ns[d], p, c, err));
		c.m = 32; /* number of rows that a backend computes together */
		c.shape = "prefill";
		TRY(measure_attn(&r->prefill[d], &r->block_ns[d], p, c, err));
	}
	return measure_put(&r->put, p, type, err);
}

/* Measure products of bf16 matrices with many rows, a published figure of other machines. */
static int measure_bf16(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	struct probe_case c = {
		.type = INFER_BF16, .kind = PROBE_TILE, .shape = "square", .n = N, .k = K, .m = 512
	};

	if (!p->widest.mm[INFER_BF16].tile)
		return INFER_OK;
	return measure_rate(p, &c, 0, &m->bf16_gflop_s, err);
}

static void scale_all(double *of, int n, double by)
{
	for (int i = 0; i < n; i++)
		of[i] *= by;
}

/* Set the rates of memory and int8 products to the medians of all turns.  Multiply the relative
 * rates of the kernels by them. */
static void set_rates(struct infer_machine *m, struct loops *l, const double *of_type,
                      const double *of_cache)
{
	double read = probe_rate(l->reads, l->n_reads, 1e-9).median,
	       dot = probe_rate(l->dots, l->n_dots, 1).median;

	m->memory_gb_s = m->read[m->n_read - 1].gb_s = read;
	m->i8_gop_s = dot;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		struct infer_loop_rate *r = &m->loops[type];
		struct infer_attn_rate *a = &m->attn[type];
		double by = of_type[type] > 0 ? dot / of_type[type] : 1;

		scale_all(r->rows, 4, read);
		scale_all(r->cached, 4, by);
		scale_all(r->few, 3, by);
		scale_all(r->tile, 3, by);
		scale_all(&r->quant, 1, by);
		by = of_cache[type] > 0 ? dot / of_cache[type] : 1;
		scale_all(a->cached, INFER_MACHINE_HEADS, by);
		scale_all(a->prefill, INFER_MACHINE_HEADS, by);
		scale_all(a->one_ns, INFER_MACHINE_HEADS, 1 / by);
		scale_all(a->block_ns, INFER_MACHINE_HEADS, 1 / by);
		scale_all(&a->put, 1, by);
	}
}

/* Measure row operations, in elements per ns of one thread. */
static int measure_slots(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	for (int slot = 0; slot < INFER_MACHINE_SLOTS && probe_elem_name(slot); slot++) {
		struct probe_case c = { .kind = PROBE_ELEM,
			                .slot = (uint8_t)slot,
			                .type = INFER_F32,
			                .shape = "row",
			                .n = 1,
			                .k = K,
			                .m = 1 };
		TRY(measure_rate(p, &c, 0, &m->slots[slot], err));
		m->slots[slot] /= probe_elem_ops(slot) * p->threads;
	}
	return INFER_OK;
}

int probe_machine_loops(struct infer_machine *m, infer_probe *p, int all, infer_error *err)
{
	const struct infer_kv_type *kv;
	struct loops l = { .p = p };
	double of_types[INFER_TYPE_COUNT] = { 0 }, of_caches[INFER_TYPE_COUNT] = { 0 };
	size_t bytes = p->bytes;
	int rc = INFER_OK;

	TRY(probe_weights(p, err));
	/* these bytes read as f16 are scales between 1/8 and 2, and read as f32 are far from
	 * subnormal */
	for (size_t i = 0; i < (1 << 20); i++)
		p->weights[i] = (unsigned char)(0x30 | ((i * 2654435761u) >> 13 & 15));
	probe_spread(p, 1 << 20);
	TRY(measure_bf16(m, p, err));
	if (!all)
		return INFER_OK;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		TRY(measure_clock(&of_types[type], &l, err));
		TRY(measure_type(&m->loops[type], &l, type, err));
	}
	p->bytes = (size_t)p->threads * CACHED;
	for (int i = 0; !rc && (kv = infer_kv_type(i)); i++) {
		rc = measure_clock(&of_caches[kv->type], &l, err);
		if (!rc)
			rc = measure_kv_type(&m->attn[kv->type], p, kv->type, err);
	}
	p->bytes = bytes;
	TRY(rc);
	TRY(measure_slots(m, p, err));
	set_rates(m, &l, of_types, of_caches);
	return INFER_OK;
}
