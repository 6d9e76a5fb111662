/* Q4_0: 32 elements, one scale.
 *   0  f16 d
 *   2  16 bytes qs: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d (q - 8) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q4_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)(block_nibble(b->qs, i) - 8);
	}
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct q4_0 *b = block;

	search_put_f16(b->d, d);
	for (int i = 0; i < 16; i++)
		b->qs[i] = (uint8_t)((q[i] + 8) | (q[i + 16] + 8) << 4);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const float tries[] = { -8,  -7.5f, -7,   -8.5f, -9, -9.5f, -10,
		                       -11, 7,     7.5f, 6.5f,  8,  8.5f,  9 };
	static const struct search_grid grid = { .lo = -8,
		                                 .hi = 7,
		                                 .tries = tries,
		                                 .n_tries = sizeof tries / sizeof *tries,
		                                 .plain = -8 };
	static const struct search_scale_format single = { 32, sizeof(struct q4_0), put };

	search_encode_scale(&single, &grid, dst, src, importance, blocks, how);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q4_0 *b = block;
	float d = block_f16(b->d);
	int q = d != 0 ? round_int(*x / d, -8, 7) : 0;

	(void)w;
	round_put_nibble(b->qs, i, q + 8);
	*x = d * (float)q;
}

const struct type type_q4_0 = {
	{ "Q4_0", 2, 32, sizeof(struct q4_0), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 1,
	.round = round_fixed,
};
