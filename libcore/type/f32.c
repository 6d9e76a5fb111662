/* F32: IEEE binary32. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks) { memcpy(dst, src, blocks * 4); }

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	(void)importance;
	(void)how;
	memcpy(dst, src, blocks * 4);
}

static size_t bad(const void *src, size_t blocks)
{
	const uint8_t *at = src;

	for (size_t i = 0; i < blocks; i++)
		if ((num_u32(at + 4 * i) & 0x7f800000) == 0x7f800000)
			return 4 * i;
	return SIZE_MAX;
}

const struct type type_f32 = { { "F32", 0, 1, 4, 0 }, decode, encode, .bad = bad };
