/* type/search_codebook.c - blocks of 256 values in groups whose scales are odd integers times d;
 * the values are points of a codebook with signs or shifts.
 *
 * For a given scale, each value has a cost for each possible coordinate.  A table contains the
 * summed costs of all low halves of a point.  A high half is skipped, with all its points, if its
 * cost plus the least of the table is not below the cost of a point already found.
 *
 * A group's scale is first found as if every vector were in the codebook, then fitted to the
 * nearest points.  d is the best for these scales; sc is the better of the two nearest integers.
 * Then d is fitted to the points once more, and the points to that d.
 *
 * With the d of least error, an encoded block has a smaller norm than its values.  With less than
 * two bits a value, the products of a whole model become a tenth too small, which costs more than
 * the error. So a type with `keep_norm` restores most of the norm by a larger d, and keeps its
 * points. */
#include "type/search_codebook.h"

#include <math.h>

enum { GROUPS = 16, STEPS = 16, TRIES = 10, COLD = 0xffff };

/* Costs of the parts of a point, relative to a point of zeros. */
struct costs {
	search_v4 low[27];     /* cost of the low half, indexed by lo */
	float mid[9], high[9]; /* mid: by hi % 16; high: by hi / 16 */
	float low_min, mid_min, high_min;
	int k; /* number of entries of mid and of high */
};

/* Work space of the search for a point.  One per block: compilers that clear all variables of a
 * function would spend a sixth of the time on it. */
struct scratch {
	struct costs t;
	float cost; /* cost of the last point or points found */
	search_v4 e[8][2];
	float least[8], c[81];
	uint8_t h[9], m[9], both[81];
};

/* The points chosen for a group with a given scale. */
struct choice {
	struct search_fit fit;
	uint16_t q[8];
	uint8_t signs[4];
};

struct groups {
	int count, sc[GROUPS];
	float a[GROUPS], curve[GROUPS];
	struct choice c[GROUPS];
};

/* Return ternary coordinates as codes of two bits. */
static int ternary_code(const int8_t *point)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t c = ((num_u64(point) & 3 * ones) + ones) & 3 * ones; /* each byte: 0, 1, 2 */

	c = (c | c >> 6) & 0x000f000f000f000f;
	c = (c | c >> 12) & 0x000000ff000000ff;
	return (int)((c | c >> 24) & 0xffff);
}

void search_codebook_init(struct search_codebook *p, const uint16_t *codes, int count)
{
	int h = 0;

	p->count = count;
	for (int i = 0; i < count; i++) {
		int c = codes ? codes[i] : ternary_code(p->grid + 8 * i);
		int hi = (c >> 8 & 7) | (c >> 11 & 7) << 4;
		if (p->dims == 8) {
			hi = ((c >> 8 & 3) + 3 * (c >> 10 & 3)) | ((c >> 12 & 3) + 3 * (c >> 14))
			                                                  << 4;
			c = (c & 15) + 12 * ((c >> 4 & 3) + 3 * (c >> 6 & 3));
		}
		p->lo[i] = (uint8_t)(p->dims == 8 ? c : c & 63);
		p->hi[i] = (uint8_t)hi;
		while (h <= hi)
			p->first[h++] = (uint16_t)i;
	}
	while (h < 145)
		p->first[h++] = (uint16_t)count;
}

static float cost_of(const struct search_codebook *p, const struct costs *t, int i)
{
	return t->low[p->lo[i] / 4][p->lo[i] % 4] +
	       (t->mid[p->hi[i] & 15] + t->high[p->hi[i] >> 4]);
}

/* Return the best of point `at`, cost *best, and the points of high half h, cost c. */
static int visit_half(const struct search_codebook *p, const struct costs *t, int h, float c,
                      int at, float *best)
{
	const float *low = (const float *)t->low;

	for (int i = p->first[h]; i < p->first[h + 1]; i++) {
		float v = low[p->lo[i]] + c;
		at = v < *best ? i : at;
		*best = v < *best ? v : *best;
	}
	return at;
}

/* Return a point that is probably near the best one, to start the search. */
static int first_point(const struct search_codebook *p, const struct costs *t, float *best)
{
	int h = 0, m = 0;

	for (int i = 1; i < t->k; i++) {
		h = t->high[i] < t->high[h] ? i : h;
		m = t->mid[i] < t->mid[m] ? i : m;
	}
	int at = p->first[h << 4 | m];
	at = at < p->count ? at : p->count - 1;
	*best = cost_of(p, t, at);
	return visit_half(p, t, h << 4 | m, t->mid[m] + t->high[h], at, best);
}

