/* IQ3_XXS: 256 elements as 64 points of a codebook of 256 in four dimensions, in 8 groups of 32,
 * each with a 4-bit scale.
 *    0  f16 d
 *    2  u8 qs[64]
 *   66  u32 aux[8]: bits 7 l ... 7 l + 6 are the signs of eight elements, bits 28 ... 31 the scale
 * value = d (0.5 + scale) / 2 grid[q][j], signed */
#include "type/block.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq3_xxs *b = src;

	for (; blocks--; b++) {
		float d = block_f16(b->d);
		for (int g = 0; g < 32; g++, dst += 8) {
			uint32_t aux = num_u32(b->aux + g / 4 * 4);
			float dl = d * (0.5f + (float)(aux >> 28)) * 0.5f;
			int signs = grid_signs(aux >> g % 4 * 7 & 127);
			for (int j = 0; j < 8; j++) {
				uint32_t point = grid_iq3_xxs[b->qs[2 * g + j / 4]];
				dst[j] = dl * (float)(point >> j % 4 * 8 & 255) *
				         block_sign(signs, j);
			}
		}
	}
}

const struct type type_iq3_xxs = {
	{ "IQ3_XXS", 18, 256, sizeof(struct iq3_xxs), 0 }, decode, .n_f16 = 1, .f16 = { 0 }
};
