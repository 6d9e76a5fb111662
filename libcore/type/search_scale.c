/* type/search_scale.c - encode types with one scale per block, four blocks at a time; the search is
 * that of search.c. */
#include "type/search_lanes.h"

#include <math.h>

enum { ROUNDS = 4 };

/* ---- one scale each ---- */

/* Compute search_fit_codes4 in registers of four lanes. */
static void each_plain(const struct search_interleaved *at, int n, search_v4 inv,
                       const struct search_grid *g, struct search_fit4 *f)
{
	for (int i = 0; i < 4; i++) {
		search_v4 xq = { 0 }, qq = { 0 };

		for (int k = 0; k < n; k++) {
			search_v4 x = at->x[4 * k + i], q = search_nearest(x * inv[i], g);
			search_v4 wq = at->w[4 * k + i] * q;
			xq += wq * x;
			qq += wq * q;
		}
		f->xq[i] = search_sum(xq);
		f->qq[i] = search_sum(qq);
	}
}

#if defined __x86_64__
#define SETS 2
#include "type/search_simd.h"
#include "type/search_scale_simd.h"
#undef SETS
#define SETS 4
#include "type/search_simd.h"
#include "type/search_scale_simd.h"

/* Compute the same sums for a table, with lookups in g->half. */
WIDE static void half_avx512(const struct search_interleaved *at, int n, search_v4 inv,
                             const struct search_grid *g, struct lanes sums[2])
{
	const V none = { 0 }, lo = none + g->lo, hi = none + g->hi, i = EACH(inv, 0);
	const __m512i sign = _mm512_set1_epi32(INT32_MIN);
	const V few = _mm512_loadu_ps(g->half), many = _mm512_loadu_ps(g->half + 16);
	V xq = { 0 }, qq = { 0 };

	for (int k = 0; k < n; k++) {
		V v = LOAD(at->x + 4 * k), t = AT_MOST(hi, AT_LEAST(lo, v * i)) * 2.0f + 256.0f;
		__m512i c = _mm512_sub_epi32(_mm512_cvttps_epi32(t), _mm512_set1_epi32(256));
		V q = _mm512_permutex2var_ps(few, _mm512_xor_epi32(c, _mm512_srai_epi32(c, 31)),
		                             many);

		q = (V)_mm512_xor_epi32((__m512i)q, _mm512_and_epi32(c, sign));
		V wq = LOAD(at->w + 4 * k) * q;
		xq += wq * v;
		qq += wq * q;
	}
	memcpy(sums[0].v, &xq, sizeof xq);
	memcpy(sums[1].v, &qq, sizeof qq);
}
#endif

static inline void each4(const struct search_interleaved *at, int n, search_v4 inv,
                         const struct search_grid *g, int width, struct search_fit4 *f)
{
	if (width == 1 || (g->nearest && !(g->half && width == 4))) {
		each_plain(at, n, inv, g, f);
		return;
	}
#if defined __x86_64__
	struct lanes s[2];

	if (g->nearest)
		half_avx512(at, n, inv, g, s);
	else if (width == 4)
		each_avx512(at, n, inv, g, s);
	else
		each_avx2(at, n, inv, g, s);
	*f = (struct search_fit4){ lanes_sum(&s[0]), lanes_sum(&s[1]) };
#endif
}

void search_fit_codes4(const struct search_interleaved *at, int n, search_v4 inv,
                       const struct search_grid *g, int width, struct search_fit4 *f)
{
	each4(at, n, inv, g, width, f);
}

/* ---- the search ---- */

/* Compile a function, with all functions that it calls, for these registers. */
#define WITH_AVX2 __attribute__((target("avx2"), flatten))
#define WITH_AVX512 __attribute__((target("avx512f"), flatten))

static int any(search_i4 m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }

static search_v4 score_of(const struct search_fit4 *f)
{
	const search_v4 one = { 1, 1, 1, 1 };
	search_i4 some = f->qq > 0;

	return search_select(some, f->xq * f->xq / search_select(some, f->qq, one), one * 0);
}

/* In the lanes of m, store *f as the best fit so far. */
static void keep_better(search_i4 m, const struct search_fit4 *f, struct search_fit4 *best,
                        search_v4 *score)
{
	*score = search_select(m, score_of(f), *score);
	best->xq = search_select(m, f->xq, best->xq);
	best->qq = search_select(m, f->qq, best->qq);
}

