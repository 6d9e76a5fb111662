/* kv/kv.h - the paged KV cache: groups of layers, and a prefix tree of shared pages.  Used by the thread
 * that steps the engine only.
 *
 * This module does the accounting: which sequence owns which page.  The backends store the contents, and
 * allocate, copy and drop pages.  A group is a set of layers with one kind, one row size and one device;
 * a page has the same number of positions in every group.  A sequence has a block table per group.
 * Full pages are added to a radix tree and shared, and so is the last, partial page when a sequence is
 * closed: other sequences resume after the last position that they have in common with it.  A shared page
 * is never written: a sequence that must write to one gets a copy.  The groups of a device share one
 * budget in bytes; a sequence needs memory on every device.
 * Pages: Kwon+ 2023, arXiv:2309.06180; tree: Zheng+ 2023, arXiv:2312.07104 */
#ifndef KV_KV_H
#define KV_KV_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "backend/backend.h"

/* KV_STATE: recurrent layers; a page is the state after its last position.  A sequence holds the state of
 * its last position and, while it grows, those at some page boundaries; another sequence can resume only
 * at these boundaries and where a sequence ends. */
enum kv_kind { KV_FULL, KV_WINDOW, KV_STATE };
enum { KV_DEVICES = 16, KV_GROUPS = BACKEND_GROUPS * KV_DEVICES };
struct kv_group {
	enum kv_kind kind;
	int window;               /* KV_WINDOW: positions that a row attends to, its own included */
	struct backend_device on; /* the device that stores its pages */
	uint64_t page_bytes;      /* bytes of one page: backend_need.kv_page */
	struct backend_group shape;
	int device; /* number of `on`, below KV_DEVICES */
	int stride; /* KV_STATE: keep the state at every stride-th page boundary; equal in all groups */
};

struct kv_opts {
	const struct kv_group *groups; /* in order of device */
	int n_groups;
	int n_layers; /* of the model */
	/* bytes for the pages of each device; their records take some hundred bytes a page more */
	uint64_t bytes[KV_DEVICES];
	int32_t ctx; /* positions of the longest sequence */
	int32_t max_seqs;
	uint64_t swap_bytes; /* most host memory for pages of swapped sequences */
	uint32_t flags;
};
enum { KV_NO_TREE = 1 << 0 };

struct kv;
struct kv_seq; /* one sequence: its block tables and length */

/* Open a cache.  Each group reserves as many pages as its device's budget holds, since it may need
 * all of them.  All records are allocated here; no other call allocates.
 * INFER_ENOMEM: a budget is less than one page of each group, or a reservation fails.
 * INFER_EINVAL: the devices' pages have different numbers of positions.
 * Also the errors of the backend's kv_new. */
int kv_open(struct kv **out, const struct kv_opts *o, infer_error *err);
void kv_close(struct kv **kv); /* closes all sequences; *kv becomes NULL */
/* Return the cache of one device for backend_step, its groups numbered from 0; borrowed from kv. */
const struct backend_kv *kv_view(const struct kv *kv, int device);

/* Return the most bytes that a sequence of n positions takes in all groups if a step computes up to
 * `rows` of them. */
uint64_t kv_seq_bytes(const struct kv_group *groups, int n_groups, int64_t n, int64_t rows);

/* Open a sequence that starts with the longest prefix of ids[0 .. n) cached under `root` in every group, at
 * most n - 1 positions; *cached: its length. Returns NULL if max_seqs are open. */
struct kv_seq *kv_seq_open(struct kv *kv, uint64_t root, const uint64_t *ids, size_t n,
                           int32_t *cached);
/* Extend s by positions of ids[0 .. n) that were cached since it was opened.  s must not hold pages past
 * its length.  Returns the number of positions added. */
int32_t kv_seq_adopt(struct kv *kv, struct kv_seq *s, const uint64_t *ids, size_t n);
/* Allocate pages for positions up to `len` (exclusive), and copy a shared page that would be written.
 * Required before positions are written.
 * INFER_ENOMEM: free and evictable pages do not suffice; nothing has changed. */
