/* type/search_subscales.c - blocks of 256 values in groups whose scales are integers times d.
 *
 * First the best scale a of each group is found.  A scale d sc instead of a adds the error curve (a
 * - d sc)^2, curve = sum(w q q).  d and the integers sc minimise the sum of these errors.  Then
 * each group tries neighbouring integers with the codes for them, and d is refitted to all
 * codes. */
#include "type/search_scale.h"

#include <math.h>

enum { MOST = 16 };

struct groups {
	int count;
	float a[MOST], curve[MOST];
	int sc[MOST];
};

static int nearest(float t, int lo, int hi)
{
	return t <= (float)lo ? lo : t >= (float)hi ? hi : (int)lrintf(t);
}

/* Return the summed loss of all groups for each of four values of d. */
static search_v4 losses(const struct groups *g, const struct search_subscales *l, search_v4 d)
{
	search_v4 loss = { 0 };

	for (int i = 0; i < g->count; i++) {
		search_v4 c = search_rint(search_clamp(g->a[i] / d, (float)l->lo, (float)l->hi));
		search_v4 e = g->a[i] - d * c;

		loss += g->curve[i] * e * e;
	}
	return loss;
}

/* Return the d of least loss among those that map the largest scale near either end of the range of
 * sc.  Sets the groups' integers sc. */
static float first_d(const struct search *s, struct groups *g, const struct search_subscales *l)
{
	float top = 0, best = 0, least = HUGE_VALF;

	for (int i = 0; i < g->count; i++)
		top = fabsf(g->a[i]) > fabsf(top) ? g->a[i] : top;
	if (fabsf(top) < SEARCH_MIN_VALUE / 256)
		return 0;
	for (int from = 0; from < 2 * l->steps; from += 4) {
		search_v4 d;
		for (int j = 0; j < 4; j++) {
			int k = from + j;
			float end = (float)(k & 1 ? l->lo : l->hi), v;
			v = top / (end * (1.0f - 0.25f / (float)l->steps * (float)(k / 2)));
			search_round_f16_nonzero(s, &v);
			d[j] = v;
		}
		search_v4 loss = losses(g, l, d);
		for (int j = 0; j < 4 && from + j < 2 * l->steps; j++)
			if (loss[j] < least) {
				least = loss[j];
				best = d[j];
			}
	}
	for (int i = 0; i < g->count; i++)
		g->sc[i] = nearest(g->a[i] / best, l->lo, l->hi);
	return best;
}

/* Choose the best of sc - wide ... sc + wide for each of four groups, by their codes.  Returns the
 * reduction of the error by the codes. */
static search_v4 best_integers4(const struct search *s, const struct search_subscales *l,
                                const struct search_interleaved *at, float d, int *sc, int wide,
                                struct search_fit4 *fit)
{
	const search_v4 lo = (search_v4){ 0 } + (float)l->lo, hi = (search_v4){ 0 } + (float)l->hi;
	search_v4 was = { (float)sc[0], (float)sc[1], (float)sc[2], (float)sc[3] };
	search_v4 best = { 0 }, found = { 0 };
	struct search_fit4 f;

	*fit = (struct search_fit4){ { 0 }, { 0 } };
	for (int k = -wide; k <= wide; k++) {
		search_v4 c = was + (float)k, a = d * c;
		search_i4 some = (c != 0) & (c >= lo) & (c <= hi);

		search_fit_codes4(at, l->n, 1.0f / search_select(some, a, lo * 0 + 1), &l->grid,
		                  s->width, &f);
		search_v4 gain = a * (2 * f.xq - a * f.qq);
		some &= gain > best;
		best = search_select(some, gain, best);
		found = search_select(some, c, found);
		fit->xq = search_select(some, f.xq, fit->xq);
		fit->qq = search_select(some, f.qq, fit->qq);
	}
	for (int i = 0; i < 4; i++)
		sc[i] = (int)found[i];
	return best;
}

