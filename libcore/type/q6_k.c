/* Q6_K: 256 elements in 16 groups of 16, each with an 8-bit scale.
 *     0  u8 ql[128]: byte 64 H + 32 (j & 1) + l holds the low four bits of element 128 H + 32 j +
 *     l, j < 2 in its low half
 *   128  u8 qh[64]: byte 32 H + l holds the high two bits of elements 128 H + 32 j + l, j = 0 ... 3
 *   from the low bits up
 *   192  i8 sc[16]
 *   208  f16 d
 * value = d sc (q - 32) */
#include "type/block.h"
#include "type/search.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q6_k *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d);
		for (int i = 0; i < 256; i++) {
			int half = i / 128, j = i % 128 / 32, l = i % 32;
			int lo = b->ql[64 * half + 32 * (j & 1) + l] >> j / 2 * 4 & 15;
			int hi = b->qh[32 * half + l] >> 2 * j & 3;
			dst[i] = d * (float)b->sc[i / 16] * (float)((lo | hi << 4) - 32);
		}
	}
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const float tries[] = { -32, -31, -33, 31 };
	/* scales have 8 bits, so trying neighbours (wide) would not help */
	static const struct search_subscales levels = {
		{ .lo = -32,
		  .hi = 31,
		  .tries = tries,
		  .n_tries = sizeof tries / sizeof *tries,
		  .plain = -32 },
		.n = 4,
		.lo = -128,
		.hi = 127,
		.steps = 4,
		.rounds = 1,
		.wide = 0,
	};
	struct q6_k *b = dst;
	struct search s;
	int8_t q[256];

	for (; blocks--; b++, src += 256, importance += importance ? 256 : 0) {
		search_load(&s, src, importance, 256, how);
		search_put_f16(b->d, search_subscales(&s, &levels, b->sc, q));
		for (int half = 0; half < 2; half++) {
			const int8_t *from = q + 128 * half;
			uint8_t *ql = b->ql + 64 * half, *qh = b->qh + 32 * half;
			for (int l = 0; l < 32; l++) {
				int v0 = from[l] + 32, v1 = from[32 + l] + 32,
				    v2 = from[64 + l] + 32, v3 = from[96 + l] + 32;
				ql[l] = (uint8_t)((v0 & 15) | (v2 & 15) << 4);
				ql[32 + l] = (uint8_t)((v1 & 15) | (v3 & 15) << 4);
				qh[l] = (uint8_t)(v0 >> 4 | v1 >> 4 << 2 | v2 >> 4 << 4 |
				                  v3 >> 4 << 6);
			}
		}
	}
}

const struct type type_q6_k = {
	{ "Q6_K", 14, 256, sizeof(struct q6_k), 0 }, decode, encode, .n_f16 = 1,
	.f16 = { offsetof(struct q6_k, d) },
};
