/* backend/cuda/mm_tmpl.cu (private) - products with many rows of x, for one type of weights
 * (-DQ=q8_0, ...: q_<Q>.cuh): y[c][r] = sum over k of W[r][k] x[c][k].
 *
 * A block computes 128 weight rows by COLS columns (rows of x), a warp FRAGS_A fragments of A by
 * FRAGS_B of B.  Stages of SPAN slices of k (tile.cuh) pass through a ring in shared memory, filled
 * by cp.async up to `ring` - 1 stages ahead, with one barrier a stage:
 *
 *      heads  [block b % 2]      [8 groups][HEAD]
 *      sums   [block b % 2]      [COLS columns][8] int16, for types that read them
 *      d      [COLS columns]     scale of x in block b
 *      pieces [copy][thread]     what a thread copies of a stage; not in registers, to save them
 *      ring   [stage i % ring]   weights  [8 groups][SPAN][SLICE]     as in the tiles
 *                                x        [SPAN][term][COLS columns][64 bytes]
 *
 * A lane reads 16 bytes of a fragment, neighbouring lanes neighbouring bytes, so no bank is read
 * twice in a phase.  Sums: tile.cuh; y = +0, then y = tile_chain(y, t[b], d[b]) for b ascending, as
 * in mv, so the bits of a row do not depend on the number of rows.
 *
 * Speed, from the compiled loops for sm_90a: instructions of a warp for a block of k (256), one
 * instruction a cycle and quarter of an SM.  The f16 matrix rate is 8 cycles of a quarter for
 * m16n8k16 on sm_80, 4 on sm_90 (6.5 by mma.sync); int8 takes half as many cycles for the same k.
 *
 *              warps a     mma    instructions             of the f16 rate
 *              quarter            sums  end  copies        sm_80, sm_90
 *      Q8_0    3           64     686    77  150           1.1    0.56    issue
 *      Q4_K    3           64     522   343  150           1.0    0.50    issue
 *      F16     2           256    392   145  220           1.0    0.62    tensor cores; L2
 *
 * Three warps of 32 x 32 and not two of 64 x 32, because more warps hide what one waits for; not
 * four, because 128 registers do not suffice (the sums take 64 of them).  Numbers that are needed
 * once a stage are in shared memory, to save registers.  From L2 a block reads 128 + COLS rows of
 * k: 0.009 bytes an operation for Q8_0, 0.016 for F16 with one term.
 *
 * Limits: 1 or MOST_TERMS terms of x.  The ring is as long as shared memory allows, at least 2
 * stages; where stages of 2 slices do not fit (sm_75: 64 KiB) they have 1. */
#include "backend/cuda/launch.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/mm.cuh"
#include "backend/cuda/q.cuh"

/* Shapes of a block, to compare: 0 is the one in use.
 *               int8                                            floats
 *      0        12 warps of 32 x 32: 128 x 96                   8 warps of 64 x 32: 128 x 128
 *      1        16 warps of 32 x 32: 128 x 128                  16 warps of 32 x 32: 128 x 128
 *      2        8 warps of 32 x 32: 128 x 64, two blocks an SM  as 1
 * 1 and 2 have 128 registers a thread and spill some words once a stage. */
#ifndef MM_SHAPE
#define MM_SHAPE 0
#endif
enum {
	FORM = W::FORM,
	INT8 = FORM == (int)GPU_I8,
	SHAPE = MM_SHAPE,
	LARGE = !INT8 && SHAPE == 0, /* few warps with many sums each */
	BLOCKS_SM = INT8 && SHAPE == 2 ? 2 : 1,
	WARPS = LARGE || BLOCKS_SM == 2 ? 8
	        : INT8 && SHAPE == 0    ? 12
	                                : 16,
	THREADS = WARPS * 32,
	FRAGS_A = LARGE ? 4 : 2,
	FRAGS_B = 4,
	WARP_ROWS = FRAGS_A * GPU_GROUP,
	WARP_COLS = FRAGS_B * 8,
	ROWS = 128,
	ROW_WARPS = ROWS / WARP_ROWS,
	COLS = WARP_COLS * (WARPS / ROW_WARPS),
	GROUPS = ROWS / GPU_GROUP,
	PIECE = 16,                                     /* bytes of a copy */
	X_PIECES = 4,                                   /* pieces of a row of x in a slice */
	X_SLICE = X_PIECES * PIECE,                     /* bytes */
	X_COPIES = COLS * X_PIECES / THREADS,           /* of a thread, per slice and term */
	HEAD_GROUP = W::HEAD > 0 ? W::HEAD / PIECE : 1, /* pieces of a group */
	HEAD_PIECES = GROUPS * W::HEAD / PIECE,
	HEAD_COPIES = (HEAD_PIECES + THREADS - 1) / THREADS,
	SUM_BYTES = 2 * GPU_BLOCK / TILE_SUM_K, /* bytes of the sums of a column */
	MOST_TERMS = INT8                   ? 1
	             : FORM == (int)GPU_F16 ? 2
	                                    : 3, /* most terms of x; a product has 1 or this many */
	SCALED = FORM != (int)GPU_BF16,          /* x has scales */
	D_LOAD = 0, /* stages in which d is read, and written to shared memory after the products */
	D_STORE = 0,
	RING = 3, /* most stages */
	RING_LEAST = 2,
	STATIC = 2048, /* upper bound of the bytes of SHARED arrays */
};
static_assert(SUM_BYTES == PIECE && COLS <= THREADS, "a thread copies the sums of a column");
static_assert(X_COPIES * THREADS == COLS * X_PIECES, "each thread copies as many pieces of x");

