/* type/search_affine_fit.c - sums and search of affine fits, four tries or four groups at a time,
 * in registers as wide as the processor has.  Every width gives the same bits. */
#include "type/search_affine.h"
#include "type/search_lanes.h"

#include <math.h>

#if defined __x86_64__
#define SETS 2
#include "type/search_simd.h"
#include "type/search_affine_simd.h"
#undef SETS
#define SETS 4
#include "type/search_simd.h"
#include "type/search_affine_simd.h"
#endif

static void line_plain(const search_v4 *x, const search_v4 *w, int n, const struct affine_map *at,
                       float top, int tries, struct affine_sums4 *f)
{
	for (int k = 0; k < tries; k++) {
		struct affine_sums s =
			affine_fit_codes(x, w, n, at->inv[k], at->base[k], at->zero[k], top);

		f->q[k] = s.q;
		f->qq[k] = s.qq;
		f->xq[k] = s.xq;
	}
}

void affine_fit_codes4(const search_v4 *x, const search_v4 *w, int n, const struct affine_map *at,
                       float top, int tries, int width, struct affine_sums4 *f)
{
	*f = (struct affine_sums4){ { 0 } };
	if (width == 1) {
		line_plain(x, w, n, at, top, tries, f);
		return;
	}
#if defined __x86_64__
	struct lanes s[3];

	if (width == 4)
		line_avx512(x, w, n, at, top, s);
	else
		line_avx2(x, w, n, at, top, s);
	*f = (struct affine_sums4){ lanes_sum(&s[0]), lanes_sum(&s[1]), lanes_sum(&s[2]) };
#endif
}

/* Compute affine_fit_groups4 in registers of four lanes. */
static void groups_plain(const struct search_interleaved *at, int n, const struct affine_map *to,
                         float top, struct affine_sums4 *f)
{
	for (int i = 0; i < 4; i++) {
		search_v4 sq = { 0 }, qq = { 0 }, xq = { 0 };

		for (int k = 0; k < n; k++) {
			search_v4 x = at->x[4 * k + i], t = x * to->inv[i] + to->base[i];
			search_v4 q = search_rint(search_clamp(t, 0, top)) - to->zero[i];
			search_v4 wq = at->w[4 * k + i] * q;
			sq += wq;
			qq += wq * q;
			xq += wq * x;
		}
		f->q[i] = search_sum(sq);
		f->qq[i] = search_sum(qq);
		f->xq[i] = search_sum(xq);
	}
}

static inline void groups4(const struct search_interleaved *at, int n, const struct affine_map *to,
                           float top, int width, struct affine_sums4 *f)
{
	*f = (struct affine_sums4){ { 0 } };
	if (width == 1) {
		groups_plain(at, n, to, top, f);
		return;
	}
#if defined __x86_64__
	struct lanes s[3];

	if (width == 4)
		groups_avx512(at, n, to, top, s);
	else
		groups_avx2(at, n, to, top, s);
	*f = (struct affine_sums4){ lanes_sum(&s[0]), lanes_sum(&s[1]), lanes_sum(&s[2]) };
#endif
}

void affine_fit_groups4(const struct search_interleaved *at, int n, const struct affine_map *to,
                        float top, int width, struct affine_sums4 *f)
{
	groups4(at, n, to, top, width, f);
}

