/* place/place.c - compute the memory of weights, cache and workspace, and the context that fits. */
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
static struct size format_size(uint64_t bytes)
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

static const char *device_name(const struct place_plan *p, int part)
{
	return backend_name(&p->parts[part].on);
}

/* Add the name of the device to the error, if there are several or this one has its own name. */
static int name_failed_device(const struct place_plan *p, int part, int rc, infer_error *err)
{
	const struct backend_device *on = &p->parts[part].on;

	return p->n_parts > 1 || on->name[0] ? backend_blame(rc, on, err) : rc;
}

/* Assign layers to each device. */
static int assign_layers(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                         infer_error *err)
{
	int from = 0, last = ask->n_devices - 1;

	p->n_parts = ask->n_devices;
	for (int i = 0; i <= last; i++) {
		const struct place_device *d = &ask->devices[i];
		int n = i == last ? m->h.n_layers - from : d->layers;

		p->parts[i] = (struct place_part){ .on = d->on, .from = from, .to = from + n };
		if (n < 0 || n > m->h.n_layers - from)
			return err_set(err, INFER_EINVAL,
			               "%s: %d layers, but only %d of %d are left",
			               device_name(p, i), n, m->h.n_layers - from, m->h.n_layers);
		if (!n && i && i < last)
			return err_set(err, INFER_EINVAL, "%s: must have at least one layer",
			               device_name(p, i));
		from += n;
	}
	return INFER_OK;
}

/* Set `on_host` for the experts of a part. w: the weights of the part. */
static void keep_experts(struct place_part *part, struct weight *w)
{
	const struct graph *g = part->model.graph;

	for (int32_t i = 0; i < g->n; i++)
		for (int k = 0; k < GRAPH_W && g->nodes[i].op == GRAPH_MOE; k++)
			if (g->nodes[i].w[k] >= 0)
				w[g->nodes[i].w[k]].on_host = part->host_experts = 1;
}

static int alloc_weights(struct place_plan *p, size_t n, infer_error *err)
{
	p->weights = mem_alloc(MEM_PLACE, n, sizeof *p->weights);
	return p->weights ? INFER_OK
	                  : err_set(err, INFER_ENOMEM, "no memory to place %zu weights", n);
}

/* Set the parts of a model split over several devices. */
static int cut_parts(struct place_plan *p, const infer_model *m, infer_error *err)
{
	int32_t first[KV_DEVICES] = { 0 };
	size_t n = 0;

	for (int i = 1; i < p->n_parts; i++)
		first[i] = m->starts[p->parts[i].from];
	TRY(graph_split(&p->split, &m->graph, first, p->n_parts, err));
	for (int i = 0; i < p->n_parts; i++)
		n += (size_t)p->split.parts[i].n_weights;
	TRY(alloc_weights(p, n, err));
	n = 0;
	for (int i = 0; i < p->n_parts; i++) {
		const struct graph_part *g = &p->split.parts[i];
		struct backend_model *of = &p->parts[i].model;

		of->graph = &g->graph;
		of->weights = p->weights + n;
		of->n_weights = g->n_weights;
		for (int w = 0; w < g->n_weights; w++)
			p->weights[n++] = m->weights[g->weights[w]];
	}
	return INFER_OK;
}

/* Set the part of the model that each device runs. */
static int cut_model(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                     infer_error *err)
{
	struct backend_model *one = &p->parts[0].model;
	struct weight *at;

	for (int i = 0; i < p->n_parts; i++)
		p->parts[i].model = arch_parts(m);
	if (p->n_parts > 1) {
		TRY(cut_parts(p, m, err));
	} else if (ask->devices[0].host_experts) {
		TRY(alloc_weights(p, (size_t)one->n_weights, err));
		memcpy(p->weights, one->weights, (size_t)one->n_weights * sizeof *p->weights);
		one->weights = p->weights;
	}
	at = p->weights;
	for (int i = 0; i < p->n_parts && at; at += p->parts[i++].model.n_weights)
		if (ask->devices[i].host_experts)
			keep_experts(&p->parts[i], at);
	return INFER_OK;
}

/* Return the enum kv_kind of a layer; -1: it has no cache. */
static int cache_kind_of(const infer_model *m, int layer)
{
	if (arch_kv_layer(&m->h, layer) != layer)
		return -1;
	return m->h.recurrent[layer] ? KV_STATE : m->h.windowed[layer] ? KV_WINDOW : KV_FULL;
}

