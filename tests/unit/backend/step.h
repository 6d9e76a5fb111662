/* tests/unit/backend/step.h - run a graph step by step over a cache that is a plain table,
 * without engine and kv module. */
#ifndef TESTS_STEP_H
#define TESTS_STEP_H
#include <stdlib.h>
#include <string.h>

#include "../open.h"
#include "base/mem.h"
#include "kern/kern.h"

/* the backend that runs the steps */
#ifndef STEP_KIND
#define STEP_KIND "cpu"
#endif
enum { STEP_SEQS = 4, STEP_PAGES = 64, STEP_ROWS = 256, STEP_COLS = 512 };

struct step {
	struct backend_model m;
	struct open o;
	struct backend_kv kv;
	struct backend_kv_layer *layers;
	int *numbers; /* of the layers: the last is a group of its own where it has a state */
	struct backend_cache *caches[2];
	uint32_t pages[STEP_SEQS][STEP_PAGES], states[STEP_SEQS][STEP_PAGES];
	const uint32_t *tables[STEP_SEQS][2];
	int32_t len[STEP_SEQS], second[STEP_SEQS];
	const struct backend_use *uses[STEP_SEQS]; /* adapters of the sequences */
	int32_t n_uses[STEP_SEQS];
	float *edge; /* the one that a graph may have */
};

struct step_shape {
	int n_layers, kv_heads, dk, dv, type;
	int64_t state; /* of the last layer; 0: it is as the others */
	int rank;
};

__attribute__((unused)) static void step_close(struct step *s)
{
	for (int i = 0; i < 2 && s->o.kind; i++)
		s->o.kind->kv_free(s->caches[i]);
	open_close(&s->o);
	mem_free(s->layers);
	mem_free(s->numbers);
	mem_free(s->edge);
	memset(s, 0, sizeof *s);
}

/* Pages of the sequences lie in no order. */
__attribute__((unused)) static int step_open(struct step *s, const struct backend_model *m,
                                             const struct step_shape *k, int threads,
                                             const char *isa, int rows, infer_error *err)
{
	int recurrent = k->state > 0;
	struct backend_group group = { .n_layers = k->n_layers - recurrent,
		                       .k_type = k->type,
		                       .v_type = k->type,
		                       .kv_heads = k->kv_heads,
		                       .dk = k->dk,
		                       .dv = k->dv },
			     last = { .n_layers = 1, .state = k->state };
	struct backend_size size = {
		.rows = rows, .out = rows, .ctx = STEP_PAGES * KERN_PAGE, .rank = k->rank
	};

	memset(s, 0, sizeof *s);
	s->m = *m;
	s->layers = mem_zalloc(MEM_BACKEND, (size_t)k->n_layers, sizeof *s->layers);
	s->numbers = mem_zalloc(MEM_BACKEND, (size_t)k->n_layers, sizeof *s->numbers);
	s->edge = mem_alloc(MEM_BACKEND, (size_t)rows * STEP_COLS, sizeof *s->edge);
	if (!s->layers || !s->numbers || !s->edge)
		return INFER_ENOMEM;
	for (int i = 0; i < k->n_layers; i++) {
		s->layers[i] = (struct backend_kv_layer){ 0, i };
		s->numbers[i] = i;
	}
	group.layers = s->numbers;
	last.layers = s->numbers + k->n_layers - 1;
	if (recurrent)
		s->layers[k->n_layers - 1] = (struct backend_kv_layer){ 1, 0 };
	for (uint32_t q = 0; q < STEP_SEQS; q++) {
		for (uint32_t i = 0; i < STEP_PAGES; i++)
			s->pages[q][i] = (i * STEP_SEQS + q) * 37 % (STEP_SEQS * STEP_PAGES);
		s->tables[q][0] = s->pages[q];
		s->tables[q][1] = s->states[q];
	}
	TRY(open_plan(&s->o, backend_find(STEP_KIND), m, &size, threads, isa, err));
	TRY(s->o.kind->kv_new(&s->caches[0], s->o.b, &group, STEP_SEQS * STEP_PAGES, err));
	if (recurrent)
		TRY(s->o.kind->kv_new(&s->caches[1], s->o.b, &last, STEP_SEQS * STEP_PAGES, err));
	s->kv = (struct backend_kv){ s->layers, s->caches, k->n_layers, 1 + recurrent };
	return INFER_OK;
}

/* Of the pages of states a step sees the one of the position before, the last, and some on the way. */
static void step_states(struct step *s, int q, int n)
{
	for (int i = 0; i < STEP_PAGES; i++) {
		int last = (s->len[q] + n - 1) / KERN_PAGE;

		s->states[q][i] =
			i == (s->len[q] - 1) / KERN_PAGE || i == last ||
					(i < last && i * KERN_PAGE > s->len[q] && i % 3 == 0)
				? s->pages[q][i]
				: BACKEND_NO_PAGE;
	}
}

/* Rows of some sequences as one step; n[q] of ids[q] each.  All rows want logits: *logits [sum of
 * n][n_vocab]. */
__attribute__((unused)) static int step_run(struct step *s, const int32_t *const *ids, const int *n,
                                            const float **logits, infer_error *err)
{
	struct backend_run runs[STEP_SEQS];
	int32_t all[STEP_ROWS], out[STEP_ROWS];
	struct backend_step step = {
		.ids = all, .runs = runs, .out = out, .kv = &s->kv, .edges = &s->edge
	};
	struct backend_result res;
	int rc;

	for (int q = 0; q < STEP_SEQS; q++) {
		if (!n[q])
			continue;
		step_states(s, q, n[q]);
		runs[step.n_runs++] = (struct backend_run){ .row = step.n,
			                                    .n = n[q],
			                                    .pos = s->len[q],
			                                    .pages = s->tables[q],
			                                    .second = s->second[q],
			                                    .uses = s->uses[q],
			                                    .n_uses = s->n_uses[q] };
		for (int i = 0; i < n[q]; i++)
			all[step.n++] = ids[q][i];
		s->len[q] += n[q];
	}
	for (int i = 0; i < step.n; i++)
		out[step.n_out++] = i;
	rc = backend_compute(s->o.kind, s->o.plan, &step, &res, err);
	*logits = res.logits;
	return rc;
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
