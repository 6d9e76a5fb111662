/* kern/x86/mm_grid_tile.h - products with panels of codebook and ternary weights (blocks of 256),
 * by the operations of int.h and points.h (x86).
 *
 *   panel  per block, each field [NR]: d' f32 | 128 sum of S q, i32 | S, 8 of 32 weights or 16 of
 *          16 (ternary: none) | q i8 [64][NR][4], with signs and shifts
 *   tile   NR rows x T rows of x: 4 bytes of x + 128, unsigned, broadcast; the second field is
 *          subtracted
 *   isum = sum of S (q . x), exact; y = fma(d' dx, isum, y) */

#include "kern/x86/grid.h"
#include "kern/x86/point_words.h"

INLINE int g_scales(enum infer_type t) { return g_ternary(t) ? 0 : g_by16(t) ? 16 : 8; }
INLINE size_t panel_grid(enum infer_type t)
{
	return (size_t)NR * 4 * (size_t)(2 + g_scales(t) + 64);
}

/* Set u to q of IQ1: 8 G plus the shifts. */
INLINE void shift_points(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	/* q = 8 (G + 1) - 7 or - 9 */
	uint8_t off[32];

	for (int g = 0; g < 32; g++)
		off[g] = t == INFER_IQ1_S ? 7 + (p[35 + 2 * (g / 4)] >> 6 & 2)
		                          : 7 + (p[32 + g / 2] >> 4 * (g & 1) >> 2 & 2);
	UNROLL
	for (int k = 0; k < 8; k++) {
		const __m256i byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
		                                        0x0303030303030303);
		__m256i o = _mm256_shuffle_epi8(_mm256_set1_epi32((int)num_u32(off + 4 * k)), byte);
		u[k] = _mm256_sub_epi8(_mm256_slli_epi16(u[k], 3), o);
	}
}

/* Unpack q of a block to u.  Returns 8 partial sums of S q. */
INLINE __m256i weights_grid(enum infer_type t, __m256i u[8], __m256i s, const uint8_t *p)
{
	__m256i acc = _mm256_setzero_si256();
	uint16_t at[64];
	uint8_t buf[32];

	indices_get(t, at, p);
	unpack_grid(t, u, at, p);
	if (g_ternary(t)) {
		UNROLL
		for (int k = 0; k < 8; k++)
			u[k] = _mm256_sub_epi8(u[k], _mm256_set1_epi8(1));
	} else if (g_is1(t)) {
		shift_points(t, u, p);
	} else {
		const uint8_t *signs = signs_at(t, buf, p);
		UNROLL
		for (int k = 0; k < 8; k++)
			u[k] = sign_apply(u[k], sign_load(signs + 4 * k));
	}
	UNROLL
	for (int k = 0; k < 8; k++) {
		const __m256i word = _mm256_set1_epi16((short)(2 * k | (2 * k + 1) << 8));
		acc = mac16(acc, _mm256_maddubs_epi16(_mm256_set1_epi8(1), u[k]),
		            _mm256_shuffle_epi8(s, word));
	}
	return acc;
}

/* Store d and S of row r of the panel at dst. */
INLINE void header_put(enum infer_type t, uint8_t *dst, __m256i s, const uint8_t *p, int r)
{
	float d = num_f16(g_d_bits(t, p)) * g_factor(t);
	int16_t words[16];

	_mm256_storeu_si256((__m256i *)(void *)words, s);
	memcpy(dst + r * 4, &d, 4);
	for (int i = 0; i < g_scales(t); i++) {
		int32_t v = S_UNIT * words[g_by16(t) ? i / 2 + 8 * (i & 1) : i];
		memcpy(dst + ((2 + i) * NR + r) * 4, &v, 4);
	}
}