static inline void group4(const struct search_interleaved *at, int n, search_v4 top,
                          const struct search_grid *g, int width, struct search_fit4 *best)
{
	const search_v4 one = { 1, 1, 1, 1 };
	search_i4 go = search_abs(top) >= SEARCH_MIN_VALUE;
	search_v4 score = { 0 };
	struct search_fit4 f;

	top = search_select(go, top, one);
	*best = (struct search_fit4){ { 0 }, { 0 } };
	for (int k = 0; k < g->n_tries; k++) {
		each4(at, n, g->tries[k] / top, g, width, &f);
		keep_better(go & (f.xq * f.xq > score * f.qq), &f, best, &score);
	}
	for (int k = 0; k < ROUNDS; k++) {
		go &= (best->qq > 0) & (best->xq != 0);
		if (!any(go))
			return;
		each4(at, n, search_select(go, best->qq, one) / search_select(go, best->xq, one), g,
		      width, &f);
		go &= f.xq * f.xq > score * f.qq;
		keep_better(go, &f, best, &score);
	}
}

#if defined __x86_64__
WITH_AVX2 static void group4_avx2(const struct search_interleaved *at, int n, search_v4 top,
                                  const struct search_grid *g, struct search_fit4 *best)
{
	group4(at, n, top, g, 2, best);
}

WITH_AVX512 static void group4_avx512(const struct search_interleaved *at, int n, search_v4 top,
                                      const struct search_grid *g, struct search_fit4 *best)
{
	group4(at, n, top, g, 4, best);
}
#endif

void search_best_fit4(const struct search_interleaved *at, int n, search_v4 top,
                      const struct search_grid *g, int width, struct search_fit4 *best)
{
#if defined __x86_64__
	if (width == 4)
		group4_avx512(at, n, top, g, best);
	else if (width == 2)
		group4_avx2(at, n, top, g, best);
	else
#endif
		group4(at, n, top, g, width, best);
}

/* ---- one scale for a block ---- */

#if defined __x86_64__
/* Round each lane as search_round_f16 does. */
__attribute__((target("avx512f"))) static search_v4 round_scales_avx512(const struct search s[4],
                                                                        search_v4 a, uint16_t h[4])
{
	const search_v4 unit = { s[0].unit, s[1].unit, s[2].unit, s[3].unit };
	const search_v4 per = { s[0].per_unit, s[1].per_unit, s[2].per_unit, s[3].per_unit };
	const __m256i none = _mm256_setzero_si256();
	__m256i f = _mm512_cvtps_ph(_mm512_castps128_ps512(a * unit), _MM_FROUND_TO_NEAREST_INT);
	__m256i top = _mm256_cmpeq_epi16(_mm256_and_si256(f, _mm256_set1_epi16(0x7fff)),
	                                 _mm256_set1_epi16(0x7c00));

	f = _mm256_blend_epi32(_mm256_add_epi16(f, top), none,
	                       0xfc); /* infinity becomes the largest
	                                                               * finite F16 */
	memcpy(h, &f, 4 * sizeof *h);
	return _mm512_castps512_ps128(_mm512_cvtph_ps(f)) * per;
}
#endif

static search_v4 round_scales(const struct search s[4], search_v4 a, uint16_t h[4], int up,
                              int width)
{
#if defined __x86_64__
	if (width == 4) {
		search_v4 b = round_scales_avx512(s, a, h);

		if (!up || !any((b == 0) & (a != 0)))
			return b;
	}
#else
	(void)width;
#endif
	for (int i = 0; i < 4; i++) {
		float v = a[i];

		h[i] = up ? search_round_f16_nonzero(&s[i], &v) : search_round_f16(&s[i], &v);
		a[i] = v;
	}
	return a;
}

/* Return the reduction of the error by codes with these sums and scale a. */
static search_v4 gain(search_v4 a, const struct search_fit4 *f)
{
	return 2 * a * f->xq - a * a * f->qq;
}

