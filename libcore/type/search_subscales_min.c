/* type/search_subscales_min.c - blocks of 256 values in groups with a scale and a minimum, both
 * small integers times an F16: value = d sc q - dmin mn, 0 <= q <= top.
 *
 * First the best fit a q - m of each group is found.  With its best offset, a scale d sc instead of
 * a adds the error curve (a - d sc)^2 (struct affine4); d and the integers sc minimise the sum of
 * these errors.  Then dmin and mn are fitted to the best m in the same way.  Then each group tries
 * neighbouring integers with the codes for them, and d and dmin are refitted to all codes: a 2 x 2
 * system.
 *
 * A minimum is subtracted, so a group of positive values gets the minimum 0.  If all values of a
 * block are positive, its negative is encoded, and d and dmin become negative. */
#include "type/search_affine.h"

#include <math.h>

enum { MOST = 16, STEPS = 24, ROUNDS = 2 };

/* One lane of struct affine4. */
struct line {
	float a, c, mean, sw, q, curve;
};
struct block {
	const search_v4 *x, *w;
	int n, count; /* vectors of a group, number of groups */
	float top, most;
	int width;
	struct line line[MOST]; /* best fit of each group alone, without d and dmin */
	float wx[MOST];         /* sum of w x */
	float d, dmin;
	int sc[MOST], mn[MOST];
};

static float bound(float t, float most) { return t <= 0 ? 0 : t >= most ? most : rintf(t); }

/* Return the unit u that minimises the sum of weight (v - u k)^2 over integers k <= most, among
 * units that map the greatest v near most.  Sets k. */
static float unit_for(const struct search *s, const float *v, const float *weight, int count,
                      float most, int *k)
{
	float top = 0, best = 0, least = HUGE_VALF;

	for (int i = 0; i < count; i++)
		top = v[i] > top ? v[i] : top;
	for (int t = 0; t < STEPS && top > SEARCH_MIN_VALUE; t++) {
		float u = top / (most * (1 - 0.35f / STEPS * (float)t)), loss = 0;
		search_round_f16_nonzero(s, &u);
		for (int i = 0; i < count; i += 4) {
			search_v4 of = search_load4(v + i);
			search_v4 e = of - u * search_rint(search_clamp(of / u, 0, most));
			search_v4 cost = search_load4(weight + i) * e * e;
			for (int l = 0; l < 4; l++)
				loss += cost[l];
		}
		if (loss < least) {
			least = loss;
			best = u;
		}
	}
	for (int i = 0; i < count; i++)
		k[i] = best > 0 ? (int)bound(v[i] / best, most) : 0;
	return best;
}

/* Return the sums of the codes of group i with scale a and minimum m. */
static struct affine_sums fit_sums(const struct block *b, int i, float a, float m)
{
	if (a == 0)
		return (struct affine_sums){ 0 };
	return affine_fit_codes(b->x + i * b->n, b->w + i * b->n, b->n, 1.0f / a, m / a, 0, b->top);
}

/* Return the reduction of the error by codes with these sums: sum(w x^2) - sum(w (x - a q +
 * m)^2). */
static float gain(const struct block *b, int i, struct affine_sums s, float a, float m)
{
	return a * (2 * s.xq - a * s.qq + 2 * m * s.q) - m * (2 * b->wx[i] + m * b->line[i].sw);
}

/* Find the best fits of groups i to i + 3. */
static void four_lines(struct block *b, int i)
{
	search_v4 x[32], w[32];
	const struct search_interleaved at = { x, w };

	for (int j = 0; j < 4; j++)
		search_interleave(&at, j, b->x + (i + j) * b->n, b->w + (i + j) * b->n, b->n);
	struct affine4 f = affine_search4(&at, b->n, b->top, b->width);
	for (int j = 0; j < 4; j++)
		b->line[i + j] =
			(struct line){ f.a[j], f.c[j], f.mean[j], f.sw[j], f.q[j], f.curve[j] };
}

