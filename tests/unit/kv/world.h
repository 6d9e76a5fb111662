/* tests/unit/kv/world.h - sequences that walk at random over a cache, recounted after every step
 *
 * A backend of the test's own keeps a mark for each position of each layer: a hash of the whole
 * prefix, written where a sequence computes it.  Whatever is read back later, by whichever sequence,
 * must carry that mark.  What a copy does not promise and what is dropped is spoilt. */
#ifndef TESTS_KV_WORLD_H
#define TESTS_KV_WORLD_H
#include "../nth.h"
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/rng.h"
#include "kv/inner.h"
#include "kv/kv.h"

enum { CTX = 512, SEQS = 6, LAYERS = 6, ASIDE = 400000 };
static const int even[] = { 0, 2, 4 }, odd[] = { 1, 3, 5 };
static const struct backend_kind marks, small_marks; /* pages of 32 and of 8 positions */
#define GROUP(kind, window, pages, list, bytes) \
	{ \
		kind, window, { &(pages), NULL }, bytes, { .n_layers = 3, .layers = list } \
	}
static const struct kv_group full = GROUP(KV_FULL, 0, marks, even, 12288);
static const struct kv_group window = GROUP(KV_WINDOW, 70, marks, odd, 49152);
static const struct kv_group states = {
	KV_STATE, 0, { &marks, NULL }, 98304, { .n_layers = 3, .layers = odd }, 0, 3
};
static const struct kv_group small = GROUP(KV_FULL, 0, small_marks, even, 4096);
static const struct kv_group small_window = GROUP(KV_WINDOW, 70, small_marks, odd, 8192);

struct walker {
	struct kv_seq *s;
	uint64_t root, ids[CTX], marks[CTX]; /* marks: of the prefix that ends here */
	int32_t len, grown;                  /* committed; room for */
};

struct world {
	struct kv *kv;
	struct kv_group groups[2];
	int n_groups;
	uint32_t flags;
	uint64_t seed, draws;
	struct walker w[SEQS];
	uint64_t refused_by[2]; /* device 1 had no room, or device 0 alone */
	uint64_t full, back;    /* no room to lay one aside; came back */
	uint64_t hits, parts, refused, forks, trims, held, copies, adopted, shared;
};

static uint64_t draw(struct world *w, uint64_t below)
{
	uint32_t r[4];

	rng_block(r, w->seed, w->draws++);
	return (r[0] | (uint64_t)r[1] << 32) % below;
}

enum { MOST_PAGE = 32 };
struct backend_cache {
	uint32_t n;
	uint64_t *cells; /* [page][layer][k, v][position] */
	size_t bytes;
};

static uint64_t *page_of(const struct backend_cache *c, uint32_t page)
{
	assert_true(page < c->n);
	return c->cells + (size_t)page * LAYERS * 2 * MOST_PAGE;
}

static int marks_new(struct backend_cache **out, struct backend *b, const struct backend_group *g,
                     uint32_t n, infer_error *err)
{
	struct backend_cache *c = mem_zalloc(MEM_BACKEND, 1, sizeof *c);
	void *at;

	(void)b;
	(void)g;
	*out = NULL;
	if (!c)
		return INFER_ENOMEM;
	c->n = n;
	c->bytes = (size_t)n * LAYERS * 2 * MOST_PAGE * sizeof *c->cells;
	assert_int_equal(os_reserve(&at, c->bytes, err), INFER_OK);
	c->cells = at;
	*out = c;
	return INFER_OK;
}

static void marks_copy(struct backend_cache *c, uint32_t to, uint32_t from, int n)
{
	uint64_t *a = page_of(c, to), *b = page_of(c, from);

	assert_true(n > 0 && n < MOST_PAGE);
	for (int i = 0; i < LAYERS * 2 * MOST_PAGE; i++)
		a[i] = i % MOST_PAGE < n ? b[i] : ~(uint64_t)0;
}

static void marks_drop(struct backend_cache *c, uint32_t page)
{
	memset(page_of(c, page), 0, LAYERS * 2 * MOST_PAGE * sizeof *c->cells);
}

static void marks_save(const struct backend_cache *c, void *to, uint32_t page)
{
	memcpy(to, page_of(c, page), LAYERS * 2 * MOST_PAGE * sizeof *c->cells);
}

static void marks_load(struct backend_cache *c, uint32_t page, const void *from)
{
	memcpy(page_of(c, page), from, LAYERS * 2 * MOST_PAGE * sizeof *c->cells);
}

static void marks_free(struct backend_cache *c)
{
	if (!c)
		return;
	os_release(c->cells, c->bytes);
	mem_free(c);
}

