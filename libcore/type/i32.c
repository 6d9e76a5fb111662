/* I32: 4-byte two's complement; rounded to nearest, ties to even as f32. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++) {
		int32_t x;
		memcpy(&x, at + sizeof x * i, sizeof x);
		dst[i] = (float)x;
	}
}

const struct type type_i32 = { { "I32", 26, 1, 4, 0 }, decode };
