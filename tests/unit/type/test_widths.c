/* tests/unit/type/test_widths.c - registers of every width that the processor has: encoders write the same
 * bytes, and F16 is what base/num.h says. */
#include "../nth.h"
#include "base/num.h"
#include "base/rng.h"
#include "type/type.h"

#include <string.h>

/* Blocks of 256 elements: four side by side, and one that is left. */
enum { BLOCK = 256, N = 9 * BLOCK };

static float x[N], w[N];
static uint8_t want[N * 4], got[N * 4];

static float bell(uint64_t i)
{
	double sum = -2;

	for (uint64_t k = 0; k < 4; k++)
		sum += rng_unit(1, 4 * i + k);
	return (float)sum;
}

/* Each block of another kind: ordinary, with outliers, all one sign, constant, zeros, tiny, huge, integers,
 * and with signs that alternate at the largest magnitude. */
static void fill(uint64_t seed)
{
	for (int i = 0; i < N; i++) {
		float v = bell(seed * N + (uint64_t)i);
		const float kinds[] = { v,
			                i % 77 ? v : 50 * v,
			                v + 3,
			                0.37f,
			                0,
			                v * 0x1p-70f,
			                v * 0x1p40f,
			                (float)(int)(8 * v),
			                i & 1 ? 1.5f : -1.5f };

		x[i] = kinds[i / BLOCK];
		w[i] = i % 11 ? (float)(1 + (int)(16 * rng_unit(2, seed * N + (uint64_t)i))) : 0;
	}
}

static void same(int type, size_t from, size_t blocks, int plain, int weighs)
{
	const struct type *t = type_get(type);
	const size_t bytes = blocks * (size_t)t->info.block_bytes;
	const float *weights = weighs ? w + from : NULL;

	memset(want, 0xa5, bytes);
	t->encode(want, x + from, weights, blocks, ENCODE_128 | plain);
	for (int how = 0; how <= ENCODE_256; how += ENCODE_256) {
		memset(got, 0x5a, bytes);
		t->encode(got, x + from, weights, blocks, how | plain);
		for (size_t i = 0; i < bytes; i++)
			if (got[i] != want[i])
				fail_msg("%s%s%s: byte %zu of %zu blocks from element %zu: %d in "
				         "registers of %d "
				         "vectors, not %d",
				         t->info.name, plain ? ", plain" : "",
				         weighs ? ", weighed" : "", i, blocks, from, got[i],
				         type_width(how), want[i]);
	}
}

static void test_encoders(void **state)
{
	(void)state;
	assert_int_equal(type_width(ENCODE_128), 1);
	assert_true(type_width(ENCODE_256) <= 2 && type_width(ENCODE_256) <= type_width(0));
	for (uint64_t seed = 0; seed < 3; seed++) {
		fill(seed);
		for (int t = 0; t < INFER_TYPE_COUNT; t++) {
			size_t block = (size_t)infer_type_info(t)->block;

			for (int way = 0; way < 4 && type_get(t)->encode; way++)
				for (size_t less = 0; less < 3; less++)
					same(t, less * BLOCK, (N - less * BLOCK) / block - less,
					     way & ENCODE_PLAIN, way >> 1);
		}
	}
}

/* All numbers of 16 bits, and as many as registers have at a time or fewer, NaNs among finite ones. */
static void test_f16(void **state)
{
	static uint16_t h[65536];
	static float f[65536];

	(void)state;
	for (int step = 1; step < 65536; step += 2 * 4099) { /* odd: each once */
		for (int i = 0; i < 65536; i++)
			h[i] = (uint16_t)(i * step);
		for (size_t n = 65536; n; n = n > 64 ? n / 65536 * 40 : n - 1) {
			memset(f, 0, sizeof f);
			type_get(INFER_F16)->decode(f, h + 65536 - n, n);
			for (size_t i = 0; i < n; i++)
				if (num_bits(f[i]) != num_bits(num_f16(h[65536 - n + i])))
					fail_msg("%04x of %zu becomes %08x", h[65536 - n + i], n,
					         num_bits(f[i]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encoders),
		cmocka_unit_test(test_f16),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