/* Return the point of least cost.  at: the best point for another scale, to start from, or COLD. */
static uint16_t nearest_point(const struct search_codebook *p, struct scratch *b, int at)
{
	const struct costs *t = &b->t;
	int nh = 0, nm = 0, n = 0;
	float best;

	if (at == COLD)
		at = first_point(p, t, &best);
	else
		best = cost_of(p, t, at);
	for (int i = 0; i < t->k; i++) {
		b->h[nh] = (uint8_t)i;
		nh += t->high[i] + (t->mid_min + t->low_min) < best;
	}
	for (int i = 0; i < t->k && nh; i++) {
		b->m[nm] = (uint8_t)i;
		nm += t->mid[i] + (t->high_min + t->low_min) < best;
	}
	for (int i = 0; i < nh; i++)
		for (int k = 0; k < nm; k++) {
			b->both[n] = (uint8_t)(b->h[i] << 4 | b->m[k]);
			b->c[n] = t->mid[b->m[k]] + t->high[b->h[i]];
			n += b->c[n] + t->low_min < best;
		}
	for (int i = 0; i < n; i++)
		if (b->c[i] + t->low_min < best)
			at = visit_half(p, t, b->both[i], b->c[i], at, &best);
	b->cost += best;
	return (uint16_t)at;
}

/* Sum the costs of halves.  e: costs of the values of 8 coordinates; least: minimum of each. */
static void costs8(struct costs *t, search_v4 (*e)[2], const float *least)
{
	search_v4 pair[4][3];

	for (int i = 0; i < 4; i++)
		for (int l = 0; l < 3; l++)
			pair[i][l] = e[2 * i][0] + e[2 * i + 1][0][l];
	for (int i = 0; i < 9; i++)
		for (int l = 0; l < 3; l++)
			t->low[3 * i + l] = pair[0][l] + pair[1][i / 3][i % 3];
	for (int i = 0; i < 9; i++) {
		t->mid[i] = pair[2][i / 3][i % 3];
		t->high[i] = pair[3][i / 3][i % 3];
	}
	t->low_min = (least[0] + least[1]) + (least[2] + least[3]);
	t->mid_min = least[4] + least[5];
	t->high_min = least[6] + least[7];
	t->k = 9;
}

static void costs4(struct costs *t, search_v4 (*e)[2], const float *least)
{
	for (int i = 0; i < 8; i++)
		for (int l = 0; l < 2; l++)
			t->low[2 * i + l] = e[0][l] + e[1][i / 4][i % 4];
	memcpy(t->mid, e[2], 8 * sizeof(float));
	memcpy(t->high, e[3], 8 * sizeof(float));
	t->low_min = least[0] + least[1];
	t->mid_min = least[2];
	t->high_min = least[3];
	t->k = 8;
}

static float least_of(const search_v4 *e, int dims)
{
	search_v4 m = e[0];

	if (dims == 8)
		m[3] = m[0];
	else {
		search_i4 less = e[1] < m;
		m = (search_v4)((less & (search_i4)e[1]) | (~less & (search_i4)m));
	}
	float a = m[0] < m[2] ? m[0] : m[2], b = m[1] < m[3] ? m[1] : m[3];
	return a < b ? a : b;
}

/* Return the coordinate whose change of sign costs least; it then gets the lowest value. */
static int flip_at(const struct scratch *b, float lowest, const search_v4 *x, const search_v4 *w)
{
	float loss = HUGE_VALF;
	int at = 0;

	for (int j = 0; j < 8; j++) {
		float wj = w[j / 4][j % 4], xj = x[j / 4][j % 4];
		float l = lowest * (lowest * wj + 2 * wj * xj) - b->least[j];
		if (l < loss) {
			loss = l;
			at = j;
		}
	}
	return at;
}

/* Find the points for 8 values (x >= 0 if there are signs).  v, vv: scaled values of a coordinate,
 * and their squares.  Returns the mask of the sign to change so that the number of minus signs is
 * even, or 0. */
static int nearest_points8(const struct search_codebook *p, const search_v4 *v, const search_v4 *vv,
                           const search_v4 *x, const search_v4 *w, int odd, uint16_t *q,
                           struct scratch *b)
{
	int kinds = p->dims == 8 ? 1 : 2, at = -1;

