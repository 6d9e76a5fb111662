/* backend/cpu/attn.c - attention: the cache is cut into splits at fixed positions, each split gives
 * a partial result, and the partial results of a row are merged in ascending order.  A task is
 * (rows of one sequence, split, one or some KV heads), so one decoded row at a long context keeps
 * every thread busy. Memory for partial results is bounded: if they do not fit for all rows, the
 * rows are done in waves. */
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/num.h"

enum {
	BLOCK = 32,       /* rows of a task: a split of keys stays in cache for all of them */
	SMALL = 64 << 10, /* multiplications below which one thread is quicker */
};

size_t cpu_attn_scratch(const struct graph_node *n)
{
	return kern_attn_scratch(n->attn.dk, n->attn.dv);
}

struct wave {
	struct backend_plan *p;
	const struct graph_node *n;
	const float *q;
	float *y;
	const float *sinks;
	int n_blocks;
	int64_t tasks, work;
};

/* The first split that the row at pos sees, and the one after its last. */
static int first_split(const struct graph_node *n, int pos)
{
	return n->attn.window && pos >= n->attn.window ? (pos - n->attn.window + 1) / KERN_SPLIT
	                                               : 0;
}
static int end_split(int pos) { return pos / KERN_SPLIT + 1; }

static const struct cpu_block *block_of(const struct wave *w, int64_t task)
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

/* Find the keys and values of KV head `head` in each page of the split at position `from`. */
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

static void task(void *user, int64_t i, int worker)
{
	const struct wave *w = user;
	const struct graph_node *n = w->n;
	const struct cpu_block *b = block_of(w, i);
	const struct backend_run *run = &w->p->s->runs[b->run];
	const struct backend_kv *kv = w->p->s->kv;
	const struct backend_cache *c = kv->caches[kv->layers[n->attn.layer].group];
	int splits = b->s1 - b->s0, at = (int)(i - b->first),
	    parts = (n->attn.kv_heads + b->kv - 1) / b->kv, head = at % parts * b->kv,
	    split = at / parts;
	int group = n->attn.heads / n->attn.kv_heads, pos = run->pos + b->row - run->row,
	    from = (b->s0 + split) * KERN_SPLIT;
	const void *k[KERN_SPLIT / KERN_PAGE], *v[KERN_SPLIT / KERN_PAGE],
		*next_k[KERN_SPLIT / KERN_PAGE] = { 0 }, *next_v[KERN_SPLIT / KERN_PAGE];
	size_t slot = (size_t)(b->slot + split), heads = (size_t)n->attn.heads;
	struct kern_attn a = {
		.q = w->q + (size_t)b->row * heads * (size_t)n->attn.dk +
		     (size_t)(head * group) * (size_t)n->attn.dk,
		.q_row = heads * (size_t)n->attn.dk,
		.k = k,
		.v = v,
		.next = next_k,
		.k_type = (uint8_t)c->k_type,
		.v_type = (uint8_t)c->v_type,
		.rows = b->n,
		.kv_heads = (int)num_min(b->kv, n->attn.kv_heads - head),
		.heads = group,
		.dk = n->attn.dk,
		.dv = n->attn.dv,
		.from = from,
		.to = (int)num_min(from + KERN_SPLIT, pos + b->n),
		.pos = pos,
		.window = n->attn.window,
		.scale = n->attn.scale,
		.cap = n->attn.cap,
		.sink = w->sinks && !split ? w->sinks + head * group : NULL,
		.m = w->p->part_m + slot * heads + head * group,
		.l = w->p->part_l + slot * heads + head * group,
		.o = w->p->part_o + (slot * heads + (size_t)(head * group)) * (size_t)n->attn.dv,
		.ml_row = (size_t)splits * heads,
		.o_row = (size_t)splits * heads * (size_t)n->attn.dv,
		.scratch = w->p->scratch + (size_t)worker * w->p->scratch_bytes,
	};

	find_pages(w, b, head, a.from, a.to, k, v);
	/* a worker's next task, unless this one was its last */
	if (at + 1 < parts * splits)
		find_pages(w, b, (at + 1) % parts * b->kv, (b->s0 + (at + 1) / parts) * KERN_SPLIT,
		           pos + b->n, next_k, next_v);
	w->p->b->kern.attn(&a);
}

