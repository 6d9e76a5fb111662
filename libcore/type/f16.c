/* F16: IEEE binary16. */
#include "type/block.h"
#include "type/search.h"
#if defined __x86_64__
#include <immintrin.h>
#endif

/* num_f16 in each lane */
static search_v4 wide(search_i4 h)
{
	search_i4 u = (h & 0x7fff) << 13, top = u & 0x0f800000;
	search_i4 small = top == 0, huge = top == 0x0f800000;

	u += (112 << 23) + (huge & (112 << 23)) + (small & (1 << 23));
	/* a subnormal is what is left of 2^-14 + it */
	search_v4 x = (search_v4)u - (search_v4)(small & (113 << 23));
	u = (huge & u) | (~huge & (search_i4)x);
	return (search_v4)(u | (h & 0x8000) << 16);
}

#if defined __x86_64__
/* So many that are finite, from the first on, by the instruction, which changes NaNs. */
__attribute__((target("avx2,f16c"))) static size_t by_eight(float *dst, const uint8_t *at, size_t n)
{
	const __m128i top = _mm_set1_epi16(0x7c00);
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		__m128i h = _mm_loadu_si128((const __m128i *)(const void *)(at + 2 * i));

		if (_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_and_si128(h, top), top)))
			break;
		_mm256_storeu_ps(dst + i, _mm256_cvtph_ps(h));
	}
	return i;
}
#endif

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;
	size_t i = 0;

#if defined __x86_64__
	if (blocks >= 8 && search_width() > 1)
		i = by_eight(dst, at, blocks);
#endif
	for (; i + 4 <= blocks; i += 4) {
		uint16_t h[4];

		memcpy(h, at + 2 * i, sizeof h);
		search_v4 v = wide((search_i4){ h[0], h[1], h[2], h[3] });
		memcpy(dst + i, &v, sizeof v);
	}
	for (; i < blocks; i++)
		dst[i] = block_f16(at + 2 * i);
}

/* To the nearest, ties to even; what is too large becomes the largest finite value. */
static void encode(void *dst, const float *src, const float *importance, size_t blocks, int plain)
{
	uint8_t *to = dst;

	(void)importance;
	(void)plain;
	for (size_t i = 0; i < blocks; i++)
		search_put(to + 2 * i, search_f16(src[i]));
}

const struct type type_f16 = { { "F16", 1, 1, 2, 0 }, decode, encode, .n_f16 = 1, .f16 = { 0 } };
