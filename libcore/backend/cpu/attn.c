/* backend/cpu/attn.c - attention.
 *
 * The context is divided into splits at fixed positions. Each split gives a partial result, and the
 * partial results of a row are merged in ascending order. A task is (rows of one sequence, split,
 * some KV heads), so that one decoded row at a long context keeps every thread busy. For MLA a task
 * copies V out of the pages of K, in scratch. Memory for partial results is bounded, so rows are
 * processed in waves whose results fit. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/limits.h"
#include "base/err.h"
#include "base/num.h"
#include "kern/kv.h"

enum {
	QUERIES = 8, /* fewest query heads of one KV head in a task */
	PAGES = KERN_SPLIT / KERN_PAGE,
};

static size_t kernel_scratch(const struct graph_node *n)
{
	return num_round_up(kern_attn_scratch(n->attn.dk, n->attn.dv), 64);
}

/* Scratch: that of the kernel and, for MLA, V of a split, in the largest cache type. */
size_t cpu_attn_scratch(const struct backend_plan *p, const struct graph_node *n)
{
	size_t mla = (size_t)cpu_node(p, n->src[1])->kv_put.mla;

	return kernel_scratch(n) +
	       mla * KERN_SPLIT * num_round_up((size_t)n->attn.dv, 32) * sizeof(float);
}

/* A wave: blocks of rows whose partial results are in memory at the same time. */
struct wave {
	struct backend_plan *p;
	const struct graph_node *n;
	const float *q;
	float *y;
	const float *sinks;
	int n_blocks;
	int64_t tasks, work;
};

/* Return the first split that a row at pos attends to. */
static int first_split(const struct graph_node *n, int pos)
{
	int sees = n->attn.chunked ? pos % n->attn.window + 1 : n->attn.window;

	return sees && pos >= sees ? (pos - sees + 1) / KERN_SPLIT : 0;
}
/* True if chunks consist of whole splits. Then splits are left out and the kernel needs no window.
 * Otherwise a block of a chunked layer has one row, so its window is exact. */
static int whole_chunks(const struct graph_node *n)
{
	return n->attn.chunked && n->attn.window % KERN_SPLIT == 0;
}
static int window_of(const struct graph_node *n, int pos)
{
	if (whole_chunks(n))
		return 0;
	return n->attn.chunked ? pos % n->attn.window + 1 : n->attn.window;
}
/* Return the end of the positions that a row at pos attends to. Positions after pos are
 * rows of the same step. */
static int end_position(const struct graph_node *n, const struct backend_run *run, int pos)
{
	return (int)num_min(pos + (int64_t)n->attn.later, run->pos + run->n - 1) + 1;
}
static int end_split(const struct graph_node *n, const struct backend_run *run, int pos)
{
	return (end_position(n, run, pos) - 1) / KERN_SPLIT + 1;
}

