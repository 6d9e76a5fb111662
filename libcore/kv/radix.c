/* kv/radix.c - the prefix tree: one node a page of 64-bit keys, found by hash from its parent */
#include "kv/inner.h"
#include "base/err.h"
#include "base/sip.h"

#include <string.h>

static size_t key_bytes(const struct kv *kv) { return (size_t)kv->page * sizeof *kv->keys; }

static uint64_t *key_of(const struct kv *kv, uint32_t node)
{
	return kv->keys + (size_t)node * (size_t)kv->page;
}

static uint32_t *bucket(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key)
{
	/* prompts come from strangers */
	const struct sip_key sip = { kv->sip.a ^ root, kv->sip.b ^ parent };

	return &kv->buckets[sip_hash(&sip, key, key_bytes(kv)) & kv->bucket_mask];
}

uint32_t kv_tree_find(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key)
{
	const struct node *n;

	for (uint32_t i = *bucket(kv, root, parent, key); i; i = n->chain) {
		n = &kv->nodes[i - 1];
		if (n->parent == parent && n->root == root &&
		    !memcmp(key_of(kv, i - 1), key, key_bytes(kv)))
			return i - 1;
	}
	return NONE;
}

static void node_drop(struct kv *kv, uint32_t i)
{
	struct node *n = &kv->nodes[i];
	uint32_t *b = bucket(kv, n->root, n->parent, key_of(kv, i));

	must(!n->users && !n->children);
	kv_list_remove(&kv->idle_nodes, i);
	for (int g = 0; g < kv->n_groups; g++)
		if (n->page[g] != NONE) {
			kv_page_unlend(kv, g, n->page[g]);
			kv->evicted++;
		}
	while (*b != i + 1)
		b = &kv->nodes[*b - 1].chain;
	*b = n->chain;
	if (n->parent != NONE)
		kv->nodes[n->parent].children--;
	n->chain = kv->node_free;
	kv->node_free = i;
	kv->n_nodes--;
}

uint32_t kv_tree_add(struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key)
{
	uint32_t i, *b = bucket(kv, root, parent, key);
	struct node *n;

	if (kv->node_free == NONE && kv->node_fresh == kv->node_cap) {
		if (kv->idle_nodes.tail == NONE)
			return NONE;
		node_drop(kv, kv->idle_nodes.tail);
	}
	if (kv->node_free != NONE) {
		i = kv->node_free;
		kv->node_free = kv->nodes[i].chain;
	} else {
		i = kv->node_fresh++;
	}
	n = &kv->nodes[i];
	*n = (struct node){ .root = root, .parent = parent, .chain = *b };
	memcpy(key_of(kv, i), key, key_bytes(kv));
	for (int g = 0; g < kv->n_groups; g++)
		n->page[g] = NONE;
	*b = i + 1;
	if (parent != NONE)
		kv->nodes[parent].children++;
	n->users = 1;
	kv->n_nodes++;
	return i;
}

void kv_tree_use(struct kv *kv, uint32_t node)
{
	if (kv->nodes[node].users++ == 0)
		kv_list_remove(&kv->idle_nodes, node);
}

void kv_tree_leave(struct kv *kv, uint32_t node)
{
	must(kv->nodes[node].users);
	if (--kv->nodes[node].users == 0) {
		kv->nodes[node].stamp = kv->now;
		kv_list_push(&kv->idle_nodes, node);
	}
}

int kv_tree_evict(struct kv *kv, const struct device *device)
{
	uint32_t n = kv->idle_nodes.tail, w;
	uint64_t oldest = n != NONE ? kv->nodes[n].stamp : UINT64_MAX;
	int from = -1;

	for (int g = 0; g < kv->n_groups; g++) {
		if (device && kv->groups[g].device != device)
			continue;
		w = kv->groups[g].stale.tail;
		if (w != NONE && kv->groups[g].pages[w].stamp < oldest) {
			oldest = kv->groups[g].pages[w].stamp;
			from = g;
		}
	}
	if (from >= 0) {
		kv_page_unlend(kv, from, kv->groups[from].stale.tail);
		kv->evicted++;
	} else if (n != NONE) {
		/* of nodes of equal age the deepest is dropped first, whole: the nodes above it may
		 * still be resumed */
		node_drop(kv, n);
	}
	return from >= 0 || n != NONE;
}
