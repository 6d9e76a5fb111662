/* Products of weights in blocks of 256 from a codebook, or ternary, on 128 bits: a block becomes
 * whole numbers, one row at a time.
 *
 *   panel  8 rows, a row of blocks (tmpl/grid_plain.h) each
 *   isum = sum of S (q . x), exact; y = fma(d' dx, isum, y)
 *   layouts, bytes per flop, limits: ref/mm_grid.c */
#include "kern/neon/int.h"
#include <math.h>
#include "kern/tmpl/grid_plain.h"

enum { ROWS = 8 };

/* one block into the sums of tn <= TILE_T rows of x */
INLINE void block_by(int tn, float *sum, const struct grid_block *b, const struct kern_q8k *xb,
                     size_t x_row)
{
	int32x4_t acc[TILE_T];

	UNROLL
	for (int t = 0; t < tn; t++)
		acc[t] = vdupq_n_s32(0);
	for (int i = 0; i < 16; i++) {
		int8x16_t q = vld1q_s8(b->q + 16 * i);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = row_of(xb, x_row, t);
			acc[t] = vmlaq_n_s32(
			    acc[t], dot16(vdupq_n_s32(0), q, vld1q_s8(xt->q + 16 * i)), b->s[i]);
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8k *xt = row_of(xb, x_row, t);
		sum[t] = fmaf(b->d * xt->d, (float)vaddvq_s32(acc[t]), sum[t]);
	}
}

static void block_part(int tn, float *sum, const struct grid_block *b, const struct kern_q8k *xb,
                       size_t x_row)
{
	int t = 0;

	for (; t + TILE_T <= tn; t += TILE_T)
		block_by(TILE_T, sum + t, b, row_of(xb, x_row, t), x_row);
	for (; t < tn; t++)
		block_by(1, sum + t, b, row_of(xb, x_row, t), x_row);
}

/* m rows of x, some at a time; the blocks of a row of weights come from `from` (a panel) or un */
static void row(float *y, size_t ldy, const struct grid_block *from, grid_unpack *un, int bytes,
                const uint8_t *w, const struct kern_act *x, int x_row, int m, int k)
{
	enum { TOKENS = 16 };

	for (int at = 0; at < m; at += TOKENS) {
		int tn = m - at < TOKENS ? m - at : TOKENS;
		float sum[TOKENS] = {0};
		for (int b = 0; b < k / 256; b++) {
			struct grid_block blk;
			if (!from)
				un(&blk, w + (size_t)b * (size_t)bytes);
			block_part(tn, sum, from ? from + b : &blk, act_q8k(x, x_row + at) + b,
			           x->q_row);
		}
		for (int t = 0; t < tn; t++)
			y[(size_t)(at + t) * ldy] = sum[t];
	}
}

static void pack(struct grid_block *dst, grid_unpack *un, int bytes, const uint8_t *w,
                 size_t row_bytes, int n, int k)
{
	for (int r = 0; r < n; r++)
		for (int b = 0; b < k / 256; b++)
			un(dst++, w + (size_t)r * row_bytes + (size_t)b * (size_t)bytes);
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		for (int r = 0; r < n; r++) \
			row(y + r, ldy, NULL, name, BYTES_##name, \
			    (const uint8_t *)w + (size_t)r * row_bytes, x, x_row, m, k); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack(dst, name, BYTES_##name, w, row_bytes, n, k); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		for (int r = 0; r < n; r++) \
			row(y + r, ldy, (const struct grid_block *)packed + r * (k / 256), NULL, 0, \
			    NULL, x, x_row, m, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 256) * ROWS * sizeof(struct grid_block); \
	}
KERN_ROWS_GRID(ROW) KERN_ROWS_TERNARY(ROW)
