/* F8_E4M3: 64 elements in FP8 (OCP, the finite variant), one scale in f32.
 *   0  f32 d, |d| < 2^113
 *   4  u8 q[64]: sign, 4 bits of exponent with bias 7, 3 bits of mantissa
 * value = d e4m3(q).  The codes 0x7f and 0xff mean NaN: decode applies the formula, and `bad`
 * reports them and d >= 2^113. */
#include "type/block.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct f8_e4m3 *b = src;

	for (; blocks--; b++, dst += 64) {
		float d = block_f32(b->d);
		for (int i = 0; i < 64; i++)
			dst[i] = d * block_e4m3(b->q[i]);
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct f8_e4m3 *b = src;

	for (size_t i = 0; i < blocks; i++) {
		if ((num_u32(b[i].d) & 0x7fffffff) >= (113 + 127) << 23)
			return sizeof *b * i;
		for (int j = 0; j < 64; j++)
			if ((b[i].q[j] & 0x7f) == 0x7f)
				return sizeof *b * i + 4 + (size_t)j;
	}
	return SIZE_MAX;
}

const struct type type_f8_e4m3 = {
	{ "F8_E4M3", 1003, 64, sizeof(struct f8_e4m3), 0 },
	decode,
	.bad = bad,
};
