/* tests/unit/backend/apart.h - a backend for tests: the arithmetic of the CPU over memory that nobody
 * else can reach.
 *
 * Weights are copies at other addresses.  They, the pages of the cache and the workspace are closed
 * (PROT_NONE) but for the time of a step or of a verb, and handles are addresses that cannot be
 * read.  A page has another number inside than outside.  Logits come out in memory of their own,
 * which is closed when the next step begins.  So whoever touches the bytes of a backend dies. */
#ifndef TESTS_APART_H
#define TESTS_APART_H
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/num.h"

enum { APART_PAGE = 4096 };

static const struct backend_kind *apart_cpu(void) { return backend_find("cpu"); }

static void *apart_map(size_t bytes)
{
	void *at = mmap(NULL, num_round_up(bytes + 1, APART_PAGE), PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	must(at != MAP_FAILED);
	return at;
}
static void apart_unmap(void *at, size_t bytes)
{
	must(!munmap(at, num_round_up(bytes + 1, APART_PAGE)));
}
static void apart_let(void *at, size_t bytes, int prot)
{
	must(!mprotect(at, num_round_up(bytes + 1, APART_PAGE), prot));
}

/* Two pages: what the handle stands for, and the handle itself, closed. */
static void *apart_handle(size_t bytes)
{
	char *at = apart_map(2 * APART_PAGE - 1);

	must(bytes <= APART_PAGE);
	must(!mprotect(at + APART_PAGE, APART_PAGE, PROT_NONE));
	return at + APART_PAGE;
}
static void *apart_of(const void *handle) { return (char *)(uintptr_t)handle - APART_PAGE; }
static void apart_drop(void *handle) { apart_unmap(apart_of(handle), 2 * APART_PAGE - 1); }

struct apart {
	struct backend *cpu;
};
struct apart_weights {
	struct backend_weights *cpu;
	struct weight *w;
	const void **at;
	unsigned char *bytes;
	size_t n_bytes, w_bytes, at_bytes;
};
struct apart_cache {
	struct backend_cache *cpu;
	uint32_t n;
};
struct apart_plan {
	struct backend_plan *cpu;
	struct apart_weights *w;
	float *logits[2];
	size_t logit_bytes;
	int32_t n_vocab, per; /* per: entries of a table of pages */
	int turn;
	const struct backend_kv *kv; /* of the step that runs */
	int32_t n_out;
	struct backend_step step;
	struct backend_kv view;
	struct backend_cache *caches[BACKEND_GROUPS];
	struct backend_run *runs;
	const uint32_t **tables; /* [run][group] */
	uint32_t *pages;         /* [run][group][per] */
};

static int apart_open(struct backend **out, const struct host *host, const struct backend_opts *o,
                      infer_error *err)
{
	struct backend *cpu;

	(void)o; /* as many as are wanted */
	*out = NULL;
	TRY(apart_cpu()->open(&cpu, host, &(struct backend_opts){ 0 }, err));
	*out = apart_handle(sizeof(struct apart));
	*(struct apart *)apart_of(*out) = (struct apart){ cpu };
	return INFER_OK;
}

static void apart_close(struct backend *b)
{
	if (!b)
		return;
	apart_cpu()->close(((struct apart *)apart_of(b))->cpu);
	apart_drop(b);
}

static void apart_memory(const struct backend *b, uint64_t *left, uint64_t *total)
{
	(void)b;
	*left = (uint64_t)3 << 30;
	*total = (uint64_t)4 << 30;
}

static size_t apart_bytes(const struct weight *w)
{
	return num_round_up((size_t)w->ne[1] * w->row_bytes, 64);
}

static int apart_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
                      const struct backend_size *size, infer_error *err)
{
	TRY(apart_cpu()->need(need, ((struct apart *)apart_of(b))->cpu, m, size, err));
	for (int i = 0; i < m->n_weights; i++)
		need->weights += apart_bytes(&m->weights[i]) * (size_t)m->weights[i].n;
	return INFER_OK;
}

