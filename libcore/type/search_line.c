/* type/search_line.c - searches for a scale and an offset: value = a q + c, 0 <= q <= top.
 *
 * About the weighted mean of the values, the score of codes q is sum(w x q)^2 / (sum(w q q) -
 * sum(w q)^2 / sum(w)), as in search.c.  The search tries scales that spread the range of the
 * values over a little less or more than the range of the codes, at several offsets, and alternates
 * between codes and line from the best. */
#include "type/search_line.h"

#include <math.h>

enum { MORE = 6, ROUNDS = 4 };

struct line_sums line_try(const search_v4 *x, const search_v4 *w, int n, float inv, float base,
                          float zero, float top)
{
	search_v4 sq = { 0 }, qq = { 0 }, xq = { 0 };

	for (int i = 0; i < n; i++) {
		search_v4 q = search_rint(search_clamp(x[i] * inv + base, 0, top)) - zero;
		search_v4 wq = w[i] * q;
		sq += wq;
		qq += wq * q;
		xq += wq * x[i];
	}
	return (struct line_sums){ search_sum(sq), search_sum(qq), search_sum(xq) };
}

void line_codes(int8_t *q, const search_v4 *x, int n, float a, float c, float top)
{
	float inv = a != 0 ? 1.0f / a : 0.0f, base = -c * inv;

	for (int i = 0; i < n; i++) {
		search_v4 t = search_rint(search_clamp(x[i] * inv + base, 0, top));
		search_i4 v = __builtin_convertvector(t, search_i4);
		for (int l = 0; l < 4; l++)
			q[4 * i + l] = (int8_t)v[l];
	}
}

void line_range(const search_v4 *x, const search_v4 *w, int n, float *lo, float *hi)
{
	const search_v4 none = { HUGE_VALF, HUGE_VALF, HUGE_VALF, HUGE_VALF };
	search_v4 least = none, most = -none;

	for (int i = 0; i < n; i++) {
		search_i4 heard = w[i] > SEARCH_UNHEARD;
		search_i4 less = heard & (x[i] < least), more = heard & (x[i] > most);

		least = (search_v4)((less & (search_i4)x[i]) | (~less & (search_i4)least));
		most = (search_v4)((more & (search_i4)x[i]) | (~more & (search_i4)most));
	}
	*lo = HUGE_VALF;
	*hi = -HUGE_VALF;
	for (int l = 0; l < 4; l++) {
		*lo = least[l] < *lo ? least[l] : *lo;
		*hi = most[l] > *hi ? most[l] : *hi;
	}
	if (*lo > *hi)
		*lo = *hi = 0;
}

/* Codes are summed about that of the mean: one heavy value does not drown the others. */
static float zero_of(float base, float top)
{
	return base <= 0 ? 0 : base >= top ? top : rintf(base);
}

static int is_better(struct line_sums f, float sw, float *score)
{
	float qq = f.qq - f.q * f.q / sw;

	if (!(qq > 0x1p-20f * f.qq && f.xq > 0 && f.xq * f.xq > *score * qq))
		return 0;
	*score = f.xq * f.xq / qq;
	return 1;
}

struct line line_search(const search_v4 *x, const search_v4 *w, int n, float top)
{
	search_v4 y[8], sum = { 0 }, sumw = { 0 };
	float lo, hi, score = 0, step = top > 3 ? 0.7f : 0.35f;
	struct line_sums best = { 0 };
	int width = search_width();

