/* Q1_0: 128 elements of one bit, one scale.
 *   0  f16 d
 *   2  u8 qs[16]: element i is bit i % 8 of byte i / 8
 * value = bit ? d : -d */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q1_0 *b = src;

	for (; blocks--; b++, dst += 128) {
		float d = block_f16(b->d);
		for (int i = 0; i < 128; i++)
			dst[i] = b->qs[i / 8] >> i % 8 & 1 ? d : -d;
	}
}

const struct type type_q1_0 = {
	{ "Q1_0", 41, 128, sizeof(struct q1_0), 0 }, decode, .n_f16 = 1, .f16 = { 0 }
};
