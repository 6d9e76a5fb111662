/* probe/cases.c - the list of cases, and measuring one case */
#include "probe/probe.h"
#include <infer/kvtype.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "kern/act.h"
#include "kern/data.h"
#include "type/type.h"

#include <string.h>

/* Shapes n x k of matrices in models, sorted by k. */
static const struct {
	const char *name;
	int n, k, quick;
} shapes[] = {
	{ "square", 2048, 2048, 1 }, /* the query and output projections of attention */
	{ "narrow", 512, 2048, 0 },  /* K and V projections with grouped queries */
	{ "ffn", 8192, 2048, 1 },    /* the gate and up projections of a feed-forward layer */
	{ "output", 102400, 2048, 0 }, { "expert", 768, 2048, 0 },
	{ "down", 2048, 8192, 0 },     { "expert-down", 2048, 768, 1 },
};
static const int rows_m[] = { 1, 2, 4, 8 }, skinny_m[] = { 8, 16, 24, 32 },
		 tile_m[] = { 16, 32, 64, 512 };
/* head sizes of attention cases */
static const int head_dims[] = { 64, 128 };
#define TYPE(type, name) INFER_##type,
static const int cache_types[] = { INFER_KV_TYPES(TYPE, TYPE, TYPE) };
enum { N_SHAPES = sizeof shapes / sizeof *shapes, ELEM_K = 2048, ATTN_CTX = 4096, PREFILL = 64 };

static int add_case(infer_probe *p, struct probe_case c, infer_error *err)
{
	if (p->n_cases == p->cap) {
		int cap = p->cap ? 2 * p->cap : 256;
		struct probe_case *cases =
			mem_realloc(MEM_PLAN, p->cases, (size_t)cap, sizeof *cases);
		if (!cases)
			return err_nomem(err);
		p->cases = cases;
		p->cap = cap;
	}
	p->cases[p->n_cases++] = c;
	return INFER_OK;
}

/* True if the case's kernel set has its own kernel of this kind, not that of the narrower set. */
static int has_own_loop(const infer_probe *p, const struct probe_case *c, int kind)
{
	const struct kern_mm *mm = probe_loops(&p->sets[c->set], c),
			     *less = c->set ? probe_loops(&p->sets[c->set - 1], c) : NULL;

	switch (kind) {
	case PROBE_ROWS:
		return mm->rows && (!less || mm->rows != less->rows);
	case PROBE_SKINNY:
		return mm->skinny && (!less || mm->skinny != less->skinny);
	case PROBE_TILE:
		return mm->tile && (!less || mm->tile != less->tile);
	default:
		return mm->rows && mm->form != KERN_FORM_F32 && (!less || mm->quant != less->quant);
	}
}

static int has_own_product(const infer_probe *p, const struct probe_case *c)
{
	return has_own_loop(p, c, PROBE_ROWS) || has_own_loop(p, c, PROBE_SKINNY) ||
	       has_own_loop(p, c, PROBE_TILE);
}

/* Add the cases of one shape with the type, set and activations of c. */
static int add_products(infer_probe *p, struct probe_case c, int shape, infer_error *err)
{
	int quick = (p->flags & INFER_PROBE_QUICK) != 0,
	    first = !shape || shapes[shape - 1].k != shapes[shape].k;

	if ((quick && !shapes[shape].quick) ||
	    shapes[shape].k % infer_type_info(c.type)->block != 0 || !has_own_product(p, &c))
		return INFER_OK;
	c.shape = shapes[shape].name;
	c.n = shapes[shape].n;
	c.k = shapes[shape].k;
	c.kind = PROBE_ROWS;
	for (int i = 0; i < 4 && has_own_loop(p, &c, PROBE_ROWS); i++) {
		c.m = rows_m[i];
		TRY(add_case(p, c, err));
	}
	c.kind = PROBE_SKINNY;
	for (int i = 0; i < 4 && has_own_loop(p, &c, PROBE_SKINNY); i++) {
		c.m = skinny_m[i];
		TRY(add_case(p, c, err));
	}
	if (!first) /* results for panels do not depend on n */
		return INFER_OK;
	c.kind = PROBE_TILE;
	for (int i = 0; i < 4 && has_own_loop(p, &c, PROBE_TILE); i++) {
		c.m = tile_m[i];
		TRY(add_case(p, c, err));
	}
	c.m = 1;
	c.kind = PROBE_PACK;
	if (has_own_loop(p, &c, PROBE_TILE))
		TRY(add_case(p, c, err));
	c.n = 1;
	c.kind = PROBE_QUANT;
	return has_own_loop(p, &c, PROBE_QUANT) ? add_case(p, c, err) : INFER_OK;
}

