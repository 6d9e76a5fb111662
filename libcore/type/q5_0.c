/* Q5_0: 32 elements, one scale.
 *   0  f16 d
 *   2  u32 qh: bit i is the fifth bit of element i
 *   6  16 bytes qs: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d (q - 16) */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q5_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		uint32_t qh = num_u32(b->qh);
		for (int i = 0; i < 32; i++)
			dst[i] = d *
			         (float)((block_nibble(b->qs, i) | (int)(qh >> i & 1) << 4) - 16);
	}
}

const struct type type_q5_0 = {
	{ "Q5_0", 6, 32, sizeof(struct q5_0), 0 }, decode, .n_f16 = 1, .f16 = { 0 }
};