/* Find the best fit of each group, then d, dmin and the first integers. */
static void init_groups(const struct search *s, struct block *b)
{
	float v[MOST], weight[MOST];

	for (int i = 0; i < b->count; i += 4)
		four_lines(b, i);
	for (int i = 0; i < b->count; i++) {
		struct line *f = &b->line[i];

		b->wx[i] = f->mean * f->sw;
		if (f->c > 0) { /* positive values: no minimum, so regression through the origin */
			float a = f->mean > 0 ? (f->mean + b->top * f->a) / b->top : 0;
			for (int k = 0; k < 4 && a > 0; k++) {
				struct affine_sums n = fit_sums(b, i, a, 0);
				a = n.qq > 0 ? n.xq / n.qq : 0;
				f->q = n.q / f->sw;
				f->curve = n.qq;
			}
			f->a = a;
			f->c = 0;
		}
		v[i] = f->a;
		weight[i] = f->curve;
	}
	b->d = unit_for(s, v, weight, b->count, b->most, b->sc);
	for (int i = 0; i < b->count; i++) {
		v[i] = b->d * (float)b->sc[i] * b->line[i].q - b->line[i].mean;
		v[i] = v[i] > 0 && b->line[i].c < 0 ? v[i] : 0;
		weight[i] = b->line[i].sw;
	}
	b->dmin = unit_for(s, v, weight, b->count, b->most, b->mn);
}

/* Compute gain() for four scales and minima. */
static search_v4 gain4(const struct block *b, int i, const struct affine_sums4 *s, search_v4 a,
                       search_v4 m)
{
	return a * (2 * s->xq - a * s->qq + 2 * m * s->q) - m * (2 * b->wx[i] + m * b->line[i].sw);
}

/* Return the sums of the codes of group i for the first `tries` of four scales and minima. */
static struct affine_sums4 fit_sums4(const struct block *b, int i, search_v4 a, search_v4 m,
                                     int tries)
{
	search_i4 some = a != 0;
	search_v4 by = (search_v4)((some & (search_i4)a) | (~some & (search_i4)(a * 0 + 1)));
	const struct affine_map at = { 1.0f / by, m / by, { 0 } };
	struct affine_sums4 f;

	affine_fit_codes4(b->x + i * b->n, b->w + i * b->n, b->n, &at, b->top, tries, b->width, &f);
	f.q = (search_v4)(some & (search_i4)f.q);
	f.qq = (search_v4)(some & (search_i4)f.qq);
	f.xq = (search_v4)(some & (search_i4)f.xq);
	return f;
}

/* Try scales from ... from + n - 1, n <= 4, each with minimum `min` and, if `again`, with the best
 * minimum for its codes.  Stores the best in b, *most and *best. */
static void try_integers4(struct block *b, int i, int from, int n, int again, int min, float *most,
                          struct affine_sums *best)
{
	const search_v4 steps = { 0, 1, 2, 3 };
	search_v4 a = b->d * ((float)from + steps), m[2] = { 0 * steps + b->dmin * (float)min },
		  ask = { 0 }, g[2] = { { 0 } };
	struct affine_sums4 s[2];
	int more = 0;

	s[0] = fit_sums4(b, i, a, m[0], n);
	g[0] = gain4(b, i, &s[0], a, m[0]);
	if (again) {
		ask = search_rint(search_clamp((a * s[0].q - b->wx[i]) / b->line[i].sw / b->dmin, 0,
		                               b->most));
		for (int j = 0; j < n; j++)
			more |= ask[j] != (float)min;
	}
	if (more) {
		m[1] = b->dmin * ask;
		s[1] = fit_sums4(b, i, a, m[1], n);
		g[1] = gain4(b, i, &s[1], a, m[1]);
	}
	for (int j = 0; j < n; j++)
		for (int k = 0; k < 1 + (more && ask[j] != (float)min); k++)
			if (g[k][j] > *most) {
				*most = g[k][j];
				*best = (struct affine_sums){ s[k].q[j], s[k].qq[j], s[k].xq[j] };
				b->sc[i] = from + j;
				b->mn[i] = k ? (int)ask[j] : min;
			}
}

/* Choose the best of sc - wide ... sc + wide for group i, with its minimum.  Returns the gain. */
static float best_integers(struct block *b, int i, int wide, struct affine_sums *best)
{
	float most = -HUGE_VALF;
	int from = b->sc[i] - wide, to = b->sc[i] + wide, min = b->mn[i];

	if (!wide) {
		float a = b->d * (float)b->sc[i], m = b->dmin * (float)min;

		*best = fit_sums(b, i, a, m);
		return gain(b, i, *best, a, m);
	}
	from = from < 0 ? 0 : from;
	to = to > (int)b->most ? (int)b->most : to;
	for (; from <= to; from += 4)
		try_integers4(b, i, from, to - from < 4 ? to - from + 1 : 4, b->dmin != 0, min,
		              &most, best);
	return most;
}

