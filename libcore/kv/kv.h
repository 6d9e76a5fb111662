/* kv/kv.h - the paged KV cache, in groups of layers, with a prefix tree.  Confined to the thread that steps the engine.
 *
 * A group is a set of layers with one kind, one row size, one backend; a page is KERN_PAGE positions of all its layers.
 * A sequence has a block table per group.  Full pages of tokens that are done go into a radix tree and may be shared;
 * a shared page is never written.   Pages: Kwon+ 2023, arXiv:2309.06180; tree: Zheng+ 2023, arXiv:2312.07104 */
#ifndef KV_KV_H
#define KV_KV_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "backend/backend.h"

enum kv_kind { KV_FULL, KV_WINDOW, KV_LATENT, KV_STATE };
struct kv_group {
	enum kv_kind kind;
	int   window;               /* KV_WINDOW: positions a row sees, itself included */
	int   n_layers;
	const int *layers;          /* of the model */
	int   k_type, v_type, kv_heads, dk, dv;
};

struct kv_opts {
	const struct kv_group *groups; int n_groups; int n_layers;   /* n_layers: of the model */
	uint64_t bytes;             /* budget of the one reservation */
	int32_t  ctx;               /* longest sequence */
	int32_t  max_seqs;
	uint32_t flags;
};
enum { KV_NO_TREE = 1 << 0 };

struct kv;
struct kv_seq;                  /* one sequence: its block tables and length */

/* INFER_ENOMEM: the budget does not hold one sequence of one page, or the reservation fails.  INFER_EUNSUP: a kind or
 * type that is not built.  Nothing is touched: pages appear as positions come. */
int  kv_open(struct kv **out, const struct kv_opts *o, infer_error *err);
void kv_close(struct kv **kv);
const struct backend_kv *kv_view(const struct kv *kv);      /* for backend_step */
/* Bytes that a sequence of n positions takes in all groups (pages rounded up). */
uint64_t kv_seq_bytes(const struct kv_group *groups, int n_groups, int64_t n);

/* A sequence that starts as the longest prefix of ids[0 .. n) that the tree has under `root` for every group, at most n - 1
 * positions; *cached: how many.  NULL when max_seqs are open. */
struct kv_seq *kv_seq_open(struct kv *kv, uint64_t root, const uint64_t *ids, size_t n, int32_t *cached);
/* Pages for positions up to `len` (exclusive): INFER_ENOMEM when free pages and what can be evicted do not suffice (then
 * nothing has changed). */
int  kv_seq_grow(struct kv *kv, struct kv_seq *s, int32_t len);
/* The positions up to len are computed: ids[0 .. len) name them.  Whole pages become shareable; a window's pages behind
 * len - window are let go. */
void kv_seq_commit(struct kv *kv, struct kv_seq *s, const uint64_t *ids, int32_t len);
struct kv_seq *kv_seq_fork(struct kv *kv, const struct kv_seq *s);      /* shares whole pages, copies the last part */
void kv_seq_trim(struct kv *kv, struct kv_seq *s, int32_t len);         /* forget positions >= len; full groups only below a window's edge */
void kv_seq_close(struct kv *kv, struct kv_seq *s);                     /* its committed pages stay in the tree until evicted */
int32_t kv_seq_len(const struct kv_seq *s);
const uint32_t *const *kv_seq_pages(const struct kv_seq *s);            /* [group][page]: for backend_run */

struct kv_stats { uint64_t pages, used, tree, page_bytes, reserved_bytes, evicted; };
void kv_stats(const struct kv *kv, struct kv_stats *s);
void kv_clear(struct kv *kv);                                           /* drop the whole tree */
#endif
