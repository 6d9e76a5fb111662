/* backend/cuda/attn_row.cuh (private) - attention of one row: the positions it attends to, tiles of
 * rows, arithmetic, merging of splits.
 *
 * A row is a query: one head of one token.  A tile is rows of one run that share K and V. */
#ifndef BACKEND_CUDA_ATTN_ROW_CUH
#define BACKEND_CUDA_ATTN_ROW_CUH
#include "backend/cuda/attn.h"
#include "backend/cuda/kv.cuh"
#include "backend/cuda/math.cuh"

enum {
	ATTN_M = 16,                       /* rows of a tile */
	ATTN_PAGES = GPU_SPLIT / GPU_PAGE, /* pages of a split */
	ATTN_OWN = 8,                      /* positions of a page in one lane */
	ATTN_TERMS = 2,
	ATTN_STEPS = 2,                                  /* k16 steps of a unit */
	ATTN_Q_UNIT = ATTN_TERMS * ATTN_STEPS * KV_WARP, /* uint4 of a tile's q in one unit */
	ATTN_ONE = 1 << 15,                              /* 2^15: factor of the weights */
	ATTN_STAGED = 4,                                 /* rows of q that a warp stores at once */
	ATTN_TOP = 14,   /* scaled numbers are below 2^(ATTN_TOP + 1) */
	ATTN_BIAS = 127, /* bias of a float's exponent */
	ATTN_MOST = 253, /* biased exponent of the largest power of two used as a factor */
};
#define ATTN_UNONE (1.0f / (float)ATTN_ONE)
#define ATTN_NONE gpu_float(0xff800000) /* -inf */

/* ---- the positions that a row attends to ---- */

struct attn_span {
	int lo, end; /* positions lo <= p < end */
};
/* Return the positions that a row attends to whose token is at position pos. */
GPU_FN attn_span attn_see(const struct gpu_attn *a, const struct gpu_run *run, int pos)
{
	int window = a->chunked ? pos % a->window + 1 : a->window, last = run->pos + run->n - 1;
	attn_span s;

	s.lo = window && pos >= window ? pos - window + 1 : 0;
	s.end = (a->later < last - pos ? pos + a->later : last) + 1;
	return s;
}
/* The first split of a span, and one more than its last. */
GPU_FN int attn_first_split(attn_span s) { return s.lo / GPU_SPLIT; }
GPU_FN int attn_end_split(attn_span s) { return (s.end - 1) / GPU_SPLIT + 1; }

/* Tokens [row, row + rows) of a run and query heads [head, head + heads): row m of the tile is
 * token m / heads, head m % heads. */
struct attn_tile {
	int row, rows, pos, head, heads, kv;
	int slot; /* slot of the first token in the partial results */
};
GPU_FN attn_span attn_see_tile(const struct gpu_attn *a, const struct gpu_run *run, attn_tile t)
{
	attn_span first = attn_see(a, run, t.pos), last = attn_see(a, run, t.pos + t.rows - 1);

	return attn_span{ first.lo, last.end };
}
/* Set *run and t->row for tile number `tile`, counted over the runs of run_least ... run_most rows.
 * All lanes of a warp call it.  Returns 0 if there is no such tile. */
GPU_FN int attn_scan_runs(const struct attn_args *g, attn_tile *t, const struct gpu_run **run,
                          int tile)
{
	const struct gpu_rows *r = &g->a.rows;
	int n_runs = r->step->n_runs, lane = (int)(threadIdx.x % KV_WARP);

	for (int i = 0; i < n_runs; i += KV_WARP) {
		int rows = i + lane < n_runs ? r->runs[i + lane].n : 0, sum, before, from;
		int tiles = rows >= g->run_least && rows <= g->run_most
		                    ? (rows + g->tokens - 1) / g->tokens
		                    : 0;
		unsigned in;

		sum = tiles;
		for (int d = 1; d < KV_WARP; d *= 2) {
			int other = __shfl_up_sync(~0u, sum, (unsigned)d);
			sum += lane >= d ? other : 0;
		}
		in = __ballot_sync(~0u, tile < sum);
		if (!in) {
			tile -= __shfl_sync(~0u, sum, KV_WARP - 1);
			continue;
		}
		from = __ffs((int)in) - 1;
		before = __shfl_sync(~0u, sum - tiles, from);
		*run = &r->runs[i + from];
		t->row = (*run)->row + (tile - before) * g->tokens;
		return 1;
	}
	return 0;
}
/* Set the tokens of tile number `tile`: with g->scan as attn_scan_runs, otherwise the tile that
 * begins at row `tile`.  All lanes of a warp call it.  Returns 0 if there is no such tile. */
GPU_FN int attn_find_tile(const struct attn_args *g, attn_tile *t, const struct gpu_run **run,
                          int tile)
{
	const struct gpu_rows *r = &g->a.rows;
	int at;

	t->slot = tile;
	if (g->scan) {
		t->slot = tile * g->tokens;
		if (!attn_scan_runs(g, t, run, tile))
			return 0;
	} else {
		if (tile >= r->step->n)
			return 0;
		*run = &r->runs[r->run[tile]];
		t->row = tile;
	}
	at = t->row - (*run)->row;
	if (at % g->tokens)
		return 0;
	t->rows = (*run)->n - at < g->tokens ? (*run)->n - at : g->tokens;
	t->pos = (*run)->pos + at;
	return 1;
}
/* Set the KV head of grid column x and at most `most` of the query heads that share it. */
GPU_FN void attn_tile_heads(attn_tile *t, const struct attn_args *g, int x, int most)
{
	int part = x % g->head_tiles * most;

	t->kv = x / g->head_tiles;
	t->head = t->kv * g->group + part;
	t->heads = g->group - part < most ? g->group - part : most;
}
/* Return the index of row m of the tile in q and y. */
GPU_FN size_t attn_row(const struct gpu_attn *a, attn_tile t, int m)
{
	return (size_t)(t.row + m / t.heads) * (size_t)a->heads + (size_t)(t.head + m % t.heads);
}
/* Return q of row m; NULL if the tile has fewer rows. */
GPU_FN const float *attn_find_q(const struct gpu_attn *a, attn_tile t, int m)
{
	return m < t.rows * t.heads ? a->q + attn_row(a, t, m) * (size_t)a->dk : NULL;
}

