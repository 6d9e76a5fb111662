/* type/search_affine.c - encode types with a scale and an offset: value = a q + c, 0 <= q <= top.
 *
 * With values relative to their weighted mean, the score of codes q is sum(w x q)^2 / (sum(w q q) -
 * sum(w q)^2 / sum(w)), as in search.c.  The search maps the range of the values to slightly more
 * and less than the range of the codes, at several offsets.  From the best try, it alternates
 * between nearest codes and regression. */
#include "type/search_affine.h"

#include <math.h>

struct affine_sums affine_fit_codes(const search_v4 *x, const search_v4 *w, int n, float inv,
                                    float base, float zero, float top)
{
	search_v4 sq = { 0 }, qq = { 0 }, xq = { 0 };

	for (int i = 0; i < n; i++) {
		search_v4 q = search_rint(search_clamp(x[i] * inv + base, 0, top)) - zero;
		search_v4 wq = w[i] * q;
		sq += wq;
		qq += wq * q;
		xq += wq * x[i];
	}
	return (struct affine_sums){ search_sum(sq), search_sum(qq), search_sum(xq) };
}

void affine_codes(int8_t *q, const search_v4 *x, int n, float a, float c, float top)
{
	float inv = a != 0 ? 1.0f / a : 0.0f, base = -c * inv;
	search_v4 v[8];

	for (int i = 0; i < n; i++)
		v[i] = search_rint(search_clamp(x[i] * inv + base, 0, top));
	search_put_codes(q, v, n);
}

static int any(search_i4 m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }

/* ---- a scale and an offset for a block ---- */

/* Encode without a search: the codes span the least to the greatest value.  Codes are computed
 * before d and m are rounded, as in public tools. */
static void encode_minmax(const struct search_affine_format *t, void *block, const float *src)
{
	struct search s;
	float lo, hi;
	int8_t q[32];

	search_load(&s, src, NULL, 32, 1);
	affine_range(s.x, s.w, 8, 1, &lo, &hi);
	float a = (hi - lo) / t->top, inv = a != 0 ? 1.0f / a : 0;

	for (int i = 0; i < 8; i++) {
		search_i4 v = __builtin_convertvector(
			search_rint(search_clamp((s.x[i] - lo) * inv, 0, t->top)), search_i4);
		for (int l = 0; l < 4; l++)
			q[4 * i + l] = (int8_t)v[l];
	}
	uint16_t d = search_round_f16(&s, &a);
	t->put(block, d, search_round_f16(&s, &lo), q);
}

static search_v4 inverse(search_v4 a)
{
	const search_v4 none = { 0 };

	return search_select(a != 0, 1.0f / search_select(a != 0, a, none + 1), none);
}

/* Return the weighted error of the nearest codes with scale a and offset c. */
static search_v4 errors(const struct search_interleaved *at, search_v4 a, search_v4 c, float top)
{
	search_v4 e[4] = { { 0 } }, inv = inverse(a), base = -c * inv, sum = { 0 };

	for (int k = 0; k < 32; k++) {
		int i = k % 4;
		search_v4 q = search_rint(search_clamp(at->x[k] * inv[i] + base[i], 0, top));
		search_v4 d = at->x[k] - (q * a[i] + c[i]);
		e[i] += at->w[k] * d * d;
	}
	for (int i = 0; i < 4; i++)
		sum[i] = search_sum(e[i]);
	return sum;
}

static search_v4 round_lanes(const struct search s[4], search_v4 v, uint16_t h[4])
{
	for (int i = 0; i < 4; i++) {
		float x = v[i];

		h[i] = search_round_f16(&s[i], &x);
		v[i] = x;
	}
	return v;
}

/* Scales a and offsets c of four blocks, and the same as F16: d, m. */
struct lines {
	search_v4 a, c;
	uint16_t d[4], m[4];
};

static void fit_blocks4(const struct search s[4], const struct search_interleaved *at, float top,
                        struct lines *out)
{
	const search_v4 none = { 0 }, one = none + 1;
	struct affine4 l = affine_search4(at, 8, top, s->width);
	search_v4 best = none + HUGE_VALF;
	search_i4 go = best > 0;

	*out = (struct lines){ none, none, { 0 }, { 0 } };
	for (int k = 0; k < 3; k++) {
		uint16_t d[4], m[4];
		search_v4 a = round_lanes(s, l.a, d);
		search_v4 c = round_lanes(s, l.mean - a * l.q, m); /* best offset for the rounded
		                                                    * scale */
		search_v4 e = errors(at, a, c, top);
		struct affine_sums4 n;

		go &= e < best;
		best = search_select(go, e, best);
		out->a = search_select(go, a, out->a);
		out->c = search_select(go, c, out->c);
		for (int i = 0; i < 4; i++) {
			out->d[i] = go[i] ? d[i] : out->d[i];
			out->m[i] = go[i] ? m[i] : out->m[i];
		}
		go &= a != 0;
		if (k == 2 || !any(go))
			return;
		search_v4 by = search_select(go, a, one);
		affine_fit_groups4(at, 8, &(struct affine_map){ 1.0f / by, -c / by, none }, top,
		                   s->width, &n);
		search_i4 some = n.qq > 0; /* best scale for the rounded offset */
		l.q = n.q / l.sw;
		l.a = search_select(some, (n.xq - c * n.q) / search_select(some, n.qq, one), none);
	}
}

void search_encode_affine(const struct search_affine_format *t, void *dst, const float *src,
                          const float *importance, size_t blocks, int how)
{
	search_v4 x[32], w[32];
	const struct search_interleaved at = { x, w };
	struct search s[4];
	struct lines f;
	int8_t q[32];

	for (size_t i = 0; how & ENCODE_PLAIN && i < blocks; i++)
		encode_minmax(t, (char *)dst + i * t->bytes, src + 32 * i);
	for (size_t from = 0; !(how & ENCODE_PLAIN) && from < blocks; from += 4) {
		size_t some = blocks - from < 4 ? blocks - from : 4;

		for (size_t i = 0; i < 4; i++) {
			/* fewer than four blocks are left: repeat the last one */
			size_t of = 32 * (from + (i < some ? i : some - 1));

			search_load(&s[i], src + of, importance ? importance + of : NULL, 32, how);
			search_interleave(&at, (int)i, s[i].x, s[i].w, 8);
		}
		fit_blocks4(s, &at, t->top, &f);
		for (size_t i = 0; i < some; i++) {
			affine_codes(q, s[i].x, 8, f.a[i], f.c[i], t->top);
			t->put((char *)dst + (from + i) * t->bytes, f.d[i], f.m[i], q);
		}
	}
}
