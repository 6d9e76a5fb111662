/* kern/amx/mm_q32.c - panels of weights in blocks of 32 and 64: a tile product is a group of 32.
 *
 *   panel  per group, per 16 rows: d f32[16] | with minima: m f32[16] | q i8[16][32], the zero
 *          point subtracted
 *   y = fma(d dx, isum, y), blocks ascending; minima, bytes per flop, limits: ref/mm_q32.c */
#include "kern/amx/int.h"

enum { PART = 8, AHEAD = 4, FIELD = N * 4 };
INLINE int q_at(enum infer_type t) { return q_minima(t) ? 2 * FIELD : FIELD; }
INLINE size_t w_group32_bytes(enum infer_type t) { return (size_t)q_at(t) + N * 32; }

/* Store n groups of 32 of row r; the first group begins a block. */
INLINE void row_put(enum infer_type t, char *to, int r, const uint8_t *from, int n)
{
	const __m256i zero = _mm256_set1_epi8((char)q_zero(t));
	const int groups = q_groups(t);

	for (int b = 0; b < n; b++, to += W_GROUPS * w_group32_bytes(t)) {
		float d = scale_at(t, from);
		memcpy(to + r * 4, &d, 4);
		if (q_minima(t)) {
			d = minimum_at(t, from);
			memcpy(to + FIELD + r * 4, &d, 4);
		}
		_mm256_store_si256((__m256i *)(void *)(to + q_at(t) + r * 32),
		                   _mm256_sub_epi8(unpack32(t, from, b % groups), zero));
		from += (b + 1) % groups == 0 ? block_bytes(t) : 0;
	}
}
/* Pack a part of k of all rows, then the next, so that lines are complete before they leave L1. */
INLINE void pack32(enum infer_type t, char *dst, const uint8_t *w, size_t row_bytes, int n, int k)
{
	for (int b = 0, some; b < k / 32;
	     b += some, dst += (size_t)some * W_GROUPS * w_group32_bytes(t)) {
		some = k / 32 - b < PART ? k / 32 - b : PART;
		/* missing rows repeat the last one */
		for (int r = 0; r < (n > N ? W_GROUPS : 1) * N; r++) {
			const uint8_t *from = w + (size_t)(r < n ? r : n - 1) * row_bytes +
			                      (size_t)(b / q_groups(t) * block_bytes(t));
			row_put(t, dst + (size_t)(r / N) * w_group32_bytes(t), r % N, from, some);
		}
	}
}

/* Compute the product of block b in tile c; then add buf[c], the previous product of that tile, to
 * the sums (x0, w0). */
#define DOT32(c, b) \
	do { \
		TILE_LOAD(4, w + (size_t)(b)*step + q_at(t), 32); \
		TILE_LOAD(6, x[b].q, 64); \
		TILE_ZERO(c); \
		TILE_DOT(c, 4, 6); \
	} while (0)
/* Conversions compete with products for a port, and products have no other one while tiles are
 * busy.  So every second conversion is done by integer and float additions, exact below 2^22. */
INLINE wf to_float(const int32_t *p, int r)
{
	const wi magic = wi_set(0x4b400000);

	return r % 2 ? wf_from(wi_load(p))
	             : wf_sub(_mm512_castsi512_ps(wi_add(magic, wi_load(p))),
	                      _mm512_castsi512_ps(magic));
}
#define TAKE32(c, b) \
	do { \
		const float *d_ = (const float *)(const void *)(w0 + (size_t)(b)*step); \
		wf dx_ = _mm512_load_ps(x0[b].d); \
		EACH_ROW sum[r] = \
			wf_fma(wf_mul(dx_, wf_set(d_[r])), to_float(buf[c] + r * N, r), sum[r]); \
	} while (0)
#define STEP32(c) \
	do { \
		TILE_PUT(c, buf[c]); \
		DOT32(c, b + (c)); \
		PREFETCH(ahead, 5); \
		TAKE32(c, a + (c)); \
	} while (0)

/* Multiply n blocks, a multiple of AHEAD.  Products are computed AHEAD blocks ahead, across units
 * (16 rows of weights by 16 of x).  After the last unit, products of the first are computed again
 * and not used. */
