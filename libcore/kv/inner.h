/* kv/inner.h (private) - data structures shared by the files of kv: pages, the prefix tree, LRU lists.
 *
 * One address-space reservation holds the page records of all groups, the block tables of all sequences,
 * the tree nodes, their keys and the hash tables. Parts that are not used are never touched and take no
 * memory. All functions: the thread that steps the engine, no lock; none fails unless noted. */
#ifndef KV_INNER_H
#define KV_INNER_H
#include "base/sip.h"
#include "kv/kv.h"

enum {
	NONE = UINT32_MAX,
	MAX_SIBLINGS = 64, /* newest siblings compared when looking for a partial-page match */
};

/* Doubly linked LRU list over an array of records that begin with a struct link. Head: most recently used. */
struct link {
	uint32_t prev, next;
};
struct list {
	unsigned char *records;
	size_t record_bytes;
	uint32_t head, tail;
};

struct page {
	struct link link;    /* in the group's list of evictable pages, or in its free list */
	uint64_t idle_since; /* kv->now when the tree became the only owner */
	uint32_t refs;       /* owners: sequences, plus one if the tree is an owner */
	uint32_t node;       /* tree node that owns the page; NONE: no node does */
};

/* Memory accounting of one device, in bytes. */
struct device {
	uint64_t budget, used;
	uint64_t evictable; /* part of used whose only owner is the tree */
	int first_group, n_groups;
	uint64_t page_bytes; /* bytes of one page of each of its groups */
	struct backend_kv view;
};

struct group {
	enum kv_kind kind;
	int window; /* KV_WINDOW: positions */
	uint64_t page_bytes;
	struct device *device;
	const struct backend_kind *backend;
	struct page *pages;
	uint32_t capacity;
	uint32_t n_touched;    /* pages [n_touched, capacity) were never used */
	uint32_t free;         /* head of the free list of touched pages */
	struct list evictable; /* pages that only the tree owns; unused for KV_FULL */
	/* Swap slots in host memory. slots[i]: next slot in the free list. */
	unsigned char *slot_base;
	uint32_t *slots, slot_capacity, slots_touched, slot_free;
};

/* A prefix-tree node: the keys of one page of positions, or of part of a page (then it is a leaf).
 *
 * Invariant: if a node has users, so have all its ancestors, and it loses its last user before they do.
 * So in the LRU list of idle nodes every descendant is nearer to the tail than its ancestors, and the
 * tail is a leaf. */
struct node {
	struct link link;    /* in the LRU list of idle nodes */
	uint64_t idle_since; /* kv->now when the last user released it */
	uint64_t root;       /* tenant salt; trees of different roots share nothing */
	uint32_t parent;     /* NONE: child of the root */
	uint32_t chain;      /* next in its hash bucket, or in the free list */
	uint32_t users;      /* sequences whose path contains it */
	uint32_t children;
	struct link sibling;      /* nodes with the same parent and first key, newest first */
	int32_t n_keys;           /* positions of a page, or fewer for a partial leaf */
	uint32_t page[KV_GROUPS]; /* NONE: released by a window, or a state not saved */
};

struct kv_seq {
	uint64_t root;
	uint32_t node;              /* last tree node of its path; NONE: none yet */
	int32_t n_tree;             /* nodes on the path = leading pages shared with the tree */
	int32_t len;                /* committed positions */
	int32_t n_pages;            /* entries used in each block table */
	int32_t first[KV_GROUPS];   /* first page still held; earlier ones left the window */
	int32_t prefilled;          /* positions written by prefill; later ones were decoded */
	uint32_t *table[KV_GROUPS]; /* block tables */
	uint32_t next_free;
	int open;
};

struct kv {
	struct backend_kv_layer *layers;
	struct backend_cache *caches[KV_GROUPS]; /* page contents, opaque here */
	struct group groups[KV_GROUPS];
	struct device devices[KV_DEVICES];
	int n_groups, n_devices; /* n_devices: highest device number in use, plus 1 */
	int stride;              /* of the KV_STATE groups; 0: there are none */
	int32_t page;            /* positions of a page, in any group */
	int32_t ctx, max_seqs, n_seqs;
	uint32_t flags;
	uint64_t now, evicted, pages_used, pages_tree; /* now: counts operations, the LRU clock */
	struct node *nodes;
	uint64_t *keys; /* [node][page] keys of the positions of a node */
	uint32_t node_capacity, nodes_touched, node_free, n_nodes;
	struct list idle_nodes;
	/* Hash tables; entries are node + 1, 0 if empty. buckets: nodes of whole pages, by all keys;
	 * prefix_buckets: all nodes, by the first key. */
	uint32_t *buckets, *prefix_buckets, bucket_mask;
	struct sip_key sip;
	/* [2 * max_seqs]: open sequences, then swapped ones, whose tables contain swap slots */
	struct kv_seq *seqs;
	uint32_t seq_free, swap_free;
	uint64_t swap_budget, swap_bytes;
	unsigned char *reservation;
	size_t reserved, cache_bytes; /* bytes of address space: of the records, of all pages */
};