static int apart_load(struct backend_weights **out, struct backend *b, const struct weight *w,
                      int n, infer_error *err)
{
	struct apart_weights *a;
	size_t ats = 0, bytes = 0;

	*out = apart_handle(sizeof *a);
	a = apart_of(*out);
	for (int i = 0; i < n; i++) {
		ats += (size_t)w[i].n;
		bytes += apart_bytes(&w[i]) * (size_t)w[i].n;
	}
	a->w = apart_map(a->w_bytes = (size_t)n * sizeof *w);
	a->at = apart_map(a->at_bytes = ats * sizeof *a->at);
	a->bytes = apart_map(bytes);
	a->n_bytes = bytes;
	ats = bytes = 0;
	for (int i = 0; i < n; i++) {
		a->w[i] = w[i];
		a->w[i].at = a->at + ats;
		for (int e = 0; e < w[i].n; e++, bytes += apart_bytes(&w[i]))
			a->at[ats++] = memcpy(a->bytes + bytes, w[i].at[e],
			                      (size_t)w[i].ne[1] * w[i].row_bytes);
	}
	apart_let(a->bytes, a->n_bytes, PROT_NONE);
	return apart_cpu()->load(&a->cpu, ((struct apart *)apart_of(b))->cpu, a->w, n, err);
}

static void apart_unload(struct backend_weights *w)
{
	struct apart_weights *a;

	if (!w)
		return;
	a = apart_of(w);
	apart_cpu()->unload(a->cpu);
	apart_unmap(a->bytes, a->n_bytes);
	apart_unmap(a->w, a->w_bytes);
	apart_unmap(a->at, a->at_bytes);
	apart_drop(w);
}

/* Whole pages of the CPU's workspace, which begins at one. */
static void apart_let_plan(const struct apart_plan *a, int prot)
{
	must(!mprotect(a->cpu->mem, a->cpu->bytes / APART_PAGE * APART_PAGE, prot));
}
static void apart_let_cache(const struct backend_cache *c, int prot)
{
	must(!mprotect(c->base, c->reserved, prot));
}

static int apart_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
                      const struct backend_model *m, const struct backend_size *size,
                      infer_error *err)
{
	struct apart_plan *a = apart_of(*out = apart_handle(sizeof *a));
	size_t runs = (size_t)size->rows;
	int rc;

	a->w = apart_of(w);
	rc = apart_cpu()->plan(&a->cpu, ((struct apart *)apart_of(b))->cpu, a->w->cpu, m, size,
	                       err);
	if (rc) {
		apart_drop(*out);
		*out = NULL;
		return rc;
	}
	apart_let_plan(a, PROT_NONE);
	a->n_vocab = m->graph->output < 0 ? 0 : m->graph->nodes[m->graph->output].cols;
	a->logit_bytes = (size_t)size->out * (size_t)a->n_vocab * sizeof(float);
	a->per = size->ctx / apart_cpu()->page + 1;
	a->runs = calloc(runs, sizeof *a->runs);
	a->tables = calloc(runs, BACKEND_GROUPS * sizeof *a->tables);
	a->pages = calloc(runs, BACKEND_GROUPS * (size_t)a->per * sizeof *a->pages);
	must(a->runs && a->tables && a->pages);
	for (int i = 0; i < 2; i++)
		a->logits[i] = apart_map(a->logit_bytes);
	return INFER_OK;
}

static void apart_plan_free(struct backend_plan *p)
{
	struct apart_plan *a;

	if (!p)
		return;
	a = apart_of(p);
	apart_let_plan(a, PROT_READ | PROT_WRITE);
	apart_cpu()->plan_free(a->cpu);
	for (int i = 0; i < 2; i++)
		apart_unmap(a->logits[i], a->logit_bytes);
	free(a->runs);
	free(a->tables);
	free(a->pages);
	apart_drop(p);
}
#include "apart_step.h"
#endif
