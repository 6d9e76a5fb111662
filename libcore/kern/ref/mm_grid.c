/* kern/ref/mm_grid.c - reference products of codebook and ternary weights in blocks of 256.  For
 * weight i: g = i / 8, k = i / 32; G: the point of the type's grid (type/grids.h).
 *
 *   IQ2_XXS  d | 8 times { u8 at[4], u32 aux }                d/8 S G[at[g % 4]]
 *            signs 7 bits 7 (g % 4) of aux, S of its bits 28
 *   IQ2_XS   d | u16 q[32] | sc[8]                            d/8 S G[9 bits of q[g]]
 *            signs 7 bits 9 of q[g], S of nibble i / 16
 *   IQ2_S    d | qs[32] | signs[32] | qh[8] | sc[8]           d/8 S G[qs[g] | 2 bits 2 g of qh << 8]
 *   IQ3_XXS  d | qs[64] | u32 aux[8]                          d/4 S G[qs[i / 4]], aux as IQ2_XXS
 *   IQ3_S    d | qs[64] | qh[8] | signs[32] | sc[4]           d S G[qs[i / 4] | bit i / 4 of qh << 8]
 *   IQ1_S    d | qs[32] | u16 qh[8]                           d/8 S (8 G + 1 or - 1)
 *            point qs[g] | 3 bits 3 (g % 4) of qh[k] << 8, S of its bits 12, bit 15 is -1
 *   IQ1_M    qs[32] | qh[16] | u16 sc[4]                      d/8 S (8 G + 1 or - 1)
 *            point qs[g] | 3 bits 4 g of qh << 8, the fourth is -1; S of the 3 bits 3 (i / 16 % 4)
 *            of sc[i / 64]; d of the highest 4 bits of all sc
 *   TQ2_0    qs[64] | d                                       d (q - 1), q as Q2_K
 *   TQ1_0    qs[48] | qh[4] | d                               d (q - 1), five base-3 digits a byte
 *   S = 2 s + 1 for the bits s; of eight signs seven are stored: the number of minus signs is even
 *
 *   q: the factor after S (G with its signs); d': the factor before S
 *   isum = sum of S (q . x);  y = fma(d' dx, isum, y), blocks ascending
 *   bytes per flop: 66, 74, 82, 98, 110, 50, 56, 66, 54 per 512;  limits: k % 256 == 0 */
#include "kern/ref/mm.h"
#include "kern/x86/grid_plain.h"
#include "type/block.h"

/* Multiply one row of weights with tn <= TOKENS rows of x. */
static void row_part(float *y, size_t ldy, grid_unpack *un, int bytes, const uint8_t *w,
                     const struct kern_act *x, int x_row, int tn, int k)
{
	float sum[TOKENS] = { 0 };

	for (int b = 0; b < k / 256; b++) {
		struct grid_block blk;
		un(&blk, w + (size_t)b * (size_t)bytes);
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *a = act_q8k(x, x_row + t) + b;
			int32_t isum = 0;
			for (int s = 0; s < 16; s++) {
				int32_t dot = 0;
				for (int i = 0; i < 16; i++)
					dot += blk.q[16 * s + i] * a->q[16 * s + i];
				isum += blk.s[s] * dot;
			}
			sum[t] = fmaf(blk.d * a->d, (float)isum, sum[t]);
		}
	}
	for (int t = 0; t < tn; t++)
		y[(size_t)t * ldy] = sum[t];
}

#define ROW(TYPE, name) \
	static void name##_part(float *y, size_t ldy, const uint8_t *w, const struct kern_act *x, \
	                        int x_row, int tn, int k) \
	{ \
		row_part(y, ldy, name, (int)sizeof(struct name), w, x, x_row, tn, k); \
	} \
	PLAIN_OF(name, 256)
KERN_ROWS_GRID(ROW)
KERN_ROWS_TERNARY(ROW)
