/* type/search_wide.c - four tries of codes in one pass over a group, in registers as wide as the
 * processor has them.  Every width gives the same bits. */
#include "type/search_line.h"
#include "type/search_lanes.h"

#if defined __x86_64__
#define WIDE __attribute__((target("avx2")))
#define OF(name) name##_avx2
#define V __m256
#define SETS 2
#define SPREAD(p) _mm256_broadcast_ps((const __m128 *)(p))
#define EACH(v, from) \
	_mm256_permutevar8x32_ps( \
		_mm256_castps128_ps256(v), \
		_mm256_setr_epi32(from, from, from, from, from + 1, from + 1, from + 1, from + 1))
#define AT_LEAST _mm256_max_ps
#define AT_MOST _mm256_min_ps
#include "type/search_wide.h"
#undef WIDE
#undef OF
#undef V
#undef SETS
#undef SPREAD
#undef EACH
#undef AT_LEAST
#undef AT_MOST
#define WIDE __attribute__((target("avx512f")))
#define OF(name) name##_avx512
#define V __m512
#define SETS 4
#define SPREAD(p) _mm512_broadcast_f32x4(*(const __m128 *)(p))
#define EACH(v, from) \
	_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), \
	                      _mm512_castps128_ps512(v))
#define AT_LEAST _mm512_max_ps
#define AT_MOST _mm512_min_ps
#include "type/search_wide.h"
#endif

int search_width(void)
{
#if defined __x86_64__
	return __builtin_cpu_supports("avx512f") ? 4 : __builtin_cpu_supports("avx2") ? 2 : 1;
#else
	return 1;
#endif
}

static void line_plain(const search_v4 *x, const search_v4 *w, int n, const struct line_place *at,
                       float top, int tries, struct line_sums4 *f)
{
	for (int k = 0; k < tries; k++) {
		struct line_sums s = line_try(x, w, n, at->inv[k], at->base[k], at->zero[k], top);

		f->q[k] = s.q;
		f->qq[k] = s.qq;
		f->xq[k] = s.xq;
	}
}

void line_try4(const search_v4 *x, const search_v4 *w, int n, const struct line_place *at,
               float top, int tries, int width, struct line_sums4 *f)
{
	*f = (struct line_sums4){ { 0 } };
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
	*f = (struct line_sums4){ lanes_sum(&s[0]), lanes_sum(&s[1]), lanes_sum(&s[2]) };
#endif
}
