/* kv/kv.h - the paged KV cache, in groups of layers, with a prefix tree.  Confined to the thread
 * that steps the engine.
 *
 * This module keeps the books: which sequence holds which page.  The bytes belong to the backends,
 * which allocate, copy and drop pages.  A group is a set of layers of one kind, one row size and one
 * device; a page holds the same number of positions in every group.  A sequence has a block table
 * per group.  Pages that are full go into a radix tree and may be shared, and so does the last page of a
 * sequence that is closed; others go on behind the last position that they have in common with it.  A
 * shared page is never written: a sequence that must write into one gets a copy.  The groups of a device draw on one
 * budget of bytes; a sequence needs room on every device.
 * Pages: Kwon+ 2023, arXiv:2309.06180; tree: Zheng+ 2023, arXiv:2312.07104 */
#ifndef KV_KV_H
#define KV_KV_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "backend/backend.h"

/* KV_STATE: of recurrent layers, whose page is the state behind its last position.  A sequence holds the
 * page of its last position, and while it grows those of some page ends on the way; only from these, and
 * from where a sequence ends, another can go on. */
enum kv_kind { KV_FULL, KV_WINDOW, KV_STATE };
enum { KV_DEVICES = 16, KV_GROUPS = BACKEND_GROUPS * KV_DEVICES };
struct kv_group {
	enum kv_kind kind;
	int window;               /* KV_WINDOW: positions a row sees, itself included */
	struct backend_device on; /* the device that holds its pages */
	uint64_t page_bytes;      /* of a page there, as its need says */
	struct backend_group shape;
	int device; /* number of `on`, below KV_DEVICES */
	int stride; /* KV_STATE: the state of every so many page ends is kept; the same in all */
};

struct kv_opts {
	const struct kv_group *groups; /* those of device 0, then those of 1 ... */
	int n_groups;
	int n_layers; /* of the model */
	/* budget of pages of each device; some hundred bytes of records a page on top */
	uint64_t bytes[KV_DEVICES];
	int32_t ctx; /* longest sequence */
	int32_t max_seqs;
	uint64_t aside_bytes; /* most memory of the host for sequences laid aside, pages alone */
	uint32_t flags;
};
enum { KV_NO_TREE = 1 << 0 };

struct kv;
struct kv_seq; /* one sequence: its block tables and length */

/* Every group asks its backend for as many pages as its device's budget holds, since any group may
 * come to use all of it.  All records are allocated here; no other call allocates.
 * INFER_ENOMEM  a budget does not hold one sequence of one page, or a reservation fails
 * INFER_EINVAL  devices whose pages hold different numbers of positions
 * and the errors of kv_new */
int kv_open(struct kv **out, const struct kv_opts *o, infer_error *err);
void kv_close(struct kv **kv); /* all sequences with it */
/* For backend_step: the cache as a device sees it, its groups numbered from 0; borrowed. */
const struct backend_kv *kv_view(const struct kv *kv, int device);

/* Bytes that a sequence of n positions takes at most in all groups while up to `rows` are computed
 * in a step. */
uint64_t kv_seq_bytes(const struct kv_group *groups, int n_groups, int64_t n, int64_t rows);

/* A sequence that starts as the longest prefix of ids[0 .. n) that the tree has under `root` for
 * every group, at most n - 1 positions; *cached: how many.  NULL when max_seqs are open. */
struct kv_seq *kv_seq_open(struct kv *kv, uint64_t root, const uint64_t *ids, size_t n,
                           int32_t *cached);
/* If the tree has come to hold more of ids[0 .. n) than s, of which no row is grown, extend s by those
 * positions.  Returns how many. */
int32_t kv_seq_adopt(struct kv *kv, struct kv_seq *s, const uint64_t *ids, size_t n);
/* Pages for positions up to `len` (exclusive), the committed ones kept; always called before
 * positions are written.  INFER_ENOMEM when free pages and what can be evicted do not suffice (then
 * nothing has changed). */
