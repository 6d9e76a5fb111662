/* Q8_K: 256 elements of an activation, with sums of 16.
 *     0  f32 d
 *     4  i8 q[256]
 *   260  i16 sums[16], not used to decode
 * value = d q */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q8_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = num_float(num_u32(b->d));
		for (int i = 0; i < 256; i++)
			dst[i] = d * (float)b->q[i];
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct q8_k *b = src;

	for (size_t i = 0; i < blocks; i++)
		if ((num_u32(b[i].d) & 0x7f800000) == 0x7f800000)
			return sizeof *b * i;
	return SIZE_MAX;
}

const struct type type_q8_k = { { "Q8_K", 15, 256, sizeof(struct q8_k), 1 }, decode, .bad = bad };
