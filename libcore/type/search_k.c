/* type/search_k.c - blocks of 256 values in groups whose scales are integers times d.
 *
 * Each group's best scale a is found by itself.  The loss by another scale is close to
 * curve (a - d sc)^2, curve = sum(w q q), so that d and the integers are found from that sum alone.
 * Then each group tries the integers next to its own with codes made for them, and d becomes the
 * best for all codes. */
#include "type/search.h"

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

/* The d of the least loss, of those that give the largest scale a code at either end of its range;
 * sets the groups' integers. */
static float first_d(const struct search *s, struct groups *g, const struct search_levels *l)
{
	float top = 0, best = 0, least = HUGE_VALF;

	for (int i = 0; i < g->count; i++)
		top = fabsf(g->a[i]) > fabsf(top) ? g->a[i] : top;
	if (fabsf(top) < SEARCH_LEAST / 256)
		return 0;
	for (int k = 0; k < 2 * l->steps; k++) {
		float end = (float)(k & 1 ? l->lo : l->hi);
		float d = top / (end * (1.0f - 0.25f / (float)l->steps * (float)(k / 2))), loss = 0;
		search_round_up(s, &d);
		for (int i = 0; i < g->count; i += 4) {
			search_v4 a = search_get(g->a + i);
			search_v4 c = search_rint(search_clamp(a / d, (float)l->lo, (float)l->hi));
			search_v4 e = a - d * c, cost = search_get(g->curve + i) * e * e;
			for (int j = 0; j < 4; j++)
				loss += cost[j];
		}
		if (loss < least) {
			least = loss;
			best = d;
		}
	}
	for (int i = 0; i < g->count; i++)
		g->sc[i] = nearest(g->a[i] / best, l->lo, l->hi);
	return best;
}

/* Up to four integers from `from` on for group i, as settle says. */
static void settle4(const struct search *s, const struct search_levels *l, float d, int i, int from,
                    int n, int *sc, float *best, struct search_fit *fit)
{
	const search_v4 steps = { 0, 1, 2, 3 };
	search_v4 c = steps + (float)from, a = d * c;
	search_i4 some = c != 0;
	search_v4 by = (search_v4)((some & (search_i4)a) | (~some & (search_i4)(steps * 0 + 1)));
	struct search_fit4 f;

	search_try4(s->x + i * l->n, s->w + i * l->n, l->n, 1.0f / by, &l->grid, n, s->width, &f);
	search_v4 gain = a * (2 * f.xq - a * f.qq);

	for (int k = 0; k < n; k++)
		if (from + k != 0 && gain[k] > *best) {
			*best = gain[k];
			*sc = from + k;
			*fit = (struct search_fit){ f.xq[k], f.qq[k] };
		}
}

/* The best integer for group i by its codes, from those within `wide` of it: what the codes take
 * off the error. */
static float settle(const struct search *s, const struct search_levels *l, float d, int i, int *sc,
                    int wide, struct search_fit *fit)
{
	float best = 0;
	int from = *sc - wide < l->lo ? l->lo : *sc - wide,
	    to = *sc + wide > l->hi ? l->hi : *sc + wide, at = 0;

	*fit = (struct search_fit){ 0 };
	if (!wide && *sc) {
		float a = d * (float)*sc;
		struct search_fit f =
			search_try(s->x + i * l->n, s->w + i * l->n, l->n, 1.0f / a, &l->grid);

		best = a * (2 * f.xq - a * f.qq);
		if (best > 0) {
			*fit = f;
			return best;
		}
		*sc = 0;
		return 0;
	}
	for (; wide && from <= to; from += 4)
		settle4(s, l, d, i, from, to - from < 4 ? to - from + 1 : 4, &at, &best, fit);
	*sc = at;
	return best;
}

/* The group of the largest scale gets the integer of the largest magnitude. */
static uint16_t plain_levels(const struct search *s, const struct search_levels *l, int8_t *sc,
                             int8_t *q)
{
	int count = 64 / l->n;
	float a[MOST], top = 0;

	for (int i = 0; i < count; i++) {
		a[i] = search_plain(s->x + i * l->n, s->w + i * l->n, l->n, &l->grid);
		top = fabsf(a[i]) > fabsf(top) ? a[i] : top;
	}
	float d = top / (float)l->lo;
	uint16_t h = search_round_up(s, &d);

	for (int i = 0; i < count; i++) {
		sc[i] = (int8_t)(d != 0 ? nearest(a[i] / d, l->lo, l->hi) : 0);
		search_codes(q + 4 * i * l->n, s->x + i * l->n, l->n, d * (float)sc[i], &l->grid);
	}
	return h;
}

uint16_t search_levels(const struct search *s, const struct search_levels *l, int8_t *sc, int8_t *q)
{
	if (s->plain)
		return plain_levels(s, l, sc, q);
	struct groups g = { .count = 64 / l->n };
	float best = -1, at = 0;
	uint16_t h = 0;
	int keep[MOST] = { 0 };

	for (int i = 0; i < g.count; i++) {
		struct search_fit f =
			search_group(s->x + i * l->n, s->w + i * l->n, l->n, &l->grid);
		g.a[i] = f.qq > 0 ? f.xq / f.qq : 0;
		g.curve[i] = f.qq;
	}
	float d = first_d(s, &g, l);
	for (int k = 0; k < l->rounds + 1; k++) {
		uint16_t hd = search_round(s, &d);
		float sum = 0, xq = 0, qq = 0;
		if (d == 0)
			break;
		for (int i = 0; i < g.count; i++) {
			struct search_fit f;
			sum += settle(s, l, d, i, &g.sc[i], k < l->rounds ? l->wide : 0, &f);
			xq += (float)g.sc[i] * f.xq;
			qq += (float)(g.sc[i] * g.sc[i]) * f.qq;
		}
		if (!(sum > best))
			break;
		best = sum;
		h = hd;
		at = d;
		memcpy(keep, g.sc, sizeof keep);
		d = qq > 0 ? xq / qq : 0;
	}
	for (int i = 0; i < g.count; i++) {
		sc[i] = (int8_t)keep[i];
		search_codes(q + 4 * i * l->n, s->x + i * l->n, l->n, at * (float)keep[i],
		             &l->grid);
	}
	return h;
}
