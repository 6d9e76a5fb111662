/* IQ1_M: 256 elements as 32 points of a ternary codebook of 2048 in eight dimensions, in 16 groups
 * of 16, each with a 3-bit scale; every point has a shift.
 *    0  u8 qs[32]: low eight bits of the points
 *   32  u8 qh[16]: half g % 2 of byte g / 2 holds the high three bits of point g; its top bit is 1
 *        for the shift -1/8, 0 for 1/8
 *   48  u16 sc[4]: bits 3 s ... 3 s + 2 are the scale of group 4 k + s; bits 12 ... 15 are half k
 *        of f16 d
 * value = d (2 scale + 1) (grid[q][j] + shift) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_codebook.h"
#include "type/grids.h"

static uint16_t scale_bits(const struct iq1_m *b)
{
	uint16_t d = 0;

	for (int k = 0; k < 4; k++)
		d |= (uint16_t)(num_u16(b->sc + 2 * k) >> 12 << 4 * k);
	return d;
}

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct iq1_m *b = src;

	for (; blocks--; b++) {
		float d = num_f16(scale_bits(b));
		for (int g = 0; g < 32; g++, dst += 8) {
			int n = b->qh[g / 2] >> g % 2 * 4 & 15;
			float dl =
				d *
				(float)(2 * (num_u16(b->sc + g / 8 * 2) >> g % 8 / 2 * 3 & 7) + 1);
			float shift = n & 8 ? -0.125f : 0.125f;
			uint64_t point = grid_iq1[b->qs[g] | (n & 7) << 8];
			for (int j = 0; j < 8; j++)
				dst[j] = dl * ((float)(int8_t)(point >> 8 * j & 255) + shift);
		}
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct iq1_m *b = src;

	for (size_t i = 0; i < blocks; i++)
		if ((scale_bits(&b[i]) & 0x7c00) == 0x7c00)
			return sizeof *b * i + offsetof(struct iq1_m, sc);
	return SIZE_MAX;
}

static void put_scale(struct iq1_m *b, uint16_t d)
{
	for (int k = 0; k < 4; k++) {
		int sc = num_u16(b->sc + 2 * k) & 0xfff;

		search_put_f16(b->sc + 2 * k, (uint16_t)(sc | (d >> 4 * k & 15) << 12));
	}
}

static void rescale(void *block, double by)
{
	put_scale(block, search_nearest_f16((float)((double)num_f16(scale_bits(block)) * by)));
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_codebook p = { .dims = 8,
		                     .n = 4,
		                     .most = 7,
		                     .shift = 1,
		                     .unit = 0.125f,
		                     .v = { { -7, 1, 9 }, { -9, -1, 7 } },
		                     .grid = (const int8_t *)grid_iq1 };
	struct search_codebook_block k;
	struct iq1_m *b = dst;
	struct search s;

	search_codebook_init(&p, NULL, 2048);
	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_codebook(&s, &p, &k);
		memset(b->qh, 0, sizeof b->qh);
		for (int i = 0; i < 32; i++) {
			b->qs[i] = (uint8_t)k.q[i];
			b->qh[i / 2] |= (uint8_t)((k.q[i] >> 8 | k.signs[i] << 3) << i % 2 * 4);
		}
		for (int i = 0; i < 4; i++) {
			int sc = 0;
			for (int l = 0; l < 4; l++)
				sc |= k.sc[4 * i + l] << 3 * l;
			search_put_f16(b->sc + 2 * i, (uint16_t)sc);
		}
		put_scale(b, k.d);
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	static const struct round_grid grid = { (const int8_t *)grid_iq1, 8, 2048 };
	struct iq1_m *b = block;
	int g = i / 8, best = 0;
	float dl = num_f16(scale_bits(b)) *
	           (float)(2 * (num_u16(b->sc + g / 8 * 2) >> g % 8 / 2 * 3 & 7) + 1);
	float y[8], least = HUGE_VALF;

	for (int down = 0; down < 2; down++) {
		float shift = dl * (down ? -0.125f : 0.125f), cost, all = 0;
		for (int j = 0; j < 8; j++) {
			y[j] = x[j] - shift;
			all += w[j] * y[j] * y[j];
		}
		int q = round_point(&grid, dl, y, w, &cost);
		if (all + cost < least) {
			least = all + cost;
			best = q | down << 11;
		}
	}
	for (int j = 0; j < 8; j++)
		x[j] = dl * ((float)grid.points[8 * (best & 2047) + j] +
		             (best >> 11 ? -0.125f : 0.125f));
	b->qs[g] = (uint8_t)best;
	round_put(b->qh + g / 2, g % 2 * 4, 15, best >> 8);
}

const struct type type_iq1_m = {
	{ "IQ1_M", 29, 256, sizeof(struct iq1_m), 0 },
	decode,
	encode,
	.rescale = rescale,
	.bad = bad,
	.unit = 8,
	.round = round_fixed,
};
