/* NVFP4_F: 64 E2M1 elements in 4 groups of 16, each with an unsigned E4M3 scale, and one f32 scale
 * for all: NVFP4 with the tensor's scale in each block.
 *   0  f32 d, below 2^113, so that every value is finite
 *   4  u8 s[4]; bit 7 is ignored
 *   8  u8 qs[32]: byte 8 g + r holds elements 16 g + r (low half) and 16 g + 8 + r (high half)
 * value = (d times half the scale, rounded to f32) times twice the E2M1 value, -0 included; the
 * scales 0 and 0x7f are 0 */
#include "type/block.h"
#include "type/grids.h"
#include <math.h>

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct nvfp4_f *b = src;

	for (; blocks--; b++, dst += 64)
		for (int g = 0; g < 4; g++) {
			float d = block_f32(b->d) * block_half_e4m3(b->s[g] & 127);
			for (int r = 0; r < 16; r++) {
				int q = b->qs[8 * g + r % 8] >> r / 8 * 4 & 15;
				dst[16 * g + r] = d * (q == 8 ? -0.0f : (float)grid_fp4[q]);
			}
		}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct nvfp4_f *b = src;

	for (size_t i = 0; i < blocks; i++)
		if (!(fabsf(block_f32(b[i].d)) < 0x1p113f))
			return sizeof *b * i;
	return SIZE_MAX;
}

const struct type type_nvfp4_f = {
	{ "NVFP4_F", 1005, 64, sizeof(struct nvfp4_f), 0 },
	decode,
	.bad = bad,
};