static const struct backend_kind marks = {
	.name = "marks",
	.page = 32,
	.kv_new = marks_new,
	.kv_copy = marks_copy,
	.kv_drop = marks_drop,
	.kv_save = marks_save,
	.kv_load = marks_load,
	.kv_free = marks_free,
};
static const struct backend_kind small_marks = {
	.name = "small",
	.page = 8,
	.kv_new = marks_new,
	.kv_copy = marks_copy,
	.kv_drop = marks_drop,
	.kv_save = marks_save,
	.kv_load = marks_load,
	.kv_free = marks_free,
};

/* -1: nobody keeps the layer.  A page of states has one mark, of its last position. */
static int group_of(const struct world *w, int layer)
{
	for (int g = 0; g < w->n_groups; g++)
		for (int i = 0; i < w->groups[g].shape.n_layers; i++)
			if (w->groups[g].shape.layers[i] == layer)
				return g;
	return -1;
}

static uint64_t *cell(const struct world *w, const struct walker *k, int layer, int32_t pos,
                      int is_v)
{
	const struct kv *kv = w->kv;
	int g = group_of(w, layer), device = w->groups[g].device;
	const struct backend_kv *v = kv_view(kv, device);
	const struct backend_kv_layer *l = &v->layers[layer];
	uint32_t page = kv_seq_pages(k->s)[g][pos / kv->page];

	assert_true(l->group < v->n_groups && l->group + kv->devices[device].first_group == g);
	assert_true(page != BACKEND_NO_PAGE);
	return page_of(v->caches[l->group], page) + (l->index * 2 + is_v) * MOST_PAGE +
	       (w->groups[g].kind == KV_STATE ? 0 : pos % kv->page);
}

static int has_states(const struct world *w) { return w->groups[w->n_groups - 1].kind == KV_STATE; }

/* Goes on from the state of the position before, and leaves one in every page that is there. */
static void compute_state(struct world *w, struct walker *k, int layer, int32_t from, int32_t to)
{
	int g = group_of(w, layer);
	int32_t page = w->kv->page;

	for (int v = 0; v < 2; v++) {
		uint64_t of = (uint64_t)(layer * 2 + v);

		if (from && from < to &&
		    *cell(w, k, layer, from - 1, v) != (k->marks[from - 1] ^ of))
			fail_msg("layer %d has no state of position %d", layer, (int)from - 1);
		for (int32_t pos = from; pos < to; pos++)
			if ((pos == to - 1 || pos % page == page - 1) &&
			    kv_seq_pages(k->s)[g][pos / page] != BACKEND_NO_PAGE)
				*cell(w, k, layer, pos, v) = k->marks[pos] ^ of;
	}
}

static void compute(struct world *w, struct walker *k, int32_t from, int32_t to)
{
	for (int l = 0; l < LAYERS; l++)
		if (group_of(w, l) >= 0 && w->groups[group_of(w, l)].kind == KV_STATE)
			compute_state(w, k, l, from, to);
	for (int32_t pos = from; pos < to; pos++)
		for (int l = 0; l < LAYERS; l++)
			if (group_of(w, l) >= 0 && w->groups[group_of(w, l)].kind != KV_STATE)
				for (int v = 0; v < 2; v++)
					*cell(w, k, l, pos, v) =
						k->marks[pos] ^ (uint64_t)(l * 2 + v);
}

/* Every position that the next row sees carries its mark. */
static void read_back(struct world *w, const struct walker *k)
{
	for (int l = 0; l < LAYERS; l++) {
		int g = group_of(w, l);

		if (g < 0)
			continue;
		int32_t from = w->groups[g].kind == KV_WINDOW && k->len >= w->groups[g].window
		                       ? k->len - w->groups[g].window + 1
		                       : 0;

		if (w->groups[g].kind == KV_STATE)
			from = k->len ? k->len - 1 : 0;
		for (int32_t pos = from; pos < k->len; pos += 1 + (int32_t)draw(w, 9))
			for (int v = 0; v < 2; v++)
				if (*cell(w, k, l, pos, v) !=
				    (k->marks[pos] ^ (uint64_t)(l * 2 + v)))
					fail_msg("layer %d position %d of %d does not hold what "
					         "was computed",
					         l, (int)pos, (int)k->len);
	}
}

/* Count all references again, from the sequences and the tree, and compare with the cache's own
 * books. */
