/* tests/unit/floor.h - logits of an open model from a backend, without an engine: one sequence,
 * pages of K and V and of states in order, an f32 cache.  Programs see the same numbers only as
 * log-probabilities in SCORE events.  With FLOOR_HOST_EXPERTS the host computes the experts. */
#ifndef TESTS_FLOOR_H
#define TESTS_FLOOR_H
#include <string.h>

#include <infer/type.h>
#include "arch/arch.h"
#include "backend/cpu/cpu.h"
#include "open.h"
#include "base/err.h"
#include "base/mem.h"
#include "kern/kern.h"

/* the backend */
#ifndef FLOOR_KIND
#define FLOOR_KIND "cpu"
#endif
enum { FLOOR_PAGES = 16, FLOOR_ROWS = FLOOR_PAGES * KERN_PAGE };

struct floor {
	const struct infer_model *m;
	struct open o;
	struct backend_model parts;
	struct backend_size size;
	struct backend_kv kv;
	struct backend_cache *caches[2]; /* of K and V, of states */
	struct backend_kv_layer *layers;
	int *numbers; /* of the layers, those that are recurrent behind the others */
	uint32_t pages[FLOOR_PAGES];
	int rows;
	const struct backend_use *uses; /* [n_uses] the adapters of every step */
	int n_uses;
	struct weight *weights; /* of experts on the host, and all others; NULL: the model's */
};

static inline void floor_close(struct floor *f)
{
	for (int i = 0; i < 2 && f->o.kind; i++)
		f->o.kind->kv_free(f->caches[i]);
	open_close(&f->o);
	mem_free(f->layers);
	mem_free(f->numbers);
	mem_free(f->weights);
	*f = (struct floor){ 0 };
}

static inline int floor_cache(struct floor *f, int type, infer_error *err)
{
	const struct arch_hparam *h = &f->m->h;
	struct backend_group g[2] = {
		{ .k_type = type, .v_type = type, .kv_heads = h->n_head_kv, .mla = h->kv_rank > 0 },
		{ .state = h->state }
	};
	int n = 0;

	/* one group for all layers with K and V: room for the widest heads, which may be those that slide */
	for (int il = 0; il < h->n_layers; il++) {
		struct arch_heads head = arch_heads_of(h, il);

		g[0].dk = head.dk > g[0].dk ? head.dk : g[0].dk;
		g[0].dv = head.dv > g[0].dv ? head.dv : g[0].dv;
	}
	f->layers = mem_zalloc(MEM_KV, (size_t)h->n_layers, sizeof *f->layers);
	f->numbers = mem_zalloc(MEM_KV, (size_t)h->n_layers, sizeof *f->numbers);
	if (!f->layers || !f->numbers)
		return err_set(err, INFER_ENOMEM, "no memory for the cache");
	for (int k = 0; k < 2; k++) {
		g[k].layers = f->numbers + n;
		for (int il = 0; il < h->n_layers; il++)
			if (h->recurrent[il] == k) {
				f->layers[il] = (struct backend_kv_layer){ k, g[k].n_layers++ };
				f->numbers[n++] = il;
			}
		if (k && !h->state)
			continue;
		TRY(f->o.kind->kv_new(&f->caches[k], f->o.b, &g[k], FLOOR_PAGES, err));
		/* NaN: what is read before it is written shows */
		if (!strcmp(FLOOR_KIND, "cpu"))
			memset(f->caches[k]->base, 0xff, f->caches[k]->page_bytes * FLOOR_PAGES);
	}
	for (uint32_t i = 0; i < FLOOR_PAGES; i++)
		f->pages[i] = FLOOR_PAGES - 1 - i;
	f->kv = (struct backend_kv){ f->layers, f->caches, h->n_layers, 1 + (h->state > 0) };
	return INFER_OK;
}

#ifdef FLOOR_HOST_EXPERTS
/* Mark the weights of experts as the host's.  Returns the number of nodes, or -1. */
static inline int floor_host_experts(struct floor *f)
{
	size_t n = (size_t)f->parts.n_weights;
	int nodes = 0;

	f->weights = mem_alloc(MEM_BACKEND, n, sizeof *f->weights);
	if (!f->weights)
		return -1;
	memcpy(f->weights, f->parts.weights, n * sizeof *f->weights);
	f->parts.weights = f->weights;
	for (int32_t i = 0; i < f->parts.graph->n; i++) {
		const struct graph_node *node = &f->parts.graph->nodes[i];

		if (node->op != GRAPH_MOE)
			continue;
		for (int k = 0; k < GRAPH_W; k++)
			if (node->w[k] >= 0)
				f->weights[node->w[k]].on_host = 1;
		nodes++;
	}
	return nodes;
}
#endif

/* Ready for steps of at most `rows` rows, with adapters of up to `rank`.  floor_close it, however it
 * ends. */
static inline int floor_open_rank(struct floor *f, const infer_model *m, const char *isa,
                                  int threads, int rows, int rank, infer_error *err)
{
	*f = (struct floor){ .m = m, .parts = arch_parts(m), .rows = rows };
	f->size = (struct backend_size){ rows, rows, FLOOR_ROWS, rank };
#ifdef FLOOR_HOST_EXPERTS
	switch (floor_host_experts(f)) {
	case -1:
		return err_set(err, INFER_ENOMEM, "no memory for weights");
	case 0:
		return err_set(err, INFER_EUNSUP, FLOOR_HOST_EXPERTS);
	}
#endif
	TRY(open_plan(&f->o, backend_find(FLOOR_KIND), &f->parts, &f->size, threads, isa, err));
	return floor_cache(f, INFER_F32, err);
}

static inline int floor_open(struct floor *f, const infer_model *m, const char *isa, int threads,
                             int rows, infer_error *err)
{
	return floor_open_rank(f, m, isa, threads, rows, 0, err);
}

/* Evaluate ids[from .. n) in steps of f->rows; y f32 [n][n_vocab] gets the rows from `from` on.
 * Positions below `from` must be in the cache. */
static inline int floor_run(struct floor *f, const int32_t *ids, int from, int n, float *y,
                            infer_error *err)
{
	const uint32_t *const pages[2] = { f->pages, f->pages };
	int32_t out[FLOOR_ROWS];
	size_t v = (size_t)f->m->h.n_vocab;

	for (int i = 0; i < FLOOR_ROWS; i++)
		out[i] = i;
	for (int pos = from, k; pos < n; pos += k) {
		struct backend_result res;

		k = n - pos < f->rows ? n - pos : f->rows;
		struct backend_run run = {
			.n = k, .pos = pos, .pages = pages, .uses = f->uses, .n_uses = f->n_uses
		};
		struct backend_step s = { .n = k,
			                  .n_out = k,
			                  .n_runs = 1,
			                  .ids = ids + pos,
			                  .runs = &run,
			                  .out = out,
			                  .kv = &f->kv };

		TRY(backend_compute(f->o.kind, f->o.plan, &s, &res, err));
		memcpy(y + (size_t)pos * v, res.logits, (size_t)k * v * sizeof *y);
	}
	return INFER_OK;
}
#endif
