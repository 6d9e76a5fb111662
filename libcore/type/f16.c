/* F16: IEEE binary16. */
#include "type/block.h"
#include "type/search.h"
#if defined __x86_64__
#include <immintrin.h>
#endif

/* Convert the F16 of each lane of h to F32 in dst, as num_f16 does. */
#define WIDEN(name, target, V, I) \
	target static inline void name(float *dst, I h) \
	{ \
		I u = (h & 0x7fff) << 13, small = u<1 << 23, huge = u> 0x0f7fffff; \
		I x = u + (112 << 23) + (huge & (112 << 23)); \
		/* subnormal with mantissa m: m 2^-24 = (2^-14 + m 2^-24) - 2^-14 */ \
		V rest = (V)(u + (113 << 23)) - 0x1p-14f; \
\
		x = (small & (I)rest) | (~small & x); \
		x |= (h & 0x8000) << 16; \
		memcpy(dst, &x, sizeof x); \
	}
#define ANY
WIDEN(widen4, ANY, search_v4, search_i4)

#if defined __x86_64__
#define WITH_AVX2 __attribute__((target("avx2")))
typedef float v8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
WIDEN(widen8, WITH_AVX2, v8, i8)

/* Convert elements from i on, eight at a time; return the index of the first one not converted.
 * Does not use F16C, because not every compiler can test whether the processor has it. */
WITH_AVX2 static size_t by_eight(float *dst, const uint8_t *at, size_t i, size_t n)
{
	for (; i + 8 <= n; i += 8)
		widen8(dst + i, (i8)_mm256_cvtepu16_epi32(_mm_loadu_si128(
					(const __m128i *)(const void *)(at + 2 * i))));
	return i;
}

/* Convert sixteen elements at a time, up to a vector with values that are not finite: the
 * instruction changes NaNs. */
__attribute__((target("avx512f"))) static size_t by_sixteen(float *dst, const uint8_t *at, size_t i,
                                                            size_t n)
{
	const __m256i top = _mm256_set1_epi16(0x7c00);

	for (; i + 16 <= n; i += 16) {
		__m256i h = _mm256_loadu_si256((const __m256i *)(const void *)(at + 2 * i));

		if (_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_and_si256(h, top), top)))
			break;
		_mm512_storeu_ps(dst + i, _mm512_cvtph_ps(h));
	}
	return i;
}
#endif

static void decode(float *dst, const void *src, size_t blocks)
{
	const uint8_t *at = src;
	size_t i = 0;

#if defined __x86_64__
	if (blocks >= 8 && type_width(0) == 4)
		i = by_sixteen(dst, at, i, blocks);
	if (blocks >= 8 && type_width(0) > 1)
		i = by_eight(dst, at, i, blocks);
#endif
	for (; i + 4 <= blocks; i += 4) {
		uint16_t h[4];

		memcpy(h, at + 2 * i, sizeof h);
		widen4(dst + i, (search_i4){ h[0], h[1], h[2], h[3] });
	}
	for (; i < blocks; i++)
		dst[i] = block_f16(at + 2 * i);
}

/* Round to nearest, ties to even; values that are too large become the largest finite F16. */
static void encode(void *dst, const float *src, const float *importance, size_t blocks, int how)
{
	uint8_t *to = dst;

	(void)importance;
	(void)how;
	for (size_t i = 0; i < blocks; i++)
		search_put_f16(to + 2 * i, search_nearest_f16(src[i]));
}

const struct type type_f16 = { { "F16", 1, 1, 2, 0 }, decode, encode, .n_f16 = 1, .f16 = { 0 } };