INLINE void pack_grid(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                      int k)
{
	for (int b = 0; b < k / 256; b++, w += block_bytes(type), dst += panel_grid(type)) {
		uint8_t *q = dst + NR * 4 * (2 + g_scales(type));
		for (int half = 0; half < NR; half += 8) {
			__m256i v[8][8], off[8];
			for (int r = 0; r < 8; r++) {
				/* missing rows repeat the last one */
				const uint8_t *p =
					w + (size_t)(half + r < n ? half + r : n - 1) * row_bytes;
				__m256i u[8], s = g_ternary(type) ? _mm256_set1_epi16(1)
				                                  : scales_grid(type, p);
				header_put(type, dst, s, p, half + r);
				off[r] = weights_grid(type, u, s, p);
				UNROLL
				for (int i = 0; i < 8; i++)
					v[i][r] = u[i];
			}
			_mm256_storeu_si256((__m256i *)(void *)(dst + (NR + half) * 4),
			                    _mm256_slli_epi32(hsum8(off), 7));
			for (int i = 0; i < 8; i++) {
				transpose8(v[i]);
				UNROLL
				for (int j = 0; j < 8; j++)
					_mm256_storeu_si256(
						(__m256i *)(void *)(q + (i * 8 + j) * NR * 4 +
					                            half * 4),
						v[i][j]);
			}
		}
	}
}

/* isum[t][h] += S times the sums over one group of weights, for tn rows of x. */
INLINE void group_sum(enum infer_type type, int tn, wi *isum, const uint8_t *q, const uint8_t *s,
                      uint8_t (*x)[256], int at)
{
	wi sub[TILE_T * H];

	UNROLL
	for (int i = 0; i < tn * H; i++)
		sub[i] = wi_set(0);
	UNROLL
	for (int i = 0; i < group(type); i++) {
		wi w[H];
		UNROLL
		for (int h = 0; h < H; h++)
			w[h] = wi_load(q + i * NR * 4 + h * LANES * 4);
		UNROLL
		for (int t = 0; t < tn; t++) {
			wi xv = wi_set((int32_t)num_u32(x[t] + at + 4 * i));
			UNROLL
			for (int h = 0; h < H; h++)
				sub[t * H + h] = group_add(sub[t * H + h], xv, w[h]);
		}
	}
	UNROLL
	for (int i = 0; i < tn * H; i++)
		isum[i] = group_scale(isum[i], sub[i],
		                      g_ternary(type) ? wi_set(S_UNIT)
		                                      : wi_load(s + i % H * LANES * 4));
}

INLINE void tile_grid(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                      const struct kern_act *x, int x_row, int n, int k)
{
	/* number of groups that share S */
	const int share = 64 / (g_ternary(type) ? 1 : g_scales(type)) / group(type);
	wf sum[TILE_T * H];

	UNROLL
	for (int i = 0; i < tn * H; i++)
		sum[i] = wf_set(0);
	for (int b = 0; b < k / 256; b++, p += panel_grid(type)) {
		const uint8_t *s = p + NR * 4 * 2, *q = s + NR * 4 * g_scales(type);
		uint8_t u[TILE_T][256];
		wi isum[TILE_T * H];
		for (int t = 0; t < tn; t++)
			for (int i = 0; i < 256; i += 32)
				_mm256_storeu_si256(
					(__m256i *)(void *)(u[t] + i),
					_mm256_xor_si256(load32(act_q8k(x, x_row + t)[b].q + i),
				                         _mm256_set1_epi8((char)128)));
		UNROLL
		for (int i = 0; i < tn * H; i++)
			isum[i] = wi_set(0);
		for (int i = 0; i < 64; i += group(type), q += NR * 4 * group(type))
			group_sum(type, tn, isum, q, s + NR * 4 * (i / group(type) / share), u,
			          4 * i);
		UNROLL
		for (int i = 0; i < tn * H; i++) {
			const uint8_t *at = p + i % H * LANES * 4;
			wf dx = wf_set(act_q8k(x, x_row + i / H)[b].d);
			isum[i] = wi_sub(isum[i], wi_load(at + NR * 4));
			sum[i] = wf_fma(wf_mul(wf_load(at), dx), wf_from(isum[i]), sum[i]);
		}
	}
	UNROLL
	for (int i = 0; i < tn * H; i++)
		wf_put(y + (size_t)(i / H) * ldy + i % H * LANES, sum[i], n - i % H * LANES);
}

#define ROW(TYPE, name) \
	TILE_OF(tile_grid, TYPE, name, TILE_T) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack_grid(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 256) * panel_grid(INFER_##TYPE); \
	}
KERN_ROWS_GRID(ROW)
KERN_ROWS_TERNARY(ROW)
#undef ROW
