/* NVFP4: 64 E2M1 elements in 4 groups of 16, each with an unsigned E4M3 scale.
 *   0  u8 d[4]
 *   4  u8 qs[32]: byte 8 s + r holds elements 16 s + r (low half) and 16 s + 8 + r (high half)
 * value = twice the E2M1 value, times half the scale; the codes 0 and 0x7f are scale 0.  The f32
 * scale of the whole tensor is in another tensor. */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"
#include "type/grids.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct nvfp4 *b = src;

	for (; blocks--; b++, dst += 64)
		for (int s = 0; s < 4; s++) {
			float d = block_half_e4m3(b->d[s]);
			for (int r = 0; r < 16; r++) {
				int q = b->qs[8 * s + r % 8] >> r / 8 * 4 & 15;
				dst[16 * s + r] = d * (float)grid_fp4[q];
			}
		}
}

/* Return the code of the least scale that scales a group's largest value to at most 12. */
static int widest(float top, float per_unit)
{
	int c = 0;

	for (int bit = 64; bit; bit /= 2) /* c: the last code for which it is above 12 */
		if (c + bit < 126 && block_half_e4m3(c + bit) * per_unit * 12 < top)
			c += bit;
	return c + 1;
}

/* Return the code of the scale nearest to top / 12, top the largest value. */
static int plain_scale(const struct search *s, float top, float *scale)
{
	int c = widest(top, s->per_unit);
	float low = block_half_e4m3(c - 1), at = top * s->unit / 12, high = block_half_e4m3(c);

	c -= c > 1 && at - low < high - at;
	*scale = block_half_e4m3(c) * s->per_unit;
	return top > 0 ? c : 0;
}

/* Find the scale of least error near that of `widest`, for each of the four groups. */
static void best_scales(const struct search *s, const struct search_grid *g, const float *top,
                        int *best, float *scale)
{
	search_v4 x[16], w[16];
	const struct search_interleaved at = { x, w };
	search_v4 gain = { 0 };
	int c[4];

	for (int i = 0; i < 4; i++) {
		c[i] = widest(top[i], s->per_unit);
		best[i] = 0;
		scale[i] = 0;
		search_interleave(&at, i, s->x + 4 * i, s->w + 4 * i, 4);
	}
	for (int by = -6; by <= 5; by++) {
		search_v4 a = { 1, 1, 1, 1 };
		struct search_fit4 f;

		for (int i = 0; i < 4; i++)
			if (c[i] + by >= 1 && c[i] + by <= 126)
				a[i] = block_half_e4m3(c[i] + by) * s->per_unit;
		search_fit_codes4(&at, 4, 1.0f / a, g, s->width, &f);
		search_v4 e = a * (2 * f.xq - a * f.qq);
		for (int i = 0; i < 4; i++)
			if (c[i] + by >= 1 && c[i] + by <= 126 && e[i] > gain[i]) {
				gain[i] = e[i];
				best[i] = c[i] + by;
				scale[i] = a[i];
			}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_table t;
	struct search_grid grid = search_fp4(&t);
	struct nvfp4 *b = dst;
	struct search s;
	int8_t q[16];

	for (; blocks--; b++, src += 64, importance += importance ? 64 : 0) {
		float top[4], a[4];
		int d[4];

		search_load(&s, src, importance, 64, how);
		for (int g = 0; g < 4; g++) {
			top[g] = fabsf(search_farthest(s.x + 4 * g, s.w + 4 * g, 4));
			if (s.plain)
				d[g] = plain_scale(&s, top[g], &a[g]);
		}
		if (!s.plain)
			best_scales(&s, &grid, top, d, a);
		for (int g = 0; g < 4; g++) {
			b->d[g] = (uint8_t)d[g];
			search_codes(q, s.x + 4 * g, 4, a[g], &grid);
			for (int r = 0; r < 8; r++)
				b->qs[8 * g + r] =
					(uint8_t)(t.code[q[r] + 128] | t.code[q[r + 8] + 128] << 4);
		}
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct nvfp4 *b = block;
	float d = block_half_e4m3(b->d[i / 16]);
	int q = round_table(*x, d, grid_fp4);

	(void)w;
	round_put(b->qs + i / 16 * 8 + i % 8, i % 16 / 8 * 4, 15, q);
	*x = d * (float)grid_fp4[q];
}

const struct type type_nvfp4 = {
	{ "NVFP4", 40, 64, sizeof(struct nvfp4), 0 },
	decode,
	encode,
	.unit = 1,
	.round = round_fixed,
};
