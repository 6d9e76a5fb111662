/* base/num.h - small number formats, and arithmetic that detects overflow.  All functions are
 * static inline and exact. */
#ifndef BASE_NUM_H
#define BASE_NUM_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>

static inline uint32_t num_bits(float x)
{
	uint32_t u;
	memcpy(&u, &x, 4);
	return u;
}
static inline float num_float(uint32_t u)
{
	float x;
	memcpy(&x, &u, 4);
	return x;
}
static inline uint16_t num_u16(const void *p)
{
	uint16_t x;
	memcpy(&x, p, 2);
	return x;
}
static inline uint32_t num_u32(const void *p)
{
	uint32_t x;
	memcpy(&x, p, 4);
	return x;
}
static inline uint64_t num_u64(const void *p)
{
	uint64_t x;
	memcpy(&x, p, 8);
	return x;
}

/* IEEE binary16 to binary32: exact, NaN payloads kept. */
static inline float num_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;

	if (e == 31)
		return num_float(sign | 0x7f800000 | m << 13);
	if (e)
		return num_float(sign | (e + 112) << 23 | m << 13);
	float x = (float)m * 0x1p-24f;
	return sign ? -x : x;
}

/* binary32 to binary16, round to nearest, ties to even; overflow to infinity. */
static inline uint16_t num_to_f16(float x)
{
	uint32_t u = num_bits(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;

	if (a > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x1ff));
	if (a >= 0x477ff000) /* 65520 and above round to infinity */
		return (uint16_t)(sign | 0x7c00);
	if (a < 0x38800000) { /* below 2^-14: adding 0.5 aligns and rounds a subnormal */
		uint32_t s = num_bits(num_float(a) + 0.5f) - num_bits(0.5f);
		return (uint16_t)(sign | s);
	}
	uint32_t odd = a >> 13 & 1;
	return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + odd) >> 13));
}

static inline float num_bf16(uint16_t h) { return num_float((uint32_t)h << 16); }
static inline uint16_t num_to_bf16(float x)
{
	uint32_t u = num_bits(x);

	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* 2^(e - 127); e = 0 gives 2^-127 (subnormal), 255 gives NaN.  OCP Microscaling 1.0, E8M0. */
static inline float num_e8m0(uint8_t e)
{
	return e == 255 ? num_float(0x7fc00000) : e ? num_float((uint32_t)e << 23) : 0x1p-127f;
}

/* *out = a * b, or a + b.  Returns nonzero on overflow; *out is then unspecified. */
static inline int num_mul(size_t *out, size_t a, size_t b)
{
	return __builtin_mul_overflow(a, b, out);
}
static inline int num_add(size_t *out, size_t a, size_t b)
{
	return __builtin_add_overflow(a, b, out);
}
static inline size_t num_round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
static inline int64_t num_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t num_max(int64_t a, int64_t b) { return a > b ? a : b; }
#endif
