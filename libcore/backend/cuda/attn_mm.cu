/* backend/cuda/attn_mm.cu - attention for many rows of a run (prefill).  Each warp of a block has
 * 16 rows: query heads of one KV head, of neighbouring tokens.  The block loops over the pages that
 * its rows attend to.
 *
 *   shared memory   q [warp][unit][128] 16 bytes, as A fragments
 *                   2 stages: K and V of a page as in the cache, copied by cp.async
 *
 * The next page is copied while one is computed.  Each warp keeps scores, weights, the sums of the
 * split and the sums of all previous splits in registers, and merges the sums at the end of a
 * split.  A warp skips pages outside the spans of its rows, which changes no bits (a = 1, w = 0).
 * Tiles with the longest context start first.
 *
 * Limits: dk, dv <= 128, and shared memory: F16 with dk = dv = 128 needs 98 KiB, more than sm_75
 * has. */
#include "backend/cuda/attn.cuh"

enum {
	WARPS = 8,
	THREADS = WARPS * KV_WARP,
	STAGES = 2,
	MOST_UNITS = 4, /* units of K and of V: dk, dv <= 128 */
};

struct mm_rows {
	attn_span see;
	float factor;
};
/* State of a thread. */
struct mm_work {
	attn_tile t;
	attn_span span, own; /* positions that rows attend to: of the block; of this warp */
	const struct gpu_run *run;
	const struct gpu_layer *layer;
	int warp, lane, group;
	int k_units, v_units;
	uint32_t k_bytes, v_bytes; /* bytes of K and of V in a page */
	const mm_rows *rows;       /* [16] rows of this warp */
	const uint4 *q;            /* q of this warp, as fragments */
	unsigned char *stages;
};
/* The sums of a lane's rows g and g + 8. */
template <int NB> struct mm_sums {
	attn_state st[2];
	float o[NB][4][4];
};

/* ---- the tile ---- */

/* Store q, span and scale factor of this warp's rows. */
GPU_FN void stage_rows(const struct attn_args *g, const mm_work *w, uint16_t *q, mm_rows *rows)
{
	const attn_tile *t = &w->t;

	for (int m = 0; m < ATTN_M; m += ATTN_STAGED) {
		const float *x[ATTN_STAGED];
		float factor[ATTN_STAGED];

#pragma unroll
		for (int i = 0; i < ATTN_STAGED; i++) {
			int at = w->warp * ATTN_M + m + i;
			x[i] = attn_find_q(&g->a, *t, at);
			if (w->lane == 0)
				rows[m + i].see =
					x[i] ? attn_see(&g->a, w->run, t->pos + at / t->heads)
					     : attn_span{ 0, 0 };
		}
		attn_stage_q(q, m, x, factor, g->a.dk, g->a.scale);
#pragma unroll
		for (int i = 0; i < ATTN_STAGED; i++)
			if (w->lane == 0)
				rows[m + i].factor = factor[i];
	}
}
/* Return the span that covers all rows of this warp. */
GPU_FN attn_span find_own(const mm_work *w)
{
	int n = w->t.rows * w->t.heads - w->warp * ATTN_M, last = n < ATTN_M ? n - 1 : ATTN_M - 1;

	if (last < 0)
		return attn_span{ 0, 0 };
	return attn_span{ w->rows[0].see.lo, w->rows[last].see.end };
}

/* ---- pages ---- */

/* Start to copy K and V of page number p of the run to stage p % STAGES.  All threads call it. */
GPU_FN void copy_page(const struct attn_args *g, const mm_work *w, int p)
{
	uint32_t page = gpu_kv_page(&g->a.rows, w->run, w->layer->group, p * GPU_PAGE);
	const unsigned char *at = w->layer->base +
	                          (page == (uint32_t)KV_RELEASED ? 0 : page * w->layer->page_bytes),
			    *k = at + (size_t)w->t.kv * w->layer->k_head,
			    *v = at + w->layer->v_at + (size_t)w->t.kv * w->layer->v_head;
	unsigned char *to = w->stages + (uint32_t)(p % STAGES) * (w->k_bytes + w->v_bytes);
	uint32_t piece = sizeof(uint4);

	for (uint32_t i = threadIdx.x * piece; i < w->k_bytes; i += THREADS * piece)
		copy_async16(to + i, k + i, (int)piece);
	for (uint32_t i = threadIdx.x * piece; i < w->v_bytes; i += THREADS * piece)
		copy_async16(to + w->k_bytes + i, v + i, (int)piece);
}

/* ---- one page ---- */

