/* TQ2_0: 256 ternary elements, one scale.
 *    0  u8 qs[64]: byte 32 H + l holds elements 128 H + 32 j + l, j = 0 ... 3 from the low bits up
 *   64  f16 d
 * value = d (q - 1) */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct tq2_0 *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d);
		for (int i = 0; i < 256; i++)
			dst[i] =
				d *
				(float)((b->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
	}
}

const struct type type_tq2_0 = {
	{ "TQ2_0", 35, 256, sizeof(struct tq2_0), 0 }, decode, .n_f16 = 1, .f16 = { 64 }
};