int kv_seq_grow(struct kv *kv, struct kv_seq *s, int32_t len);
/* Commit positions up to len, named by ids[0 .. len): they are computed.  Full pages are shared through
 * the tree; if it has the same prefix already, its pages replace those of s.  Releases pages that left
 * the window, and states except the last.  A sequence with states commits all positions that it grew. */
void kv_seq_commit(struct kv *kv, struct kv_seq *s, const uint64_t *ids, int32_t len);
/* Open a second sequence with the same committed positions.  All pages are shared; the first of the two
 * that grows copies a partial last page.  NULL if max_seqs are open. */
struct kv_seq *kv_seq_fork(struct kv *kv, const struct kv_seq *s);
/* Replace the contents of s by the first len positions of `of`, sharing their pages.
 * INFER_EINVAL: a window of `of` has released positions that len needs, or no state at len exists;
 * s is unchanged. */
int kv_seq_share(struct kv *kv, struct kv_seq *s, const struct kv_seq *of, int32_t len);
/* Truncate s to len positions and release pages past them.  KV_FULL: to any length.  KV_WINDOW, window W:
 * after the first p positions were released, to p + W - 1 or more.  KV_STATE: to the current length, or to
 * 0 from its first page.
 * INFER_EINVAL: a group cannot be truncated to len; s is unchanged. */
int kv_seq_trim(struct kv *kv, struct kv_seq *s, int32_t len);
void kv_seq_clear(struct kv *kv, struct kv_seq *s); /* truncate to length 0; always possible */
/* Close s; NULL is fine.  Its committed pages stay cached until evicted.  ids (may be NULL) names the
 * committed positions; with it a partial last page is cached too, if no group is KV_STATE. */
void kv_seq_close(struct kv *kv, struct kv_seq *s, const uint64_t *ids);
/* Copy the committed positions of s to host memory; s is unchanged.  Returns the copy, or NULL if there is
 * no room or a device cannot copy. */
struct kv_seq *kv_seq_swap_out(struct kv *kv, const struct kv_seq *s);
/* Move the positions of `swapped`, named by ids, to s, which is empty and has the same root.  Frees the
 * copy.  INFER_ENOMEM: its pages do not fit; both are unchanged. */
int kv_seq_swap_in(struct kv *kv, struct kv_seq *s, struct kv_seq *swapped, const uint64_t *ids);
void kv_swap_drop(struct kv *kv, struct kv_seq *swapped); /* free the copy; NULL is fine */
/* Return the bytes of the committed pages of s. */
uint64_t kv_seq_held(const struct kv *kv, const struct kv_seq *s);
/* Return how many of len positions stay cached when their sequence is closed with its ids: 0 if less
 * than a page, whole pages only in a cache with states. */
int32_t kv_cacheable_len(const struct kv *kv, int32_t len);
int32_t kv_seq_len(const struct kv_seq *s);                  /* committed positions */
const uint32_t *const *kv_seq_pages(const struct kv_seq *s); /* [group][page]: for backend_run */
/* Add to need[device] the most bytes that growing to len takes, `rows` positions a step. */
void kv_seq_need(const struct kv *kv, const struct kv_seq *s, int32_t len, int32_t rows,
                 uint64_t *need);
/* True if each device has need[device] bytes free or evictable. */
int kv_has_room(const struct kv *kv, const uint64_t *need);

struct kv_stats {
	uint64_t budget_bytes, used_bytes;
	uint64_t evictable_bytes; /* only the tree owns them; part of used_bytes */
	uint64_t page_bytes;      /* bytes of a column: one page of every group */
	uint64_t columns;         /* columns that fit on the device with the fewest */
	uint64_t columns_used;    /* columns in use on the device that uses the most */
	uint64_t pages_used, pages_tree, nodes; /* pages of any group */
	uint64_t evicted;                       /* pages evicted so far */
	uint64_t reserved_bytes;                /* of address space */
	uint64_t swap_bytes;                    /* host memory of swapped sequences */
	int32_t seqs;
};
void kv_stats(const struct kv *kv, struct kv_stats *s);
void kv_clear(struct kv *kv); /* evict everything that no sequence uses; a seam of tests */
#endif