	b->cost = 0;
	for (int j = 0; j < 8; j++) {
		float wj = w[j / 4][j % 4], wx = 2 * wj * x[j / 4][j % 4];
		for (int l = 0; l < kinds; l++)
			b->e[j][l] = vv[l] * wj - v[l] * wx;
		b->least[j] = least_of(b->e[j], p->dims);
	}
	if (odd) {
		at = flip_at(b, v[0][0], x, w);
		float wj = w[at / 4][at % 4], wx = 2 * wj * x[at / 4][at % 4];
		for (int l = 0; l < kinds; l++)
			b->e[at][l] = vv[l] * wj + v[l] * wx;
		b->least[at] = b->e[at][0][0];
	}
	for (int k = 0; k < kinds; k++) {
		if (kinds == 1)
			costs8(&b->t, b->e, b->least);
		else
			costs4(&b->t, b->e + 4 * k, b->least + 4 * k);
		q[k] = nearest_point(p, b, q[k]);
	}
	return at < 0 ? 0 : 1 << at;
}

/* Return coordinates 4 i ... 4 i + 3 of the 8 coordinates of point(s) q. */
static search_v4 coordinates(const struct search_codebook *p, const uint16_t *q, int i)
{
	typedef int8_t four __attribute__((vector_size(4)));
	four c;

	memcpy(&c, p->grid + (p->dims == 8 ? 8 * q[0] + 4 * i : 4 * q[i]), 4);
	return __builtin_convertvector(c, search_v4);
}

/* Find the points of a group for both shifts, and keep the better shift for each p->shift
 * points. */
static void choose_shifted(const struct search_codebook *p, const search_v4 *x, const search_v4 *w,
                           const search_v4 *v, const search_v4 *vv, struct choice *c,
                           struct scratch *b)
{
	for (int u = 0; u < p->n / 2; u += p->shift) {
		uint16_t q[2][4];
		float cost[2] = { 0 };
		for (int k = 0; k < p->shift; k++)
			for (int down = 0; down < 2; down++) {
				int i = 2 * (u + k);
				q[down][k] = c->q[u + k];
				nearest_points8(p, v + down, vv + down, x + i, w + i, 0,
				                &q[down][k], b);
				cost[down] += b->cost;
			}
		int down = cost[1] < cost[0];
		for (int k = 0; k < p->shift; k++) {
			c->q[u + k] = q[down][k];
			c->signs[u + k] = (uint8_t)down;
		}
	}
}

/* Find the points of a group with scale a.  c: in: points to start the search from, or COLD. */
static void choose(const struct search_codebook *p, const search_v4 *x, const search_v4 *w,
                   const uint8_t *signs, float a, struct choice *c, struct scratch *b)
{
	search_v4 v[2] = { p->v[0] * a, p->v[1] * a }, vv[2] = { v[0] * v[0], v[1] * v[1] };
	search_v4 xq = { 0 }, qq = { 0 };

	if (p->shift)
		choose_shifted(p, x, w, v, vv, c, b);
	for (int u = 0; u < p->n / 2; u++, x += 2, w += 2) {
		uint16_t *q = c->q + u * 8 / p->dims;
		int odd = p->even && __builtin_parity(signs[u]), flip = 0;
		if (!p->shift) {
			flip = nearest_points8(p, v, vv, x, w, odd, q, b);
			c->signs[u] = (uint8_t)(signs[u] ^ flip);
		}
		for (int i = 0; i < 2; i++) {
			search_v4 k = coordinates(p, q, i), xi = x[i];
			if (p->shift)
				k = k * 8.0f + (c->signs[u] ? -1.0f : 1.0f);
			search_v4 wk = w[i] * k;
			if (flip >> 4 * i & 15)
				xi[__builtin_ctz((unsigned)flip) % 4] *= -1;
			xq += wk * xi;
			qq += wk * k;
		}
	}
	c->fit = (struct search_fit){ search_sum(xq), search_sum(qq) };
}

/* Return the sums of the codes with scale 1 / inv as if every vector were in the codebook:
 * coordinates are low + step k, k = 0 ... top. */
