/* F64: IEEE binary64, rounded to nearest. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++) {
		double x;
		memcpy(&x, at + 8 * i, 8);
		dst[i] = (float)x;
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++)
		if ((num_u64(at + 8 * i) >> 52 & 0x7ff) == 0x7ff)
			return 8 * i;
	return SIZE_MAX;
}

const struct type type_f64 = { { "F64", 28, 1, 8, 0 }, decode, .bad = bad };
