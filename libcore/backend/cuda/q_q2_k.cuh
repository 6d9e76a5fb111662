/* backend/cuda/q_q2_k.cuh (private) - Q2_K in tiles (tile.cuh; the codes: part.cuh).
 * The file: u8 scales[16]: low half the scale of 16 elements, high half their minimum, u8 qs[64]:
 * byte 32 H + l has element 128 H + 32 j + l at bit 2 j, f16 d, dmin; weight = d scale q - dmin
 * min.
 *
 *      slice  tile_part2
 *      head   [16 rows] u8 scales[16] as in the file, [16 rows] { f16 d, f16 dmin }
 *
 * A code times its scale is at most 45, so scale q is one signed byte of the product.  For a whole
 * block, isum = sum of (scale q) x and imin = sum of min x are exact integers in the accumulators
 * of mma:
 *      t = fma(d, (float)isum, -(dmin * (float)imin))
 * Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q2_K_CUH
#define BACKEND_CUDA_Q_Q2_K_CUH
#include "backend/cuda/part.cuh"

struct gpu_q2_k : tile_part2 {
	typedef tile_part2 P;
	enum {
		TYPE = INFER_Q2_K,
		FORM = GPU_I8,
		SLICES = GPU_BLOCK / TILE_I8_K,
		ROW = 16,
		D_AT = GPU_GROUP * ROW,
		D_BYTES = 4,
		HEAD = D_AT + GPU_GROUP * D_BYTES,
		TILE = SLICES * SLICE + HEAD,
		SUMS = 0,
		RAW_K = GPU_BLOCK,
		RAW = 84,
		QS = 16,
		D = 80,
	};
	struct head {
		uint4 row[2]; /* rows g, g + 8 */
		uint32_t d[2];
	};
	struct scale {
		uint32_t v[2]; /* [row]: four bytes, one for each 16 of k */
	};
	struct end {
		uint32_t d[2];
	};
	struct acc {
		int s[4], m[4];
	};

	GPU_FN int code(const unsigned char *p, int k)
	{
		return p[QS + k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3;
	}
	template <class M> GPU_FN end load_end(const unsigned char *at, int lane)
	{
		end e;

		for (int i = 0; i < 2; i++)
			e.d[i] = M::load4(at + D_AT + tile_row(lane, i) * D_BYTES);
		return e;
	}
	template <class M> GPU_FN head load_head(const unsigned char *at, int lane)
	{
		end e = load_end<M>(at, lane);
		head v;

		for (int i = 0; i < 2; i++) {
			v.row[i] = M::load16(at + tile_row(lane, i) * ROW);
			v.d[i] = e.d[i];
		}
		return v;
	}
	GPU_FN end get_end(const head &v, int)
	{
		end e = { { v.d[0], v.d[1] } };

		return e;
	}
	GPU_FN scale get_scale(const head &v, int s)
	{
		scale c = { { tile_word(v.row[0], s), tile_word(v.row[1], s) } };

		return c;
	}
	template <class M> GPU_FN scale load_scale(const unsigned char *at, int s, int lane)
	{
		const unsigned char *row = at + tile_row(lane, 0) * ROW + s * TILE_WORD;
		scale c = { { M::load4(row), M::load4(row + 8 * ROW) } };

		return c;
	}
	template <int TERMS>
	GPU_FN void add(acc &sum, const struct tile_frag &f, const scale &v, const uint4 *x)
	{
#pragma unroll
		for (int h = 0; h < 2; h++) {
			uint32_t q[4], m[4], b[2];

#pragma unroll
			for (int r = 0; r < 4; r++) {
				uint32_t byte = v.v[r % 2] >> 8 * (2 * h + r / 2);

				q[r] = f.a[h][r] * (byte & 15);
				m[r] = tile_bytes(byte >> 4 & 15);
			}
			tile_b(b, x[0], h);
			mma_s8_32(sum.s, q, b);
			mma_s8_32(sum.m, m, b);
		}
	}
	GPU_FN void finish(float t[4], const acc &sum, const end &e, const struct tile_sums &)
	{
		for (int i = 0; i < 4; i++)
			t[i] = fmaf(tile_half(e.d[i / 2], 0), (float)sum.s[i],
			            -(tile_half(e.d[i / 2], 1) * (float)sum.m[i]));
	}

	GPU_FN uint32_t word(const struct tile_raw *w, int i)
	{
		int s = i * TILE_WORD / SLICE, at = i * TILE_WORD - SLICES * SLICE, d = at >= D_AT;
		uint32_t v = 0;

		if (s < SLICES)
			return P::word<gpu_q2_k>(w, s, i % (SLICE / TILE_WORD));
		const unsigned char *p =
			tile_raw_at(w, d ? (at - D_AT) / D_BYTES : at / ROW, 0, RAW_K, RAW);

		for (int j = 0; p && j < TILE_WORD; j++)
			v |= (uint32_t)p[d ? D + j : at % ROW + j] << 8 * j;
		return v;
	}
	GPU_FN float get(const unsigned char *tile, int r, int k)
	{
		const unsigned char *head = tile + SLICES * SLICE, *at = head + D_AT + r * D_BYTES;
		int byte = head[r * ROW + k / 16],
		    q = tile_value<P>(tile + k / TILE_I8_K * SLICE, r, k % TILE_I8_K);
		float d = half_float((uint16_t)tile_u16(at)) * (float)(byte & 15),
		      min = half_float((uint16_t)tile_u16(at + 2)) * (float)(byte >> 4);

		return d * (float)q - min;
	}
};
#endif
