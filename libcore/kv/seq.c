/* kv/seq.c - sequences: block tables that grow, share, fall behind a window, and are handed to the
 * tree */
#include "kv/inner.h"
#include "base/err.h"
#include "base/num.h"

#include <string.h>

static void empty(struct kv_seq *s)
{
	s->node = NONE;
	s->n_tree = s->len = s->n_pages = s->read = 0;
	memset(s->first, 0, sizeof s->first);
}

static struct kv_seq *seq_take(struct kv *kv, uint64_t root)
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
	empty(s);
	return s;
}

/* A way down the tree: the node where it ends after `depth` whole pages, and the first positions of a
 * page of `part` below it, or NONE. */
struct match {
	uint32_t node, part;
	int32_t depth, len;
};

static int has_pages(const struct kv *kv, uint32_t node)
{
	for (int g = 0; g < kv->n_groups; g++)
		if (kv->nodes[node].page[g] == NONE)
			return 0;
	return 1;
}

/* Whether sequences of len positions, the last in the page of `node`, can go on: have[group]: pages that
 * lie before it without a gap. */
static int resumes(const struct kv *kv, uint32_t node, const int32_t *have, int32_t len)
{
	int32_t pages = kv_pages_of(kv, len);

	for (int g = 0; g < kv->n_groups; g++)
		if (have[g] + 1 < pages - kv_first_page(kv, g, len))
			return 0;
	return has_pages(kv, node);
}

/* Look below node `at`, which `depth` pages end with, for a page that begins as ids do, of which at most
 * `most` count; a better one than *m has is put there.  Less than half a page is computed: its rows cost
 * less than the copy of a page, which is made when the next one is written. */
static void match_part(const struct kv *kv, uint64_t root, uint32_t at, int32_t depth,
                       const int32_t *have, const uint64_t *ids, int32_t most, struct match *m)
{
	int32_t from = depth * kv->page, n, left = KV_KIN;

	if (kv->stride || most < 1) /* a sequence can resume from a state only at that position */
		return;
	for (uint32_t i = kv_tree_kin(kv, root, at, *ids); i != NONE && left--;
	     i = kv_tree_older(kv, i)) {
		n = kv_alike(kv, i, ids, most);
		if (n && from + n >= kv->page / 2 && from + n > m->len &&
		    resumes(kv, i, have, from + n))
			*m = (struct match){ at, i, depth, from + n };
	}
}

/* The longest beginning of ids, of which at most n count, from which every group can go on. */
static struct match match(const struct kv *kv, uint64_t root, const uint64_t *ids, int32_t n)
{
	struct match m = { NONE, NONE, 0, 0 };
	int32_t have[KV_GROUPS] = { 0 }, d = 0;
	uint32_t at = NONE, next;

	for (; (d + 1) * kv->page <= n; d++, at = next) {
		next = kv_tree_find(kv, root, at, ids + (size_t)d * kv->page);
		if (next == NONE)
			break;
		if (resumes(kv, next, have, (d + 1) * kv->page))
			m = (struct match){ next, NONE, d + 1, (d + 1) * kv->page };
		for (int g = 0; g < kv->n_groups; g++)
			have[g] = kv->nodes[next].page[g] != NONE ? have[g] + 1 : 0;
	}
	match_part(kv, root, at, d, have, ids + (size_t)d * kv->page, n - d * kv->page, &m);
	return m;
}

/* s holds nothing and becomes the way that was found. */
static void enter(struct kv *kv, struct kv_seq *s, const struct match *m)
{
	uint32_t at = m->node;

	s->node = m->node;
	s->n_tree = m->depth;
	s->n_pages = kv_pages_of(kv, m->len);
	s->len = s->read = m->len;
	for (int g = 0; g < kv->n_groups; g++) {
		s->first[g] = kv_first_page(kv, g, s->len);
		if (m->part != NONE) {
			s->table[g][m->depth] = kv->nodes[m->part].page[g];
			kv_page_ref(kv, g, s->table[g][m->depth]);
		}
	}
	for (int32_t d = m->depth; d-- > 0; at = kv->nodes[at].parent) {
		kv_tree_use(kv, at);
		for (int g = 0; g < kv->n_groups; g++) {
			s->table[g][d] = d < s->first[g] ? NONE : kv->nodes[at].page[g];
			if (d >= s->first[g])
				kv_page_ref(kv, g, s->table[g][d]);
		}
	}
}

