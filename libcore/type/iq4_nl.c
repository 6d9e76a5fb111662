/* IQ4_NL: 32 codes for a table of 16 values, one scale.
 *   0  f16 d
 *   2  u8 qs[16]: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d table[q] */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq4_nl *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)grid_iq4[block_nibble(b->qs, i)];
	}
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct iq4_nl *b = block;

	search_put_f16(b->d, d);
	for (int i = 0; i < 16; i++)
		b->qs[i] = (uint8_t)(q[i] | q[i + 16] << 4);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_table t;
	struct search_grid grid = search_iq4(&t);
	const struct search_scale_format single = { 32, sizeof(struct iq4_nl), put, &t };

	search_encode_scale(&single, &grid, dst, src, importance, blocks, how);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct iq4_nl *b = block;
	float d = block_f16(b->d);
	int q = round_table(*x, d, grid_iq4);

	(void)w;
	round_put_nibble(b->qs, i, q);
	*x = d * (float)grid_iq4[q];
}

const struct type type_iq4_nl = {
	{ "IQ4_NL", 20, 32, sizeof(struct iq4_nl), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 1,
	.round = round_fixed,
};
