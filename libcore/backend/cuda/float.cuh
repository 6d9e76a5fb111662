/* backend/cuda/float.cuh (private) - 16-bit floats in tiles (tile.cuh): F16 and BF16 differ only in
 * the mma instruction and in the decoder T.
 *
 *      slice  1024: the fragments of step 0, then those of step 1; 16 bytes a lane each
 *      head   none
 *
 * Sum t of a block: from +0, for each 16 of k ascending one mma for each term of x (hi, then
 * lo). */
#ifndef BACKEND_CUDA_FLOAT_CUH
#define BACKEND_CUDA_FLOAT_CUH
#include "backend/cuda/tile.cuh"

template <class T> struct gpu_tile_float {
	enum {
		TYPE = T::TYPE,
		FORM = T::FORM,
		SLICES = GPU_BLOCK / TILE_FLOAT_K,
		SLICE = GPU_GROUP * TILE_FLOAT_K * 2,
		HEAD = 0,
		TILE = SLICES * SLICE,
		SUMS = 0,
	};
	struct part {
		uint4 step[2];
	};
	struct head {
	};
	struct scale {
	};
	struct end {
	};
	struct acc {
		float t[4];
	};

	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p;

		for (int h = 0; h < 2; h++)
			p.step[h] = M::load16(slice + h * TILE_LOAD + lane * TILE_LANE);
		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		struct tile_frag f;

		for (int h = 0; h < 2; h++)
			for (int r = 0; r < 4; r++)
				f.a[h][r] = tile_word(p.step[h], r);
		return f;
	}
	template <class M> GPU_FN head load_head(const unsigned char *, int) { return head(); }
	GPU_FN scale get_scale(const head &, int) { return scale(); }
	template <class M> GPU_FN scale load_scale(const unsigned char *, int, int)
	{
		return scale();
	}
	GPU_FN end get_end(const head &, int) { return end(); }
	template <class M> GPU_FN end load_end(const unsigned char *, int) { return end(); }
	template <int TERMS>
	GPU_FN void add(acc &sum, const struct tile_frag &f, const scale &, const uint4 *x)
	{
		for (int h = 0; h < 2; h++)
			for (int i = 0; i < TERMS; i++) {
				uint32_t b[2];

				tile_b(b, x[i], h);
				T::mma(sum.t, f.a[h], b);
			}
	}
	GPU_FN void finish(float t[4], const acc &sum, const end &, const struct tile_sums &)
	{
		for (int i = 0; i < 4; i++)
			t[i] = sum.t[i];
	}

	GPU_FN uint32_t word(const struct tile_raw *w, int i)
	{
		int s = i * TILE_WORD / SLICE, lane = i / 4 % TILE_LANES,
		    h = i / (4 * TILE_LANES) % 2, r = tile_row(lane, i % 4),
		    k = s * TILE_FLOAT_K + tile_float_k(lane, i % 4, h);

		return tile_u16(tile_raw_at(w, r, k, 1, 2)) |
		       tile_u16(tile_raw_at(w, r, k + 1, 1, 2)) << 16;
	}
	GPU_FN float get(const unsigned char *tile, int r, int k)
	{
		int h = k / 4 % 2, lane = r % 8 * 4 + k % TILE_FLOAT_K / 8,
		    reg = k % 4 / 2 * 2 + r / 8;

		return T::decode((uint16_t)tile_u16(tile + k / TILE_FLOAT_K * SLICE +
		                                    h * TILE_LOAD + lane * TILE_LANE +
		                                    reg * TILE_WORD + k % 2 * 2));
	}
};
#endif