void affine_range(const search_v4 *x, const search_v4 *w, int n, int step, float *lo, float *hi)
{
	const search_v4 none = { HUGE_VALF, HUGE_VALF, HUGE_VALF, HUGE_VALF };
	search_v4 least = none, most = -none;

	for (int i = 0; i < n * step; i += step) {
		search_i4 heard = w[i] > SEARCH_MIN_WEIGHT;

		least = search_select(heard & (x[i] < least), x[i], least);
		most = search_select(heard & (x[i] > most), x[i], most);
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

/* ---- the search ---- */

enum { MORE = 6, ROUNDS = 4 };

static int any(search_i4 m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }

/* Set the weighted means of four groups, subtract them from at->x, and find the ranges of the
 * differences. */
static void centre(const struct search_interleaved *at, int n, struct affine4 *out, search_v4 *lo,
                   search_v4 *hi)
{
	search_v4 sum[4] = { { 0 } }, sumw[4] = { { 0 } };

	for (int k = 0; k < 4 * n; k++) {
		sum[k % 4] += at->w[k] * at->x[k];
		sumw[k % 4] += at->w[k];
	}
	for (int i = 0; i < 4; i++) {
		float low, high;

		out->sw[i] = search_sum(sumw[i]);
		out->mean[i] = search_sum(sum[i]) / out->sw[i];
		for (int k = 0; k < n; k++)
			at->x[4 * k + i] -= out->mean[i];
		affine_range(at->x + i, at->w + i, n, 4, &low, &high);
		(*lo)[i] = low;
		(*hi)[i] = high;
	}
}

/* Best fits of four groups so far.  `zero`, the code of the mean, is subtracted from the codes
 * before summing, so that the sums stay accurate if one value has a large weight. */
struct found {
	struct affine_sums4 f;
	search_v4 zero, score;
};

/* In the lanes of m, replace *best if the try is better.  Returns the mask of replaced lanes. */
static search_i4 keep_better(search_i4 m, const struct affine_sums4 *f, search_v4 zero,
                             search_v4 sw, struct found *best)
{
	const search_v4 one = { 1, 1, 1, 1 };
	search_v4 qq = f->qq - f->q * f->q / sw, square = f->xq * f->xq;

	m &= (qq > 0x1p-20f * f->qq) & (f->xq > 0) & (square > best->score * qq);
	best->score = search_select(m, square / search_select(m, qq, one), best->score);
	best->f.q = search_select(m, f->q, best->f.q);
	best->f.qq = search_select(m, f->qq, best->f.qq);
	best->f.xq = search_select(m, f->xq, best->f.xq);
	best->zero = search_select(m, zero, best->zero);
	return m;
}

static void try_ranges(const struct search_interleaved *at, int n, float top, int width,
                       search_i4 go, search_v4 lo, search_v4 hi, search_v4 sw, struct found *best)
{
	static const float shifts[] = { 0, 0.35f, 0.35f * 2, 0.35f * 3 };
	const search_v4 none = { 0 };
	search_v4 length = search_select(go, hi - lo, none + 1);
	float step = top > 3 ? 0.7f : 0.35f;

	for (int k = 0; k < MORE; k++) {
		search_v4 inv = (top + step * (float)(k - 1)) / length;
		search_v4 middle = 0.5f * (top - (hi + lo) * inv);

		for (int i = 0; i < 4; i++) {
			struct affine_map to = { inv, middle + shifts[i] - 0.5f, none };
			struct affine_sums4 f;

			to.zero = search_rint(search_clamp(to.base, 0, top));
			groups4(at, n, &to, top, width, &f);
			keep_better(go, &f, to.zero, sw, best);
		}
	}
}

static inline struct affine4 search4(const struct search_interleaved *of, int n, float top,
                                     int width)
{
	const search_v4 none = { 0 }, one = none + 1;
	search_v4 x[32], lo, hi;
	struct search_interleaved at = { x, of->w };
	struct found best = { .score = none };
	struct affine4 out;

	memcpy(x, of->x, (size_t)(4 * n) * sizeof *x);
	centre(&at, n, &out, &lo, &hi);
	try_ranges(&at, n, top, width, hi - lo > SEARCH_MIN_VALUE, lo, hi, out.sw, &best);
	search_i4 some = best.score > 0, go = some;
	for (int k = 0; k < ROUNDS && any(go); k++) {
		search_v4 xq = search_select(go, best.f.xq, one);
		search_v4 mean = best.f.q / out.sw;
		struct affine_map to = { (best.f.qq - best.f.q * best.f.q / out.sw) / xq,
			                 mean + best.zero, none };
		struct affine_sums4 f;

		to.zero = search_rint(search_clamp(to.base, 0, top));
		groups4(&at, n, &to, top, width, &f);
		go = keep_better(go, &f, to.zero, out.sw, &best);
	}
	out.q = best.f.q / out.sw + best.zero;
	out.curve = best.f.qq - best.f.q * (best.f.q / out.sw);
	out.a = search_select(some, best.f.xq / search_select(some, out.curve, one), none);
	out.c = out.mean - out.a * out.q;
	return out;
}

#if defined __x86_64__
/* Compile the search, with all functions that it calls, for each register width. */
__attribute__((target("avx2"), flatten)) static struct affine4
search4_avx2(const struct search_interleaved *of, int n, float top)
{
	return search4(of, n, top, 2);
}

__attribute__((target("avx512f"), flatten)) static struct affine4
search4_avx512(const struct search_interleaved *of, int n, float top)
{
	return search4(of, n, top, 4);
}
#endif

struct affine4 affine_search4(const struct search_interleaved *of, int n, float top, int width)
{
#if defined __x86_64__
	if (width == 4)
		return search4_avx512(of, n, top);
	if (width == 2)
		return search4_avx2(of, n, top);
#endif
	return search4(of, n, top, width);
}