/* Let go of pages from `from` on. */
static void drop_from(struct kv *kv, const struct kv_seq *s, int32_t from)
{
	for (int g = 0; g < kv->n_groups; g++)
		for (int32_t i = from > s->first[g] ? from : s->first[g]; i < s->n_pages; i++)
			if (s->table[g][i] != NONE)
				kv_page_unref(kv, g, s->table[g][i]);
}

static void leave(struct kv *kv, const struct kv_seq *s)
{
	kv->now++;
	drop_from(kv, s, 0);
	for (uint32_t n = s->node, up; n != NONE; n = up) {
		up = kv->nodes[n].parent;
		kv_tree_leave(kv, n);
	}
}

void kv_seq_clear(struct kv *kv, struct kv_seq *s)
{
	leave(kv, s);
	empty(s);
}

struct kv_seq *kv_seq_open(struct kv *kv, uint64_t root, const uint64_t *ids, size_t n,
                           int32_t *cached)
{
	struct kv_seq *s = seq_take(kv, root);
	struct match m;

	*cached = 0;
	if (!s || !n || kv->flags & KV_NO_TREE)
		return s;
	m = match(kv, root, ids, (int32_t)n - 1);
	enter(kv, s, &m);
	*cached = s->len;
	return s;
}

/* Whether the tree may have more of ids than s, of which at most n count: a quick look at what is below
 * its node. */
static int has_more(const struct kv *kv, const struct kv_seq *s, const uint64_t *ids, int32_t n)
{
	int32_t from = s->n_tree * kv->page, left = KV_KIN;

	ids += from;
	if (from + kv->page <= n && kv_tree_find(kv, s->root, s->node, ids) != NONE)
		return 1;
	for (uint32_t i = kv->stride ? NONE : kv_tree_kin(kv, s->root, s->node, *ids);
	     i != NONE && left--; i = kv_tree_older(kv, i))
		if (from + kv_alike(kv, i, ids, n - from) > s->len)
			return 1;
	return 0;
}

int32_t kv_seq_adopt(struct kv *kv, struct kv_seq *s, const uint64_t *ids, size_t n)
{
	int32_t had = s->len, most = n ? (int32_t)n - 1 : 0;
	struct match m;

	if (kv->flags & KV_NO_TREE || s->n_pages != kv_pages_of(kv, had) || most <= had ||
	    !has_more(kv, s, ids, most))
		return 0;
	m = match(kv, s->root, ids, most);
	if (m.len <= had)
		return 0;
	leave(kv, s); /* nothing goes before the next page is taken */
	enter(kv, s, &m);
	return s->len - had;
}

/* The page that the next position goes into, where others hold it too; -1: none. */
static int32_t part_page(const struct kv *kv, const struct kv_seq *s, int32_t len)
{
	return len > s->len && s->len % kv->page ? s->len / kv->page : -1;
}

static int is_shared(const struct kv *kv, const struct kv_seq *s, int g, int32_t i)
{
	return kv->groups[g].pages[s->table[g][i]].refs > 1;
}

/* Whether sequences other than s hold page i: the tree alone would give it up. */
static int is_others(const struct kv *kv, const struct kv_seq *s, int g, int32_t i)
{
	const struct page *p = &kv->groups[g].pages[s->table[g][i]];

	return p->refs > 1u + (p->node != NONE);
}

/* Page i of s, which may lie behind its table; NONE: there is none. */
static uint32_t page_at(const struct kv_seq *s, int g, int32_t i)
{
	return i < s->n_pages ? s->table[g][i] : NONE;
}

/* Pages of group g that s takes to grow to len. */
static int64_t to_take(const struct kv *kv, const struct kv_seq *s, int g, int32_t len)
{
	int64_t n = 0;

	for (int32_t i = kv->groups[g].kind == KV_STATE ? s->first[g] : s->n_pages;
	     i < kv_pages_of(kv, len); i++)
		n += page_at(s, g, i) == NONE && kv_takes(kv, g, i, len);
	return n;
}

/* The tree gives up the page that s writes to, so that no copy of it is needed, unless other sequences
 * hold it. */
static void take_over(struct kv *kv, const struct kv_seq *s, int32_t part)
{
	for (int g = 0; g < kv->n_groups; g++) {
		if (is_shared(kv, s, g, part) && !is_others(kv, s, g, part))
			kv_page_unlend(kv, g, s->table[g][part]);
	}
}