static int add_attn(infer_probe *p, int set, infer_error *err)
{
	if (set && p->sets[set].attn == p->sets[set - 1].attn)
		return INFER_OK;
	for (size_t t = 0; t < sizeof cache_types / sizeof *cache_types; t++)
		for (size_t d = 0; d < sizeof head_dims / sizeof *head_dims; d++)
			for (int prefill = 0; prefill < 2; prefill++)
				TRY(add_case(p,
				             (struct probe_case){ .kind = PROBE_ATTN,
				                                  .set = (uint8_t)set,
				                                  .type = cache_types[t],
				                                  .shape = prefill ? "prefill"
				                                                   : "decode",
				                                  .n = ATTN_CTX,
				                                  .k = head_dims[d],
				                                  .m = prefill ? PREFILL : 1 },
				             err));
	return INFER_OK;
}

int probe_cases(infer_probe *p, infer_error *err)
{
	for (int type = 0; type < INFER_TYPE_COUNT; type++)
		for (int i = 0; i < 2 * N_SHAPES; i++)
			for (int set = 0; set < p->n_sets; set++)
				TRY(add_products(p,
				                 (struct probe_case){ .type = type,
				                                      .set = (uint8_t)set,
				                                      .bf16 = i >= N_SHAPES },
				                 i % N_SHAPES, err));
	for (int set = 0; set < p->n_sets; set++)
		TRY(add_attn(p, set, err));
	for (int slot = 0; probe_elem_name(slot); slot++)
		for (int set = 0; set < p->n_sets; set++)
			if (!set || !probe_elem_same(slot, &p->sets[set], &p->sets[set - 1]))
				TRY(add_case(p,
				             (struct probe_case){ .kind = PROBE_ELEM,
				                                  .set = (uint8_t)set,
				                                  .slot = (uint8_t)slot,
				                                  .type = INFER_F32,
				                                  .shape = "row",
				                                  .n = 1,
				                                  .k = ELEM_K,
				                                  .m = 1 },
				             err));
	return INFER_OK;
}

int infer_probe_case(const infer_probe *p, int i, struct infer_probe_case *c)
{
	static const char *const names[][2] = {
		[PROBE_ROWS] = { "rows", "rows-bf16" },    [PROBE_SKINNY] = { "few", "few-bf16" },
		[PROBE_TILE] = { "tile", "tile-bf16" },    [PROBE_PACK] = { "pack", "pack-bf16" },
		[PROBE_QUANT] = { "quant", "quant-bf16" }, [PROBE_ATTN] = { "attn" }
	};

	if (i < 0 || i >= p->n_cases)
		return 0;
	const struct probe_case *from = &p->cases[i];

	*c = (struct infer_probe_case){
		.isa = p->sets[from->set].name,
		.kernel = from->kind == PROBE_ELEM ? probe_elem_name(from->slot)
		                                   : names[from->kind][from->bf16],
		.type = infer_type_info(from->type)->name,
		.shape = from->shape,
		.n = from->n,
		.k = from->k,
		.m = from->m,
		.at = i,
	};
	return 1;
}

float *probe_floats(size_t n, uint64_t seed)
{
	float *x = mem_aligned(MEM_PLAN, 64, num_round_up(n * sizeof *x, 64));

	if (x)
		kern_data_floats(x, n, KERN_DATA_PLAIN, seed);
	return x;
}

void probe_spread(infer_probe *p, size_t have)
{
	while (have < p->bytes) {
		size_t n = (size_t)num_min((int64_t)have, (int64_t)(p->bytes - have));
		memcpy(p->weights + have, p->weights, n);
		have += n;
	}
	p->fill_type = -1;
	p->fill_cache = 0;
}

