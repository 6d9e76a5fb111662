/* Q8_1: 32 elements of an activation, with their sum.
 *   0  f16 d
 *   2  f16 s = d (q[0] + ... + q[31]), not used to decode
 *   4  i8 q[32]
 * value = d q */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q8_1 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)b->q[i];
	}
}

const struct type type_q8_1 = {
	{ "Q8_1", 9, 32, sizeof(struct q8_1), 1 }, decode, .n_f16 = 2, .f16 = { 0, 2 }
};
