/* backend/cuda/group.cuh (private) - int8 products of types with a scale, and perhaps a minimum,
 * for each 32 of k.  Tiles: tile.cuh; codes: part.cuh.
 *
 *      slice  T::P
 *      head   [16 rows] { scale[8 groups], T::MIN: minimum f16[8 groups] }; scales f16, or one byte
 *
 * From t = +0, over the groups j ascending:
 *      t = fma(d[j], (float)sum(q x), t), and with minima then t = fma(m[j], (float)sum(x), t)
 * where the sums are exact integers and d[j] includes 2^-UP of the part.
 *
 * T defines TYPE, RAW_K = 32, RAW, MIN, SCALE_BYTES; P; code(p, k); scale_bits(p), min_bits(p) of
 * the file's block p; scale(bits): the scale as float. */
#ifndef BACKEND_CUDA_GROUP_CUH
#define BACKEND_CUDA_GROUP_CUH
#include "backend/cuda/part.cuh"

template <class T> struct gpu_tile_group : T::P {
	typedef typename T::P P;
	enum {
		TYPE = T::TYPE,
		FORM = GPU_I8,
		SLICES = GPU_BLOCK / TILE_I8_K,
		SLICE = P::SLICE,
		GROUPS = GPU_BLOCK / TILE_SUM_K,
		MIN_AT = GROUPS * T::SCALE_BYTES,
		ROW = MIN_AT + (T::MIN ? GROUPS * 2 : 0),
		HEAD = GPU_GROUP * ROW,
		TILE = SLICES * SLICE + HEAD,
		SUMS = 0,
	};
	struct head {
		uint4 d[2], m[2]; /* rows g, g + 8 */
	};
	struct scale {
		float d[2][2], m[2][2]; /* [step][row] */
	};
	struct end {
	};
	struct acc {
		float t[4];
	};

	template <class M> GPU_FN head load_head(const unsigned char *at, int lane)
	{
		head v = {};

#pragma unroll
		for (int i = 0; i < 2; i++) {
			const unsigned char *row = at + tile_row(lane, i) * ROW;

			if (T::SCALE_BYTES == 2) {
				v.d[i] = M::load16(row);
			} else {
				uint2 d = M::load8(row);

				v.d[i].x = d.x;
				v.d[i].y = d.y;
			}
			if (T::MIN)
				v.m[i] = M::load16(row + MIN_AT);
		}
		return v;
	}
	/* d, m: the scales and minima of two groups for rows g and g + 8 */
	GPU_FN scale make_scale(uint32_t d0, uint32_t d1, uint32_t m0, uint32_t m1)
	{
		scale s;

#pragma unroll
		for (int h = 0; h < 2; h++) {
			int at = 8 * T::SCALE_BYTES * h;

			s.d[h][0] = T::scale(d0 >> at) * (1.0f / (1 << P::UP));
			s.d[h][1] = T::scale(d1 >> at) * (1.0f / (1 << P::UP));
			s.m[h][0] = tile_half(m0, h);
			s.m[h][1] = tile_half(m1, h);
		}
		return s;
	}
	GPU_FN scale get_scale(const head &v, int s)
	{
		if (T::SCALE_BYTES == 2)
			return make_scale(tile_word(v.d[0], s), tile_word(v.d[1], s),
			                  tile_word(v.m[0], s), tile_word(v.m[1], s));
		return make_scale(tile_word(v.d[0], s / 2) >> 16 * (s % 2),
		                  tile_word(v.d[1], s / 2) >> 16 * (s % 2), 0, 0);
	}
	template <class M> GPU_FN scale load_scale(const unsigned char *at, int s, int lane)
	{
		const unsigned char *row0 = at + tile_row(lane, 0) * ROW, *row1 = row0 + 8 * ROW;

		if (T::SCALE_BYTES == 1)
			return make_scale(M::load2(row0 + 2 * s), M::load2(row1 + 2 * s), 0, 0);
		return make_scale(M::load4(row0 + 4 * s), M::load4(row1 + 4 * s),
		                  T::MIN ? M::load4(row0 + MIN_AT + 4 * s) : 0,
		                  T::MIN ? M::load4(row1 + MIN_AT + 4 * s) : 0);
	}
	GPU_FN end get_end(const head &, int) { return end(); }
	template <class M> GPU_FN end load_end(const unsigned char *, int) { return end(); }
	template <int TERMS>
	GPU_FN void add(acc &sum, const struct tile_frag &f, const scale &v, const uint4 *x)
	{
		const uint32_t ones[4] = { tile_bytes(1), tile_bytes(1), tile_bytes(1),
			                   tile_bytes(1) };

#pragma unroll
		for (int h = 0; h < 2; h++) {
			int c[4];
			uint32_t b[2];

			tile_b(b, x[0], h);
			tile_start(c, TILE_MAGIC);
			mma_s8_32(c, f.a[h], b);
			for (int i = 0; i < 4; i++)
				sum.t[i] = fmaf(v.d[h][i / 2], tile_float(c[i]), sum.t[i]);
			if (!T::MIN)
				continue;
			tile_start(c, TILE_MAGIC);
			mma_s8_32(c, ones, b);
			for (int i = 0; i < 4; i++)
				sum.t[i] = fmaf(v.m[h][i / 2], tile_float(c[i]), sum.t[i]);
		}
	}
	GPU_FN void finish(float t[4], const acc &sum, const end &, const struct tile_sums &)
	{
		for (int i = 0; i < 4; i++)
			t[i] = sum.t[i];
	}

	GPU_FN uint32_t head_word(const struct tile_raw *w, int i)
	{
		int r = i * TILE_WORD / ROW, at = i * TILE_WORD % ROW, min = at >= MIN_AT,
		    bytes = min ? 2 : T::SCALE_BYTES, group = (at - (min ? MIN_AT : 0)) / bytes;
		uint32_t v = 0;

		for (int j = 0; j < TILE_WORD / bytes; j++) {
			const unsigned char *p =
				tile_raw_at(w, r, (group + j) * TILE_SUM_K, T::RAW_K, T::RAW);

			if (p)
				v |= (min ? T::min_bits(p) : T::scale_bits(p)) << 8 * bytes * j;
		}
		return v;
	}
	GPU_FN uint32_t word(const struct tile_raw *w, int i)
	{
		int s = i * TILE_WORD / SLICE;

		return s < SLICES ? P::template word<T>(w, s, i % (SLICE / TILE_WORD))
		                  : head_word(w, i - SLICES * SLICE / TILE_WORD);
	}
	GPU_FN float get(const unsigned char *tile, int r, int k)
	{
		const unsigned char *row = tile + SLICES * SLICE + r * ROW,
				    *at = row + k / TILE_SUM_K * T::SCALE_BYTES,
				    *min = row + MIN_AT + k / TILE_SUM_K * 2;
		float d = T::scale(T::SCALE_BYTES == 1 ? *at : tile_u16(at)),
		      q = (float)tile_value<P>(tile + k / TILE_I8_K * SLICE, r, k % TILE_I8_K);

		return T::MIN ? d * q + half_float((uint16_t)tile_u16(min)) : d * q;
	}
};

/* Types with f16 scales at byte 0 of the file's block. */
struct gpu_scale_f16 {
	enum { RAW_K = 32, MIN = 0, SCALE_BYTES = 2 };
	GPU_FN uint32_t scale_bits(const unsigned char *p) { return tile_u16(p); }
	GPU_FN uint32_t min_bits(const unsigned char *) { return 0; }
	GPU_FN float scale(uint32_t bits) { return half_float((uint16_t)bits); }
};
/* Types with f16 scales at byte 0 and f16 minima at byte 2. */
struct gpu_scale_min_f16 : gpu_scale_f16 {
	enum { MIN = 1 };
	GPU_FN uint32_t min_bits(const unsigned char *p) { return tile_u16(p + 2); }
};
#endif
