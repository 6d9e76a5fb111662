/* Q1_0: 128 elements of one bit, one scale.
 *   0  f16 d
 *   2  u8 qs[16]: element i is bit i % 8 of byte i / 8
 * value = bit ? d : -d */
#include "type/block.h"
#include "type/round.h"
#include "type/search.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q1_0 *b = src;

	for (; blocks--; b++, dst += 128) {
		float d = block_f16(b->d);
		for (int i = 0; i < 128; i++)
			dst[i] = b->qs[i / 8] >> i % 8 & 1 ? d : -d;
	}
}

/* Encode.  For given signs, the best d is the mean of the magnitudes. */
static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	struct q1_0 *b = dst;
	struct search s;

	for (; blocks--; b++, src += 128, importance += importance ? 128 : 0) {
		search_v4 wx = { 0 }, w = { 0 };
		search_load(&s, src, importance, 128, how);
		memset(b->qs, 0, sizeof b->qs);
		for (int i = 0; i < 128; i++)
			b->qs[i / 8] |= (uint8_t)((src[i] >= 0) << i % 8);
		for (int i = 0; i < 32; i++) {
			wx += s.w[i] * search_abs(s.x[i]);
			w += s.w[i];
		}
		float d = search_sum(wx) / search_sum(w);
		search_put_f16(b->d, search_round_f16(&s, &d));
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q1_0 *b = block;
	float d = block_f16(b->d);
	int q = (*x >= 0) == (d >= 0);

	(void)w;
	round_put(b->qs + i / 8, i % 8, 1, q);
	*x = q ? d : -d;
}

const struct type type_q1_0 = {
	{ "Q1_0", 41, 128, sizeof(struct q1_0), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 0 },
	.unit = 1,
	.round = round_fixed,
};