/* Offsets in shared memory; the ring is last */
enum {
	AT_HEADS = 0,
	AT_SUMS = AT_HEADS + 2 * GROUPS * W::HEAD,
	AT_D = AT_SUMS + (W::SUMS ? 2 * COLS * SUM_BYTES : 0),
	AT_PIECES = AT_D + (SCALED ? COLS * 4 : 0),
};

/* Sizes of a stage of SPAN slices with TERMS terms of x. */
template <int TERMS, int SPAN> struct stage {
	enum {
		STAGES = W::SLICES / SPAN, /* stages of a block of k */
		W_GROUP = SPAN * W::SLICE, /* bytes */
		W_BYTES = GROUPS * W_GROUP,
		X_TERM = COLS * X_SLICE,
		X_SPAN = TERMS * X_TERM,
		BYTES = W_BYTES + SPAN * X_SPAN,
		GROUP_PIECES = W_GROUP / PIECE,
		PIECES = W_BYTES / PIECE,
		COPIES = (PIECES + THREADS - 1) / THREADS, /* most pieces of w of a thread */
		AT_RING = AT_PIECES + (COPIES + X_COPIES) * THREADS * 4,
	};
	static_assert(RING - 1 <= (int)STAGES && STAGES > 1, "two buffers of heads, one of d");
};

/* The memory that a thread block copies from.  It is in shared memory to save registers. */
struct source {
	const unsigned char *w; /* the first group */
	const unsigned char *x;
	const int16_t *sum;
	const float *d;
	int blocks;           /* blocks of k */
	int last_group;       /* last group of the matrix, counted from w */
	int32_t rows[COLS];   /* row of x of each column */
	int32_t y_rows[COLS]; /* row of y of each column; -1: no such column */
};
/* Return the bytes from w to group g. */
GPU_FN uint32_t group_at(const struct source *c, int g)
{
	return (uint32_t)((g < c->last_group ? g : c->last_group) * c->blocks) * W::TILE;
}
/* Write the offsets of the pieces that each thread copies of a stage: COPIES pieces of w, in bytes
 * from source.w; X_COPIES pieces of a slice of x, in units of PIECE from source.x.  Groups and
 * columns past the end repeat others, and their sums are not stored. */
template <class S>
GPU_FN void find_pieces(uint32_t *pieces, const struct source *c, size_t row_bytes)
{
	for (int i = 0; i < S::COPIES; i++) {
		int piece = (int)threadIdx.x + i * THREADS;

		pieces[piece] = group_at(c, piece / S::GROUP_PIECES) +
		                (uint32_t)(piece % S::GROUP_PIECES * PIECE);
	}
	for (int i = 0; i < X_COPIES; i++) {
		int piece = (int)threadIdx.x + i * THREADS;

		pieces[S::COPIES * THREADS + piece] =
			(uint32_t)c->rows[piece / X_PIECES] * (uint32_t)(row_bytes / PIECE) +
			(uint32_t)(piece % X_PIECES);
	}
}
/* Start the copy of heads and sums of block b. */
GPU_FN void copy_heads(unsigned char *shared, const struct source *c, int b)
{
	int me = (int)threadIdx.x;

	for (int i = 0; i < HEAD_COPIES; i++) {
		int piece = me + i * THREADS;
		const unsigned char *from = c->w + group_at(c, piece / HEAD_GROUP) +
		                            (size_t)b * W::TILE + W::SLICES * W::SLICE +
		                            piece % HEAD_GROUP * PIECE;

		if (piece < HEAD_PIECES)
			copy_async16(shared + AT_HEADS + (b & 1) * GROUPS * W::HEAD + piece * PIECE,
			             from, PIECE);
	}
	if (W::SUMS && me < COLS)
		copy_async16(shared + AT_SUMS + ((b & 1) * COLS + me) * SUM_BYTES,
		             c->sum + (size_t)(uint32_t)(c->rows[me] * c->blocks + b) *
		                              (GPU_BLOCK / TILE_SUM_K),
		             PIECE);
}
/* Start the copy of stage n to slot `slot` of the ring; with the first stage of a block, also of
 * heads and sums. */
