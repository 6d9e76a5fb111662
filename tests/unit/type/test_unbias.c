/* tests/unit/type/test_unbias.c - encoders without bias: in types of less than 4.5 bits, the regression
 * of a block's values on the weights has the slope 1; nothing but the scale differs. */
#include "../nth.h"
#include "base/num.h"
#include "base/rng.h"
#include "type/type.h"

#include <math.h>
#include <string.h>

enum { N = 4096 };

static float x[N], y[N], w[N];
static uint8_t got[N * 4], want[N * 4];

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		double sum = -2;

		for (uint64_t k = 0; k < 4; k++)
			sum += rng_unit(1, 4 * (uint64_t)i + k);
		x[i] = (float)sum;
		w[i] = (float)(1 + (int)(16 * rng_unit(2, (uint64_t)i)));
	}
}

/* The slope of the regression of y on x, over n values from `from` on */
static double slope(const float *weights, size_t from, size_t n)
{
	double xx = 0, xy = 0;

	for (size_t i = from; i < from + n; i++) {
		double c = weights ? (double)weights[i] : 1;

		xx += c * (double)x[i] * (double)x[i];
		xy += c * (double)x[i] * (double)y[i];
	}
	return xy / xx;
}

static size_t blocks_of(int type) { return N / (size_t)infer_type_info(type)->block; }

static size_t bytes_of(int type)
{
	return blocks_of(type) * (size_t)infer_type_info(type)->block_bytes;
}

static int chooses(int type)
{
	return type_get(type)->encode && type != INFER_F32 && type != INFER_F16 &&
	       type != INFER_BF16;
}

/* Types whose scale is a power of two, or has three bits of fraction, cannot be that exact; IQ1_S has
 * a rule of its own. */
static int apart(int type)
{
	return type == INFER_MXFP4 || type == INFER_NVFP4 || type == INFER_IQ1_S;
}

static void slope_is_1(int type, const float *weights)
{
	const struct infer_type_info *t = infer_type_info(type);
	size_t n = (size_t)t->block;

	type_get(type)->encode(want, x, weights, blocks_of(type), 0);
	type_get(type)->decode(y, want, blocks_of(type));
	double before = slope(weights, 0, N);

	type_encode(type, got, x, weights, blocks_of(type), 0);
	type_get(type)->decode(y, got, blocks_of(type));
	for (size_t i = 0; i < N; i += n) {
		double s = slope(weights, i, n);

		if (!(fabs(s - 1) < 0x1p-10))
			fail_msg("%s%s: block %zu has the slope %g", t->name,
			         weights ? ", weighed" : "", i / n, s);
	}
	if (!(before < 0.9995))
		fail_msg("%s: the slope of the least error is %g", t->name, before);
}

static void test_slope(void **state)
{
	int types = 0;

	(void)state;
	fill();
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct infer_type_info *info = infer_type_info(t);

		if (!chooses(t) || apart(t) || info->block_bytes * 16 >= 9 * info->block)
			continue;
		slope_is_1(t, NULL);
		slope_is_1(t, w);
		types++;
	}
	assert_int_equal(types, 13);
}

/* Other types, and rounding without a search, have the bytes of the encoder. */
static void test_others(void **state)
{
	(void)state;
	fill();
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct infer_type_info *info = infer_type_info(t);

		if (!type_get(t)->encode)
			continue;
		for (int plain = 0; plain < 2; plain++) {
			if (!plain && !apart(t) && info->block_bytes * 16 < 9 * info->block)
				continue;
			type_get(t)->encode(want, x, w, blocks_of(t), plain ? ENCODE_PLAIN : 0);
			type_encode(t, got, x, w, blocks_of(t), plain ? ENCODE_PLAIN : 0);
			assert_memory_equal(got, want, bytes_of(t));
		}
	}
}

/* Only scales differ: of two decoded blocks, one is a multiple of the other. */
static void test_codes(void **state)
{
	(void)state;
	fill();
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		if (!chooses(t))
			continue;
		static float was[N];
		size_t n = (size_t)infer_type_info(t)->block;

		type_get(t)->encode(want, x, w, blocks_of(t), 0);
		type_encode(t, got, x, w, blocks_of(t), 0);
		type_get(t)->decode(was, want, blocks_of(t));
		type_get(t)->decode(y, got, blocks_of(t));
		for (size_t b = 0; b < N; b += n) {
			double xx = 0, xy = 0, top = 0;

			for (size_t i = b; i < b + n; i++) {
				xx += (double)was[i] * (double)was[i];
				xy += (double)was[i] * (double)y[i];
				top = fmax(top, fabs((double)y[i]));
			}
			for (size_t i = b; i < b + n; i++)
				if (!(fabs((double)y[i] - xy / xx * (double)was[i]) <= 0.002 * top))
					fail_msg("%s: value %zu is %g, not %g times %g",
					         infer_type_info(t)->name, i, (double)y[i], xy / xx,
					         (double)was[i]);
		}
	}
}

/* The same bytes block by block; values near the ends of F16 stay finite, zeros stay zeros. */
static void test_ends(void **state)
{
	static const float unit[] = {
		0, 0x1p-149f, 0x1p-30f, 0x1p-20f, 0x1p14f, 0x1p17f, 0x1p126f
	};

	(void)state;
	for (size_t k = 0; k < sizeof unit / sizeof *unit; k++) {
		fill();
		for (int i = 0; i < N; i++) {
			x[i] *= unit[k];
			w[i] *= k % 2 ? 0x1p90f : 0x1p-120f;
		}
		for (int t = 0; t < INFER_TYPE_COUNT; t++) {
			const struct type *row = type_get(t);
			size_t n = (size_t)row->info.block, size = (size_t)row->info.block_bytes;

			if (!row->encode)
				continue;
			type_encode(t, got, x, w, blocks_of(t), 0);
			assert_true(type_find_bad(t, got, N) == SIZE_MAX);
			for (size_t b = 0; b < blocks_of(t); b++)
				type_encode(t, want + b * size, x + b * n, w + b * n, 1, 0);
			assert_memory_equal(got, want, bytes_of(t));
			row->decode(y, got, blocks_of(t));
			for (int i = 0; k == 0 && i < N; i++)
				assert_true(y[i] == 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_slope),
		                            cmocka_unit_test(test_others),
		                            cmocka_unit_test(test_codes),
		                            cmocka_unit_test(test_ends) };

	return nth_group(tests);
}
