/* kv/seq.c - sequences: block tables that grow, are shared through the tree, and drop pages that left a
 * window */
#include "kv/inner.h"
#include "base/err.h"
#include "base/num.h"

#include <string.h>

static void reset_seq(struct kv_seq *s)
{
	s->node = NONE;
	s->n_tree = s->len = s->n_pages = s->prefilled = 0;
	memset(s->first, 0, sizeof s->first);
}

static struct kv_seq *alloc_seq(struct kv *kv, uint64_t root)
{
	struct kv_seq *s;

	if (kv->seq_free == NONE)
		return NULL;
	s = &kv->seqs[kv->seq_free];
	kv->seq_free = s->next_free;
	kv->n_seqs++;
	kv->now++;
	s->root = root;
	s->open = 1;
	reset_seq(s);
	return s;
}

/* A cached prefix: `depth` whole pages ending at `node`, then len - depth * page positions of the page of
 * node `partial` (NONE: no partial page). */
struct match {
	uint32_t node, partial;
	int32_t depth, len;
};

static int has_pages(const struct kv *kv, uint32_t node)
{
	for (int g = 0; g < kv->n_groups; g++)
		if (kv->nodes[node].page[g] == NONE)
			return 0;
	return 1;
}

/* True if a sequence of `len` positions can resume at `node`: every group has the pages that its window
 * needs.  have[g]: contiguous pages before `node` in group g. */
static int can_resume(const struct kv *kv, uint32_t node, const int32_t *have, int32_t len)
{
	int32_t pages = kv_pages_of(kv, len);

	for (int g = 0; g < kv->n_groups; g++)
		if (have[g] + 1 < pages - kv_first_page(kv, g, len))
			return 0;
	return has_pages(kv, node);
}

/* Search the children of `node` (at `depth` pages) for the page with the longest common prefix with ids[0
 * .. most), and store it in *m if it beats *m.  Matches of less than half a page in all are ignored: to
 * copy the page would cost more than to compute so few rows. */
static void match_partial_page(const struct kv *kv, uint64_t root, uint32_t node, int32_t depth,
                               const int32_t *have, const uint64_t *ids, int32_t most,
                               struct match *m)
{
	int32_t from = depth * kv->page, n, left = MAX_SIBLINGS;

	if (kv->stride || most < 1) /* a state is valid at one position only */
		return;
	for (uint32_t i = kv_tree_first_sibling(kv, root, node, *ids); i != NONE && left--;
	     i = kv_tree_next_sibling(kv, i)) {
		n = kv_common_prefix(kv, i, ids, most);
		if (n && from + n >= kv->page / 2 && from + n > m->len &&
		    can_resume(kv, i, have, from + n))
			*m = (struct match){ node, i, depth, from + n };
	}
}

/* Find the longest cached prefix of ids[0 .. n) at which every group can resume. */
static struct match match_prefix(const struct kv *kv, uint64_t root, const uint64_t *ids, int32_t n)
{
	struct match m = { NONE, NONE, 0, 0 };
	int32_t have[KV_GROUPS] = { 0 }, d = 0;
	uint32_t at = NONE, next;

	for (; (d + 1) * kv->page <= n; d++, at = next) {
		next = kv_tree_find(kv, root, at, ids + (size_t)d * kv->page);
		if (next == NONE)
			break;
		if (can_resume(kv, next, have, (d + 1) * kv->page))
			m = (struct match){ next, NONE, d + 1, (d + 1) * kv->page };
		for (int g = 0; g < kv->n_groups; g++)
			have[g] = kv->nodes[next].page[g] != NONE ? have[g] + 1 : 0;
	}
	match_partial_page(kv, root, at, d, have, ids + (size_t)d * kv->page, n - d * kv->page, &m);
	return m;
}