/* Each row merges exactly its own splits, so other rows in the batch do not change its sums. */
static void merge(void *user, int64_t i, int worker)
{
	const struct wave *w = user;
	const struct cpu_block *b = &w->p->blocks[i];
	const struct backend_run *run = &w->p->s->runs[b->run];
	size_t heads = (size_t)w->n->attn.heads, dv = (size_t)w->n->attn.dv;

	(void)worker;
	for (int r = 0; r < b->n; r++) {
		int pos = run->pos + b->row - run->row + r, s0 = first_split(w->n, pos);
		size_t slot = (size_t)(b->slot + (int64_t)r * (b->s1 - b->s0) + s0 - b->s0);
		w->p->b->kern.attn_merge(w->y + (size_t)(b->row + r) * heads * dv,
		                         w->p->part_m + slot * heads, w->p->part_l + slot * heads,
		                         w->p->part_o + slot * heads * dv, end_split(pos) - s0,
		                         w->n->attn.heads, w->n->attn.dv);
	}
}

static void run_wave(struct wave *w)
{
	if (w->n_blocks == 1 && w->p->blocks[0].n == 1 && w->work < SMALL) {
		for (int64_t i = 0; i < w->tasks; i++)
			task(w, i, 0);
		merge(w, 0, 0);
	} else {
		pool_run(w->p->b->pool, w->tasks, task, w);
		if (w->n_blocks == 1)
			merge(w, 0, 0);
		else
			pool_run(w->p->b->pool, w->n_blocks, merge, w);
	}
	w->n_blocks = 0;
	w->tasks = w->work = 0;
}

/* The next rows of a run that share their first split and fit `slots`; at least one. */
static struct cpu_block next_block(const struct wave *w, int32_t run, int32_t row, int64_t slots)
{
	const struct backend_run *r = &w->p->s->runs[run];
	int pos = r->pos + row - r->row, left = r->row + r->n - row;
	struct cpu_block b = {
		.run = run, .row = row, .n = 1, .s0 = first_split(w->n, pos), .s1 = end_split(pos)
	};

	while (b.n < BLOCK && b.n < left && first_split(w->n, pos + b.n) == b.s0 &&
	       (int64_t)(b.n + 1) * (end_split(pos + b.n) - b.s0) <= slots) {
		b.s1 = end_split(pos + b.n);
		b.n++;
	}
	return b;
}

/* The number of KV heads of a task.  With few rows a task takes as many as the kernel allows, since
 * the heads of a page are adjacent in memory; but there must be enough tasks for all threads. */
static int32_t heads_of(const struct wave *w, const struct cpu_block *b)
{
	int32_t all = w->n->attn.kv_heads, kv = KERN_ATTN_Q / (b->n * (w->n->attn.heads / all));

	kv = (int32_t)num_max(1, num_min(kv, all));
	while (kv > 1 && (b->s1 - b->s0) * ((all + kv - 1) / kv) < 2 * pool_threads(w->p->b->pool))
		kv = (kv + 1) / 2;
	return kv;
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
			b.kv = heads_of(&w, &b);
			b.first = w.tasks;
			b.slot = used;
			p->blocks[w.n_blocks++] = b;
			used += slots;
			w.tasks += (int64_t)(b.s1 - b.s0) * ((n->attn.kv_heads + b.kv - 1) / b.kv);
			w.work +=
				b.n * n->cols *
				(num_min((int64_t)b.s1 * KERN_SPLIT, r->pos + row - r->row + b.n) -
			         (int64_t)b.s0 * KERN_SPLIT);
			row += b.n;
		}
	}
	run_wave(&w);
}
