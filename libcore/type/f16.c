/* F16: IEEE binary16. */
#include "type/block.h"
#include "type/search.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++)
		dst[i] = block_f16(at + 2 * i);
}

/* To the nearest, ties to even; what is too large becomes the largest finite value. */
static void encode(void *dst, const float *src, const float *importance, size_t blocks, int plain)
{
	uint8_t *to = dst;

	(void)importance;
	(void)plain;
	for (size_t i = 0; i < blocks; i++)
		search_put(to + 2 * i, search_f16(src[i]));
}

const struct type type_f16 = { { "F16", 1, 1, 2, 0 }, decode, encode, .n_f16 = 1, .f16 = { 0 } };