/* Find the block of a task: the last block with first <= task. */
static const struct cpu_block *find_block(const struct wave *w, int64_t task)
{
	int lo = 0, hi = w->n_blocks - 1;

	while (lo < hi) {
		int mid = (lo + hi + 1) / 2;
		if (w->p->blocks[mid].first <= task)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &w->p->blocks[lo];
}

/* Set k[i] and v[i] to K and V of a KV head in page i of the positions [from, to) of a split; NULL:
 * the page left the window. */
static void find_pages(const struct wave *w, const struct cpu_block *b, int head, int from, int to,
                       const void **k, const void **v)
{
	const struct backend_run *run = &w->p->s->runs[b->run];
	const struct backend_kv_layer *l = &w->p->s->kv->layers[w->n->attn.layer];
	const struct backend_cache *c = w->p->s->kv->caches[l->group];
	size_t k_head = (size_t)head * c->k_head, v_head = c->v_at + (size_t)head * c->v_head;

	for (int i = 0; i < KERN_SPLIT / KERN_PAGE && from + i * KERN_PAGE < to; i++) {
		uint32_t page = run->pages[l->group][from / KERN_PAGE + i];
		const unsigned char *base =
			page == BACKEND_NO_PAGE ? NULL : cpu_kv_page(c, l, page);
		k[i] = base ? base + k_head : NULL;
		v[i] = base ? base + v_head : NULL;
	}
}

/* MLA: copy V out of the n pages of K, in the layout of V, to `at`, and set v[i] to it. */
static void copy_values(const struct wave *w, const struct backend_cache *c, const void *const *k,
                        const void **v, int n, unsigned char *at)
{
	int dv = w->n->attn.dv;
	size_t bytes = kern_kv_bytes(c->k_type, dv);

	for (int i = 0; i < n; i++) {
		if (k[i])
			kern_k_turn(at + (size_t)i * bytes, k[i], c->k_type, w->n->attn.dk, dv);
		v[i] = k[i] ? at + (size_t)i * bytes : NULL;
	}
}

/* The part of a block that one task computes. */
struct share {
	int kv, head, heads, split; /* KV head, its first query head, query heads, split */
};
/* Return the number of tasks for one split of a block. */
static int count_shares(const struct graph_node *n, const struct cpu_block *b)
{
	int group = n->attn.heads / n->attn.kv_heads;

	return (n->attn.kv_heads + b->kv - 1) / b->kv * ((group + b->q - 1) / b->q);
}
/* Return the share of task number `at` of a block. */
static struct share task_share(const struct graph_node *n, const struct cpu_block *b, int at)
{
	int group = n->attn.heads / n->attn.kv_heads, cuts = (group + b->q - 1) / b->q,
	    parts = count_shares(n, b), part = at % parts, head = part % cuts * b->q;

	return (struct share){ part / cuts * b->kv, head, (int)num_min(b->q, group - head),
		               b->s0 + at / parts };
}

static void run_task(void *user, int64_t i, int worker)
{
	const struct wave *w = user;
	const struct graph_node *n = w->n;
	const struct cpu_block *b = find_block(w, i);
	const struct backend_run *run = &w->p->s->runs[b->run];
	const struct backend_kv *kv = w->p->s->kv;
	const struct backend_cache *c = kv->caches[kv->layers[n->attn.layer].group];
	int splits = b->s1 - b->s0, at = (int)(i - b->first),
	    group = n->attn.heads / n->attn.kv_heads, pos = run->pos + b->row - run->row,
	    end = end_position(n, run, pos + b->n - 1);
	struct share t = task_share(n, b, at);
	const void *k[PAGES], *v[PAGES], *next_k[PAGES] = { 0 }, *next_v[PAGES];
	size_t heads = (size_t)n->attn.heads, head = (size_t)(t.kv * group + t.head),
	       slot = (size_t)(b->slot + t.split - b->s0) * heads + head, dv = (size_t)n->attn.dv;
	unsigned char *scratch = w->p->scratch + (size_t)worker * w->p->scratch_bytes;
	struct kern_attn a = {
		.q = w->q + ((size_t)b->row * heads + head) * (size_t)n->attn.dk,
		.q_row = heads * (size_t)n->attn.dk,
		.k = k,
		.v = v,
		.next = next_k,
		.k_type = (uint8_t)c->k_type,
		.v_type = (uint8_t)c->v_type,
		.rows = b->n,
		.kv_heads = (int)num_min(b->kv, n->attn.kv_heads - t.kv),
		.heads = t.heads,
		.dk = n->attn.dk,
		.dv = n->attn.dv,
		.from = t.split * KERN_SPLIT,
		.to = (int)num_min((t.split + 1) * KERN_SPLIT, end),
		.pos = pos,
		.window = window_of(n, pos),
		.later = n->attn.later,
		.scale = n->attn.scale,
		.cap = n->attn.cap,
		.sink = w->sinks && t.split == b->s0 ? w->sinks + head : NULL,
		.m = w->p->part_m + slot,
		.l = w->p->part_l + slot,
		.o = w->p->part_o + slot * dv,
		.ml_row = (size_t)splits * heads,
		.o_row = (size_t)splits * heads * dv,
		.scratch = scratch,
	};

	find_pages(w, b, t.kv, a.from, a.to, k, v);
	if (c->mla)
		copy_values(w, c, k, v, (a.to - a.from + KERN_PAGE - 1) / KERN_PAGE,
		            scratch + kernel_scratch(n));
	/* prefetch for the next task, which this worker probably runs */
	if (at + 1 < count_shares(n, b) * splits) {
		t = task_share(n, b, at + 1);
		find_pages(w, b, t.kv, t.split * KERN_SPLIT, end, next_k, next_v);
	}
	w->p->b->kern.attn(&a);
}

/* Merge the partial results of each row.  A row merges only its own splits, so other rows of the
 * batch do not change its sums. */
static void merge_block(void *user, int64_t i, int worker)
{
	const struct wave *w = user;
	const struct cpu_block *b = &w->p->blocks[i];
	const struct backend_run *run = &w->p->s->runs[b->run];
	size_t heads = (size_t)w->n->attn.heads, dv = (size_t)w->n->attn.dv;

	(void)worker;
	for (int r = 0; r < b->n; r++) {
		int pos = run->pos + b->row - run->row + r, s0 = first_split(w->n, pos);
		size_t slot = (size_t)(b->slot + (int64_t)r * (b->s1 - b->s0) + s0 - b->s0);
		w->p->b->kern.attn_merge(
			w->y + (size_t)(b->row + r) * heads * dv, w->p->part_m + slot * heads,
			w->p->part_l + slot * heads, w->p->part_o + slot * heads * dv,
			end_split(w->n, run, pos) - s0, w->n->attn.heads, w->n->attn.dv);
	}
}

static void run_wave(struct wave *w)
{
	if (w->n_blocks == 1 && w->p->blocks[0].n == 1 && w->work < CPU_ATTN_SMALL) {
		for (int64_t i = 0; i < w->tasks; i++)
			run_task(w, i, 0);
		merge_block(w, 0, 0);
	} else {
		pool_run(w->p->b->pool, w->tasks, run_task, w);
		if (w->n_blocks == 1)
			merge_block(w, 0, 0);
		else
			pool_run(w->p->b->pool, w->n_blocks, merge_block, w);
	}
	w->n_blocks = 0;
	w->tasks = w->work = 0;
}

/* Return a block of the next rows of a run: those that have the same first split and fit in `slots`
 * slots, but at least one. */
static struct cpu_block next_block(const struct wave *w, int32_t run, int32_t row, int64_t slots)
{
	const struct backend_run *r = &w->p->s->runs[run];
	int pos = r->pos + row - r->row, left = r->row + r->n - row,
	    most = w->n->attn.chunked && !whole_chunks(w->n) ? 1 : CPU_ATTN_BLOCK;
	struct cpu_block b = { .run = run,
		               .row = row,
		               .n = 1,
		               .s0 = first_split(w->n, pos),
		               .s1 = end_split(w->n, r, pos) };

	while (b.n < most && b.n < left && first_split(w->n, pos + b.n) == b.s0 &&
	       (int64_t)(b.n + 1) * (end_split(w->n, r, pos + b.n) - b.s0) <= slots) {
		b.s1 = end_split(w->n, r, pos + b.n);
		b.n++;
	}
	return b;
}

/* Choose the heads of a task. With few rows a task has as many KV heads as the kernel allows, since
 * the heads of a page are adjacent in memory. If these are too few tasks for the threads, divide
 * the query heads of a KV head. */
static void divide_heads(const struct wave *w, struct cpu_block *b)
{
	int32_t all = w->n->attn.kv_heads, group = w->n->attn.heads / all,
		want = 2 * pool_threads(w->p->b->pool), kv = KERN_ATTN_Q / (b->n * group);

	kv = (int32_t)num_max(1, num_min(kv, all));
	while (kv > 1 && (b->s1 - b->s0) * ((all + kv - 1) / kv) < want)
		kv = (kv + 1) / 2;
	b->kv = kv;
	b->q = group;
	while (kv == 1 && b->q >= 2 * QUERIES && (b->s1 - b->s0) * count_shares(w->n, b) < want)
		b->q = (b->q + 1) / 2;
}

void cpu_attn_run(struct backend_plan *p, int32_t node)
{
	const struct graph_node *n = cpu_node(p, node);
	struct wave w = { .p = p,
		          .n = n,
		          .q = cpu_value(p, n->src[0], 0),
		          .y = cpu_value(p, node, 0),
		          .sinks = n->w[0] < 0 ? NULL : p->m.weights[n->w[0]].at[0] };
	int64_t used = 0;

	for (int32_t run = 0; run < p->s->n_runs; run++) {
		const struct backend_run *r = &p->s->runs[run];
		for (int32_t row = r->row; row < r->row + r->n;) {
			struct cpu_block b = next_block(&w, run, row, p->slots - used);
			int64_t slots = (int64_t)b.n * (b.s1 - b.s0);
			if (slots > p->slots - used) {
				run_wave(&w);
				used = 0;
				continue;
			}
			divide_heads(&w, &b);
			b.first = w.tasks;
			b.slot = used;
			p->blocks[w.n_blocks++] = b;
			used += slots;
			w.tasks += (int64_t)(b.s1 - b.s0) * count_shares(n, &b);
			w.work += b.n * n->cols *
			          (num_min((int64_t)b.s1 * KERN_SPLIT,
			                   end_position(n, r, r->pos + row - r->row + b.n - 1)) -
			           (int64_t)b.s0 * KERN_SPLIT);
			row += b.n;
		}
	}
	run_wave(&w);
}
