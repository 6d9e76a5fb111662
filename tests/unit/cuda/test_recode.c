/* tests/unit/cuda/test_recode.c - every type of weights has a form on the device, and rows of types
 * without kernels, recoded as X8, have the values of the type's decoder to the last bit: blocks of
 * random bytes, each exponent of their f16 scales and each E4M3 scale, and zeros. */
#include "../nth.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/recode.h"
#include "base/num.h"
#include "type/type.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 96, K = 1024, MOST_ROW = K * 4, F16_EXPONENTS = 31, LEAST = 12 };

static uint64_t state_of_random = 1;

static uint32_t random_bits(void)
{
	state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state_of_random >> 32);
}

/* A finite f16 with exponent n % 31; the first of each 64 is 0. */
static uint16_t scale_of(int n)
{
	return n % 64 ? (uint16_t)((random_bits() & 0x83ff) | (unsigned)(n % F16_EXPONENTS) << 10)
	              : 0;
}

static void put16(uint8_t *to, uint16_t v)
{
	to[0] = (uint8_t)v;
	to[1] = (uint8_t)(v >> 8);
}

/* n blocks of random bytes with finite scales; `first`: number of the first block. */
static void make_blocks(uint8_t *to, const struct type *t, int64_t n, int first)
{
	for (int64_t i = 0; i < n * t->info.block_bytes; i++)
		to[i] = (uint8_t)(random_bits() >> 24);
	for (int b = 0; b < n; b++, to += t->info.block_bytes) {
		uint16_t d = scale_of(first + b);

		for (int i = 0; i < t->n_f16; i++)
			put16(to + t->f16[i], d);
		/* IQ1_M: the scale is in the top halves of four fields from byte 48 on */
		for (int i = 0; t == type_get(INFER_IQ1_M) && i < 4; i++)
			to[49 + 2 * i] = (uint8_t)((to[49 + 2 * i] & 15) | (d >> 4 * i & 15) << 4);
	}
}

static int is_recoded(int type)
{
	const struct gpu_type *g = gpu_type_stored(type);

	return g && g->type != type;
}

/* The row `from` recoded against its decoder. */
static int64_t check_row(const struct type *t, int type, const uint8_t *from)
{
	static uint8_t to[K / GPU_X8_K * GPU_X8_BYTES];
	static float want[K];
	int64_t not_zero = 0;

	assert_int_equal(recode_row_bytes(K), sizeof to);
	memset(to, 0xff, sizeof to);
	if (!recode_row(to, from, type, K))
		fail_msg("%s: values without codes", t->info.name);
	t->decode(want, from, (size_t)(K / t->info.block));
	for (int i = 0; i < K; i++) {
		const uint8_t *x = to + i / GPU_X8_K * GPU_X8_BYTES;
		int8_t q = (int8_t)x[GPU_X8_Q + i % GPU_X8_K];
		float v = num_float(num_u32(x)) * (float)q, w = want[i] + 0.0f; /* -0 is +0 */

		if (num_bits(v) != num_bits(w) || q == -128)
			fail_msg("%s: [%d] is %.9g, should be %.9g", t->info.name, i, (double)v,
			         (double)want[i]);
		not_zero += v != 0;
	}
	return not_zero;
}

static void test_values(void **state)
{
	int n = 0;

	(void)state;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		const struct type *t = type_get(type);
		int64_t blocks = K / t->info.block, not_zero = 0;
		uint8_t row[MOST_ROW];

		if (!is_recoded(type))
			continue;
		for (int i = 0; i < ROWS; i++) {
			make_blocks(row, t, blocks, i * (int)blocks);
			not_zero += check_row(t, type, row);
		}
		memset(row, 0, sizeof row);
		check_row(t, type, row);
		assert_true(not_zero > ROWS * K / 4);
		n++;
	}
	assert_int_equal(n, LEAST);
}

/* Values that are no multiples of one float by codes up to 127, or not finite, are refused. */
static void test_refused(void **state)
{
	static const struct {
		int type, d, q, good; /* d: f16 bits; q: byte of the last codes, the others are 1 */
	} cases[] = {
		{ INFER_Q8_0, 0x3c00, 127, 1 },  { INFER_Q8_0, 0x3c00, -127, 1 },
		{ INFER_Q8_0, 0x3c00, -128, 0 }, { INFER_Q8_0, 0x0001, 127, 1 },
		{ INFER_Q8_0, 0x7c00, 1, 0 },    { INFER_Q8_0, 0x7c00, 0, 0 },
		{ INFER_Q8_0, 0x7e00, 1, 0 },    { INFER_Q4_1, 0x3c00, 0x11, 1 },
		{ INFER_Q4_1, 0x34cd, 0x75, 0 },
	};
	uint8_t row[64], to[2 * GPU_X8_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(row, 1, sizeof row);
		put16(row, (uint16_t)cases[i].d);
		if (cases[i].type == INFER_Q4_1) /* the minimum */
			put16(row + 2, 0x3c00);
		row[type_row_bytes(cases[i].type, 32) - 1] = (uint8_t)cases[i].q;
		if (recode_row(to, row, cases[i].type, 32) != cases[i].good)
			fail_msg("case %zu", i);
	}
}

/* Types of checkpoints that other libraries quantised: only the CPU multiplies them, and X8 does not hold
 * their values.  A model of such a type is refused by name. */
static int is_refused(int type)
{
	return type == INFER_Q4_F || type == INFER_Q8_F || type == INFER_F8_E4M3 ||
	       type == INFER_NF4 || type == INFER_NVFP4_F;
}

/* Every other type that a file may have weights of */
static void test_all_types(void **state)
{
	(void)state;
	for (int type = INFER_Q4_0; type < INFER_TYPE_COUNT; type++) {
		const struct infer_type_info *t = infer_type_info(type);

		if (!t->file_only && (!gpu_type_stored(type)) != is_refused(type))
			fail_msg("%s %s", t->name,
			         is_refused(type) ? "has a form on the device and is in is_refused"
			                          : "has no form on the device");
		if (!t->file_only && gpu_type_find(type))
			assert_ptr_equal(gpu_type_stored(type), gpu_type_find(type));
	}
	assert_null(gpu_type_stored(INFER_I32));
	assert_null(gpu_type_stored(INFER_Q8_K));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_values),
		                            cmocka_unit_test(test_refused),
		                            cmocka_unit_test(test_all_types) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