/* ---- numbers ---- */

/* exp of x <= 0; x below FM_EXPW_MIN is clamped to it */
GPU_FN float attn_exp(float x)
{
	float t, r, p = FM_EXPW_C5;

	x = x < FM_EXPW_MIN ? FM_EXPW_MIN : x; /* keeps NaN */
	t = fmaf(x, FM_LOG2EF, FM_EXPW_MAGICF);
	r = fmaf(t - FM_EXPW_MAGICF, -FM_EXPW_LN2F, x);
	p = fmaf(p, r, FM_EXPW_C4);
	p = fmaf(p, r, FM_EXPW_C3);
	p = fmaf(p, r, FM_EXPW_C2);
	p = fmaf(p, r, 1.0f);
	p = fmaf(p, r, 1.0f);
	return p * gpu_float(gpu_bits(t) << 23);
}
/* exp(from - to): converts sums from maximum `from` to maximum `to`; both may be -inf */
GPU_FN float attn_shrink(float from, float to) { return from == to ? 1.0f : attn_exp(from - to); }
GPU_FN float attn_weight(float s, float m) { return s == ATTN_NONE ? 0.0f : attn_exp(s - m); }
GPU_FN float attn_cap(float s, float cap) { return cap != 0 ? cap * gpu_tanh(s / cap) : s; }

/* A power of two that scales magnitudes up to `most` below 2^15, and its inverse; both 1 if `most`
 * is not finite. */
struct attn_power {
	float by, back;
};
GPU_FN attn_power attn_power_of(float most)
{
	int e = (int)(gpu_bits(most) >> 23), f = 2 * ATTN_BIAS + ATTN_TOP - e;

	f = e > 2 * ATTN_BIAS ? ATTN_BIAS : f > ATTN_MOST ? ATTN_MOST : f;
	return attn_power{ gpu_float((uint32_t)f << 23),
		           gpu_float((uint32_t)(2 * ATTN_BIAS - f) << 23) };
}

GPU_FN uint32_t attn_pack(float low, float high) /* two f16 in a register */
{
#if defined __CUDACC__ && __CUDA_ARCH__ >= 800
	uint32_t r;

	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
	return r;
#else
	return float_half(low) | (uint32_t)float_half(high) << 16;
#endif
}
GPU_FN float attn_low(uint32_t h) { return half_float((uint16_t)h); }
GPU_FN float attn_high(uint32_t h) { return half_float((uint16_t)(h >> 16)); }
GPU_FN uint32_t attn_sub(uint32_t a, uint32_t b) /* a - b, pairs of f16 */
{
#ifdef __CUDACC__
	uint32_t r;

	asm("sub.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
	return r;
#else
	return attn_pack(attn_low(a) - attn_low(b), attn_high(a) - attn_high(b));
#endif
}
/* Split a and b into f16 terms, a = hi + lo, packed in pairs: a low, b high. */
GPU_FN void attn_terms(uint32_t *hi, uint32_t *lo, float a, float b)
{
	*hi = attn_pack(a, b);
	*lo = attn_pack(a - attn_low(*hi), b - attn_high(*hi));
}
/* Maximum and sum over the four lanes that share a row. */
GPU_FN float attn_max4(float x)
{
	x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
	return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
GPU_FN float attn_sum4(float x)
{
	x = x + __shfl_xor_sync(~0u, x, 1);
	return x + __shfl_xor_sync(~0u, x, 2);
}

/* Prefetch the cache line of p into L2. */
GPU_FN void attn_prefetch(const void *p)
{
#ifdef __CUDACC__
	asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
	(void)*(const volatile unsigned char *)p;
#endif
}

/* ---- merging of splits ---- */

struct attn_state {
	float m, l;
};
struct attn_mix { /* o' = fma(o of the split, b, o a), by attn_join */
	float a, b;
};
/* Merge m and l of a split into *to.  Returns the factors for merging o. */
GPU_FN attn_mix attn_join(attn_state *to, float m, float l)
{
	float most = fmaxf(to->m, m);
	attn_mix x = { attn_shrink(to->m, most), attn_shrink(m, most) };

	to->l = fmaf(l, x.b, to->l * x.a);
	to->m = most;
	return x;
}
/* Return the index of a partial result.  The arrays are o [slot][head][split][dv], then m and l
 * [slot][head][split][2]. */
GPU_FN size_t attn_part(const struct gpu_attn *a, int slot, int head, int split)
{
	return ((size_t)slot * (size_t)a->heads + (size_t)head) * (size_t)a->max_splits +
	       (size_t)split;
}
GPU_FN float *attn_part_o(const struct attn_args *g, size_t part)
{
	return g->a.part + part * (size_t)g->a.dv;
}
GPU_FN float *attn_part_ml(const struct attn_args *g, size_t part)
{
	size_t parts = (size_t)g->slots * (size_t)g->a.heads * (size_t)g->a.max_splits;

	return g->a.part + parts * (size_t)g->a.dv + 2 * part;
}
#endif
