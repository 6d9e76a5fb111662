/* Q2_0: 64 elements of two bits, one scale.
 *   0  f16 d
 *   2  u8 qs[16]: element i is at bit 2 (i % 4) of byte i / 4
 * value = d (q - 1) */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q2_0 *b = src;

	for (; blocks--; b++, dst += 64) {
		float d = block_f16(b->d);
		for (int i = 0; i < 64; i++)
			dst[i] = d * (float)((b->qs[i / 4] >> i % 4 * 2 & 3) - 1);
	}
}

const struct type type_q2_0 = {
	{ "Q2_0", 42, 64, sizeof(struct q2_0), 0 }, decode, .n_f16 = 1, .f16 = { 0 }
};