/* Return the best scale of each of four blocks, as F16 in h.  top: search_farthest of each. */
static inline search_v4 best_scales(const struct search s[4], const struct search_interleaved *at,
                                    int n, search_v4 top, const struct search_grid *g, int width,
                                    uint16_t h[4])
{
	const search_v4 none = { 0 }, one = { 1, 1, 1, 1 };
	struct search_fit4 f, f2;
	search_v4 a, b;
	uint16_t h2[4];

	group4(at, n, top, g, width, &f);
	search_i4 some = f.qq > 0;
	a = round_scales(s, search_select(some, f.xq / search_select(some, f.qq, one), none), h, 1,
	                 width);
	some = a != 0;
	if (!any(some))
		return a;
	/* also try the best scale for the codes of the rounded scale */
	each4(at, n, one / search_select(some, a, one), g, width, &f);
	search_i4 helps = f.qq > 0;
	b = round_scales(s,
	                 search_select(some & helps, f.xq / search_select(helps, f.qq, one), none),
	                 h2, 0, width);
	helps = some & (2 * a * f.xq > a * a * f.qq); /* otherwise zeros are better */
	a = search_select(helps, a, none);
	search_i4 other = some & (b != 0);
	for (int i = 0; i < 4; i++) {
		h[i] = some[i] && !helps[i] ? 0 : h[i];
		other[i] = h2[i] != h[i] ? other[i] : 0;
	}
	if (!any(other))
		return a;
	each4(at, n, one / search_select(other, b, one), g, width, &f2);
	other &= gain(b, &f2) > gain(a, &f);
	for (int i = 0; i < 4; i++)
		h[i] = other[i] ? h2[i] : h[i];
	return search_select(other, b, a);
}

#if defined __x86_64__
WITH_AVX2 static search_v4 best_scales_avx2(const struct search s[4],
                                            const struct search_interleaved *at, int n,
                                            search_v4 top, const struct search_grid *g,
                                            uint16_t h[4])
{
	return best_scales(s, at, n, top, g, 2, h);
}

WITH_AVX512 static search_v4 best_scales_avx512(const struct search s[4],
                                                const struct search_interleaved *at, int n,
                                                search_v4 top, const struct search_grid *g,
                                                uint16_t h[4])
{
	return best_scales(s, at, n, top, g, 4, h);
}
#endif

static search_v4 best_scales_width(const struct search s[4], const struct search_interleaved *at,
                                   int n, search_v4 top, const struct search_grid *g, int width,
                                   uint16_t h[4])
{
#if defined __x86_64__
	if (width == 4)
		return best_scales_avx512(s, at, n, top, g, h);
	if (width == 2)
		return best_scales_avx2(s, at, n, top, g, h);
#endif
	return best_scales(s, at, n, top, g, width, h);
}

static void write_codes(const struct search_scale_format *t, int8_t *q, const search_v4 *x, float a,
                        const struct search_grid *g)
{
	search_codes(q, x, t->n / 4, a, g);
	for (int i = 0; t->table && i < t->n; i++)
		q[i] = (int8_t)t->table->code[q[i] + 128];
}

/* Encode without a search, with codes for the scale before it is rounded, as in public tools. */
static void encode_absmax(const struct search_scale_format *t, const struct search_grid *g,
                          void *dst, const float *src, size_t blocks)
{
	struct search s;
	int8_t q[256];

	for (size_t i = 0; i < blocks; i++) {
		search_load(&s, src + i * (size_t)t->n, NULL, t->n, 1);
		float a = search_absmax_scale(s.x, s.w, t->n / 4, g);

		write_codes(t, q, s.x, a, g);
		t->put((char *)dst + i * t->bytes, search_round_f16_nonzero(&s, &a), q);
	}
}

/* ---- four blocks of values ---- */

/* Load and interleave four blocks.  Returns search_farthest of each. */
static search_v4 load4(struct search s[4], const struct search_interleaved *at,
                       const float *const src[4], const float *const importance[4], int n)
{
	search_v4 top;

	for (int i = 0; i < 4; i++) {
		search_load(&s[i], src[i], importance[i], n, 0);
		search_interleave(at, i, s[i].x, s[i].w, n / 4);
		top[i] = search_farthest(s[i].x, s[i].w, n / 4);
	}
	return top;
}