static struct search_fit try_any(const search_v4 *x, const search_v4 *w, int n, float inv,
                                 float low, float step, float top)
{
	search_v4 xq = { 0 }, qq = { 0 };
	float per = 1 / step;

	for (int i = 0; i < n; i++) {
		search_v4 k = search_rint(search_clamp((x[i] * inv - low) * per, 0, top));
		search_v4 q = k * step + low, wq = w[i] * q;
		xq += wq * x[i];
		qq += wq * q;
	}
	return (struct search_fit){ search_sum(xq), search_sum(qq) };
}

/* Return the best scale of a group, 0 if it is all zeros. */
static float fit_group(const struct search_codebook *p, const search_v4 *x, const search_v4 *w,
                       const uint8_t *signs, struct choice *c, struct scratch *b)
{
	float top = fabsf(search_farthest(x, w, p->n)), score = 0, a = 0;
	float end = p->dims == 8 ? p->v[0][2] : p->v[1][3];
	float step = p->dims == 8 ? (end - p->v[0][0]) * 0.5f : p->v[0][1] - p->v[0][0];
	/* ternary: scales that clip more values are better */
	float first = p->shift ? 0.9f : 0.8f, next = p->shift ? 0.2f : 0.1f;

	memset(c->q, 0xff, sizeof c->q); /* all COLD */
	if (top < SEARCH_MIN_VALUE)
		return 0;
	for (int k = 0; k < (p->shift ? 2 : 1) * TRIES; k++) {
		float t = end * (first + next * (float)(k % TRIES));
		struct search_fit f = try_any(x, w, p->n, t / top, p->v[k / TRIES][0], step,
		                              p->dims == 8 ? 2 : 7);
		if (f.xq > 0 && f.xq * f.xq > score * f.qq) {
			a = f.xq / f.qq;
			score = a * f.xq;
		}
	}
	for (int k = 0; k <= p->refits && a > 0; k++) {
		choose(p, x, w, signs, a, c, b);
		if (!(c->fit.xq > 0))
			break;
		a = c->fit.xq / c->fit.qq;
	}
	return a;
}

/* Return the integer sc nearest to scale t = 2 sc + 1. */
static int nearest(float t, int most)
{
	return t <= 1 ? 0 : t >= (float)(2 * most + 1) ? most : (int)lrintf((t - 1) * 0.5f);
}

/* Return d = *u / p->unit rounded to F16, and set *u to the rounded d times p->unit. */
static uint16_t round_unit(const struct search *s, const struct search_codebook *p, float *u)
{
	float d = *u / p->unit;
	uint16_t h = search_round_f16_nonzero(s, &d);

	*u = d * p->unit;
	return h;
}

/* Return the unit u of least loss among those that map the largest scale near the greatest integer.
 * Sets the groups' integers sc. */
static float first_unit(const struct search *s, const struct search_codebook *p, struct groups *g)
{
	float top = 0, best = 0, least = HUGE_VALF;

	for (int i = 0; i < g->count; i++)
		top = g->a[i] > top ? g->a[i] : top;
	if (top < SEARCH_MIN_VALUE / 256)
		return 0;
	for (int k = 0; k < STEPS; k++) {
		float u = top / ((float)(2 * p->most + 1) * (1.05f - 0.4f / STEPS * (float)k)),
		      loss = 0;
		round_unit(s, p, &u);
		for (int i = 0; i < g->count; i++) {
			float e = g->a[i] - u * (float)(2 * nearest(g->a[i] / u, p->most) + 1);
			loss += g->curve[i] * e * e;
		}
		if (loss < least) {
			least = loss;
			best = u;
		}
	}
	for (int i = 0; i < g->count; i++)
		g->sc[i] = nearest(g->a[i] / best, p->most);
	return best;
}

/* Choose sc, from `from` to `to`, and the points of group i.  Returns the reduction of the
 * error. */
static float best_integer(struct groups *g, const struct search *s, const struct search_codebook *p,
                          const uint8_t *signs, float u, int i, int from, int to, struct scratch *b)
{
	struct choice c = g->c[i];
	float most = -HUGE_VALF;

	for (int sc = from < 0 ? 0 : from; sc <= to && sc <= p->most; sc++) {
		float a = u * (float)(2 * sc + 1);
		choose(p, s->x + i * p->n, s->w + i * p->n, signs + i * p->n / 2, a, &c, b);
		float gain = a * (2 * c.fit.xq - a * c.fit.qq);
		if (gain > most) {
			most = gain;
			g->sc[i] = sc;
			g->c[i] = c;
		}
	}
	return most;
}

