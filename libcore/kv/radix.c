/* kv/radix.c - the prefix tree.  A node has the 64-bit keys of one page and is found by a hash of its parent
 * and keys; a partial leaf, the end of a sequence, has fewer keys. */
#include "kv/inner.h"
#include "base/err.h"
#include "base/sip.h"

#include <string.h>

static size_t key_bytes(const struct kv *kv) { return (size_t)kv->page * sizeof *kv->keys; }

static uint32_t hash_keys(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key,
                          size_t n)
{
	/* keyed, so that untrusted prompts cannot force collisions */
	const struct sip_key sip = { kv->sip.a ^ root, kv->sip.b ^ parent };

	return (uint32_t)sip_hash(&sip, key, n) & kv->bucket_mask;
}

static uint32_t *page_bucket(const struct kv *kv, uint64_t root, uint32_t parent,
                             const uint64_t *key)
{
	return &kv->buckets[hash_keys(kv, root, parent, key, key_bytes(kv))];
}

static uint32_t *prefix_bucket(const struct kv *kv, uint64_t root, uint32_t parent, uint64_t first)
{
	return &kv->prefix_buckets[hash_keys(kv, root, parent, &first, sizeof first)];
}

uint32_t kv_tree_find(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key)
{
	const struct node *n;

	for (uint32_t i = *page_bucket(kv, root, parent, key); i; i = n->chain) {
		n = &kv->nodes[i - 1];
		if (n->parent == parent && n->root == root &&
		    !memcmp(kv_key(kv, i - 1), key, key_bytes(kv)))
			return i - 1;
	}
	return NONE;
}

/* Return the first child of `parent` in the bucket's list from node i on. */
static uint32_t skip_other_parents(const struct kv *kv, uint32_t i, uint64_t root, uint32_t parent)
{
	while (i != NONE && (kv->nodes[i].parent != parent || kv->nodes[i].root != root))
		i = kv->nodes[i].sibling.next;
	return i;
}

uint32_t kv_tree_first_sibling(const struct kv *kv, uint64_t root, uint32_t parent, uint64_t first)
{
	return skip_other_parents(kv, *prefix_bucket(kv, root, parent, first) - 1, root, parent);
}

uint32_t kv_tree_next_sibling(const struct kv *kv, uint32_t node)
{
	const struct node *n = &kv->nodes[node];

	return skip_other_parents(kv, n->sibling.next, n->root, n->parent);
}

static void insert_sibling(struct kv *kv, uint32_t i)
{
	struct node *n = &kv->nodes[i];
	uint32_t *head = prefix_bucket(kv, n->root, n->parent, *kv_key(kv, i));

	n->sibling = (struct link){ .prev = NONE, .next = *head - 1 };
	if (*head)
		kv->nodes[*head - 1].sibling.prev = i;
	*head = i + 1;
}

static void remove_sibling(struct kv *kv, uint32_t i)
{
	const struct node *n = &kv->nodes[i];

	if (n->sibling.prev != NONE)
		kv->nodes[n->sibling.prev].sibling.next = n->sibling.next;
	else
		*prefix_bucket(kv, n->root, n->parent, *kv_key(kv, i)) = n->sibling.next + 1;
	if (n->sibling.next != NONE)
		kv->nodes[n->sibling.next].sibling.prev = n->sibling.prev;
}

static void remove_from_bucket(struct kv *kv, uint32_t i)
{
	const struct node *n = &kv->nodes[i];
	uint32_t *b = page_bucket(kv, n->root, n->parent, kv_key(kv, i));

	while (*b != i + 1)
		b = &kv->nodes[*b - 1].chain;
	*b = n->chain;
}

static void drop_node(struct kv *kv, uint32_t i)
{
	struct node *n = &kv->nodes[i];

	must(!n->users && !n->children);
	kv_list_remove(&kv->idle_nodes, i);
	for (int g = 0; g < kv->n_groups; g++)
		if (n->page[g] != NONE) {
			kv_page_unshare(kv, g, n->page[g]);
			kv->evicted++;
		}
	if (n->n_keys == kv->page)
		remove_from_bucket(kv, i);
	remove_sibling(kv, i);
	if (n->parent != NONE)
		kv->nodes[n->parent].children--;
	n->chain = kv->node_free;
	kv->node_free = i;
	kv->n_nodes--;
}

/* Drop idle partial leaves whose keys are a prefix of node i's, among its newest siblings. */
static void drop_shorter_leaves(struct kv *kv, uint32_t i)
{
	uint32_t k = kv_tree_next_sibling(kv, i), next;

	for (int left = MAX_SIBLINGS; k != NONE && left--; k = next) {
		next = kv_tree_next_sibling(kv, k);
		if (kv->nodes[k].n_keys < kv->nodes[i].n_keys && !kv->nodes[k].users &&
		    kv_common_prefix(kv, i, kv_key(kv, k), kv->nodes[k].n_keys) ==
		            kv->nodes[k].n_keys)
			drop_node(kv, k);
	}
}

uint32_t kv_tree_add(struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key,
                     int32_t n_keys)
{
	uint32_t i, *b;
	struct node *n;

	if (kv->node_free == NONE && kv->nodes_touched == kv->node_capacity) {
		if (kv->idle_nodes.tail == NONE)
			return NONE;
		drop_node(kv, kv->idle_nodes.tail);
	}
	if (kv->node_free != NONE) {
		i = kv->node_free;
		kv->node_free = kv->nodes[i].chain;
	} else {
		i = kv->nodes_touched++;
	}
	n = &kv->nodes[i];
	*n = (struct node){ .root = root, .parent = parent, .users = 1, .n_keys = n_keys };
	memcpy(kv_key(kv, i), key, (size_t)n_keys * sizeof *key);
	for (int g = 0; g < kv->n_groups; g++)
		n->page[g] = NONE;
	if (n_keys == kv->page) {
		b = page_bucket(kv, root, parent, key);
		n->chain = *b;
		*b = i + 1;
	}
	insert_sibling(kv, i);
	if (parent != NONE)
		kv->nodes[parent].children++;
	kv->n_nodes++;
	drop_shorter_leaves(kv, i);
	return i;
}

void kv_tree_retain(struct kv *kv, uint32_t node)
{
	if (kv->nodes[node].users++ == 0)
		kv_list_remove(&kv->idle_nodes, node);
}

void kv_tree_release(struct kv *kv, uint32_t node)
{
	must(kv->nodes[node].users);
	if (--kv->nodes[node].users == 0) {
		kv->nodes[node].idle_since = kv->now;
		kv_list_push(&kv->idle_nodes, node);
	}
}

int kv_tree_evict(struct kv *kv, const struct device *device)
{
	uint32_t n = kv->idle_nodes.tail, w;
	uint64_t oldest = n != NONE ? kv->nodes[n].idle_since : UINT64_MAX;
	int from = -1;

	for (int g = 0; g < kv->n_groups; g++) {
		if (device && kv->groups[g].device != device)
			continue;
		w = kv->groups[g].evictable.tail;
		if (w != NONE && kv->groups[g].pages[w].idle_since < oldest) {
			oldest = kv->groups[g].pages[w].idle_since;
			from = g;
		}
	}
	if (from >= 0) {
		kv_page_unshare(kv, from, kv->groups[from].evictable.tail);
		kv->evicted++;
	} else if (n != NONE) {
		/* of nodes of equal age the deepest is dropped first: those above it can still be
		 * resumed */
		drop_node(kv, n);
	}
	return from >= 0 || n != NONE;
}
