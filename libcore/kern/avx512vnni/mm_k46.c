/* Tiles of Q4_K and Q6_K, whose sums of 16 and of 8 products fit 16 bits: two registers of them
 * become one, and one instruction multiplies by the scales and adds.
 *
 *   panel  16 rows; per block, each field [16]: d f32 | dmin f32, M i16[2] x 4 (Q4_K; in the order
 *          of kern_q8k.s32) | S i16[2], twice the same, 8 or 16 | q u8 [32][2][8 rows][8 neighbours]
 *          of rows 0 1 4 5 8 9 12 13, then 2 3 6 7 10 11 14 15
 *   tile   x 8 bytes broadcast: a lane pair holds two halves of a row's sum.  Q6_K starts from -32
 *          times the sum of x in that half (kern_q8k.h8), Q4_K from 0
 *   y, bytes per flop, limits: ref/mm_q256.c */
#include "kern/avx512vnni/int.h"
#include "kern/tmpl/q256.h"

enum { ROWS16 = 16, FIELD = ROWS16 * 4, TOKENS = 8 };

INLINE int fields(enum infer_type t) { return t == INFER_Q4_K ? 2 + 4 + 8 : 1 + 16; }
INLINE size_t panel_bytes(enum infer_type t)
{
	return (size_t)FIELD * (size_t)fields(t) + 256 * ROWS16;
}

/* the fields before q of eight rows, at dst */
INLINE void head_put(enum infer_type t, uint8_t *dst, const struct head *h)
{
	const int subs = t == INFER_Q4_K ? 8 : 16;

	_mm256_storeu_ps((float *)(void *)dst, h->d);
	dst += FIELD;
	if (t == INFER_Q4_K) {
		_mm256_storeu_ps((float *)(void *)dst, h->dmin);
		dst += FIELD;
		UNROLL
		for (int i = 0; i < 4; i++, dst += FIELD)
			put32(dst, byte_pair(h->m[i / 2], i % 2));
	}
	UNROLL
	for (int i = 0; i < subs; i++, dst += FIELD) {
		__m256i s = byte_pair(h->s[i / 4], i % 2);
		put32(dst, i % 4 < 2 ? _mm256_blend_epi16(s, _mm256_slli_epi32(s, 16), 0xaa)
		                     : _mm256_blend_epi16(_mm256_srli_epi32(s, 16), s, 0xaa));
	}
}

/* v[i]: 32 weights of row i of four; qword j of each to q + j * 128 */
INLINE void turn4(uint8_t *q, __m256i r0, __m256i r1, __m256i r2, __m256i r3)
{
	__m256i a = _mm256_unpacklo_epi64(r0, r1), b = _mm256_unpackhi_epi64(r0, r1);
	__m256i c = _mm256_unpacklo_epi64(r2, r3), d = _mm256_unpackhi_epi64(r2, r3);

	_mm256_storeu_si256((__m256i *)(void *)q, _mm256_permute2x128_si256(a, c, 0x20));
	_mm256_storeu_si256((__m256i *)(void *)(q + 128), _mm256_permute2x128_si256(b, d, 0x20));
	_mm256_storeu_si256((__m256i *)(void *)(q + 256), _mm256_permute2x128_si256(a, c, 0x31));
	_mm256_storeu_si256((__m256i *)(void *)(q + 384), _mm256_permute2x128_si256(b, d, 0x31));
}

/* n rows, of eight, to their place in a panel: fields at dst, weights at q */
INLINE void pack8(enum infer_type type, uint8_t *dst, uint8_t *q, const uint8_t *w,
                  size_t row_bytes, int n, int k)
{
	const struct eight e = eight_rows(w, row_bytes, n);

	for (size_t at = 0, end = (size_t)(k / 256 * q_bytes(type)); at < end;
	     at += (size_t)q_bytes(type), dst += panel_bytes(type), q += panel_bytes(type)) {
		__m256i v[8][8];
		struct head h;
		head_get(type, &h, &e, at);
		head_put(type, dst, &h);
		UNROLL
		for (int r = 0; r < 8; r++)
			unpack256(type, v[r], e.p[r] + at);
		UNROLL
		for (int i = 0; i < 8; i++) {
			turn4(q + i * 512, v[0][i], v[1][i], v[4][i], v[5][i]);
			turn4(q + i * 512 + 64, v[2][i], v[3][i], v[6][i], v[7][i]);
		}
	}
}

