/* Q5_K: 256 elements in 8 groups of 32, each with a 6-bit scale and a 6-bit minimum.
 *    0  f16 d
 *    2  f16 dmin
 *    4  u8 sc[12]: scales and minima (block.h)
 *   16  u8 qh[32]: bit k of byte l is the fifth bit of element 32 k + l
 *   48  u8 qs[128]: byte 32 p + l holds elements 64 p + l (low half) and 64 p + 32 + l (high half)
 * value = d scale q - dmin min */
#include "type/block.h"
#include "type/round.h"
#include "type/search_affine.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q5_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d), dmin = block_f16(b->dmin);
		for (int k = 0; k < 8; k++) {
			int scale, min;
			block_scale_min(b->sc, k, &scale, &min);
			float dl = d * (float)scale, ml = dmin * (float)min;
			for (int l = 0; l < 32; l++) {
				int q = (b->qs[k / 2 * 32 + l] >> k % 2 * 4 & 15) |
				        (b->qh[l] >> k & 1) << 4;
				dst[32 * k + l] = dl * (float)q - ml;
			}
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct q5_k *b = dst;
	struct search_block f;
	struct search s;

	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_subscales_min(&s, 8, 31, 63, &f);
		search_put_f16(b->d, f.d);
		search_put_f16(b->dmin, f.dmin);
		for (int k = 0; k < 8; k++)
			search_put_scale_min(b->sc, k, f.sc[k], f.mn[k]);
		memset(b->qh, 0, sizeof b->qh);
		for (int i = 0; i < 256; i++)
			b->qh[i % 32] |= (uint8_t)(f.q[i] >> 4 << i / 32);
		for (int i = 0; i < 128; i++) {
			const int8_t *q = f.q + i / 32 * 64 + i % 32;
			b->qs[i] = (uint8_t)((q[0] & 15) | (q[32] & 15) << 4);
		}
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q5_k *b = block;
	int scale, min, k = i / 32;

	(void)w;
	block_scale_min(b->sc, k, &scale, &min);
	float dl = block_f16(b->d) * (float)scale, ml = block_f16(b->dmin) * (float)min;
	int q = round_line(*x, dl, -ml, 0, 31);

	round_put(b->qs + k / 2 * 32 + i % 32, k % 2 * 4, 15, q & 15);
	round_put(b->qh + i % 32, k, 1, q >> 4);
	*x = dl * (float)q - ml;
}

const struct type type_q5_k = {
	{ "Q5_K", 13, 256, sizeof(struct q5_k), 0 },
	decode,
	encode,
	.n_f16 = 2,
	.f16 = { 0, 2 },
	.unit = 1,
	.round = round_fixed,
};
