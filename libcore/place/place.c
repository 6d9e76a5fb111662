#include "place/place.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "kern/kv.h"

/* A size for people: three digits and a unit. */
struct size {
	char at[32];
};
static struct size say(uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double x = (double)bytes;
	struct size s;
	int u = -1;

	for (; x >= 1000 && u < 5; u++)
		x /= 1024;
	if (u < 0)
		snprintf(s.at, sizeof(s.at), "%d bytes", (int)x);
	else
		snprintf(s.at, sizeof(s.at), "%.*f %ciB",
		         x < 9.995   ? 2
		         : x < 99.95 ? 1
		                     : 0,
		         x, units[u]);
	return s;
}

/* Layers that see everything, and layers that slide: each a group where there are any. */
static int make_groups(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                       infer_error *err)
{
	int *at = mem_alloc(MEM_PLACE, (size_t)m->h.n_layers, sizeof(*at));

	if (!at)
		return err_set(err, INFER_ENOMEM, "no memory to place %d layers", m->h.n_layers);
	p->layers = at;
	for (int slides = 0; slides < 2; slides++) {
		struct kv_group *g = &p->groups[p->n_groups];
		*g = (struct kv_group){ .kind = slides ? KV_WINDOW : KV_FULL,
			                .window = slides ? m->h.window : 0,
			                .layers = at,
			                .k_type = ask->k_type,
			                .v_type = ask->v_type,
			                .kv_heads = m->h.n_head_kv,
			                .dk = m->h.dk,
			                .dv = m->h.dv };
		for (int i = 0; i < m->h.n_layers; i++)
			if (!m->h.windowed[i] == !slides)
				at[g->n_layers++] = i;
		at += g->n_layers;
		p->n_groups += g->n_layers > 0;
		p->kv_token_bytes += (uint64_t)g->n_layers * (uint64_t)m->h.n_head_kv *
		                     (kern_kv_bytes(ask->k_type, m->h.dk) +
		                      kern_kv_bytes(ask->v_type, m->h.dv)) /
		                     KERN_PAGE;
	}
	return INFER_OK;
}

/* What a context takes: cache of one sequence, and the workspace, which holds partial results over
 * the whole of it. */
static int weigh(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                 int32_t ctx, uint64_t *cache, uint64_t *work, infer_error *err)
{
	struct backend_model parts = arch_parts(m);
	struct backend_size size = { .rows = ask->rows, .out = ask->out, .ctx = ctx };
	size_t bytes;

	TRY(ask->kind->need(&bytes, ask->backend, &parts, &size, err));
	*work = bytes;
	*cache = kv_seq_bytes(p->groups, p->n_groups, ctx, ask->rows);
	return INFER_OK;
}

/* The most cache that stands beside a workspace: pages and their bookkeeping in memory, and in
 * address space once for every group (kv.h). */
static uint64_t cache_room(const struct place_plan *p, const struct place_ask *ask, uint64_t work)
{
	uint64_t memory = ask->memory_bytes > work ? ask->memory_bytes - work : 0;
	uint64_t address = ask->address_bytes > work ? ask->address_bytes - work : 0;
	uint64_t groups = (uint64_t)p->n_groups;

	memory -= memory / 50;
	address = (address - address / 50) / groups;
	return memory < address ? memory : address;
}

static int fits(const struct place_plan *p, const struct place_ask *ask, uint64_t cache,
                uint64_t work)
{
	return cache <= cache_room(p, ask, work) && (!ask->kv_bytes || cache <= ask->kv_bytes);
}

/* The largest context up to `most` that fits, a multiple of KERN_PAGE; 0: not one page does.  The
 * cache grows with the context and the workspace does not shrink, so halving finds it. */
static int largest(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                   int32_t most, int32_t *ctx, infer_error *err)
{
	int32_t lo = 0, hi = most / KERN_PAGE; /* in pages: lo fits, hi + 1 is too many */

	while (lo < hi) {
		int32_t mid = lo + (hi - lo + 1) / 2;
		uint64_t cache, work;
		TRY(weigh(p, m, ask, mid * KERN_PAGE, &cache, &work, err));
		if (fits(p, ask, cache, work))
			lo = mid;
		else
			hi = mid - 1;
	}
	*ctx = lo * KERN_PAGE;
	return INFER_OK;
}

static int refuse(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                  int32_t ctx, uint64_t cache, uint64_t work, infer_error *err)
{
	uint64_t there = cache_room(p, ask, work);
	char hint[96] = "no context fits";
	int32_t near;

	if (ask->kv_bytes && ask->kv_bytes < there)
		there = ask->kv_bytes;
	TRY(largest(p, m, ask, ctx, &near, err));
	if (near)
		snprintf(hint, sizeof(hint), "a context of %d fits", near);
	return err_set(
		err, INFER_ENOMEM,
		"a context of %d needs %s of cache; beside %s for steps of %d rows there is %s: %s",
		ctx, say(cache).at, say(work).at, ask->rows, say(there).at, hint);
}

static int choose(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                  infer_error *err)
{
	int32_t ctx = ask->ctx ? ask->ctx : m->h.ctx_train;
	uint64_t cache, work, room;

	TRY(weigh(p, m, ask, ctx, &cache, &work, err));
	if (!fits(p, ask, cache, work)) {
		int32_t less = 0;
		if (!ask->ctx)
			TRY(largest(p, m, ask, ctx, &less, err));
		if (!less)
			return refuse(p, m, ask, ctx, cache, work, err);
		ctx = less;
		TRY(weigh(p, m, ask, ctx, &cache, &work, err));
	}
	p->ctx = ctx;
	p->workspace_bytes = work;
	room = cache_room(p, ask, work);
	if (ask->kv_bytes)
		p->kv_bytes = ask->kv_bytes < room ? ask->kv_bytes : room;
	else /* every sequence at its longest, or what is left */
		p->kv_bytes = cache > room / (uint64_t)ask->max_seqs
		                      ? room
		                      : cache * (uint64_t)ask->max_seqs;
	return INFER_OK;
}

int place_solve(struct place_plan *out, const struct infer_model *m, const struct place_ask *ask,
                infer_error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	if (ask->ctx < 0 || ask->max_seqs < 1 || ask->rows < 1 || ask->out < 0 ||
	    ask->out > ask->rows)
		return err_set(err, INFER_EINVAL,
		               "a context of %d, %d sequences, steps of %d rows and %d out",
		               ask->ctx, ask->max_seqs, ask->rows, ask->out);
	TRY(kv_type_check(ask->k_type, m->h.dk, err));
	TRY(kv_type_check(ask->v_type, m->h.dv, err));
	rc = make_groups(out, m, ask, err);
	if (!rc)
		rc = choose(out, m, ask, err);
	if (rc)
		place_fini(out);
	return rc;
}

void place_fini(struct place_plan *p)
{
	mem_free(p->layers);
	memset(p, 0, sizeof(*p));
}