/* Initialise the empty sequence from a prefix match. */
static void init_from_match(struct kv *kv, struct kv_seq *s, const struct match *m)
{
	uint32_t at = m->node;

	s->node = m->node;
	s->n_tree = m->depth;
	s->n_pages = kv_pages_of(kv, m->len);
	s->len = s->prefilled = m->len;
	for (int g = 0; g < kv->n_groups; g++) {
		s->first[g] = kv_first_page(kv, g, s->len);
		if (m->partial != NONE) {
			s->table[g][m->depth] = kv->nodes[m->partial].page[g];
			kv_page_retain(kv, g, s->table[g][m->depth]);
		}
	}
	for (int32_t d = m->depth; d-- > 0; at = kv->nodes[at].parent) {
		kv_tree_retain(kv, at);
		for (int g = 0; g < kv->n_groups; g++) {
			s->table[g][d] = d < s->first[g] ? NONE : kv->nodes[at].page[g];
			if (d >= s->first[g])
				kv_page_retain(kv, g, s->table[g][d]);
		}
	}
}

/* Release the pages from index `from` on. */
static void release_pages(struct kv *kv, const struct kv_seq *s, int32_t from)
{
	for (int g = 0; g < kv->n_groups; g++)
		for (int32_t i = from > s->first[g] ? from : s->first[g]; i < s->n_pages; i++)
			if (s->table[g][i] != NONE)
				kv_page_release(kv, g, s->table[g][i]);
}

static void release_path(struct kv *kv, const struct kv_seq *s)
{
	kv->now++;
	release_pages(kv, s, 0);
	for (uint32_t n = s->node, up; n != NONE; n = up) {
		up = kv->nodes[n].parent;
		kv_tree_release(kv, n);
	}
}

void kv_seq_clear(struct kv *kv, struct kv_seq *s)
{
	release_path(kv, s);
	reset_seq(s);
}

struct kv_seq *kv_seq_open(struct kv *kv, uint64_t root, const uint64_t *ids, size_t n,
                           int32_t *cached)
{
	struct kv_seq *s = alloc_seq(kv, root);
	struct match m;

	*cached = 0;
	if (!s || !n || kv->flags & KV_NO_TREE)
		return s;
	m = match_prefix(kv, root, ids, (int32_t)n - 1);
	init_from_match(kv, s, &m);
	*cached = s->len;
	return s;
}

/* Quick test before match_prefix: true if the tree may have more of ids[0 .. n) than s. */
static int tree_has_more(const struct kv *kv, const struct kv_seq *s, const uint64_t *ids,
                         int32_t n)
{
	int32_t from = s->n_tree * kv->page, left = MAX_SIBLINGS;

	ids += from;
	if (from + kv->page <= n && kv_tree_find(kv, s->root, s->node, ids) != NONE)
		return 1;
	for (uint32_t i = kv->stride ? NONE : kv_tree_first_sibling(kv, s->root, s->node, *ids);
	     i != NONE && left--; i = kv_tree_next_sibling(kv, i))
		if (from + kv_common_prefix(kv, i, ids, n - from) > s->len)
			return 1;
	return 0;
}

int32_t kv_seq_adopt(struct kv *kv, struct kv_seq *s, const uint64_t *ids, size_t n)
{
	int32_t had = s->len, most = n ? (int32_t)n - 1 : 0;
	struct match m;

	if (kv->flags & KV_NO_TREE || s->n_pages != kv_pages_of(kv, had) || most <= had ||
	    !tree_has_more(kv, s, ids, most))
		return 0;
	m = match_prefix(kv, s->root, ids, most);
	if (m.len <= had)
		return 0;
	release_path(kv, s); /* its pages become evictable; eviction happens only in allocations */
	init_from_match(kv, s, &m);
	return s->len - had;
}

/* Return the index of the partial last page if growing to len writes to it, or -1. */
static int32_t partial_page(const struct kv *kv, const struct kv_seq *s, int32_t len)
{
	return len > s->len && s->len % kv->page ? s->len / kv->page : -1;
}

static int is_shared(const struct kv *kv, const struct kv_seq *s, int g, int32_t i)
{
	return kv->groups[g].pages[s->table[g][i]].refs > 1;
}

