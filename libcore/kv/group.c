/* kv/group.c - groups of layers, the one reservation for the books, and the backends' pages */
#include "kv/inner.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"

uint64_t kv_seq_bytes(const struct kv_group *groups, int n_groups, int64_t n, int64_t rows)
{
	uint64_t sum = 0;

	for (int g = 0; g < n_groups; g++) {
		int page = groups[g].on.kind->page;
		int64_t pages = (n + page - 1) / page;

		if (groups[g].kind == KV_STATE)
			pages = num_min(pages, kv_state_pages(page, groups[g].stride, rows));
		if (groups[g].kind == KV_WINDOW)
			pages = num_min(pages, kv_window_pages(page, groups[g].window, rows));
		sum += (uint64_t)pages * groups[g].page_bytes;
	}
	return sum;
}

/* Of several devices the error names the one. */
static int blame(const struct kv_opts *o, const struct kv_group *gr, int rc, infer_error *err)
{
	return o->groups[o->n_groups - 1].device ? backend_blame(rc, &gr->on, err) : rc;
}

/* Wrong options are a bug of ours, except devices that cannot be combined. */
static int check(const struct kv_opts *o, infer_error *err)
{
	int page = o->groups[0].on.kind->page;
	uint64_t least[KV_DEVICES] = { 0 };

	for (int g = 0; g < o->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];

		must(gr->shape.n_layers > 0 && gr->page_bytes > 0);
		must(gr->kind != KV_WINDOW || gr->window > 0);
		must(gr->kind != KV_STATE || gr->stride > 0);
		must(gr->device >= (g ? gr[-1].device : 0) && gr->device < KV_DEVICES);
		if (gr->on.kind->page != page)
			return err_set(err, INFER_EINVAL,
			               "pages of %d positions on %s and of %d on %s", page,
			               backend_name(&o->groups[0].on), gr->on.kind->page,
			               backend_name(&gr->on));
		least[gr->device] += gr->page_bytes;
	}
	for (int g = 0; g < o->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];

		if (o->bytes[gr->device] < least[gr->device])
			return blame(o, gr,
			             err_set(err, INFER_ENOMEM,
			                     "a cache of %llu bytes does not hold one page of %d "
			                     "positions: %llu bytes do",
			                     (unsigned long long)o->bytes[gr->device], page,
			                     (unsigned long long)least[gr->device]),
			             err);
	}
	return INFER_OK;
}

static void layers_fill(struct kv *kv, const struct kv_opts *o)
{
	for (int l = 0; l < o->n_layers; l++)
		kv->layers[l].group = -1;
	for (int g = 0; g < o->n_groups; g++)
		for (int i = 0; i < o->groups[g].shape.n_layers; i++) {
			int layer = o->groups[g].shape.layers[i];

			must(layer >= 0 && layer < o->n_layers);
			kv->layers[layer] =
				(struct backend_kv_layer){ g - kv->groups[g].device->first, i };
		}
}

/* Where the parts of the reservation begin; counted first, then laid out. */
struct parts {
	size_t records[KV_GROUPS], slots[KV_GROUPS], copies[KV_GROUPS], tables, nodes, keys,
		buckets, kin, end;
	int bad;
};

static size_t part(struct parts *p, size_t n, size_t size)
{
	size_t at = p->end, bytes;

	p->bad |= num_mul(&bytes, n, size) || num_add(&bytes, bytes, os_page() - 1) ||
	          num_add(&p->end, at, bytes / os_page() * os_page());
	return at;
}

