/* tests/unit/backend/step.h - a graph run step by step over a cache that is a plain table: no
 * engine, no kv module. */
#ifndef TESTS_STEP_H
#define TESTS_STEP_H
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/mem.h"
#include "kern/kern.h"

enum { STEP_SEQS = 4, STEP_PAGES = 64, STEP_ROWS = 256 };

struct step {
	struct backend_model m;
	const struct backend_kind *kind;
	struct backend *b;
	struct backend_plan *plan;
	struct backend_kv kv;
	struct backend_kv_layer *layers;
	struct backend_kv_group group;
	uint32_t pages[STEP_SEQS][STEP_PAGES];
	const uint32_t *tables[STEP_SEQS];
	int32_t len[STEP_SEQS];
};

struct step_shape {
	int n_layers, kv_heads, dk, dv, type;
};

__attribute__((unused)) static void step_close(struct step *s)
{
	if (s->kind) {
		s->kind->plan_free(s->plan);
		s->kind->close(s->b);
	}
	mem_free(s->layers);
	mem_free(s->group.base);
	memset(s, 0, sizeof(*s));
}

/* Pages of the sequences lie in no order. */
__attribute__((unused)) static int step_open(struct step *s, const struct backend_model *m,
                                             const struct step_shape *k, int threads,
                                             const char *isa, int rows, infer_error *err)
{
	size_t elem = k->type == INFER_F16 ? 2 : 4,
	       half = (size_t)k->kv_heads * KERN_PAGE * (size_t)k->dk * elem;
	size_t layer = half + (size_t)k->kv_heads * KERN_PAGE * (size_t)k->dv * elem;
	struct backend_opts o = { .threads = threads, .isa = isa };
	struct backend_size size = { .rows = rows, .out = rows, .ctx = STEP_PAGES * KERN_PAGE };
	int rc;

	memset(s, 0, sizeof(*s));
	s->m = *m;
	s->kind = backend_find("cpu");
	s->group.page_bytes = layer * (size_t)k->n_layers;
	s->group.base = mem_zalloc(MEM_BACKEND, STEP_SEQS * STEP_PAGES, s->group.page_bytes);
	s->layers = mem_zalloc(MEM_BACKEND, (size_t)k->n_layers, sizeof(*s->layers));
	if (!s->group.base || !s->layers)
		return INFER_ENOMEM;
	for (int i = 0; i < k->n_layers; i++)
		s->layers[i] = (struct backend_kv_layer){
			0,     k->type, k->type,           k->kv_heads,
			k->dk, k->dv,   (size_t)i * layer, (size_t)i * layer + half
		};
	s->kv = (struct backend_kv){
		.layers = s->layers, .groups = &s->group, .n_layers = k->n_layers, .n_groups = 1
	};
	for (uint32_t q = 0; q < STEP_SEQS; q++) {
		for (uint32_t i = 0; i < STEP_PAGES; i++)
			s->pages[q][i] = (i * STEP_SEQS + q) * 37 % (STEP_SEQS * STEP_PAGES);
		s->tables[q] = s->pages[q];
	}
	rc = s->kind->open(&s->b, &o, err);
	return rc ? rc : s->kind->plan(&s->plan, s->b, m, &size, err);
}

/* Rows of some sequences as one step; n[q] of ids[q] each.  All rows want logits: *logits [sum of
 * n][n_vocab]. */
__attribute__((unused)) static int step_run(struct step *s, const int32_t *const *ids, const int *n,
                                            const float **logits, infer_error *err)
{
	struct backend_run runs[STEP_SEQS];
	const uint32_t *const *tables[STEP_SEQS];
	int32_t all[STEP_ROWS], out[STEP_ROWS];
	struct backend_step step = { .ids = all, .runs = runs, .out = out, .kv = &s->kv };

	for (int q = 0; q < STEP_SEQS; q++) {
		if (!n[q])
			continue;
		tables[q] = &s->tables[q];
		runs[step.n_runs++] = (struct backend_run){
			.row = step.n, .n = n[q], .pos = s->len[q], .pages = tables[q]
		};
		for (int i = 0; i < n[q]; i++)
			all[step.n++] = ids[q][i];
		s->len[q] += n[q];
	}
	for (int i = 0; i < step.n; i++)
		out[step.n_out++] = i;
	return backend_compute(s->kind, s->plan, &step, logits, err);
}

/* One sequence from its beginning, in chunks: logits f32 [n][n_vocab]. */
__attribute__((unused)) static int step_eval(struct step *s, const int32_t *ids, int n, int chunk,
                                             int n_vocab, float *logits, infer_error *err)
{
	s->len[0] = 0;
	for (int at = 0; at < n; at += chunk) {
		int rows[STEP_SEQS] = { n - at < chunk ? n - at : chunk };
		const int32_t *of[STEP_SEQS] = { ids + at };
		const float *y;
		int rc = step_run(s, of, rows, &y, err);
		if (rc)
			return rc;
		memcpy(logits + (size_t)at * (size_t)n_vocab, y,
		       (size_t)rows[0] * (size_t)n_vocab * sizeof(float));
	}
	return 0;
}
#endif