/* Choose scales without a search: the group with the largest scale gets the integer of largest
 * magnitude. */
static uint16_t absmax_subscales(const struct search *s, const struct search_subscales *l,
                                 int8_t *sc, int8_t *q)
{
	int count = 64 / l->n;
	float a[MOST], top = 0;

	for (int i = 0; i < count; i++) {
		a[i] = search_absmax_scale(s->x + i * l->n, s->w + i * l->n, l->n, &l->grid);
		top = fabsf(a[i]) > fabsf(top) ? a[i] : top;
	}
	float d = top / (float)l->lo;
	uint16_t h = search_round_f16_nonzero(s, &d);

	for (int i = 0; i < count; i++) {
		sc[i] = (int8_t)(d != 0 ? nearest(a[i] / d, l->lo, l->hi) : 0);
		search_codes(q + 4 * i * l->n, s->x + i * l->n, l->n, d * (float)sc[i], &l->grid);
	}
	return h;
}

/* Find the best scale of each group, without regard to d. */
static void find_group_scales(const struct search *s, const struct search_subscales *l,
                              const struct search_interleaved *at, struct groups *g)
{
	for (int i = 0; i < g->count; i += 4, at++) {
		struct search_fit4 f;
		search_v4 top;

		for (int j = 0; j < 4; j++) {
			const search_v4 *x = s->x + (i + j) * l->n, *w = s->w + (i + j) * l->n;

			top[j] = search_farthest(x, w, l->n);
			search_interleave(at, j, x, w, l->n);
		}
		search_best_fit4(at, l->n, top, &l->grid, s->width, &f);
		for (int j = 0; j < 4; j++) {
			g->a[i + j] = f.qq[j] > 0 ? f.xq[j] / f.qq[j] : 0;
			g->curve[i + j] = f.qq[j];
		}
	}
}

/* Refine the integers of all groups.  Returns the reduction of the error by all codes; *d: the best
 * d for them. */
static float refine_groups(const struct search *s, const struct search_subscales *l,
                           const struct search_interleaved *at, struct groups *g, float *d,
                           int wide)
{
	float sum = 0, xq = 0, qq = 0;

	for (int i = 0; i < g->count; i += 4, at++) {
		struct search_fit4 f;
		search_v4 gain = best_integers4(s, l, at, *d, g->sc + i, wide, &f);

		for (int j = 0; j < 4; j++) {
			int c = g->sc[i + j];
			sum += gain[j];
			xq += (float)c * f.xq[j];
			qq += (float)(c * c) * f.qq[j];
		}
	}
	*d = qq > 0 ? xq / qq : 0;
	return sum;
}

uint16_t search_subscales(const struct search *s, const struct search_subscales *l, int8_t *sc,
                          int8_t *q)
{
	if (s->plain)
		return absmax_subscales(s, l, sc, q);
	struct groups g = { .count = 64 / l->n };
	search_v4 x[64], w[64];
	struct search_interleaved at[MOST / 4];
	float best = -1, used = 0;
	uint16_t h = 0;
	int keep[MOST] = { 0 };

	for (int i = 0; i < g.count / 4; i++)
		at[i] = (struct search_interleaved){ x + 4 * l->n * i, w + 4 * l->n * i };
	find_group_scales(s, l, at, &g);
	float d = first_d(s, &g, l);
	for (int k = 0; k < l->rounds + 1; k++) {
		uint16_t hd = search_round_f16(s, &d);
		float here = d;
		if (d == 0)
			break;
		float sum = refine_groups(s, l, at, &g, &d, k < l->rounds ? l->wide : 0);
		if (!(sum > best))
			break;
		best = sum;
		h = hd;
		used = here;
		memcpy(keep, g.sc, sizeof keep);
	}
	for (int i = 0; i < g.count; i++) {
		sc[i] = (int8_t)keep[i];
		search_codes(q + 4 * i * l->n, s->x + i * l->n, l->n, used * (float)keep[i],
		             &l->grid);
	}
	return h;
}
