/* tests/unit/type/test_search.c - the parts of the encoders' searches. */
#include "../nth.h"

#include "base/rng.h"
#include "type/search_four.h"
#include "type/search_line.h"

static float x[32], w[32];

static float bell(uint64_t i)
{
	double sum = 0;

	for (uint64_t k = 0; k < 4; k++)
		sum += rng_unit(1, 4 * i + k);
	return (float)(sum - 2);
}
static float heed(uint64_t i) { return (float)(1 + (int)(16 * rng_unit(2, i))); }

/* Four tries at once, and four groups at once, give the bits of one after the other, in registers of
 * every width. */
static void test_widths(void **state)
{
	static const struct search_grid grid = { .lo = -32, .hi = 31 };
	struct line_place at;
	struct line_sums4 lines;
	struct search_fit4 fits;
	struct search_four four;
	struct search_table table;
	const struct search_grid fp4 = search_fp4(&table);
	struct search s;

	(void)state;
	assert_true(search_width() == 1 || search_width() == 2 || search_width() == 4);
	for (int k = 0; k < 2000; k++) {
		int n = 1 + k % 5;
		for (int i = 0; i < 32; i++) {
			x[i] = bell((uint64_t)(k * 32 + i));
			w[i] = heed((uint64_t)(k * 32 + i));
		}
		search_load(&s, x, k & 1 ? w : NULL, 32, 0);
		for (int l = 0; l < 4; l++) {
			at.inv[l] = 9 + 4 * bell((uint64_t)(9 * k + l));
			at.base[l] = 7 + bell((uint64_t)(9 * k + l + 4));
			at.zero[l] = (float)(l * k % 3);
		}
		for (int width = 1; width <= search_width(); width *= 2) {
			line_try4(s.x, s.w, n, &at, 15, 4, width, &lines);
			for (int l = 0; l < 4; l++)
				search_side_by_side(&four, l, s.x + l, s.w + l, n);
			const struct search_grid *of = k & 2 ? &fp4 : &grid;
			search_each4(&four, n, at.inv, of, width, &fits);
			for (int l = 0; l < 4; l++) {
				struct line_sums f = line_try(s.x, s.w, n, at.inv[l], at.base[l],
				                              at.zero[l], 15);
				struct search_fit g =
					search_try(s.x + l, s.w + l, n, at.inv[l], of);
				assert_true(f.q == lines.q[l] && f.qq == lines.qq[l] &&
				            f.xq == lines.xq[l]);
				assert_true(g.xq == fits.xq[l] && g.qq == fits.qq[l]);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_widths) };

	return nth_group(tests);
}