/* o += w V over the page at v */
template <int TYPE, int NB>
GPU_FN void add_values(const mm_work *w, float o[NB][4][4], float s[2][ATTN_OWN],
                       const unsigned char *v, int from)
{
	uint32_t a[ATTN_TERMS][ATTN_STEPS][4];

	if (!kv_has_d(TYPE))
		attn_cut_weights(a, s);
#pragma unroll
	for (int b = 0; b < NB; b++) {
		attn_raw<TYPE> raw;

		if (b >= w->v_units)
			break;
		raw = attn_load<TYPE, attn_local>(v + (uint32_t)b * kv_unit_bytes(TYPE), w->lane);
		attn_clear_edge<TYPE>(&raw, from, w->lane, w->span);
		if (kv_has_d(TYPE))
			attn_add_scaled<TYPE, attn_local>(
				o[b], s, raw,
				v + (uint32_t)w->v_units * kv_unit_bytes(TYPE) + b * KV_D_BYTES,
				w->lane);
		else
			attn_multiply_v<TYPE>(o[b], a, raw);
	}
}
/* Replace the dot products of a page by weights, and rescale m, l and o to the new maximum. */
template <int TYPE, int NB>
GPU_FN void weigh_page(const struct attn_args *g, const mm_work *w, mm_sums<NB> *sums,
                       float s[2][ATTN_OWN], int from)
{
	float a[2];

#pragma unroll
	for (int r = 0; r < 2; r++) {
		const mm_rows *row = &w->rows[w->lane / 4 + 8 * r];
		float most = attn_score(s[r], from + w->lane % 4 * ATTN_OWN, row->see, row->factor,
		                        g->a.cap);

		most = fmaxf(sums->st[r].m, most);
		a[r] = attn_shrink(sums->st[r].m, most);
		sums->st[r].m = most;
		sums->st[r].l = fmaf(sums->st[r].l, a[r], attn_weigh(s[r], most));
	}
	attn_shrink_sums<NB>(sums->o, a);
}
template <int TYPE, int NB>
GPU_FN void add_page(const struct attn_args *g, const mm_work *w, mm_sums<NB> *sums, int p)
{
	const unsigned char *k = w->stages + (uint32_t)(p % STAGES) * (w->k_bytes + w->v_bytes);
	float s[2][ATTN_OWN];

	attn_dot<TYPE, attn_local>(s, w->q, k, w->k_units, w->lane);
	weigh_page<TYPE, NB>(g, w, sums, s, p * GPU_PAGE);
	add_values<TYPE, NB>(w, sums->o, s, k + w->k_bytes, p * GPU_PAGE);
}

/* ---- splits ---- */

template <int NB>
GPU_FN void begin_split(const struct attn_args *g, const mm_work *w, mm_sums<NB> *sums, int split)
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->lane / 4 + 8 * r;
		attn_span see = w->rows[m].see;
		int first = g->a.sinks && see.end && attn_first_split(see) == split;

		sums->st[r].m = first ? g->a.sinks[w->t.head + (w->warp * ATTN_M + m) % w->t.heads]
		                      : ATTN_NONE;
		sums->st[r].l = first ? 1.0f : 0.0f;
	}
#pragma unroll
	for (int i = 0; i < NB * 16; i++)
		sums->o[i / 16][i / 4 % 4][i % 4] = 0;
}
template <int TYPE, int NB>
GPU_FN void end_split(const mm_work *w, mm_sums<NB> *all, mm_sums<NB> *sums, int split)
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		attn_span see = w->rows[w->lane / 4 + 8 * r].see;
		attn_mix x;

		if (!see.end || split < attn_first_split(see) || split >= attn_end_split(see))
			continue;
		x = attn_join(&all->st[r], sums->st[r].m, sums->st[r].l);
#pragma unroll
		for (int i = 0; i < NB * 8; i++) {
			float o = sums->o[i / 8][i / 2 % 4][2 * r + i % 2],
			      *to = &all->o[i / 8][i / 2 % 4][2 * r + i % 2];
			*to = fmaf(kv_has_d(TYPE) ? o : o * ATTN_UNONE, x.b, *to * x.a);
		}
	}
}
template <int NB>
GPU_FN void store_result(const struct attn_args *g, const mm_work *w, const mm_sums<NB> *all)
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		int m = w->warp * ATTN_M + w->lane / 4 + 8 * r;
		float *y, by = 1.0f / all->st[r].l;

		if (m >= w->t.rows * w->t.heads)
			continue;
		y = g->a.y + attn_row(&g->a, w->t, m) * (size_t)g->a.dv;
#pragma unroll
		for (int i = 0; i < NB * 8; i++) {
			int d = i / 8 * KV_DIMS + i / 2 % 4 * 8 + w->lane % 4 * 2 + i % 2;

			if (d < g->a.dv)
				y[d] = all->o[i / 8][i / 2 % 4][2 * r + i % 2] * by;
		}
	}
}

