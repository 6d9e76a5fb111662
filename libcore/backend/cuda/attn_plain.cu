/* backend/cuda/attn_plain.cu - attention for all types of K and V by fma, one warp for each row.
 *
 * Scores: each lane has one position of the page; q . k by fma from +0, dimensions ascending.  The
 * weights of a page are summed in a tree (lanes i and i + 16, then 8, 4, 2, 1).  Values: lane i has
 * dimensions i, i + 32, ...; o = fma(w, v, o), positions ascending.  Everything else as in
 * attn.cuh.
 *
 * Limits: dv <= 512.  Each row reads K and V again, so many rows are slow. */
#include "backend/cuda/attn.cuh"

enum {
	WARPS = 4,
	THREADS = WARPS * KV_WARP,
	DIMS = 16, /* dimensions of a lane: dv <= 512 */
};

/* A row and its state.  o differs by lane; the other members are the same in all lanes. */
struct plain_work {
	const unsigned char *k, *v; /* of the head, in the current page */
	const float *q;
	attn_span see;
	attn_state st;
	float o[DIMS];
	int lane, k_units, v_units;
};

GPU_FN float sum_warp(float x)
{
#pragma unroll
	for (int i = KV_WARP / 2; i; i /= 2)
		x = x + __shfl_xor_sync(~0u, x, i);
	return x;
}
GPU_FN float max_warp(float x)
{
#pragma unroll
	for (int i = KV_WARP / 2; i; i /= 2)
		x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
	return x;
}
GPU_FN void find_page(const struct gpu_attn *a, const struct gpu_run *run, plain_work *w, int kv,
                      int pos)
{
	const struct gpu_layer *l = &a->rows.layers[a->layer];
	uint32_t page = gpu_kv_page(&a->rows, run, l->group, pos);
	const unsigned char *at =
		l->base + (page == (uint32_t)KV_RELEASED ? 0 : page * l->page_bytes);

	w->k = at + (size_t)kv * l->k_head;
	w->v = at + l->v_at + (size_t)kv * l->v_head;
}
GPU_FN float dot_qk(const struct gpu_attn *a, const plain_work *w)
{
	float s = 0;

	for (int d = 0; d < a->dk; d++)
		s = fmaf(w->q[d], kv_read(w->k, a->k_type, 0, w->lane, d, w->k_units), s);
	return s;
}
/* Add the page that begins at position `from` to the state. */
GPU_FN void add_page(const struct gpu_attn *a, plain_work *w, int from)
{
	int pos = from + w->lane, in = pos >= w->see.lo && pos < w->see.end;
	float s = in ? attn_cap(dot_qk(a, w) * a->scale, a->cap) : ATTN_NONE,
	      most = fmaxf(w->st.m, max_warp(s)), shrink = attn_shrink(w->st.m, most),
	      weight = attn_weight(s, most);

	w->st.m = most;
	w->st.l = fmaf(w->st.l, shrink, sum_warp(weight));
#pragma unroll
	for (int i = 0; i < DIMS; i++)
		w->o[i] = w->o[i] * shrink;
	for (int j = 0; j < GPU_PAGE; j++) {
		float x = __shfl_sync(~0u, weight, j);

		if (x == 0)
			continue;
#pragma unroll
		for (int i = 0; i < DIMS; i++)
			if (i < w->v_units)
				w->o[i] = fmaf(x,
				               kv_read(w->v, a->v_type, 1, j, i * KV_DIMS + w->lane,
				                       w->v_units),
				               w->o[i]);
	}
}
GPU_FN void do_split(const struct gpu_attn *a, const struct gpu_run *run, plain_work *w, int head,
                     int split)
{
	int first = split * GPU_SPLIT, end = first + GPU_SPLIT;

	w->st.m = ATTN_NONE;
	w->st.l = 0;
	if (a->sinks && attn_first_split(w->see) == split) {
		w->st.m = a->sinks[head];
		w->st.l = 1;
	}
#pragma unroll
	for (int i = 0; i < DIMS; i++)
		w->o[i] = 0;
	end = end < w->see.end ? end : w->see.end;
	for (int p = (first > w->see.lo ? first : w->see.lo) / GPU_PAGE * GPU_PAGE; p < end;
	     p += GPU_PAGE) {
		find_page(a, run, w, head / (a->heads / a->kv_heads), p);
		add_page(a, w, p);
	}
}
GPU_FN void store_dims(const plain_work *w, float *to, int dv, const float o[DIMS])
{
#pragma unroll
	for (int i = 0; i < DIMS; i++)
		if (i * KV_DIMS + w->lane < dv)
			to[i * KV_DIMS + w->lane] = o[i];
}
GPU_FN void store_part(const struct attn_args *g, const plain_work *w, size_t part)
{
	store_dims(w, attn_part_o(g, part), g->a.dv, w->o);
	if (w->lane == 0) {
		attn_part_ml(g, part)[0] = w->st.m;
		attn_part_ml(g, part)[1] = w->st.l;
	}
}

__global__ void __launch_bounds__(THREADS, 4) attn_rows(const __grid_constant__ attn_args g)
{
	const struct gpu_attn *a = &g.a;
	const struct gpu_run *run;
	int row = (int)blockIdx.y, head = (int)(blockIdx.x * WARPS + threadIdx.x / KV_WARP);
	attn_state all = { ATTN_NONE, 0 };
	float sums[DIMS] = {};
	plain_work w;

	gpu_next();
	gpu_wait();
	if (row >= a->rows.step->n || head >= a->heads)
		return;
	run = &a->rows.runs[a->rows.run[row]];
	w.q = a->q + ((size_t)row * (size_t)a->heads + (size_t)head) * (size_t)a->dk;
	w.see = attn_see(a, run, run->pos + row - run->row);
	w.lane = (int)(threadIdx.x % KV_WARP);
	w.k_units = (a->dk + KV_DIMS - 1) / KV_DIMS;
	w.v_units = (a->dv + KV_DIMS - 1) / KV_DIMS;
	for (int s = attn_first_split(w.see) + (int)blockIdx.z; s < attn_end_split(w.see);
	     s += g.parts) {
		attn_mix x;

		do_split(a, run, &w, head, s);
		if (g.parts > 1) {
			store_part(&g, &w, attn_part(a, row, head, s));
			continue;
		}
		x = attn_join(&all, w.st.m, w.st.l);
#pragma unroll
		for (int i = 0; i < DIMS; i++)
			sums[i] = fmaf(w.o[i], x.b, sums[i] * x.a);
	}
	if (g.parts > 1)
		return;
	all.l = 1.0f / all.l;
#pragma unroll
	for (int i = 0; i < DIMS; i++)
		sums[i] = sums[i] * all.l;
	store_dims(&w, a->y + ((size_t)row * (size_t)a->heads + (size_t)head) * (size_t)a->dv,
	           a->dv, sums);
}

int attn_plain_supports(const struct gpu_attn *a) { return a->dv <= DIMS * KV_DIMS; }
int attn_plain_run(const struct attn_args *g, cudaStream_t s)
{
	dim3 grid((unsigned)((g->a.heads + WARPS - 1) / WARPS), (unsigned)g->a.max_rows,
	          (unsigned)g->parts);

	return LAUNCH(attn_rows, grid, dim3(THREADS), 0, s, *g);
}
