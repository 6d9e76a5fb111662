/* NVFP4: 64 elements E2M1 in 4 groups of 16, each under an unsigned E4M3 scale.
 *   0  u8 d[4]
 *   4  u8 qs[32]: byte 8 s + r holds elements 16 s + r (low half) and 16 s + 8 + r (high half)
 * value = twice the E2M1 value, times half the scale; the codes 0 and 0x7f are scale 0.  The
 * tensor's own f32 scale stands in another tensor. */
#include "type/block.h"
#include "type/grids.h"

static float half_scale(int x)
{
	int e = x >> 3 & 15, m = x & 7;

	if (x == 0x7f)
		return 0.0f;
	if (e == 0)
		return (float)m * 0x1p-10f;
	return (float)(8 + m) * num_float((uint32_t)(e + 127 - 7 - 3 - 1) << 23);
}

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct nvfp4 *b = src;

	for (; blocks--; b++, dst += 64)
		for (int s = 0; s < 4; s++) {
			float d = half_scale(b->d[s]);
			for (int r = 0; r < 16; r++) {
				int q = b->qs[8 * s + r % 8] >> r / 8 * 4 & 15;
				dst[16 * s + r] = d * (float)grid_fp4[q];
			}
		}
}

const struct type type_nvfp4 = { { "NVFP4", 40, 64, sizeof(struct nvfp4), 0 }, decode };
