/* backend/cuda/mid.cuh (private) - products with 17 to 64 rows of x; part of mv_tmpl.cu.
 *
 *      y[row][n] = sum over k of x[row][k] W[n][k], then mul, bias and cap
 *
 * A block of 8 warps computes GROUPS * 16 weight rows by 8 NT columns (rows of x); GROUPS * KS = 8.
 * Warp w computes group w / KS.  In each round of KS consecutive tiles of k it adds tile w % KS:
 *
 *      KS 1: 128 weight rows           KS 4: 32 weight rows, for matrices with few rows
 *      round  0 | 1 | 2 ...            round        0       |       1       | ...
 *      k      0 | 1 | 2 ...            k      0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | ...
 *      warp   all of them              warp % 4 0   1   2   3   0   1   2   3
 *
 * Weights are read once, into registers, AHEAD slices (tile.cuh) before their use.  Each block
 * reads all of x from L2, and there are (weight rows) / (16 GROUPS) blocks, so a larger GROUPS
 * reduces that traffic.  Shared memory:
 *
 *      heads  [round % 2][8 warps]
 *      sums   [round % 2][KS][columns][8] int16, for types that read them
 *      d      [KS][columns]   scale of x in this round
 *      t      [KS][GROUPS][2 NT][32 lanes] float2: sums of the tiles of a round, KS 1: y; two
 *                             neighbouring columns of one row in a float2
 *      ring   [slice i % 4][KS][term][columns][64 bytes] x, filled by cp.async
 *
 * After a round y = tile_chain(y, t[b], d[b]) for b ascending.  KS 1: by the lane that has t.  KS
 * 4: each warp adds UNITS of the 2 NT float2 of its group.  So NT, KS and the order of the warps
 * change no bits.
 *
 * Arithmetic for 28672 x 4096 of Q4_K and 64 columns on an H200: weights 60 MB (15 us at 4 TB/s);
 * KS 1: x 58 MB from L2, 470 MB from shared memory (16 us); 115 000 slices of about 180
 * instructions, 23 us at 4 a cycle and SM. */
enum {
	MID_LARGE = 640, /* bytes of a slice */
	MID_HEAD = 384,  /* bytes of a head; larger if scales and minima are f16 */
	MID_WARPS = 8,
	MID_THREADS = MID_WARPS * TILE_LANES,
	MID_MANY = 1024, /* with at least so many groups of weight rows KS is 1 */
	MID_KS = 4,      /* KS with fewer groups */
	MID_AHEAD = (int)W::SLICE > MID_LARGE || (int)W::HEAD > MID_HEAD
	                    ? 2
	                    : 4, /* slices of weights in registers */
	MID_X = 4 * TILE_LANE,   /* bytes of a column, term and slice of x */
	MID_SUMS = 2 * MV_SUMS,  /* bytes of the sums of a column and block */
	MID_PAIR = 8,            /* bytes of a float2 */
	MID_D_LOAD = 0,          /* slices in which d is read and written to shared memory */
	MID_D_STORE = 2,
};
template <int NT, int TERMS, int KS> struct mid_size {
	enum {
		COLS = NT * MV_COLS,
		GROUPS = MID_WARPS / KS,
		ROWS = GROUPS * GPU_GROUP,
		UNITS = KS == 1 ? 0 : 2 * NT / KS,
		RING = 4,
		PART = TERMS * COLS * MID_X, /* bytes of x of a warp's tile in a stage */
		STAGE = KS * PART,
		SUMS = KS * COLS * MID_SUMS,
		AT_HEADS = 0,
		AT_SUMS = AT_HEADS + 2 * MID_WARPS * W::HEAD,
		AT_D = AT_SUMS + (W::SUMS ? 2 * SUMS : 0),
		AT_T = AT_D + KS * COLS * 4,
		TILE_T = 2 * NT * TILE_LANES * MID_PAIR, /* bytes of t of a tile */
		AT_RING = AT_T + MID_WARPS * TILE_T,
		BYTES = AT_RING + RING * STAGE,
		COPY_KS = MID_THREADS /
		          (COLS * 4), /* tiles; all threads together copy a slice of each */
		COPIES = (KS + COPY_KS - 1) / COPY_KS,
	};
	static_assert(KS * COLS <= MID_THREADS, "a thread reads one d");
	static_assert(W::SLICES % RING == 0, "a slot of the ring has the same slices");
	static_assert(MID_D_STORE < W::SLICES - 1, "buffers of a round");
	static_assert(W::SLICES % MID_AHEAD == 0, "parts of a tile");
};

