/* probe/machine_loops.c - the rates of all loops of the widest kernel set, for predictions */
#include <infer/kvtype.h>
#include <infer/machine.h>
#include "probe/probe.h"
#include "base/err.h"
#include "base/mem.h"
#include "kern/act.h"
#include "base/num.h"
#include "type/type.h"

#include <string.h>

/* A matrix of the usual length, and of a number of rows that all threads get a share of.  CACHED: what
 * a thread reads again and again, beyond its own caches and within those that are shared. */
enum { K = 2048, N = 2048, CACHED = 3 << 20 };

static void job_free(struct probe_job *j)
{
	mem_free(j->x.q);
	mem_free(j->fx);
	mem_free(j->y);
	mem_free(j->panels);
}

/* The rate of a case in GOP/s: the best of some turns, which other work on the machine can only make
 * slower, but of what is read from memory the middle one.
 * cached: 0, or the bytes of all weights that are read */
static int rate(infer_probe *p, const struct probe_case *c, size_t cached, double *gop_s,
                infer_error *err)
{
	static int (*const make[])(struct probe_job *, infer_probe *, infer_error *) = {
		[PROBE_ROWS] = probe_mm,   [PROBE_SKINNY] = probe_mm,   [PROBE_TILE] = probe_mm,
		[PROBE_PACK] = probe_mm,   [PROBE_QUANT] = probe_quant, [PROBE_ATTN] = probe_attn,
		[PROBE_ELEM] = probe_elem,
	};
	struct probe_job j = { .p = p, .k = &p->widest, .c = c, .mem = { .grain = 1 } };
	double rates[PROBE_TURNS], *at[2] = { rates, NULL };
	probe_fn *fns[2] = { NULL, NULL };
	struct probe_memory mems[2] = { { .grain = 1 }, { .grain = 1 } };
	int rc;

	if (c->kind <= PROBE_PACK) { /* any bytes do */
		p->fill_type = c->type;
		p->fill_k = c->k;
	}
	rc = make[c->kind](&j, p, err);
	fns[0] = j.fn;
	mems[0] = j.mem;
	if (cached && mems[0].bytes > cached)
		mems[0].bytes = num_round_up(cached, mems[0].grain * (size_t)p->threads);
	if (!rc)
		rc = probe_run(p, fns, mems, &j, at, err);
	job_free(&j);
	TRY(rc);
	struct infer_rate r = probe_rate(rates, p->repeat, 1e-9);

	*gop_s = c->kind == PROBE_ROWS && !cached ? r.median : r.most;
	return INFER_OK;
}

/* As rate, in turns long enough for a rate that swings: of memory. */
static int longer(infer_probe *p, const struct probe_case *c, size_t cached, double *gop_s,
                  infer_error *err)
{
	infer_probe usual = *p;
	int rc;

	p->repeat = 4;
	p->turn_ns = 3000000;
	rc = rate(p, c, cached, gop_s, err);
	p->repeat = usual.repeat;
	p->turn_ns = usual.turn_ns;
	return rc;
}

static int of_type(struct infer_loop_rate *r, infer_probe *p, int type, infer_error *err)
{
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
		TRY(longer(p, &c, 0, &r->rows[i], err));
		TRY(rate(p, &c, cached, &r->cached[i], err));
		r->rows[i] /= 2 * c.m;
		r->cached[i] /= 2 * c.m;
	}
	c.kind = PROBE_SKINNY;
	for (int i = 0; mm->skinny && i < 3; i++) {
		c.m = few_m[i];
		TRY(rate(p, &c, 0, &r->few[i], err));
		r->few[i] /= 2 * c.m;
	}
	c.kind = PROBE_TILE;
	for (int i = 0; mm->tile && i < 3; i++) {
		c.m = tile_m[i];
		TRY(rate(p, &c, 0, &r->tile[i], err));
	}
	c.m = 1;
	c.kind = PROBE_PACK;
	if (mm->tile)
		TRY(rate(p, &c, 0, &r->pack, err));
	c.n = 1;
	c.kind = PROBE_QUANT;
	if (mm->form != KERN_FORM_F32) {
		TRY(rate(p, &c, 0, &r->quant, err));
		r->quant /= 4;
	}
	return INFER_OK;
}

static int of_cache(struct infer_attn_rate *r, infer_probe *p, int type, infer_error *err)
{
	static const int dims[] = { 64, 128 };

	for (int d = 0; d < 2; d++) {
		struct probe_case c = { .kind = PROBE_ATTN,
			                .type = type,
			                .shape = "decode",
			                .n = 4096,
			                .k = dims[d],
			                .m = 1 };
		TRY(rate(p, &c, 0, &r->decode[d], err));
		TRY(rate(p, &c, (size_t)p->threads * CACHED, &r->cached[d], err));
		c.m = 32; /* as a backend's block of rows */
		c.shape = "prefill";
		TRY(rate(p, &c, 0, &r->prefill[d], err));
	}
	return INFER_OK;
}

/* Products of bf16 matrices by many rows: what is compared with other machines. */
static int bf16_rate(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	struct probe_case c = {
		.type = INFER_BF16, .kind = PROBE_TILE, .shape = "square", .n = N, .k = K, .m = 512
	};

	if (!p->widest.mm[INFER_BF16].tile)
		return INFER_OK;
	return rate(p, &c, 0, &m->bf16_gflop_s, err);
}

int probe_machine_loops(struct infer_machine *m, infer_probe *p, int all, infer_error *err)
{
	const struct infer_kv_type *kv;

	TRY(probe_weights(p, err));
	/* scales of f16 between an eighth and 2, and floats far from subnormal ones */
	for (size_t i = 0; i < (1 << 20); i++)
		p->weights[i] = (unsigned char)(0x30 | ((i * 2654435761u) >> 13 & 15));
	probe_spread(p, 1 << 20);
	TRY(bf16_rate(m, p, err));
	if (!all)
		return INFER_OK;
	p->repeat = 2;
	for (int type = 0; type < INFER_TYPE_COUNT; type++)
		TRY(of_type(&m->loops[type], p, type, err));
	for (int i = 0; (kv = infer_kv_type(i)); i++)
		TRY(of_cache(&m->attn[kv->type], p, kv->type, err));
	for (int slot = 0; slot < INFER_MACHINE_SLOTS && probe_elem_name(slot); slot++) {
		struct probe_case c = { .kind = PROBE_ELEM,
			                .slot = (uint8_t)slot,
			                .type = INFER_F32,
			                .shape = "row",
			                .n = 1,
			                .k = K,
			                .m = 1 };
		TRY(rate(p, &c, 0, &m->slots[slot], err));
		m->slots[slot] /= probe_elem_ops(slot) * p->threads;
	}
	return INFER_OK;
}
