/* Q8_0: 32 elements, one scale.
 *   0  f16 d
 *   2  i8 q[32]
 * value = d q */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q8_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)b->q[i];
	}
}

const struct type type_q8_0 = {
	{ "Q8_0", 8, 32, sizeof(struct q8_0), 0 }, decode, .n_f16 = 1, .f16 = { 0 }
};
