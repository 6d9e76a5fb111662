/* Products of a few rows of x with weights in blocks of 32, which stay where they lie: lanes are rows
 * of x, so four neighbouring weights are one word for all of them and nothing is packed.
 *
 *   x      struct kern_turned: 16 rows; of each block 8 registers, four neighbours of a row in a lane
 *   block  of R rows of weights, unpacked to a room in the first cache while the block before is
 *          multiplied; each word of it goes into all lanes of a register, for 8, 16, 24 or 32 rows
 *          of x
 *   y = fma(d dx, sum q x, y), blocks ascending; with m a second chain fma(m dx, sum x, .) is added
 *   at the end
 *   bytes per flop and limits: ref/mm_q32.c */
#include "kern/avx512vnni/int.h"

/* weight rows that are streams of memory together, and whose results go to y together; rows of x in a
 * register, and in a call of a part */
enum { BAND = 48, WIDE = 16, MOST = 2 * WIDE };

/* Weight rows taken together: as many as sums of both chains and of integers have registers for, by
 * eights of rows of x. */
INLINE int rows_at_once(enum infer_type t, int eights)
{
	return (q_minima(t) ? 4 : 6) * (eights > 2 ? 1 : 2);
}

/* a block of each, as unsigned bytes */
struct room {
	uint8_t q[12][32];
	float d[12], m[12];
};
INLINE float half_at(const uint8_t *p)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(num_u16(p))));
}
/* 2^(e - 128) as powers_of */
INLINE float power_at(const uint8_t *p)
{
	uint32_t e = *p;

	return num_float(e == 255 ? 0x7fc00000 : e < 2 ? 0x00200000u << e : (e - 1) << 23);
}
INLINE void room_fill(enum infer_type t, struct room *to, int rn, const uint8_t *w, size_t stride)
{
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(t) ? FLIP : 0));

	UNROLL
	for (int r = 0; r < rn; r++, w += stride) {
		__m256i q = _mm256_xor_si256(unpack32(t, w), flip);
		_mm256_store_si256((__m256i *)(void *)to->q[r], q);
		to->d[r] = t == INFER_MXFP4 ? power_at(w) : half_at(w);
		if (q_minima(t))
			to->m[r] = half_at(w + 2);
	}
}

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

/* what the accumulators start from: the zero point times minus sum(x) */
INLINE wi few_start(enum infer_type t, wi minus)
{
	switch (q_signed(t) ? FLIP : q_zero(t)) {
	case 0:
		return wi_set(0);
	case 8:
		return wi_shl(minus, 3);
	case 16:
		return wi_shl(minus, 4);
	default:
		return wi_shl(minus, 7);
	}
}

/* isum[r][g] of one block; x[g]: 16 rows of x */
INLINE void few_dots(enum infer_type t, int eights, wi *is, const struct room *q,
                     const struct kern_turned *const x[2])
{
	const int rn = rows_at_once(t, eights), gn = (eights + 1) / 2;

	UNROLL
	for (int i = 0; i < rn * gn; i++)
		is[i] = few_start(t, wi_load(x[i % gn]->minus));
	UNROLL
	for (int i = 0; i < 8; i++) {
		wi xv[2];
		UNROLL
		for (int g = 0; g < gn; g++)
			xv[g] = wi_load(x[g]->q[i]);
		UNROLL
		for (int r = 0; r < rn; r++) {
			wi w = lane_word(eights == 1, q->q[r] + 4 * i);
			UNROLL
			for (int g = 0; g < gn; g++)
				is[r * gn + g] = lane_dot(2 * g + 1 == eights, is[r * gn + g], w, xv[g]);
		}
	}
}

/* Of `eights` times 8 rows of x, and rows_at_once weight rows stride bytes apart; their results
 * [MOST] apart lines of that apart.  x and next: of 16 rows, and blocks from there to the same one of
 * the next 16. */
INLINE void few32(enum infer_type t, int eights, float *out, size_t apart, const uint8_t *w,
                  size_t stride, const struct kern_turned *x, size_t next, int k)
{
	const int rn = rows_at_once(t, eights), gn = (eights + 1) / 2, bytes = q_bytes(t);
	_Alignas(64) struct room room[2];
	wf sum[12], min[12];

	UNROLL
	for (int i = 0; i < rn * gn; i++)
		sum[i] = min[i] = wf_set(0);
	room_fill(t, &room[0], rn, w, stride);
	for (int b = 0, at = 0; b < k / 32; b++, x++) {
		const struct kern_turned *const at_x[2] = {x, x + next};
		const struct room *q = &room[b % 2];
		wi is[12];
		for (int i = (at + 63) & ~63; i < at + bytes; i += 64) {
			UNROLL
			for (int r = 0; r < rn; r++)
				__builtin_prefetch(w + (size_t)r * stride + KERN_AHEAD + i, 0, 3);
		}
		at += b + 1 < k / 32 ? bytes : 0;
		room_fill(t, &room[(b + 1) % 2], rn, w + at, stride);
		few_dots(t, eights, is, q, at_x);
		UNROLL
		for (int i = 0; i < rn * gn; i++) {
			int half = i % gn * 2 + 1 == eights;
			wf dx = wf_load(at_x[i % gn]->d);
			sum[i] = lane_add(half, sum[i], wf_set(q->d[i / gn]), dx, is[i]);
			if (q_minima(t))
				min[i] = lane_take(half, min[i], wf_set(q->m[i / gn]), dx,
				                   wi_load(at_x[i % gn]->minus));
		}
	}
	UNROLL
	for (int i = 0; i < rn * gn; i++)
		_mm512_store_ps(out + (size_t)(i / gn) * apart * MOST + i % gn * WIDE,
		                q_minima(t) ? wf_add(sum[i], min[i]) : sum[i]);
}