#if defined __x86_64__
/* As load4 without importances, for n a multiple of 16.  Does not set s->x and s->w. */
WITH_AVX512 static search_v4 load4_avx512(struct search s[4], const struct search_interleaved *at,
                                          const float *const src[4], int n)
{
	__m512 per[4];
	search_v4 top;

	for (int i = 0; i < 4; i++) {
		__m512 high = _mm512_setzero_ps(), low = high;

		for (int k = 0; k < n; k += 16) {
			__m512 v = _mm512_loadu_ps(src[i] + k);

			high = _mm512_max_ps(v, high);
			low = _mm512_min_ps(v, low);
		}
		float above = _mm512_reduce_max_ps(high), below = -_mm512_reduce_min_ps(low);

		search_set_unit(&s[i], above > below ? above : below);
		per[i] = _mm512_set1_ps(s[i].per_unit);
		top[i] = (above > below ? above : -below) * s[i].per_unit;
		if (above == below ||
		    fabsf(top[i]) < SEARCH_MIN_VALUE) { /* tie or zeros: see search_farthest */
			search_load(&s[i], src[i], NULL, n, 0);
			top[i] = search_farthest(s[i].x, s[i].w, n / 4);
		}
	}
	for (int k = 0; k < n; k += 16) {
		__m512 v[4], *to = (__m512 *)(void *)(at->x + 4 * (k / 4));

		for (int i = 0; i < 4; i++)
			v[i] = _mm512_loadu_ps(src[i] + k) * per[i];
		__m512 a = _mm512_shuffle_f32x4(v[0], v[1], 0x44);
		__m512 b = _mm512_shuffle_f32x4(v[2], v[3], 0x44);
		__m512 c = _mm512_shuffle_f32x4(v[0], v[1], 0xee);
		__m512 d = _mm512_shuffle_f32x4(v[2], v[3], 0xee);
		_mm512_storeu_ps(to, _mm512_shuffle_f32x4(a, b, 0x88));
		_mm512_storeu_ps(to + 1, _mm512_shuffle_f32x4(a, b, 0xdd));
		_mm512_storeu_ps(to + 2, _mm512_shuffle_f32x4(c, d, 0x88));
		_mm512_storeu_ps(to + 3, _mm512_shuffle_f32x4(c, d, 0xdd));
	}
	return top;
}

/* Compute search_codes of four groups for a grid of integers.  Group i is written to q + i * n. */
WITH_AVX512 static void write_codes4_avx512(int8_t *q, const struct search_interleaved *at, int n,
                                            search_v4 a, const struct search_grid *g)
{
	const search_v4 one = { 1, 1, 1, 1 }, none = { 0 };
	search_i4 some = a != 0;
	const __m512 inv = EACH(search_select(some, one / search_select(some, a, one), none), 0);
	const __m512 lo = _mm512_set1_ps(g->lo), hi = _mm512_set1_ps(g->hi);

	for (int k = 0; k < n; k += 4) {
		__m512 v = _mm512_min_ps(hi, _mm512_max_ps(lo, LOAD(at->x + k) * inv));
		search_i4 c = (search_i4)_mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v));

		for (int i = 0; i < 4; i++) {
			int32_t four = c[i];

			memcpy(q + i * n + k, &four, sizeof four);
		}
	}
}
#endif

void search_encode_scale(const struct search_scale_format *t, const struct search_grid *g,
                         void *dst, const float *src, const float *importance, size_t blocks,
                         int how)
{
	size_t n = (size_t)t->n;
	search_v4 x[256], w[256], top;
	const struct search_interleaved at = { x, w };
	const int width = type_width(how), wide = width == 4 && !importance && !g->nearest;
	struct search s[4];
	uint16_t h[4];
	int8_t q[4 * 256];

	if (how & ENCODE_PLAIN) {
		encode_absmax(t, g, dst, src, blocks);
		return;
	}
	for (size_t i = 0; wide && i < n; i++)
		w[i] = (search_v4){ 1, 1, 1, 1 };
	for (size_t from = 0; from < blocks; from += 4) {
		size_t some = blocks - from < 4 ? blocks - from : 4;
		const float *of[4], *heed[4];

		for (size_t i = 0; i < 4; i++) {
			/* fewer than four blocks are left: repeat the last one */
			size_t k = (from + (i < some ? i : some - 1)) * n;

			of[i] = src + k;
			heed[i] = importance ? importance + k : NULL;
		}
#if defined __x86_64__
		top = wide ? load4_avx512(s, &at, of, t->n) : load4(s, &at, of, heed, t->n);
#else
		top = load4(s, &at, of, heed, t->n);
#endif
		search_v4 a = best_scales_width(s, &at, t->n / 4, top, g, width, h);
#if defined __x86_64__
		if (wide)
			write_codes4_avx512(q, &at, t->n, a, g);
#endif
		for (size_t i = 0; i < some; i++) {
			if (!wide)
				write_codes(t, q + i * n, s[i].x, a[i], g);
			t->put((char *)dst + (from + i) * t->bytes, h[i], q + i * n);
		}
	}
}
