/* tests/unit/base/test_num.c - number formats, compared with the conversions of the processor,
 * and by definition. */
#include "../left_out.h"
#include "../nth.h"
#include "base/cpu.h"
#include "base/num.h"

#include <math.h>

/* The value of a binary16, by definition: sign, 5 bits of exponent, 10 of fraction. */
static double f16_value(uint32_t h)
{
	int e = h >> 10 & 31;
	double x = e ? ldexp((h & 1023) + 1024, e - 25) : ldexp(h & 1023, -24);

	return h & 0x8000 ? -x : x;
}

static void test_f16(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 65536; h++) {
		float x = num_f16((uint16_t)h);

		if ((h >> 10 & 31) == 31) {
			assert_int_equal(num_bits(x),
			                 (h & 0x8000) << 16 | 0x7f800000 | (h & 1023) << 13);
			/* NaNs come back quiet */
			assert_int_equal(num_to_f16(x), h & 1023 ? h | 0x200 : h);
			continue;
		}
		assert_true(x == (float)f16_value(h));
		assert_int_equal(signbit(x) != 0, h >> 15);
		assert_int_equal(num_to_f16(x), h);
	}
}

/* x rounds to the neighbour h when no other is nearer, and to the even one between two. */
static void test_to_f16(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 2000000; i++) {
		uint32_t h;
		double d, up, down;
		float x;

		seed = seed * 1664525 + 1013904223;
		/* all exponents from 2^-28 to 2^17, and often a value just between two */
		x = num_float((99 + seed % 46) << 23 | (seed >> 9 & (i & 1 ? 0x7ff000 : 0x7fffff)));
		h = num_to_f16(x);
		if (x >= 65520.0f) {
			assert_int_equal(h, 0x7c00);
			continue;
		}
		assert_true(h < 0x7c00);
		d = fabs(f16_value(h) - x);
		up = fabs((h == 0x7bff ? 65536.0 : f16_value(h + 1)) - x);
		down = h ? fabs(f16_value(h - 1) - x) : INFINITY;
		assert_true(d < up || (d == up && !(h & 1)));
		assert_true(d < down || (d == down && !(h & 1)));
		assert_int_equal(num_to_f16(-x), h | 0x8000);
	}
	assert_int_equal(num_to_f16(INFINITY), 0x7c00);
	assert_int_equal(num_to_f16(-0.0f), 0x8000);
}

#if defined __x86_64__
#include <immintrin.h>
__attribute__((target("f16c"))) static uint16_t cpu_to_f16(float x)
{
	return (uint16_t)_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT),
	                                   0);
}

static void test_to_f16_cpu(void **state)
{
	(void)state;
	if (!(cpu_features() & CPU_F16C))
		left_out("needs a processor with F16C");
	for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 1021)
		assert_int_equal(num_to_f16(num_float((uint32_t)u)),
		                 cpu_to_f16(num_float((uint32_t)u)));
}
#else
static void test_to_f16_cpu(void **state)
{
	(void)state;
	left_out("needs an x86 processor");
}
#endif

static void test_bf16(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 65536; h++) {
		float x = num_bf16((uint16_t)h);

		assert_int_equal(num_bits(x), h << 16);
		assert_int_equal(num_to_bf16(x), isnan(x) ? h | 0x40 : h);
	}
	for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 4093) {
		float x = num_float((uint32_t)u), y = num_bf16(num_to_bf16(x));
		uint32_t low = (uint32_t)u & 0xffff;

		if (isnan(x)) {
			assert_true(isnan(y));
			continue;
		}
		/* nearest: the dropped half decides, a tie goes to the even */
		assert_int_equal(num_bits(y) >> 16,
		                 (u >> 16) + (low > 0x8000 || (low == 0x8000 && (u >> 16 & 1))));
	}
	assert_int_equal(num_to_bf16(num_float(0x7f7fffff)), 0x7f80);
	assert_int_equal(num_to_bf16(num_float(0x3f808000)), 0x3f80);
	assert_int_equal(num_to_bf16(num_float(0x3f818000)), 0x3f82);
}

static void test_e8m0(void **state)
{
	(void)state;
	for (int e = 0; e < 255; e++)
		assert_true(num_e8m0((uint8_t)e) == (float)ldexp(1, e - 127));
	assert_true(isnan(num_e8m0(255)));
}

static void test_arithmetic(void **state)
{
	size_t r;

	(void)state;
	assert_int_equal(num_mul(&r, (size_t)1 << 32, (size_t)1 << 31), 0);
	assert_true(r == (size_t)1 << 63);
	assert_int_not_equal(num_mul(&r, (size_t)1 << 32, (size_t)1 << 32), 0);
	assert_int_equal(num_add(&r, SIZE_MAX - 1, 1), 0);
	assert_int_not_equal(num_add(&r, SIZE_MAX, 1), 0);
	assert_int_equal(num_round_up(0, 32), 0);
	assert_int_equal(num_round_up(1, 32), 32);
	assert_int_equal(num_round_up(64, 32), 64);
	assert_true(num_min(-5, 3) == -5 && num_max(-5, 3) == 3);
	assert_int_equal(num_u16("\x34\x12"), 0x1234);
	assert_int_equal(num_u32(&"x\x78\x56\x34\x12"[1]), 0x12345678);
	assert_true(num_u64("\1\2\3\4\5\6\7\x88") == 0x8807060504030201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_f16),        cmocka_unit_test(test_to_f16),
		cmocka_unit_test(test_to_f16_cpu), cmocka_unit_test(test_bf16),
		cmocka_unit_test(test_e8m0),       cmocka_unit_test(test_arithmetic),
	};
	return nth_group(tests);
}
