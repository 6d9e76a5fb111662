/* tests/unit/floor.h - logits of an open model straight from a backend, without an engine: one
 * sequence, one group of pages that lie in order, an f32 cache.  Programs see the same through
 * SCORE events only as log-probabilities. */
#ifndef TESTS_FLOOR_H
#define TESTS_FLOOR_H
#include <string.h>

#include <infer/type.h>
#include "arch/arch.h"
#include "backend/backend.h"
#include "base/err.h"
#include "base/mem.h"
#include "kern/kern.h"

enum { FLOOR_PAGES = 16, FLOOR_ROWS = FLOOR_PAGES * KERN_PAGE };

struct floor {
	const struct infer_model *m;
	const struct backend_kind *kind;
	struct backend *b;
	struct backend_plan *plan;
	struct backend_model parts;
	struct backend_size size;
	struct backend_kv kv;
	struct backend_kv_group group;
	struct backend_kv_layer *layers;
	uint32_t pages[FLOOR_PAGES];
	int rows;
};

static inline void floor_close(struct floor *f)
{
	if (f->plan)
		f->kind->plan_free(f->plan);
	if (f->b)
		f->kind->close(f->b);
	mem_free(f->layers);
	mem_free(f->group.base);
	*f = (struct floor){ 0 };
}

static inline int floor_cache(struct floor *f, size_t elem, int type)
{
	const struct arch_hparam *h = &f->m->h;
	size_t at = 0;

	f->layers = mem_zalloc(MEM_KV, (size_t)h->n_layers, sizeof *f->layers);
	if (!f->layers)
		return INFER_ENOMEM;
	for (int il = 0; il < h->n_layers; il++) {
		struct backend_kv_layer *l = &f->layers[il];

		*l = (struct backend_kv_layer){ .k_type = type,
			                        .v_type = type,
			                        .kv_heads = h->n_head_kv,
			                        .dk = h->dk,
			                        .dv = h->dv };
		l->k_offset = at;
		at += (size_t)h->n_head_kv * KERN_PAGE * (size_t)h->dk * elem;
		l->v_offset = at;
		at += (size_t)h->n_head_kv * KERN_PAGE * (size_t)h->dv * elem;
	}
	f->group.page_bytes = at;
	f->group.base = mem_aligned(MEM_KV, 64, at * FLOOR_PAGES);
	if (!f->group.base)
		return INFER_ENOMEM;
	memset(f->group.base, 0xff,
	       at * FLOOR_PAGES); /* NaN: what is read before it is written shows */
	for (uint32_t i = 0; i < FLOOR_PAGES; i++)
		f->pages[i] = FLOOR_PAGES - 1 - i;
	f->kv = (struct backend_kv){ f->layers, &f->group, h->n_layers, 1 };
	return INFER_OK;
}

/* Ready for steps of at most `rows` rows.  floor_close it, however it ends. */
static inline int floor_open(struct floor *f, const infer_model *m, const char *isa, int threads,
                             int rows, infer_error *err)
{
	struct backend_opts o = { .threads = threads, .isa = isa };

	*f = (struct floor){ .m = m, .kind = backend_find("cpu"), .rows = rows };
	if (!f->kind)
		return err_set(err, INFER_EUNSUP, "no backend cpu");
	if (floor_cache(f, 4, INFER_F32))
		return err_set(err, INFER_ENOMEM, "no memory for the cache");
	TRY(f->kind->open(&f->b, &o, err));
	f->parts = arch_parts(m);
	f->size = (struct backend_size){ rows, rows, FLOOR_ROWS };
	return f->kind->plan(&f->plan, f->b, &f->parts, &f->size, err);
}

/* Evaluate ids[from .. n) in steps of f->rows; y f32 [n][n_vocab] gets the rows from `from` on.
 * Positions below `from` must be in the cache. */
static inline int floor_run(struct floor *f, const int32_t *ids, int from, int n, float *y,
                            infer_error *err)
{
	const uint32_t *const pages[1] = { f->pages };
	int32_t out[FLOOR_ROWS];
	size_t v = (size_t)f->m->h.n_vocab;

	for (int i = 0; i < FLOOR_ROWS; i++)
		out[i] = i;
	for (int pos = from, k; pos < n; pos += k) {
		const float *logits = NULL;

		k = n - pos < f->rows ? n - pos : f->rows;
		struct backend_run run = { .row = 0, .n = k, .pos = pos, .pages = pages };
		struct backend_step s = { .n = k,
			                  .n_out = k,
			                  .n_runs = 1,
			                  .ids = ids + pos,
			                  .runs = &run,
			                  .out = out,
			                  .kv = &f->kv };

		TRY(backend_compute(f->kind, f->plan, &s, &logits, err));
		memcpy(y + (size_t)pos * v, logits, (size_t)k * v * sizeof *y);
	}
	return INFER_OK;
}
#endif