int kv_seq_grow(struct kv *kv, struct kv_seq *s, int32_t len);
/* Tell that the positions up to len, named by ids[0 .. len), are computed.  Whole pages become
 * shareable; where the tree already has the same prefix, its pages replace ours; pages of a window
 * that no later row can see are released, and so are states but the last.  Of a sequence with states all
 * positions that were grown and computed are committed. */
void kv_seq_commit(struct kv *kv, struct kv_seq *s, const uint64_t *ids, int32_t len);
/* A second sequence with the same committed positions: shares all pages, a part-filled last one is
 * copied by the first of the two that grows.  NULL when max_seqs are open. */
struct kv_seq *kv_seq_fork(struct kv *kv, const struct kv_seq *s);
/* Make s the first len positions of `of`, as a fork would; what s had is released.
 * INFER_EINVAL: a window of `of` has released positions that len needs, or there is no state of len;
 * nothing is done. */
int kv_seq_share(struct kv *kv, struct kv_seq *s, const struct kv_seq *of, int32_t len);
/* Forget positions >= len and the pages grown for them.  A full group can go back to any length.  A
 * window of W that has released its first p positions can go back to p + W - 1, or not at all where
 * that is more than the length.  A state can stay, or go back to 0 from its first page.
 * INFER_EINVAL: some group cannot go back to len; nothing is done. */
int kv_seq_trim(struct kv *kv, struct kv_seq *s, int32_t len);
void kv_seq_clear(struct kv *kv, struct kv_seq *s); /* to length 0 */
/* NULL is fine.  The committed pages stay in the tree until evicted.  ids names the committed positions,
 * so that a last page that is not full stays too (but not in a cache with states); or NULL. */
void kv_seq_close(struct kv *kv, struct kv_seq *s, const uint64_t *ids);
/* Copy the committed positions of s to memory of the host, where nothing evicts them.  s is not changed.
 * NULL if there is no room or a device cannot copy. */
struct kv_seq *kv_seq_lay_aside(struct kv *kv, const struct kv_seq *s);
/* Give the positions of `aside`, named by ids, to s, which is empty and has the same root; the copy is
 * freed.  INFER_ENOMEM: there is no room for its pages; nothing is done. */
int kv_seq_take_back(struct kv *kv, struct kv_seq *s, struct kv_seq *aside, const uint64_t *ids);
void kv_aside_drop(struct kv *kv, struct kv_seq *aside); /* NULL is fine */
uint64_t kv_seq_held(const struct kv *kv,
                     const struct kv_seq *s); /* bytes of its committed pages */
/* How many of len positions stay in the tree when their sequence is closed with its ids: none of less
 * than a page, and in a cache with states those up to the last page end. */
int32_t kv_lasting(const struct kv *kv, int32_t len);
int32_t kv_seq_len(const struct kv_seq *s);                  /* committed */
const uint32_t *const *kv_seq_pages(const struct kv_seq *s); /* [group][page]: for backend_run */
/* Add to need[device] what growing to len would take at most, `rows` positions at a time. */
void kv_seq_need(const struct kv *kv, const struct kv_seq *s, int32_t len, int32_t rows,
                 uint64_t *need);
/* Whether every device has as many free, or can free them by eviction. */
int kv_has_room(const struct kv *kv, const uint64_t *need);

struct kv_stats {
	uint64_t budget_bytes, used_bytes;
	uint64_t idle_bytes;                    /* held by the tree alone; part of used */
	uint64_t page_bytes;                    /* of a page of every group: a column */
	uint64_t columns, columns_used;         /* of the device with the fewest; most used */
	uint64_t pages_used, pages_tree, nodes; /* pages of any group */
	uint64_t evicted;                       /* pages, so far */
	uint64_t reserved_bytes;                /* address space */
	uint64_t aside_bytes;                   /* in memory of the host */
	int32_t seqs;
};
void kv_stats(const struct kv *kv, struct kv_stats *s);
void kv_clear(struct kv *kv); /* drop all of the tree that no sequence uses */
#endif
