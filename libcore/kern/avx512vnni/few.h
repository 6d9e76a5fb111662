/* kern/avx512vnni/few.h - what products of a few rows of x share: lanes are rows of x, so
 * neighbouring weights of a row are one word for all of them, and nothing is packed.  A part takes
 * some weight rows and up to MOST rows of x; here stands how a matrix is cut into those, and how
 * their results, lines of rows of x, become lines of y. */
#ifndef KERN_AVX512VNNI_FEW_H
#define KERN_AVX512VNNI_FEW_H
#include "kern/avx512vnni/int.h"

/* weight rows that are streams of memory together, and whose results go to y together; rows of x in
 * a register, and in a call of a part */
enum { BAND = 48, WIDE = 16, MOST = 2 * WIDE };

/* Operations on 16 lanes, or on the first 8 of them, which takes half as long. */
INLINE wi lane_word(int half, const void *p)
{
	return half ? _mm512_castsi256_si512(_mm256_set1_epi32((int32_t)num_u32(p)))
	            : wi_set((int32_t)num_u32(p));
}
INLINE wi lane_dot(int half, wi acc, wi u, wi x)
{
	if (half)
		__asm__("vpdpbusd %t2, %t1, %t0" : "+v"(acc) : "v"(u), "v"(x));
	else
		__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(x));
	return acc;
}
INLINE wi lane_mac(int half, wi acc, wi a, wi b)
{
	if (half)
		__asm__("vpdpwssd %t2, %t1, %t0" : "+v"(acc) : "v"(a), "v"(b));
	else
		__asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
	return acc;
}
/* (x << 16) + y */
INLINE wi lane_up(int half, wi x, wi y)
{
	if (!half)
		return wi_add(wi_shl(x, 16), y);
	return _mm512_castsi256_si512(_mm256_add_epi32(
		_mm256_slli_epi32(_mm512_castsi512_si256(x), 16), _mm512_castsi512_si256(y)));
}
/* sum + d dx i, or less that */
INLINE wf lane_add(int half, wf sum, wf d, wf dx, wi i)
{
	if (!half)
		return wf_fma(wf_mul(d, dx), wf_from(i), sum);
	__m256 p = _mm256_mul_ps(_mm512_castps512_ps256(d), _mm512_castps512_ps256(dx)),
	       f = _mm256_cvtepi32_ps(_mm512_castsi512_si256(i));
	return _mm512_castps256_ps512(_mm256_fmadd_ps(p, f, _mm512_castps512_ps256(sum)));
}
INLINE wf lane_take(int half, wf sum, wf d, wf dx, wi i)
{
	if (!half)
		return wf_fnma(wf_mul(d, dx), wf_from(i), sum);
	__m256 p = _mm256_mul_ps(_mm512_castps512_ps256(d), _mm512_castps512_ps256(dx)),
	       f = _mm256_cvtepi32_ps(_mm512_castsi512_si256(i));
	return _mm512_castps256_ps512(_mm256_fnmadd_ps(p, f, _mm512_castps512_ps256(sum)));
}

/* 16 x 16 numbers, rows MOST apart -> v[i]: number i of all rows */
INLINE void turn_16(wf v[16], const float *p)
{
	UNROLL
	for (int i = 0; i < 16; i++)
		v[i] = wf_load(p + i * MOST);
	turn_lanes(v);
}

/* n weight rows of m rows of x */
static void few_put(float *y, size_t ldy, const float *out, int m, int n)
{
	for (int t = 0; t < m; t += WIDE)
		for (int r = 0; r < n; r += WIDE) {
			wf v[16];
			turn_16(v, out + r * MOST + t);
			UNROLL
			for (int i = 0; i < 16; i++)
				if (t + i < m)
					wf_put(y + (size_t)(t + i) * ldy + r, v[i], n - r);
		}
}

/* Results f32 [MOST] of each weight row, every one `apart` such lines further; weights stride bytes
 * apart.  x: the turned copy of 16 rows; that of the next 16 stands `next` bytes behind it. */
typedef void few_part(float *out, size_t apart, const uint8_t *w, size_t stride, const void *x,
                      size_t next, int k);

/* Some weight rows of a matrix, as one stream for each that a part takes; what those leave is taken
 * with rows before it, and fewer go row by row. */
static void few_band(few_part *part, int rn, float *out, const uint8_t *w, size_t row_bytes,
                     const void *x, size_t next, int n, int k)
{
	const int apart = n / rn;

	for (int i = 0; i < apart; i++)
		part(out + i * MOST, (size_t)apart, w + (size_t)i * row_bytes,
		     (size_t)apart * row_bytes, x, next, k);
	if (apart && n % rn)
		part(out + (n - rn) * MOST, 1, w + (size_t)(n - rn) * row_bytes, row_bytes, x, next,
		     k);
	for (int i = 0; !apart && i < n; i++)
		part(out + i * MOST, 0, w + (size_t)i * row_bytes, 0, x, next, k);
}

/* parts and how many weight rows they take, by eights of rows of x */
static void few_run(few_part *const part[4], const int rows[4], float *y, size_t ldy,
                    const uint8_t *w, size_t row_bytes, const struct kern_act *x, int x_row, int m,
                    int n, int k)
{
	_Alignas(64) float out[BAND * MOST];
	const size_t next = kern_turned_bytes(x->form, KERN_TURN, k);

	for (int r = 0, band; r < n; r += band, w += (size_t)band * row_bytes) {
		band = n - r < BAND ? n - r : BAND;
		for (int t = 0, by; t < m; t += by) {
			by = m - t < MOST ? m - t : MOST;
			int p = (by - 1) / 8;
			few_band(part[p], rows[p], out, w, row_bytes, act_turned(x, x_row + t, k),
			         next, band, k);
			few_put(y + (size_t)t * ldy + r, ldy, out, by, band);
		}
	}
}

/* rows_at_once(type, eights): how many weight rows `loop` takes with as many eights of rows of x */
#define FEW_BY(loop, TYPE, name, eights) \
	NOINLINE void name##_few##eights(float *out, size_t apart, const uint8_t *w, \
	                                 size_t stride, const void *x, size_t next, int k) \
	{ \
		loop(INFER_##TYPE, eights, out, apart, w, stride, x, next, k); \
	}
#define FEW_OF(loop, TYPE, name) \
	FEW_BY(loop, TYPE, name, 1) \
	FEW_BY(loop, TYPE, name, 2) \
	FEW_BY(loop, TYPE, name, 3) \
	FEW_BY(loop, TYPE, name, 4) \
	void KERN_FN(name##_few)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                         const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		static few_part *const part[4] = { name##_few1, name##_few2, name##_few3, \
			                           name##_few4 }; \
		const int rows[4] = { rows_at_once(INFER_##TYPE, 1), \
			              rows_at_once(INFER_##TYPE, 2), \
			              rows_at_once(INFER_##TYPE, 3), \
			              rows_at_once(INFER_##TYPE, 4) }; \
		few_run(part, rows, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	}
#endif
