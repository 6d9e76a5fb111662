/* Q5_1: 32 elements, a scale and a minimum.
 *   0  f16 d
 *   2  f16 m
 *   4  u32 qh: bit i is the fifth bit of element i
 *   8  16 bytes qs: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = d q + m */
#include "type/block.h"
#include "type/round.h"
#include "type/search_affine.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q5_1 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d), m = block_f16(b->m);
		uint32_t qh = num_u32(b->qh);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)(block_nibble(b->qs, i) | (int)(qh >> i & 1) << 4) + m;
	}
}

static void put(void *block, uint16_t d, uint16_t m, const int8_t *q)
{
	struct q5_1 *b = block;

	search_put_f16(b->d, d);
	search_put_f16(b->m, m);
	uint32_t qh = 0;
	for (int i = 0; i < 32; i++)
		qh |= (uint32_t)(q[i] >> 4) << i;
	memcpy(b->qh, &qh, sizeof qh);
	for (int i = 0; i < 16; i++)
		b->qs[i] = (uint8_t)((q[i] & 15) | (q[i + 16] & 15) << 4);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const struct search_affine_format line = { 31, sizeof(struct q5_1), put };

	search_encode_affine(&line, dst, src, importance, blocks, how);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q5_1 *b = block;
	float d = block_f16(b->d), m = block_f16(b->m);
	int q = round_line(*x, d, m, 0, 31);

	(void)w;
	round_put_nibble(b->qs, i, q & 15);
	round_put(b->qh + i / 8, i % 8, 1, q >> 4);
	*x = d * (float)q + m;
}

const struct type type_q5_1 = {
	{ "Q5_1", 7, 32, sizeof(struct q5_1), 0 },
	decode,
	encode,
	.n_f16 = 2,
	.f16 = { 0, 2 },
	.unit = 1,
	.round = round_fixed,
};