static void recount(struct world *w)
{
	struct kv *kv = w->kv;
	struct device sum[2] = { { 0 }, { 0 } };
	uint64_t held[2] = { 0 }, in_tree = 0, n_used = 0;
	uint32_t *refs;

	for (int g = 0; g < kv->n_groups; g++) {
		struct group *gr = &kv->groups[g];
		int d = w->groups[g].device;

		refs = calloc(gr->capacity, sizeof *refs);
		for (int i = 0; i < SEQS; i++) {
			struct kv_seq *s = w->w[i].s;

			for (int32_t p = 0; s && p < s->n_pages; p++) {
				if (gr->kind != KV_STATE || p <= s->first[g])
					assert_int_equal(s->table[g][p] == NONE, p < s->first[g]);
				if (s->table[g][p] != NONE)
					refs[s->table[g][p]]++;
			}
		}
		for (uint32_t p = 0; p < gr->n_touched; p++) {
			held[d] += refs[p] ? gr->page_bytes : 0;
			if (gr->pages[p].refs && gr->pages[p].node != NONE) {
				assert_int_equal(kv->nodes[gr->pages[p].node].page[g], p);
				in_tree++;
				if (!refs[p])
					sum[d].evictable += gr->page_bytes;
				refs[p]++;
			}
			assert_int_equal(gr->pages[p].refs, refs[p]);
			sum[d].used += refs[p] ? gr->page_bytes : 0;
			n_used += refs[p] != 0;
		}
		free(refs);
	}
	for (int d = 0; d < kv->n_devices; d++) {
		const struct device *dev = &kv->devices[d];

		assert_int_equal(dev->used, sum[d].used);
		assert_int_equal(dev->evictable, sum[d].evictable);
		assert_true(dev->used <= dev->budget);
		/* all that no sequence holds can be had */
		assert_int_equal(kv_available(dev), dev->budget - held[d]);
	}
	assert_int_equal(kv->pages_used, n_used);
	assert_int_equal(kv->pages_tree, in_tree);
}

/* Node use counts, and the order of the idle list: what hangs below goes first. */
static void recount_nodes(struct world *w)
{
	struct kv *kv = w->kv;
	uint32_t *users = calloc(kv->nodes_touched + 1, sizeof *users), n = 0, seen = 0, whole = 0,
		 ends = 0;

	for (int i = 0; i < SEQS; i++)
		if (w->w[i].s) {
			int32_t depth = 0;
			for (uint32_t at = w->w[i].s->node; at != NONE;
			     at = kv->nodes[at].parent, depth++)
				users[at]++;
			assert_int_equal(depth, w->w[i].s->n_tree);
		}
	for (uint32_t b = 0; kv->buckets && b <= kv->bucket_mask && !(w->flags & KV_NO_TREE); b++) {
		for (uint32_t i = kv->buckets[b]; i; i = kv->nodes[i - 1].chain, whole++)
			assert_int_equal(kv->nodes[i - 1].n_keys, kv->page);
		for (uint32_t i = kv->prefix_buckets[b]; i;
		     i = kv->nodes[i - 1].sibling.next + 1, n++) {
			assert_int_equal(kv->nodes[i - 1].users, users[i - 1]);
			ends += kv->nodes[i - 1].n_keys < kv->page;
		}
	}
	assert_int_equal(n, kv->n_nodes);
	assert_int_equal(whole + ends, n);
	assert_true(!ends || !has_states(w));
	for (uint32_t i = kv->idle_nodes.tail; i != NONE; i = kv->nodes[i].link.prev, seen++) {
		assert_int_equal(kv->nodes[i].users, 0);
		if (kv->nodes[i].parent != NONE && !kv->nodes[kv->nodes[i].parent].users)
			assert_true(kv->nodes[kv->nodes[i].parent].idle_since >=
			            kv->nodes[i].idle_since);
	}
	for (uint32_t i = 0; i < kv->nodes_touched; i++)
		seen += users[i] != 0;
	assert_int_equal(seen, kv->n_nodes);
	free(users);
}

/* Texts are made of few different pages, so that prefixes meet. */
static void write_ids(struct world *w, struct walker *k, int32_t from, int32_t to)
{
	uint64_t kind = draw(w, 2);

	for (int32_t i = from; i < to; i++) {
		if (i % MOST_PAGE == 0)
			kind = draw(w, 2);
		k->ids[i] = kind * 1000 + (uint64_t)i;
		k->marks[i] = rng_hash(i ? k->marks[i - 1] : k->root, &k->ids[i], sizeof k->ids[i]);
	}
}

