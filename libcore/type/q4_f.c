/* Q4_F: 64 elements, a scale and an offset in f32: repacked from GPTQ, AWQ, MLX and others.
 *   0  f32 d
 *   4  f32 m
 *   8  32 bytes qs: low halves are elements 0 ... 31, high halves 32 ... 63
 * value = d (q - 8) + m */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q4_f *b = src;

	for (; blocks--; b++, dst += 64) {
		float d = block_f32(b->d), m = block_f32(b->m);
		for (int i = 0; i < 64; i++)
			dst[i] = d * (float)(block_nibble64(b->qs, i) - 8) + m;
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct q4_f *b = src;

	for (size_t i = 0; i < blocks; i++)
		if (block_f32_bad(b[i].d) || block_f32_bad(b[i].m))
			return sizeof *b * i + (block_f32_bad(b[i].d) ? 0 : 4);
	return SIZE_MAX;
}

const struct type type_q4_f = { { "Q4_F", 1001, 64, sizeof(struct q4_f), 0 }, decode, .bad = bad };
