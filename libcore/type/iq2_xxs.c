/* IQ2_XXS: 256 elements as 32 points of a codebook of 256 in eight dimensions, in 8 groups of 32,
 * each with a 4-bit scale.
 *   0  f16 d
 *   2  8 times { u8 idx[4]; u32 aux }: aux bits 7 l ... 7 l + 6 are the signs of point l, bits 28
 *   ... 31 the scale
 * value = sign d (0.5 + scale) / 4 grid[idx][j] */
#include "type/block.h"
#include "type/round.h"
#include "type/search_codebook.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq2_xxs *b = src;

	for (; blocks--; b++) {
		float d = block_f16(b->d);
		for (int g = 0; g < 32; g++, dst += 8) {
			const uint8_t *group = b->qs + g / 4 * 8;
			uint32_t aux = num_u32(group + 4);
			float dl = d * (0.5f + (float)(aux >> 28)) * 0.25f;
			int signs = grid_signs(aux >> g % 4 * 7 & 127);
			uint64_t point = grid_iq2_xxs[group[g % 4]];
			for (int j = 0; j < 8; j++)
				dst[j] = dl * (float)(point >> 8 * j & 255) * block_sign(signs, j);
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_codebook p = {
		.dims = 8, .n = 8, .most = 15, .even = 1, .unit = 0.125f, .v = { { 8, 25, 43 } }
	};
	struct search_codebook_block k;
	struct iq2_xxs *b = dst;
	struct search s;

	p.grid = (const int8_t *)grid_iq2_xxs;
	search_codebook_init(&p, grid_code_iq2_xxs, 256);
	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_codebook(&s, &p, &k);
		search_put_f16(b->d, k.d);
		for (int i = 0; i < 8; i++) {
			uint32_t aux = (uint32_t)k.sc[i] << 28;
			for (int l = 0; l < 4; l++) {
				b->qs[8 * i + l] = (uint8_t)k.q[4 * i + l];
				aux |= (uint32_t)(k.signs[4 * i + l] & 127) << 7 * l;
			}
			memcpy(b->qs + 8 * i + 4, &aux, 4);
		}
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	static const struct round_grid grid = { (const int8_t *)grid_iq2_xxs, 8, 256 };
	struct iq2_xxs *b = block;
	uint8_t *group = b->qs + i / 32 * 8;
	uint32_t aux = num_u32(group + 4);
	int q, signs, l = i % 32 / 8;

	round_signed(&grid, block_f16(b->d) * (0.5f + (float)(aux >> 28)) * 0.25f, 1, x, w, &q,
	             &signs);
	group[l] = (uint8_t)q;
	aux = (aux & ~(127u << 7 * l)) | (uint32_t)(signs & 127) << 7 * l;
	memcpy(group + 4, &aux, 4);
}

const struct type type_iq2_xxs = {
	{ "IQ2_XXS", 16, 256, sizeof(struct iq2_xxs), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 8,
	.round = round_fixed,
};