/* True if other sequences own page i too.  The tree may also own it. */
static int is_shared_by_seqs(const struct kv *kv, const struct kv_seq *s, int g, int32_t i)
{
	const struct page *p = &kv->groups[g].pages[s->table[g][i]];

	return p->refs > 1u + (p->node != NONE);
}

/* Return page i of s; NONE if it has none or i is past its table. */
static uint32_t page_at(const struct kv_seq *s, int g, int32_t i)
{
	return i < s->n_pages ? s->table[g][i] : NONE;
}

/* Count the pages of group g that growing to len allocates. */
static int64_t count_new_pages(const struct kv *kv, const struct kv_seq *s, int g, int32_t len)
{
	int64_t n = 0;

	for (int32_t i = kv->groups[g].kind == KV_STATE ? s->first[g] : s->n_pages;
	     i < kv_pages_of(kv, len); i++)
		n += page_at(s, g, i) == NONE && kv_stores_page(kv, g, i, len);
	return n;
}

/* Remove the page that s will write to from the tree, so that no copy is needed, unless other sequences
 * own it. */
static void unshare_partial_page(struct kv *kv, const struct kv_seq *s, int32_t partial)
{
	for (int g = 0; g < kv->n_groups; g++) {
		if (is_shared(kv, s, g, partial) && !is_shared_by_seqs(kv, s, g, partial))
			kv_page_unshare(kv, g, s->table[g][partial]);
	}
}

/* True if the pages for growing to len can be allocated. */
static int can_grow(const struct kv *kv, const struct kv_seq *s, int32_t len, int32_t partial)
{
	uint64_t need[KV_DEVICES] = { 0 };

	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];
		uint64_t *sum = &need[gr->device - kv->devices];

		*sum += (uint64_t)count_new_pages(kv, s, g, len) * gr->page_bytes;
		if (partial >= 0 && is_shared(kv, s, g, partial))
			*sum += gr->page_bytes;
	}
	return kv_has_room(kv, need);
}

int kv_seq_grow(struct kv *kv, struct kv_seq *s, int32_t len)
{
	int32_t want = kv_pages_of(kv, len), partial = partial_page(kv, s, len);
	uint32_t p;

	must(len >= s->len && len <= kv->ctx);
	if (want < s->n_pages)
		want = s->n_pages;
	if (!can_grow(kv, s, len, partial)) {
		if (partial >= 0)
			unshare_partial_page(kv, s, partial);
		if (partial < 0 || !can_grow(kv, s, len, partial))
			return INFER_ENOMEM;
	}
	kv->now++;
	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];

		if (partial >= 0 && is_shared(kv, s, g, partial)) {
			p = kv_page_alloc(kv, g);
			gr->backend->kv_copy(kv->caches[g], p, s->table[g][partial],
			                     s->len % kv->page);
			kv_page_release(kv, g, s->table[g][partial]);
			s->table[g][partial] = p;
		}
		for (int32_t i = gr->kind == KV_STATE ? s->first[g] : s->n_pages; i < want; i++)
			if (page_at(s, g, i) == NONE)
				s->table[g][i] =
					i < kv_pages_of(kv, len) && kv_stores_page(kv, g, i, len)
						? kv_page_alloc(kv, g)
						: NONE;
	}
	s->n_pages = want;
	return INFER_OK;
}

/* Share page i of s through `node`; if the node has that page already, s uses the node's instead. */
static void share_page(struct kv *kv, struct kv_seq *s, uint32_t node, int32_t i)
{
	for (int g = 0; g < kv->n_groups; g++) {
		uint32_t *mine = &s->table[g][i], theirs = kv->nodes[node].page[g];

		if (*mine == NONE || *mine == theirs)
			continue;
		if (theirs == NONE) {
			kv_page_share(kv, g, *mine, node);
			continue;
		}
		kv_page_retain(kv, g, theirs);
		kv_page_release(kv, g, *mine);
		*mine = theirs;
	}
}

/* True if the tree may drop this recurrent state: decoding wrote it, and a later page boundary has a state.
 * A conversation resumes at the last one. */
