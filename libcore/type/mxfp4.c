/* MXFP4: 32 elements E2M1 under one power of two (OCP Microscaling 1.0).
 *   0  u8 e
 *   1  u8 qs[16]: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = twice the E2M1 value, times 2^(e - 128).  e = 255 stands for NaN: the decoder gives what
 * the formula gives, who looks for weights that are not finite finds it. */
#include "type/block.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct mxfp4 *b = src;

	for (; blocks--; b++, dst += 32) {
		/* e = 0 and 1 give subnormal f32 */
		float d = num_float(b->e < 2 ? 0x00200000u << b->e : (uint32_t)(b->e - 1) << 23);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)grid_fp4[block_nibble(b->qs, i)];
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct mxfp4 *b = src;

	for (size_t i = 0; i < blocks; i++)
		if (b[i].e == 255)
			return sizeof *b * i;
	return SIZE_MAX;
}

const struct type type_mxfp4 = { { "MXFP4", 39, 32, sizeof(struct mxfp4), 0 }, decode, .bad = bad };
