/* kv/inner.h (private) - what the files of kv share: pages with their counts, the tree's nodes, the
 * lists of what may go.
 *
 * One reservation holds the records of every group's pages, then the block tables of all sequences,
 * the nodes, their keys and their hash table; what is not used is never touched. */
#ifndef KV_INNER_H
#define KV_INNER_H
#include "base/sip.h"
#include "kv/kv.h"

enum {
	NONE = UINT32_MAX,
	KV_KIN = 64, /* nodes that begin alike and are looked at, the newest */
};

/* A list through records that begin with a link; newest at the head. */
struct link {
	uint32_t prev, next;
};
struct list {
	unsigned char *at;
	size_t size;
	uint32_t head, tail;
};

struct page {
	struct link link; /* stale list of its group; next free page */
	uint64_t stamp;   /* when the tree became the only holder */
	uint32_t refs;    /* sequences that hold it, and the tree */
	uint32_t node;    /* of the tree that holds it; NONE */
};

/* bytes of pages; idle: the tree alone holds them */
struct device {
	uint64_t budget, used, idle;
	int first, n_groups;
	uint64_t page_bytes; /* of a page of every group */
	struct backend_kv view;
};

struct group {
	enum kv_kind kind;
	int window;
	uint64_t page_bytes;
	struct device *device;
	const struct backend_kind *on;
	struct page *pages;
	uint32_t cap;
	uint32_t fresh, free; /* pages from fresh on were never used; free: head of the others */
	struct list stale;    /* not KV_FULL: pages that the tree alone holds */
	/* copies of pages laid aside; slots[i]: the next free one behind i */
	unsigned char *slot_base;
	uint32_t *slots, slot_cap, slot_fresh, slot_free;
};

/* One page of positions.  All nodes above a node in use are in use, and a node leaves use before
 * those above it do; so in the list of idle nodes the descendants of a node are nearer to the tail
 * than the node, and the tail is always a leaf. */
struct node {
	struct link link; /* idle list */
	uint64_t stamp;   /* when the last user left */
	uint64_t root;
	uint32_t parent, chain;   /* chain: next of its bucket; next free node */
	uint32_t users, children; /* users: sequences that have it on their path */
	struct link kin;          /* nodes with the same parent and the same first key */
	int32_t n; /* keys: a whole page, or the end of a sequence, which is a leaf */
	uint32_t page
		[KV_GROUPS]; /* NONE: a window's page that was let go, a state that was not kept */
};

struct kv_seq {
	uint64_t root;
	uint32_t node;            /* last node of its path; NONE: at the root */
	int32_t n_tree;           /* nodes on the path = leading pages that the tree has too */
	int32_t len, n_pages;     /* committed positions; slots of the tables in use */
	int32_t first[KV_GROUPS]; /* pages before it were let go */
	int32_t read; /* positions up to it came many at a time, as those of prompts do */
	uint32_t *table[KV_GROUPS];
	uint32_t next_free;
	int open;
};

struct kv {
	struct backend_kv_layer *layers;
	struct backend_cache
		*caches[KV_GROUPS]; /* the groups' pages: bytes are known to `on` alone */
	struct group groups[KV_GROUPS];
	struct device devices[KV_DEVICES];
	int n_groups, n_devices; /* n_devices: that hold pages, at most */
	int stride;              /* of the groups of states */
	int32_t page;            /* positions of a page of any group */
	int32_t ctx, max_seqs, n_seqs;
	uint32_t flags;
	uint64_t now, evicted, pages_used, pages_tree;
	struct node *nodes;
	uint64_t *keys; /* [node][page] */
	uint32_t node_cap, node_fresh, node_free, n_nodes;
	struct list idle_nodes;
	/* node + 1; 0: empty.  buckets: of whole pages, by all keys; kin: of all, by the first key */
	uint32_t *buckets, *kin, bucket_mask;
	struct sip_key sip;
	/* [2 * max_seqs]; the second half is for copies, and their tables hold slots */
	struct kv_seq *seqs;
	uint32_t seq_free, aside_free;
	uint64_t aside_most, aside_bytes;
	unsigned char *at; /* the reservation */
	size_t reserved, cache_bytes;
};

