/* BF16: the upper half of a binary32. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++)
		dst[i] = num_bf16(num_u16(at + 2 * i));
}

/* Round to nearest, ties to even; values that are too large become the largest finite BF16. */
static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	uint8_t *to = dst;

	(void)importance;
	(void)how;
	for (size_t i = 0; i < blocks; i++) {
		uint16_t h = num_to_bf16(src[i]);
		h = (uint16_t)(h - ((h & 0x7fff) == 0x7f80));
		memcpy(to + 2 * i, &h, sizeof h);
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++)
		if ((num_u16(at + 2 * i) & 0x7f80) == 0x7f80)
			return 2 * i;
	return SIZE_MAX;
}

const struct type type_bf16 = { { "BF16", 30, 1, 2, 0 }, decode, encode, .bad = bad };
