/* backend/cuda/attn_tile.cu - attention for few rows (decode): a block of 4 warps computes 16 rows,
 * split by split.  The rows are query heads of one KV head, of neighbouring tokens of a run.
 *
 *   1. warp w computes scores of pages w and w + 4 of the split, maxima of each row and page
 *   2. warp w computes weights of its pages relative to the maximum so far, as A fragments
 *   3. warp w adds units w, w + 4, ... of the dimensions of V, over all pages
 *
 * The results of 1 and 2 are in shared memory.
 * K and V are read once, straight into registers.  Each split is first prefetched into L2; the
 * first split of a block is prefetched before gpu_wait.  With parts > 1, block z computes splits z,
 * z + parts, ... of the tile and writes partial results; with parts 1 a block merges all splits and
 * writes y. */
#include "backend/cuda/attn.cuh"

enum {
	WARPS = 4,
	THREADS = WARPS * KV_WARP,
	OWN_PAGES = ATTN_PAGES / WARPS,
	W_PAGE = ATTN_TERMS * ATTN_STEPS * KV_WARP, /* uint4 of weights of a page */
	LINE = 128,                                 /* bytes that a prefetch covers */
};

/* True if registers suffice to load a page of V ahead. */
#define AHEAD(NB) ((NB) <= 2)

struct tile_shared {
	uint4 w[ATTN_PAGES]
	       [W_PAGE]; /* F16: A[term][step][lane]; else f32 [row g, g + 8][half][lane][4] */
	const unsigned char *k[ATTN_PAGES], *v[ATTN_PAGES];
	float most[ATTN_PAGES][ATTN_M], sum[ATTN_PAGES][ATTN_M], shrink[ATTN_PAGES][ATTN_M];
	attn_span see[ATTN_M];
	float factor[ATTN_M];
};
/* The merged o of a thread, NB * 16 sums: in registers if they suffice, else in shared memory. */
template <int NB> struct tile_joined {
	float v[NB * 16];
};
template <> struct tile_joined<4> {
	float *v; /* this thread's sums, THREADS floats apart */
};
template <int NB> GPU_FN float &tile_sum(tile_joined<NB> &s, int i) { return s.v[i]; }
GPU_FN float &tile_sum(tile_joined<4> &s, int i) { return s.v[i * THREADS]; }
template <int NB> GPU_FN void clear_sums(tile_joined<NB> *s, float *)
{
#pragma unroll
	for (int i = 0; i < NB * 16; i++)
		s->v[i] = 0;
}
GPU_FN void clear_sums(tile_joined<4> *s, float *shared)
{
	s->v = shared + threadIdx.x;
	for (int i = 0; i < 4 * 16; i++)
		s->v[i * THREADS] = 0;
}
/* State of a thread. */
struct tile_work {
	attn_tile t;
	attn_span span;    /* positions that any row attends to */
	int split, p0, p1; /* pages of the split in the span */
	int warp, lane, k_units, v_units;
	tile_shared *sh;
	const uint4 *q;
};