static inline struct link *list_link(const struct list *l, uint32_t i)
{
	return (struct link *)(void *)(l->at + i * l->size);
}
void kv_list_push(struct list *l, uint32_t i);
void kv_list_remove(struct list *l, uint32_t i);

/* page.c */
uint32_t kv_page_take(struct kv *kv, int g); /* one reference; the caller knows there is room */
void kv_page_ref(struct kv *kv, int g, uint32_t p);
void kv_page_unref(struct kv *kv, int g, uint32_t p);
void kv_page_lend(struct kv *kv, int g, uint32_t p, uint32_t node); /* the tree holds it too */
void kv_page_unlend(struct kv *kv, int g, uint32_t p);

/* radix.c */
uint32_t kv_tree_find(const struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key);
/* A node of n keys in use, without pages; NONE: no node is left.  Ends of other sequences that its keys
 * include leave the tree. */
uint32_t kv_tree_add(struct kv *kv, uint64_t root, uint32_t parent, const uint64_t *key, int32_t n);
/* A node below `parent` with the same first key, then the older ones; NONE: there is none. */
uint32_t kv_tree_kin(const struct kv *kv, uint64_t root, uint32_t parent, uint64_t first);
uint32_t kv_tree_older(const struct kv *kv, uint32_t node);
void kv_tree_use(struct kv *kv, uint32_t node); /* one more user */
void kv_tree_leave(struct kv *kv, uint32_t node);
/* Let the oldest go that may, of those that free memory of a device or hold nodes that do; NULL: of
 * any.  0: there is none. */
int kv_tree_evict(struct kv *kv, const struct device *device);

static inline uint64_t *kv_key(const struct kv *kv, uint32_t node)
{
	return kv->keys + (size_t)node * (size_t)kv->page;
}
/* How many of n keys are the first ones of a node. */
static inline int32_t kv_alike(const struct kv *kv, uint32_t node, const uint64_t *key, int32_t n)
{
	const uint64_t *own = kv_key(kv, node);
	int32_t i = 0, most = n < kv->nodes[node].n ? n : kv->nodes[node].n;

	while (i < most && own[i] == key[i])
		i++;
	return i;
}
static inline uint64_t kv_room(const struct device *d) { return d->budget - d->used + d->idle; }
static inline int32_t kv_pages_of(const struct kv *kv, int64_t len)
{
	return (int32_t)((len + kv->page - 1) / kv->page);
}
/* First page of group g that rows from position len on still see. */
static inline int32_t kv_first_page(const struct kv *kv, int g, int32_t len)
{
	const struct group *gr = &kv->groups[g];

	if (gr->kind == KV_STATE)
		return len ? (len - 1) / kv->page : 0;
	return gr->kind == KV_WINDOW && len >= gr->window ? (len - gr->window + 1) / kv->page : 0;
}
/* Whether page i is taken where a sequence grows to len. */
static inline int kv_takes(const struct kv *kv, int g, int32_t i, int32_t len)
{
	return kv->groups[g].kind != KV_STATE || i == (len - 1) / kv->page ||
	       i + 1 == len / kv->page || (i + 1) % kv->stride == 0;
}
/* Pages of states that a sequence holds at most while `rows` rows are computed in a step: the one it
 * goes on from, the last, that of the last page end, and those that are kept. */
static inline int64_t kv_state_pages(int page, int stride, int64_t rows)
{
	return rows == 1 ? 2 : 4 + rows / ((int64_t)page * stride);
}
/* Pages of a window that a sequence holds at most while `rows` rows are computed in a step. */
static inline int64_t kv_window_pages(int page, int window, int64_t rows)
{
	return (window - 1 + rows + page - 1) / page + 1;
}
#endif