static int is_droppable_state(const struct kv *kv, const struct kv_seq *s, int g, int32_t i)
{
	const struct page *p = &kv->groups[g].pages[s->table[g][i]];

	return kv->groups[g].kind == KV_STATE && (i + 1) * kv->page > s->prefilled &&
	       (i + 1) % kv->stride && p->node != NONE && p->refs == 2;
}

/* Release page i, which no later row attends to. */
static void drop_passed_page(struct kv *kv, struct kv_seq *s, int g, int32_t i)
{
	if (s->table[g][i] == NONE)
		return;
	if (is_droppable_state(kv, s, g, i))
		kv_page_unshare(kv, g, s->table[g][i]);
	kv_page_release(kv, g, s->table[g][i]);
	s->table[g][i] = NONE;
}

void kv_seq_commit(struct kv *kv, struct kv_seq *s, const uint64_t *ids, int32_t len)
{
	uint32_t node;

	must(len >= s->len && kv_pages_of(kv, len) <= s->n_pages);
	kv->now++;
	s->prefilled = len > s->len + 1 ? len : s->prefilled;
	s->len = len;
	while (!(kv->flags & KV_NO_TREE) && (s->n_tree + 1) * kv->page <= len) {
		const uint64_t *key = ids + (size_t)s->n_tree * kv->page;

		node = kv_tree_find(kv, s->root, s->node, key);
		if (node != NONE)
			kv_tree_retain(kv, node);
		else if ((node = kv_tree_add(kv, s->root, s->node, key, kv->page)) == NONE)
			break;
		share_page(kv, s, node, s->n_tree);
		s->node = node;
		s->n_tree++;
	}
	for (int g = 0; g < kv->n_groups; g++)
		for (int32_t first = kv_first_page(kv, g, len); s->first[g] < first; s->first[g]++)
			drop_passed_page(kv, s, g, s->first[g]);
}

/* Initialise the empty sequence with the committed positions of `of`, sharing its pages. */
static void copy_pages(struct kv *kv, struct kv_seq *s, const struct kv_seq *of)
{
	s->node = of->node;
	s->n_tree = of->n_tree;
	s->len = of->len;
	s->prefilled = of->prefilled;
	s->n_pages = kv_pages_of(kv, of->len);
	memcpy(s->first, of->first, sizeof s->first);
	for (int g = 0; g < kv->n_groups; g++) {
		memcpy(s->table[g], of->table[g], (size_t)s->n_pages * sizeof *s->table[g]);
		for (int32_t i = s->first[g]; i < s->n_pages; i++)
			kv_page_retain(kv, g, s->table[g][i]);
	}
	for (uint32_t n = s->node; n != NONE; n = kv->nodes[n].parent)
		kv_tree_retain(kv, n);
}

struct kv_seq *kv_seq_fork(struct kv *kv, const struct kv_seq *of)
{
	struct kv_seq *s = alloc_seq(kv, of->root);

	if (s)
		copy_pages(kv, s, of);
	return s;
}

/* True if s still has the pages that rows from position len (at most its length) on attend to. */
static int can_truncate(const struct kv *kv, const struct kv_seq *s, int32_t len)
{
	for (int g = 0; g < kv->n_groups; g++)
		if (kv_first_page(kv, g, len) < s->first[g] ||
		    (kv->groups[g].kind == KV_STATE && len && len != s->len))
			return 0;
	return 1;
}

int kv_seq_share(struct kv *kv, struct kv_seq *s, const struct kv_seq *of, int32_t len)
{
	must(s != of && s->root == of->root && len <= of->len);
	if (!can_truncate(kv, of, len))
		return INFER_EINVAL;
	release_path(kv, s);
	copy_pages(kv, s, of);
	return kv_seq_trim(kv, s, len);
}

int kv_seq_trim(struct kv *kv, struct kv_seq *s, int32_t len)
{
	int32_t keep = kv_pages_of(kv, len);
	uint32_t up;

	must(len >= 0);
	if (len < s->len && !can_truncate(kv, s, len))
		return INFER_EINVAL;
	kv->now++;
	release_pages(kv, s, keep);
	if (s->n_pages > keep)
		s->n_pages = keep;
	if (s->len > len)
		s->len = len;
	for (; s->n_tree > s->len / kv->page; s->n_tree--) {
		up = kv->nodes[s->node].parent;
		kv_tree_release(kv, s->node);
		s->node = up;
	}
	return INFER_OK;
}

