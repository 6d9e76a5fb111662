/* kern/amx/mm_bf16.c - products with bf16 activations in tile registers: one TDPBF16PS computes a
 * block of 32 of k (kern/tmpl/bf16.h) for 16 rows of x and 16 of weights.
 *
 *   panel  per block of 32 of k, per 16 rows of weights: bf16 [16 pairs of k][16 rows][2]
 *   tiles  0 1 sums of 16 rows of x, 2 3 of the next 16; 4 5 these rows of x; 6 7 weights
 *   rows   weights are the first operand, a row of x is a second operand of one column
 *   bytes per flop: 2 per 2 m;  limits: none
 * Sums stay in tiles over the whole of k: loads of the panel from the L2 cache cost less than storing
 * sums and loading them again. */
#include <string.h>
#include "kern/amx/int.h"
#include "kern/avx512/bf16.h"
#ifdef __AVX512BF16__ /* not in tests/kern, which replaces instructions */
/* The instruction treats subnormal f32 as zeros, but no F16 is subnormal in f32. */
#define F16_PAIRS(h) (vi) _mm512_cvtne2ps_pbh(v_load_h((h) + 16), v_load_h(h))
#endif
#include "kern/tmpl/bf16_pairs.h"
#include "kern/tmpl/lines.h"

enum { BLOCK_BYTES = N * 64, W_BYTES = W_GROUPS * BLOCK_BYTES, STEP = 2 * N };

