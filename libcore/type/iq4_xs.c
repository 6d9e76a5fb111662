/* IQ4_XS: 256 codes for a table of 16 values, in 8 groups of 32, each with a signed 6-bit
 * scale.
 *   0  f16 d
 *   2  u16 sh: bits 2k and 2k + 1 are the high two bits of scale k
 *   4  u8 sl[4]: halves are the low four bits of the scales
 *   8  u8 qs[128]: byte 16 k + l holds elements 32 k + l (low half) and 32 k + 16 + l (high half)
 * value = d (scale - 32) table[q] */
#include "type/block.h"
#include "type/round.h"
#include "type/search.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq4_xs *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d);
		int sh = num_u16(b->sh);
		for (int k = 0; k < 8; k++) {
			int scale = (b->sl[k / 2] >> k % 2 * 4 & 15) | (sh >> 2 * k & 3) << 4;
			float dl = d * (float)(scale - 32);
			for (int l = 0; l < 32; l++)
				dst[32 * k + l] =
					dl * (float)grid_iq4[block_nibble(b->qs + 16 * k, l)];
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_table t;
	struct search_subscales levels = { search_iq4(&t), .n = 8,      .lo = -32, .hi = 31,
		                           .steps = 24,    .rounds = 2, .wide = 1 };
	struct iq4_xs *b = dst;
	struct search s;
	int8_t sc[8], q[256];

	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		uint32_t sh = 0;
		search_load(&s, src, importance, 256, how);
		search_put_f16(b->d, search_subscales(&s, &levels, sc, q));
		memset(b->sl, 0, sizeof b->sl);
		for (int k = 0; k < 8; k++) {
			uint32_t v = (uint32_t)(sc[k] + 32);
			sh |= v >> 4 << 2 * k;
			b->sl[k / 2] |= (uint8_t)((v & 15) << k % 2 * 4);
			for (int l = 0; l < 16; l++)
				b->qs[16 * k + l] =
					(uint8_t)(t.code[q[32 * k + l] + 128] |
				                  t.code[q[32 * k + 16 + l] + 128] << 4);
		}
		search_put_f16(b->sh, (uint16_t)sh);
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct iq4_xs *b = block;
	int k = i / 32;
	int scale = (b->sl[k / 2] >> k % 2 * 4 & 15) | (num_u16(b->sh) >> 2 * k & 3) << 4;
	float dl = block_f16(b->d) * (float)(scale - 32);
	int q = round_table(*x, dl, grid_iq4);

	(void)w;
	round_put_nibble(b->qs + 16 * k, i % 32, q);
	*x = dl * (float)grid_iq4[q];
}

const struct type type_iq4_xs = {
	{ "IQ4_XS", 23, 256, sizeof(struct iq4_xs), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 1,
	.round = round_fixed,
};
