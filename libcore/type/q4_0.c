/* Q4_0: 32 elements, one scale.
 *   0  f16 d
 *   2  16 bytes qs: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d (q - 8) */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q4_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)(block_nibble(b->qs, i) - 8);
	}
}

const struct type type_q4_0 = {
	{ "Q4_0", 2, 32, sizeof(struct q4_0), 0 }, decode, .n_f16 = 1, .f16 = { 0 }
};