/* Find the pages of the split; each of the first threads finds one. */
GPU_FN void find_pages(const struct attn_args *g, const struct gpu_run *run, tile_work *w)
{
	const struct gpu_layer *l = &g->a.rows.layers[g->a.layer];
	int from = w->split * GPU_SPLIT, i = (int)threadIdx.x;

	w->p0 = w->span.lo > from ? (w->span.lo - from) / GPU_PAGE : 0;
	w->p1 = w->span.end - from < GPU_SPLIT ? (w->span.end - from + GPU_PAGE - 1) / GPU_PAGE
	                                       : ATTN_PAGES;
	if (i >= w->p0 && i < w->p1) {
		uint32_t page = gpu_kv_page(&g->a.rows, run, l->group, from + i * GPU_PAGE);
		const unsigned char *at =
			l->base + (page == (uint32_t)KV_RELEASED ? 0 : page * l->page_bytes);

		w->sh->k[i] = at + (size_t)w->t.kv * l->k_head;
		w->sh->v[i] = at + l->v_at + (size_t)w->t.kv * l->v_head;
	}
}
template <int TYPE> GPU_FN void prefetch_pages(const tile_work *w)
{
	uint32_t bytes = kv_unit_bytes(TYPE) + (kv_has_d(TYPE) ? KV_D_BYTES : 0);

	for (int p = w->p0; p < w->p1; p++) {
		for (uint32_t i = threadIdx.x * LINE; i < (uint32_t)w->k_units * bytes;
		     i += THREADS * LINE)
			attn_prefetch(w->sh->k[p] + i);
		for (uint32_t i = threadIdx.x * LINE; i < (uint32_t)w->v_units * bytes;
		     i += THREADS * LINE)
			attn_prefetch(w->sh->v[p] + i);
	}
}
/* Store q, span and scale factor of all rows; a warp stores four rows. */
GPU_FN void stage_rows(const struct attn_args *g, const struct gpu_run *run, const tile_work *w,
                       uint16_t *q)
{
	const float *x[ATTN_STAGED];
	float factor[ATTN_STAGED];
	int m = w->warp * ATTN_STAGED;

#pragma unroll
	for (int i = 0; i < ATTN_STAGED; i++)
		x[i] = attn_find_q(&g->a, w->t, m + i);
	attn_stage_q(q, m, x, factor, g->a.dk, g->a.scale);
#pragma unroll
	for (int i = 0; i < ATTN_STAGED; i++)
		if (w->lane == 0) {
			w->sh->factor[m + i] = factor[i];
			w->sh->see[m + i] =
				x[i] ? attn_see(&g->a, run, w->t.pos + (m + i) / w->t.heads)
				     : attn_span{ 0, 0 };
		}
}

/* ---- 1. scores ---- */

template <int TYPE>
GPU_FN void score_page(const struct attn_args *g, const tile_work *w, float s[2][ATTN_OWN], int p)
{
	int pos = w->split * GPU_SPLIT + p * GPU_PAGE + w->lane % 4 * ATTN_OWN;

	attn_dot<TYPE, attn_global>(s, w->q, w->sh->k[p], w->k_units, w->lane);
#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->lane / 4 + 8 * r;
		float most = attn_score(s[r], pos, w->sh->see[m], w->sh->factor[m], g->a.cap);

		if (w->lane % 4 == 0)
			w->sh->most[p][m] = most;
	}
}

/* ---- 2. weights ---- */

/* Return M and L of row m at the start of the split. */
GPU_FN attn_state begin_row(const struct attn_args *g, const tile_work *w, int m)
{
	attn_state st = { ATTN_NONE, 0.0f };

	if (g->a.sinks && w->sh->see[m].end && attn_first_split(w->sh->see[m]) == w->split) {
		st.m = g->a.sinks[w->t.head + m % w->t.heads];
		st.l = 1;
	}
	return st;
}
/* Return the maximum of row m before page p.  most: the maximum before the split. */
GPU_FN float most_before(const tile_work *w, float most, int m, int p)
{
	for (int i = w->p0; i < p; i++)
		most = fmaxf(most, w->sh->most[i][m]);
	return most;
}
template <int TYPE> GPU_FN void store_weights(const tile_work *w, const float s[2][ATTN_OWN], int p)
{
	uint4 *to = w->sh->w[p] + w->lane;

	if (kv_has_d(TYPE)) {
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const float *x = s[i / 2] + i % 2 * 4;
			to[i * KV_WARP] = make_uint4(gpu_bits(x[0]), gpu_bits(x[1]), gpu_bits(x[2]),
			                             gpu_bits(x[3]));
		}
	} else {
		uint32_t a[ATTN_TERMS][ATTN_STEPS][4];

		attn_cut_weights(a, s);
#pragma unroll
		for (int i = 0; i < ATTN_TERMS * ATTN_STEPS; i++)
			to[i * KV_WARP] = make_uint4(a[i / 2][i % 2][0], a[i / 2][i % 2][1],
			                             a[i / 2][i % 2][2], a[i / 2][i % 2][3]);
	}
}
template <int TYPE>
GPU_FN void weigh_page(const struct attn_args *g, const tile_work *w, float s[2][ATTN_OWN], int p)
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->lane / 4 + 8 * r;
		float before = most_before(w, begin_row(g, w, m).m, m, p),
		      now = fmaxf(before, w->sh->most[p][m]), sum = attn_weigh(s[r], now);

		if (w->lane % 4 == 0) {
			w->sh->sum[p][m] = sum;
			w->sh->shrink[p][m] = attn_shrink(before, now);
		}
	}
	store_weights<TYPE>(w, s, p);
}

