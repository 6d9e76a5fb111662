/* backend/cuda/attn.cu - attention: choose a kernel, and merge partial results.
 *
 *   runs long enough to fill tiles of attn_mm           attn_mm     loops over splits
 *   otherwise, if attn_tile supports types and sizes    attn_tile   loops over splits; if blocks are
 *                                                                   few, several share the splits
 *   otherwise                                           attn_plain  as attn_tile
 * Blocks that share the splits of a tile write (m, l, o) of each row and split, and attn_joined
 * merges these by the formula of attn.cuh.  attn_mm and attn_tile give the same bits.  A step with
 * long and short runs has two launches, one for each kind of run.
 *
 * Limits: dv <= 512; K and V are both stored (V as a slice of K is not supported). */
#include "backend/cuda/attn.cuh"

enum {
	BLOCKS = 512, /* blocks that fill a GPU; with fewer, splits are shared */
	THREADS = 128,
	MM_ROWS =
		48, /* attn_mm is faster from this (query heads of a KV head) * (rows of a run) on */
	ANY = 1 << 30,
	MOST_BYTES = 128 << 20, /* most bytes of partial results */
};

/* Merge the partial results of one head of a token; thread i has dimensions i, i + THREADS, ...
 * Block (x, y) computes head x of row y; with scan, of token y % tokens of tile y / tokens. */
__global__ void __launch_bounds__(THREADS) attn_joined(const __grid_constant__ attn_args g)
{
	const struct gpu_attn *a = &g.a;
	int tokens = g.scan ? g.tokens : 1, token = (int)blockIdx.y % tokens,
	    head = (int)blockIdx.x;
	const struct gpu_run *run;
	attn_span see;
	attn_tile t;

	gpu_next();
	gpu_touch(g, (int)sizeof g);
	bool there = attn_find_tile(&g, &t, &run, (int)blockIdx.y / tokens);
	gpu_wait();
	if (!there || token >= t.rows)
		return;
	see = attn_see(a, run, t.pos + token);
	for (int d = (int)threadIdx.x; d < a->dv; d += THREADS) {
		size_t part = attn_part(a, t.slot + token, head, 0);
		attn_state all = { ATTN_NONE, 0 };
		float y = 0;

#pragma unroll 4
		for (int s = attn_first_split(see); s < attn_end_split(see); s++) {
			const float *ml = attn_part_ml(&g, part + (size_t)s);
			attn_mix x = attn_join(&all, ml[0], ml[1]);

			y = fmaf(attn_part_o(&g, part + (size_t)s)[d], x.b, y * x.a);
		}
		part = (size_t)(t.row + token) * (size_t)a->heads + (size_t)head;
		a->y[part * (size_t)a->dv + (size_t)d] = y * (1.0f / all.l);
	}
}

static size_t part_bytes(int heads, int dv, int64_t rows, int64_t splits)
{
	return (size_t)heads * ((size_t)dv + 2) * (size_t)rows * (size_t)splits * sizeof(float);
}
/* With more rows than `most` the blocks fill the device and do not share splits. */
size_t gpu_attn_bytes(int heads, int dv, int64_t rows, int64_t splits)
{
	int64_t most = BLOCKS / 2 * ATTN_M / heads + 1,
		fit = (int64_t)(MOST_BYTES / part_bytes(heads, dv, 1, splits));

	most = most < fit ? most : fit;
	return part_bytes(heads, dv, rows < most ? rows : most ? most : 1, splits);
}
size_t gpu_kv_bytes(int type, int dim)
{
	size_t units = (size_t)(dim + KV_DIMS - 1) / KV_DIMS;

	if (kv_has_d(type) && dim % KV_DIMS)
		return 0;
	return units * (kv_unit_bytes(type) + (kv_has_d(type) ? KV_D_BYTES : 0));
}

/* Return the number of blocks that share the splits of a tile; blocks: tiles of the launch. */
static int count_parts(const struct attn_args *g, int64_t blocks)
{
	int64_t parts = BLOCKS / (blocks ? blocks : 1);

	if (parts > g->a.max_splits)
		parts = g->a.max_splits;
	if (parts < 2 ||
	    g->a.part_bytes < part_bytes(g->a.heads, g->a.dv, g->slots, g->a.max_splits))
		return 1;
	return (int)parts;
}
static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* Divide the heads and tokens of runs of least ... most rows into tiles of `rows` rows. */
static void cut_tiles(struct attn_args *g, int rows, int least, int most)
{
	int64_t per_run;

	g->head_tiles = (g->group + rows - 1) / rows;
	g->tokens = g->group < rows ? rows / g->group : 1;
	g->run_least = least;
	g->run_most = most;
	g->scan = least > 1 || most < g->a.max_run_rows;
	g->tiles = g->slots = g->a.max_rows;
	if (!g->scan)
		return;
	/* the last tile of a run may not be full */
	per_run = ((int64_t)at_most(most, g->a.max_run_rows) + g->tokens - 1) / g->tokens;
	g->tiles = (int32_t)at_most(g->a.max_runs * per_run,
	                            ((int64_t)g->a.max_rows + g->tokens - 1) / g->tokens +
	                                    g->a.max_runs);
	g->tiles = (int32_t)at_most(g->tiles, g->a.max_rows);
	g->slots = g->tiles * g->tokens;
}
static int run_plain(struct attn_args *g, cudaStream_t s)
{
	if (!attn_plain_supports(&g->a))
		return cudaErrorInvalidValue;
	g->tokens = 1;
	g->parts = count_parts(g, (int64_t)g->a.max_rows * g->a.heads);
	return attn_plain_run(g, s);
}
static int run_tiles(struct attn_args *g, cudaStream_t s)
{
	int64_t tiles = g->scan ? g->tiles : ((int64_t)g->a.max_rows + g->tokens - 1) / g->tokens;

	if (!g->scan && tiles < g->a.max_runs)
		tiles = g->a.max_runs;
	g->parts = count_parts(g, tiles * g->a.kv_heads * g->head_tiles);
	return attn_tile_run(g, s);
}
/* Launch a kernel whose blocks may share splits, then attn_joined. */
static int run_shared(struct attn_args *g, cudaStream_t s)
{
	int rc = attn_tile_supports(&g->a) ? run_tiles(g, s) : run_plain(g, s);

	if (rc || g->parts == 1)
		return rc;
	g->tokens = g->scan ? g->tokens : 1;
	return LAUNCH(attn_joined, dim3((unsigned)g->a.heads, (unsigned)g->slots), dim3(THREADS), 0,
	              s, *g);
}

int gpu_attn(const struct gpu_attn *a, cudaStream_t s)
{
	struct attn_args g = {};
	int least, rows, rc;

	g.a = *a;
	g.group = a->heads / a->kv_heads;
	g.parts = 1;
	if (a->max_rows < 1)
		return cudaSuccess;
	least = MM_ROWS / g.group > 2 ? MM_ROWS / g.group : 2;
	rows = a->max_run_rows >= least ? attn_mm_rows(a) : 0;
	if (rows) {
		cut_tiles(&g, rows, least, ANY);
		rc = attn_mm_run(&g, s);
		if (rc)
			return rc;
	}
	cut_tiles(&g, ATTN_M, 1, rows ? least - 1 : ANY);
	return run_shared(&g, s);
}
