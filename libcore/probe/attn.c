/* probe/attn.c - measure attention over a KV cache larger than the machine's caches, one split of a
 * head (KERN_SPLIT positions) after another */
#include "probe/probe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "kern/kv.h"
#include "kern/data.h"

#include <math.h>
#include <string.h>

/* HEADS: query heads that share a KV head, computed together */
enum { HEADS = PROBE_ATTN_HEADS, PAGES = KERN_SPLIT / KERN_PAGE };

/* Return the number of positions attended to: a whole split, or its beginning. */
static int positions(const struct probe_case *c) { return (int)num_min(c->n, KERN_SPLIT); }

static size_t page_bytes(const struct probe_case *c) { return kern_kv_bytes(c->type, c->k); }
/* Return the bytes of a split: K of all its pages, then V. */
static size_t split_bytes(const struct probe_case *c) { return 2 * PAGES * page_bytes(c); }

/* Fill p->weights with copies of one random split, unless it contains them already. */
static int fill_cache(infer_probe *p, const struct probe_case *c)
{
	int is = c->type << 16 | c->k;
	float *x;

	if (p->fill_cache == is)
		return INFER_OK;
	x = probe_floats(2 * KERN_SPLIT * (size_t)c->k, 11);
	if (!x)
		return INFER_ENOMEM;
	for (size_t i = 0; i < KERN_SPLIT; i++) {
		unsigned char *k = p->weights + i / KERN_PAGE * page_bytes(c),
			      *v = k + PAGES * page_bytes(c);
		kern_k_put(&p->ref, k, c->type, (int)(i % KERN_PAGE), x + 2 * i * (size_t)c->k,
		           c->k);
		kern_v_put(&p->ref, v, c->type, (int)(i % KERN_PAGE),
		           x + (2 * i + 1) * (size_t)c->k, c->k);
	}
	probe_spread(p, split_bytes(c));
	p->fill_cache = is;
	mem_free(x);
	return INFER_OK;
}

/* y: memory for the results m and l [rows][HEADS] and o [rows][HEADS][d], and scratch */
static void compute_split(const struct probe_job *j, const struct kern *k, const unsigned char *at,
                          float *y)
{
	const struct probe_case *c = j->c;
	size_t pairs = (size_t)c->m * HEADS, d = (size_t)c->k;
	const void *kp[PAGES], *vp[PAGES];

	for (size_t i = 0; i < PAGES; i++) {
		kp[i] = at + i * page_bytes(c);
		vp[i] = at + (PAGES + i) * page_bytes(c);
	}
	k->attn(&(struct kern_attn){ .q = j->fx,
	                             .q_row = HEADS * d,
	                             .k = kp,
	                             .v = vp,
	                             .k_type = (uint8_t)c->type,
	                             .v_type = (uint8_t)c->type,
	                             .rows = c->m,
	                             .kv_heads = 1,
	                             .heads = HEADS,
	                             .dk = c->k,
	                             .dv = c->k,
	                             .from = 0,
	                             .to = positions(c),
	                             .pos = positions(c),
	                             .scale = 1 / sqrtf((float)d),
	                             .m = y,
	                             .l = y + pairs,
	                             .o = y + 2 * pairs,
	                             .ml_row = HEADS,
	                             .o_row = HEADS * d,
	                             .scratch = y + num_round_up((2 + d) * pairs, 16) });
}

static double piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	const struct probe_case *c = j->c;

	if ((size_t)(w->to - w->at) < split_bytes(c))
		w->at = w->from;
	compute_split(j, j->k, w->at, j->y + (size_t)w->id * j->y_floats);
	w->at += split_bytes(c);
	return 4.0 * c->m * HEADS * positions(c) * c->k;
}

int probe_attn(struct probe_job *j, infer_probe *p, infer_error *err)
{
	const struct probe_case *c = j->c;
	size_t pairs = (size_t)c->m * HEADS, d = (size_t)c->k, results = (2 + d) * pairs,
	       workers = p->threads > 2 ? (size_t)p->threads : 2;

	j->fx = probe_floats(pairs * d, 5);
	j->y_floats = num_round_up(
		num_round_up(results, 16) + kern_attn_scratch(c->k, c->k) / sizeof(float), 16);
	j->y = mem_aligned(MEM_PLAN, 64, workers * j->y_floats * sizeof(float));
	if (!j->fx || !j->y || fill_cache(p, c))
		return err_nomem(err);
	memset(j->y, 0, workers * j->y_floats * sizeof(float));
	if (!(p->flags & PROBE_UNCHECKED)) {
		compute_split(j, j->k, p->weights, j->y);
		compute_split(j, &p->ref, p->weights, j->y + j->y_floats);
		j->same = kern_data_differ(j->y, j->y + j->y_floats, results) < 0;
	}
	j->fn = piece;
	j->limit = INFER_LIMIT_FMA;
	j->bytes_per_op = (double)split_bytes(c) / (4.0 * (double)pairs * KERN_SPLIT * (double)d);
	j->mem = (struct probe_memory){ p->weights, p->bytes, split_bytes(c) };
	return INFER_OK;
}