static int is_same_kind(const infer_model *m, int a, int b)
{
	return cache_kind_of(m, a) == cache_kind_of(m, b) && m->h.kv_heads[a] == m->h.kv_heads[b];
}

/* Add the group of `layer` and of all layers of the same kind in its part. */
static void add_group(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                      int device, int layer, int *at)
{
	struct place_part *part = &p->parts[device];
	enum kv_kind kind = (enum kv_kind)cache_kind_of(m, layer);
	struct arch_heads head = arch_heads_of(&m->h, layer);
	struct kv_group *g = &p->groups[p->n_groups++];

	*g = (struct kv_group){ .kind = kind,
		                .window = kind == KV_WINDOW ? m->h.window : 0,
		                .on = part->on,
		                .device = device,
		                .shape = { .layers = at,
		                           .k_type = ask->k_type,
		                           .v_type = ask->v_type,
		                           .mla = m->h.kv_rank > 0,
		                           .kv_heads = m->h.kv_heads[layer],
		                           .dk = head.dk,
		                           .dv = head.dv,
		                           .state = kind == KV_STATE ? m->h.state : 0 } };
	for (int l = layer; l < part->to; l++)
		if (is_same_kind(m, l, layer))
			at[g->shape.n_layers++] = l;
	part->n_groups++;
}

/* True if no earlier layer of the part is of the same kind. */
static int is_first(const struct place_part *part, const infer_model *m, int layer)
{
	for (int l = part->from; l < layer; l++)
		if (is_same_kind(m, l, layer))
			return 0;
	return 1;
}

/* Make the groups of each device: full attention, sliding window, recurrent; layers with other
 * heads are another group. */
static int make_groups(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                       infer_error *err)
{
	int *at = mem_alloc(MEM_PLACE, (size_t)m->h.n_layers, sizeof *at);

	if (!at)
		return err_set(err, INFER_ENOMEM, "no memory to place %d layers", m->h.n_layers);
	p->layers = at;
	for (int i = 0; i < 3 * p->n_parts; i++) {
		const struct place_part *part = &p->parts[i / 3];
		for (int l = part->from; l < part->to; l++) {
			if (cache_kind_of(m, l) != i % 3 || !is_first(part, m, l))
				continue;
			if (part->n_groups == BACKEND_GROUPS)
				return err_set(err, INFER_EUNSUP,
				               "layers with caches of more than %d kinds",
				               BACKEND_GROUPS);
			add_group(p, m, ask, i / 3, l, at);
			at += p->groups[p->n_groups - 1].shape.n_layers;
		}
	}
	return INFER_OK;
}

enum { STRIDE = 64 }; /* most pages between two saved states */

/* Choose the stride of saved states so that these take at most the bytes of the K and V between
 * them. */
static void space_states(struct place_plan *p)
{
	uint64_t states = 0, others = 0;
	int stride = STRIDE;

	for (int g = 0; g < p->n_groups; g++)
		*(p->groups[g].kind == KV_STATE ? &states : &others) += p->groups[g].page_bytes;
	if (others && states)
		stride = (int)num_min((int64_t)((states + others - 1) / others), STRIDE);
	for (int g = 0; g < p->n_groups; g++)
		p->groups[g].stride = p->groups[g].kind == KV_STATE ? stride : 0;
}

/* Compute the memory that a context needs on each device: the cache of one sequence (part->kv), and
 * the rest, mostly the workspace, which has partial results over the whole context. */
static int measure_parts(struct place_plan *p, const struct place_ask *ask, int32_t ctx,
                         infer_error *err)
{
	struct backend_size size = {
		.rows = ask->rows, .out = ask->out, .ctx = ctx, .rank = ask->rank
	};
	struct kv_group *g = p->groups;

	for (int i = 0; i < p->n_parts; g += p->parts[i++].n_groups) {
		struct place_part *part = &p->parts[i];
		struct backend_model model = part->model;
		struct backend_group shapes[BACKEND_GROUPS];
		struct backend_need need;

		for (int k = 0; k < part->n_groups; k++)
			shapes[k] = g[k].shape;
		model.groups = shapes;
		model.n_groups = part->n_groups;
		TRY(name_failed_device(
			p, i, part->on.kind->need(&need, part->on.b, &model, &size, err), err));
		for (int k = 0; k < part->n_groups; k++)
			g[k].page_bytes = need.kv_page[k];
		part->weights = need.weights;
		part->workspace = need.workspace;
		part->thread = need.thread;
		part->host = need.host;
	}
	space_states(p);
	g = p->groups;
	for (int i = 0; i < p->n_parts; g += p->parts[i++].n_groups)
		p->parts[i].kv = kv_seq_bytes(g, p->parts[i].n_groups, ctx, ask->rows);
	return INFER_OK;
}