	for (int i = 0; i < n; i++) {
		sum += w[i] * x[i];
		sumw += w[i];
	}
	float sw = search_sum(sumw), mean = search_sum(sum) / sw;
	for (int i = 0; i < n; i++)
		y[i] = x[i] - mean;
	line_range(y, w, n, &lo, &hi);
	if (!(hi - lo > SEARCH_LEAST))
		return (struct line){ 0, mean, mean, sw, 0, 0 };
	float best_zero = 0;
	for (int k = 0; k < MORE; k++) {
		float inv = (top + step * (float)(k - 1)) / (hi - lo);
		float middle = 0.5f * (top - (hi + lo) * inv);
		const search_v4 shifts = { 0, 0.35f, 0.35f * 2, 0.35f * 3 };
		struct line_place at = { shifts * 0 + inv, middle + shifts - 0.5f, { 0 } };
		struct line_sums4 f;

		at.zero = search_rint(search_clamp(at.base, 0, top));
		line_try4(y, w, n, &at, top, 4, width, &f);
		search_v4 qq = f.qq - f.q * f.q / sw, square = f.xq * f.xq;
		search_i4 fits = (qq > 0x1p-20f * f.qq) & (f.xq > 0);

		for (int i = 0; i < 4; i++)
			if (fits[i] && square[i] > score * qq[i]) {
				score = square[i] / qq[i];
				best = (struct line_sums){ f.q[i], f.qq[i], f.xq[i] };
				best_zero = at.zero[i];
			}
	}
	for (int k = 0; k < ROUNDS && score > 0; k++) {
		float inv = (best.qq - best.q * best.q / sw) / best.xq;
		float base = best.q / sw + best_zero, zero = zero_of(base, top);
		struct line_sums f = line_try(y, w, n, inv, base, zero, top);

		if (!is_better(f, sw, &score))
			break;
		best = f;
		best_zero = zero;
	}
	float q = best.q / sw + best_zero, curve = best.qq - best.q * (best.q / sw);
	float a = score > 0 ? best.xq / curve : 0;
	return (struct line){ a, mean - a * q, mean, sw, q, curve };
}

/* The weighted error of codes under a, c, all as they are. */
static float error_of(const search_v4 *x, const search_v4 *w, int n, float a, float c, float top)
{
	search_v4 e = { 0 };
	float inv = a != 0 ? 1.0f / a : 0.0f, base = -c * inv;

	for (int i = 0; i < n; i++) {
		search_v4 d = x[i] - (search_rint(search_clamp(x[i] * inv + base, 0, top)) * a + c);
		e += w[i] * d * d;
	}
	return search_sum(e);
}

/* From the least value to the greatest; codes are those before the two are rounded, as the public
 * tools have them. */
static void plain_line(const struct search *s, float top, uint8_t d[2], uint8_t m[2], int8_t *q)
{
	float lo, hi;

	line_range(s->x, s->w, 8, &lo, &hi);
	float a = (hi - lo) / top, inv = a != 0 ? 1.0f / a : 0;

	for (int i = 0; i < 8; i++) {
		search_i4 v = __builtin_convertvector(
			search_rint(search_clamp((s->x[i] - lo) * inv, 0, top)), search_i4);
		for (int l = 0; l < 4; l++)
			q[4 * i + l] = (int8_t)v[l];
	}
	search_put(d, search_round(s, &a));
	search_put(m, search_round(s, &lo));
}

void search_line(const struct search *s, float top, uint8_t d[2], uint8_t m[2], int8_t *q)
{
	if (s->plain) {
		plain_line(s, top, d, m, q);
		return;
	}
	struct line f = line_search(s->x, s->w, 8, top);
	float best = HUGE_VALF, at_a = 0, at_c = 0;

	for (int k = 0; k < 3; k++) {
		float a = f.a, c = f.c;
		uint16_t da = search_round(s, &a);
		c = f.mean - a * f.q; /* for the rounded scale */
		uint16_t dc = search_round(s, &c);
		float e = error_of(s->x, s->w, 8, a, c, top);
		if (!(e < best))
			break;
		best = e;
		at_a = a;
		at_c = c;
		search_put(d, da);
		search_put(m, dc);
		if (a == 0)
			break;
		struct line_sums n = line_try(s->x, s->w, 8, 1.0f / a, -c / a, 0, top);
		f.q = n.q / f.sw;
		f.a = n.qq > 0 ? (n.xq - c * n.q) / n.qq : 0; /* for the rounded offset */
	}
	line_codes(q, s->x, 8, at_a, at_c, top);
}
