/* kv/group.c - open the cache: check options, reserve memory for records and pages */
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

/* Forward rc; if there are several devices, the error names the device of gr. */
static int name_device(const struct kv_opts *o, const struct kv_group *gr, int rc, infer_error *err)
{
	return o->groups[o->n_groups - 1].device ? backend_blame(rc, &gr->on, err) : rc;
}

/* Check the options. Errors that users can cause: devices with different pages, and too small budgets. */
static int check_opts(const struct kv_opts *o, infer_error *err)
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
			return name_device(
				o, gr,
				err_set(err, INFER_ENOMEM,
			                "a cache of %llu bytes does not hold one page of %d "
			                "positions: %llu bytes do",
			                (unsigned long long)o->bytes[gr->device], page,
			                (unsigned long long)least[gr->device]),
				err);
	}
	return INFER_OK;
}

static void map_layers(struct kv *kv, const struct kv_opts *o)
{
	for (int l = 0; l < o->n_layers; l++)
		kv->layers[l].group = -1;
	for (int g = 0; g < o->n_groups; g++)
		for (int i = 0; i < o->groups[g].shape.n_layers; i++) {
			int layer = o->groups[g].shape.layers[i];

			must(layer >= 0 && layer < o->n_layers);
			kv->layers[layer] =
				(struct backend_kv_layer){ g - kv->groups[g].device->first_group,
				                           i };
		}
}

/* Offsets of the parts in the reservation; bad: a size overflows. */
struct parts {
	size_t records[KV_GROUPS], slots[KV_GROUPS], copies[KV_GROUPS], tables, nodes, keys,
		buckets, prefix_buckets, end;
	int bad;
};

static size_t add_part(struct parts *p, size_t n, size_t size)
{
	size_t at = p->end, bytes;

	p->bad |= num_mul(&bytes, n, size) || num_add(&bytes, bytes, os_page() - 1) ||
	          num_add(&p->end, at, bytes / os_page() * os_page());
	return at;
}

static void size_parts(struct kv *kv, struct parts *p)
{
	uint64_t most = 0, buckets = 1;

	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];
		size_t pages;

		gr->capacity =
			(uint32_t)num_min((int64_t)(gr->device->budget / gr->page_bytes), NONE - 1);
		gr->slot_capacity =
			(uint32_t)num_min((int64_t)(kv->swap_budget / gr->page_bytes), NONE - 1);
		p->slots[g] = add_part(p, gr->slot_capacity, sizeof(uint32_t));
		p->copies[g] = add_part(p, gr->slot_capacity, gr->page_bytes);
		p->records[g] = add_part(p, gr->capacity, sizeof(struct page));
		p->bad |= num_mul(&pages, gr->capacity, gr->page_bytes) ||
		          num_add(&kv->cache_bytes, kv->cache_bytes, pages);
		if (gr->capacity > most)
			most = gr->capacity;
	}
	p->tables = add_part(p, 2 * (size_t)kv->max_seqs * (size_t)kv->n_groups,
	                     (size_t)kv_pages_of(kv, kv->ctx) * sizeof(uint32_t));
	if (kv->flags & KV_NO_TREE)
		return;
	/* a node without pages exists only if no group is KV_FULL; then nodes may run out, and the
	 * tree accepts no more until some are idle */
	while (buckets < most)
		buckets *= 2;
	kv->node_capacity = (uint32_t)most;
	kv->bucket_mask = (uint32_t)(buckets - 1);
	p->nodes = add_part(p, most, sizeof(struct node));
	p->keys = add_part(p, most, (size_t)kv->page * sizeof(uint64_t));
	p->buckets = add_part(p, buckets, sizeof(uint32_t));
	p->prefix_buckets = add_part(p, buckets, sizeof(uint32_t));
}

