/* Q5_K: 256 elements in 8 groups of 32, each with a 6-bit scale and a 6-bit minimum.
 *    0  f16 d
 *    2  f16 dmin
 *    4  u8 sc[12]: scales and minima (block.h)
 *   16  u8 qh[32]: bit k of byte l is the fifth bit of element 32 k + l
 *   48  u8 qs[128]: byte 32 p + l holds elements 64 p + l (low half) and 64 p + 32 + l (high half)
 * value = d scale q - dmin min */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q5_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d), dmin = block_f16(b->dmin);
		for (int k = 0; k < 8; k++) {
			int scale, min;
			block_scale_min(b->sc, k, &scale, &min);
			float dl = d * (float)scale, ml = dmin * (float)min;
			for (int l = 0; l < 32; l++) {
				int q = (b->qs[k / 2 * 32 + l] >> k % 2 * 4 & 15) |
				        (b->qh[l] >> k & 1) << 4;
				dst[32 * k + l] = dl * (float)q - ml;
			}
		}
	}
}

const struct type type_q5_k = {
	{ "Q5_K", 13, 256, sizeof(struct q5_k), 0 }, decode, .n_f16 = 2, .f16 = { 0, 2 }
};
