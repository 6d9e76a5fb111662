/* IQ3_XXS: 256 elements as 64 points of a codebook of 256 in four dimensions, in 8 groups of 32,
 * each with a 4-bit scale.
 *    0  f16 d
 *    2  u8 qs[64]
 *   66  u32 aux[8]: bits 7 l ... 7 l + 6 are the signs of eight elements, bits 28 ... 31 the scale
 * value = sign d (0.5 + scale) / 2 grid[q][j] */
#include "type/block.h"
#include "type/round.h"
#include "type/search_codebook.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq3_xxs *b = src;

	for (; blocks--; b++) {
		float d = block_f16(b->d);
		for (int g = 0; g < 32; g++, dst += 8) {
			uint32_t aux = num_u32(b->aux + g / 4 * 4);
			float dl = d * (0.5f + (float)(aux >> 28)) * 0.5f;
			int signs = grid_signs(aux >> g % 4 * 7 & 127);
			for (int j = 0; j < 8; j++) {
				uint32_t point = grid_iq3_xxs[b->qs[2 * g + j / 4]];
				dst[j] = dl * (float)(point >> j % 4 * 8 & 255) *
				         block_sign(signs, j);
			}
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_codebook p = { .dims = 4,
		                     .n = 8,
		                     .most = 15,
		                     .even = 1,
		                     .refits = 1,
		                     .unit = 0.25f,
		                     .v = { { 4, 12, 20, 28 }, { 36, 44, 52, 62 } } };
	struct search_codebook_block k;
	struct iq3_xxs *b = dst;
	struct search s;

	p.grid = (const int8_t *)grid_iq3_xxs;
	search_codebook_init(&p, grid_code_iq3_xxs, 256);
	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_codebook(&s, &p, &k);
		search_put_f16(b->d, k.d);
		for (int i = 0; i < 64; i++)
			b->qs[i] = (uint8_t)k.q[i];
		for (int i = 0; i < 8; i++) {
			uint32_t aux = (uint32_t)k.sc[i] << 28;
			for (int l = 0; l < 4; l++)
				aux |= (uint32_t)(k.signs[4 * i + l] & 127) << 7 * l;
			memcpy(b->aux + 4 * i, &aux, 4);
		}
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	static const struct round_grid grid = { (const int8_t *)grid_iq3_xxs, 4, 256 };
	struct iq3_xxs *b = block;
	uint32_t aux = num_u32(b->aux + i / 32 * 4);
	int q[2], signs, l = i % 32 / 8;

	round_signed(&grid, block_f16(b->d) * (0.5f + (float)(aux >> 28)) * 0.5f, 1, x, w, q,
	             &signs);
	b->qs[i / 4] = (uint8_t)q[0];
	b->qs[i / 4 + 1] = (uint8_t)q[1];
	aux = (aux & ~(127u << 7 * l)) | (uint32_t)(signs & 127) << 7 * l;
	memcpy(b->aux + i / 32 * 4, &aux, 4);
}

const struct type type_iq3_xxs = {
	{ "IQ3_XXS", 18, 256, sizeof(struct iq3_xxs), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 8,
	.round = round_fixed,
};
