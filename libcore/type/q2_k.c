/* Q2_K: 256 elements in 16 groups of 16, each with a 4-bit scale and a 4-bit minimum.
 *    0  u8 scales[16]: low half the scale of group s, high half its minimum
 *   16  u8 qs[64]: byte 32 H + l holds elements 128 H + 32 j + l, j = 0 ... 3 from the low bits up
 *   80  f16 d
 *   82  f16 dmin
 * value = d scale q - dmin min */
#include "type/block.h"
#include "type/round.h"
#include "type/search_affine.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q2_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d), dmin = block_f16(b->dmin);
		for (int i = 0; i < 256; i++) {
			int q = b->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
			float dl = d * (float)(b->scales[i / 16] & 15);
			float ml = dmin * (float)(b->scales[i / 16] >> 4);
			dst[i] = dl * (float)q - ml;
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct q2_k *b = dst;
	struct search_block f;
	struct search s;

	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_subscales_min(&s, 4, 3, 15, &f);
		search_put_f16(b->d, f.d);
		search_put_f16(b->dmin, f.dmin);
		for (int k = 0; k < 16; k++)
			b->scales[k] = (uint8_t)(f.sc[k] | f.mn[k] << 4);
		for (int i = 0; i < 64; i++) {
			const int8_t *q = f.q + i / 32 * 128 + i % 32;
			b->qs[i] = (uint8_t)(q[0] | q[32] << 2 | q[64] << 4 | q[96] << 6);
		}
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q2_k *b = block;
	float dl = block_f16(b->d) * (float)(b->scales[i / 16] & 15);
	float ml = block_f16(b->dmin) * (float)(b->scales[i / 16] >> 4);
	int q = round_line(*x, dl, -ml, 0, 3);

	(void)w;
	round_put(b->qs + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 3, q);
	*x = dl * (float)q - ml;
}

const struct type type_q2_k = {
	{ "Q2_K", 10, 256, sizeof(struct q2_k), 0 },
	decode,
	encode,
	.n_f16 = 2,
	.f16 = { offsetof(struct q2_k, d), offsetof(struct q2_k, dmin) },
	.unit = 1,
	.round = round_fixed,
};
