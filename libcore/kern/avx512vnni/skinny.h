/* kern/avx512vnni/skinny.h - code that products with a skinny x (few rows) share: how a matrix and
 * the rows of x are divided into parts, and the lanes of a part.  Lanes are rows of x; a dword of
 * neighbouring weights is broadcast to all lanes, and nothing is packed.
 *
 * A part has 8, 16 or 32 rows of x:
 *   8    lane 2 t + r: row t of x and row r of two neighbouring rows of weights
 *   16   lane t: row t of x
 *   32   lane t of register i: row 16 i + t of x; both registers use the same dwords of weights
 * About SUMS registers of sums are enough independent chains to hide the latency of a product. */
#ifndef KERN_AVX512VNNI_SKINNY_H
#define KERN_AVX512VNNI_SKINNY_H
#include "kern/avx512vnni/int.h"

/* weight rows stored together; rows of x of a register, and of a part; registers of sums */
enum { BAND = SKINNY_BAND, WIDE = 16, X_MAX = 2 * WIDE, SUMS = 12, STREAMS = 2 * SUMS };

/* w_rows_of_reg: weight rows of a register of sums; x_regs: registers of x */
INLINE int w_rows_of_reg(int xn) { return xn == 8 ? 2 : 1; }
INLINE int x_regs(int xn) { return xn == X_MAX ? 2 : 1; }
/* Return the weight rows of a part with `sums` registers of sums. */
INLINE int w_rows_of_part(int sums, int xn) { return sums * w_rows_of_reg(xn) / x_regs(xn); }

/* Broadcast the dword of a weight row at p to all lanes; xn 8: to the even lanes, and the dword of
 * the next row, at p + 4, to the odd lanes. */
INLINE wi lane_word(int xn, const void *p)
{
	return xn == 8 ? _mm512_set1_epi64((long long)num_u64(p)) : wi_set((int32_t)num_u32(p));
}
INLINE wf lane_scale(int xn, const float *p) { return _mm512_castsi512_ps(lane_word(xn, p)); }
/* Load a line of the transposed copy of x.  xn 8: each of the first eight dwords twice. */
INLINE wi lane_x(int xn, const void *p)
{
	const wi twice8 = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);

	return xn == 8 ? _mm512_permutexvar_epi32(twice8, wi_load(p)) : wi_load(p);
}
INLINE wf lane_dx(int xn, const float *p) { return _mm512_castsi512_ps(lane_x(xn, p)); }

/* In assembly: with the intrinsic, gcc 12 copies every sum twice in each iteration. */
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

/* Store 32 unpacked bytes of each of two neighbouring weight rows, at offset `at` of a buffer of
 * `line` bytes per row: row after row; xn 8: interleaved by dwords, in the order of word_at. */
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
/* Return the address of dword i of the weight rows of register r in a buffer of words_put. */
INLINE const uint8_t *word_at(int xn, const uint8_t *buf, int line, int r, int i)
{
	const int low = i % 8, half = low % 4 / 2;

	if (xn != 8)
		return buf + r * line + 4 * i;
	return buf + 2 * r * line + i / 8 * 64 + half * 32 + (low / 4 * 2 + low % 2) * 8;
}

/* Prefetch bytes [at, at + n) of rn streams of weights. */
INLINE void skinny_prefetch(const uint8_t *w, size_t stride, int rn, int at, int n)
{
	for (int i = (at + 63) & ~63; i < at + n; i += 64) {
		UNROLL
		for (int r = 0; r < rn; r++)
			__builtin_prefetch(w + (size_t)r * stride + i, 0, 3);
	}
}

/* Store the sums of a part, a line of X_MAX rows of x for each weight row.  Lines of consecutive
 * weight rows are out_step lines apart. */
INLINE void skinny_store(int xn, float *out, size_t out_step, const wf *sum, int sums)
{
	const wi order = _mm512_set_epi32(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);

	UNROLL
	for (int i = 0; i < sums; i++) {
		if (xn == 8) {
			wf v = _mm512_permutexvar_ps(order, sum[i]);
			_mm256_store_ps(out + (size_t)(2 * i) * out_step * X_MAX,
			                _mm512_castps512_ps256(v));
			_mm256_store_ps(out + (size_t)(2 * i + 1) * out_step * X_MAX,
			                _mm512_extractf32x8_ps(v, 1));
			continue;
		}
		_mm512_store_ps(out + (size_t)(i / x_regs(xn)) * out_step * X_MAX +
		                        i % x_regs(xn) * WIDE,
		                sum[i]);
	}
}