/* Compute all pages in the span of the block. */
template <int TYPE, int NB> GPU_FN void walk_pages(const struct attn_args *g, const mm_work *w)
{
	int p0 = w->span.lo / GPU_PAGE, p1 = (w->span.end - 1) / GPU_PAGE + 1;
	mm_sums<NB> sums, all;

	begin_split<NB>(g, w, &all, -1);
	copy_page(g, w, p0);
	copy_commit();
	for (int p = p0; p < p1; p++) {
		copy_wait<0>();
		__syncthreads();
		if (p + 1 < p1)
			copy_page(g, w, p + 1);
		copy_commit();
		if (p == p0 || p % ATTN_PAGES == 0)
			begin_split<NB>(g, w, &sums, p / ATTN_PAGES);
		if (p * GPU_PAGE < w->own.end && (p + 1) * GPU_PAGE > w->own.lo)
			add_page<TYPE, NB>(g, w, &sums, p);
		if (p == p1 - 1 || p % ATTN_PAGES == ATTN_PAGES - 1)
			end_split<TYPE, NB>(w, &all, &sums, p / ATTN_PAGES);
	}
	copy_wait<0>();
	store_result<NB>(g, w, &all);
}
template <int TYPE, int NB>
__global__ void __launch_bounds__(THREADS, 1) attn_mm(const __grid_constant__ attn_args g)
{
	SHARED(mm_rows, rows, [WARPS * ATTN_M]);
	DYNAMIC(uint4, q);
	mm_work w;
	uint32_t d = kv_has_d(TYPE) ? KV_D_BYTES : 0;

	gpu_next();
	gpu_wait();
	w.warp = (int)(threadIdx.x / KV_WARP);
	w.lane = (int)(threadIdx.x % KV_WARP);
	if (!attn_find_tile(&g, &w.t, &w.run, (int)(gridDim.y - 1 - blockIdx.y)))
		return;
	attn_tile_heads(&w.t, &g, (int)blockIdx.x, WARPS * ATTN_M);
	w.layer = &g.a.rows.layers[g.a.layer];
	w.span = attn_see_tile(&g.a, w.run, w.t);
	w.k_units = (g.a.dk + KV_DIMS - 1) / KV_DIMS;
	w.v_units = (g.a.dv + KV_DIMS - 1) / KV_DIMS;
	w.k_bytes = (uint32_t)w.k_units * (kv_unit_bytes(TYPE) + d);
	w.v_bytes = (uint32_t)w.v_units * (kv_unit_bytes(TYPE) + d);
	w.rows = rows + w.warp * ATTN_M;
	w.q = q + w.warp * w.k_units * ATTN_Q_UNIT;
	w.stages = (unsigned char *)(q + WARPS * w.k_units * ATTN_Q_UNIT);
	stage_rows(&g, &w, (uint16_t *)w.q, rows + w.warp * ATTN_M);
	__syncwarp();
	w.own = find_own(&w);
	walk_pages<TYPE, NB>(&g, &w);
}

/* ---- launch ---- */

static size_t shared_bytes(const struct gpu_attn *a)
{
	size_t units = (size_t)(a->dk + KV_DIMS - 1) / KV_DIMS;

	return WARPS * units * ATTN_Q_UNIT * sizeof(uint4) +
	       STAGES * (gpu_kv_bytes(a->k_type, a->dk) + gpu_kv_bytes(a->v_type, a->dv));
}
int attn_mm_rows(const struct gpu_attn *a)
{
	int device, most = 0;

	if (a->k_type != a->v_type || a->dv > MOST_UNITS * KV_DIMS || a->dk > MOST_UNITS * KV_DIMS)
		return 0;
	if (a->k_type != INFER_F16 &&
	    (a->k_type != INFER_Q8_0 || a->dk % KV_DIMS || a->dv % KV_DIMS))
		return 0;
	if (cudaGetDevice(&device) ||
	    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device))
		return 0;
	return shared_bytes(a) + sizeof(mm_rows) * WARPS * ATTN_M <= (size_t)most ? WARPS * ATTN_M
	                                                                          : 0;
}
template <int TYPE> static int run_type(const struct attn_args *g, cudaStream_t s)
{
	dim3 grid((unsigned)(g->a.kv_heads * g->head_tiles), (unsigned)g->tiles);

	if (g->a.dv > MOST_UNITS / 2 * KV_DIMS)
		return LAUNCH(attn_mm<TYPE, MOST_UNITS>, grid, dim3(THREADS), shared_bytes(&g->a),
		              s, *g);
	return LAUNCH(attn_mm<TYPE, MOST_UNITS / 2>, grid, dim3(THREADS), shared_bytes(&g->a), s,
	              *g);
}
int attn_mm_run(const struct attn_args *g, cudaStream_t s)
{
	return g->a.k_type == INFER_F16 ? run_type<INFER_F16>(g, s) : run_type<INFER_Q8_0>(g, s);
}
