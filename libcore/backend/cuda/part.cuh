/* backend/cuda/part.cuh (private) - how int8 products store a slice of 16 rows x 64 of k, by the
 * number of bits of a code.  Register n = 4 h + r of a lane is register r of step h (tile.cuh); its
 * four codes are in the four bytes.
 *
 *   tile_part8      16 + 16 bytes a lane: the registers, unpacked
 *   tile_part4<UP>  16: word r = register r in the low, register 4 + r in the high halves of bytes
 *   tile_part5<UP>  16 + 4: as part4; bit n of the last word's bytes is the fifth bit of register n
 *   tile_part6      16 + 8: word 3 h + j, j < 3: register j of step h in bits 2 - 7; bits 0 and 1:
 *                   bits 5 - 2 j and 4 - 2 j of register 3
 *   tile_part3      8 + 4: word h: register r of step h at bit 2 r; third bits as in part5
 *   tile_part2      8: word h as in part3
 *   tile_part4t<T>  16: word j: registers 2 j and 2 j + 1, four halves of a byte each; T is a table
 *
 * The int8 that enters the product is the code shifted left by UP (part6: 2, part3: 5).  The tile
 * stores the code's top bit inverted: as a signed byte, the shifted code is then (code - half) *
 * 2^UP, so a mask replaces the subtraction.  The scale is divided by 2^UP, which is exact.
 *
 * A type T that uses a part defines RAW_K, RAW (elements and bytes of the file's block) and
 *   int code(p, k)    the stored code of element k of the file's block p */
#ifndef BACKEND_CUDA_PART_CUH
#define BACKEND_CUDA_PART_CUH
#include "backend/cuda/tile.cuh"

GPU_FN uint32_t tile_shift(uint32_t v, int left) { return left < 0 ? v >> -left : v << left; }
GPU_FN uint32_t tile_bytes(uint32_t byte) { return byte * 0x01010101u; }

/* Return the code of element k < 32 of qs[16]: elements 0 ... 15 are low halves, 16 ... 31 high. */
GPU_FN int tile_nibble(const unsigned char *qs, int k)
{
	return k < 16 ? qs[k] & 15 : qs[k - 16] >> 4;
}
/* Return the four codes of register r of step h of slice s, one in each byte. */
template <class T>
GPU_FN uint32_t tile_codes(const struct tile_raw *w, int s, int lane, int h, int r)
{
	int k = s * TILE_I8_K + tile_i8_k(lane, r, h);
	const unsigned char *p = tile_raw_at(w, tile_row(lane, r), k, T::RAW_K, T::RAW);
	uint32_t v = 0;

	for (int i = 0; p && i < 4; i++)
		v |= (uint32_t)(T::code(p, (k + i) % T::RAW_K) & 255) << 8 * i;
	return v;
}
/* Return the value of row `row` and element k < 64 of a slice, as unpack computes it. */
template <class P> GPU_FN int tile_value(const unsigned char *slice, int row, int k)
{
	int lane = row % 8 * 4 + k % 16 / 4, n = k / 32 * 4 + k % 32 / 16 * 2 + row / 8;
	struct tile_frag f = P::unpack(P::template load<tile_shared>(slice, lane));
	uint32_t v = 0;

#pragma unroll
	for (int i = 0; i < 8; i++)
		v = i == n ? f.a[i / 4][i % 4] : v;
	return (int8_t)(v >> 8 * (k % 4)) >> P::UP;
}

struct tile_part8 {
	enum { UP = 0, SLICE = 2 * TILE_LOAD };
	struct part {
		uint4 step[2];
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

#pragma unroll
		for (int n = 0; n < 8; n++)
			f.a[n / 4][n % 4] = tile_word(p.step[n / 4], n % 4);
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		return tile_codes<T>(w, s, i / 4 % TILE_LANES, i / (4 * TILE_LANES), i % 4);
	}
};

template <int LEFT> struct tile_part4 {
	enum { UP = LEFT, SLICE = TILE_LOAD };
	struct part {
		uint4 q;
	};
	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p = { M::load16(slice + lane * TILE_LANE) };

		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		struct tile_frag f;

#pragma unroll
		for (int n = 0; n < 8; n++)
			f.a[n / 4][n % 4] = tile_shift(tile_word(p.q, n % 4), UP - 4 * (n / 4)) &
			                    tile_bytes(15u << UP);
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		return tile_codes<T>(w, s, i / 4, 0, i % 4) | tile_codes<T>(w, s, i / 4, 1, i % 4)
		                                                      << 4;
	}
};

template <int LEFT> struct tile_part5 {
	enum { UP = LEFT, SLICE = TILE_LOAD + TILE_LANES * TILE_WORD };
	struct part {
		uint4 q;
		uint32_t top;
	};
	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p = { M::load16(slice + lane * TILE_LANE),
			   M::load4(slice + TILE_LOAD + lane * TILE_WORD) };

		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		struct tile_frag f;

#pragma unroll
		for (int n = 0; n < 8; n++) {
			uint32_t v = tile_shift(tile_word(p.q, n % 4), UP - 4 * (n / 4));

			f.a[n / 4][n % 4] = (v & tile_bytes(15u << UP)) |
			                    (tile_shift(p.top, UP + 4 - n) & tile_bytes(16u << UP));
		}
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		uint32_t v = 0;

		if (i < TILE_LOAD / TILE_WORD)
			return (tile_codes<T>(w, s, i / 4, 0, i % 4) & tile_bytes(15)) |
			       (tile_codes<T>(w, s, i / 4, 1, i % 4) & tile_bytes(15)) << 4;
		for (int n = 0; n < 8; n++)
			v |= (tile_codes<T>(w, s, i % TILE_LANES, n / 4, n % 4) >> 4 &
			      tile_bytes(1))
			     << n;
		return v;
	}
};

