/* F16: IEEE binary16. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++)
		dst[i] = block_f16(at + 2 * i);
}

const struct type type_f16 = { { "F16", 1, 1, 2, 0 }, decode, .n_f16 = 1, .f16 = { 0 } };
