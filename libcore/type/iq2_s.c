/* IQ2_S: 256 elements as 32 points of a codebook of 1024 in eight dimensions, in 16 groups of 16,
 * each with a 4-bit scale.
 *    0  f16 d
 *    2  u8 qs[32]: low eight bits of the points
 *   34  u8 signs[32]: a bit of 1 is minus
 *   66  u8 qh[8]: bits 2 l and 2 l + 1 of byte k are the high two bits of point 4 k + l
 *   74  u8 sc[8]: halves are the scales
 * value = sign d (0.5 + scale) / 4 grid[q][j] */
#include "type/block.h"
#include "type/round.h"
#include "type/search_codebook.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq2_s *b = src;

	for (; blocks--; b++) {
		float d = block_f16(b->d);
		for (int g = 0; g < 32; g++, dst += 8) {
			float dl = d * (0.5f + (float)(b->sc[g / 4] >> g % 4 / 2 * 4 & 15)) * 0.25f;
			uint64_t point =
				grid_iq2_s[b->qs[g] | (b->qh[g / 4] >> g % 4 * 2 & 3) << 8];
			for (int j = 0; j < 8; j++)
				dst[j] = dl * (float)(point >> 8 * j & 255) *
				         block_sign(b->signs[g], j);
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_codebook p = {
		.dims = 8, .n = 4, .most = 15, .unit = 0.125f, .v = { { 8, 25, 43 } }
	};
	struct search_codebook_block k;
	struct iq2_s *b = dst;
	struct search s;

	p.grid = (const int8_t *)grid_iq2_s;
	search_codebook_init(&p, grid_code_iq2_s, 1024);
	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_codebook(&s, &p, &k);
		memset(b, 0, sizeof *b);
		search_put_f16(b->d, k.d);
		memcpy(b->signs, k.signs, 32);
		for (int i = 0; i < 32; i++) {
			b->qs[i] = (uint8_t)k.q[i];
			b->qh[i / 4] |= (uint8_t)(k.q[i] >> 8 << i % 4 * 2);
		}
		for (int i = 0; i < 16; i++)
			b->sc[i / 2] |= (uint8_t)(k.sc[i] << i % 2 * 4);
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	static const struct round_grid grid = { (const int8_t *)grid_iq2_s, 8, 1024 };
	struct iq2_s *b = block;
	int q, signs, g = i / 8;
	float dl = block_f16(b->d) * (0.5f + (float)(b->sc[g / 4] >> g % 4 / 2 * 4 & 15)) * 0.25f;

	round_signed(&grid, dl, 0, x, w, &q, &signs);
	b->qs[g] = (uint8_t)q;
	b->signs[g] = (uint8_t)signs;
	round_put(b->qh + g / 4, g % 4 * 2, 3, q >> 8);
}

const struct type type_iq2_s = {
	{ "IQ2_S", 22, 256, sizeof(struct iq2_s), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 8,
	.round = round_fixed,
};