struct tile_part6 {
	enum { UP = 2, SLICE = TILE_LOAD + TILE_LANES * 8 };
	struct part {
		uint4 q;
		uint2 rest;
	};
	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p = { M::load16(slice + lane * TILE_LANE),
			   M::load8(slice + TILE_LOAD + lane * 8) };

		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		const uint32_t w[6] = { p.q.x, p.q.y, p.q.z, p.q.w, p.rest.x, p.rest.y };
		struct tile_frag f;

#pragma unroll
		for (int h = 0; h < 2; h++) {
			const uint32_t *v = w + 3 * h;

			for (int r = 0; r < 3; r++)
				f.a[h][r] = v[r] & tile_bytes(0xfc);
			f.a[h][3] = (v[0] << 6 & tile_bytes(0xc0)) |
			            (v[1] << 4 & tile_bytes(0x30)) | (v[2] << 2 & tile_bytes(0x0c));
		}
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		int rest = i - TILE_LOAD / TILE_WORD, lane = rest < 0 ? i / 4 : rest / 2,
		    n = rest < 0 ? i % 4 : 4 + rest % 2, h = n / 3, j = n % 3;

		return tile_codes<T>(w, s, lane, h, j) << 2 |
		       (tile_codes<T>(w, s, lane, h, 3) >> (4 - 2 * j) & tile_bytes(3));
	}
};

struct tile_part3 {
	enum { UP = 5, SLICE = TILE_LANES * 12 };
	struct part {
		uint2 q;
		uint32_t top;
	};
	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p = { M::load8(slice + lane * 8),
			   M::load4(slice + TILE_LANES * 8 + lane * TILE_WORD) };

		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		struct tile_frag f;

#pragma unroll
		for (int n = 0; n < 8; n++) {
			uint32_t v = tile_shift(n / 4 ? p.q.y : p.q.x, UP - 2 * (n % 4));

			f.a[n / 4][n % 4] = (v & tile_bytes(0x60)) |
			                    (tile_shift(p.top, UP + 2 - n) & tile_bytes(0x80));
		}
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		int low = i < TILE_LANES * 2, lane = low ? i / 2 : i % TILE_LANES;
		uint32_t v = 0;

		for (int n = 0; n < 8; n++) {
			uint32_t c = tile_codes<T>(w, s, lane, n / 4, n % 4);

			if (low)
				v |= n / 4 == i % 2 ? (c & tile_bytes(3)) << 2 * (n % 4) : 0;
			else
				v |= (c >> 2 & tile_bytes(1)) << n;
		}
		return v;
	}
};

struct tile_part2 {
	enum { UP = 0, SLICE = TILE_LANES * 8 };
	struct part {
		uint2 q;
	};
	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p = { M::load8(slice + lane * 8) };

		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		struct tile_frag f;

#pragma unroll
		for (int n = 0; n < 8; n++)
			f.a[n / 4][n % 4] = (n / 4 ? p.q.y : p.q.x) >> 2 * (n % 4) & tile_bytes(3);
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		uint32_t v = 0;

		for (int r = 0; r < 4; r++)
			v |= tile_codes<T>(w, s, i / 2, i % 2, r) << 2 * r;
		return v;
	}
};

/* TABLE::table(j): values 4 j ... 4 j + 3 of the 16 values of codes, one in each byte */
template <class TABLE> struct tile_part4t {
	enum { UP = 0, SLICE = TILE_LOAD };
	struct part {
		uint4 q;
	};
	template <class M> GPU_FN part load(const unsigned char *slice, int lane)
	{
		part p = { M::load16(slice + lane * TILE_LANE) };

		return p;
	}
	GPU_FN struct tile_frag unpack(const part &p)
	{
		struct tile_frag f;

#pragma unroll
		for (int n = 0; n < 8; n++) {
			uint32_t q = tile_word(p.q, n / 2), at = (q & 0x77777777u) >> 16 * (n % 2),
				 which = (0x32103210u | (q & 0x88888888u) >> 1) >> 16 * (n % 2),
				 low = __byte_perm(TABLE::table(0), TABLE::table(1), at & 0xffff),
				 high = __byte_perm(TABLE::table(2), TABLE::table(3), at & 0xffff);

			f.a[n / 4][n % 4] = __byte_perm(low, high, which & 0xffff);
		}
		return f;
	}
	template <class T> GPU_FN uint32_t word(const struct tile_raw *w, int s, int i)
	{
		uint32_t v = 0;

		for (int n = i % 4 * 2; n < i % 4 * 2 + 2; n++) {
			uint32_t c = tile_codes<T>(w, s, i / 4, n / 4, n % 4);

			for (int j = 0; j < 4; j++)
				v |= (c >> 8 * j & 15) << (16 * (n % 2) + 4 * j);
		}
		return v;
	}
};
#endif
