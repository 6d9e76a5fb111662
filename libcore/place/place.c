/* place/place.c - the memory of weights, cache and workspace, and the context that fits. */
#include "place/place.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

/* Format a size with three digits and a unit. */
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
		snprintf(s.at, sizeof s.at, "%d bytes", (int)x);
	else
		snprintf(s.at, sizeof s.at, "%.*f %ciB",
		         x < 9.995   ? 2
		         : x < 99.95 ? 1
		                     : 0,
		         x, units[u]);
	return s;
}

/* Groups of layers: those that see the whole context, and those with a sliding window, if there are
 * any. */
static int make_groups(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                       infer_error *err)
{
	int *at = mem_alloc(MEM_PLACE, (size_t)m->h.n_layers, sizeof *at);

	if (!at)
		return err_set(err, INFER_ENOMEM, "no memory to place %d layers", m->h.n_layers);
	p->layers = at;
	for (int slides = 0; slides < 2; slides++) {
		struct kv_group *g = &p->groups[p->n_groups];
		*g = (struct kv_group){ .kind = slides ? KV_WINDOW : KV_FULL,
			                .window = slides ? m->h.window : 0,
			                .on = ask->devices[0].on,
			                .shape = { .layers = at,
			                           .k_type = ask->k_type,
			                           .v_type = ask->v_type,
			                           .kv_heads = m->h.n_head_kv,
			                           .dk = m->h.dk,
			                           .dv = m->h.dv } };
		for (int i = 0; i < m->h.n_layers; i++)
			if (!m->h.windowed[i] == !slides)
				at[g->shape.n_layers++] = i;
		at += g->shape.n_layers;
		p->n_groups += g->shape.n_layers > 0;
	}
	p->parts[0] =
		(struct place_part){ .on = ask->devices[0].on, .from = 0, .to = m->h.n_layers };
	p->n_parts = 1;
	return INFER_OK;
}

/* The memory that a context needs: the cache of one sequence, and the rest, above all the
 * workspace, which holds partial results over the whole context. */
static int weigh(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                 int32_t ctx, uint64_t *cache, uint64_t *work, infer_error *err)
{
	const struct backend_device *on = &ask->devices[0].on;
	struct backend_model model = arch_parts(m);
	struct backend_size size = { .rows = ask->rows, .out = ask->out, .ctx = ctx };
	struct backend_group shapes[KV_GROUPS];
	struct place_part *part = &p->parts[0];
	struct backend_need need;

	for (int g = 0; g < p->n_groups; g++)
		shapes[g] = p->groups[g].shape;
	model.groups = shapes;
	model.n_groups = p->n_groups;
	TRY(on->kind->need(&need, on->b, &model, &size, err));
	for (int g = 0; g < p->n_groups; g++)
		p->groups[g].page_bytes = need.kv_page[g];
	part->weights = need.weights;
	part->workspace = need.workspace;
	part->host = need.host;
	*work = need.weights + need.workspace;
	*cache = kv_seq_bytes(p->groups, p->n_groups, ctx, ask->rows);
	return INFER_OK;
}

/* The largest cache that fits beside a workspace: pages and their bookkeeping must fit the memory,
 * and the address space once for every group (kv.h). */
static uint64_t cache_room(const struct place_plan *p, const struct place_ask *ask, uint64_t work)
{
	uint64_t there = ask->devices[0].memory_bytes, memory = there > work ? there - work : 0;
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

/* The largest context up to `most` that fits, in whole pages; 0: none does.  The cache grows
 * with the context and the workspace does not shrink, so bisection finds it. */
static int largest(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                   int32_t most, int32_t *ctx, infer_error *err)
{
	int32_t page = ask->devices[0].on.kind->page;
	int32_t lo = 0, hi = most / page; /* in pages: lo fits, hi + 1 is too many */

	while (lo < hi) {
		int32_t mid = lo + (hi - lo + 1) / 2;
		uint64_t cache, work;
		TRY(weigh(p, m, ask, mid * page, &cache, &work, err));
		if (fits(p, ask, cache, work))
			lo = mid;
		else
			hi = mid - 1;
	}
	*ctx = lo * page;
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
	TRY(largest(p, m, ask, ctx < m->h.ctx_train ? ctx : m->h.ctx_train, &near, err));
	if (near)
		snprintf(hint, sizeof hint, "a context of %d fits", near);
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
	room = cache_room(p, ask, work);
	if (ask->kv_bytes)
		p->kv_bytes = ask->kv_bytes < room ? ask->kv_bytes : room;
	else /* every sequence at its maximum length, or all memory that is left */
		p->kv_bytes = cache > room / (uint64_t)ask->max_seqs
		                      ? room
		                      : cache * (uint64_t)ask->max_seqs;
	p->parts[0].kv = p->kv_bytes;
	return INFER_OK;
}

int place_solve(struct place_plan *out, const struct infer_model *m, const struct place_ask *ask,
                infer_error *err)
{
	int rc;

	memset(out, 0, sizeof *out);
	if (ask->ctx < 0 || ask->max_seqs < 1 || ask->rows < 1 || ask->out < 0 ||
	    ask->out > ask->rows)
		return err_set(err, INFER_EINVAL,
		               "a context of %d, %d sequences, steps of %d rows and %d out",
		               ask->ctx, ask->max_seqs, ask->rows, ask->out);
	must(ask->n_devices == 1);
	rc = make_groups(out, m, ask, err);
	if (!rc)
		rc = choose(out, m, ask, err);
	if (rc)
		place_fini(out);
	return rc;
}

void place_say(const struct place_plan *p, char *out, size_t n)
{
	size_t at = 0;

	for (int i = 0; i < p->n_parts && at < n; i++) {
		const struct place_part *part = &p->parts[i];
		int k = snprintf(out + at, n - at, "%s%s:%d-%d", i ? "," : "", part->on.kind->name,
		                 part->from, part->to - 1);
		at += k > 0 ? (size_t)k : 0;
	}
}

void place_fini(struct place_plan *p)
{
	mem_free(p->layers);
	memset(p, 0, sizeof *p);
}
