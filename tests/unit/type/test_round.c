/* tests/unit/type/test_round.c - elements rounded one after the other under scales that stay: what a block
 * says comes back, the block has what was said, nothing else of it changes, and nothing nearer is
 * there. */
#include "../nth.h"
#include "type/type.h"

#include <math.h>
#include <string.h>

enum { N = 256, BYTES = 1024 };

static uint64_t next(uint64_t *s)
{
	*s = *s * 6364136223846793005 + 1442695040888963407;
	return *s >> 33;
}

static float noise(uint64_t *s) { return (float)(next(s) % 2001) / 1000 - 1; }

static double error(const float *x, const float *y, int n)
{
	double e = 0;

	for (int i = 0; i < n; i++)
		e += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
	return e;
}

static void check(const struct type *t, uint64_t seed)
{
	static const float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	float x[N], was[N], is[N], y[8];
	unsigned char block[BYTES];

	for (int i = 0; i < t->info.block; i++)
		x[i] = noise(&seed) + (seed % 3 ? 0.3f : 0);
	t->encode(block, x, NULL, 1, 0);
	t->decode(was, block, 1);
	for (int i = 0; i < t->info.block; i += t->unit) {
		const char *name = t->info.name;

		memcpy(y, was + i, (size_t)t->unit * sizeof *y);
		t->round(block, i, y, ones);
		t->decode(is, block, 1);
		if (memcmp(is, was, (size_t)t->info.block * sizeof *is) ||
		    error(y, was + i, t->unit) > 0)
			fail_msg("%s: what element %d stood for did not come back", name, i);
		memcpy(y, x + i, (size_t)t->unit * sizeof *y);
		t->round(block, i, y, ones);
		t->decode(is, block, 1);
		if (error(is + i, y, t->unit) > 0)
			fail_msg("%s: element %d is not what was said", name, i);
		if (error(y, x + i, t->unit) > error(was + i, x + i, t->unit) * (1 + 1e-5) + 1e-12)
			fail_msg("%s: element %d was nearer before", name, i);
		memcpy(is + i, was + i, (size_t)t->unit * sizeof *y);
		if (memcmp(is, was, (size_t)t->info.block * sizeof *is))
			fail_msg("%s: rounding element %d changed others", name, i);
		memcpy(y, was + i, (size_t)t->unit * sizeof *y);
		t->round(block, i, y, ones);
		/* and far from anything */
		for (int j = 0; j < t->unit; j++)
			y[j] = 1e9f * noise(&seed);
		t->round(block, i, y, ones);
		for (int j = 0; j < t->unit; j++)
			assert_true(isfinite(y[j]) && fabsf(y[j]) < 100);
		memcpy(y, was + i, (size_t)t->unit * sizeof *y);
		t->round(block, i, y, ones);
	}
}

static void test_types(void **state)
{
	int n = 0;

	(void)state;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		const struct type *t = type_get(type);

		if (!t->round)
			continue;
		assert_true(t->encode && t->unit > 0 && t->unit <= 8 &&
		            t->info.block % t->unit == 0);
		for (uint64_t seed = 1; seed <= 4; seed++)
			check(t, seed * 977);
		n++;
	}
	assert_int_equal(n, 23);
}

/* A block of zeros takes anything. */
static void test_zeros(void **state)
{
	float x[N] = { 0 }, y[8], w[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned char block[BYTES];

	(void)state;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		const struct type *t = type_get(type);

		if (!t->round)
			continue;
		t->encode(block, x, NULL, 1, 0);
		for (int i = 0; i < t->info.block; i += t->unit) {
			for (int j = 0; j < t->unit; j++)
				y[j] = j % 2 ? 1 : -1;
			t->round(block, i, y, w);
			for (int j = 0; j < t->unit; j++)
				assert_true(isfinite(y[j]) && fabsf(y[j]) < 1e-3f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_types),
		                            cmocka_unit_test(test_zeros) };

	return nth_group(tests);
}