template <int TERMS, int SPAN>
GPU_FN void copy_stage(unsigned char *shared, int slot, const struct source *c, int n)
{
	typedef struct stage<TERMS, SPAN> S;
	int me = (int)threadIdx.x, b = (int)((uint32_t)n / S::STAGES),
	    s = (int)((uint32_t)n % S::STAGES);
	const uint32_t *pieces = (const uint32_t *)(shared + AT_PIECES) + me;
	unsigned char *to = shared + S::AT_RING + slot * S::BYTES + me * PIECE;
	const unsigned char *w = c->w + (size_t)b * W::TILE + s * S::W_GROUP, *x[X_COPIES];
	uint32_t term_bytes = (uint32_t)(c->blocks * tile_x_bytes<W>()), at[S::COPIES];

#pragma unroll
	for (int i = 0; i < S::COPIES; i++)
		at[i] = pieces[i * THREADS];
#pragma unroll
	for (int i = 0; i < X_COPIES; i++)
		x[i] = c->x + (size_t)n * (SPAN * X_SLICE) +
		       (size_t)pieces[(S::COPIES + i) * THREADS] * PIECE;
#pragma unroll
	for (int i = 0; i < S::COPIES; i++)
		if ((i + 1) * THREADS <= (int)S::PIECES || me + i * THREADS < S::PIECES)
			copy_async16(to + i * THREADS * PIECE, w + at[i], PIECE);
	to += S::W_BYTES;
#pragma unroll
	for (int i = 0; i < X_COPIES * SPAN * TERMS; i++) {
		int copy = i % X_COPIES, term = i / X_COPIES % TERMS, j = i / (X_COPIES * TERMS);

		copy_async16(to + j * S::X_SPAN + term * S::X_TERM + copy * THREADS * PIECE,
		             x[copy] + j * X_SLICE + term * term_bytes, PIECE);
	}
	if (s == 0)
		copy_heads(shared, c, b);
}
/* Return d of x in block b and column `col`. */
GPU_FN float read_d(const struct source *c, int b, int col)
{
	return c->d[(uint32_t)(c->rows[col] * c->blocks + b)];
}

