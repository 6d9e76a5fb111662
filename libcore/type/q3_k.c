/* Q3_K: 256 elements in 16 groups of 16, each with a signed 6-bit scale.
 *     0  u8 hmask[32]: bit k of byte l belongs to element 32 k + l
 *    32  u8 qs[64]: byte 32 H + l holds the low two bits of elements 128 H + 32 j + l,
 *        j = 0 ... 3 from the low bits up
 *    96  u8 sc[12]: halves of bytes 0 ... 7 are the low four bits of scales 0 ... 7, 8 ... 15;
 *        byte 8 + s % 4 holds the high two bits of scale s at bit 2 (s / 4)
 *   108  f16 d
 * value = d (scale - 32) (q - (hmask bit ? 0 : 4)) */
#include "type/block.h"
#include "type/round.h"
#include "type/search.h"

static int scale(const uint8_t sc[12], int s)
{
	int lo = s < 8 ? sc[s] & 15 : sc[s - 8] >> 4;

	return (lo | (sc[8 + s % 4] >> s / 4 * 2 & 3) << 4) - 32;
}

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q3_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d);
		for (int i = 0; i < 256; i++) {
			int q = b->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
			int low = b->hmask[i % 32] >> i / 32 & 1 ? 0 : 4;
			dst[i] = d * (float)scale(b->sc, i / 16) * (float)(q - low);
		}
	}
}

static void put(struct q3_k *b, const int8_t *q)
{
	for (int h = 0; h < 2; h++, q += 128)
		for (int l = 0; l < 32; l++) {
			unsigned a = (unsigned)(q[l] + 4), c = (unsigned)(q[l + 32] + 4),
				 d = (unsigned)(q[l + 64] + 4), e = (unsigned)(q[l + 96] + 4);
			unsigned high = a >> 2 | c >> 2 << 1 | d >> 2 << 2 | e >> 2 << 3;

			b->qs[32 * h + l] =
				(uint8_t)((a & 3) | (c & 3) << 2 | (d & 3) << 4 | (e & 3) << 6);
			b->hmask[l] = (uint8_t)(h ? b->hmask[l] | high << 4 : high);
		}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const float tries[] = { -4, -3.6f, -3.2f, -4.4f, -4.8f, -5.3f, -6,
		                       3,  3.3f,  2.7f,  3.7f,  4.1f,  4.6f,  5.2f };
	static const struct search_subscales levels = {
		{ .lo = -4,
		  .hi = 3,
		  .tries = tries,
		  .n_tries = sizeof tries / sizeof *tries,
		  .plain = -4 },
		.n = 4,
		.lo = -32,
		.hi = 31,
		.steps = 24,
		.rounds = 2,
		.wide = 1,
	};
	struct q3_k *b = dst;
	struct search s;
	int8_t sc[16], q[256];

	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_put_f16(b->d, search_subscales(&s, &levels, sc, q));
		memset(b->sc, 0, sizeof b->sc);
		for (int k = 0; k < 16; k++) {
			int v = sc[k] + 32;
			b->sc[k % 8] |= (uint8_t)((v & 15) << k / 8 * 4);
			b->sc[8 + k % 4] |= (uint8_t)(v >> 4 << k / 4 * 2);
		}
		put(b, q);
	}
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct q3_k *b = block;
	float dl = block_f16(b->d) * (float)scale(b->sc, i / 16);
	int q = dl != 0 ? round_int(*x / dl, -4, 3) : 0;

	(void)w;
	round_put(b->qs + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 3, (q + 4) & 3);
	round_put(b->hmask + i % 32, i / 32, 1, (q + 4) >> 2);
	*x = dl * (float)q;
}

const struct type type_q3_k = {
	{ "Q3_K", 11, 256, sizeof(struct q3_k), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { offsetof(struct q3_k, d) },
	.unit = 1,
	.round = round_fixed,
};