/* Return the blocks of an SM: 2 if 128 registers are enough */
template <int NT, int KS> GPU_FN constexpr int mid_resident(void)
{
	return (NT <= MV_WIDE && (int)W::HEAD <= MID_HEAD) ||
	                       (KS == 1 && (int)W::FORM != (int)GPU_I8)
	               ? 2
	               : 1;
}
/* State of a thread. */
struct mid_state {
	const unsigned char *w; /* tile 0 of the warp's group */
	unsigned char *shared;
	int blocks, lane, group, ks; /* group, ks: of the warp: w / KS, w % KS */
	uint32_t x;                  /* bytes from x.q to the thread's part of a slice */
	uint32_t d;                  /* index of the d that the thread reads for block 0 */
};
struct mid_weights {
	W::part p[MID_AHEAD];
};

/* Return the head of the warp's tile of a round. */
GPU_FN unsigned char *mid_head(unsigned char *heads, int round)
{
	return heads + (round % 2 * MID_WARPS + (int)threadIdx.x / TILE_LANES) * W::HEAD;
}
GPU_FN void mid_load(W::part *p, const mid_state &v, int b, int s)
{
	if (b < v.blocks)
		*p = W::template load<tile_global>(v.w + (size_t)b * W::TILE + s * W::SLICE,
		                                   v.lane);
}
GPU_FN void mid_load_first(mid_weights *w, const mid_state &v)
{
#pragma unroll
	for (int s = 0; s < MID_AHEAD; s++)
		mid_load(&w->p[s], v, v.ks, s);
}
/* Start the copy of the head of tile b, which the warp uses in `round`. */
GPU_FN void mid_copy_head(unsigned char *heads, const mid_state &v, int round, int b)
{
	for (int at = v.lane * TILE_LANE; at < W::HEAD && b < v.blocks; at += TILE_LOAD)
		copy_async16(mid_head(heads, round) + at,
		             v.w + (size_t)b * W::TILE + W::SLICES * W::SLICE + at, TILE_LANE);
}
/* Start the copy of slice s of a round; with slice 0 also the copies of heads and sums. */
template <int NT, int TERMS, int KS>
GPU_FN void mid_copy(const mid_state *v, const gpu_act &x, int round, int s)
{
	typedef mid_size<NT, TERMS, KS> Z;
	const int me = (int)threadIdx.x;
	const uint32_t bytes = (uint32_t)tile_x_bytes<W>();
	unsigned char *to =
		v->shared + Z::AT_RING + s % Z::RING * Z::STAGE + me % (Z::COLS * 4) * TILE_LANE;

#pragma unroll
	for (int i = 0; i < Z::COPIES; i++) {
		int ks = me / (Z::COLS * 4) + i * Z::COPY_KS, b = round * KS + ks;

		if (ks >= KS || b >= v->blocks)
			continue;
#pragma unroll
		for (int term = 0; term < TERMS; term++)
			copy_async16(to + ks * Z::PART + term * Z::COLS * MID_X,
			             (const unsigned char *)x.q +
			                     (v->x + (uint32_t)(term * v->blocks + b) * bytes +
			                      (uint32_t)(s * MID_X)),
			             TILE_LANE);
	}
	if (s)
		return;
	mid_copy_head(v->shared + Z::AT_HEADS, *v, round, round * KS + v->ks);
	if (W::SUMS && me < KS * Z::COLS && round * KS + me / Z::COLS < v->blocks)
		copy_async16(v->shared + Z::AT_SUMS + round % 2 * Z::SUMS + me * MID_SUMS,
		             x.sum + (size_t)(v->d + (uint32_t)(round * KS + me / Z::COLS)) *
		                             MV_SUMS,
		             TILE_LANE);
}
/* The same for a slice s >= SLICES, of the next round if there is one. */
template <int NT, int TERMS, int KS>
GPU_FN void mid_fill(const mid_state *v, const gpu_act &x, int round, int s)
{
	if (s >= W::SLICES)
		round++;
	if (round * KS < v->blocks)
		mid_copy<NT, TERMS, KS>(v, x, round, s % W::SLICES);
	copy_commit();
}
/* Add the products of a slice. x: that of the warp's tile, in shared memory. */
template <int NT, int TERMS>
GPU_FN void mid_add(W::acc *a, const W::part &p, const W::scale &scale, const unsigned char *x)
{
	struct tile_frag f = W::unpack(p);

#pragma unroll
	for (int c = 0; c < NT; c++) {
		uint4 q[TERMS];

#pragma unroll
		for (int i = 0; i < TERMS; i++)
			q[i] = *(const uint4 *)(x + (i * NT + c) * MV_COLS * MID_X);
		W::template add<TERMS>(a[c], f, scale, q);
	}
}
/* Return the address of the lane's sums of tile k of a round, in t. */
template <int NT, int TERMS, int KS> GPU_FN float2 *mid_t(const mid_state &v, int k)
{
	typedef mid_size<NT, TERMS, KS> Z;

	return (float2 *)(v.shared + Z::AT_T + (k * Z::GROUPS + v.group) * Z::TILE_T) + v.lane;
}
/* Finish the warp's tile of a round: store its sums in t, or with KS 1 add them to y in t. */
template <int NT, int TERMS, int KS>
GPU_FN void mid_finish(const W::acc *a, const mid_state &v, int round)
{
	typedef mid_size<NT, TERMS, KS> Z;
	const unsigned char *x_sums = v.shared + Z::AT_SUMS + round % 2 * Z::SUMS +
	                              (v.ks * Z::COLS + v.lane / 4) * MID_SUMS;
	const float2 *d = (const float2 *)(v.shared + Z::AT_D) + v.lane % 4;
	float2 *to = mid_t<NT, TERMS, KS>(v, v.ks);
	W::end end =
		W::template load_end<tile_shared>(mid_head(v.shared + Z::AT_HEADS, round), v.lane);

#pragma unroll
	for (int c = 0; c < NT; c++) {
		struct tile_sums sums = { 0, 0 };
		float t[4];

		if (W::SUMS)
			sums = tile_load_sums((const int16_t *)(x_sums + c * MV_COLS * MID_SUMS),
			                      v.lane);
		W::finish(t, a[c], end, sums);
#pragma unroll
		for (int h = 0; h < 2; h++, to += TILE_LANES) {
			float2 y = make_float2(t[2 * h], t[2 * h + 1]);

			if (KS == 1) {
				float2 old = *to, dx = d[c * MV_COLS / 2];

				y.x = tile_chain<W>(old.x, y.x, dx.x);
				y.y = tile_chain<W>(old.y, y.y, dx.y);
			}
			*to = y;
		}
	}
}
/* KS > 1: add the n tiles of a round to the warp's units of y. */
template <int NT, int TERMS, int KS> GPU_FN void mid_chain(float2 *y, const mid_state &v, int n)
{
	typedef mid_size<NT, TERMS, KS> Z;

#pragma unroll
	for (int k = 0; k < KS; k++) {
		const float2 *d = (const float2 *)(v.shared + Z::AT_D) + k * Z::COLS / 2 +
		                  v.lane % 4,
			     *t = mid_t<NT, TERMS, KS>(v, k);

		if (k >= n)
			break;
#pragma unroll
		for (int i = 0; i < Z::UNITS; i++) {
			int u = v.ks * Z::UNITS + i;
			float2 dx = d[u / 2 * (MV_COLS / 2)], add = t[u * TILE_LANES];

			y[i].x = tile_chain<W>(y[i].x, add.x, dx.x);
			y[i].y = tile_chain<W>(y[i].y, add.y, dx.y);
		}
	}
}
/* Compute a round: the warp's tile, then y. */
template <int NT, int TERMS, int KS>
GPU_FN void mid_round(float2 *y, mid_weights *w, const mid_state *v, const gpu_act &x, int round)
{
	typedef mid_size<NT, TERMS, KS> Z;
	enum { SCALED = (int)W::FORM != (int)GPU_BF16 };
	const int b = round * KS + v->ks, me = (int)threadIdx.x, d_b = round * KS + me / Z::COLS;
	const bool has_d = SCALED && me < KS * Z::COLS && d_b < v->blocks;
	float d = 0;
	W::acc a[NT] = {};

#pragma unroll
	for (int s = 0; s < W::SLICES; s++) {
		copy_wait<Z::RING - 2>();
		__syncthreads();
		mid_fill<NT, TERMS, KS>(v, x, round, s + Z::RING - 1);
		if (has_d && s == MID_D_LOAD)
			d = x.d[v->d + (uint32_t)d_b];
		if (has_d && s == MID_D_STORE)
			((float *)(v->shared + Z::AT_D))[me] = d;
		if (b < v->blocks) {
			W::scale scale = W::template load_scale<tile_shared>(
				mid_head(v->shared + Z::AT_HEADS, round), s, v->lane);

			mid_add<NT, TERMS>(a, w->p[s % MID_AHEAD], scale,
			                   v->shared + Z::AT_RING + s % Z::RING * Z::STAGE +
			                           v->ks * Z::PART + v->lane * TILE_LANE);
		}
		mid_load(&w->p[s % MID_AHEAD], *v, s + MID_AHEAD < W::SLICES ? b : b + KS,
		         (s + MID_AHEAD) % W::SLICES);
	}
	if (b < v->blocks)
		mid_finish<NT, TERMS, KS>(a, *v, round);
	if (KS == 1)
		return;
	__syncthreads();
	mid_chain<NT, TERMS, KS>(y, *v, v->blocks - round * KS);
}
/* Store unit u of the warp's group: a pair of columns of the first or the last 8 rows. */
GPU_FN void mid_store_unit(const gpu_mm &m, const struct mm_part &part, const mid_state &v, int u,
                           float2 y)
{
	int x_row, col = u / 2 * MV_COLS + v.lane % 4 * 2,
		   row = part.row + v.group * GPU_GROUP + u % 2 * (GPU_GROUP / 2) + v.lane / 4;

	if (col < part.cols)
		mm_store(mm_open(m, part.job, part.expert), row, mm_column(m, part, col, &x_row),
		         y.x);
	if (col + 1 < part.cols)
		mm_store(mm_open(m, part.job, part.expert), row,
		         mm_column(m, part, col + 1, &x_row), y.y);
}
/* Store the warp's units of y. */
template <int NT, int TERMS, int KS>
GPU_FN void mid_store(const float2 *y, const gpu_mm &m, const struct mm_part &part,
                      const mid_state &v)
{
	typedef mid_size<NT, TERMS, KS> Z;

#pragma unroll
	for (int i = 0; i < Z::UNITS; i++)
		mid_store_unit(m, part, v, v.ks * Z::UNITS + i, y[i]);
#pragma unroll 1
	for (int u = 0; KS == 1 && u < 2 * NT; u++)
		mid_store_unit(m, part, v, u, mid_t<NT, TERMS, KS>(v, 0)[u * TILE_LANES]);
}
/* Return the row of x of column `col` of a part; columns after the last use the row of the last. */
GPU_FN uint32_t mid_row(const gpu_mm &m, const struct mm_part &part, int col)
{
	int row;

	mm_column(m, part, col < part.cols ? col : part.cols - 1, &row);
	return (uint32_t)row;
}
/* Compute columns [0, part.cols), at most 8 NT columns.  *w: the first slices, already loaded. */
template <int NT, int TERMS, int KS>
GPU_FN void mid_columns(mid_weights *w, mid_state *v, const gpu_mm &m, const struct mm_part &part)
{
	typedef mid_size<NT, TERMS, KS> Z;
	const int me = (int)threadIdx.x;
	float2 y[KS == 1 ? 1 : Z::UNITS] = {};

	v->x = mid_row(m, part, me / 4 % Z::COLS) * (uint32_t)m.x.row_bytes +
	       (uint32_t)(me % 4 * TILE_LANE);
	v->d = mid_row(m, part, me % Z::COLS) * (uint32_t)v->blocks;
	for (int u = 0; KS == 1 && u < 2 * NT; u++)
		mid_t<NT, TERMS, KS>(*v, 0)[u * TILE_LANES] = make_float2(0, 0);
#pragma unroll
	for (int i = 0; i < Z::RING - 1; i++)
		mid_fill<NT, TERMS, KS>(v, m.x, 0, i);
#pragma unroll 1
	for (int round = 0; round * KS < v->blocks; round++)
		mid_round<NT, TERMS, KS>(y, w, v, m.x, round);
	copy_wait<0>();
	mid_store<NT, TERMS, KS>(y, m, part, *v);
}