/* Replace values by their magnitudes and set the masks of signs, unless the type has shifts. */
static void split_signs(struct search *s, const struct search_codebook *p, uint8_t signs[32])
{
	memset(signs, 0, 32);
	for (int k = 0; k < 32 && !p->shift; k++) {
		uint32_t m = 0;
		for (int j = 0; j < 8; j++)
			m |= (num_bits(s->x[2 * k + j / 4][j % 4]) >> 31) << j;
		signs[k] = (uint8_t)m;
		for (int j = 0; j < 2; j++)
			s->x[2 * k + j] = search_abs(s->x[2 * k + j]);
	}
}

static void store_block(struct search_codebook_block *b, const struct search_codebook *p,
                        const struct groups *g)
{
	size_t units = (size_t)p->n / 2, points = units * 8 / (size_t)p->dims;

	for (int i = 0; i < g->count; i++) {
		b->sc[i] = (uint8_t)g->sc[i];
		memcpy(b->signs + (size_t)i * units, g->c[i].signs, units);
		memcpy(b->q + (size_t)i * points, g->c[i].q, points * sizeof *b->q);
	}
}

/* Encode without a search: the largest value of a group becomes the largest coordinate. */
static void encode_absmax(const struct search *s, const struct search_codebook *p,
                          const uint8_t *signs, struct groups *g, struct search_codebook_block *b,
                          struct scratch *t)
{
	float end = p->dims == 8 ? p->v[0][2] : p->v[1][3], top = 0;

	for (int i = 0; i < g->count; i++) {
		g->a[i] = fabsf(search_farthest(s->x + i * p->n, s->w + i * p->n, p->n)) / end;
		top = g->a[i] > top ? g->a[i] : top;
	}
	float u = top / (float)(2 * p->most + 1);

	b->d = round_unit(s, p, &u);
	for (int i = 0; i < g->count; i++) {
		memset(g->c[i].q, 0xff, sizeof g->c[i].q); /* all COLD */
		int sc = u > 0 ? nearest(g->a[i] / u, p->most) : 0;
		best_integer(g, s, p, signs, u, i, sc, sc, t);
	}
	store_block(b, p, g);
}

/* Return h times at most 1.1 to restore the norm of the block.  gain: reduction of the error. */
static uint16_t raise_norm(const struct search *s, uint16_t h, float gain)
{
	const float most = 1.1f;
	search_v4 square = { 0 };

	for (int i = 0; i < 64; i++)
		square += s->w[i] * s->x[i] * s->x[i];
	float by = sqrtf(search_sum(square) / gain);

	return search_nearest_f16(num_f16(h) * (by > most ? most : by));
}

void search_codebook(struct search *s, const struct search_codebook *p,
                     struct search_codebook_block *b)
{
	struct groups g = { .count = 64 / p->n };
	struct scratch t;
	uint8_t signs[32];
	float best = 0; /* reduction of the error so far; zeros: 0 */

	memset(b, 0, sizeof *b);
	split_signs(s, p, signs);
	if (s->plain) {
		encode_absmax(s, p, signs, &g, b, &t);
		return;
	}
	for (int i = 0; i < g.count; i++) {
		g.a[i] = fit_group(p, s->x + i * p->n, s->w + i * p->n, signs + i * p->n / 2,
		                   &g.c[i], &t);
		g.curve[i] = g.c[i].fit.qq;
	}
	float u = first_unit(s, p, &g);
	for (int k = 0; k < 2 && u > 0; k++) {
		uint16_t h = round_unit(s, p, &u);
		float sum = 0, xq = 0, qq = 0;
		for (int i = 0; i < g.count; i++) {
			int from = g.sc[i], to = from; /* k 0: next to a / u; k 1: only sc */
			if (k == 0) {
				from -= g.a[i] < u * (float)(2 * from + 1);
				to = from + 1;
			}
			sum += best_integer(&g, s, p, signs, u, i, from, to, &t);
			float sc = (float)(2 * g.sc[i] + 1);
			xq += sc * g.c[i].fit.xq;
			qq += sc * sc * g.c[i].fit.qq;
		}
		if (!(sum > best))
			break;
		best = sum;
		b->d = h;
		store_block(b, p, &g);
		u = qq > 0 ? xq / qq : 0;
	}
	if (p->keep_norm && best > 0)
		b->d = raise_norm(s, b->d, best);
}
