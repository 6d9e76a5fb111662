/* IQ3_S: 256 elements as 64 points of a codebook of 512 in four dimensions, in 8 groups of 32, each
 * with a 4-bit scale.
 *     0  f16 d
 *     2  u8 qs[64]: low eight bits of the points
 *    66  u8 qh[8]: bit p of byte k is the ninth bit of point 8 k + p
 *    74  u8 signs[32]
 *   106  u8 sc[4]: halves are the scales
 * value = sign d (1 + 2 scale) grid[q][j] */
#include "type/block.h"
#include "type/round.h"
#include "type/search_codebook.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq3_s *b = src;

	for (; blocks--; b++) {
		float d = block_f16(b->d);
		for (int p = 0; p < 64; p++, dst += 4) {
			float dl = d * (float)(1 + 2 * (b->sc[p / 16] >> p % 16 / 8 * 4 & 15));
			uint32_t point = grid_iq3_s[b->qs[p] | (b->qh[p / 8] >> p % 8 & 1) << 8];
			for (int j = 0; j < 4; j++)
				dst[j] = dl * (float)(point >> 8 * j & 255) *
				         block_sign(b->signs[p / 2], p % 2 * 4 + j);
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_codebook p = {
		.dims = 4, .n = 8, .most = 15, .unit = 1, .v = { { 1, 3, 5, 7 }, { 9, 11, 13, 15 } }
	};
	struct search_codebook_block k;
	struct iq3_s *b = dst;
	struct search s;

	p.grid = (const int8_t *)grid_iq3_s;
	search_codebook_init(&p, grid_code_iq3_s, 512);
	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_codebook(&s, &p, &k);
		memset(b, 0, sizeof *b);
		search_put_f16(b->d, k.d);
		for (int i = 0; i < 64; i++) {
			b->qs[i] = (uint8_t)k.q[i];
			b->qh[i / 8] |= (uint8_t)(k.q[i] >> 8 << i % 8);
		}
		memcpy(b->signs, k.signs, 32);
		for (int i = 0; i < 8; i++)
			b->sc[i / 2] |= (uint8_t)(k.sc[i] << i % 2 * 4);
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	static const struct round_grid grid = { (const int8_t *)grid_iq3_s, 4, 512 };
	struct iq3_s *b = block;
	int q[2], signs, p = i / 4;

	round_signed(&grid,
	             block_f16(b->d) * (float)(1 + 2 * (b->sc[p / 16] >> p % 16 / 8 * 4 & 15)), 0,
	             x, w, q, &signs);
	b->signs[i / 8] = (uint8_t)signs;
	for (int k = 0; k < 2; k++) {
		b->qs[p + k] = (uint8_t)q[k];
		round_put(b->qh + p / 8, p % 8 + k, 1, q[k] >> 8);
	}
}

const struct type type_iq3_s = {
	{ "IQ3_S", 21, 256, sizeof(struct iq3_s), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 8,
	.round = round_fixed,
};
