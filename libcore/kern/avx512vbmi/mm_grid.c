/* kern/avx512vbmi/mm_grid.c - products in place of the IQ2 and IQ3 types, 64 points of a row at a time.
 *
 *   rows   8 rows in place.  The codes of points are looked up in registers by all 8 bits of 64 bytes,
 *          and weights by 6 bits of the codes, so for each t of four a register has the weights
 *          4 i + t of a block, i = 0 ... 63; x is in the same order, and takes the signs.  IQ2 with
 *          one row of x: the products are of magnitudes of x, and the 6 bits include the signs of the
 *          weights combined with those of x.  A dword covers 16 weights, which share a scale; a
 *          transposing tree of adds makes 8 sums
 *   isum = sum of S (q . x), exact; y = fma(d' dx, isum, y)
 *   y, layouts, bytes per flop, limits: ref/mm_grid.c;  panels: x86/mm_grid_tile.h */
#include "kern/avx512vbmi/points.h"

/* Weights, looked up by 6 bits: three coordinates of two bits, two of three bits, or two of two
 * bits with signs. */
#define V2(c) (int8_t)(8 + 17 * (c) + ((c) >> 1))
#define V2_0(c) V2((c)&3)
#define V2_1(c) V2((c) >> 2 & 3)
#define V2_2(c) V2((c) >> 4)
#define V3A_0(c) (int8_t) V3A((c)&7)
#define V3A_1(c) (int8_t) V3A((c) >> 3)
#define V3B_0(c) (int8_t) V3B((c)&7)
#define V3B_1(c) (int8_t) V3B((c) >> 3)
#define V2S_0(c) (int8_t)((c) >> 4 & 1 ? -V2_0(c) : V2_0(c))
#define V2S_1(c) (int8_t)((c) >> 5 ? -V2_1(c) : V2_1(c))
_Alignas(64) static const int8_t value2[3][64] = { { ALL64(V2_0) },
	                                           { ALL64(V2_1) },
	                                           { ALL64(V2_2) } },
				 value3a[2][64] = { { ALL64(V3A_0) }, { ALL64(V3A_1) } },
				 value3b[2][64] = { { ALL64(V3B_0) }, { ALL64(V3B_1) } },
				 signed2[2][64] = { { ALL64(V2S_0) }, { ALL64(V2S_1) } };

INLINE vb value_by(vb code, const int8_t value[64])
{
	return _mm512_permutexvar_epi8(code, vb_load(value));
}

/* Return the number of blocks that 64 points cover. */
INLINE int blocks_at_once(enum infer_type t) { return g_is3(t) ? 1 : 2; }
/* True if the bits by which weights are looked up include the signs. */
INLINE int signs_in(enum infer_type t, int tn) { return tn == 1 && !g_is3(t); }

/* The unpacked fields of 64 points: both bytes of code, and signs; or the bits by which signed
 * weights are looked up, two bytes for coordinates t < 2, two for the others. s: as in struct
 * points */
struct lookup {
	vb at[4], s;
};

/* x: the signs of x of two blocks, in the order of the signs of the points */
INLINE void signs_add(struct lookup *a, const struct points *p, vb x)
{
	const vb low = _mm512_set1_epi8(15);
	vb s = _mm512_xor_si512(p->sign, x);

	UNROLL
	for (int i = 0; i < 4; i++) {
		vb four = i < 2 ? p->code[i] : _mm512_srli_epi16(p->code[i - 2], 4),
		   sign = i == 0   ? _mm512_slli_epi16(s, 4)
		          : i == 1 ? s
		          : i == 2 ? _mm512_slli_epi16(s, 2)
		                   : _mm512_srli_epi16(s, 2);
		/* the low bits of `four`, the high bits of `sign` */
		a->at[i] = _mm512_ternarylogic_epi32(low, four, sign, 0xca);
	}
}
INLINE vb signs_of(const int8_t *x, const int8_t *next)
{
	long long m[8];

	UNROLL
	for (int i = 0; i < 4; i++) {
		m[2 * i] = (long long)_mm512_movepi8_mask(vb_load(x + 64 * i));
		m[2 * i + 1] = (long long)_mm512_movepi8_mask(vb_load(next + 64 * i));
	}
	return _mm512_set_epi64(m[7], m[6], m[5], m[4], m[3], m[2], m[1], m[0]);
}

