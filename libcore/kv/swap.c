/* kv/swap.c - swapped sequences: copies of their pages in host memory, within a budget of their own */
#include "kv/inner.h"
#include "base/err.h"
#include "base/os.h"

static uint32_t alloc_slot(struct kv *kv, int g)
{
	struct group *gr = &kv->groups[g];
	uint32_t i = gr->slot_free;

	if (i != NONE)
		gr->slot_free = gr->slots[i];
	else
		i = gr->slots_touched++;
	kv->swap_bytes += gr->page_bytes;
	return i;
}

static unsigned char *slot_at(const struct group *gr, uint32_t slot)
{
	return gr->slot_base + (size_t)slot * (size_t)gr->page_bytes;
}

static void free_slot(struct kv *kv, int g, uint32_t i)
{
	struct group *gr = &kv->groups[g];

	os_forget(slot_at(gr, i), gr->page_bytes);
	gr->slots[i] = gr->slot_free;
	gr->slot_free = i;
	kv->swap_bytes -= gr->page_bytes;
}

/* Count the pages of group g that store the committed positions of s. */
static int64_t count_pages(const struct kv *kv, const struct kv_seq *s, int g)
{
	int64_t n = 0;

	for (int32_t i = s->first[g]; i < kv_pages_of(kv, s->len); i++)
		n += s->table[g][i] != NONE;
	return n;
}

uint64_t kv_seq_held(const struct kv *kv, const struct kv_seq *s)
{
	uint64_t sum = 0;

	for (int g = 0; g < kv->n_groups; g++)
		sum += (uint64_t)count_pages(kv, s, g) * kv->groups[g].page_bytes;
	return sum;
}

static int is_swappable(const struct kv *kv)
{
	for (int g = 0; g < kv->n_groups; g++)
		if (!kv->groups[g].backend->kv_save)
			return 0;
	return kv->swap_budget > 0;
}

struct kv_seq *kv_seq_swap_out(struct kv *kv, const struct kv_seq *s)
{
	struct kv_seq *a;

	if (!is_swappable(kv) || kv->swap_free == NONE ||
	    kv_seq_held(kv, s) > kv->swap_budget - kv->swap_bytes)
		return NULL;
	a = &kv->seqs[kv->swap_free];
	kv->swap_free = a->next_free;
	a->root = s->root;
	a->len = s->len;
	a->prefilled = s->prefilled;
	a->n_pages = kv_pages_of(kv, s->len);
	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];

		a->first[g] = s->first[g];
		for (int32_t i = s->first[g]; i < a->n_pages; i++) {
			a->table[g][i] = s->table[g][i] == NONE ? NONE : alloc_slot(kv, g);
			if (a->table[g][i] != NONE)
				gr->backend->kv_save(kv->caches[g], slot_at(gr, a->table[g][i]),
				                     s->table[g][i]);
		}
	}
	return a;
}

int kv_seq_swap_in(struct kv *kv, struct kv_seq *s, struct kv_seq *a, const uint64_t *ids)
{
	uint64_t need[KV_DEVICES] = { 0 };

	must(s->root == a->root && !s->n_pages);
	for (int g = 0; g < kv->n_groups; g++)
		need[kv->groups[g].device - kv->devices] +=
			(uint64_t)count_pages(kv, a, g) * kv->groups[g].page_bytes;
	if (!kv_has_room(kv, need))
		return INFER_ENOMEM;
	kv->now++;
	s->len = a->len;
	s->prefilled = a->prefilled;
	s->n_pages = a->n_pages;
	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];

		s->first[g] = a->first[g];
		for (int32_t i = 0; i < a->n_pages; i++) {
			int has = i >= a->first[g] && a->table[g][i] != NONE;

			s->table[g][i] = has ? kv_page_alloc(kv, g) : NONE;
			if (has)
				gr->backend->kv_load(kv->caches[g], s->table[g][i],
				                     slot_at(gr, a->table[g][i]));
		}
	}
	kv_swap_drop(kv, a);
	kv_seq_commit(kv, s, ids, s->len);
	return INFER_OK;
}

void kv_swap_drop(struct kv *kv, struct kv_seq *a)
{
	if (!a)
		return;
	for (int g = 0; g < kv->n_groups; g++)
		for (int32_t i = a->first[g]; i < a->n_pages; i++)
			if (a->table[g][i] != NONE)
				free_slot(kv, g, a->table[g][i]);
	a->next_free = kv->swap_free;
	kv->swap_free = (uint32_t)(a - kv->seqs);
}