/* ---- 3. values ---- */

/* o += w V over page p, for one unit of V */
template <int TYPE>
GPU_FN void add_unit(const tile_work *w, float o[4][4], int p, int b, const attn_raw<TYPE> &raw)
{
	const uint4 *from = w->sh->w[p] + w->lane;

	if (kv_has_d(TYPE)) {
		float x[2][ATTN_OWN];

#pragma unroll
		for (int i = 0; i < 2 * ATTN_OWN; i++)
			x[i / ATTN_OWN][i % ATTN_OWN] =
				gpu_float(attn_word(from[i / 4 * KV_WARP], i % 4));
		attn_add_scaled<TYPE, attn_global>(
			o, x, raw,
			w->sh->v[p] + (size_t)w->v_units * kv_unit_bytes(TYPE) + b * KV_D_BYTES,
			w->lane);
	} else {
		uint32_t a[ATTN_TERMS][ATTN_STEPS][4];

#pragma unroll
		for (int i = 0; i < 4 * ATTN_TERMS * ATTN_STEPS; i++)
			a[i / 8][i / 4 % 2][i % 4] = attn_word(from[i / 4 * KV_WARP], i % 4);
		attn_multiply_v<TYPE>(o, a, raw);
	}
}
/* Compute o of the split for this warp's units.  With few units the next page is loaded ahead. */
template <int TYPE, int NB> GPU_FN void add_values(const tile_work *w, float o[NB][4][4])
{
	attn_raw<TYPE> next[NB];
	uint32_t bytes = kv_unit_bytes(TYPE);

#pragma unroll
	for (int i = 0; i < NB * 16; i++)
		o[i / 16][i / 4 % 4][i % 4] = 0;
#pragma unroll
	for (int i = 0; i < NB && AHEAD(NB); i++)
		if (w->warp + i * WARPS < w->v_units)
			next[i] = attn_load<TYPE, attn_global>(
				w->sh->v[w->p0] + (w->warp + i * WARPS) * bytes, w->lane);
	for (int p = w->p0; p < w->p1; p++) {
		int ahead = p + 1 < w->p1 ? p + 1 : p;
		float a[2] = { w->sh->shrink[p][w->lane / 4], w->sh->shrink[p][w->lane / 4 + 8] };

		attn_shrink_sums<NB>(o, a);
#pragma unroll
		for (int i = 0; i < NB; i++) {
			int b = w->warp + i * WARPS;
			attn_raw<TYPE> raw;

			if (b >= w->v_units)
				break;
			raw = AHEAD(NB) ? next[i]
			                : attn_load<TYPE, attn_global>(w->sh->v[p] + b * bytes,
			                                               w->lane);
			if (AHEAD(NB))
				next[i] = attn_load<TYPE, attn_global>(w->sh->v[ahead] + b * bytes,
				                                       w->lane);
			attn_clear_edge<TYPE>(&raw, w->split * GPU_SPLIT + p * GPU_PAGE, w->lane,
			                      w->span);
			add_unit<TYPE>(w, o[i], p, b, raw);
		}
	}
}

/* ---- results ---- */

