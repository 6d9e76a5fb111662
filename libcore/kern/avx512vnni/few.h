/* kern/avx512vnni/few.h - what products of a few rows of x share: lanes are rows of x, so
 * neighbouring weights of a row are one word for all of them, and nothing is packed.  This file
 * defines how a matrix and rows of x are cut into parts, and the lanes of a part.
 *
 * A part takes 8, 16 or 32 rows of x.
 *   8    lane 2 t + r belongs to row t of x and to row r of two neighbouring rows of weights
 *   16   lane t belongs to row t of x
 *   32   the same in two registers, which share the words of weights
 * In each case the sums of a block take about SUMS registers: enough independent chains to hide the
 * latency of a product. */
#ifndef KERN_AVX512VNNI_FEW_H
#define KERN_AVX512VNNI_FEW_H
#include "kern/avx512vnni/int.h"

/* weight rows whose results go to y together; rows of x in a register, and in a call of a part; the
 * most registers of sums, and so weight rows of a part */
enum { BAND = FEW_BAND, WIDE = 16, MOST = 2 * WIDE, SUMS = 12, STREAMS = 2 * SUMS };

/* weight rows of a register; registers of x */
INLINE int rows_in(int xn) { return xn == 8 ? 2 : 1; }
INLINE int x_regs(int xn) { return xn == MOST ? 2 : 1; }
/* weight rows of a part that has so many registers of sums */
INLINE int rows_at_once(int sums, int xn) { return sums * rows_in(xn) / x_regs(xn); }

/* the word of a weight row at p in all lanes; xn 8: that of the next row, 4 bytes on, in every
 * second one */
INLINE wi lane_word(int xn, const void *p)
{
	return xn == 8 ? _mm512_set1_epi64((long long)num_u64(p)) : wi_set((int32_t)num_u32(p));
}
INLINE wf lane_scale(int xn, const float *p) { return _mm512_castsi512_ps(lane_word(xn, p)); }
/* a line of the turned copy of x; xn 8: each of its first eight words twice */
INLINE wi lane_x(int xn, const void *p)
{
	const wi twice8 = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);

	return xn == 8 ? _mm512_permutexvar_epi32(twice8, wi_load(p)) : wi_load(p);
}
INLINE wf lane_dx(int xn, const float *p) { return _mm512_castsi512_ps(lane_x(xn, p)); }

/* as intrinsics gcc 12 copies every sum twice a turn */
INLINE wi lane_dot(wi acc, wi u, wi x)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(x));
	return acc;
}
INLINE wi lane_mac(wi acc, wi a, wi b)
{
	__asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
	return acc;
}

/* 32 unpacked bytes each of two neighbouring weight rows into a room of `line` bytes a row, `at`
 * bytes on: row after row; xn 8: word beside word, in the order of word_at */
INLINE void words_put(int xn, uint8_t *to, int line, int at, const __m256i v[2])
{
	if (xn == 8) {
		_mm256_store_si256((__m256i *)(void *)(to + 2 * at),
		                   _mm256_unpacklo_epi32(v[0], v[1]));
		_mm256_store_si256((__m256i *)(void *)(to + 2 * at + 32),
		                   _mm256_unpackhi_epi32(v[0], v[1]));
		return;
	}
	_mm256_store_si256((__m256i *)(void *)(to + at), v[0]);
	_mm256_store_si256((__m256i *)(void *)(to + line + at), v[1]);
}
/* the address of word i, for the weight rows of register r, in a room laid out this way */
INLINE const uint8_t *word_at(int xn, const uint8_t *room, int line, int r, int i)
{
	const int low = i % 8, half = low % 4 / 2;

	if (xn != 8)
		return room + r * line + 4 * i;
	return room + 2 * r * line + i / 8 * 64 + half * 32 + (low / 4 * 2 + low % 2) * 8;
}

/* bytes [at, at + n) of rn streams of weights, a way ahead */
INLINE void few_ask(const uint8_t *w, size_t stride, int rn, int at, int n)
{
	for (int i = (at + 63) & ~63; i < at + n; i += 64) {
		UNROLL
		for (int r = 0; r < rn; r++)
			__builtin_prefetch(w + (size_t)r * stride + i, 0, 3);
	}
}

