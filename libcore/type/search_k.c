/* type/search_k.c - blocks of 256 values in groups whose scales are integers times d.
 *
 * Each group's best scale a is found by itself.  The loss by another scale is close to
 * curve (a - d sc)^2, curve = sum(w q q), so that d and the integers are found from that sum alone.
 * Then each group tries the integers next to its own with codes made for them, and d becomes the
 * best for all codes. */
#include "type/search_four.h"

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

/* What the groups lose by each of four d. */
static search_v4 losses(const struct groups *g, const struct search_levels *l, search_v4 d)
{
	search_v4 loss = { 0 };

	for (int i = 0; i < g->count; i++) {
		search_v4 c = search_rint(search_clamp(g->a[i] / d, (float)l->lo, (float)l->hi));
		search_v4 e = g->a[i] - d * c;

		loss += g->curve[i] * e * e;
	}
	return loss;
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
	for (int from = 0; from < 2 * l->steps; from += 4) {
		search_v4 d;
		for (int j = 0; j < 4; j++) {
			int k = from + j;
			float end = (float)(k & 1 ? l->lo : l->hi), v;
			v = top / (end * (1.0f - 0.25f / (float)l->steps * (float)(k / 2)));
			search_round_up(s, &v);
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

/* The best integers for four groups by their codes, from those within `wide` of sc: returns what the
 * codes take off the error. */
static search_v4 settle(const struct search *s, const struct search_levels *l,
                        const struct search_four *at, float d, int *sc, int wide,
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

		search_each4(at, l->n, 1.0f / search_pick(some, a, lo * 0 + 1), &l->grid, s->width,
		             &f);
		search_v4 gain = a * (2 * f.xq - a * f.qq);
		some &= gain > best;
		best = search_pick(some, gain, best);
		found = search_pick(some, c, found);
		fit->xq = search_pick(some, f.xq, fit->xq);
		fit->qq = search_pick(some, f.qq, fit->qq);
	}
	for (int i = 0; i < 4; i++)
		sc[i] = (int)found[i];
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

/* The groups' own scales. */
static void start(const struct search *s, const struct search_levels *l,
                  const struct search_four *at, struct groups *g)
{
	for (int i = 0; i < g->count; i += 4, at++) {
		struct search_fit4 f;
		search_v4 top;

		for (int j = 0; j < 4; j++) {
			const search_v4 *x = s->x + (i + j) * l->n, *w = s->w + (i + j) * l->n;

			top[j] = search_farthest(x, w, l->n);
			search_side_by_side(at, j, x, w, l->n);
		}
		search_group4(at, l->n, top, &l->grid, s->width, &f);
		for (int j = 0; j < 4; j++) {
			g->a[i + j] = f.qq[j] > 0 ? f.xq[j] / f.qq[j] : 0;
			g->curve[i + j] = f.qq[j];
		}
	}
}

/* A round: returns what all codes take off the error, and the best d for them. */
static float settle_all(const struct search *s, const struct search_levels *l,
                        const struct search_four *at, struct groups *g, float *d, int wide)
{
	float sum = 0, xq = 0, qq = 0;

	for (int i = 0; i < g->count; i += 4, at++) {
		struct search_fit4 f;
		search_v4 gain = settle(s, l, at, *d, g->sc + i, wide, &f);

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

uint16_t search_levels(const struct search *s, const struct search_levels *l, int8_t *sc, int8_t *q)
{
	if (s->plain)
		return plain_levels(s, l, sc, q);
	struct groups g = { .count = 64 / l->n };
	search_v4 x[64], w[64];
	struct search_four at[MOST / 4];
	float best = -1, used = 0;
	uint16_t h = 0;
	int keep[MOST] = { 0 };

	for (int i = 0; i < g.count / 4; i++)
		at[i] = (struct search_four){ x + 4 * l->n * i, w + 4 * l->n * i };
	start(s, l, at, &g);
	float d = first_d(s, &g, l);
	for (int k = 0; k < l->rounds + 1; k++) {
		uint16_t hd = search_round(s, &d);
		float here = d;
		if (d == 0)
			break;
		float sum = settle_all(s, l, at, &g, &d, k < l->rounds ? l->wide : 0);
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