/* Sums of the current block of k, and sums over blocks. */
struct sums {
	W::acc t[FRAGS_A][FRAGS_B];
	float y[FRAGS_A][FRAGS_B][4];
};
/* Add slice s.  w, heads: weights and heads of the warp's groups; x: of its columns. */
template <int TERMS, class S>
GPU_FN void add_slice(struct sums *a, const unsigned char *w, const unsigned char *heads,
                      const unsigned char *x, int s)
{
	int lane = (int)threadIdx.x % 32;
	struct tile_frag f[FRAGS_A];
	W::scale scale[FRAGS_A];

#pragma unroll
	for (int i = 0; i < FRAGS_A; i++) {
		f[i] = W::unpack(W::template load<tile_shared>(w + i * S::W_GROUP, lane));
		scale[i] = W::template load_scale<tile_shared>(heads + i * W::HEAD, s, lane);
	}
#pragma unroll
	for (int j = 0; j < FRAGS_B; j++) {
		uint4 b[TERMS];

#pragma unroll
		for (int term = 0; term < TERMS; term++)
			b[term] = *(const uint4 *)(x + term * S::X_TERM + j * 8 * X_SLICE +
			                           lane * PIECE);
#pragma unroll
		for (int i = 0; i < FRAGS_A; i++)
			W::template add<TERMS>(a->t[i][j], f[i], scale[i], b);
	}
}
/* Add the sums of a block to y and clear them.  x_sums, d: of the warp's columns. */
GPU_FN void end_block(struct sums *a, const unsigned char *heads, const unsigned char *x_sums,
                      const float *d)
{
	int lane = (int)threadIdx.x % 32;

#pragma unroll
	for (int j = 0; j < FRAGS_B; j++) {
		float t[4], dx[2] = {};
		struct tile_sums sum = {};

		if (W::SUMS)
			sum = tile_load_sums(
				(const int16_t *)(x_sums + (8 * j + lane / 4) * SUM_BYTES), lane);
		if (SCALED)
			for (int e = 0; e < 2; e++)
				dx[e] = d[8 * j + 2 * (lane % 4) + e];
#pragma unroll
		for (int i = 0; i < FRAGS_A; i++) {
			W::finish(t, a->t[i][j],
			          W::template load_end<tile_shared>(heads + i * W::HEAD, lane),
			          sum);
			for (int e = 0; e < 4; e++)
				a->y[i][j][e] = tile_chain<W>(a->y[i][j][e], t[e], dx[e % 2]);
			a->t[i][j] = W::acc();
		}
	}
}
GPU_FN void store_sums(const struct sums *a, const struct mm_matrix &m, int row,
                       const int32_t *cols)
{
	int lane = (int)threadIdx.x % 32;

#pragma unroll
	for (int i = 0; i < FRAGS_A; i++)
#pragma unroll
		for (int j = 0; j < FRAGS_B; j++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				int col = cols[8 * j + 2 * (lane % 4) + e % 2];

				if (col >= 0)
					mm_store(m, row + i * GPU_GROUP + lane / 4 + e / 2 * 8, col,
					         a->y[i][j][e]);
			}
}

/* State of the ring of stages. */
struct ring {
	int size, slot; /* slots; slot of the stage that is read */
};
/* Start the copy of stage n, if there is one, to the slot that was read last. */
template <int TERMS, int SPAN>
GPU_FN void fill_ring(const struct ring *r, unsigned char *shared, const struct source *c, int n)
{
	if (n < c->blocks * stage<TERMS, SPAN>::STAGES)
		copy_stage<TERMS, SPAN>(shared, r->slot == 0 ? r->size - 1 : r->slot - 1, c, n);
	copy_commit();
}
GPU_FN void step_ring(struct ring *r) { r->slot = r->slot + 1 == r->size ? 0 : r->slot + 1; }
/* Wait until all threads have finished copying the stage that is read next. */
GPU_FN void wait_ring(const struct ring *r)
{
	if (r->size == RING)
		copy_wait<RING - 2>();
	else
		copy_wait<RING_LEAST - 2>();
	__syncthreads();
}

/* Add all blocks of k.  warp_row, warp_col: first row and column of the warp; busy: true if any sum
 * of the warp is stored. */
template <int TERMS, int SPAN>
GPU_FN void add_blocks(struct sums *a, unsigned char *shared, const struct source *c, int ring,
                       int warp_row, int warp_col, bool busy)
{
	typedef struct stage<TERMS, SPAN> S;
	float *d = (float *)(shared + AT_D), d_next = 0;
	struct ring r = { ring, 1 };

	for (int i = 0; i < ring - 1; i++) {
		fill_ring<TERMS, SPAN>(&r, shared, c, i);
		step_ring(&r);
	}
	r.slot = 0;
#pragma unroll 1
	for (int n = 0; n < c->blocks * S::STAGES; n++) {
		int b = (int)((uint32_t)n / S::STAGES), s = (int)((uint32_t)n % S::STAGES);
		const unsigned char *heads = shared + AT_HEADS +
		                             ((b & 1) * GROUPS + warp_row / GPU_GROUP) * W::HEAD,
				    *w = shared + S::AT_RING + r.slot * S::BYTES,
				    *x = w + S::W_BYTES + warp_col * X_SLICE;

		w += warp_row / GPU_GROUP * S::W_GROUP;
		wait_ring(&r);
		fill_ring<TERMS, SPAN>(&r, shared, c, n + ring - 1);
		if (SCALED && s == D_LOAD && threadIdx.x < COLS)
			d_next = read_d(c, b, (int)threadIdx.x);
#pragma unroll
		for (int i = 0; busy && i < SPAN; i++)
			add_slice<TERMS, S>(a, w + i * W::SLICE, heads, x + i * S::X_SPAN,
			                    s * SPAN + i);
		if (SCALED && s == D_STORE && threadIdx.x < COLS)
			d[threadIdx.x] = d_next;
		if (busy && s == S::STAGES - 1)
			end_block(a, heads,
			          shared + AT_SUMS + ((b & 1) * COLS + warp_col) * SUM_BYTES,
			          d + warp_col);
		step_ring(&r);
	}
	copy_wait<0>();
}

