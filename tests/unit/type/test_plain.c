/* tests/unit/type/test_plain.c - encoders without a search: the bytes of another program's plain rounding
 * (tests/golden/encode-plain.txt, scripts/golden-encode.py); in the other types, no less is lost than
 * with a search, and not many times as much; importances do not count. */
#include "../nth.h"
#include "base/num.h"
#include "type/type.h"

#include <stdio.h>
#include <string.h>

enum { N = 2048, PLAIN = 11 };

static float x[N], y[N], w[N];
static uint8_t code[N * 4];

/* As in the script. */
static float bell(uint64_t i)
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	int sum =
		(int)(z & 65535) + (int)(z >> 16 & 65535) + (int)(z >> 32 & 65535) + (int)(z >> 48);

	return (float)(sum - 131070) * 0x1p-18f;
}

static double error(const struct type *t, const float *importance, int plain)
{
	size_t blocks = N / (size_t)t->info.block;
	double sum = 0;

	t->encode(code, x, importance, blocks, plain);
	t->decode(y, code, blocks);
	for (int i = 0; i < N; i++)
		sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
	return sum;
}

static uint64_t digest(size_t bytes)
{
	uint64_t d = 0xcbf29ce484222325;

	for (size_t i = 0; i < bytes; i++)
		d = (d ^ code[i]) * 0x100000001b3;
	return d;
}

static size_t bytes_of(const struct type *t)
{
	return (size_t)(N / t->info.block * t->info.block_bytes);
}

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++) {
		x[i] = bell((uint64_t)i);
		w[i] = (float)(1 + i % 7);
	}
	return 0;
}

static void test_golden(void **state)
{
	char line[256], name[16];
	unsigned long long want;
	FILE *f = fopen("tests/golden/encode-plain.txt", "r");
	int n = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		int t = 0;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%15s %llx", name, &want), 2);
		while (strcmp(infer_type_info(t)->name, name))
			assert_true(++t < INFER_TYPE_COUNT);
		error(type_get(t), NULL, 1);
		if (digest(bytes_of(type_get(t))) != want)
			fail_msg("%s: other bytes than those of the golden file", name);
		n++;
	}
	fclose(f);
	assert_int_equal(n, PLAIN);
}

static void test_types(void **state)
{
	(void)state;
	for (int i = 0; i < INFER_TYPE_COUNT; i++) {
		const struct type *t = type_get(i);

		if (!t->encode)
			continue;
		double searched = error(t, NULL, 0), plain = error(t, NULL, 1);
		uint64_t was = digest(bytes_of(t));

		if (!(plain >= searched && plain <= 5 * searched))
			fail_msg("%s: error %g, and %g with a search", t->info.name, plain,
			         searched);
		error(t, w, 1);
		assert_true(was == digest(bytes_of(t)));
	}
}

/* Zeros stay zeros, and nothing that is divided by them is seen. */
static void test_zeros(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++)
		x[i] = 0;
	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		if (type_get(i)->encode && !(error(type_get(i), NULL, 1) == 0))
			fail_msg("%s: zeros become something else", infer_type_info(i)->name);
	setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_zeros),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