static inline struct link *list_link(const struct list *l, uint32_t i)
{
	return (struct link *)(void *)(l->records + i * l->record_bytes);
}
void kv_list_push(struct list *l, uint32_t i); /* at the head */
void kv_list_remove(struct list *l, uint32_t i);

/* page.c: allocate a page of group g with one reference. Evicts if the budget is used up; the caller has
 * checked that enough is evictable. Then add or drop a reference; dropping the last frees the page. */
uint32_t kv_page_alloc(struct kv *kv, int g);
void kv_page_retain(struct kv *kv, int g, uint32_t p);
void kv_page_release(struct kv *kv, int g, uint32_t p);
/* Make tree node `node` an owner of the page (one reference), or end its ownership. */
void kv_page_share(struct kv *kv, int g, uint32_t p, uint32_t node);
void kv_page_unshare(struct kv *kv, int g, uint32_t p);

/* radix.c: return the child of `parent` (NONE: the root) whose keys equal key[0 .. kv->page), or NONE. */
uint32_t kv_tree_find(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key);
/* Add a child of `parent` with n keys (copied), one user and no pages. If the table is full, evicts the
 * least recently used node, and returns NONE if every node has users. Drops idle partial leaves whose
 * keys are a prefix of the new node's. */
uint32_t kv_tree_add(struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key, int32_t n);
/* Iterate over the children of `parent` whose first key is `first`, newest first; NONE at the end. */
uint32_t kv_tree_first_sibling(const struct kv *kv, uint64_t root, uint32_t parent, uint64_t first);
uint32_t kv_tree_next_sibling(const struct kv *kv, uint32_t node);
/* Add or remove a user of this node, not of its ancestors. Without users it is idle, so evictable. */
void kv_tree_retain(struct kv *kv, uint32_t node);
void kv_tree_release(struct kv *kv, uint32_t node);
/* Evict the least recently used: one page of a group on `device` (NULL: any device) that only the tree
 * owns, or one idle node with its pages. Returns 0 if there is nothing to evict. */
int kv_tree_evict(struct kv *kv, const struct device *device);

static inline uint64_t *kv_key(const struct kv *kv, uint32_t node)
{
	return kv->keys + (size_t)node * (size_t)kv->page;
}
/* Length of the common prefix of key[0 .. n) and the keys of `node`. */
static inline int32_t kv_common_prefix(const struct kv *kv, uint32_t node, const uint64_t *key,
                                       int32_t n)
{
	const uint64_t *own = kv_key(kv, node);
	int32_t i = 0, most = n < kv->nodes[node].n_keys ? n : kv->nodes[node].n_keys;

	while (i < most && own[i] == key[i])
		i++;
	return i;
}
/* Bytes that can be allocated on d, after evictions. */
static inline uint64_t kv_available(const struct device *d)
{
	return d->budget - d->used + d->evictable;
}
static inline int32_t kv_pages_of(const struct kv *kv, int64_t len)
{
	return (int32_t)((len + kv->page - 1) / kv->page);
}
/* First page of group g that a row at position len or later attends to. */
static inline int32_t kv_first_page(const struct kv *kv, int g, int32_t len)
{
	const struct group *gr = &kv->groups[g];

	if (gr->kind == KV_STATE)
		return len ? (len - 1) / kv->page : 0;
	return gr->kind == KV_WINDOW && len >= gr->window ? (len - gr->window + 1) / kv->page : 0;
}
/* True if group g stores page i when a sequence grows to len: states are stored at the last position,
 * at the last page boundary and at every stride-th page. */
static inline int kv_stores_page(const struct kv *kv, int g, int32_t i, int32_t len)
{
	return kv->groups[g].kind != KV_STATE || i == (len - 1) / kv->page ||
	       i + 1 == len / kv->page || (i + 1) % kv->stride == 0;
}
/* Most state pages a sequence holds while `rows` rows are computed in a step: the one it resumes from,
 * the last, that of the last page boundary, and one every `stride` pages. */
static inline int64_t kv_state_pages(int page, int stride, int64_t rows)
{
	return rows == 1 ? 2 : 4 + rows / ((int64_t)page * stride);
}
/* Most pages of a window that a sequence holds while `rows` rows are computed in a step. */
static inline int64_t kv_window_pages(int page, int window, int64_t rows)
{
	return (window - 1 + rows + page - 1) / page + 1;
}
#endif