template <int NT, int TERMS, int KS>
static __global__ void __launch_bounds__(MID_THREADS, mid_resident<NT, KS>())
	gpu_mid_kernel(const __grid_constant__ gpu_mm m)
{
	typedef mid_size<NT, TERMS, KS> Z;
	DYNAMIC(unsigned char, shared);
	const int warp = (int)threadIdx.x / TILE_LANES;
	struct mm_part p = {};
	struct mid_state v = {};
	struct mid_weights w = {};
	int cols, group, last;

	mm_find_tile<Z::ROWS>(&p, m, (int)blockIdx.x);
	v.shared = shared;
	v.blocks = tile_blocks(m.k);
	v.lane = (int)threadIdx.x % TILE_LANES;
	v.group = warp / KS;
	v.ks = warp % KS;
	group = p.row / GPU_GROUP + v.group;
	last = (m.jobs[p.job].n - 1) / GPU_GROUP;
	v.w = tile_at<W>(m.jobs[p.job].w, v.blocks, group < last ? group : last, 0);
	if (!m.e.first)
		mid_load_first(&w, v);
	gpu_wait();
	gpu_next();
	if (!m.e.first)
		p.cols = *m.rows;
	else if (!mv_find_expert(&p, m))
		return;
	v.w += (size_t)p.expert * m.jobs[p.job].matrix_bytes;
	cols = p.cols;
	for (int done = 0; done < cols; done += Z::COLS, p.first += Z::COLS) {
		if (m.e.first || done)
			mid_load_first(&w, v);
		if (done)
			__syncthreads(); /* all warps have read the ring and t */
		p.cols = cols - done < Z::COLS ? cols - done : Z::COLS;
		mid_columns<NT, TERMS, KS>(&w, &v, m, p);
	}
}

/* ---- host ---- */
template <int NT, int TERMS, int KS>
static int mid_launch(const struct gpu_mm *m, int slots, cudaStream_t s)
{
	typedef mid_size<NT, TERMS, KS> Z;

	return LAUNCH(gpu_mid_kernel<NT, TERMS, KS>,
	              dim3((unsigned)mm_tiles(m, Z::ROWS), (unsigned)slots), dim3(MID_THREADS),
	              (size_t)Z::BYTES, s, *m);
}
/* True if the device has enough shared memory; otherwise fewer columns are computed at once. */
static int mid_fits(size_t bytes)
{
	int device = 0, most = 0;

	return !cudaGetDevice(&device) &&
	       !cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) &&
	       bytes <= (size_t)most;
}
