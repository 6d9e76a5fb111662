/* backend/cuda/tile.cuh (private) - tiles: weights in the order in which mma instructions read
 * them.
 *
 * A tile is GPU_GROUP (16) weight rows by GPU_BLOCK (256) of k.  It consists of SLICES slices of
 * consecutive k, then the scales of its rows:
 *
 *      | slice 0 | slice 1 | ... | slice SLICES - 1 | head |     SLICES * SLICE + HEAD = TILE bytes
 *
 * A slice is multiplied with 16 bytes of each term of x per lane: 64 of k for int8 (two k32 steps),
 * 32 of k for floats (two k16 steps).  It contains the A fragments of its two steps in the order of
 * lanes, so a warp reads it by coalesced loads of 16 (or 8) bytes a lane.
 *
 * The fragment of a step: register r of lane 4 g + t holds row g + 8 (r % 2) and
 *      int8    k = 32 h + 16 (r / 2) + 4 t + i, i < 4 in byte i, of step h (mma.m16n8k32)
 *      floats  k = 8 t + 4 h + 2 (r / 2) + i, i < 2 in half i, of step h (mma.m16n8k16; the same
 *              order of k as struct gpu_act, so that x needs no shuffle)
 * Accumulator i of a lane is row g + 8 (i / 2), column 2 t + i % 2.
 *
 * q_<type>.cuh defines struct gpu_<type>, which has static members only:
 *   enum TYPE    enum infer_type
 *        FORM    enum gpu_form of x
 *        SLICES, SLICE, HEAD, TILE    as above; bytes
 *        SUMS    1: finish reads the sums of x (struct tile_sums)
 *   struct part   a lane's share of a slice, as loaded
 *   struct head   a lane's share of the head (rows g and g + 8), as loaded
 *   struct scale  the scales that add needs for one slice
 *   struct end    the scales that finish needs
 *   struct acc    sums of a block for 16 rows x 8 columns
 *
 *   part  load<M>(slice, lane)         M: tile_global or tile_shared; slice, head: addresses
 *   tile_frag unpack(part)             the same as A fragments
 *   head  load_head<M>(head, lane)     for kernels that keep all of it in registers
 *   scale get_scale(head, s)           of slice s; s must be a constant after unrolling
 *   scale load_scale<M>(head, s, lane) the same value from memory, for any s
 *   end   get_end(head, lane)          of the tile
 *   end   load_end<M>(head, lane)      the same value from memory
 *   void  add<TERMS>(acc &, tile_frag, scale, x)  acc += slice * x; x[term]: 16 bytes, column g
 *   void  finish(t, acc, end, sums)    the four t[b] of the lane; call once a block
 *   uint32_t word(raw, i)              32-bit word i of the tile, from the file's bytes
 *   float get(tile, r, k)              weight k of row r, bit for bit the CPU's decoder
 *
 * A block of a product, the same in every kernel:
 *      acc a = {};
 *      for s ascending: add<TERMS>(a, unpack(load(slice s)), scale of s, x of s);
 *      finish(t, a, end, sums);
 * and then over blocks, ascending from y = +0: y = tile_chain<W>(y, t, d of x). */
#ifndef BACKEND_CUDA_TILE_CUH
#define BACKEND_CUDA_TILE_CUH
#include "backend/cuda/launch.h"
#include "backend/cuda/gpu.h"

enum {
	TILE_LANES = 32,
	TILE_WORD = 4,  /* bytes */
	TILE_LANE = 16, /* bytes that a lane loads at a time */
	TILE_LOAD = TILE_LANES * TILE_LANE,
	TILE_TERMS = 3, /* most terms of x */
	TILE_I8_K = 64, /* k of a slice */
	TILE_FLOAT_K = 32,
	TILE_SUM_K = 32,         /* elements of k in each gpu_act.sum */
	TILE_MAGIC = 0x4b400000, /* bits of 1.5 * 2^23 */
};

/* ---- loads by kind of memory ---- */
struct tile_global {
	GPU_FN uint4 load16(const unsigned char *p) { return ::load16(p); }
	GPU_FN uint2 load8(const unsigned char *p) { return *(const uint2 *)p; }
	GPU_FN uint32_t load4(const unsigned char *p) { return *(const uint32_t *)p; }
	GPU_FN uint32_t load2(const unsigned char *p) { return *(const uint16_t *)p; }
};
struct tile_shared {
	GPU_FN uint4 load16(const unsigned char *p) { return *(const uint4 *)p; }
	GPU_FN uint2 load8(const unsigned char *p) { return *(const uint2 *)p; }
	GPU_FN uint32_t load4(const unsigned char *p) { return *(const uint32_t *)p; }
	GPU_FN uint32_t load2(const unsigned char *p) { return *(const uint16_t *)p; }
};

struct tile_frag {
	uint32_t a[2][4]; /* [step][register] */
};

