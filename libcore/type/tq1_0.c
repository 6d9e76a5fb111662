/* TQ1_0: 256 ternary elements, five per byte as a fraction in base 3, one scale.
 *    0  u8 qs[48]: elements 32 n + l in byte l (n < 5), then 160 + 16 n + l in byte 32 + l (n < 5)
 *   48  u8 qh[4]: elements 240 + 4 n + l in byte l (n < 4)
 *   52  f16 d
 * A byte is ceil(v 256 / 243), v the number with five base-3 digits.  Digit n (0: the most
 * significant) is 3 (byte 3^n mod 256) / 256, rounded down.  value = d (digit - 1) */
#include "type/block.h"
#include "type/round.h"
#include "type/search_scale.h"

static float digit(int byte, int n)
{
	static const uint8_t pow3[5] = { 1, 3, 9, 27, 81 };

	return (float)(((byte * pow3[n] & 255) * 3 >> 8) - 1);
}

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct tq1_0 *b = src;

	for (; blocks--; b++, dst += 256) {
		float d = block_f16(b->d);
		for (int i = 0; i < 160; i++)
			dst[i] = d * digit(b->qs[i % 32], i / 32);
		for (int i = 0; i < 80; i++)
			dst[160 + i] = d * digit(b->qs[32 + i % 16], i / 16);
		for (int i = 0; i < 16; i++)
			dst[240 + i] = d * digit(b->qh[i % 4], i / 4);
	}
}

/* Return the byte of n <= 5 digits, which are `step` elements apart; the others are 0. */
static uint8_t five(const int8_t *q, int step, int n)
{
	int v = 0;

	for (int i = 0; i < 5; i++)
		v = 3 * v + (i < n ? q[i * step] + 1 : 0);
	return (uint8_t)((v * 256 + 242) / 243);
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct tq1_0 *b = block;

	search_put_f16(b->d, d);
	for (int l = 0; l < 32; l++)
		b->qs[l] = five(q + l, 32, 5);
	for (int l = 0; l < 16; l++)
		b->qs[32 + l] = five(q + 160 + l, 16, 5);
	for (int l = 0; l < 4; l++)
		b->qh[l] = five(q + 240 + l, 4, 4);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	static const struct search_scale_format single = { 256, sizeof(struct tq1_0), put };

	search_encode_scale(&single, &search_ternary, dst, src, importance, blocks, how);
}

/* Replace digit n of a byte that has `count` digits. */
static void put_digit(uint8_t *at, int n, int count, int q)
{
	int8_t digits[5];

	for (int k = 0; k < count; k++)
		digits[k] = (int8_t)(k == n ? q : (int)digit(*at, k));
	*at = five(digits, 1, count);
}

static void round_fixed(void *block, int i, float *x, const float *w)
{
	struct tq1_0 *b = block;
	float d = block_f16(b->d);
	int q = d != 0 ? round_int(*x / d, -1, 1) : 0;

	(void)w;
	if (i < 160)
		put_digit(b->qs + i % 32, i / 32, 5, q);
	else if (i < 240)
		put_digit(b->qs + 32 + (i - 160) % 16, (i - 160) / 16, 5, q);
	else
		put_digit(b->qh + (i - 240) % 4, (i - 240) / 4, 4, q);
	*x = d * (float)q;
}

const struct type type_tq1_0 = {
	{ "TQ1_0", 34, 256, sizeof(struct tq1_0), 0 },
	decode,
	encode,
	.n_f16 = 1,
	.f16 = { 52 },
	.unit = 1,
	.round = round_fixed,
};
