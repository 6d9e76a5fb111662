/* backend/cuda/q_x8.cuh (private) - X8 in tiles (tile.cuh): recoded weights of types without
 * kernels (recode.h): f32 d, i8 q[16]; weight = d q.
 *
 *      slice  tile_part8
 *      head   [4 slices][16 rows] f32 d[4]
 *
 * From t = +0, over the groups of 16 j ascending: t = fma(d[j], (float)sum(q x), t), where the sums
 * are exact integers.  Lane t of a quad keeps the scales of slice t, so all lanes of a warp must
 * call get_scale.
 * Tile: 1.00 of the recoded bytes, 10 bits a weight. */
#ifndef BACKEND_CUDA_Q_X8_CUH
#define BACKEND_CUDA_Q_X8_CUH
#include "backend/cuda/part.cuh"

struct gpu_use_x8 {
	enum { RAW_K = GPU_X8_K, RAW = GPU_X8_BYTES };
	GPU_FN int code(const unsigned char *p, int k) { return p[GPU_X8_Q + k]; }
};
struct gpu_x8 : tile_part8 {
	enum {
		TYPE = GPU_TYPE_X8,
		FORM = GPU_I8,
		SLICES = GPU_BLOCK / TILE_I8_K,
		SCALES = TILE_I8_K / GPU_X8_K, /* scales of a row in a slice */
		ROW = SCALES * 4,              /* bytes of these scales */
		HEAD = SLICES * GPU_GROUP * ROW,
		TILE = SLICES * SLICE + HEAD,
		SUMS = 0,
	};
	struct head {
		uint4 d[2]; /* rows g, g + 8 of slice t */
	};
	struct scale {
		uint4 d[2]; /* the scales of a slice */
	};
	struct end {
	};
	struct acc {
		float t[4];
	};

	/* Return the byte of the head at which the scales of a row in a slice begin */
	GPU_FN int scale_at(int slice, int row) { return (slice * GPU_GROUP + row) * ROW; }
	template <class M> GPU_FN scale load_scale(const unsigned char *at, int s, int lane)
	{
		scale v;

#pragma unroll
		for (int i = 0; i < 2; i++)
			v.d[i] = M::load16(at + scale_at(s, tile_row(lane, i)));
		return v;
	}
	template <class M> GPU_FN head load_head(const unsigned char *at, int lane)
	{
		scale own = load_scale<M>(at, lane % SLICES, lane);
		head v = { { own.d[0], own.d[1] } };

		return v;
	}
	/* Return v of lane `from` of the quad. */
	GPU_FN uint4 quad(const uint4 &v, int from)
	{
		return make_uint4(
			__shfl_sync(~0u, v.x, from, SLICES), __shfl_sync(~0u, v.y, from, SLICES),
			__shfl_sync(~0u, v.z, from, SLICES), __shfl_sync(~0u, v.w, from, SLICES));
	}
	GPU_FN scale get_scale(const head &v, int s)
	{
		scale own = { { quad(v.d[0], s), quad(v.d[1], s) } };

		return own;
	}
	GPU_FN end get_end(const head &, int) { return end(); }
	template <class M> GPU_FN end load_end(const unsigned char *, int) { return end(); }
	template <int TERMS>
	GPU_FN void add(acc &sum, const struct tile_frag &f, const scale &v, const uint4 *x)
	{
#pragma unroll
		for (int j = 0; j < SCALES; j++) {
			int c[4];

			tile_start(c, TILE_MAGIC);
			mma_s8_16(c, f.a[j / 2] + j % 2 * 2, tile_word(x[0], j));
			for (int i = 0; i < 4; i++)
				sum.t[i] = fmaf(gpu_float(tile_word(v.d[i / 2], j)),
				                tile_float(c[i]), sum.t[i]);
		}
	}
	GPU_FN void finish(float t[4], const acc &sum, const end &, const struct tile_sums &)
	{
		for (int i = 0; i < 4; i++)
			t[i] = sum.t[i];
	}

	GPU_FN uint32_t head_word(const struct tile_raw *w, int i)
	{
		const unsigned char *p =
			tile_raw_at(w, i / SCALES % GPU_GROUP,
		                    i / (SCALES * GPU_GROUP) * TILE_I8_K + i % SCALES * GPU_X8_K,
		                    GPU_X8_K, GPU_X8_BYTES);

		return p ? tile_u16(p) | tile_u16(p + 2) << 16 : 0;
	}
	GPU_FN uint32_t word(const struct tile_raw *w, int i)
	{
		int s = i * TILE_WORD / SLICE;

		return s < SLICES ? tile_part8::word<gpu_use_x8>(w, s, i % (SLICE / TILE_WORD))
		                  : head_word(w, i - SLICES * SLICE / TILE_WORD);
	}
	GPU_FN float get(const unsigned char *tile, int r, int k)
	{
		int s = k / TILE_I8_K;
		const unsigned char *d =
			tile + SLICES * SLICE + scale_at(s, r) + k % TILE_I8_K / GPU_X8_K * 4;

		return gpu_float(tile_u16(d) | tile_u16(d + 2) << 16) *
		       (float)tile_value<tile_part8>(tile + s * SLICE, r, k % TILE_I8_K);
	}
};
#endif