static void op_open(struct world *w, struct walker *k)
{
	int32_t n = 1 + (int32_t)draw(w, CTX), cached;

	k->root = draw(w, 2);
	write_ids(w, k, 0, n);
	k->s = kv_seq_open(w->kv, k->root, k->ids, (size_t)n, &cached);
	assert_non_null(k->s);
	assert_true(cached < n && (cached % w->kv->page == 0 || !has_states(w)));
	w->parts += cached % w->kv->page != 0;
	assert_int_equal(kv_seq_len(k->s), cached);
	k->len = k->grown = cached;
	w->hits += cached > 0;
}

static void op_grow(struct world *w, struct walker *k)
{
	int32_t len = k->len + (int32_t)draw(w, draw(w, 4) ? 40 : 200), want;
	uint64_t need[KV_DEVICES] = { 0 };
	uint32_t shared = 0;
	int fits;

	if (len > CTX)
		len = CTX;
	kv_seq_need(w->kv, k->s, len, len - k->len, need);
	fits = kv_has_room(w->kv, need);
	if (k->len % w->kv->page && len > k->len)
		for (int g = 0; g < w->n_groups; g++)
			shared += w->kv->groups[g]
			                  .pages[kv_seq_pages(k->s)[g][k->len / w->kv->page]]
			                  .refs > 1;
	if (kv_seq_grow(w->kv, k->s, len)) {
		assert_false(fits);
		w->refused++;
		w->refused_by[need[1] > kv_available(&w->kv->devices[1])]++;
		return;
	}
	if (k->s->n_pages == kv_pages_of(w->kv, len) && w->n_groups == 1 &&
	    w->groups[0].kind == KV_FULL)
		assert_true(fits);
	w->copies += shared > 0;
	if (len > k->grown)
		k->grown = len;
	write_ids(w, k, k->len, k->grown);
	compute(w, k, k->len, k->grown);
	want = has_states(w) ? k->grown
	                     : k->len + (int32_t)draw(w, (uint64_t)(k->grown - k->len) + 1);
	kv_seq_commit(w->kv, k->s, k->ids, want);
	k->len = want;
	read_back(w, k);
}

static void op_fork(struct world *w, const struct walker *k)
{
	for (int i = 0; i < SEQS; i++)
		if (!w->w[i].s) {
			w->w[i] = *k;
			w->w[i].s = kv_seq_fork(w->kv, k->s);
			assert_non_null(w->w[i].s);
			w->w[i].grown = k->len;
			w->forks++;
			return;
		}
	assert_null(kv_seq_fork(w->kv, k->s));
}

static void op_trim(struct world *w, struct walker *k)
{
	int32_t len = k->len - (int32_t)draw(w, draw(w, 2) ? 5 : 100), least = 0;

	if (len < 0)
		len = 0;
	for (int g = 0; g < w->n_groups; g++) /* as the contract says */
		if (k->s->first[g] * w->kv->page + w->groups[g].window - 1 > least &&
		    k->s->first[g])
			least = k->s->first[g] * w->kv->page + w->groups[g].window - 1;
	if (has_states(w))
		least = len && len < k->len ? k->len : k->s->first[w->n_groups - 1] ? k->len : 0;
	if (kv_seq_trim(w->kv, k->s, len)) {
		assert_true(len < least && len < k->len);
		w->held++;
		return;
	}
	assert_true(len >= least || len == k->len);
	k->len = k->grown = len;
	w->trims++;
}

/* Give way, and come back as if nothing had been. */
static void op_aside(struct world *w, struct walker *k)
{
	uint64_t bytes = kv_seq_held(w->kv, k->s);
	struct kv_stats before, st;
	struct kv_seq *a;
	int32_t cached;

	kv_stats(w->kv, &before);
	a = kv_seq_swap_out(w->kv, k->s);
	kv_stats(w->kv, &st);
	assert_int_equal(st.swap_bytes, before.swap_bytes + (a ? bytes : 0));
	if (!a) {
		assert_true(bytes > ASIDE - before.swap_bytes);
		w->full++;
		return;
	}
	kv_seq_close(w->kv, k->s, NULL);
	if (draw(w, 2))
		kv_clear(w->kv);
	k->s = kv_seq_open(w->kv, k->root, k->ids, (size_t)k->len, &cached);
	kv_seq_clear(w->kv, k->s);
	if (kv_seq_swap_in(w->kv, k->s, a, k->ids)) {
		kv_swap_drop(w->kv, a);
		k->len = 0;
	}
	k->grown = k->len;
	assert_int_equal(kv_seq_len(k->s), k->len);
	kv_stats(w->kv, &st);
	assert_int_equal(st.swap_bytes, before.swap_bytes);
	w->back += k->len > 0;
}

