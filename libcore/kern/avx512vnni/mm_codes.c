/* kern/avx512vnni/mm_codes.c - products in place of the IQ3 types, with points looked up in registers:
 * a codebook is a table of codes of a word each; one instruction looks up 64 of them, and another one
 * converts each code of two coordinates to two bytes.
 *
 *   rows   8 rows in place; first the scales, signs and codes of all rows are unpacked, with the
 *          codebook in registers; a transposing tree of adds makes 8 sums
 *   isum = sum of S (q . x), exact; y = fma(d' dx, isum, y)
 *   y, layouts, bytes per flop, limits: ref/mm_grid.c;  panels: x86/mm_grid_tile.h */
#include "kern/avx512vnni/points.h"
#include "kern/x86/grid.h"

/* The fields of a block of one row. */
struct fields {
	__m512i code[2]; /* codes of the 64 points */
	uint64_t sign[4];
	uint32_t s[8]; /* S of each 32 weights, twice in a dword */
};

INLINE int tables(enum infer_type t) { return t == INFER_IQ3_XXS ? 8 : 16; }
INLINE const uint16_t *codes(enum infer_type t)
{
	return t == INFER_IQ3_XXS ? grid_code_iq3_xxs : grid_code_iq3_s;
}

/* Look up the codes of the 32 points at[] in a table of 256 or 512 words in registers. */
INLINE __m512i lookup(const __m512i *table, int tables, __m512i at)
{
	__m512i r[8];

	UNROLL
	for (int i = 0; i < tables / 2; i++)
		r[i] = _mm512_permutex2var_epi16(table[2 * i], at, table[2 * i + 1]);
	UNROLL
	for (int n = tables / 2, bit = 64; n > 1; n /= 2, bit *= 2) {
		__mmask32 m = _mm512_test_epi16_mask(at, _mm512_set1_epi16((short)bit));
		UNROLL
		for (int i = 0; i < n / 2; i++)
			r[i] = _mm512_mask_mov_epi16(r[2 * i], m, r[2 * i + 1]);
	}
	return r[0];
}

INLINE void fields_get(enum infer_type t, struct fields *a, const __m512i *table, const uint8_t *p)
{
	uint8_t buf[32];
	__m256i s;

	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i at = _mm512_cvtepu8_epi16(load32(p + 2 + 32 * i));
		if (t == INFER_IQ3_S)
			at = _mm512_mask_add_epi16(at, num_u32(p + 66 + 4 * i), at,
			                           _mm512_set1_epi16(256));
		a->code[i] = lookup(table, tables(t), at);
	}
	memcpy(a->sign, signs_at(t, buf, p), 32);
	if (t == INFER_IQ3_XXS)
		s = _mm256_srli_epi32(aux8(t, p), 28);
	else
		s = _mm256_and_si256(
			_mm256_srlv_epi32(_mm256_set1_epi32((int)num_u32(p + 106)),
		                          _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28)),
			_mm256_set1_epi32(15));
	s = _mm256_mullo_epi32(s, _mm256_set1_epi32(0x20002));
	_mm256_storeu_si256((__m256i *)(void *)a->s,
	                    _mm256_or_si256(s, _mm256_set1_epi32(0x10001)));
}

/* The bytes of two coordinates for each code of 6 bits. */
#define TWO3A(c) (int16_t)(V3A((c)&7) | V3A((c) >> 3) << 8)
#define TWO3B(c) (int16_t)(V3B((c)&7) | V3B((c) >> 3) << 8)
static const int16_t two3a[64] = { ALL64(TWO3A) }, two3b[64] = { ALL64(TWO3B) };

/* Return the 64 weights of quarter j, without signs. */
INLINE __m512i quarter(enum infer_type t, const struct fields *a, int j)
{
	const int16_t *two = t == INFER_IQ3_S ? two3b : two3a;
	__m512i c = _mm512_cvtepu8_epi16(load32((const uint8_t *)a->code + 32 * j));

	return _mm512_permutex2var_epi16(wi_load(two), c, wi_load(two + 32));
}

INLINE void rows_codes(enum infer_type type, int tn, float *y, size_t ldy,
                       const struct row_group *s, const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type), n = tables(type);
	const uint8_t *w = s->w;
	__m256 sum[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 256; b++, w += bytes) {
		struct fields fields[8];
		__m512i a[4][8], table[16];
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		UNROLL
		for (int i = 0; i < n; i++)
			table[i] = wi_load(codes(type) + 32 * i);
		for (int r = 0; r < 8; r++)
			fields_get(type, &fields[r], table, w + (size_t)r * s->stride);
		for (int r = 0; r < 8; r++) {
			__m512i acc[4][2];
			UNROLL
			for (int j = 0; j < 4; j++) {
				__m512i u = quarter(type, &fields[r], j),
					sc = _mm512_mask_set1_epi32(
						wi_set((int32_t)fields[r].s[2 * j]), 0xff00,
						(int32_t)fields[r].s[2 * j + 1]);
				UNROLL
				for (int t = 0; t < tn; t++) {
					__m512i v = wi_load(act_q8k(x, x_row + t)[b].q + 64 * j);
					v = _mm512_mask_sub_epi8(v, fields[r].sign[j],
					                         _mm512_setzero_si512(), v);
					acc[t][j & 1] = wi_mac16(j < 2 ? wi_set(0) : acc[t][j & 1],
					                         _mm512_maddubs_epi16(u, v), sc);
				}
			}
			UNROLL
			for (int t = 0; t < tn; t++)
				a[t][r] = wi_add(acc[t][0], acc[t][1]);
		}
		__m256 d = _mm256_mul_ps(f16x8(w, s->stride), _mm256_set1_ps(g_factor(type)));
		UNROLL
		for (int t = 0; t < tn; t++) {
			__m256 dx = _mm256_set1_ps(act_q8k(x, x_row + t)[b].d);
			sum[t] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx),
			                         _mm256_cvtepi32_ps(hsum8w(a[t])), sum[t]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, sum[t], s);
}

#define ROW(TYPE, name) ROWS_OF(rows_codes, TYPE, name)
KERN_ROWS_GRID3(ROW)