void probe_fill(infer_probe *p, int type, int k)
{
	size_t row = type_row_bytes(type, k), rows = ((size_t)2 << 20) / row;

	if (p->fill_type == type && p->fill_k == k)
		return;
	kern_data_weights(p->weights, type, rows, k, KERN_DATA_PLAIN, 3);
	probe_spread(p, rows * row);
	p->fill_type = type;
	p->fill_k = k;
}

/* Choose the ceiling that limits the case.  Sets j->limit, and the function and memory to measure
 * that ceiling. */
static void choose_limit(struct probe_job *j, const struct infer_ceilings *c, probe_fn **fn,
                         struct probe_memory *mem)
{
	double compute = j->limit == INFER_LIMIT_TILE  ? c->tile_bf16.median
	                 : j->limit == INFER_LIMIT_DOT ? c->dot.median
	                                               : c->fma.median;

	*mem = (struct probe_memory){ .grain = 1 };
	if (j->mem.from && j->bytes_per_op * compute > c->mapped.median) {
		j->limit = INFER_LIMIT_MEMORY;
		*fn = probe_read;
		*mem = (struct probe_memory){ j->mem.from, j->mem.bytes, 512 };
		return;
	}
	*fn = j->limit == INFER_LIMIT_TILE  ? probe_tile_bf16
	      : j->limit == INFER_LIMIT_DOT ? probe_dot
	                                    : probe_fma;
}

static int run_case(infer_probe *p, struct probe_job *j, struct infer_probe_result *r,
                    infer_error *err)
{
	double top[PROBE_TURNS], own[PROBE_TURNS], part[PROBE_TURNS], *rates[2] = { top, own };
	probe_fn *fns[2] = { NULL, j->fn };
	struct probe_memory mems[2] = { { .grain = 1 }, j->mem };

	choose_limit(j, &p->ceilings, &fns[0], &mems[0]);
	TRY(probe_run(p, fns, mems, j, rates, err));
	for (int32_t i = 0; i < p->repeat; i++)
		part[i] = own[i] * (j->limit == INFER_LIMIT_MEMORY ? j->bytes_per_op : 1) / top[i];
	*r = (struct infer_probe_result){
		.fraction = probe_rate(part, p->repeat, 1),
		.ceiling = probe_rate(top, p->repeat, 1e-9),
		.ops = probe_rate(own, p->repeat, 1e-9),
		.limit = j->limit,
		.same = j->same,
	};
	r->bytes = probe_rate(own, p->repeat, 1e-9 * j->bytes_per_op);
	return INFER_OK;
}

int probe_make(struct probe_job *j, infer_probe *p, infer_error *err)
{
	static int (*const make[])(struct probe_job *, infer_probe *, infer_error *) = {
		[PROBE_ROWS] = probe_mm,   [PROBE_SKINNY] = probe_mm, [PROBE_TILE] = probe_mm,
		[PROBE_PACK] = probe_mm,   [PROBE_PANEL] = probe_mm,  [PROBE_QUANT] = probe_quant,
		[PROBE_ATTN] = probe_attn, [PROBE_ELEM] = probe_elem,
	};

	return make[j->c->kind](j, p, err);
}

void probe_job_fini(struct probe_job *j)
{
	mem_free(j->x.q);
	if (!j->borrows) {
		mem_free(j->fx);
		mem_free(j->y);
	}
	mem_free(j->panels);
}

int infer_probe_measure(infer_probe *p, const struct infer_probe_case *c,
                        struct infer_probe_result *r, infer_error *err)
{
	struct probe_job j = { .p = p };

	must(p->has_ceilings && p->weights && c->at >= 0 && c->at < p->n_cases);
	j.c = &p->cases[c->at];
	j.k = &p->sets[j.c->set];
	j.mem.grain = 1;
	int rc = probe_make(&j, p, err);

	if (!rc)
		rc = run_case(p, &j, r, err);
	probe_job_fini(&j);
	return rc;
}