/* What the tree or a neighbour has more of; read back by the walk, to the byte. */
static void op_share(struct world *w, struct walker *k)
{
	const struct walker *of = &w->w[draw(w, SEQS)];
	int32_t len = 0, gain, to = k->len + 65 < CTX ? k->len + 65 : CTX;

	write_ids(w, k, k->len, to);
	gain = draw(w, 2) ? kv_seq_adopt(w->kv, k->s, k->ids, (size_t)to) : 0;
	assert_true(gain >= 0 && gain <= 64);
	if (gain)
		k->grown = k->len += gain;
	w->adopted += gain > 0;
	if (of == k || !of->s || of->root != k->root)
		return;
	while (len < of->len && len < to && of->ids[len] == k->ids[len])
		len++;
	if (len > k->len && !kv_seq_share(w->kv, k->s, of->s, len)) {
		k->len = k->grown = len;
		w->shared++;
	}
	assert_int_equal(kv_seq_len(k->s), k->len);
}

__attribute__((unused)) static void walk_two(struct world *w, int ops, uint64_t bytes,
                                             uint64_t other)
{
	struct kv_opts o = { w->groups, w->n_groups, LAYERS, { bytes, other },
		             CTX,       SEQS,        ASIDE,  w->flags };
	struct kv_stats st;

	assert_int_equal(kv_open(&w->kv, &o, NULL), INFER_OK);
	for (int i = 0; i < ops; i++) {
		struct walker *k = &w->w[draw(w, SEQS)];
		uint64_t what = draw(w, 100);

		if (!k->s)
			op_open(w, k);
		else if (what < 70)
			op_grow(w, k);
		else if (what < 75)
			op_fork(w, k);
		else if (what < 81)
			op_share(w, k);
		else if (what < 89)
			op_trim(w, k);
		else if (what < 91)
			op_aside(w, k);
		else if (what < 99) {
			kv_seq_close(w->kv, k->s, draw(w, 2) ? k->ids : NULL);
			k->s = NULL;
		} else if (draw(w, 40) == 0)
			kv_clear(w->kv);
		if (k->s)
			read_back(w, k);
		recount(w);
		if (i % 16 == 0)
			recount_nodes(w);
	}
	kv_stats(w->kv, &st);
	if (!(w->flags & KV_NO_TREE)) {
		assert_true(st.evicted > 1000);
		assert_true(w->hits > 100);
		assert_true(has_states(w) ? !w->parts : w->parts > 30);
	}
	assert_true(w->flags & KV_NO_TREE ? !w->adopted : w->adopted > (has_states(w) ? 0 : 10));
	assert_true(w->shared > (has_states(w) ? 0 : 10));
	assert_true(w->refused > 10 && w->forks > 100 && w->trims > 100 && w->copies > 100);
	for (int i = 0; i < SEQS; i++)
		kv_seq_close(w->kv, w->w[i].s, NULL);
	kv_clear(w->kv);
	kv_stats(w->kv, &st);
	assert_int_equal(
		st.used_bytes + st.pages_used + st.pages_tree + st.nodes + (uint64_t)st.seqs, 0);
	for (int g = 0; g < w->n_groups; g++) /* all pages were dropped */
		for (uint32_t p = 0; p < w->kv->caches[g]->n; p++)
			for (int i = 0; i < LAYERS * 2 * MOST_PAGE; i++)
				assert_true(!page_of(w->kv->caches[g], p)[i]);
	assert_true(w->back > 50);
	assert_true(w->held > 100 || w->groups[w->n_groups - 1].kind == KV_FULL);
	kv_close(&w->kv);
}

/* A sequence of n ids comes and goes; `left`: ids, and its last page stays though it is not full, or
 * NULL. */
__attribute__((unused)) static void run_and_leave(struct kv *kv, uint64_t root, const uint64_t *ids,
                                                  int32_t n, int32_t want_cached,
                                                  const uint64_t *left)
{
	int32_t cached;
	struct kv_seq *s = kv_seq_open(kv, root, ids, (size_t)n, &cached);

	assert_non_null(s);
	assert_int_equal(cached, want_cached);
	assert_int_equal(kv_seq_grow(kv, s, n), INFER_OK);
	kv_seq_commit(kv, s, ids, n);
	kv_seq_close(kv, s, left);
}

__attribute__((unused)) static void run_through(struct kv *kv, uint64_t root, const uint64_t *ids,
                                                int32_t n, int32_t want_cached)
{
	run_and_leave(kv, root, ids, n, want_cached, NULL);
}
#endif
