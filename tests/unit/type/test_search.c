/* tests/unit/type/test_search.c - the parts of the encoders' searches. */
#include "../nth.h"

#include "base/rng.h"
#include "type/search_scale.h"
#include "type/search_affine.h"
#include "type/type.h"

#include <math.h>

static float x[32], w[32];

/* What search_fit_codes4 computes, for one group. */
static struct search_fit fit_codes(const search_v4 *v, const search_v4 *weight, int n, float inv,
                                   const struct search_grid *g)
{
	search_v4 xq = { 0 }, qq = { 0 };

	for (int i = 0; i < n; i++) {
		search_v4 q = search_nearest(v[i] * inv, g), wq = weight[i] * q;
		xq += wq * v[i];
		qq += wq * q;
	}
	return (struct search_fit){ search_sum(xq), search_sum(qq) };
}

static float bell(uint64_t i)
{
	double sum = 0;

	for (uint64_t k = 0; k < 4; k++)
		sum += rng_unit(1, 4 * i + k);
	return (float)(sum - 2);
}
static float heed(uint64_t i) { return (float)(1 + (int)(16 * rng_unit(2, i))); }

/* Four tries at once, and four groups at once, of either search, give the bits of one after the other, in registers of
 * every width. */
static void test_widths(void **state)
{
	static const struct search_grid grid = { .lo = -32, .hi = 31 };
	struct affine_map at;
	struct affine_sums4 lines;
	struct search_fit4 fits;
	struct affine_sums4 groups;
	search_v4 four_x[20], four_w[20];
	const struct search_interleaved four = { four_x, four_w };
	struct search_table table;
	const struct search_grid fp4 = search_fp4(&table);
	struct search s;

	(void)state;
	assert_true(type_width(0) == 1 || type_width(0) == 2 || type_width(0) == 4);
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
		for (int width = 1; width <= type_width(0); width *= 2) {
			affine_fit_codes4(s.x, s.w, n, &at, 15, 4, width, &lines);
			for (int l = 0; l < 4; l++)
				search_interleave(&four, l, s.x + l, s.w + l, n);
			const struct search_grid *of = k & 2 ? &fp4 : &grid;
			search_fit_codes4(&four, n, at.inv, of, width, &fits);
			affine_fit_groups4(&four, n, &at, 15, width, &groups);
			for (int l = 0; l < 4; l++) {
				struct affine_sums f = affine_fit_codes(s.x, s.w, n, at.inv[l],
				                                        at.base[l], at.zero[l], 15);
				struct affine_sums h = affine_fit_codes(
					s.x + l, s.w + l, n, at.inv[l], at.base[l], at.zero[l], 15);
				struct search_fit g = fit_codes(s.x + l, s.w + l, n, at.inv[l], of);
				assert_true(f.q == lines.q[l] && f.qq == lines.qq[l] &&
				            f.xq == lines.xq[l]);
				assert_true(h.q == groups.q[l] && h.qq == groups.qq[l] &&
				            h.xq == groups.xq[l]);
				assert_true(g.xq == fits.xq[l] && g.qq == fits.qq[l]);
			}
		}
	}
}

/* Of the nearest codes to 15 */
static double error(const struct search *s, int n, float a, float c)
{
	double sum = 0;

	for (int i = 0; i < 4 * n; i++) {
		double v = (double)s->x[i / 4][i % 4],
		       q = a > 0 ? rint((v - (double)c) / (double)a) : 0;
		double d = v - (double)a * fmin(15, fmax(0, q)) - (double)c;

		sum += (double)s->w[i / 4][i % 4] * d * d;
	}
	return sum;
}

/* The best lines of four groups are the same in registers of every width, and lines
 * that are a little steeper or flatter lose more. */
static void test_lines(void **state)
{
	search_v4 four_x[32], four_w[32];
	const struct search_interleaved four = { four_x, four_w };
	struct search s[4];
	double lost[3] = { 0 };

	(void)state;
	for (int k = 0; k < 500; k++) {
		int n = k & 1 ? 4 : 8;
		struct affine4 of[3];

		for (int i = 0; i < 4; i++) {
			for (int j = 0; j < 32; j++) {
				x[j] = k % 7 ? bell((uint64_t)((4 * k + i) * 32 + j)) : 0.5f;
				w[j] = heed((uint64_t)((4 * k + i) * 32 + j));
			}
			search_load(&s[i], x, k & 2 ? w : NULL, 32, 0);
			search_interleave(&four, i, s[i].x, s[i].w, n);
		}
		for (int width = 1; width <= type_width(0); width *= 2) {
			of[width / 2] = affine_search4(&four, n, 15, width);
			assert_memory_equal(&of[width / 2], &of[0], sizeof *of);
		}
		for (int i = 0; i < 4; i++) {
			assert_true(k % 7 ? of->a[i] > 0 : of->a[i] == 0);
			for (int by = -1; by <= 1; by++) {
				float a = of->a[i] * (1 + 0.02f * (float)by);

				lost[by + 1] += error(&s[i], n, a, of->mean[i] - a * of->q[i]);
			}
		}
	}
	assert_true(lost[1] < 0.97 * lost[0] && lost[1] < 0.97 * lost[2]);
}

/* Blocks of IQ1_S nearly keep their norm; the scale of the least error would take a tenth off it. */
static void test_norm(void **state)
{
	static float v[2048], y[2048];
	unsigned char code[2048];
	const struct type *t = type_get(INFER_IQ1_S);
	double had = 0, has = 0;

	(void)state;
	for (int i = 0; i < 2048; i++) {
		v[i] = bell((uint64_t)i);
		had += (double)v[i] * (double)v[i];
	}
	t->encode(code, v, NULL, 8, 0);
	t->decode(y, code, 8);
	for (int i = 0; i < 2048; i++)
		has += (double)y[i] * (double)y[i];
	if (!(has > 0.9 * had && has < 1.1 * had))
		fail_msg("square of the norm: %g of %g", has, had);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_widths),
		                            cmocka_unit_test(test_lines),
		                            cmocka_unit_test(test_norm) };

	return nth_group(tests);
}
