/* Q8_0: 32 elements, one scale.
 *   0  f16 d
 *   2  i8 q[32]
 * value = d q */
#include "type/block.h"
#include "type/search_four.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q8_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)b->q[i];
	}
}

static void put(void *block, uint16_t d, const int8_t *q)
{
	struct q8_0 *b = block;

	search_put(b->d, d);
	memcpy(b->q, q, sizeof b->q);
}

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int plain)
{
	/* A file is to be written as quickly as it is read: one try and what its codes ask for lose less
	 * than rounding alone, and more tries would gain a tenth of very little. */
	static const float tries[] = { 127 };
	static const struct search_grid grid = {
		.lo = -127, .hi = 127, .tries = tries, .n_tries = 1, .plain = 127, .once = 1
	};
	static const struct search_single single = { 32, sizeof(struct q8_0), put };

	search_single(&single, &grid, dst, src, importance, blocks, plain);
}

const struct type type_q8_0 = {
	{ "Q8_0", 8, 32, sizeof(struct q8_0), 0 }, decode, encode, .n_f16 = 1, .f16 = { 0 },
};