/* Whether there is room for s to grow to len. */
static int has_room(const struct kv *kv, const struct kv_seq *s, int32_t len, int32_t part)
{
	uint64_t need[KV_DEVICES] = { 0 };

	for (int g = 0; g < kv->n_groups; g++) {
		const struct group *gr = &kv->groups[g];
		uint64_t *sum = &need[gr->device - kv->devices];

		*sum += (uint64_t)to_take(kv, s, g, len) * gr->page_bytes;
		if (part >= 0 && is_shared(kv, s, g, part))
			*sum += gr->page_bytes;
	}
	return kv_has_room(kv, need);
}

int kv_seq_grow(struct kv *kv, struct kv_seq *s, int32_t len)
{
	int32_t want = kv_pages_of(kv, len), part = part_page(kv, s, len);
	uint32_t p;

	must(len >= s->len && len <= kv->ctx);
	if (want < s->n_pages)
		want = s->n_pages;
	if (!has_room(kv, s, len, part)) {
		if (part >= 0)
			take_over(kv, s, part);
		if (part < 0 || !has_room(kv, s, len, part))
			return INFER_ENOMEM;
	}
	kv->now++;
	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];

		if (part >= 0 && is_shared(kv, s, g, part)) {
			p = kv_page_take(kv, g);
			gr->on->kv_copy(kv->caches[g], p, s->table[g][part], s->len % kv->page);
			kv_page_unref(kv, g, s->table[g][part]);
			s->table[g][part] = p;
		}
		for (int32_t i = gr->kind == KV_STATE ? s->first[g] : s->n_pages; i < want; i++)
			if (page_at(s, g, i) == NONE)
				s->table[g][i] = i < kv_pages_of(kv, len) && kv_takes(kv, g, i, len)
				                         ? kv_page_take(kv, g)
				                         : NONE;
	}
	s->n_pages = want;
	return INFER_OK;
}

/* Give the tree page i of s, or take the tree's where it has one. */
static void lend(struct kv *kv, struct kv_seq *s, uint32_t node, int32_t i)
{
	for (int g = 0; g < kv->n_groups; g++) {
		uint32_t *mine = &s->table[g][i], theirs = kv->nodes[node].page[g];

		if (*mine == NONE || *mine == theirs)
			continue;
		if (theirs == NONE) {
			kv_page_lend(kv, g, *mine, node);
			continue;
		}
		kv_page_ref(kv, g, theirs);
		kv_page_unref(kv, g, *mine);
		*mine = theirs;
	}
}

/* A state that the tree need not hold either: of tokens that came one by one, where a later page end has
 * another.  A conversation goes on behind the last of them. */
static int is_passing(const struct kv *kv, const struct kv_seq *s, int g, int32_t i)
{
	const struct page *p = &kv->groups[g].pages[s->table[g][i]];

	return kv->groups[g].kind == KV_STATE && (i + 1) * kv->page > s->read &&
	       (i + 1) % kv->stride && p->node != NONE && p->refs == 2;
}

/* Release page i, which no later row sees. */
static void pass(struct kv *kv, struct kv_seq *s, int g, int32_t i)
{
	if (s->table[g][i] == NONE)
		return;
	if (is_passing(kv, s, g, i))
		kv_page_unlend(kv, g, s->table[g][i]);
	kv_page_unref(kv, g, s->table[g][i]);
	s->table[g][i] = NONE;
}

void kv_seq_commit(struct kv *kv, struct kv_seq *s, const uint64_t *ids, int32_t len)
{
	uint32_t node;

	must(len >= s->len && kv_pages_of(kv, len) <= s->n_pages);
	kv->now++;
	s->read = len > s->len + 1 ? len : s->read;
	s->len = len;
	while (!(kv->flags & KV_NO_TREE) && (s->n_tree + 1) * kv->page <= len) {
		const uint64_t *key = ids + (size_t)s->n_tree * kv->page;

		node = kv_tree_find(kv, s->root, s->node, key);
		if (node != NONE)
			kv_tree_use(kv, node);
		else if ((node = kv_tree_add(kv, s->root, s->node, key, kv->page)) == NONE)
			break;
		lend(kv, s, node, s->n_tree);
		s->node = node;
		s->n_tree++;
	}
	for (int g = 0; g < kv->n_groups; g++)
		for (int32_t first = kv_first_page(kv, g, len); s->first[g] < first; s->first[g]++)
			pass(kv, s, g, s->first[g]);
}

