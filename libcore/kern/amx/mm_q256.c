/* kern/amx/mm_q256.c - panels of weights in blocks of 256.  Each weight is stored as the integer S
 * q in one byte, or in two signed bytes, 256 hi + lo.  So a block of 16 rows of weights and 16 of x
 * is one or two chains of four tile products, without work between groups of different scales.
 *
 *   panel  per block, per 16 rows: d f32[16] | with minima: dmin f32[16], M bf16[16][16][2]
 *          of 16 weights each, twice | lo i8[4][16][64] | hi i8[4][16][64], except for types where
 *          S q fits a byte
 *   isum = (hi << 8) + lo, exact in i32 for any x;  imin: one tile product with the sums of x in
 *          two bf16 parts, integers below 2^24, so exact in f32
 *   y, bytes per flop, limits: ref/mm_q256.c */
#include "kern/amx/int.h"
#include "kern/x86/q256.h"

/* 1 if S q fits a byte.  For Q3_K, -S q is in -128 ... 124, so S q and d are negated. */
INLINE int one_byte(enum infer_type t) { return t == INFER_Q2_K || t == INFER_Q3_K; }

enum { HEADER = N * 4, MINIMA = N * 4 + N * 64, CHAIN = 4 * N * 64 };
INLINE int chains_at(int minima) { return HEADER + (minima ? MINIMA : 0); }
INLINE size_t w_group256_bytes(int two, int minima)
{
	return (size_t)(chains_at(minima) + (two ? 2 : 1) * CHAIN);
}

/* an unpacked block of one row */
struct block {
	__m256i q[8]; /* signed */
	__m256i s;    /* words: the scales of each 16 weights */
	__m128i m;    /* bytes: the minima of each 16 weights */
	float d, dmin;
};

INLINE __m256i dup_words(__m128i s)
{
	return _mm256_setr_m128i(_mm_unpacklo_epi16(s, s), _mm_unpackhi_epi16(s, s));
}
INLINE void scales_k45(struct block *b, const uint8_t *sc)
{
	const uint32_t low = 0x0f0f0f0f, six = 0x3f3f3f3f, two = 0x30303030;
	uint32_t x = num_u32(sc), y = num_u32(sc + 4), z = num_u32(sc + 8);
	__m128i s = _mm_setr_epi32((int)(x & six), (int)((z & low) | (x >> 2 & two)), 0, 0),
		m = _mm_setr_epi32((int)(y & six), (int)((z >> 4 & low) | (y >> 2 & two)), 0, 0);

	b->s = dup_words(_mm_cvtepu8_epi16(s));
	b->m = _mm_unpacklo_epi8(m, m);
}
INLINE void scales_get(enum infer_type t, struct block *b, const uint8_t *p)
{
	const __m128i low = _mm_set1_epi8(15);

	switch (t) {
	case INFER_Q4_K:
	case INFER_Q5_K:
		scales_k45(b, p + 4);
		break;
	case INFER_Q6_K:
		b->s = _mm256_cvtepi8_epi16(load16(p + 192));
		break;
	case INFER_Q2_K:
		b->s = _mm256_cvtepu8_epi16(_mm_and_si128(load16(p), low));
		b->m = _mm_and_si128(_mm_srli_epi16(load16(p), 4), low);
		break;
	case INFER_Q3_K:
		b->s = _mm256_sub_epi16(_mm256_setzero_si256(),
		                        _mm256_cvtepi8_epi16(scales_k3(p + 96)));
		break;
	case INFER_IQ4_XS:
		b->s = dup_words(scales_x4(p));
		break;
	default:
		kern_no_case();
	}
}
INLINE void block_get(enum infer_type t, struct block *b, const uint8_t *p)
{
	const __m256i zero = _mm256_set1_epi8((char)q_zero(t));

	unpack256(t, b->q, p);
	if (q_zero(t)) {
		UNROLL
		for (int i = 0; i < 8; i++)
			b->q[i] = _mm256_sub_epi8(b->q[i], zero);
	}
	scales_get(t, b, p);
	b->d = f16_at(p + q_scale_at(t));
	if (q_minima(t))
		b->dmin = f16_at(p + q_scale_at(t) + 2);
	if (t == INFER_Q3_K)
		b->d = -b->d;
}

