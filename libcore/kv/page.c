/* kv/page.c - pages: taken, shared, dropped when nobody holds them */
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

uint32_t kv_page_take(struct kv *kv, int g)
{
	struct group *gr = &kv->groups[g];
	uint32_t p;

	while (gr->device->budget - gr->device->used < gr->page_bytes)
		must(kv_tree_evict(kv, gr->device));
	if (gr->free != NONE) {
		p = gr->free;
		gr->free = gr->pages[p].link.next;
	} else {
		must(gr->fresh < gr->cap);
		p = gr->fresh++;
	}
	gr->pages[p] = (struct page){ .refs = 1, .node = NONE };
	gr->device->used += gr->page_bytes;
	kv->pages_used++;
	return p;
}

static void page_drop(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];

	gr->on->kv_drop(kv->caches[g], p);
	gr->device->used -= gr->page_bytes;
	kv->pages_used--;
	gr->pages[p].link.next = gr->free;
	gr->free = p;
}

void kv_page_ref(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];
	struct page *pg = &gr->pages[p];

	must(pg->refs);
	if (pg->refs++ == 1 && pg->node != NONE) {
		gr->device->idle -= gr->page_bytes;
		if (gr->kind != KV_FULL)
			kv_list_remove(&gr->stale, p);
	}
}

void kv_page_unref(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];
	struct page *pg = &gr->pages[p];

	must(pg->refs);
	if (--pg->refs == 0) {
		page_drop(kv, g, p);
	} else if (pg->refs == 1 && pg->node != NONE) {
		pg->stamp = kv->now;
		gr->device->idle += gr->page_bytes;
		if (gr->kind != KV_FULL)
			kv_list_push(&gr->stale, p);
	}
}

void kv_page_lend(struct kv *kv, int g, uint32_t p, uint32_t node)
{
	struct page *pg = &kv->groups[g].pages[p];

	must(pg->refs && pg->node == NONE);
	pg->refs++;
	pg->node = node;
	kv->pages_tree++;
	kv->nodes[node].page[g] = p;
}

void kv_page_unlend(struct kv *kv, int g, uint32_t p)
{
	struct group *gr = &kv->groups[g];
	struct page *pg = &gr->pages[p];

	must(pg->refs && pg->node != NONE);
	kv->nodes[pg->node].page[g] = NONE;
	if (pg->refs == 1) {
		gr->device->idle -= gr->page_bytes;
		if (gr->kind != KV_FULL)
			kv_list_remove(&gr->stale, p);
	}
	pg->node = NONE;
	kv->pages_tree--;
	kv_page_unref(kv, g, p);
}
