/* backend/cuda/top.cu - the k largest logits of each row, ties to the lower id, and lse = ln sum
 * exp of the row.
 *
 *   logits [n] | piece 0 | piece 1 | ...      TOP_PIECE each
 *   top_piece  grid (rows, pieces).  Results of a piece: m = max x, l = sum of exp(x - m), ids and
 *              values of the k largest, descending
 *   top_join   grid (rows).  Merges the pieces; M = max m, lse = M + ln(sum of l exp(m - M)), where
 *              lane i adds pieces i, i + 32, ...
 *
 * Thread i of a piece holds elements i, i + TOP_THREADS, ... in registers.  The block finds the
 * largest element k times; after each, only the thread that held it searches for its next largest.
 * NaN is below -inf, and a row with a NaN has the lse NaN.  The sum l is computed as in chain_row.cuh.
 *
 * Limits: k <= GPU_TOP.  If k > n, lists are padded with id -1 and value -inf. */
#include "backend/cuda/chain_row.cuh"
#include "backend/cuda/math.cuh"

enum {
	TOP_THREADS = GPU_ROW_THREADS,
	TOP_WARPS = TOP_THREADS / 32,
	TOP_EACH = 16, /* elements of a piece in one thread */
	TOP_PIECE = TOP_THREADS * TOP_EACH,
	TOP_NONE = 0x7fffffff,
	TOP_NAN = 0x7fc00000, /* bits of NaN */
};
static constexpr uint32_t TOP_MINUS_INF = 0xff800000; /* bits of -inf */

struct top_best {
	float value;
	int id; /* TOP_NONE: no element */
};

GPU_FN struct top_best top_none(void)
{
	struct top_best b = { gpu_float(TOP_NAN), TOP_NONE };

	return b;
}

/* True if a ranks above b: by value, numbers above NaN, ties by the lower id. */
GPU_FN bool top_before(struct top_best a, struct top_best b)
{
	if (a.value > b.value)
		return true;
	if (a.value == b.value || (a.value != a.value && b.value != b.value))
		return a.id < b.id;
	return b.value != b.value;
}

GPU_FN struct top_best top_warp(struct top_best b)
{
	for (int i = 16; i; i /= 2) {
		struct top_best o = { __shfl_xor_sync(~0u, b.value, i),
			              __shfl_xor_sync(~0u, b.id, i) };

		b = top_before(o, b) ? o : b;
	}
	return b;
}

/* Return the best of all threads of a block.  room [2][TOP_WARPS]: shared memory; turn 0 or 1: the
 * half to use, alternating. */
GPU_FN struct top_best top_block(struct top_best b, struct top_best *room, int turn)
{
	struct top_best *s = room + turn % 2 * TOP_WARPS;

	b = top_warp(b);
	if (threadIdx.x % 32 == 0)
		s[threadIdx.x / 32] = b;
	__syncthreads();
	b = s[0];
	for (int i = 1; i < TOP_WARPS; i++)
		b = top_before(s[i], b) ? s[i] : b;
	return b;
}

/* Partial results of a row: m [pieces], l [pieces], ids [pieces][k], values [pieces][k] */
struct top_part {
	float *m, *l, *values;
	int *ids;
};
GPU_FN struct top_part top_part_of(const struct gpu_top *t, int row, int pieces)
{
	struct top_part p;

	p.m = t->part + (size_t)row * (size_t)pieces * (size_t)(2 + 2 * t->k);
	p.l = p.m + pieces;
	p.values = p.l + pieces;
	p.ids = (int *)(p.values + (size_t)pieces * (size_t)t->k);
	return p;
}

/* Return the best of a thread's elements that rank below `last`. */
GPU_FN struct top_best top_next(const float x[TOP_EACH], int first, int n, struct top_best last)
{
	struct top_best best = top_none();

	for (int j = 0; j < TOP_EACH; j++) {
		struct top_best b = { x[j], first + j * TOP_THREADS };

		if (b.id < n && (last.id == TOP_NONE || top_before(last, b)) && top_before(b, best))
			best = b;
	}
	return best;
}

/* Return l of a piece with maximum m; NaN if an element is NaN or m is inf. */
GPU_FN float top_sum(struct chain_row *r, const float x[TOP_EACH], int first, int n, float m)
{
	float s = 0;

	for (int j = 0; j < TOP_EACH; j++)
		if (first + j * TOP_THREADS < n)
			s += x[j] == gpu_float(TOP_MINUS_INF) ? 0.0f : gpu_exp(x[j] - m);
	return chain_total(r, r->sums, s);
}

