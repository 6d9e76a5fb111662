/* backend/cuda/super.cuh (private) - int8 products of types with integer scales in a block of 256:
 * T::SCALES = 8 or 16 scales, for 32 or 16 of k each, and perhaps 8 minima.  Tiles: tile.cuh;
 * codes: part.cuh.
 *
 *      slice  T::P
 *      head   [16 rows] { i8 scale[SCALES], T::MIN: u8 minimum[8] },
 *             [16 rows] { f16 d, T::MIN: f16 dmin }
 *
 * isum = sum over groups of scale * sum(q x) and imin = sum over groups of minimum * sum(x) are
 * exact integers (|isum| < 2^30: 256 * 128 * 128 * 127).
 *      t = fma(d, (float)isum, -(dmin * (float)imin)); without minima t = d * (float)isum
 * d includes 2^-UP of the part.
 *
 * T defines TYPE, RAW_K = 256, RAW, MIN, SCALES, D (byte of d, then dmin); P; code(p, k); scale(p,
 * j), min(p, j) of the file's block p. */
#ifndef BACKEND_CUDA_SUPER_CUH
#define BACKEND_CUDA_SUPER_CUH
#include "backend/cuda/part.cuh"

template <class T> struct gpu_tile_super : T::P {
	typedef typename T::P P;
	enum {
		TYPE = T::TYPE,
		FORM = GPU_I8,
		SLICES = GPU_BLOCK / TILE_I8_K,
		SLICE = P::SLICE,
		GROUPS = GPU_BLOCK / TILE_SUM_K,
		HALF = T::SCALES > GROUPS,        /* 1: a scale for each 16 of k */
		SCALE_BYTES = T::SCALES / SLICES, /* bytes of scales of a row in a slice */
		ROW = T::SCALES + (T::MIN ? GROUPS : 0),
		D_BYTES = T::MIN ? 4 : 2,
		D_AT = GPU_GROUP * ROW,
		HEAD = D_AT + GPU_GROUP * D_BYTES,
		TILE = SLICES * SLICE + HEAD,
		SUMS = T::MIN,
	};
	struct head {
		uint4 row[2]; /* rows g, g + 8 */
		uint32_t d[2];
	};
	struct scale {
		int v[4][2]; /* [16 of k; with scales of 32, steps][row] */
	};
	struct end {
		uint32_t d[2], m[2]; /* d and dmin; minima as A fragment of mma_s8_16 */
	};
	struct acc {
		int s[4];
	};

	template <class M> GPU_FN uint32_t load_d(const unsigned char *at, int r)
	{
		return T::MIN ? M::load4(at + D_AT + r * D_BYTES)
		              : M::load2(at + D_AT + r * D_BYTES);
	}
	template <class M> GPU_FN head load_head(const unsigned char *at, int lane)
	{
		head v = {};

#pragma unroll
		for (int i = 0; i < 2; i++) {
			int r = tile_row(lane, i);

			if (ROW == 16) {
				v.row[i] = M::load16(at + r * ROW);
			} else {
				uint2 d = M::load8(at + r * ROW);

				v.row[i].x = d.x;
				v.row[i].y = d.y;
			}
			v.d[i] = load_d<M>(at, r);
		}
		return v;
	}
	/* Return the scales of a slice for rows g and g + 8.  row0, row1: their bytes */
	GPU_FN scale make_scale(uint32_t row0, uint32_t row1)
	{
		scale s;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			s.v[i][0] = (int8_t)(row0 >> 8 * i);
			s.v[i][1] = (int8_t)(row1 >> 8 * i);
		}
		return s;
	}
	GPU_FN scale get_scale(const head &v, int s)
	{
		int at = s * SCALE_BYTES / 4, bit = s * SCALE_BYTES % 4 * 8;

		return make_scale(tile_word(v.row[0], at) >> bit, tile_word(v.row[1], at) >> bit);
	}
	template <class M> GPU_FN scale load_scale(const unsigned char *at, int s, int lane)
	{
		const unsigned char *row0 = at + tile_row(lane, 0) * ROW + s * SCALE_BYTES,
				    *row1 = row0 + 8 * ROW;

		return HALF ? make_scale(M::load4(row0), M::load4(row1))
		            : make_scale(M::load2(row0), M::load2(row1));
	}
	GPU_FN end get_end(const head &v, int lane)
	{
		end e;

#pragma unroll
		for (int i = 0; i < 2; i++) {
			uint32_t m = lane % 2 ? v.row[i].w : v.row[i].z;

			e.d[i] = v.d[i];
			e.m[i] = T::MIN && lane % 4 < 2 ? m : 0;
		}
		return e;
	}
	template <class M> GPU_FN end load_end(const unsigned char *at, int lane)
	{
		end e;

#pragma unroll
		for (int i = 0; i < 2; i++) {
			int r = tile_row(lane, i);

			e.d[i] = load_d<M>(at, r);
			e.m[i] = T::MIN && lane % 4 < 2
			                 ? M::load4(at + r * ROW + T::SCALES + lane % 4 * TILE_WORD)
			                 : 0;
		}
		return e;
	}
	GPU_FN void add_half(acc &sum, const struct tile_frag &f, const scale &v, const uint4 *x,
	                     int h)
	{
		uint32_t b[2];

		tile_b(b, x[0], h);
#pragma unroll
		for (int u = 0; u < 2; u++) {
			int c[4] = { 0, 0, 0, 0 };

			mma_s8_16(c, f.a[h] + 2 * u, b[u]);
			for (int i = 0; i < 4; i++)
				sum.s[i] += v.v[2 * h + u][i / 2] * c[i];
		}
	}
	template <int TERMS>
	GPU_FN void add(acc &sum, const struct tile_frag &f, const scale &v, const uint4 *x)
	{
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int c[4] = { 0, 0, 0, 0 };
			uint32_t b[2];

			if (HALF) {
				add_half(sum, f, v, x, h);
				continue;
			}
			tile_b(b, x[0], h);
			mma_s8_32(c, f.a[h], b);
			for (int i = 0; i < 4; i++)
				sum.s[i] += v.v[h][i / 2] * c[i];
		}
	}
	GPU_FN void finish(float t[4], const acc &sum, const end &e, const struct tile_sums &x)
	{
		const float down = 1.0f / (1 << P::UP);
		int imin[4] = { 0, 0, 0, 0 };

		if (T::MIN)
			tile_minima(imin, e.m, x);
#pragma unroll
		for (int i = 0; i < 4; i++) {
			float d = tile_half(e.d[i / 2], 0) * down, isum = (float)sum.s[i];

			t[i] = T::MIN ? fmaf(d, isum, -(tile_half(e.d[i / 2], 1) * (float)imin[i]))
			              : d * isum;
		}
	}

	GPU_FN uint32_t head_word(const struct tile_raw *w, int i)
	{
		uint32_t v = 0;

		for (int j = 0; j < TILE_WORD; j++) {
			int at = i * TILE_WORD + j, d = at - D_AT,
			    r = d < 0 ? at / ROW : d / D_BYTES, n = at % ROW;
			const unsigned char *p = tile_raw_at(w, r, 0, T::RAW_K, T::RAW);
			int byte = !p              ? 0
			           : d >= 0        ? p[T::D + d % D_BYTES]
			           : n < T::SCALES ? T::scale(p, n)
			                           : T::min(p, n - T::SCALES);

			v |= (uint32_t)(byte & 255) << 8 * j;
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
		const unsigned char *head = tile + SLICES * SLICE, *row = head + r * ROW,
				    *at = head + D_AT + r * D_BYTES;
		float d = half_float((uint16_t)tile_u16(at)) *
		          (float)(int8_t)row[k / (GPU_BLOCK / T::SCALES)],
		      q = (float)tile_value<P>(tile + k / TILE_I8_K * SLICE, r, k % TILE_I8_K);

		return T::MIN ? d * q - half_float((uint16_t)tile_u16(at + D_BYTES - 2)) *
		                                (float)row[T::SCALES % ROW + k / TILE_SUM_K]
		              : d * q;
	}
};

struct gpu_super_base {
	enum { RAW_K = GPU_BLOCK };
	GPU_FN int min(const unsigned char *, int) { return 0; }
};
/* Q4_K and Q5_K: pair j of the eight 6-bit scales and minima in 12 bytes. */
GPU_FN int tile_k4_scale(const unsigned char *sc, int j)
{
	return j < 4 ? sc[j] & 63 : (sc[j + 4] & 15) | sc[j - 4] >> 6 << 4;
}
GPU_FN int tile_k4_min(const unsigned char *sc, int j)
{
	return j < 4 ? sc[j + 4] & 63 : sc[j + 4] >> 4 | sc[j] >> 6 << 4;
}
#endif
