/* kv/radix.c - the prefix tree: one node a page of 64-bit keys, found by hash from its parent; and leaves
 * of fewer keys, the ends of sequences */
#include "kv/inner.h"
#include "base/err.h"
#include "base/sip.h"

#include <string.h>

static size_t key_bytes(const struct kv *kv) { return (size_t)kv->page * sizeof *kv->keys; }

static uint32_t hash(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key,
                     size_t n)
{
	/* prompts come from strangers */
	const struct sip_key sip = { kv->sip.a ^ root, kv->sip.b ^ parent };

	return (uint32_t)sip_hash(&sip, key, n) & kv->bucket_mask;
}

static uint32_t *bucket(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key)
{
	return &kv->buckets[hash(kv, root, parent, key, key_bytes(kv))];
}

static uint32_t *kin_of(const struct kv *kv, uint64_t root, uint32_t parent, uint64_t first)
{
	return &kv->kin[hash(kv, root, parent, &first, sizeof first)];
}

uint32_t kv_tree_find(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key)
{
	const struct node *n;

	for (uint32_t i = *bucket(kv, root, parent, key); i; i = n->chain) {
		n = &kv->nodes[i - 1];
		if (n->parent == parent && n->root == root &&
		    !memcmp(kv_key(kv, i - 1), key, key_bytes(kv)))
			return i - 1;
	}
	return NONE;
}

/* The first from i on that is below `parent`; others have come to the same bucket. */
static uint32_t kin_from(const struct kv *kv, uint32_t i, uint64_t root, uint32_t parent)
{
	while (i != NONE && (kv->nodes[i].parent != parent || kv->nodes[i].root != root))
		i = kv->nodes[i].kin.next;
	return i;
}

uint32_t kv_tree_kin(const struct kv *kv, uint64_t root, uint32_t parent, uint64_t first)
{
	return kin_from(kv, *kin_of(kv, root, parent, first) - 1, root, parent);
}

uint32_t kv_tree_older(const struct kv *kv, uint32_t node)
{
	const struct node *n = &kv->nodes[node];

	return kin_from(kv, n->kin.next, n->root, n->parent);
}

static void kin_put(struct kv *kv, uint32_t i)
{
	struct node *n = &kv->nodes[i];
	uint32_t *head = kin_of(kv, n->root, n->parent, *kv_key(kv, i));

	n->kin = (struct link){ .prev = NONE, .next = *head - 1 };
	if (*head)
		kv->nodes[*head - 1].kin.prev = i;
	*head = i + 1;
}

static void kin_remove(struct kv *kv, uint32_t i)
{
	const struct node *n = &kv->nodes[i];

	if (n->kin.prev != NONE)
		kv->nodes[n->kin.prev].kin.next = n->kin.next;
	else
		*kin_of(kv, n->root, n->parent, *kv_key(kv, i)) = n->kin.next + 1;
	if (n->kin.next != NONE)
		kv->nodes[n->kin.next].kin.prev = n->kin.prev;
}

static void bucket_remove(struct kv *kv, uint32_t i)
{
	const struct node *n = &kv->nodes[i];
	uint32_t *b = bucket(kv, n->root, n->parent, kv_key(kv, i));

	while (*b != i + 1)
		b = &kv->nodes[*b - 1].chain;
	*b = n->chain;
}

static void node_drop(struct kv *kv, uint32_t i)
{
	struct node *n = &kv->nodes[i];

	must(!n->users && !n->children);
	kv_list_remove(&kv->idle_nodes, i);
	for (int g = 0; g < kv->n_groups; g++)
		if (n->page[g] != NONE) {
			kv_page_unlend(kv, g, n->page[g]);
			kv->evicted++;
		}
	if (n->n == kv->page)
		bucket_remove(kv, i);
	kin_remove(kv, i);
	if (n->parent != NONE)
		kv->nodes[n->parent].children--;
	n->chain = kv->node_free;
	kv->node_free = i;
	kv->n_nodes--;
}

/* Drop ends whose keys node i has too, of the newest. */
static void drop_ends(struct kv *kv, uint32_t i)
{
	uint32_t k = kv_tree_older(kv, i), next;

	for (int left = KV_KIN; k != NONE && left--; k = next) {
		next = kv_tree_older(kv, k);
		if (kv->nodes[k].n < kv->nodes[i].n && !kv->nodes[k].users &&
		    kv_alike(kv, i, kv_key(kv, k), kv->nodes[k].n) == kv->nodes[k].n)
			node_drop(kv, k);
	}
}

uint32_t kv_tree_add(struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key,
                     int32_t n_keys)
{
	uint32_t i, *b;
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
	*n = (struct node){ .root = root, .parent = parent, .users = 1, .n = n_keys };
	memcpy(kv_key(kv, i), key, (size_t)n_keys * sizeof *key);
	for (int g = 0; g < kv->n_groups; g++)
		n->page[g] = NONE;
	if (n_keys == kv->page) {
		b = bucket(kv, root, parent, key);
		n->chain = *b;
		*b = i + 1;
	}
	kin_put(kv, i);
	if (parent != NONE)
		kv->nodes[parent].children++;
	kv->n_nodes++;
	drop_ends(kv, i);
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