static void parts_count(struct kv *kv, struct parts *p)
{
	uint64_t most = 0, buckets = 1;

	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];
		size_t pages;

		gr->cap =
			(uint32_t)num_min((int64_t)(gr->device->budget / gr->page_bytes), NONE - 1);
		gr->slot_cap =
			(uint32_t)num_min((int64_t)(kv->aside_most / gr->page_bytes), NONE - 1);
		p->slots[g] = part(p, gr->slot_cap, sizeof(uint32_t));
		p->copies[g] = part(p, gr->slot_cap, gr->page_bytes);
		p->records[g] = part(p, gr->cap, sizeof(struct page));
		p->bad |= num_mul(&pages, gr->cap, gr->page_bytes) ||
		          num_add(&kv->cache_bytes, kv->cache_bytes, pages);
		if (gr->cap > most)
			most = gr->cap;
	}
	p->tables = part(p, 2 * (size_t)kv->max_seqs * (size_t)kv->n_groups,
	                 (size_t)kv_pages_of(kv, kv->ctx) * sizeof(uint32_t));
	if (kv->flags & KV_NO_TREE)
		return;
	/* a node without any page can exist only where no group is full; then nodes may run
	 * out, and the tree takes no more until some are idle */
	while (buckets < most)
		buckets *= 2;
	kv->node_cap = (uint32_t)most;
	kv->bucket_mask = (uint32_t)(buckets - 1);
	p->nodes = part(p, most, sizeof(struct node));
	p->keys = part(p, most, (size_t)kv->page * sizeof(uint64_t));
	p->buckets = part(p, buckets, sizeof(uint32_t));
	p->kin = part(p, buckets, sizeof(uint32_t));
}

static void parts_place(struct kv *kv, const struct parts *p)
{
	uint32_t *table = (uint32_t *)(void *)(kv->at + p->tables);

	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];

		gr->pages = (struct page *)(void *)(kv->at + p->records[g]);
		gr->free = gr->slot_free = NONE;
		gr->slots = (uint32_t *)(void *)(kv->at + p->slots[g]);
		gr->slot_base = kv->at + p->copies[g];
		gr->stale =
			(struct list){ kv->at + p->records[g], sizeof(struct page), NONE, NONE };
	}
	kv->nodes = (struct node *)(void *)(kv->at + p->nodes);
	kv->keys = (uint64_t *)(void *)(kv->at + p->keys);
	kv->buckets = (uint32_t *)(void *)(kv->at + p->buckets);
	kv->kin = (uint32_t *)(void *)(kv->at + p->kin);
	kv->idle_nodes = (struct list){ kv->at + p->nodes, sizeof(struct node), NONE, NONE };
	kv->node_free = NONE;
	sip_draw(&kv->sip);
	kv->aside_free = (uint32_t)kv->max_seqs;
	for (int32_t i = 0; i < 2 * kv->max_seqs; i++) {
		kv->seqs[i].next_free = (i + 1) % kv->max_seqs ? (uint32_t)i + 1 : NONE;
		for (int g = 0; g < kv->n_groups; g++, table += kv_pages_of(kv, kv->ctx))
			kv->seqs[i].table[g] = table;
	}
}

/* Devices and the groups that lie there. */
static void devices_fill(struct kv *kv, const struct kv_opts *o)
{
	for (int d = 0; d < KV_DEVICES; d++)
		kv->devices[d].budget = o->bytes[d];
	for (int g = 0; g < o->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];
		struct device *d = &kv->devices[gr->device];

		if (!d->n_groups++)
			d->first = g;
		d->page_bytes += gr->page_bytes;
		kv->n_devices = gr->device + 1;
		kv->stride = gr->kind == KV_STATE ? gr->stride : kv->stride;
		kv->groups[g] = (struct group){ .kind = gr->kind,
			                        .window = gr->window,
			                        .page_bytes = gr->page_bytes,
			                        .device = d,
			                        .on = gr->on.kind };
	}
	for (int d = 0; d < KV_DEVICES; d++)
		kv->devices[d].view =
			(struct backend_kv){ kv->layers, kv->caches + kv->devices[d].first,
			                     o->n_layers, kv->devices[d].n_groups };
}