/* s holds nothing and becomes what `of` has committed. */
static void mirror(struct kv *kv, struct kv_seq *s, const struct kv_seq *of)
{
	s->node = of->node;
	s->n_tree = of->n_tree;
	s->len = of->len;
	s->read = of->read;
	s->n_pages = kv_pages_of(kv, of->len);
	memcpy(s->first, of->first, sizeof s->first);
	for (int g = 0; g < kv->n_groups; g++) {
		memcpy(s->table[g], of->table[g], (size_t)s->n_pages * sizeof *s->table[g]);
		for (int32_t i = s->first[g]; i < s->n_pages; i++)
			kv_page_ref(kv, g, s->table[g][i]);
	}
	for (uint32_t n = s->node; n != NONE; n = kv->nodes[n].parent)
		kv_tree_use(kv, n);
}

struct kv_seq *kv_seq_fork(struct kv *kv, const struct kv_seq *of)
{
	struct kv_seq *s = seq_take(kv, of->root);

	if (s)
		mirror(kv, s, of);
	return s;
}

/* Whether s has what rows from position len on go on from, len at most its length. */
static int has_end(const struct kv *kv, const struct kv_seq *s, int32_t len)
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
	if (!has_end(kv, of, len))
		return INFER_EINVAL;
	leave(kv, s);
	mirror(kv, s, of);
	return kv_seq_trim(kv, s, len);
}

int kv_seq_trim(struct kv *kv, struct kv_seq *s, int32_t len)
{
	int32_t keep = kv_pages_of(kv, len);
	uint32_t up;

	must(len >= 0);
	if (len < s->len && !has_end(kv, s, len))
		return INFER_EINVAL;
	kv->now++;
	drop_from(kv, s, keep);
	if (s->n_pages > keep)
		s->n_pages = keep;
	if (s->len > len)
		s->len = len;
	for (; s->n_tree > s->len / kv->page; s->n_tree--) {
		up = kv->nodes[s->node].parent;
		kv_tree_leave(kv, s->node);
		s->node = up;
	}
	return INFER_OK;
}

int32_t kv_lasting(const struct kv *kv, int32_t len)
{
	if (kv->flags & KV_NO_TREE || len < kv->page)
		return 0;
	return kv->stride ? len - len % kv->page : len;
}

/* A node below that of s that has n keys and all pages, or exactly these keys; NONE: there is none. */
static uint32_t find_end(const struct kv *kv, const struct kv_seq *s, const uint64_t *key,
                         int32_t n)
{
	int32_t left = KV_KIN;

	for (uint32_t i = kv_tree_kin(kv, s->root, s->node, *key); i != NONE && left--;
	     i = kv_tree_older(kv, i))
		if (kv_alike(kv, i, key, n) == n && (kv->nodes[i].n == n || has_pages(kv, i)))
			return i;
	return NONE;
}

/* Give the tree the last page of s, which is not full. */
static void keep_end(struct kv *kv, struct kv_seq *s, const uint64_t *ids)
{
	int32_t from = s->n_tree * kv->page, n = s->len - from;
	uint32_t node;

	if (kv_lasting(kv, s->len) != s->len || n < 1 || n >= kv->page)
		return;
	for (int g = 0; g < kv->n_groups; g++) /* another's that s has not written to */
		if (kv->groups[g].pages[s->table[g][s->n_tree]].node != NONE)
			return;
	node = find_end(kv, s, ids + from, n);
	if (node != NONE && kv->nodes[node].n > n)
		return;
	if (node != NONE)
		kv_tree_use(kv, node);
	else if ((node = kv_tree_add(kv, s->root, s->node, ids + from, n)) == NONE)
		return;
	lend(kv, s, node, s->n_tree);
	s->node = node;
	s->n_tree++;
}

void kv_seq_close(struct kv *kv, struct kv_seq *s, const uint64_t *ids)
{
	if (!s)
		return;
	must(s->open);
	if (ids)
		keep_end(kv, s, ids);
	leave(kv, s);
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
	int32_t part = part_page(kv, s, len);

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
		if (part >= 0 && is_others(kv, s, g, part))
			*sum += gr->page_bytes;
	}
}

int kv_has_room(const struct kv *kv, const uint64_t *need)
{
	for (int d = 0; d < kv->n_devices; d++)
		if (need[d] > kv_room(&kv->devices[d]))
			return 0;
	return 1;
}
