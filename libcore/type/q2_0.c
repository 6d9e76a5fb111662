/* Q2_0: 64 elements of two bits, one scale.
 *   0  f16 d
 *   2  u8 qs[16]: element i is at bit 2 (i % 4) of byte i / 4
 * value = d (q - 1) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q2_0 *b = src;

	for (; blocks--; b++, dst += 64) {
		float d = block_f16(b->d);
		for (int i = 0; i < 64; i++)
			dst[i] = d * (float)((b->qs[i / 4] >> i % 4 * 2 & 3) - 1);
	}
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct q2_0 *b = block;

	search_put_f16(b->d, d);
	for (int i = 0; i < 16; i++)
		b->qs[i] = (uint8_t)((q[4 * i] + 1) | (q[4 * i + 1] + 1) << 2 |
		                     (q[4 * i + 2] + 1) << 4 | (q[4 * i + 3] + 1) << 6);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const float tries[] = { 2, 1.5f, 2.5f, 3, 4, 6, -1, -1.5f, -2, -2.5f, -3, -4 };
	static const struct search_grid grid = { .lo = -1,
		                                 .hi = 2,
		                                 .tries = tries,
		                                 .n_tries = sizeof tries / sizeof *tries,
		                                 .plain = 1 };
	static const struct search_scale_format single = { 64, sizeof(struct q2_0), put };

	search_encode_scale(&single, &grid, dst, src, importance, blocks, how);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q2_0 *b = block;
	float d = block_f16(b->d);
	int q = d != 0 ? round_int(*x / d, -1, 2) : 0;

	(void)w;
	round_put(b->qs + i / 4, i % 4 * 2, 3, q + 1);
	*x = d * (float)q;
}

const struct type type_q2_0 = {
	{ "Q2_0", 42, 64, sizeof(struct q2_0), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 1,
	.round = round_fixed,
};