/* The books, then the pages of every group. */
static int reserve(struct kv *kv, const struct kv_opts *o, infer_error *err)
{
	struct parts p = { 0 };
	void *at;

	parts_count(kv, &p);
	if (p.bad) {
		uint64_t all = 0;

		for (int d = 0; d < kv->n_devices; d++)
			all += o->bytes[d];
		return err_set(err, INFER_ENOMEM,
		               "a cache of %llu bytes does not fit the address space",
		               (unsigned long long)all);
	}
	TRY(os_reserve(&at, p.end, err));
	kv->at = at;
	kv->reserved = p.end;
	layers_fill(kv, o);
	parts_place(kv, &p);
	for (int g = 0; g < kv->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];
		int rc = gr->on.kind->kv_new(&kv->caches[g], gr->on.b, &gr->shape,
		                             kv->groups[g].cap, err);

		if (rc)
			return blame(o, gr, rc, err);
	}
	return INFER_OK;
}

int kv_open(struct kv **out, const struct kv_opts *o, infer_error *err)
{
	struct kv *kv;
	int rc;

	*out = NULL;
	must(o->n_groups > 0 && o->n_groups <= KV_GROUPS && o->ctx > 0 && o->max_seqs > 0);
	TRY(check(o, err));
	kv = mem_zalloc(MEM_KV, 1, sizeof *kv);
	if (!kv)
		return err_set(err, INFER_ENOMEM, "no memory for the cache's description");
	*kv = (struct kv){ .n_groups = o->n_groups,
		           .page = o->groups[0].on.kind->page,
		           .ctx = o->ctx,
		           .max_seqs = o->max_seqs,
		           .aside_most = o->aside_bytes,
		           .flags = o->flags };
	kv->layers = mem_zalloc(MEM_KV, (size_t)o->n_layers, sizeof *kv->layers);
	kv->seqs = mem_zalloc(MEM_KV, 2 * (size_t)o->max_seqs, sizeof *kv->seqs);
	devices_fill(kv, o);
	if (kv->layers && kv->seqs)
		rc = reserve(kv, o, err);
	else
		rc = err_set(err, INFER_ENOMEM, "no memory for %d sequences of the cache",
		             (int)o->max_seqs);
	if (rc)
		kv_close(&kv);
	*out = kv;
	return rc;
}

void kv_close(struct kv **kv)
{
	struct kv *k = *kv;

	*kv = NULL;
	if (!k)
		return;
	for (int g = 0; g < k->n_groups; g++)
		k->groups[g].on->kv_free(k->caches[g]);
	if (k->at)
		os_release(k->at, k->reserved);
	mem_free(k->layers);
	mem_free(k->seqs);
	mem_free(k);
}

const struct backend_kv *kv_view(const struct kv *kv, int device)
{
	return &kv->devices[device].view;
}

void kv_stats(const struct kv *kv, struct kv_stats *s)
{
	*s = (struct kv_stats){ .columns = UINT64_MAX,
		                .pages_used = kv->pages_used,
		                .pages_tree = kv->pages_tree,
		                .nodes = kv->n_nodes,
		                .evicted = kv->evicted,
		                .reserved_bytes = kv->reserved + kv->cache_bytes,
		                .aside_bytes = kv->aside_bytes,
		                .seqs = kv->n_seqs };
	for (int i = 0; i < kv->n_devices; i++) {
		const struct device *d = &kv->devices[i];

		if (!d->n_groups)
			continue;
		s->budget_bytes += d->budget;
		s->used_bytes += d->used;
		s->idle_bytes += d->idle;
		s->page_bytes += d->page_bytes;
		if (s->columns > d->budget / d->page_bytes)
			s->columns = d->budget / d->page_bytes;
		if (s->columns_used < (d->used + d->page_bytes - 1) / d->page_bytes)
			s->columns_used = (d->used + d->page_bytes - 1) / d->page_bytes;
	}
}

void kv_clear(struct kv *kv)
{
	while (kv_tree_evict(kv, NULL))
		;
}
