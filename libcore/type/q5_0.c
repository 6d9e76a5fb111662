/* Q5_0: 32 elements, one scale.
 *   0  f16 d
 *   2  u32 qh: bit i is the fifth bit of element i
 *   6  16 bytes qs: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d (q - 16) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q5_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		uint32_t qh = num_u32(b->qh);
		for (int i = 0; i < 32; i++)
			dst[i] = d *
			         (float)((block_nibble(b->qs, i) | (int)(qh >> i & 1) << 4) - 16);
	}
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct q5_0 *b = block;

	search_put_f16(b->d, d);
	uint32_t qh = 0;
	for (int i = 0; i < 32; i++)
		qh |= (uint32_t)((q[i] + 16) >> 4) << i;
	memcpy(b->qh, &qh, sizeof qh);
	for (int i = 0; i < 16; i++)
		b->qs[i] = (uint8_t)(((q[i] + 16) & 15) | ((q[i + 16] + 16) & 15) << 4);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const float tries[] = { -16, -15.5f, -15, -16.5f, -17,   -17.5f,
		                       -18, -19,    15,  15.5f,  14.5f, 16 };
	static const struct search_grid grid = { .lo = -16,
		                                 .hi = 15,
		                                 .tries = tries,
		                                 .n_tries = sizeof tries / sizeof *tries,
		                                 .plain = -16 };
	static const struct search_scale_format single = { 32, sizeof(struct q5_0), put };

	search_encode_scale(&single, &grid, dst, src, importance, blocks, how);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q5_0 *b = block;
	float d = block_f16(b->d);
	int q = d != 0 ? round_int(*x / d, -16, 15) : 0;

	(void)w;
	round_put_nibble(b->qs, i, (q + 16) & 15);
	round_put(b->qh + i / 8, i % 8, 1, (q + 16) >> 4);
	*x = d * (float)q;
}

const struct type type_q5_0 = {
	{ "Q5_0", 6, 32, sizeof(struct q5_0), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 1,
	.round = round_fixed,
};