/* Return (m, l) of the split of row m of the tile. */
GPU_FN attn_state end_row(const struct attn_args *g, const tile_work *w, int m)
{
	attn_state st = begin_row(g, w, m);

	for (int p = w->p0; p < w->p1; p++) {
		st.m = fmaxf(st.m, w->sh->most[p][m]);
		st.l = fmaf(st.l, w->sh->shrink[p][m], w->sh->sum[p][m]);
	}
	return st;
}
/* True if row m of the tile attends to positions of the split. */
GPU_FN int row_attends(const tile_work *w, int m)
{
	attn_span s = w->sh->see[m];

	return s.end && w->split >= attn_first_split(s) && w->split < attn_end_split(s);
}
/* Store o of row g + 8 r, all units, at `to` [dv]. */
template <int NB>
GPU_FN void store_row(const tile_work *w, float *to, int dv, const float o[NB][4][4], int r)
{
#pragma unroll
	for (int i = 0; i < NB * 8; i++) {
		int d = (w->warp + i / 8 * WARPS) * KV_DIMS + i / 2 % 4 * 8 + w->lane % 4 * 2 +
		        i % 2;

		if (d < dv)
			to[d] = o[i / 8][i / 2 % 4][2 * r + i % 2];
	}
}
template <int NB>
GPU_FN void store_part(const struct attn_args *g, const tile_work *w, const float o[NB][4][4])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->lane / 4 + 8 * r;
		attn_state st;
		size_t part;

		if (!row_attends(w, m))
			continue;
		st = end_row(g, w, m);
		part = attn_part(&g->a, w->t.slot + m / w->t.heads, w->t.head + m % w->t.heads,
		                 w->split);
		if (w->warp == 0 && w->lane % 4 == 0) {
			attn_part_ml(g, part)[0] = st.m;
			attn_part_ml(g, part)[1] = st.l;
		}
		store_row<NB>(w, attn_part_o(g, part), g->a.dv, o, r);
	}
}
template <int NB>
GPU_FN void join_split(const struct attn_args *g, const tile_work *w, attn_state all[2],
                       tile_joined<NB> &sums, const float o[NB][4][4])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->lane / 4 + 8 * r;
		attn_state st;
		attn_mix x;

		if (!row_attends(w, m))
			continue;
		st = end_row(g, w, m);
		x = attn_join(&all[r], st.m, st.l);
#pragma unroll
		for (int i = 0; i < NB * 8; i++) {
			float &to = tile_sum(sums, i / 2 * 4 + 2 * r + i % 2);
			to = fmaf(o[i / 8][i / 2 % 4][2 * r + i % 2], x.b, to * x.a);
		}
	}
}
template <int NB>
GPU_FN void store_result(const struct attn_args *g, const tile_work *w, const attn_state all[2],
                         tile_joined<NB> &sums)
{
	float o[NB][4][4];

#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->lane / 4 + 8 * r;
		float by = 1.0f / all[r].l;
		size_t row;

		if (m >= w->t.rows * w->t.heads)
			continue;
		row = attn_row(&g->a, w->t, m);
#pragma unroll
		for (int i = 0; i < NB * 8; i++)
			o[i / 8][i / 2 % 4][2 * r + i % 2] =
				tile_sum(sums, i / 2 * 4 + 2 * r + i % 2) * by;
		store_row<NB>(w, g->a.y + row * (size_t)g->a.dv, g->a.dv, o, r);
	}
}

/* Compute (m, l, o) of one split.  All threads call it. */
template <int TYPE, int NB>
GPU_FN void do_split(const struct attn_args *g, const tile_work *w, float o[NB][4][4])
{
	float s[OWN_PAGES][2][ATTN_OWN];

#pragma unroll
	for (int i = 0; i < OWN_PAGES; i++)
		if (w->p0 + w->warp + i * WARPS < w->p1)
			score_page<TYPE>(g, w, s[i], w->p0 + w->warp + i * WARPS);
	__syncthreads();
#pragma unroll
	for (int i = 0; i < OWN_PAGES; i++)
		if (w->p0 + w->warp + i * WARPS < w->p1)
			weigh_page<TYPE>(g, w, s[i], w->p0 + w->warp + i * WARPS);
	__syncthreads();
	add_values<TYPE, NB>(w, o);
#pragma unroll
	for (int i = 0; i < NB * 16 && !kv_has_d(TYPE); i++)
		o[i / 16][i / 4 % 4][i % 4] *= ATTN_UNONE;
}

