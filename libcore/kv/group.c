/* kv/group.c - groups of layers: what is built, how a page is laid out, and the one reservation for
 * all of it */
#include "kv/inner.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "kern/kv.h"

static size_t half_bytes(int type, int heads, int dim)
{
	return (size_t)heads * kern_kv_bytes(type, dim);
}

/* What one layer adds to a page; a layer's K begins where the last one's V ended. */
static size_t layer_bytes(const struct kv_group *g)
{
	return num_round_up(half_bytes(g->k_type, g->kv_heads, g->dk), 64) +
	       num_round_up(half_bytes(g->v_type, g->kv_heads, g->dv), 64);
}

uint64_t kv_page_bytes(const struct kv_group *g)
{
	return num_round_up((size_t)g->n_layers * layer_bytes(g), os_page());
}

uint64_t kv_seq_bytes(const struct kv_group *groups, int n_groups, int64_t n, int64_t rows)
{
	uint64_t sum = 0;

	for (int g = 0; g < n_groups; g++) {
		int64_t pages = (n + KERN_PAGE - 1) / KERN_PAGE;

		if (groups[g].kind == KV_WINDOW)
			pages = num_min(pages, kv_window_pages(groups[g].window, rows));
		sum += (uint64_t)pages * kv_page_bytes(&groups[g]);
	}
	return sum;
}

int kv_type_check(int type, int dim, infer_error *err)
{
	const struct infer_type_info *t = infer_type_info(type);
	int block = kern_kv_block(type);

	if (!block)
		return err_set(err, INFER_EUNSUP,
		               "cache type %s is not supported: F16, F32, Q8_0 and Q4_0 are",
		               t ? t->name : "?");
	if (dim % block)
		return err_set(
			err, INFER_EUNSUP,
			"a cache of type %s needs heads of a multiple of %d; this model's have %d",
			t->name, block, dim);
	return INFER_OK;
}

static int group_check(const struct kv_group *g, infer_error *err)
{
	if (g->kind == KV_LATENT)
		return err_set(err, INFER_EUNSUP,
		               "a cache of latent vectors (KV_LATENT) is not built");
	if (g->kind == KV_STATE)
		return err_set(err, INFER_EUNSUP,
		               "a cache of recurrent states (KV_STATE) is not built");
	TRY(kv_type_check(g->k_type, g->dk, err));
	TRY(kv_type_check(g->v_type, g->dv, err));
	must(g->n_layers > 0 && g->kv_heads > 0 && g->dk > 0 && g->dv > 0);
	must(g->kind == KV_FULL || g->window > 0);
	return INFER_OK;
}

static void layers_fill(struct kv *kv, const struct kv_opts *o)
{
	for (int l = 0; l < o->n_layers; l++)
		kv->layers[l].group = -1;
	for (int g = 0; g < o->n_groups; g++) {
		const struct kv_group *gr = &o->groups[g];
		size_t k_bytes = num_round_up(half_bytes(gr->k_type, gr->kv_heads, gr->dk), 64);

		for (int i = 0; i < gr->n_layers; i++) {
			size_t at = (size_t)i * layer_bytes(gr);

			must(gr->layers[i] >= 0 && gr->layers[i] < o->n_layers);
			kv->layers[gr->layers[i]] = (struct backend_kv_layer){
				.group = g,
				.k_type = gr->k_type,
				.v_type = gr->v_type,
				.kv_heads = gr->kv_heads,
				.dk = gr->dk,
				.dv = gr->dv,
				.k_offset = at,
				.v_offset = at + k_bytes,
			};
		}
	}
}

/* Where the parts of the reservation begin; counted first, then laid out. */
struct parts {
	size_t pages[KV_GROUPS], records[KV_GROUPS], tables, nodes, buckets, end;
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

		gr->cap = (uint32_t)num_min((int64_t)(kv->budget / gr->page_bytes), NONE - 1);
		p->pages[g] = part(p, gr->cap, gr->page_bytes);
		if (gr->cap > most)
			most = gr->cap;
	}
	for (int g = 0; g < kv->n_groups; g++)
		p->records[g] = part(p, kv->groups[g].cap, sizeof(struct page));
	p->tables = part(p, (size_t)kv->max_seqs * (size_t)kv->n_groups,
	                 (size_t)kv_pages_of(kv->ctx) * sizeof(uint32_t));
	if (kv->flags & KV_NO_TREE)
		return;
	/* a node without any page can exist only where all groups are windows; then nodes may run
	 * out, and the tree takes no more until some are idle */
	while (buckets < most)
		buckets *= 2;
	kv->node_cap = (uint32_t)most;
	kv->bucket_mask = (uint32_t)(buckets - 1);
	p->nodes = part(p, most, sizeof(struct node));
	p->buckets = part(p, buckets, sizeof(uint32_t));
}