int32_t kv_cacheable_len(const struct kv *kv, int32_t len)
{
	if (kv->flags & KV_NO_TREE || len < kv->page)
		return 0;
	return kv->stride ? len - len % kv->page : len;
}

/* Find a child of the node of s that begins with the n keys and has all pages, or has exactly these keys.
 * NONE if there is none. */
static uint32_t find_partial_leaf(const struct kv *kv, const struct kv_seq *s, const uint64_t *key,
                                  int32_t n)
{
	int32_t left = MAX_SIBLINGS;

	for (uint32_t i = kv_tree_first_sibling(kv, s->root, s->node, *key); i != NONE && left--;
	     i = kv_tree_next_sibling(kv, i))
		if (kv_common_prefix(kv, i, key, n) == n &&
		    (kv->nodes[i].n_keys == n || has_pages(kv, i)))
			return i;
	return NONE;
}

/* Share the partial last page of s through the tree. */
static void share_partial_page(struct kv *kv, struct kv_seq *s, const uint64_t *ids)
{
	int32_t from = s->n_tree * kv->page, n = s->len - from;
	uint32_t node;

	if (kv_cacheable_len(kv, s->len) != s->len || n < 1 || n >= kv->page)
		return;
	for (int g = 0; g < kv->n_groups; g++) /* pages still shared: s has not written */
		if (kv->groups[g].pages[s->table[g][s->n_tree]].node != NONE)
			return;
	node = find_partial_leaf(kv, s, ids + from, n);
	if (node != NONE && kv->nodes[node].n_keys > n)
		return;
	if (node != NONE)
		kv_tree_retain(kv, node);
	else if ((node = kv_tree_add(kv, s->root, s->node, ids + from, n)) == NONE)
		return;
	share_page(kv, s, node, s->n_tree);
	s->node = node;
	s->n_tree++;
}

void kv_seq_close(struct kv *kv, struct kv_seq *s, const uint64_t *ids)
{
	if (!s)
		return;
	must(s->open);
	if (ids)
		share_partial_page(kv, s, ids);
	release_path(kv, s);
	s->open = 0;
	s->next_free = kv->seq_free;
	kv->seq_free = (uint32_t)(s - kv->seqs);
	kv->n_seqs--;
}

int32_t kv_seq_len(const struct kv_seq *s) { return s->len; }

const uint32_t *const *kv_seq_pages(const struct kv_seq *s)
{
	return (const uint32_t *const *)s->table;
}

void kv_seq_need(const struct kv *kv, const struct kv_seq *s, int32_t len, int32_t rows,
                 uint64_t *need)
{
	int32_t partial = partial_page(kv, s, len);

	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];
		uint64_t *sum = &need[gr->device - kv->devices];
		int64_t held = s->n_pages - s->first[g], peak = kv_pages_of(kv, len) - s->first[g];

		for (int32_t i = s->first[g]; gr->kind == KV_STATE && i < s->n_pages; i++)
			held -= s->table[g][i] == NONE;
		if (gr->kind == KV_STATE)
			peak = num_min(peak, kv_state_pages(kv->page, kv->stride, rows));

		if (gr->kind == KV_WINDOW && peak > kv_window_pages(kv->page, gr->window, rows))
			peak = kv_window_pages(kv->page, gr->window, rows);
		if (peak > held)
			*sum += (uint64_t)(peak - held) * gr->page_bytes;
		if (partial >= 0 && is_shared_by_seqs(kv, s, g, partial))
			*sum += gr->page_bytes;
	}
}

int kv_has_room(const struct kv *kv, const uint64_t *need)
{
	for (int d = 0; d < kv->n_devices; d++)
		if (need[d] > kv_available(&kv->devices[d]))
			return 0;
	return 1;
}
