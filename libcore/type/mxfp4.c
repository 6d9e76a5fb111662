/* MXFP4: 32 elements E2M1 under one power of two (OCP Microscaling 1.0).
 *   0  u8 e
 *   1  u8 qs[16]: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = twice the E2M1 value, times 2^(e - 128).  e = 255 stands for NaN: the decoder gives what
 * the formula gives, who looks for weights that are not finite finds it. */
#include "type/block.h"
#include "type/round.h"
#include "type/search.h"
#include "type/grids.h"

/* e = 0 and 1 give subnormal f32 */
static float scale(int e) { return num_float(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23); }

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct mxfp4 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = scale(b->e);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)grid_fp4[block_nibble(b->qs, i)];
	}
}

static size_t bad(const void *src, size_t blocks)
{
	const struct mxfp4 *b = src;

	for (size_t i = 0; i < blocks; i++)
		if (b[i].e == 255)
			return sizeof *b * i;
	return SIZE_MAX;
}

/* Of the exponents under which the largest value is between 4 and 128, the one of the least error;
 * 0 where all become zeros. */
static int best_exponent(const struct search *s, const struct search_grid *g, float *scale)
{
	float top = fabsf(search_farthest(s->x, s->w, 8)), gain = 0;
	int unit = (int)(num_bits(s->unit) >> 23), p = (int)(num_bits(top) >> 23), best = 0;

	*scale = 0;
	/* without a search, the largest is between 8 and 16 */
	for (int k = s->plain ? p - 3 : p - 2; k > (s->plain ? p - 4 : p - 7); k--) {
		int e = unit + k - 126;         /* 2^(e - 128) = 2^(k - 127) unit */
		if (e < 0 || e > 252 || k < 28) /* 12 2^125 is no float */
			continue;
		float a = num_float((uint32_t)k << 23);
		struct search_fit f = search_try(s->x, s->w, 8, 1.0f / a, g);
		float won = a * (2 * f.xq - a * f.qq);
		if (won > gain) {
			gain = won;
			best = e;
			*scale = a;
		}
	}
	return best;
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int plain)
{
	struct search_table t;
	struct search_grid grid = search_fp4(&t);
	struct mxfp4 *b = dst;
	struct search s;
	int8_t q[32];

	for (; blocks--; b++, src += 32, importance += importance ? 32 : 0) {
		search_load(&s, src, importance, 32, plain);
		float scale;
		b->e = (uint8_t)best_exponent(&s, &grid, &scale);
		search_codes(q, s.x, 8, scale, &grid);
		for (int i = 0; i < 16; i++)
			b->qs[i] = (uint8_t)(t.code[q[i] + 128] | t.code[q[i + 16] + 128] << 4);
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct mxfp4 *b = block;
	float d = scale(b->e);
	int q = round_table(*x, d, grid_fp4);

	(void)w;
	round_put_nibble(b->qs, i, q);
	*x = d * (float)grid_fp4[q];
}

const struct type type_mxfp4 = {
	{ "MXFP4", 39, 32, sizeof(struct mxfp4), 0 },
	decode,
	encode,
	.bad = bad,
	.unit = 1,
	.round = round_fixed,
};
