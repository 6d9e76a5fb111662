/* kern/avx512vnni/rows16.h - 16 weight rows to a register, one to a lane, read in place: 16 bytes
 * of each row are loaded and transposed, so that a dword has 4 neighbours of its row. */
#ifndef KERN_AVX512VNNI_ROWS16_H
#define KERN_AVX512VNNI_ROWS16_H
#include "kern/avx512vnni/int.h"

/* the addresses of 16 rows, hidden from the compiler as in struct x_rows */
struct rows16 {
	const uint8_t *p[4];
	size_t s, s3;
};
INLINE struct rows16 rows16_at(const void *p, size_t stride)
{
	const uint8_t *at = p;
	struct rows16 l = { { at, at + 4 * stride, at + 8 * stride, at + 12 * stride },
		            stride,
		            3 * stride };

	__asm__("" : "+r"(l.p[0]), "+r"(l.p[1]), "+r"(l.p[2]), "+r"(l.p[3]), "+r"(l.s), "+r"(l.s3));
	return l;
}
INLINE const uint8_t *row16(const struct rows16 *l, int r)
{
	return l->p[r / 4] + (r % 4 == 3 ? l->s3 : (size_t)(r % 4) * l->s);
}
/* Advance n bytes in each of the first `rows` rows.  The result is hidden too, or compilers would
 * store sums of strides and offsets. */
INLINE void rows16_advance(struct rows16 *l, int rows, size_t n)
{
	UNROLL
	for (int i = 0; 4 * i < rows; i++) {
		l->p[i] += n;
		__asm__("" : "+r"(l->p[i]));
	}
}

/* Load 16 bytes of each row: dword j of all rows to y[j]. */
INLINE void load_by16(wi y[4], const struct rows16 *w, int at)
{
	wi v[4];

	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i lo =
			_mm256_inserti128_si256(_mm256_castsi128_si256(load16(row16(w, i) + at)),
		                                load16(row16(w, 4 + i) + at), 1);
		__m256i hi = _mm256_inserti128_si256(
			_mm256_castsi128_si256(load16(row16(w, 8 + i) + at)),
			load16(row16(w, 12 + i) + at), 1);
		v[i] = _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
	}
	wi a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]),
	   c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
	y[0] = _mm512_unpacklo_epi64(a, c);
	y[1] = _mm512_unpackhi_epi64(a, c);
	y[2] = _mm512_unpacklo_epi64(b, d);
	y[3] = _mm512_unpackhi_epi64(b, d);
}

/* Return acc + sums of 4 products.  x: in memory.  In assembly: compilers would load x first. */
INLINE wi dot_at(wi acc, wi u, const uint8_t *x)
{
	__asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(u), "m"(*(const uint8_t(*)[4])x));
	return acc;
}

INLINE wf f16_words(wi x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }

/* Load the f16 at byte `at` of each row. */
INLINE wf f16_by16(const struct rows16 *w, int at)
{
	uint16_t h[16];

	UNROLL
	for (int r = 0; r < 16; r++)
		memcpy(h + r, row16(w, r) + at, sizeof h[r]);
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)h));
}

/* prefetch distance in each of 16 streams */
enum { AHEAD16 = KERN_AHEAD };
/* Prefetch four of the rows: all sixteen at once would fill the queue of misses and delay loads. */
INLINE void prefetch4(const struct rows16 *w, int i, int at)
{
	const uint8_t *p = w->p[i] + at;

	__builtin_prefetch(p, 0, 3);
	__builtin_prefetch(p + w->s, 0, 3);
	__builtin_prefetch(p + 2 * w->s, 0, 3);
	__builtin_prefetch(p + w->s3, 0, 3);
}

/* Store y of one row of x. */
INLINE void put16(float *y, wf v, size_t y_step)
{
	float t[16];

	_mm512_storeu_ps(t, v);
	for (int r = 0; r < 16; r++)
		y[(size_t)r * y_step] = t[r];
}

/* Define <name>_by<by>, a rows_part: the file's part16 for `by` rows of x. */
#define PART16(name, by) \
	NOINLINE void name##_by##by(float *y, size_t ldy, const struct row_group *s, \
	                            const struct kern_act *x, int x_row, int k) \
	{ \
		part16(by, y, ldy, s, x, x_row, k); \
	}

/* part[i] multiplies i + 1 rows of x.  Sixteen streams of n / 16 rows; the last n % 16 rows are
 * part of a group of the last 16 rows. */
INLINE void rows16_run(rows_part *const *part, int most, float *y, size_t ldy, const void *w,
                       size_t row_bytes, const struct kern_act *x, int x_row, int m, int n, int k)
{
	const int each = n / 16;

	for (int i = 0; i < each + (n % 16 != 0); i++) {
		struct row_group s = { .stride = row_bytes * (size_t)each,
			               .y_step = (size_t)each,
			               .row = i };
		if (i == each)
			s.stride = row_bytes, s.y_step = 1, s.row = n - 16;
		s.w = row_of(w, row_bytes, s.row);
		for (int t = 0, left = (m + most - 1) / most, by; t < m; t += by, left--) {
			by = (m - t) / left;
			part[by - 1](y + s.row + (size_t)t * ldy, ldy, &s, x, x_row + t, k);
		}
	}
}

#endif