__global__ void __launch_bounds__(TOP_THREADS, 4)
	top_piece(const __grid_constant__ struct gpu_top t)
{
	SHARED(float, sums, [2 * GPU_ROW_THREADS]);
	SHARED(struct top_best, room, [2 * TOP_WARPS]);
	struct chain_row r = { 0, 0, 0, 0, 0, sums, NULL };
	int piece = (int)blockIdx.y, first = piece * TOP_PIECE + (int)threadIdx.x,
	    row = (int)blockIdx.x;
	struct top_part p = top_part_of(&t, row, (int)gridDim.y);
	struct top_best own, best = top_none();
	float x[TOP_EACH], m = 0, l;

	gpu_next();
	gpu_wait();
	if (row >= *t.rows)
		return;
	for (int j = 0; j < TOP_EACH; j++)
		x[j] = first + j * TOP_THREADS < t.n ? t.logits[(size_t)row * (size_t)t.n +
		                                                (size_t)(first + j * TOP_THREADS)]
		                                     : 0;
	own = top_next(x, first, t.n, best);
	for (int i = 0; i < t.k || i == 0; i++) {
		best = top_block(own, room, i);
		m = i ? m : best.value;
		if (i < t.k && threadIdx.x == 0) {
			p.ids[piece * t.k + i] = best.id;
			p.values[piece * t.k + i] = best.value;
		}
		if (own.id == best.id)
			own = top_next(x, first, t.n, best);
	}
	l = top_sum(&r, x, first, t.n, m);
	if (threadIdx.x == 0) {
		p.m[piece] = m;
		p.l[piece] = l;
	}
}

/* Return the lse of a row.  One warp calls it.  A piece of NaN only has m and l NaN. */
GPU_FN float top_lse(struct top_part p, int pieces)
{
	float most = gpu_float(TOP_MINUS_INF), sum = 0;

	for (int i = (int)threadIdx.x; i < pieces; i += 32)
		most = p.m[i] > most ? p.m[i] : most;
	for (int i = 16; i; i /= 2) {
		float o = __shfl_xor_sync(~0u, most, i);

		most = o > most ? o : most;
	}
	for (int i = (int)threadIdx.x; i < pieces; i += 32)
		sum += p.m[i] == gpu_float(TOP_MINUS_INF) ? p.l[i]
		                                          : p.l[i] * gpu_exp(p.m[i] - most);
	for (int i = 16; i; i /= 2)
		sum += __shfl_xor_sync(~0u, sum, i);
	return most == gpu_float(TOP_MINUS_INF) ? most + sum : most + gpu_log(sum);
}

/* Return the best of the next entries of the lane's lists, and set *list to its piece.  Lane i has
 * the lists of pieces i, i + 32, ...  at[piece], in shared memory: entries of a list already
 * merged. */
GPU_FN struct top_best top_head(struct top_part p, const int *at, int pieces, int k, int *list)
{
	struct top_best best = top_none();

	for (int j = (int)threadIdx.x; j < pieces; j += 32) {
		struct top_best b = top_none();

		if (at[j] < k) {
			b.value = p.values[j * k + at[j]];
			b.id = p.ids[j * k + at[j]];
		}
		if (top_before(b, best))
			best = b, *list = j;
	}
	return best;
}

/* Merge the descending lists of all pieces.  One warp calls it. */
GPU_FN void top_merge(const struct gpu_top *t, struct top_part p, int *at, int row, int pieces)
{
	struct top_best own, best;
	int list = 0;

	for (int j = (int)threadIdx.x; j < pieces; j += 32)
		at[j] = 0;
	own = top_head(p, at, pieces, t->k, &list);
	for (int i = 0; i < t->k; i++) {
		size_t to = (size_t)row * (size_t)t->k + (size_t)i;

		best = top_warp(own);
		if (threadIdx.x == 0) {
			t->ids[to] = best.id == TOP_NONE ? -1 : best.id;
			t->values[to] = best.id == TOP_NONE ? gpu_float(TOP_MINUS_INF) : best.value;
		}
		if (own.id == best.id && own.id != TOP_NONE) {
			at[list]++;
			own = top_head(p, at, pieces, t->k, &list);
		}
	}
}

__global__ void __launch_bounds__(32, 1)
	top_join(const __grid_constant__ struct gpu_top t, int pieces)
{
	DYNAMIC(int, at);
	int row = (int)blockIdx.x;
	struct top_part p = top_part_of(&t, row, pieces);
	float lse;

	gpu_next();
	gpu_wait();
	if (row >= *t.rows)
		return;
	top_merge(&t, p, at, row, pieces);
	lse = top_lse(p, pieces);
	if (threadIdx.x == 0)
		t.lse[row] = lse;
}

static int top_pieces(int n) { return (n + TOP_PIECE - 1) / TOP_PIECE; }

size_t gpu_top_bytes(int n, int k, int64_t rows)
{
	return (size_t)rows * (size_t)top_pieces(n) * (size_t)(2 + 2 * k) * sizeof(float);
}

int gpu_top(const struct gpu_top *t, cudaStream_t s)
{
	int pieces = top_pieces(t->n), rc;

	if (t->n < 1 || t->k < 0 || t->k > GPU_TOP ||
	    t->part_bytes < gpu_top_bytes(t->n, t->k, t->max_rows))
		return cudaErrorInvalidValue;
	if (t->max_rows < 1)
		return cudaSuccess;
	rc = LAUNCH(top_piece, dim3((unsigned)t->max_rows, (unsigned)pieces), TOP_THREADS, 0, s,
	            *t);
	if (rc)
		return rc;
	return LAUNCH(top_join, (unsigned)t->max_rows, 32, (size_t)pieces * sizeof(int), s, *t,
	              pieces);
}
