/* I64: 8-byte two's complement; rounded to nearest, ties to even as f32. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++) {
		int64_t x;
		memcpy(&x, at + sizeof x * i, sizeof x);
		dst[i] = (float)x;
	}
}

const struct type type_i64 = { { "I64", 27, 1, 8, 0 }, decode };