/* Set d and dmin to minimise the error of all codes; unchanged without a valid solution. */
static void refit(struct block *b, const struct affine_sums *s)
{
	float aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;

	for (int i = 0; i < b->count; i++) {
		float sc = (float)b->sc[i], mn = (float)b->mn[i];
		aa += sc * sc * s[i].qq;
		ab += sc * mn * s[i].q;
		bb += mn * mn * b->line[i].sw;
		xa += sc * s[i].xq;
		xb += mn * b->wx[i];
	}
	float det = aa * bb - ab * ab, d, dmin;
	if (det > 0x1p-20f * aa * bb) {
		d = (xa * bb - xb * ab) / det;
		dmin = (xa * ab - xb * aa) / det;
	} else if (bb == 0 && aa > 0) {
		d = xa / aa;
		dmin = 0;
	} else {
		return;
	}
	if (d > 0 && dmin >= 0) {
		b->d = d;
		b->dmin = dmin;
	}
}

/* Choose integers without a search: the greatest v gets the greatest integer.  Returns the unit. */
static float plain_unit(const struct search *s, const float *v, const struct block *b, uint16_t *h,
                        uint8_t *k)
{
	float top = 0;

	for (int i = 0; i < b->count; i++)
		top = v[i] > top ? v[i] : top;
	float u = top / b->most;

	*h = search_round_f16_nonzero(s, &u);
	for (int i = 0; i < b->count; i++)
		k[i] = (uint8_t)(u > 0 ? bound(v[i] / u, b->most) : 0);
	return u;
}

/* Encode without a search: a group's codes span its least value, at most 0, to its greatest. */
static void minmax_subscales(const struct search *s, struct block *b, struct search_block *out)
{
	float a[MOST], m[MOST];

	for (int i = 0; i < b->count; i++) {
		float lo, hi;

		affine_range(b->x + i * b->n, b->w + i * b->n, b->n, 1, &lo, &hi);
		m[i] = lo < 0 ? -lo : 0;
		a[i] = (hi > -m[i] ? hi + m[i] : 0) / b->top;
	}
	float d = plain_unit(s, a, b, &out->d, out->sc),
	      dmin = plain_unit(s, m, b, &out->dmin, out->mn);

	for (int i = 0; i < b->count; i++)
		affine_codes(out->q + 4 * i * b->n, b->x + i * b->n, b->n, d * (float)out->sc[i],
		             -dmin * (float)out->mn[i], b->top);
}

static void search_rounds(const struct search *s, struct block *b, struct search_block *out)
{
	float best = -HUGE_VALF, d = 0, dmin = 0;

	init_groups(s, b);
	*out = (struct search_block){ 0 };
	for (int k = 0; k < ROUNDS + 1; k++) {
		struct affine_sums f[MOST] = { { 0 } };
		uint16_t hd = search_round_f16(s, &b->d), hm = search_round_f16(s, &b->dmin);
		float sum = 0;
		for (int i = 0; i < b->count; i++)
			sum += best_integers(b, i, k == ROUNDS ? 0 : b->most > 15 ? 1 : 2, &f[i]);
		if (!(sum > best))
			break;
		best = sum;
		d = b->d;
		dmin = b->dmin;
		out->d = hd;
		out->dmin = hm;
		for (int i = 0; i < b->count; i++) {
			out->sc[i] = (uint8_t)b->sc[i];
			out->mn[i] = (uint8_t)b->mn[i];
		}
		refit(b, f);
	}
	for (int i = 0; i < b->count; i++)
		affine_codes(out->q + 4 * i * b->n, b->x + i * b->n, b->n, d * (float)out->sc[i],
		             -dmin * (float)out->mn[i], b->top);
}

void search_subscales_min(struct search *s, int n, int top, int most, struct search_block *out)
{
	struct block b = { .x = s->x,
		           .w = s->w,
		           .n = n,
		           .count = 64 / n,
		           .top = (float)top,
		           .width = s->width,
		           .most = (float)most };
	int positive = 1;

	if (s->plain) {
		minmax_subscales(s, &b, out);
		return;
	}
	for (int i = 0; i < 64; i++)
		for (int l = 0; l < 4; l++)
			positive &= s->x[i][l] > 0;
	for (int i = 0; positive && i < 64; i++)
		s->x[i] = -s->x[i];
	search_rounds(s, &b, out);
	if (positive) {
		out->d ^= 0x8000;
		out->dmin ^= 0x8000;
	}
}
