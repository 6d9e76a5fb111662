/* Q4_K: 256 elements in 8 groups of 32, each with a 6-bit scale and a 6-bit minimum.
 *    0  f16 d
 *    2  f16 dmin
 *    4  u8 sc[12]: scales and minima (block.h)
 *   16  u8 qs[128]: byte 32 p + l holds elements 64 p + l (low half) and 64 p + 32 + l (high half)
 * value = d scale q - dmin min */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q4_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d), dmin = block_f16(b->dmin);
		for (int k = 0; k < 8; k++) {
			int scale, min;
			block_scale_min(b->sc, k, &scale, &min);
			float dl = d * (float)scale, ml = dmin * (float)min;
			for (int l = 0; l < 32; l++)
				dst[32 * k + l] =
					dl * (float)(b->qs[k / 2 * 32 + l] >> k % 2 * 4 & 15) - ml;
		}
	}
}

const struct type type_q4_k = {
	{ "Q4_K", 12, 256, sizeof(struct q4_k), 0 }, decode, .n_f16 = 2, .f16 = { 0, 2 }
};
