/* type/search.c - functions that all searches share.
 *
 * For given codes q the best scale is a regression through the origin, d = sum(w x q) / sum(w q q);
 * it reduces the weighted error by the score sum(w x q)^2 / sum(w q q).  For a given scale the best
 * codes are the nearest.  A search tries scales that map the largest value to different codes,
 * picks the scale with the best score, and alternates between the two steps until the score no
 * longer improves. */
#include "type/search.h"
#include "type/grids.h"

#include <math.h>

/* Weight of values of importance 0, so that they decide between otherwise equal choices. */
#define UNWEIGHTED 0x1p-40f

/* Return 2^e with 1 <= top / 2^e < 2; e is limited so that 2^-e is finite. */
static float unit_of(float top)
{
	uint32_t e = num_bits(top) >> 23;

	return num_float((e < 1 ? 1 : e) << 23);
}

static float greatest(search_v4 v)
{
	float a = v[0] > v[2] ? v[0] : v[2], b = v[1] > v[3] ? v[1] : v[3];

	return a > b ? a : b;
}

void search_set_unit(struct search *s, float top)
{
	s->unit = unit_of(top);
	s->per_unit = 1.0f / s->unit;
}

void search_load(struct search *s, const float *src, const float *importance, int n, int how)
{
	search_v4 top = { 0 }, heavy = { 0 };

	s->plain = (how & ENCODE_PLAIN) != 0;
	importance = s->plain ? NULL : importance;

	for (int i = 0; i < n / 4; i++)
		top = search_max(search_abs(search_load4(src + 4 * i)), top);
	for (int i = 0; importance && i < n / 4; i++)
		heavy = search_max(search_load4(importance + 4 * i), heavy);
	s->width = type_width(how);
	search_set_unit(s, greatest(top));
	for (int i = 0; i < n / 4; i++)
		s->x[i] = search_load4(src + 4 * i) * s->per_unit;
	float most = greatest(heavy), per_heavy = 1.0f / unit_of(most);
	for (int i = 0; i < n / 4; i++)
		s->w[i] = most > 0 ? search_load4(importance + 4 * i) * per_heavy + UNWEIGHTED
		                   : (search_v4){ 1, 1, 1, 1 };
}

uint16_t search_nearest_f16(float x)
{
	uint16_t h = num_to_f16(x);

	return (h & 0x7fff) == 0x7c00 ? (uint16_t)(h - 1) : h;
}

uint16_t search_round_f16(const struct search *s, float *x)
{
	uint16_t h = search_nearest_f16(*x * s->unit);

	*x = num_f16(h) * s->per_unit;
	return h;
}

uint16_t search_round_f16_nonzero(const struct search *s, float *x)
{
	float was = *x;
	uint16_t h = search_round_f16(s, x);

	if (was == 0 || *x != 0)
		return h;
	*x = (was < 0 ? -0x1p-24f : 0x1p-24f) * s->per_unit;
	return was < 0 ? 0x8001 : 1;
}

void search_put_f16(uint8_t to[2], uint16_t h) { memcpy(to, &h, 2); }

void search_put_codes(int8_t *to, const search_v4 *v, int n)
{
	int i = 0;

#if defined __SSE2__
	for (; i + 4 <= n; i += 4) {
		__m128i a = _mm_packs_epi32(_mm_cvttps_epi32(v[i]), _mm_cvttps_epi32(v[i + 1]));
		__m128i b = _mm_packs_epi32(_mm_cvttps_epi32(v[i + 2]), _mm_cvttps_epi32(v[i + 3]));

		_mm_storeu_si128((__m128i *)(void *)(to + 4 * i), _mm_packs_epi16(a, b));
	}
#endif
	for (; i < n; i++)
		for (int l = 0; l < 4; l++)
			to[4 * i + l] = (int8_t)v[i][l];
}

void search_codes(int8_t *q, const search_v4 *x, int n, float a, const struct search_grid *g)
{
	float inv = a != 0 ? 1.0f / a : 0.0f;

	for (int i = 0; i < n; i += 4) {
		int some = n - i < 4 ? n - i : 4;
		search_v4 v[4];

		for (int k = 0; k < some; k++)
			v[k] = search_nearest(x[i + k] * inv, g);
		search_put_codes(q + 4 * i, v, some);
	}
}

/* Return the first value of magnitude top with a weight above `least`. */
static float first_at(const search_v4 *x, const search_v4 *w, int n, float top, float least)
{
	for (int i = 0; i < n; i++)
		for (int l = 0; l < 4; l++)
			if (fabsf(x[i][l]) == top && w[i][l] > least)
				return x[i][l];
	return 0;
}

float search_farthest(const search_v4 *x, const search_v4 *w, int n)
{
	search_v4 high = { 0 }, low = { 0 };

	for (int i = 0; i < n; i++) {
		search_v4 v = (search_v4)((search_i4)x[i] & (w[i] > SEARCH_MIN_WEIGHT));

		high = search_max(v, high);
		low = search_min(v, low);
	}
	float above = greatest(high), below = greatest(-low);
	float top = above > below ? above : below;

	if (top >= SEARCH_MIN_VALUE)
		return above > below   ? above
		       : below > above ? -below
		                       : first_at(x, w, n, top, SEARCH_MIN_WEIGHT);
	high = (search_v4){ 0 };
	for (int i = 0; i < n; i++)
		high = search_max(search_abs(x[i]), high);
	return first_at(x, w, n, greatest(high), -1);
}

float search_absmax_scale(const search_v4 *x, const search_v4 *w, int n,
                          const struct search_grid *g)
{
	float top = search_farthest(x, w, n);

	return (g->plain > 0 ? fabsf(top) : top) / g->plain;
}

void search_table_init(struct search_table *t, const int8_t values[16])
{
	int k = 0;

	for (int i = 0; i < 512; i++) { /* entry i is for t from i / 2 - 128 to (i + 1) / 2 - 128 */
		while (k < 15 && i - 256 >= values[k] + values[k + 1])
			k++;
		t->nearest[i] = values[k];
		if (i - 256 == 2 * values[k])
			t->code[values[k] + 128] = (uint8_t)k;
	}
}

static const float ternary_tries[] = { 1, 1.3f, 1.6f, 2, 2.5f, 3, 3.7f, 4.5f, 6, 9, 14 };
const struct search_grid search_ternary = { .lo = -1,
	                                    .hi = 1,
	                                    .plain = 1,
	                                    .tries = ternary_tries,
	                                    .n_tries =
	                                            sizeof ternary_tries / sizeof *ternary_tries };

static const float iq4_tries[] = { -127, -120, -113, -134, -141, -148, -160,
	                           -175, 113,  106,  120,  127,  134 };
struct search_grid search_iq4(struct search_table *t)
{
	search_table_init(t, grid_iq4);
	return (struct search_grid){ -127, 113,       t->nearest,
		                     NULL, iq4_tries, sizeof iq4_tries / sizeof *iq4_tries,
		                     -127 };
}

struct search_grid search_fp4(struct search_table *t)
{
	static const int8_t ascending[16] = { -12, -8, -6, -4, -3, -2, -1, 0,
		                              0,   1,  2,  3,  4,  6,  8,  12 };

	static const float half[32] = {
		0, 1, 1, 2, 2,  3,  3,  4,  4,  4,  6,  6,  6,  6,  8,  8,
		8, 8, 8, 8, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12
	};

	search_table_init(t, ascending);
	for (int c = 15; c >= 0; c--)
		t->code[grid_fp4[c] + 128] = (uint8_t)c;
	return (struct search_grid){ -12, 12, t->nearest, half, NULL, 0, 12 };
}