static void parts_place(struct kv *kv, const struct parts *p)
{
	uint32_t *table = (uint32_t *)(void *)(kv->at + p->tables);

	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];

		gr->base = kv->at + p->pages[g];
		gr->pages = (struct page *)(void *)(kv->at + p->records[g]);
		gr->free = NONE;
		gr->stale =
			(struct list){ kv->at + p->records[g], sizeof(struct page), NONE, NONE };
		kv->view_groups[g] = (struct backend_kv_group){ gr->base, gr->page_bytes };
	}
	kv->nodes = (struct node *)(void *)(kv->at + p->nodes);
	kv->buckets = (uint32_t *)(void *)(kv->at + p->buckets);
	kv->idle_nodes = (struct list){ kv->at + p->nodes, sizeof(struct node), NONE, NONE };
	kv->node_free = NONE;
	sip_draw(&kv->sip);
	for (int32_t i = 0; i < kv->max_seqs; i++) {
		kv->seqs[i].next_free = i + 1 < kv->max_seqs ? (uint32_t)i + 1 : NONE;
		for (int g = 0; g < kv->n_groups; g++, table += kv_pages_of(kv->ctx))
			kv->seqs[i].table[g] = table;
	}
	kv->view =
		(struct backend_kv){ kv->layers, kv->view_groups, kv->view.n_layers, kv->n_groups };
}

int kv_open(struct kv **out, const struct kv_opts *o, infer_error *err)
{
	struct parts p = { 0 };
	struct kv *kv;
	uint64_t least = 0;
	void *at;
	int rc;

	*out = NULL;
	must(o->n_groups > 0 && o->n_groups <= KV_GROUPS && o->ctx > 0 && o->max_seqs > 0);
	for (int g = 0; g < o->n_groups; g++) {
		TRY(group_check(&o->groups[g], err));
		least += kv_page_bytes(&o->groups[g]);
	}
	if (o->bytes < least)
		return err_set(err, INFER_ENOMEM,
		               "a cache of %llu bytes does not hold one page of %d positions: %llu "
		               "bytes do",
		               (unsigned long long)o->bytes, KERN_PAGE, (unsigned long long)least);
	kv = mem_zalloc(MEM_KV, 1, sizeof *kv);
	if (!kv)
		return err_set(err, INFER_ENOMEM, "no memory for the cache's description");
	*kv = (struct kv){ .n_groups = o->n_groups,
		           .ctx = o->ctx,
		           .max_seqs = o->max_seqs,
		           .flags = o->flags,
		           .budget = o->bytes,
		           .view.n_layers = o->n_layers };
	for (int g = 0; g < o->n_groups; g++)
		kv->groups[g] =
			(struct group){ .kind = o->groups[g].kind,
			                .window = o->groups[g].window,
			                .page_bytes = (size_t)kv_page_bytes(&o->groups[g]) };
	kv->layers = mem_zalloc(MEM_KV, (size_t)o->n_layers, sizeof *kv->layers);
	kv->seqs = mem_zalloc(MEM_KV, (size_t)o->max_seqs, sizeof *kv->seqs);
	if (!kv->layers || !kv->seqs) {
		rc = err_set(err, INFER_ENOMEM, "no memory for %d sequences of the cache",
		             (int)o->max_seqs);
		goto out;
	}
	parts_count(kv, &p);
	if (p.bad) {
		rc = err_set(err, INFER_ENOMEM,
		             "a cache of %llu bytes does not fit the address space",
		             (unsigned long long)o->bytes);
		goto out;
	}
	rc = os_reserve(&at, p.end, err);
	if (rc)
		goto out;
	kv->at = at;
	kv->reserved = p.end;
	layers_fill(kv, o);
	parts_place(kv, &p);
	*out = kv;
	kv = NULL;
out:
	kv_close(&kv);
	return rc;
}

void kv_close(struct kv **kv)
{
	struct kv *k = *kv;

	*kv = NULL;
	if (!k)
		return;
	if (k->at)
		os_release(k->at, k->reserved);
	mem_free(k->layers);
	mem_free(k->seqs);
	mem_free(k);
}

const struct backend_kv *kv_view(const struct kv *kv) { return &kv->view; }

uint64_t kv_room_bytes(const struct kv *kv) { return kv->budget - kv->used + kv->idle; }

void kv_stats(const struct kv *kv, struct kv_stats *s)
{
	*s = (struct kv_stats){ .budget_bytes = kv->budget,
		                .used_bytes = kv->used,
		                .idle_bytes = kv->idle,
		                .pages_used = kv->pages_used,
		                .pages_tree = kv->pages_tree,
		                .nodes = kv->n_nodes,
		                .evicted = kv->evicted,
		                .reserved_bytes = kv->reserved,
		                .seqs = kv->n_seqs };
}

void kv_clear(struct kv *kv)
{
	while (kv_tree_evict(kv))
		;
}