INLINE void part32(enum infer_type t, const struct part *p, int n)
{
	const size_t step = W_GROUPS * w_group32_bytes(t);
	_Alignas(64) int32_t buf[AHEAD][N * N];
	const struct kern_q8x16 *x = (const void *)p->x, *x0;
	const char *w = p->w, *w0, *ahead = p->x + p->x_step;
	const int units = p->x_groups * p->w_groups;

	DOT32(0, 0);
	DOT32(1, 1);
	DOT32(2, 2);
	DOT32(3, 3);
	for (int u = 0; u < units; u++) {
		int next = u + 1 < units ? u + 1 : 0, x_group = next / p->w_groups;
		float *y = p->sum + u * N * N;
		wf sum[N];
		w0 = w, x0 = x;
		EACH_ROW sum[r] = _mm512_load_ps(y + r * N);
		for (int a = 0, b = AHEAD; a < n; a += AHEAD, b += AHEAD) {
			if (b == n) {
				w = p->w + (size_t)(next % p->w_groups) * p->w_step;
				x = (const void *)(p->x + (size_t)x_group * p->x_step);
				b = 0;
			}
			STEP32(0);
			STEP32(1);
			STEP32(2);
			STEP32(3);
		}
		EACH_ROW _mm512_store_ps(y + r * N, sum[r]);
		if (next % p->w_groups == 0)
			ahead = p->x + (size_t)(x_group + 1) * p->x_step;
	}
}
/* Multiply a single block. */
INLINE void part_one(enum infer_type t, const struct part *p)
{
	const size_t step = 0;
	_Alignas(64) int32_t buf[1][N * N];

	for (int u = 0; u < p->x_groups * p->w_groups; u++) {
		const char *w = p->w + (size_t)(u % p->w_groups) * p->w_step, *w0 = w;
		const struct kern_q8x16 *x = (const void *)(p->x +
		                                            (size_t)(u / p->w_groups) * p->x_step),
					*x0 = x;
		float *y = p->sum + u * N * N;
		wf sum[N];
		DOT32(0, 0);
		EACH_ROW sum[r] = _mm512_load_ps(y + r * N);
		TILE_PUT(0, buf[0]);
		TAKE32(0, 0);
		EACH_ROW _mm512_store_ps(y + r * N, sum[r]);
	}
}
/* Add the minima of n blocks. */
INLINE void part_min(enum infer_type t, const struct part *p, int n)
{
	for (int u = 0; u < p->x_groups * p->w_groups; u++) {
		const char *w = p->w + (size_t)(u % p->w_groups) * p->w_step + FIELD;
		const struct kern_q8x16 *x =
			(const void *)(p->x + (size_t)(u / p->w_groups) * p->x_step);
		float *y = p->min + u * N * N;
		wf min[N];
		EACH_ROW min[r] = _mm512_load_ps(y + r * N);
		for (int b = 0; b < n; b++, w += W_GROUPS * w_group32_bytes(t)) {
			wf dx = _mm512_load_ps(x[b].d), s = wf_from(wi_load(x[b].neg_sum));
			EACH_ROW min[r] = wf_fnma(
				wf_mul(wf_set(((const float *)(const void *)w)[r]), dx), s, min[r]);
		}
		EACH_ROW _mm512_store_ps(y + r * N, min[r]);
	}
}

INLINE void tile32(enum infer_type t, float *y, size_t ldy, const char *panel,
                   const struct kern_act *x, int x_row, int m, int n, int k)
{
	const int minima = q_minima(t);
	_Alignas(64) float sum[TOKENS * W_GROUPS * N], min[TOKENS * W_GROUPS * N];
	_Alignas(64) union x_buffer buf[X_GROUPS];
	struct part p = { sum, min, .w_step = w_group32_bytes(t),
		          .w_groups = n > N ? W_GROUPS : 1 };

	tiles_begin(32);
	for (int row = 0, some; row < m; row += some) {
		some = m - row < TOKENS ? m - row : TOKENS;
		sums_clear(&p, some, minima);
		p.w = panel;
		for (int at = 0, now; at < k;
		     at += now, p.w += (size_t)now / 32 * W_GROUPS * p.w_step) {
			now = k - at >= 32 * PART    ? 32 * PART
			      : k - at >= 32 * AHEAD ? 32 * AHEAD
			                             : 32;
			x_part(&p, buf, x, x_row + row, some, k, at, now);
			prefetch_next(x, 1);
			if (now == 32)
				part_one(t, &p);
			else
				part32(t, &p, now / 32);
			if (minima)
				part_min(t, &p, now / 32);
		}
		sums_out(&p, y + (size_t)row * ldy, ldy, minima ? MIN_ADD : MIN_NONE, some, n);
	}
	TILE_END();
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack32(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 32) * W_GROUPS * w_group32_bytes(INFER_##TYPE); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		tile32(INFER_##TYPE, y, ldy, packed, x, x_row, m, n, k); \
	}
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