/* Set the source of a thread block, and the rows of x and y of its columns. */
GPU_FN void open_source(struct source *c, const gpu_mm &m, const struct mm_part &p)
{
	int col = (int)threadIdx.x;

	if (col == 0) {
		c->blocks = tile_blocks(m.k);
		c->w = tile_at<W>(mm_open(m, p.job, p.expert).w, c->blocks, p.row / GPU_GROUP, 0);
		c->x = (const unsigned char *)m.x.q;
		c->sum = m.x.sum;
		c->d = m.x.d;
		c->last_group = (m.jobs[p.job].n - p.row - 1) / GPU_GROUP;
	}
	if (col < COLS) {
		int x_row, y_row = mm_column(m, p, col < p.cols ? col : 0, &x_row);

		c->rows[col] = x_row;
		c->y_rows[col] = col < p.cols ? y_row : -1;
	}
}
template <int TERMS, int SPAN>
static __global__ void __launch_bounds__(THREADS, BLOCKS_SM)
	mm(const __grid_constant__ gpu_mm m, int tiles, int slots, int ring)
{
	DYNAMIC(unsigned char, shared);
	SHARED(struct mm_part, part, [1]); /* in shared memory to save registers */
	SHARED(struct source, source, [1]);
	int warp = (int)threadIdx.x / 32;
	int warp_row = warp % ROW_WARPS * WARP_ROWS, warp_col = warp / ROW_WARPS * WARP_COLS;
	struct sums a = {};

	gpu_wait();
	gpu_next();
	struct mm_part p = mm_find<ROWS, COLS, THREADS>(m, tiles, slots);
	if (p.cols <= 0)
		return;
	bool busy = warp_col < p.cols && warp_row < m.jobs[p.job].n - p.row;

	if (threadIdx.x == 0)
		part[0] = p;
	open_source(source, m, p);
	__syncthreads();
	find_pieces<stage<TERMS, SPAN>>((uint32_t *)(shared + AT_PIECES), source, m.x.row_bytes);
	add_blocks<TERMS, SPAN>(&a, shared, source, ring, warp_row, warp_col, busy);
	if (busy)
		store_sums(&a, mm_open(m, part[0].job, part[0].expert), part[0].row + warp_row,
		           source->y_rows + warp_col);
}

/* ---- host ---- */

/* Return the bytes of shared memory with a ring of so many stages. */
template <class S> static int shared_bytes(int ring) { return S::AT_RING + ring * S::BYTES; }
template <int TERMS, int SPAN>
static int launch_span(const struct gpu_mm *m, int most, cudaStream_t s)
{
	int64_t tiles = mm_tiles(m, ROWS), slots = mm_slots(m, COLS);
	int (*bytes)(int) = shared_bytes<stage<TERMS, SPAN>>, ring = RING;

	if (tiles * slots == 0)
		return 0;
	if (bytes(ring) > most)
		ring = RING_LEAST;
	if (bytes(ring) > most || tiles * slots > INT32_MAX)
		return cudaErrorInvalidConfiguration;
	return LAUNCH((mm<TERMS, SPAN>), dim3((unsigned)(tiles * slots)), dim3(THREADS),
	              (size_t)bytes(ring), s, *m, (int)tiles, (int)slots, ring);
}
template <int TERMS> static int launch(const struct gpu_mm *m, cudaStream_t s)
{
	int device, most;
	cudaError_t rc = cudaGetDevice(&device);

	if (!rc)
		rc = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	if (rc)
		return rc;
	most -= STATIC;
	if (shared_bytes<stage<TERMS, 2>>(RING_LEAST) <= most)
		return launch_span<TERMS, 2>(m, most, s);
	return launch_span<TERMS, 1>(m, most, s);
}
extern "C" int GPU_NAME(gpu_mm)(const struct gpu_mm *m, cudaStream_t s)
{
	if (m->x.terms == 1)
		return launch<1>(m, s);
	return m->x.terms == MOST_TERMS ? launch<MOST_TERMS>(m, s) : (int)cudaErrorInvalidValue;
}