#define PACK(TYPE, name) \
	static void name##_block(char *dst, const unsigned char *w, size_t row_bytes, int rows, \
	                         int n) \
	{ \
		vi pairs[N]; \
		load_block(pairs, INFER_##TYPE, w, row_bytes, rows, n, 0); \
		EACH_ROW vi_store(dst + r * 64, pairs[r]); \
	}
KERN_ROWS_HALF(PACK)
#undef PACK
static void pack(enum infer_type type, char *dst, const void *wv, size_t row_bytes, int n, int k)
{
	for (int i = 0; i < k; i += 32)
		for (int g = 0; g < W_GROUPS; g++, dst += BLOCK_BYTES) {
			int first = N * g < n ? N * g : 0, rows = n - first < N ? n - first : N;
			const unsigned char *w = (const unsigned char *)wv +
			                         (size_t)first * row_bytes + (size_t)i * 2;
			(type == INFER_F16 ? f16_b_block : bf16_b_block)(dst, w, row_bytes, rows,
			                                                 k - i < 32 ? k - i : 32);
		}
}

/* Configure tiles for m <= STEP rows of x. */
static inline void tiles_begin_x(int m)
{
	struct tile_config c = { .palette = 1 };

	for (int i = 0; i < 8; i++) {
		int rows = i > 5 ? N : (i < 2 || i == 4) ? m : m - N;
		rows = rows > N ? N : rows;
		c.rows[i] = (uint8_t)(rows > 0 ? rows : 0);
		c.bytes[i] = rows > 0 ? 64 : 0;
	}
	TILE_SET(c);
}

enum { AHEAD_BLOCKS = 256 / 32 };

/* Multiply more than 16 rows of x, over n blocks of k. */
static inline void step_full(float *y, long apart, const char *w, const struct kern_act *a,
                             const char *x, int n)
{
	const char *x2 = x + N * a->q_row;

	TILE_ZERO(0);
	TILE_ZERO(1);
	TILE_ZERO(2);
	TILE_ZERO(3);
	for (int b = 0; b < n; b++, x += 64, x2 += 64, w += W_BYTES) {
		if (b % AHEAD_BLOCKS == 0)
			prefetch_next(a, 1);
		TILE_LOAD(4, x, a->q_row);
		TILE_LOAD(6, w, 64);
		TILE_DOT_BF16(0, 4, 6);
		TILE_LOAD(7, w + BLOCK_BYTES, 64);
		TILE_DOT_BF16(1, 4, 7);
		TILE_LOAD(5, x2, a->q_row);
		TILE_DOT_BF16(2, 5, 6);
		TILE_DOT_BF16(3, 5, 7);
	}
	TILE_STORE(0, y, apart);
	TILE_STORE(1, y + N, apart);
	TILE_STORE(2, (char *)y + N * apart, apart);
	TILE_STORE(3, (char *)(y + N) + N * apart, apart);
}
static inline void step_half(float *y, long apart, const char *w, const struct kern_act *a,
                             const char *x, int n)
{
	TILE_ZERO(0);
	TILE_ZERO(1);
	for (int b = 0; b < n; b++, x += 64, w += W_BYTES) {
		if (b % AHEAD_BLOCKS == 0)
			prefetch_next(a, 1);
		TILE_LOAD(4, x, a->q_row);
		TILE_LOAD(6, w, 64);
		TILE_DOT_BF16(0, 4, 6);
		TILE_LOAD(7, w + BLOCK_BYTES, 64);
		TILE_DOT_BF16(1, 4, 7);
	}
	TILE_STORE(0, y, apart);
	TILE_STORE(1, y + N, apart);
}

/* Multiply m rows of x and store whole lines of NR sums in y. */
static void tile_lines(float *y, size_t ldy, const char *w, const struct kern_act *a, int x_row,
                       int m, int k)
{
	const long apart = (long)(ldy * sizeof *y);

	if (m >= STEP)
		tiles_begin_x(STEP);
	for (int t = 0; t < m; t += STEP) {
		if (m - t < STEP)
			tiles_begin_x(m - t);
		(m - t > N ? step_full : step_half)(y + (size_t)t * ldy, apart, w, a,
		                                    (const char *)act_bf16(a, x_row + t, k),
		                                    act_bf16_k(k) / 32);
	}
	TILE_END();
}

static void tile(float *y, size_t ldy, const void *w, const struct kern_act *a, int x_row, int m,
                 int n, int k)
{
	float room[STEP * NR];

	if (n == NR) {
		tile_lines(y, ldy, w, a, x_row, m, k);
		return;
	}
	for (int t = 0; t < m; t += STEP) {
		int some = m - t < STEP ? m - t : STEP;
		tile_lines(room, NR, w, a, x_row + t, some, k);
		for (int i = 0; i < some; i++)
			memcpy(y + (size_t)(t + i) * ldy, room + i * NR, (size_t)n * sizeof *y);
	}
}

/* A few rows of x: weights are the first operand, in the order of the file; each row of x is a
 * second operand with one column. */
enum { ROWS_M = 4, ROWS_FIRST = 3, ROWS_ROOM = 4 };

static inline void tiles_begin_rows(int rows)
{
	struct tile_config c = { .palette = 1 };

	for (int i = 0; i < 8; i++) { /* tiles 0 ... 3: sums; 4: weights; 5, 6: x */
		c.rows[i] = (uint8_t)(i < 5 ? rows : N);
		c.bytes[i] = i == 4 ? 64 : 4;
	}
	TILE_SET(c);
}

/* Store n <= 32 weights of each row, rounded to bf16 and padded to 32 with +0. */
INLINE void rows_block(enum infer_type type, char *to, const char *w, size_t stride, int rows,
                       int n)
{
	for (int r = 0; r < rows; r++, w += stride, to += 64) {
		uint16_t last[32];
		const void *from = w;
		v_prefetch(w + KERN_AHEAD);
		if (n < 32) {
			memset(last, 0, sizeof last);
			from = memcpy(last, w, (size_t)n * 2);
		}
		vi_store(to, load_pairs(type, from));
	}
}

/* Multiply a block of weights with tn rows of x. */
INLINE void rows_dot(const char *w, size_t stride, const char *x, size_t x_row, int tn)
{
	TILE_LOAD(4, w, stride);
	TILE_LOAD(5, x, 4);
	TILE_DOT_BF16(0, 4, 5);
	if (tn > 1) {
		TILE_LOAD(6, x + x_row, 4);
		TILE_DOT_BF16(1, 4, 6);
	}
	if (tn > 2) {
		TILE_LOAD(5, x + 2 * x_row, 4);
		TILE_DOT_BF16(2, 4, 5);
	}
	if (tn > 3) {
		TILE_LOAD(6, x + 3 * x_row, 4);
		TILE_DOT_BF16(3, 4, 6);
	}
}

/* Multiply at most 16 rows of weights, `stride` bytes apart; results are `apart` floats apart.
 * Blocks that cannot be used in place are prepared some blocks ahead, since a tile cannot be loaded
 * from stores that have not reached the cache. */
INLINE void rows_16(enum infer_type type, float *y, size_t ldy, size_t apart, const char *w,
                    size_t stride, int rows, const struct kern_act *a, int x_row, int k, int tn)
{
	_Alignas(64) char room[ROWS_ROOM][BLOCK_BYTES];
	const char *x = (const char *)act_bf16(a, x_row, k);
	const int blocks = (k + 31) / 32, made = type == INFER_F16 || k % 32;
	float out[ROWS_M][N];

	TILE_ZERO(0);
	TILE_ZERO(1);
	TILE_ZERO(2);
	TILE_ZERO(3);
	for (int b = made ? -ROWS_FIRST : 0; b < blocks; b++) {
		int next = b + ROWS_FIRST;
		if (made && next < blocks)
			rows_block(type, room[next % ROWS_ROOM], w + (size_t)next * 64, stride,
			           rows, k - next * 32 < 32 ? k - next * 32 : 32);
		for (int r = 0; r < rows && !made; r++)
			v_prefetch(w + (size_t)r * stride + (size_t)b * 64 + KERN_AHEAD);
		if (b < 0)
			continue;
		if (made)
			rows_dot(room[b % ROWS_ROOM], 64, x + b * 64, a->q_row, tn);
		else
			rows_dot(w + (size_t)b * 64, stride, x + b * 64, a->q_row, tn);
	}
	TILE_STORE(0, out[0], 4);
	TILE_STORE(1, out[1], 4);
	TILE_STORE(2, out[2], 4);
	TILE_STORE(3, out[3], 4);
	for (int t = 0; t < tn; t++)
		for (int r = 0; r < rows; r++)
			y[(size_t)t * ldy + (size_t)r * apart] = out[t][r];
}
INLINE void rows_some(enum infer_type type, float *y, size_t ldy, size_t apart, const char *w,
                      size_t stride, int rows, const struct kern_act *a, int x_row, int m, int k)
{
	for (int t = 0, by; t < m; t += by, y += (size_t)by * ldy) {
		by = m - t < ROWS_M ? m - t : ROWS_M;
		if (by == 1)
			rows_16(type, y, ldy, apart, w, stride, rows, a, x_row + t, k, 1);
		else if (by == 2)
			rows_16(type, y, ldy, apart, w, stride, rows, a, x_row + t, k, 2);
		else if (by == 3)
			rows_16(type, y, ldy, apart, w, stride, rows, a, x_row + t, k, 3);
		else
			rows_16(type, y, ldy, apart, w, stride, rows, a, x_row + t, k, 4);
	}
}
/* Multiply groups of 16 rows that are far apart, so that each row of a group begins a long stream;
 * then the remaining rows. */
INLINE void rows_half(enum infer_type type, float *y, size_t ldy, const char *w, size_t row_bytes,
                      const struct kern_act *a, int x_row, int m, int n, int k)
{
	size_t apart = (size_t)(n / N);
	int rest = n % N, done = n - rest;

	tiles_begin_rows(N);
	for (size_t r = 0; r < apart; r++)
		rows_some(type, y + r, ldy, apart, w + r * row_bytes, apart * row_bytes, N, a,
		          x_row, m, k);
	if (rest) {
		tiles_begin_rows(rest);
		rows_some(type, y + done, ldy, 1, w + (size_t)done * row_bytes, row_bytes, rest, a,
		          x_row, m, k);
	}
	TILE_END();
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		rows_half(INFER_##TYPE, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		tile(y, ldy, packed, x, x_row, m, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) { return (size_t)act_bf16_k(k) / 32 * W_BYTES; }
KERN_ROWS_HALF(ROW)
#undef ROW