/* Load x of a block, or |x|: byte i of y[t] is element 4 i + t. */
INLINE void x_deinterleave(vb y[4], const int8_t *x, int magnitudes)
{
	const vb fourths = _mm512_set_epi64(
		0x7d7975716d696561, 0x5d5955514d494541, 0x3d3935312d292521, 0x1d1915110d090501,
		0x7c7874706c686460, 0x5c5854504c484440, 0x3c3834302c282420, 0x1c1814100c080400);
	vb v[2][2];

	UNROLL
	for (int i = 0; i < 2; i++) {
		vb a = vb_load(x + 128 * i), b = vb_load(x + 128 * i + 64);
		if (magnitudes)
			a = _mm512_abs_epi8(a), b = _mm512_abs_epi8(b);
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

/* Return the bytes of block h of two. */
INLINE vb unpack_half(int h, vb a, vb b)
{
	return h ? _mm512_unpackhi_epi8(a, b) : _mm512_unpacklo_epi8(a, b);
}

/* Return the products of block h of a row, at p, with a row of x whose signs are in a. */
INLINE vb products_one(enum infer_type type, const struct lookup *a, int h, const uint8_t *p,
                       const vb x[4])
{
	vb sum = wi_set(0);

	UNROLL
	for (int i = 0; i < 2; i++) {
		vb c = unpack_half(h, a->at[2 * i], a->at[2 * i + 1]);
		UNROLL
		for (int j = 0; j < 2; j++)
			sum = wi_dot(sum, x[2 * i + j], value_by(c, signed2[j]));
	}
	return wi_mul(sum, scale_of(type, a->s, h, p));
}

/* Likewise for tn rows of x; results in y[t][r]. */
INLINE void products(enum infer_type type, int tn, vb y[4][8], int r, const struct lookup *a, int h,
                     const uint8_t *p, vb x[4][4])
{
	vb sign = g_is3(type) ? a->at[2] : unpack_half(h, a->at[2], a->at[2]), sum[4];

	UNROLL
	for (int j = 0; j < 4; j++) {
		__mmask64 minus =
			_mm512_test_epi8_mask(sign, _mm512_set1_epi16((short)(0x1001 << j)));
		vb u;
		if (g_is3(type))
			u = value_by(a->at[j / 2],
			             type == INFER_IQ3_S ? value3b[j % 2] : value3a[j % 2]);
		else if (j < 3)
			u = value_by(unpack_half(h, a->at[0], a->at[1]), value2[j]);
		else
			u = value_by(_mm512_srli_epi16(unpack_half(h, a->at[0], a->at[1]), 2),
			             value2[2]);
		UNROLL
		for (int t = 0; t < tn; t++)
			sum[t] = wi_dot(j ? sum[t] : wi_set(0), u,
			                _mm512_mask_sub_epi8(x[t][j], minus, wi_set(0), x[t][j]));
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		y[t][r] = wi_mul(sum[t], scale_of(type, a->s, h, p));
}

/* Unpack 64 points of each of 8 rows at w.  x: the block of x; next: blocks to the second block. */
INLINE void lookups_get(enum infer_type type, int tn, struct lookup lookup[8],
                        const vb table[2][MAX_TABLES], const uint8_t *w, size_t stride,
                        const struct kern_q8k *x, int next)
{
	vb signs;

	if (signs_in(type, tn))
		signs = signs_of(x[0].q, x[next].q);
	for (int r = 0; r < 8; r++, w += stride) {
		struct points p;
		points_get(type, &p, table, w, w + next * block_bytes(type));
		if (signs_in(type, tn))
			signs_add(&lookup[r], &p, signs);
		else
			lookup[r].at[0] = p.code[0], lookup[r].at[1] = p.code[1],
			lookup[r].at[2] = p.sign;
		if (!g_by16(type))
			lookup[r].s = p.s;
	}
	/* make the compiler keep `lookup` in memory */
	__asm__("" : "+m"(*(struct lookup(*)[8])lookup));
}

/* sum += d' dx isum of n blocks.  y: their products; w, b: the first block. */
INLINE void sums_add(enum infer_type type, int tn, __m256 sum[4], vb y[2][4][8], int n,
                     const uint8_t *w, size_t stride, const struct kern_act *x, int x_row, int b)
{
	for (int h = 0; h < n; h++) {
		__m256 d = _mm256_mul_ps(f16x8(w + h * block_bytes(type), stride),
		                         _mm256_set1_ps(g_factor(type)));
		UNROLL
		for (int t = 0; t < tn; t++) {
			__m256 dx = _mm256_set1_ps(act_q8k(x, x_row + t)[b + h].d);
			sum[t] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx),
			                         _mm256_cvtepi32_ps(hsum8w(y[h][t])), sum[t]);
		}
	}
}

INLINE void rows_points(enum infer_type type, int tn, float *y, size_t ldy,
                        const struct row_group *s, const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type), n = blocks_at_once(type), blocks = k / 256;
	const uint8_t *w = s->w;
	vb table[2][MAX_TABLES], p[2][4][8];
	__m256 sum[4];
	int left = n;

	tables_get(type, table);
	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = _mm256_setzero_ps();
	for (int b = 0; b < blocks; b += n, w += n * bytes) {
		struct lookup lookup[8];
		prefetch8(s->w, s->stride, b * bytes, (b + n) * bytes);
		/* a last block without a neighbour is looked up twice */
		left = b + n <= blocks ? n : 1;
		lookups_get(type, tn, lookup, table, w, s->stride, act_q8k(x, x_row) + b, left - 1);
		/* here the products of the previous blocks are complete */
		if (b)
			sums_add(type, tn, sum, p, n, w - n * bytes, s->stride, x, x_row, b - n);
		UNROLL
		for (int h = 0; h < n; h++) {
			vb xs[4][4];
			if (h == left)
				break;
			UNROLL
			for (int t = 0; t < tn; t++)
				x_deinterleave(xs[t], act_q8k(x, x_row + t)[b + h].q,
				               signs_in(type, tn));
			for (int r = 0; r < 8; r++) {
				const uint8_t *at = w + (size_t)r * s->stride;
				if (signs_in(type, tn))
					p[h][0][r] = products_one(type, &lookup[r], h, at, xs[0]);
				else
					products(type, tn, p[h], r, &lookup[r], h, at, xs);
			}
		}
	}
	sums_add(type, tn, sum, p, left, w - n * bytes, s->stride, x, x_row, (blocks - 1) / n * n);
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, sum[t], s);
}

#define ROW(TYPE, name) ROWS_OF(rows_points, TYPE, name)
KERN_ROWS_GRID23(ROW)