static void place_parts(struct kv *kv, const struct parts *p)
{
	uint32_t *table = (uint32_t *)(void *)(kv->reservation + p->tables);

	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];

		gr->pages = (struct page *)(void *)(kv->reservation + p->records[g]);
		gr->free = gr->slot_free = NONE;
		gr->slots = (uint32_t *)(void *)(kv->reservation + p->slots[g]);
		gr->slot_base = kv->reservation + p->copies[g];
		gr->evictable = (struct list){ kv->reservation + p->records[g], sizeof(struct page),
			                       NONE, NONE };
	}
	kv->nodes = (struct node *)(void *)(kv->reservation + p->nodes);
	kv->keys = (uint64_t *)(void *)(kv->reservation + p->keys);
	kv->buckets = (uint32_t *)(void *)(kv->reservation + p->buckets);
	kv->prefix_buckets = (uint32_t *)(void *)(kv->reservation + p->prefix_buckets);
	kv->idle_nodes =
		(struct list){ kv->reservation + p->nodes, sizeof(struct node), NONE, NONE };
	kv->node_free = NONE;
	sip_draw(&kv->sip);
	kv->swap_free = (uint32_t)kv->max_seqs;
	for (int32_t i = 0; i < 2 * kv->max_seqs; i++) {
		kv->seqs[i].next_free = (i + 1) % kv->max_seqs ? (uint32_t)i + 1 : NONE;
		for (int g = 0; g < kv->n_groups; g++, table += kv_pages_of(kv, kv->ctx))
			kv->seqs[i].table[g] = table;
	}
}

/* Fill the devices and assign their groups. */
static void fill_devices(struct kv *kv, const struct kv_opts *o)
{
	for (int d = 0; d < KV_DEVICES; d++)
		kv->devices[d].budget = o->bytes[d];
	for (int g = 0; g < o->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];
		struct device *d = &kv->devices[gr->device];

		if (!d->n_groups++)
			d->first_group = g;
		d->page_bytes += gr->page_bytes;
		kv->n_devices = gr->device + 1;
		kv->stride = gr->kind == KV_STATE ? gr->stride : kv->stride;
		kv->groups[g] = (struct group){ .kind = gr->kind,
			                        .window = gr->window,
			                        .page_bytes = gr->page_bytes,
			                        .device = d,
			                        .backend = gr->on.kind };
	}
	for (int d = 0; d < KV_DEVICES; d++)
		kv->devices[d].view =
			(struct backend_kv){ kv->layers, kv->caches + kv->devices[d].first_group,
			                     o->n_layers, kv->devices[d].n_groups };
}

/* Reserve the records, then the pages of every group. */
static int reserve_memory(struct kv *kv, const struct kv_opts *o, infer_error *err)
{
	struct parts p = { 0 };
	void *at;

	size_parts(kv, &p);
	if (p.bad) {
		uint64_t all = 0;

		for (int d = 0; d < kv->n_devices; d++)
			all += o->bytes[d];
		return err_set(err, INFER_ENOMEM,
		               "a cache of %llu bytes does not fit the address space",
		               (unsigned long long)all);
	}
	TRY(os_reserve(&at, p.end, err));
	kv->reservation = at;
	kv->reserved = p.end;
	map_layers(kv, o);
	place_parts(kv, &p);
	for (int g = 0; g < kv->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];
		int rc = gr->on.kind->kv_new(&kv->caches[g], gr->on.b, &gr->shape,
		                             kv->groups[g].capacity, err);

		if (rc)
			return name_device(o, gr, rc, err);
	}
	return INFER_OK;
}

int kv_open(struct kv **out, const struct kv_opts *o, infer_error *err)
{
	struct kv *kv;
	int rc;

	*out = NULL;
	must(o->n_groups > 0 && o->n_groups <= KV_GROUPS && o->ctx > 0 && o->max_seqs > 0);
	TRY(check_opts(o, err));
	kv = mem_zalloc(MEM_KV, 1, sizeof *kv);
	if (!kv)
		return err_set(err, INFER_ENOMEM, "no memory for the cache's description");
	*kv = (struct kv){ .n_groups = o->n_groups,
		           .page = o->groups[0].on.kind->page,
		           .ctx = o->ctx,
		           .max_seqs = o->max_seqs,
		           .swap_budget = o->swap_bytes,
		           .flags = o->flags };
	kv->layers = mem_zalloc(MEM_KV, (size_t)o->n_layers, sizeof *kv->layers);
	kv->seqs = mem_zalloc(MEM_KV, 2 * (size_t)o->max_seqs, sizeof *kv->seqs);
	fill_devices(kv, o);
	if (kv->layers && kv->seqs)
		rc = reserve_memory(kv, o, err);
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
		k->groups[g].backend->kv_free(k->caches[g]);
	if (k->reservation)
		os_release(k->reservation, k->reserved);
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
		                .swap_bytes = kv->swap_bytes,
		                .seqs = kv->n_seqs };
	for (int i = 0; i < kv->n_devices; i++) {
		const struct device *d = &kv->devices[i];

		if (!d->n_groups)
			continue;
		s->budget_bytes += d->budget;
		s->used_bytes += d->used;
		s->evictable_bytes += d->evictable;
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
