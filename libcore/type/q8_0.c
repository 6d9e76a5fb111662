/* Q8_0: 32 elements, one scale.
 *   0  f16 d
 *   2  i8 q[32]
 * value = d q */
#include "type/block.h"
#include "base/num.h"
#include "type/search.h"

static void decode(float *dst, const void *src, size_t blocks)
{
	const struct q8_0 *b = src;

	for (; blocks--; b++, dst += 32) {
		float d = block_f16(b->d);
		for (int i = 0; i < 32; i++)
			dst[i] = d * (float)b->q[i];
	}
}

/* Bits of the float 1.5 * 2^23, which is added to round a value to an integer; this is code 0. */
enum { NONE = 0x4b400000 };

/* Return the bits of the largest magnitude of the values whose weight is above the minimum. */
static inline __attribute__((always_inline)) int32_t largest(const float *x, const float *w)
{
	int32_t top = 0;
	float most = 0;

	for (int i = 0; w && i < 32; i++)
		most = w[i] > most ? w[i] : most;
	for (int i = 0; i < 32; i++) {
		int32_t size;

		memcpy(&size, x + i, sizeof size);
		size &= 0x7fffffff;
		if (w && most > 0 && w[i] <= most * SEARCH_MIN_WEIGHT)
			size = 0;
		top = size > top ? size : top;
	}
	return top;
}

/* Encode blocks: the scale maps the largest value to 127, codes are the nearest for the stored
 * scale, or if plain, for the unrounded one as in public tools.  A search would gain little, and
 * encoding should be as fast as reading. */
static inline __attribute__((always_inline)) void nearest(struct q8_0 *b, const float *x,
                                                          const float *w, size_t blocks, int plain)
{
	for (; blocks--; b++, x += 32, w += w ? 32 : 0) {
		int32_t top = largest(x, w), code[32];
		float d = num_float((uint32_t)top) / 127;
		uint16_t h = search_nearest_f16(d);

		h += !h && top; /* not 0, to keep the largest values */
		search_put_f16(b->d, h);
		if (!plain)
			d = block_f16(b->d);
		float inv = d >= SEARCH_MIN_VALUE ? 1 / d : 0;

		for (int i = 0; i < 32; i++) {
			float t = x[i] * inv + 0x1.8p23f; /* to the nearest, ties to even */

			/* positive floats have the order of their bits */
			memcpy(&code[i], &t, sizeof t);
			code[i] = code[i] > NONE + 127 ? NONE + 127 : code[i];
			code[i] = code[i] < NONE - 127 ? NONE - 127 : code[i];
		}
		for (int i = 0; i < 32; i++)
			b->q[i] = (int8_t)code[i];
	}
}

#if defined __x86_64__
__attribute__((target("avx512f,avx512bw"))) static void by_avx512(struct q8_0 *b, const float *x,
                                                                  size_t n, int plain)
{
	nearest(b, x, NULL, n, plain);
}

__attribute__((target("avx2"))) static void by_avx2(struct q8_0 *b, const float *x, size_t n,
                                                    int plain)
{
	nearest(b, x, NULL, n, plain);
}
#endif

static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	const int plain = (how & ENCODE_PLAIN) != 0;

	if (importance && !plain)
		nearest(dst, src, importance, blocks, 0);
#if defined __x86_64__
	else if (type_width(how) == 4 && __builtin_cpu_supports("avx512bw"))
		by_avx512(dst, src, blocks, plain);
	else if (type_width(how) > 1)
		by_avx2(dst, src, blocks, plain);
#endif
	else
		nearest(dst, src, NULL, blocks, plain);
}

const struct type type_q8_0 = {
	{ "Q8_0", 8, 32, sizeof(struct q8_0), 0 }, decode, encode, .n_f16 = 1, .f16 = { 0 },
};
