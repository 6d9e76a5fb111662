/* Products in place of the IQ2 and IQ3 types, 64 points of a row at a time.
 *
 *   rows   8 rows in place.  Codes of points are looked up in registers by all 8 bits of 64 bytes, and
 *          weights by 6 bits of them, so that a register has the weights 4 i + t of a block, i = 0 ...
 *          63, for each t of four; x stands in the same order, and takes the signs.  A dword is then
 *          16 weights, which share a scale; a transposing tree of adds makes 8 sums
 *   isum = sum of S (q . x), exact; y = fma(d' dx, isum, y)
 *   y, layouts, bytes per flop, limits: ref/mm_grid.c;  panels: tmpl/mm_grid_tile.h */
#include "kern/avx512vbmi/points.h"

/* Weights without signs by 6 bits: of three coordinates that have two of them, of two that have three. */
#define V2(c) (int8_t)(8 + 17 * (c) + ((c) >> 1))
#define V2_0(c) V2((c) & 3)
#define V2_1(c) V2((c) >> 2 & 3)
#define V2_2(c) V2((c) >> 4)
#define V3A_0(c) (int8_t) V3A((c) & 7)
#define V3A_1(c) (int8_t) V3A((c) >> 3)
#define V3B_0(c) (int8_t) V3B((c) & 7)
#define V3B_1(c) (int8_t) V3B((c) >> 3)
_Alignas(64) static const int8_t value2[3][64] = {{ALL64(V2_0)}, {ALL64(V2_1)}, {ALL64(V2_2)}},
                                 value3a[2][64] = {{ALL64(V3A_0)}, {ALL64(V3A_1)}},
                                 value3b[2][64] = {{ALL64(V3B_0)}, {ALL64(V3B_1)}};

/* weights 4 i + j of a block without signs, of its codes */
INLINE vb values(enum infer_type t, const vb code[2], int j)
{
	if (t == INFER_IQ3_XXS || t == INFER_IQ3_S)
		return _mm512_permutexvar_epi8(
		    code[j / 2], vb_load(t == INFER_IQ3_S ? value3b[j % 2] : value3a[j % 2]));
	if (j == 3)
		return _mm512_permutexvar_epi8(_mm512_srli_epi16(code[0], 2), vb_load(value2[2]));
	return _mm512_permutexvar_epi8(code[0], vb_load(value2[j]));
}

/* blocks that 64 points are */
INLINE int blocks_at_once(enum infer_type t) { return g_is3(t) ? 1 : 2; }

/* the codes and signs of block h of those of a */
INLINE void block_of(enum infer_type t, vb code[2], vb *sign, const struct about *a, int h)
{
	if (g_is3(t)) {
		code[0] = a->code[0], code[1] = a->code[1];
		*sign = a->sign;
	} else if (h == 0) {
		code[0] = _mm512_unpacklo_epi8(a->code[0], a->code[1]);
		*sign = _mm512_unpacklo_epi8(a->sign, a->sign);
	} else {
		code[0] = _mm512_unpackhi_epi8(a->code[0], a->code[1]);
		*sign = _mm512_unpackhi_epi8(a->sign, a->sign);
	}
}

/* x of a block: byte i of y[t] is 4 i + t */
INLINE void x_turn(vb y[4], const int8_t *x)
{
	const vb fourths = _mm512_set_epi64(
	    0x7d7975716d696561, 0x5d5955514d494541, 0x3d3935312d292521, 0x1d1915110d090501,
	    0x7c7874706c686460, 0x5c5854504c484440, 0x3c3834302c282420, 0x1c1814100c080400);
	vb v[2][2];

	UNROLL
	for (int i = 0; i < 2; i++) {
		vb a = vb_load(x + 128 * i), b = vb_load(x + 128 * i + 64);
		UNROLL
		for (int t = 0; t < 2; t++)
			v[i][t] = _mm512_permutex2var_epi8(
			    a, _mm512_or_si512(fourths, _mm512_set1_epi8((char)(2 * t))), b);
	}
	UNROLL
	for (int t = 0; t < 2; t++) {
		y[2 * t] = _mm512_shuffle_i64x2(v[0][t], v[1][t], 0x44);
		y[2 * t + 1] = _mm512_shuffle_i64x2(v[0][t], v[1][t], 0xee);
	}
}

/* products of a block of a row with x of tn rows, a dword for each 16 weights */
INLINE void products(enum infer_type type, int tn, vb a[4][8], int r, const struct about *about,
                     int h, vb x[4][4])
{
	vb code[2], sign, acc[4];

	block_of(type, code, &sign, about, h);
	UNROLL
	for (int j = 0; j < 4; j++) {
		vb u = values(type, code, j);
		__mmask64 minus =
		    _mm512_test_epi8_mask(sign, _mm512_set1_epi16((short)(0x1001 << j)));
		UNROLL
		for (int t = 0; t < tn; t++)
			acc[t] = wi_dot(j ? acc[t] : wi_set(0), u,
			                _mm512_mask_sub_epi8(x[t][j], minus, wi_set(0), x[t][j]));
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		a[t][r] = wi_mul(acc[t], about->s[h]);
}

INLINE void rows_points(enum infer_type type, int tn, float *y, size_t ldy, const struct step *s,
                        const struct kern_act *x, int x_row, int k)
{
	const int bytes = g_bytes(type), n = blocks_at_once(type), blocks = k / 256;
	const uint8_t *w = s->w;
	vb table[2][BOOK];
	__m256 sum[4];

	tables_get(type, table);
	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = _mm256_setzero_ps();
	for (int b = 0; b < blocks; b += n, w += n * bytes) {
		/* a block that has none beside it is looked up twice */
		const int left = b + n <= blocks ? n : 1;
		struct about about[8];
		ask8(s->w, s->stride, b * bytes, (b + n) * bytes);
		for (int r = 0; r < 8; r++) {
			const uint8_t *p = w + (size_t)r * s->stride;
			about_get(type, &about[r], table, p, p + (left - 1) * bytes);
		}
		/* they stand in memory */
		__asm__("" : "+m"(about));
		UNROLL
		for (int h = 0; h < n; h++) {
			vb xs[4][4], a[4][8];
			if (h == left)
				break;
			UNROLL
			for (int t = 0; t < tn; t++)
				x_turn(xs[t], act_q8k(x, x_row + t)[b + h].q);
			for (int r = 0; r < 8; r++)
				products(type, tn, a, r, &about[r], h, xs);
			__m256 d = _mm256_mul_ps(halves8(w + h * bytes, s->stride),
			                         _mm256_set1_ps(g_factor(type)));
			UNROLL
			for (int t = 0; t < tn; t++) {
				__m256 dx = _mm256_set1_ps(act_q8k(x, x_row + t)[b + h].d);
				sum[t] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx),
				                         _mm256_cvtepi32_ps(red8w(a[t])), sum[t]);
			}
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, sum[t], s);
}

#define ROW(TYPE, name) ROWS_OF(rows_points, TYPE, name)
KERN_ROWS_GRID23(ROW)