/* a part's sums to lines of rows of x, a weight row `apart` such lines after the one before */
INLINE void few_out(int xn, float *out, size_t apart, const wf *sum, int sums)
{
	const wi order = _mm512_set_epi32(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);

	UNROLL
	for (int i = 0; i < sums; i++) {
		if (xn == 8) {
			wf v = _mm512_permutexvar_ps(order, sum[i]);
			_mm256_store_ps(out + (size_t)(2 * i) * apart * MOST,
			                _mm512_castps512_ps256(v));
			_mm256_store_ps(out + (size_t)(2 * i + 1) * apart * MOST,
			                _mm512_extractf32x8_ps(v, 1));
			continue;
		}
		_mm512_store_ps(out + (size_t)(i / x_regs(xn)) * apart * MOST +
		                        i % x_regs(xn) * WIDE,
		                sum[i]);
	}
}

/* those lines of n weight rows to y of m rows of x */
static void few_put(float *y, size_t ldy, const float *out, int m, int n)
{
	for (int t = 0; t < m; t += WIDE)
		for (int r = 0; r < n; r += WIDE) {
			wf v[16];
			UNROLL
			for (int i = 0; i < 16; i++)
				v[i] = wf_load(out + (r + i) * MOST + t);
			turn_lanes(v);
			UNROLL
			for (int i = 0; i < 16; i++)
				if (t + i < m)
					wf_put(y + (size_t)(t + i) * ldy + r, v[i], n - r);
		}
}

/* Results f32 [MOST] of each weight row, every one `apart` such lines further; weights stride bytes
 * apart.  x: the turned copy of 16 rows; that of the next 16 follows `next` bytes later. */
typedef void few_part(float *out, size_t apart, const uint8_t *w, size_t stride, const void *x,
                      size_t next, int k);
typedef void few_rows(float *y, size_t ldy, const void *w, size_t row_bytes,
                      const struct kern_act *x, int x_row, int m, int n, int k);
/* of a type: parts of 8, 16, 32 rows of x; its registers of sums; and what takes the rest */
struct few {
	few_part *part[3];
	int sums;
	few_rows *rows;
};

/* Multiply n >= rn weight rows as rn streams; a last part repeats rows if rn does not divide n. */
static void few_band(few_part *part, int rn, float *out, const uint8_t *w, size_t row_bytes,
                     const void *x, size_t next, int n, int k)
{
	const int apart = n / rn;

	for (int i = 0; i < apart; i++)
		part(out + i * MOST, (size_t)apart, w + (size_t)i * row_bytes,
		     (size_t)apart * row_bytes, x, next, k);
	if (n % rn)
		part(out + (n - rn) * MOST, 1, w + (size_t)(n - rn) * row_bytes, row_bytes, x, next,
		     k);
}

/* Rows of x by 32, 16 and 8: a part costs little less where lanes are left over.  One or two more,
 * and weight rows too few for a part, by rows: the weights are near by then. */
static void few_run(const struct few *f, float *y, size_t ldy, const uint8_t *w, size_t row_bytes,
                    const struct kern_act *x, int x_row, int m, int n, int k)
{
	_Alignas(64) float out[BAND * MOST];
	const size_t next = kern_turned_bytes(x->form, KERN_TURN, k);

	for (int r = 0, band; r < n; r += band, w += (size_t)band * row_bytes) {
		band = n - r < BAND ? n - r : BAND;
		for (int t = 0, by; t < m; t += by) {
			int left = m - t,
			    p = left > WIDE + 2 ? 2
			        : left > 8      ? 1
			                        : 0,
			    rn = rows_at_once(f->sums, 8 << p);
			float *to = y + (size_t)t * ldy + r;
			by = left < 8 << p ? left : 8 << p;
			if (band < rn || (t && left <= 2)) {
				f->rows(to, ldy, w, row_bytes, x, x_row + t, by, band, k);
				continue;
			}
			few_band(f->part[p], rn, out, w, row_bytes, act_turned(x, x_row + t, k),
			         next, band, k);
			few_put(to, ldy, out, by, band);
		}
	}
}

/* sums_of(type): registers of sums that `loop` has for it */
#define FEW_BY(loop, TYPE, name, xn) \
	NOINLINE void name##_few##xn(float *out, size_t apart, const uint8_t *w, size_t stride, \
	                             const void *x, size_t next, int k) \
	{ \
		loop(INFER_##TYPE, xn, out, apart, w, stride, x, next, k); \
	}
#define FEW_OF(loop, TYPE, name) \
	FEW_BY(loop, TYPE, name, 8) \
	FEW_BY(loop, TYPE, name, 16) \
	FEW_BY(loop, TYPE, name, 32) \
	void KERN_FN(name##_few)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                         const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		const struct few f = { { name##_few8, name##_few16, name##_few32 }, \
			               sums_of(INFER_##TYPE), \
			               KERN_FN(name##_rows) }; \
		few_run(&f, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	}
#endif