/* Store a block as row r of a group of 16 rows. */
INLINE void block_put(int two, int minima, char *to, int r, const struct block *b)
{
	const __mmask64 odd = 0xaaaaaaaaaaaaaaaa;
	const wi half = _mm512_set1_epi16(128), s = _mm512_castsi256_si512(b->s);
	char *lo = to + chains_at(minima) + r * 64, *hi = lo + CHAIN;

	memcpy(to + r * 4, &b->d, 4);
	if (minima) {
		wi m = _mm512_castps_si512(wf_from(_mm512_cvtepu8_epi32(b->m)));
		memcpy(to + HEADER + r * 4, &b->dmin, 4);
		_mm512_store_si512(to + HEADER + N * 4 + r * 64,
		                   _mm512_or_si512(m, _mm512_srli_epi32(m, 16)));
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		const long long first = 4 * i * 0x0001000100010001;
		const wi lane = _mm512_setr_epi64(
			first, first, first + 0x0001000100010001, first + 0x0001000100010001,
			first + 0x0002000200020002, first + 0x0002000200020002,
			first + 0x0003000300030003, first + 0x0003000300030003);
		wi q = _mm512_inserti64x4(_mm512_castsi256_si512(b->q[2 * i]), b->q[2 * i + 1], 1),
		   w = _mm512_permutexvar_epi16(lane, s);
		wi x = _mm512_mullo_epi16(_mm512_srai_epi16(_mm512_slli_epi16(q, 8), 8), w),
		   y = _mm512_mullo_epi16(_mm512_srai_epi16(q, 8), w);
		_mm512_store_si512(lo + i * N * 64,
		                   _mm512_mask_blend_epi8(odd, x, _mm512_slli_epi16(y, 8)));
		if (!two)
			continue;
		x = _mm512_srli_epi16(_mm512_add_epi16(x, half), 8);
		_mm512_store_si512(hi + i * N * 64,
		                   _mm512_mask_blend_epi8(odd, x, _mm512_add_epi16(y, half)));
	}
}

INLINE void pack256(enum infer_type t, char *dst, const uint8_t *w, size_t row_bytes, int n, int k)
{
	const int two = !one_byte(t), minima = q_minima(t), w_groups = n > N ? W_GROUPS : 1;
	const size_t bytes = w_group256_bytes(two, minima);

	for (int b = 0; b < k / 256; b++, dst += W_GROUPS * bytes)
		for (int r = 0; r < w_groups * N; r++) { /* missing rows repeat the last one */
			struct block block;
			block_get(t, &block,
			          w + (size_t)(r < n ? r : n - 1) * row_bytes +
			                  (size_t)(b * block_bytes(t)));
			block_put(two, minima, dst + (size_t)(r / N) * bytes, r % N, &block);
		}
}

/* ---- tiles.  Products are computed one unit (16 rows of weights by 16 of x) ahead of the
 * arithmetic on their sums. */
#define DOT256(c0, c1, i) \
	do { \
		TILE_LOAD(6, x->q[16 * (i)], 64); \
		TILE_LOAD(4, w + chains_at(minima) + (i)*N * 64, 64); \
		TILE_DOT(c0, 4, 6); \
		if (two) { \
			TILE_LOAD(5, w + chains_at(minima) + CHAIN + (i)*N * 64, 64); \
			TILE_DOT(c1, 5, 6); \
		} \
		PREFETCH(ahead, 10); \
	} while (0)
/* Accumulate eight lines of sums, from line `first` on, of the previous unit (x0, w0). */
#define TAKE256(first) \
	UNROLL \
	for (int r = (first); r < (first) + 8; r++) { \
		wi i_ = wi_load(lo + r * N); \
		if (two) \
			i_ = wi_add(i_, _mm512_shuffle_epi8(wi_load(hi + r * N), up)); \
		_mm512_store_ps(y + r * N, \
		                wf_fma(wf_mul(dx, wf_set(((const float *)(const void *)w0)[r])), \
		                       wf_from(i_), _mm512_load_ps(y + r * N))); \
	}
#define TAKE256_MIN(first) \
	UNROLL \
	for (int r = (first); r < (first) + 8; r++) \
		_mm512_store_ps( \
			ym + r * N, \
			wf_fma(wf_mul(dx, \
		                      wf_set(((const float *)(const void *)(w0 + HEADER))[r])), \
		               _mm512_load_ps(min + r * N), _mm512_load_ps(ym + r * N)));
