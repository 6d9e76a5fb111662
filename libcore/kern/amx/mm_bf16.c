/* kern/amx/mm_bf16.c - products with bf16 activations by tiles: one TDPBF16PS is one block of 32 of
 * kern/tmpl/bf16.h, for 16 rows of x and 16 of weights.
 *
 *   panel  per block of 32 of k, per 16 rows of weights: bf16 [16 pairs of k][16 rows][2]
 *   tiles  0 1 sums of 16 rows of x, 2 3 of the next 16; 4 5 these rows of x; 6 7 weights
 *   bytes per flop: 2 per 2 m;  limits: none
 * Sums stay in tiles over the whole of k: loads of the panel from the L2 cache cost less than storing
 * sums and loading them again. */
#include <string.h>
#include "kern/amx/int.h"
#include "kern/avx512/bf16.h"
#ifdef __AVX512BF16__ /* not in tests/kern, which replaces instructions */
/* It takes subnormal numbers for zeros before it rounds, but no F16 is subnormal in f32. */
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

/* for m rows of x, at most STEP */
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

/* more than 16 rows of x, over n blocks of k */
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

/* m rows of x, whole lines of NR sums to y */
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

#define ROW(TYPE, name) \
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
