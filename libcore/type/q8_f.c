/* Q8_F: 64 elements, a scale and an offset in f32: repacked from int8 formats of several libraries.
 *   0  f32 d
 *   4  f32 m
 *   8  i8 q[64]
 * value = d q + m */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q8_f *b = src;

	for (; blocks--; b++, dst += 64) {
		float d = block_f32(b->d), m = block_f32(b->m);
		for (int i = 0; i < 64; i++)
			dst[i] = d * (float)b->q[i] + m;
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct q8_f *b = src;

	for (size_t i = 0; i < blocks; i++)
		if (block_f32_bad(b[i].d) || block_f32_bad(b[i].m))
			return sizeof *b * i + (block_f32_bad(b[i].d) ? 0 : 4);
	return SIZE_MAX;
}

const struct type type_q8_f = { { "Q8_F", 1002, 64, sizeof(struct q8_f), 0 }, decode, .bad = bad };
