/* TQ2_0: 256 ternary elements, one scale.
 *    0  u8 qs[64]: byte 32 H + l holds elements 128 H + 32 j + l, j = 0 ... 3 from the low bits up
 *   64  f16 d
 * value = d (q - 1) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct tq2_0 *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d);
		for (int i = 0; i < 256; i++)
			dst[i] =
				d *
				(float)((b->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
	}
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct tq2_0 *b = block;

	search_put_f16(b->d, d);
	for (int i = 0; i < 64; i++) {
		const int8_t *at = q + i / 32 * 128 + i % 32;
		b->qs[i] = (uint8_t)((at[0] + 1) | (at[32] + 1) << 2 | (at[64] + 1) << 4 |
		                     (at[96] + 1) << 6);
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const struct search_scale_format single = { 256, sizeof(struct tq2_0), put };

	search_encode_scale(&single, &search_ternary, dst, src, importance, blocks, how);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct tq2_0 *b = block;
	float d = block_f16(b->d);
	int q = d != 0 ? round_int(*x / d, -1, 1) : 0;

	(void)w;
	round_put(b->qs + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 3, q + 1);
	*x = d * (float)q;
}

const struct type type_tq2_0 = {
	{ "TQ2_0", 35, 256, sizeof(struct tq2_0), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 64 },
	.unit = 1,
	.round = round_fixed,
};