static uint64_t work_of(const struct place_part *part) { return part->weights + part->workspace; }

/* Return the largest cache that fits in addition to the workspace. Pages and their records must fit
 * in memory. Each group reserves address space for the whole budget (kv.h), or memory if the
 * backend is eager. */
static uint64_t cache_room(const struct place_plan *p, const struct place_ask *ask, int part)
{
	uint64_t there = ask->devices[part].memory_bytes, work = work_of(&p->parts[part]);
	uint64_t memory = there > work ? there - work : 0, all = p->edge_bytes, address;

	for (int i = 0; i < p->n_parts; i++)
		all += work_of(&p->parts[i]);
	address = ask->address_bytes > all ? ask->address_bytes - all : 0;
	memory -= memory / 50;
	if (p->parts[part].on.kind->eager && p->parts[part].n_groups)
		memory /= (uint64_t)p->parts[part].n_groups;
	address = (address - address / 50) / (uint64_t)p->n_groups;
	return memory < address ? memory : address;
}

/* Return the first part that does not fit on its device; n_parts if all together exceed the budget;
 * -1 if it fits. */
static int find_misfit(const struct place_plan *p, const struct place_ask *ask)
{
	uint64_t all = 0;

	for (int i = 0; i < p->n_parts; all += p->parts[i++].kv)
		if (p->parts[i].kv > cache_room(p, ask, i))
			return i;
	return ask->kv_bytes && all > ask->kv_bytes ? p->n_parts : -1;
}

/* Find the largest context up to `most` that fits, in whole pages; 0: none does.  Memory does not
 * shrink as the context grows, so bisection finds it. */
static int find_largest_ctx(struct place_plan *p, const struct place_ask *ask, int32_t most,
                            int32_t *ctx, infer_error *err)
{
	int32_t page = ask->devices[0].on.kind->page;
	int32_t lo = 0, hi = most / page; /* in pages: lo fits, hi + 1 does not */

	while (lo < hi) {
		int32_t mid = lo + (hi - lo + 1) / 2;
		TRY(measure_parts(p, ask, mid * page, err));
		if (find_misfit(p, ask) < 0)
			lo = mid;
		else
			hi = mid - 1;
	}
	*ctx = lo * page;
	return INFER_OK;
}

static int refuse_size(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                       int32_t ctx, infer_error *err)
{
	int bad = find_misfit(p, ask), one = p->n_parts == 1 ? 0 : bad;
	uint64_t there = ask->kv_bytes, cache = 0, work = 0;
	char hint[96] = "no context fits";
	int32_t near;

	for (int i = 0; i < p->n_parts; i++)
		if (one == p->n_parts || i == one) {
			cache += p->parts[i].kv;
			work += work_of(&p->parts[i]);
		}
	if (one < p->n_parts) {
		there = cache_room(p, ask, one);
		if (p->n_parts == 1 && ask->kv_bytes && ask->kv_bytes < there)
			there = ask->kv_bytes;
	}
	TRY(find_largest_ctx(p, ask, ctx < m->h.ctx_train ? ctx : m->h.ctx_train, &near, err));
	if (near)
		snprintf(hint, sizeof hint, "a context of %d fits", near);
	bad = err_set(err, INFER_ENOMEM,
	              "a context of %d needs %s of cache; steps of %d rows take %s, and for the "
	              "cache there is %s: %s",
	              ctx, format_size(cache).at, ask->rows, format_size(work).at,
	              format_size(there).at, hint);
	return one < p->n_parts ? name_failed_device(p, one, bad, err) : bad;
}

/* Set the budget of each device; part->kv is the size of one sequence.  A budget for all devices is
 * shared in this proportion, so that all have room for about as many positions. */