INLINE void pack16(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                   int k)
{
	for (int half = 0; half < 2; half++) {
		int from = 8 * half < n ? 8 * half : n - 1;
		pack8(type, dst + 32 * half, dst + FIELD * fields(type) + 32 * half,
		      w + (size_t)from * row_bytes, row_bytes, 8 * half < n ? n - 8 * half : 1, k);
	}
}

/* isum[t] of one block; sc: its scales, q: its weights */
INLINE void isum16(enum infer_type type, int tn, __m512i *isum, const uint8_t *sc, const uint8_t *q,
                   const struct lines *x)
{
	const int subs = type == INFER_Q4_K ? 8 : 16, count = 32 / subs;

	UNROLL
	for (int t = 0; t < tn; t++)
		isum[t] = _mm512_setzero_si512();
	struct lines xq = *x, xh = *x;
	for (int j = 0; j < subs; j++, q += 128 * count, sc += FIELD) {
		__m512i a[TOKENS], b[TOKENS];
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = line_at(&xh, t);
			a[t] = type == INFER_Q4_K ? _mm512_setzero_si512()
			                          : _mm512_set1_epi64((int64_t)num_u64(xt->h8));
			b[t] = a[t];
		}
		UNROLL
		for (int i = 0; i < count; i++) {
			__m512i wa = wi_load(q + i * 128), wb = wi_load(q + i * 128 + 64);
			UNROLL
			for (int t = 0; t < tn; t++) {
				const struct kern_q8k *xt = line_at(&xq, t);
				__m512i xv = _mm512_set1_epi64((int64_t)num_u64(xt->q + 8 * i));
				a[t] = wi_dot(a[t], wa, xv);
				b[t] = wi_dot(b[t], wb, xv);
			}
		}
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = wi_mac16(isum[t], _mm512_packs_epi32(a[t], b[t]), wi_load(sc));
		lines_move(&xq, 8 * count);
		lines_move(&xh, 8);
	}
}

INLINE __m512i imin16(const uint8_t *m, const struct kern_q8k *x)
{
	__m512i r = _mm512_setzero_si512();

	UNROLL
	for (int i = 0; i < 4; i++)
		r = wi_mac16(r, wi_load(m + i * FIELD), wi_set((int32_t)num_u32(x->s32 + 2 * i)));
	return r;
}

INLINE void tile16(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                   const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8k *xb = act_q8k(x, x_row);
	const int has_min = type == INFER_Q4_K, sc = FIELD * (has_min ? 6 : 1);
	__m512 sum[TOKENS], min[TOKENS];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = wf_set(0);
	for (int b = 0; b < k / 256; b++, p += panel_bytes(type), xb++) {
		const struct lines at = lines_at(xb, x->q_row);
		__m512i isum[TOKENS];
		ask_next(x, 1);
		isum16(type, tn, isum, p + sc, p + FIELD * fields(type), &at);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = line_at(&at, t);
			wf dx = wf_set(xt->d);
			sum[t] = wf_fma(wf_mul(wf_load(p), dx), wf_from(isum[t]), sum[t]);
			if (has_min)
				min[t] = wf_fma(wf_mul(wf_load(p + FIELD), dx),
				                wf_from(imin16(p + 2 * FIELD, xt)), min[t]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		wf_put(y + (size_t)t * ldy, has_min ? wf_sub(sum[t], min[t]) : sum[t], n);
}

#define ROW(TYPE, name) \
	TILE_OF(tile16, TYPE, name, TOKENS) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack16(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 256) * panel_bytes(INFER_##TYPE); \
	}
KERN_ROWS_K46(ROW)
