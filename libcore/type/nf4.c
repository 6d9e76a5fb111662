/* NF4: 64 codes for a table of 16 floats, one scale in f32 (4-bit normal floats of bitsandbytes).
 *   0  f32 d
 *   4  u8 qs[32]: low halves are elements 0 ... 31, high halves 32 ... 63
 * value = d table[q] */
#include "type/nf4.h"
#include "type/block.h"

/* quantiles of the normal distribution, from bitsandbytes (functional.py, get_4bit_type) */
const float nf4_table[16] = {
	-1.0f,
	-0.6961928009986877f,
	-0.5250730514526367f,
	-0.39491748809814453f,
	-0.28444138169288635f,
	-0.18477343022823334f,
	-0.09105003625154495f,
	0.0f,
	0.07958029955625534f,
	0.16093020141124725f,
	0.24611230194568634f,
	0.33791524171829224f,
	0.44070982933044434f,
	0.5626170039176941f,
	0.7229568362236023f,
	1.0f,
};

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct nf4 *b = src;

	for (; blocks--; b++, dst += 64) {
		float d = block_f32(b->d);
		for (int i = 0; i < 64; i++)
			dst[i] = d * nf4_table[block_nibble64(b->qs, i)];
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct nf4 *b = src;

	for (size_t i = 0; i < blocks; i++)
		if (block_f32_bad(b[i].d))
			return sizeof *b * i;
	return SIZE_MAX;
}

const struct type type_nf4 = { { "NF4", 1004, 64, sizeof(struct nf4), 0 }, decode, .bad = bad };