static void share_budget(struct place_plan *p, const struct place_ask *ask)
{
	uint64_t all = 0, left = ask->kv_bytes, seqs = (uint64_t)ask->max_seqs;
	int last = p->groups[p->n_groups - 1].device;

	for (int i = 0; i < p->n_parts; i++)
		all += p->parts[i].kv;
	for (int i = 0; i < p->n_parts; i++) {
		struct place_part *part = &p->parts[i];
		uint64_t room = cache_room(p, ask, i), want = left;

		if (!part->n_groups)
			want = 0;
		else if (!ask->kv_bytes) /* max_seqs of full length, or what is left */
			want = part->kv > room / seqs ? room : part->kv * seqs;
		else if (i < last)
			want = part->kv + (uint64_t)((double)(ask->kv_bytes - all) *
			                             ((double)part->kv / (double)all));
		left -= want < left ? want : left;
		part->kv = want < room ? want : room;
		p->kv_bytes += part->kv;
	}
}

static int choose_sizes(struct place_plan *p, const infer_model *m, const struct place_ask *ask,
                        infer_error *err)
{
	int32_t ctx = ask->ctx ? ask->ctx : m->h.ctx_train, less = 0;

	TRY(measure_parts(p, ask, ctx, err));
	if (find_misfit(p, ask) >= 0) {
		if (!ask->ctx)
			TRY(find_largest_ctx(p, ask, ctx, &less, err));
		if (!less) {
			if (!ask->ctx)
				TRY(measure_parts(p, ask, ctx, err));
			return refuse_size(p, m, ask, ctx, err);
		}
		ctx = less;
		TRY(measure_parts(p, ask, ctx, err));
	}
	p->ctx = ctx;
	share_budget(p, ask);
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
	must(ask->n_devices > 0 && ask->n_devices <= KV_DEVICES);
	rc = assign_layers(out, m, ask, err);
	if (!rc)
		rc = cut_model(out, m, ask, err);
	if (!rc)
		rc = make_groups(out, m, ask, err);
	if (!rc)
		rc = graph_split_edges(&out->split, ask->rows, ask->out, NULL, &out->edge_bytes,
		                       err);
	if (!rc)
		rc = choose_sizes(out, m, ask, err);
	if (rc)
		place_fini(out);
	return rc;
}

/* Solve with *layers layers on the first device, increased until the model can be split there.
 * INFER_EINVAL: it cannot be, up to `most`. */
static int solve_from(int *layers, int most, struct place_ask *ask, const struct infer_model *m,
                      int32_t ctx_least, infer_error *err)
{
	struct place_plan plan;
	int rc = INFER_EINVAL;

	for (; rc == INFER_EINVAL && *layers <= most; ++*layers) {
		ask->devices[0].layers = *layers;
		rc = place_solve(&plan, m, ask, err);
		if (!rc && plan.ctx < ctx_least)
			rc = err_set(err, INFER_ENOMEM, "a context of %d fits, of the least of %d",
			             plan.ctx, ctx_least);
		place_fini(&plan);
	}
	--*layers;
	return rc;
}

int place_fit(struct place_ask *ask, const struct infer_model *m, int32_t ctx_least,
              infer_error *err)
{
	int lo = 1, hi = m->h.n_layers - 1, best = 0;

	must(ask->n_devices == 2);
	while (lo <= hi) {
		int mid = lo + (hi - lo) / 2, at = mid;
		int rc = solve_from(&at, hi, ask, m, ctx_least, err);

		if (!rc)
			best = at;
		if (rc && rc != INFER_EINVAL && rc != INFER_ENOMEM)
			return rc;
		if (rc == INFER_ENOMEM)
			lo = at + 1;
		else
			hi = mid - 1;
	}
	if (!best)
		return err_set(err, INFER_ENOMEM, "%s: no layer of the %d fits",
		               backend_name(&ask->devices[1].on), m->h.n_layers);
	ask->devices[0].layers = best;
	return INFER_OK;
}

void place_say(const struct place_plan *p, char *out, size_t n)
{
	size_t at = 0;

	for (int i = 0; i < p->n_parts && at < n; i++) {
		const struct place_part *part = &p->parts[i];
		char layers[32];

		snprintf(layers, sizeof layers, "%d-%d", part->from, part->to - 1);
		int k = snprintf(out + at, n - at, "%s%s:%s%s", i ? "," : "", device_name(p, i),
		                 part->from < part->to ? layers
		                 : i                   ? "output"
		                                       : "embedding",
		                 part->host_experts ? "+cpu-experts" : "");
		at += k > 0 ? (size_t)k : 0;
	}
}

void place_fini(struct place_plan *p)
{
	graph_split_fini(&p->split);
	mem_free(p->weights);
	mem_free(p->layers);
	memset(p, 0, sizeof *p);
}
