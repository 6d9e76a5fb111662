/* Q5_1: 32 elements, a scale and a minimum.
 *   0  f16 d
 *   2  f16 m
 *   4  u32 qh: bit i is the fifth bit of element i
 *   8  16 bytes qs: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d q + m */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q5_1 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d), m = block_f16(b->m);
		uint32_t qh = num_u32(b->qh);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)(block_nibble(b->qs, i) | (int)(qh >> i & 1) << 4) + m;
	}
}

const struct type type_q5_1 = {
	{ "Q5_1", 7, 32, sizeof(struct q5_1), 0 }, decode, .n_f16 = 2, .f16 = { 0, 2 }
};
