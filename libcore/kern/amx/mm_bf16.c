/* kern/amx/mm_bf16.c - products with bf16 activations by tiles: one TDPBF16PS is one block of 32 of
 * kern/tmpl/bf16.h, for 16 rows of x and 16 of weights.
 *
 *   panel  per block of 32 of k, per 16 rows of weights: bf16 [16 pairs of k][16 rows][2]
 *   tiles  0 1 sums of 16 rows of x, 2 3 of the next 16; 4 5 these rows of x; 6 7 weights
 *   bytes per flop: 2 per 2 m;  limits: none
 * A part of k of the panel stays in the L1 cache for all rows of x; sums wait in y. */
#include <string.h>
#include "kern/amx/int.h"
#include "kern/avx512/bf16.h"
#include "kern/tmpl/bf16_pairs.h"
#include "kern/tmpl/lines.h"

enum { BLOCK_BYTES = N * 64, PART_K = 512, STEP = 2 * N };

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

/* The part of k of some rows of x that a step of the tiles takes. */
struct part_b {
	const char *x, *w; /* of the first block */
	size_t x_row;      /* bytes from one row to the next */
	int blocks, first; /* 1: sums begin with zero */
};

static inline void step_full(const struct part_b *p, float *y, long apart)
{
	const char *x = p->x, *x2 = p->x + N * p->x_row, *w = p->w;

	if (p->first) {
		TILE_ZERO(0);
		TILE_ZERO(1);
		TILE_ZERO(2);
		TILE_ZERO(3);
	} else {
		TILE_LOAD(0, y, apart);
		TILE_LOAD(1, y + N, apart);
		TILE_LOAD(2, (char *)y + N * apart, apart);
		TILE_LOAD(3, (char *)(y + N) + N * apart, apart);
	}
	for (int b = 0; b < p->blocks; b++, x += 64, x2 += 64, w += W_GROUPS * BLOCK_BYTES) {
		TILE_LOAD(4, x, p->x_row);
		TILE_LOAD(6, w, 64);
		TILE_DOT_BF16(0, 4, 6);
		TILE_LOAD(7, w + BLOCK_BYTES, 64);
		TILE_DOT_BF16(1, 4, 7);
		TILE_LOAD(5, x2, p->x_row);
		TILE_DOT_BF16(2, 5, 6);
		TILE_DOT_BF16(3, 5, 7);
	}
	TILE_STORE(0, y, apart);
	TILE_STORE(1, y + N, apart);
	TILE_STORE(2, (char *)y + N * apart, apart);
	TILE_STORE(3, (char *)(y + N) + N * apart, apart);
}
/* up to 16 rows of x */
static inline void step_half(const struct part_b *p, float *y, long apart)
{
	const char *x = p->x, *w = p->w;

	if (p->first) {
		TILE_ZERO(0);
		TILE_ZERO(1);
	} else {
		TILE_LOAD(0, y, apart);
		TILE_LOAD(1, y + N, apart);
	}
	for (int b = 0; b < p->blocks; b++, x += 64, w += W_GROUPS * BLOCK_BYTES) {
		TILE_LOAD(4, x, p->x_row);
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
	for (int at = 0; at < k; at += PART_K) {
		struct part_b p = { .first = !at,
			            .w = w + (size_t)at / 32 * W_GROUPS * BLOCK_BYTES,
			            .x_row = a->q_row };
		p.blocks = ((k - at < PART_K ? k - at : PART_K) + 31) / 32;
		if (m >= STEP)
			tiles_begin_x(STEP);
		for (int t = 0; t < m; t += STEP) {
			float *to = y + (size_t)t * ldy;
			p.x = (const char *)(act_bf16(a, x_row + t, k) + at);
			prefetch_next(a, 1);
			prefetch_next(a, 1);
			if (m - t < STEP)
				tiles_begin_x(m - t);
			if (m - t > N)
				step_full(&p, to, (long)(ldy * sizeof *y));
			else
				step_half(&p, to, (long)(ldy * sizeof *y));
		}
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
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)act_bf16_k(k) / 32 * W_GROUPS * BLOCK_BYTES; \
	}
KERN_ROWS_HALF(ROW)
#undef ROW
