/* IQ1_S: 256 elements as 32 points of a ternary codebook of 2048 in eight dimensions, in 8 groups
 * of 32, each with a 3-bit scale and a shift.
 *    0  f16 d
 *    2  u8 qs[32]: low eight bits of the points
 *   34  u16 qh[8]: bits 3 l ... 3 l + 2 are the high bits of point 4 k + l, bits 12 ... 14 the
 *        scale; bit 15 is 1 for the shift -1/8, 0 for 1/8
 * value = d (2 scale + 1) (grid[q][j] + shift) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_codebook.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq1_s *b = src;

	for (; blocks--; b++) {
		float d = block_f16(b->d);
		for (int g = 0; g < 32; g++, dst += 8) {
			int qh = num_u16(b->qh + g / 4 * 2);
			float dl = d * (float)(2 * (qh >> 12 & 7) + 1),
			      shift = qh & 0x8000 ? -0.125f : 0.125f;
			uint64_t point = grid_iq1[b->qs[g] | (qh >> g % 4 * 3 & 7) << 8];
			for (int j = 0; j < 8; j++)
				dst[j] = dl * ((float)(int8_t)(point >> 8 * j & 255) + shift);
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_codebook p = { .dims = 8,
		                     .n = 8,
		                     .most = 7,
		                     .shift = 4,
		                     .keep_norm = 1,
		                     .unit = 0.125f,
		                     .v = { { -7, 1, 9 }, { -9, -1, 7 } },
		                     .grid = (const int8_t *)grid_iq1 };
	struct search_codebook_block k;
	struct iq1_s *b = dst;
	struct search s;

	search_codebook_init(&p, NULL, 2048);
	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_codebook(&s, &p, &k);
		search_put_f16(b->d, k.d);
		for (int i = 0; i < 8; i++) {
			int qh = k.sc[i] << 12 | k.signs[4 * i] << 15;
			for (int l = 0; l < 4; l++) {
				b->qs[4 * i + l] = (uint8_t)k.q[4 * i + l];
				qh |= k.q[4 * i + l] >> 8 << 3 * l;
			}
			search_put_f16(b->qh + 2 * i, (uint16_t)qh);
		}
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	static const struct round_grid grid = { (const int8_t *)grid_iq1, 8, 2048 };
	struct iq1_s *b = block;
	int g = i / 8, qh = num_u16(b->qh + g / 4 * 2), l = g % 4;
	float dl = block_f16(b->d) * (float)(2 * (qh >> 12 & 7) + 1), cost,
	      shift = dl * (qh & 0x8000 ? -0.125f : 0.125f);

	for (int j = 0; j < 8; j++)
		x[j] -= shift;
	int q = round_point(&grid, dl, x, w, &cost);
	for (int j = 0; j < 8; j++)
		x[j] = dl * (float)grid.points[8 * q + j] + shift;
	b->qs[g] = (uint8_t)q;
	search_put_f16(b->qh + g / 4 * 2, (uint16_t)((qh & ~(7 << 3 * l)) | q >> 8 << 3 * l));
}

const struct type type_iq1_s = {
	{ "IQ1_S", 19, 256, sizeof(struct iq1_s), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.raised = 1,
	.unit = 8,
	.round = round_fixed,
};
