/* MXFP4: 32 E2M1 elements with one scale, a power of two (OCP Microscaling 1.0).
 *   0  u8 e
 *   1  u8 qs[16]: low halves are elements 0 ... 15, high halves 16 ... 31
 * value = twice the E2M1 value, times 2^(e - 128).  e = 255 means NaN: decode applies the
 * formula, and `bad` reports it. */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"
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

/* Four blocks that are encoded together. */
struct four {
	struct search s[4];
	search_v4 x[32], w[32];
	struct search_interleaved at;
	int e[4];
	search_v4 scale;
};

/* Find the exponent of least error for each block, among those that scale its largest value to 4
 * ... 128; 0 if all values become zeros. */
static void best_exponents(struct four *f, const struct search_grid *g)
{
	int p[4], unit[4], plain = f->s[0].plain;
	search_v4 gain = { 0 };
	struct search_fit4 fit;

	f->scale = gain;
	for (int i = 0; i < 4; i++) {
		p[i] = (int)(num_bits(fabsf(search_farthest(f->s[i].x, f->s[i].w, 8))) >> 23);
		unit[i] = (int)(num_bits(f->s[i].unit) >> 23);
		f->e[i] = 0;
	}
	/* without a search, the largest value is scaled to 8 ... 16 */
	for (int down = plain ? 3 : 2; down < (plain ? 4 : 7); down++) {
		search_v4 a = { 1, 1, 1, 1 };
		int e[4], k[4];

		for (int i = 0; i < 4; i++) {
			k[i] = p[i] - down;
			e[i] = unit[i] + k[i] - 126; /* 2^(e - 128) = 2^(k - 127) unit */
			if (e[i] < 0 || e[i] > 252 || k[i] < 28) /* 12 2^125 exceeds the range of
			                                          * f32 */
				e[i] = -1;
			else
				a[i] = num_float((uint32_t)k[i] << 23);
		}
		search_fit_codes4(&f->at, 8, 1.0f / a, g, f->s[0].width, &fit);
		search_v4 won = a * (2 * fit.xq - a * fit.qq);
		for (int i = 0; i < 4; i++)
			if (e[i] >= 0 && won[i] > gain[i]) {
				gain[i] = won[i];
				f->e[i] = e[i];
				f->scale[i] = a[i];
			}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct search_table t;
	struct search_grid grid = search_fp4(&t);
	struct mxfp4 *b = dst;
	struct four f;
	int8_t q[32];

	f.at = (struct search_interleaved){ f.x, f.w };

	for (size_t from = 0; from < blocks; from += 4) {
		size_t some = blocks - from < 4 ? blocks - from : 4;

		for (size_t i = 0; i < 4; i++) {
			/* fewer than four blocks are left: repeat the last one */
			size_t of = 32 * (from + (i < some ? i : some - 1));

			search_load(&f.s[i], src + of, importance ? importance + of : NULL, 32,
			            how);
			search_interleave(&f.at, (int)i, f.s[i].x, f.s[i].w, 8);
		}
		best_exponents(&f, &grid);
		for (size_t i = 0; i < some; i++, b++) {
			b->e = (uint8_t)f.e[i];
			search_codes(q, f.s[i].x, 8, f.scale[i], &grid);
			for (int j = 0; j < 16; j++)
				b->qs[j] = (uint8_t)(t.code[q[j] + 128] | t.code[q[j + 16] + 128]
				                                                  << 4);
		}
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