#define UNIT256(c0, c1, b0, b1) \
	do { \
		wf dx = _mm512_load_ps(x0->d); \
		TILE_ZERO(c0); \
		if (two) \
			TILE_ZERO(c1); \
		DOT256(c0, c1, 0); \
		if (minima) { \
			TILE_PUT(7, min); \
			TILE_ZERO(7); \
			TILE_LOAD(4, w + HEADER + N * 4, 64); \
			TILE_LOAD(6, x->s16, 64); \
			TILE_DOT_BF16(7, 4, 6); \
			TAKE256_MIN(0) \
		} \
		DOT256(c0, c1, 1); \
		TILE_PUT(b0, lo); \
		if (two) \
			TILE_PUT(b1, hi); \
		if (minima) \
			TAKE256_MIN(8) \
		DOT256(c0, c1, 2); \
		TAKE256(0) \
		DOT256(c0, c1, 3); \
		TAKE256(8) \
		w0 = w, x0 = x; \
	} while (0)
/* Accumulate the sums of the last unit. */
#define LAST256(b0, b1) \
	do { \
		wf dx = _mm512_load_ps(x0->d); \
		TILE_PUT(b0, lo); \
		if (two) \
			TILE_PUT(b1, hi); \
		TAKE256(0) \
		TAKE256(8) \
		if (minima) { \
			TILE_PUT(7, min); \
			TAKE256_MIN(0) \
			TAKE256_MIN(8) \
		} \
	} while (0)
/* Advance to unit u + 1. */
#define STEP256() \
	do { \
		y = p->sum + u * N * N, ym = p->min + u * N * N; \
		u += 1; \
		if (p->w_groups == 1 || u % W_GROUPS == 0) { \
			x = (const void *)((const char *)x + p->x_step); \
			w = p->w; \
			ahead = (const char *)x + p->x_step; \
		} else { \
			w = p->w + p->w_step; \
		} \
	} while (0)

INLINE void part256(int two, int minima, const struct part *p)
{
	_Alignas(64) int32_t lo[N * N], hi[N * N];
	_Alignas(64) float min[N * N], discard[2][N * N] = { { 0 } };
	const wi up = _mm512_broadcast_i32x4(
		_mm_setr_epi8(-1, 0, 1, 2, -1, 4, 5, 6, -1, 8, 9, 10, -1, 12, 13, 14));
	const struct kern_q8kx16 *x = (const void *)p->x, *x0 = x;
	const char *w = p->w, *w0 = w, *ahead = p->x + p->x_step;
	float *y = discard[0], *ym = discard[1]; /* no unit precedes the first: its sums are
	                                          * discarded */
	const int units = p->x_groups * p->w_groups;

	for (int u = 0;;) {
		UNIT256(0, 1, 2, 3);
		STEP256();
		if (u == units) {
			LAST256(0, 1);
			break;
		}
		UNIT256(2, 3, 0, 1);
		STEP256();
		if (u == units) {
			LAST256(2, 3);
			break;
		}
	}
}

INLINE void tile256(enum infer_type t, float *y, size_t ldy, const char *panel,
                    const struct kern_act *x, int x_row, int m, int n, int k)
{
	const int two = !one_byte(t), minima = q_minima(t);
	_Alignas(64) float sum[TOKENS * W_GROUPS * N], min[TOKENS * W_GROUPS * N];
	_Alignas(64) union x_buffer buf[X_GROUPS];
	struct part p = { sum, min, .w_step = w_group256_bytes(two, minima),
		          .w_groups = n > N ? W_GROUPS : 1 };

	tiles_begin(64);
	for (int row = 0, some; row < m; row += some) {
		some = m - row < TOKENS ? m - row : TOKENS;
		sums_clear(&p, some, minima);
		p.w = panel;
		for (int at = 0; at < k; at += 256, p.w += W_GROUPS * p.w_step) {
			x_part(&p, buf, x, x_row + row, some, k, at, 256);
			prefetch_next(x, 1);
			part256(two, minima, &p);
		}
		sums_out(&p, y + (size_t)row * ldy, ldy, minima ? MIN_SUB : MIN_NONE, some, n);
	}
	TILE_END();
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack256(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 256) * W_GROUPS * \
		       w_group256_bytes(!one_byte(INFER_##TYPE), q_minima(INFER_##TYPE)); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		tile256(INFER_##TYPE, y, ldy, packed, x, x_row, m, n, k); \
	}
KERN_ROWS_256(ROW)
