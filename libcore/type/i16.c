/* I16: 2-byte two's complement; exact as f32. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++) {
		int16_t x;
		memcpy(&x, at + sizeof x * i, sizeof x);
		dst[i] = (float)x;
	}
}

const struct type type_i16 = { { "I16", 25, 1, 2, 0 }, decode };
