/* kv/aside.c - sequences laid aside: copies of their pages in memory of the host, under a bound of their
 * own, from which they go on later as if they had never left */
#include "kv/inner.h"
#include "base/err.h"
#include "base/os.h"

static uint32_t slot_take(struct kv *kv, int g)
{
	struct group *gr = &kv->groups[g];
	uint32_t i = gr->slot_free;

	if (i != NONE)
		gr->slot_free = gr->slots[i];
	else
		i = gr->slot_fresh++;
	kv->aside_bytes += gr->page_bytes;
	return i;
}

static unsigned char *slot_at(const struct group *gr, uint32_t slot)
{
	return gr->slot_base + (size_t)slot * (size_t)gr->page_bytes;
}

static void slot_drop(struct kv *kv, int g, uint32_t i)
{
	struct group *gr = &kv->groups[g];

	os_forget(slot_at(gr, i), gr->page_bytes);
	gr->slots[i] = gr->slot_free;
	gr->slot_free = i;
	kv->aside_bytes -= gr->page_bytes;
}

/* Pages of group g that hold the len committed positions. */
static int64_t held(const struct kv *kv, const struct kv_seq *s, int g)
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
		sum += (uint64_t)held(kv, s, g) * kv->groups[g].page_bytes;
	return sum;
}

static int is_swappable(const struct kv *kv)
{
	for (int g = 0; g < kv->n_groups; g++)
		if (!kv->groups[g].on->kv_save)
			return 0;
	return kv->aside_most > 0;
}

struct kv_seq *kv_seq_lay_aside(struct kv *kv, const struct kv_seq *s)
{
	struct kv_seq *a;

	if (!is_swappable(kv) || kv->aside_free == NONE ||
	    kv_seq_held(kv, s) > kv->aside_most - kv->aside_bytes)
		return NULL;
	a = &kv->seqs[kv->aside_free];
	kv->aside_free = a->next_free;
	a->root = s->root;
	a->len = s->len;
	a->read = s->read;
	a->n_pages = kv_pages_of(kv, s->len);
	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];

		a->first[g] = s->first[g];
		for (int32_t i = s->first[g]; i < a->n_pages; i++) {
			a->table[g][i] = s->table[g][i] == NONE ? NONE : slot_take(kv, g);
			if (a->table[g][i] != NONE)
				gr->on->kv_save(kv->caches[g], slot_at(gr, a->table[g][i]),
				                s->table[g][i]);
		}
	}
	return a;
}

int kv_seq_take_back(struct kv *kv, struct kv_seq *s, struct kv_seq *a, const uint64_t *ids)
{
	uint64_t need[KV_DEVICES] = { 0 };

	must(s->root == a->root && !s->n_pages);
	for (int g = 0; g < kv->n_groups; g++)
		need[kv->groups[g].device - kv->devices] +=
			(uint64_t)held(kv, a, g) * kv->groups[g].page_bytes;
	if (!kv_has_room(kv, need))
		return INFER_ENOMEM;
	kv->now++;
	s->len = a->len;
	s->read = a->read;
	s->n_pages = a->n_pages;
	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];

		s->first[g] = a->first[g];
		for (int32_t i = 0; i < a->n_pages; i++) {
			int has = i >= a->first[g] && a->table[g][i] != NONE;

			s->table[g][i] = has ? kv_page_take(kv, g) : NONE;
			if (has)
				gr->on->kv_load(kv->caches[g], s->table[g][i],
				                slot_at(gr, a->table[g][i]));
		}
	}
	kv_aside_drop(kv, a);
	kv_seq_commit(kv, s, ids, s->len);
	return INFER_OK;
}

void kv_aside_drop(struct kv *kv, struct kv_seq *a)
{
	if (!a)
		return;
	for (int g = 0; g < kv->n_groups; g++)
		for (int32_t i = a->first[g]; i < a->n_pages; i++)
			if (a->table[g][i] != NONE)
				slot_drop(kv, g, a->table[g][i]);
	a->next_free = kv->aside_free;
	kv->aside_free = (uint32_t)(a - kv->seqs);
}