/* Return word i < 4 of v; i must be a constant. */
GPU_FN uint32_t tile_word(const uint4 &v, int i)
{
	return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
GPU_FN float tile_half(uint32_t pair, int i) { return half_float((uint16_t)(pair >> 16 * i)); }

/* ---- int8 products ---- */
/* Return the sum of a k32 step as float.  The accumulator c started from TILE_MAGIC, so one
 * addition converts it, exactly while |sum| < 2^22.  A conversion instruction has a quarter of the
 * rate. */
GPU_FN float tile_float(int c) { return gpu_float((uint32_t)c) - 12582912.0f; }
GPU_FN void tile_start(int c[4], int value)
{
	for (int i = 0; i < 4; i++)
		c[i] = value;
}
/* Set the B fragment of step h of a slice. */
GPU_FN void tile_b(uint32_t b[2], const uint4 &x, int h)
{
	b[0] = h ? x.z : x.x;
	b[1] = h ? x.w : x.y;
}

/* Sums of x over the 8 groups of 32 in a block, as B fragments of mma_s8_16, column g: sum = 64 hi
 * + lo, both int8.  Lanes t < 2 have groups 4 t ... 4 t + 3; lanes t >= 2 repeat lane t - 2 (A is 0
 * there). */
struct tile_sums {
	uint32_t lo, hi;
};
/* sum: address of the first group's sum of column g; aligned to 8 bytes */
GPU_FN struct tile_sums tile_load_sums(const int16_t *sum, int lane)
{
	uint2 v = *(const uint2 *)(sum + 4 * (lane % 2));
	struct tile_sums s;

	s.lo = __byte_perm(v.x & 0x003f003fu, v.y & 0x003f003fu, 0x6420);
	s.hi = __byte_perm(v.x >> 6, v.y >> 6, 0x6420);
	return s;
}
/* imin[i] = sum over groups of minimum times sum of x; m: minima as the A fragment of mma_s8_16 */
GPU_FN void tile_minima(int imin[4], const uint32_t m[2], const struct tile_sums &s)
{
	int hi[4];

	tile_start(imin, 0);
	tile_start(hi, 0);
	mma_s8_16(imin, m, s.lo);
	mma_s8_16(hi, m, s.hi);
	for (int i = 0; i < 4; i++)
		imin[i] += 64 * hi[i];
}

/* ---- the chain over blocks ---- */
/* Return y with the sum t of a block added.  d: scale of x in this block; unused for BF16. */
template <class W> GPU_FN float tile_chain(float y, float t, float d)
{
	return (int)W::FORM == (int)GPU_I8 || (int)W::FORM == (int)GPU_F16 ? fmaf(d, t, y) : y + t;
}

/* ---- addresses ---- */
GPU_FN int tile_blocks(int k)
{
	return (k + GPU_BLOCK - 1) / GPU_BLOCK;
} /* gpu_blocks on the device */
template <class W> GPU_FN const unsigned char *tile_at(const void *w, int blocks, int group, int b)
{
	return (const unsigned char *)w + ((size_t)group * (size_t)blocks + (size_t)b) * W::TILE;
}
/* Return the bytes of one term of a block of x in gpu_act.q. */
template <class W> GPU_FN int tile_x_bytes(void)
{
	return (int)W::FORM == (int)GPU_I8 ? GPU_BLOCK : 2 * GPU_BLOCK;
}

/* ---- packing ---- */
/* The rows of a tile in the file's layout. */
struct tile_raw {
	const unsigned char *at; /* first byte of row 0 of the tile */
	size_t row_bytes;
	int rows;  /* rows of the tile that are in the matrix */
	int k0, k; /* first element of the tile; elements of a row */
};
/* Return the first byte of the file's block (of `block` elements, `bytes` bytes) with element k of
 * row r of the tile; NULL if there is no such element. */
GPU_FN const unsigned char *tile_raw_at(const struct tile_raw *w, int r, int k, int block,
                                        int bytes)
{
	if (r >= w->rows || w->k0 + k >= w->k)
		return NULL;
	return w->at + (size_t)r * w->row_bytes + (size_t)((w->k0 + k) / block) * (size_t)bytes;
}
GPU_FN uint32_t tile_u16(const unsigned char *p)
{
	return p ? (uint32_t)p[0] | (uint32_t)p[1] << 8 : 0;
}

/* Return the row of the tile of register r of a lane, and its first k in step h. */
GPU_FN int tile_row(int lane, int r) { return lane / 4 + 8 * (r % 2); }
GPU_FN int tile_i8_k(int lane, int r, int h) { return 32 * h + 16 * (r / 2) + 4 * (lane % 4); }
GPU_FN int tile_float_k(int lane, int r, int h) { return 8 * (lane % 4) + 4 * h + 2 * (r / 2); }
#endif
