/* kv/page.c - reference-counted pages: allocate, share with the tree, free the unowned */
#include "kv/inner.h"
#include "base/err.h"

void kv_list_push(struct list *l, uint32_t i)
{
	*list_link(l, i) = (struct link){ .prev = NONE, .next = l->head };
	if (l->head != NONE)
		list_link(l, l->head)->prev = i;
	else
		l->tail = i;
	l->head = i;
}

void kv_list_remove(struct list *l, uint32_t i)
{
	struct link k = *list_link(l, i);

	if (k.prev != NONE)
		list_link(l, k.prev)->next = k.next;
	else
		l->head = k.next;
	if (k.next != NONE)
		list_link(l, k.next)->prev = k.prev;
	else
		l->tail = k.prev;
}

uint32_t kv_page_alloc(struct kv *kv, int g)
{
	struct group *gr = &kv->groups[g];
	uint32_t p;

	while (gr->device->budget - gr->device->used < gr->page_bytes)
		must(kv_tree_evict(kv, gr->device));
	if (gr->free != NONE) {
		p = gr->free;
		gr->free = gr->pages[p].link.next;
	} else {
		must(gr->n_touched < gr->capacity);
		p = gr->n_touched++;
	}
	gr->pages[p] = (struct page){ .refs = 1, .node = NONE };
	gr->device->used += gr->page_bytes;
	kv->pages_used++;
	return p;
}

static void free_page(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];

	gr->backend->kv_drop(kv->caches[g], p);
	gr->device->used -= gr->page_bytes;
	kv->pages_used--;
	gr->pages[p].link.next = gr->free;
	gr->free = p;
}

void kv_page_retain(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];
	struct page *pg = &gr->pages[p];

	must(pg->refs);
	if (pg->refs++ == 1 && pg->node != NONE) {
		gr->device->evictable -= gr->page_bytes;
		if (gr->kind != KV_FULL)
			kv_list_remove(&gr->evictable, p);
	}
}

void kv_page_release(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];
	struct page *pg = &gr->pages[p];

	must(pg->refs);
	if (--pg->refs == 0) {
		free_page(kv, g, p);
	} else if (pg->refs == 1 && pg->node != NONE) {
		pg->idle_since = kv->now;
		gr->device->evictable += gr->page_bytes;
		if (gr->kind != KV_FULL)
			kv_list_push(&gr->evictable, p);
	}
}

void kv_page_share(struct kv *kv, int g, uint32_t p, uint32_t node)
{
	struct page *pg = &kv->groups[g].pages[p];

	must(pg->refs && pg->node == NONE);
	pg->refs++;
	pg->node = node;
	kv->pages_tree++;
	kv->nodes[node].page[g] = p;
}

void kv_page_unshare(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];
	struct page *pg = &gr->pages[p];

	must(pg->refs && pg->node != NONE);
	kv->nodes[pg->node].page[g] = NONE;
	if (pg->refs == 1) {
		gr->device->evictable -= gr->page_bytes;
		if (gr->kind != KV_FULL)
			kv_list_remove(&gr->evictable, p);
	}
	pg->node = NONE;
	kv->pages_tree--;
	kv_page_release(kv, g, p);
}