/* 16 x 16 numbers, rows MOST apart -> v[i]: number i of all rows */
INLINE void turn_16(wf v[16], const float *p)
{
	wf a[16];

	UNROLL
	for (int i = 0; i < 16; i += 2) {
		wf x = wf_load(p + i * MOST), y = wf_load(p + (i + 1) * MOST);
		a[i] = _mm512_unpacklo_ps(x, y);
		a[i + 1] = _mm512_unpackhi_ps(x, y);
	}
	UNROLL
	for (int i = 0; i < 16; i += 4) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			__m512d x = _mm512_castps_pd(a[i + h]), y = _mm512_castps_pd(a[i + h + 2]);
			v[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
			v[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
		}
	}
	/* v[4 j + i]: rows 4 j ..., numbers i, i + 4, i + 8, i + 12 */
	UNROLL
	for (int i = 0; i < 4; i++) {
		UNROLL
		for (int h = 0; h < 2; h++) {
			a[8 * h + i] = _mm512_shuffle_f32x4(v[8 * h + i], v[8 * h + 4 + i], 0x88);
			a[8 * h + 4 + i] = _mm512_shuffle_f32x4(v[8 * h + i], v[8 * h + 4 + i], 0xdd);
		}
	}
	UNROLL
	for (int i = 0; i < 8; i++) {
		v[i] = _mm512_shuffle_f32x4(a[i], a[8 + i], 0x88);
		v[i + 8] = _mm512_shuffle_f32x4(a[i], a[8 + i], 0xdd);
	}
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

typedef void few_part(float *out, size_t apart, const uint8_t *w, size_t stride,
                      const struct kern_turned *x, size_t next, int k);

/* Some weight rows of a matrix, as one stream for each that a part takes; what those leave is taken
 * with rows before it, and fewer go row by row. */
static void few_band(few_part *part, int rn, float *out, const uint8_t *w, size_t row_bytes,
                     const struct kern_turned *x, int n, int k)
{
	const int apart = n / rn;

	for (int i = 0; i < apart; i++)
		part(out + i * MOST, (size_t)apart, w + (size_t)i * row_bytes,
		     (size_t)apart * row_bytes, x, (size_t)k / 32, k);
	if (apart && n % rn)
		part(out + (n - rn) * MOST, 1, w + (size_t)(n - rn) * row_bytes, row_bytes, x,
		     (size_t)k / 32, k);
	for (int i = 0; !apart && i < n; i++)
		part(out + i * MOST, 0, w + (size_t)i * row_bytes, 0, x, (size_t)k / 32, k);
}

/* parts and how many weight rows they take, by eights of rows of x */
static void few_run(few_part *const part[4], const int rows[4], float *y, size_t ldy,
                    const uint8_t *w, size_t row_bytes, const struct kern_act *x, int x_row, int m,
                    int n, int k)
{
	_Alignas(64) float out[BAND * MOST];

	for (int r = 0, band; r < n; r += band, w += (size_t)band * row_bytes) {
		band = n - r < BAND ? n - r : BAND;
		for (int t = 0, by; t < m; t += by) {
			by = m - t < MOST ? m - t : MOST;
			int p = (by - 1) / 8;
			few_band(part[p], rows[p], out, w, row_bytes, act_turned(x, x_row + t, k),
			         band, k);
			few_put(y + (size_t)t * ldy + r, ldy, out, by, band);
		}
	}
}

/* the last row again for those of 16 that there are not */
void KERN_FN(turn_q8)(struct kern_act *x, int row, int m, int k, int from, int to)
{
	struct kern_turned *out = act_turned(x, row, k);

	for (int b = from; b < to; b++)
		for (int h = 0; h < WIDE; h += 8) {
			__m256i v[8];
			for (int r = 0; r < 8; r++) {
				int t = h + r < m ? h + r : m - 1;
				const struct kern_q8 *q = act_q8(x, row + t) + b;
				v[r] = load32(q->q);
				out[b].d[h + r] = q->d;
				out[b].minus[h + r] = q->minus;
			}
			turn8(v);
			UNROLL
			for (int i = 0; i < 8; i++)
				_mm256_store_si256((__m256i *)(void *)out[b].q[i][h], v[i]);
		}
}

#define PART(TYPE, name, eights) \
	NOINLINE void name##_few##eights(float *out, size_t apart, const uint8_t *w, size_t stride, \
	                                 const struct kern_turned *x, size_t next, int k) \
	{ \
		few32(INFER_##TYPE, eights, out, apart, w, stride, x, next, k); \
	}
#define ROW(TYPE, name) \
	PART(TYPE, name, 1) \
	PART(TYPE, name, 2) \
	PART(TYPE, name, 3) \
	PART(TYPE, name, 4) \
	void KERN_FN(name##_few)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                         const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		static few_part *const part[4] = {name##_few1, name##_few2, name##_few3, \
		                                  name##_few4}; \
		const int rows[4] = {rows_at_once(INFER_##TYPE, 1), rows_at_once(INFER_##TYPE, 2), \
		                     rows_at_once(INFER_##TYPE, 3), rows_at_once(INFER_##TYPE, 4)}; \
		few_run(part, rows, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	}
KERN_ROWS_32(ROW)
#undef ROW