template <int TYPE, int NB>
__global__ void __launch_bounds__(THREADS, 2) attn_tiles(const __grid_constant__ attn_args g)
{
	SHARED(tile_shared, shared, [1]);
	DYNAMIC(uint4, q);
	const struct gpu_run *run;
	float o[NB][4][4];
	tile_joined<NB> sums;
	attn_state all[2] = { { ATTN_NONE, 0 }, { ATTN_NONE, 0 } };
	tile_work w;
	int last;

	gpu_next();
	gpu_touch(g, (int)sizeof g);
	bool there = attn_find_tile(&g, &w.t, &run, (int)blockIdx.y);
	attn_tile_heads(&w.t, &g, (int)blockIdx.x, ATTN_M);
	w.warp = (int)(threadIdx.x / KV_WARP);
	w.lane = (int)(threadIdx.x % KV_WARP);
	w.k_units = (g.a.dk + KV_DIMS - 1) / KV_DIMS;
	w.v_units = (g.a.dv + KV_DIMS - 1) / KV_DIMS;
	w.sh = shared;
	w.q = q;
	clear_sums(&sums, (float *)(q + w.k_units * ATTN_Q_UNIT));
	w.span = there ? attn_see_tile(&g.a, run, w.t) : attn_span{ 0, 0 };
	last = there ? attn_end_split(w.span) : 0;
	w.split = attn_first_split(w.span) + (int)blockIdx.z;
	if (w.split < last)
		find_pages(&g, run, &w);
	__syncthreads();
	if (w.split < last)
		prefetch_pages<TYPE>(&w);
	gpu_wait();
	if (w.split >= last)
		return;
	for (int first = 1; w.split < last; w.split += g.parts, first = 0) {
		if (!first) {
			find_pages(&g, run, &w);
			__syncthreads();
			prefetch_pages<TYPE>(&w);
		}
		if (first) {
			stage_rows(&g, run, &w, (uint16_t *)q);
			__syncthreads();
		}
		do_split<TYPE, NB>(&g, &w, o);
		if (g.parts > 1)
			store_part<NB>(&g, &w, o);
		else
			join_split<NB>(&g, &w, all, sums, o);
		__syncthreads();
	}
	if (g.parts == 1)
		store_result<NB>(&g, &w, all, sums);
}

/* ---- launch ---- */

int attn_tile_supports(const struct gpu_attn *a)
{
	return a->k_type == a->v_type && a->dv <= 4 * WARPS * KV_DIMS &&
	       (a->k_type == INFER_F16 || ((a->k_type == INFER_Q8_0 || a->k_type == INFER_Q4_0) &&
	                                   a->dk % KV_DIMS == 0 && a->dv % KV_DIMS == 0));
}
template <int TYPE> static int run_type(const struct attn_args *g, cudaStream_t s)
{
	dim3 grid((unsigned)(g->a.kv_heads * g->head_tiles), (unsigned)g->tiles,
	          (unsigned)g->parts);
	int units = (g->a.dv + KV_DIMS - 1) / KV_DIMS;
	size_t bytes = (size_t)((g->a.dk + KV_DIMS - 1) / KV_DIMS) * ATTN_Q_UNIT * sizeof(uint4);

	if (units <= WARPS)
		return LAUNCH(attn_tiles<TYPE, 1>, grid, dim3(THREADS), bytes, s, *g);
	if (units <= 2 * WARPS)
		return LAUNCH(attn_tiles<TYPE, 2>, grid, dim3(THREADS), bytes, s, *g);
	bytes += (size_t)4 * 16 * THREADS * sizeof(float);
	return LAUNCH(attn_tiles<TYPE, 4>, grid, dim3(THREADS), bytes, s, *g);
}
int attn_tile_run(const struct attn_args *g, cudaStream_t s)
{
	if (g->a.k_type == INFER_F16)
		return run_type<INFER_F16>(g, s);
	if (g->a.k_type == INFER_Q8_0)
		return run_type<INFER_Q8_0>(g, s);
	return run_type<INFER_Q4_0>(g, s);
}