/* Transpose the lines of n weight rows to m rows of y. */
static void skinny_put(float *y, size_t ldy, const float *out, int m, int n)
{
	for (int t = 0; t < m; t += WIDE)
		for (int r = 0; r < n; r += WIDE) {
			wf v[16];
			UNROLL
			for (int i = 0; i < 16; i++)
				v[i] = wf_load(out + (r + i) * X_MAX + t);
			transpose_lanes(v);
			UNROLL
			for (int i = 0; i < 16; i++)
				if (t + i < m)
					wf_put(y + (size_t)(t + i) * ldy + r, v[i], n - r);
		}
}

/* Multiply a part.  out: lines f32 [X_MAX], one for each weight row, out_step lines apart; weight
 * rows are stride bytes apart.  x: transposed copy of 16 rows, the next at x + x_step. */
typedef void skinny_part(float *out, size_t out_step, const uint8_t *w, size_t stride,
                         const void *x, size_t x_step, int k);
typedef void mm_rows_fn(float *y, size_t ldy, const void *w, size_t row_bytes,
                        const struct kern_act *x, int x_row, int m, int n, int k);
/* kernels of a type: parts of 8, 16, 32 rows of x; registers of sums; kernel of remaining rows */
struct skinny {
	skinny_part *part[3];
	int sums;
	mm_rows_fn *rows;
};

/* Multiply n >= rn weight rows as rn streams; the last part may repeat rows. */
static void skinny_band(skinny_part *part, int rn, float *out, const uint8_t *w, size_t row_bytes,
                        const void *x, size_t x_step, int n, int k)
{
	const int out_step = n / rn;

	for (int i = 0; i < out_step; i++)
		part(out + i * X_MAX, (size_t)out_step, w + (size_t)i * row_bytes,
		     (size_t)out_step * row_bytes, x, x_step, k);
	if (n % rn)
		part(out + (n - rn) * X_MAX, 1, w + (size_t)(n - rn) * row_bytes, row_bytes, x,
		     x_step, k);
}

/* Multiply 32, 16 and 8 rows of x at a time: unused lanes cost little.  One or two remaining rows,
 * and bands of fewer weight rows than a part, are multiplied by `rows`: weights are in the cache. */
static void skinny_run(const struct skinny *f, float *y, size_t ldy, const uint8_t *w,
                       size_t row_bytes, const struct kern_act *x, int x_row, int m, int n, int k)
{
	_Alignas(64) float out[BAND * X_MAX];
	const size_t x_step = kern_transposed_bytes(x->form, KERN_LANES, k);

	for (int r = 0, band; r < n; r += band, w += (size_t)band * row_bytes) {
		band = n - r < BAND ? n - r : BAND;
		for (int t = 0, by; t < m; t += by) {
			int left = m - t,
			    p = left > WIDE + 2 ? 2
			        : left > 8      ? 1
			                        : 0,
			    rn = w_rows_of_part(f->sums, 8 << p);
			float *to = y + (size_t)t * ldy + r;
			by = left < 8 << p ? left : 8 << p;
			if (band < rn || (t && left <= 2)) {
				f->rows(to, ldy, w, row_bytes, x, x_row + t, by, band, k);
				continue;
			}
			skinny_band(f->part[p], rn, out, w, row_bytes,
			            act_transposed(x, x_row + t, k), x_step, band, k);
			skinny_put(to, ldy, out, by, band);
		}
	}
}

/* Define the skinny kernel of a type.  loop: computes a part with sums_of(type) registers of sums */
#define SKINNY_BY(loop, TYPE, name, xn) \
	NOINLINE void name##_skinny##xn(float *out, size_t out_step, const uint8_t *w, \
	                                size_t stride, const void *x, size_t x_step, int k) \
	{ \
		loop(INFER_##TYPE, xn, out, out_step, w, stride, x, x_step, k); \
	}
#define SKINNY_OF(loop, TYPE, name) \
	SKINNY_BY(loop, TYPE, name, 8) \
	SKINNY_BY(loop, TYPE, name, 16) \
	SKINNY_BY(loop, TYPE, name, 32) \
	void KERN_FN(name##_skinny)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                            const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		const struct skinny f = { { name##_skinny8, name##_skinny16, name##_skinny32 }, \
			                  sums_of(INFER_##TYPE), \
			                  KERN_FN(name##_rows) }; \
		skinny_run(&f, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	}
#endif
