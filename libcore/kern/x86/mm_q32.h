/* kern/x86/mm_q32.h - products of weights in blocks of 32, or of 64 with two groups of 32, by the
 * operations of int.h (x86).
 *
 *   rows   8 rows in place: unpack a block of each, dot with x, a transposing tree of adds makes 8
 *          sums, one fma.  Types of four bits: the packed bytes of 8 rows are transposed first, which
 *          costs less than adding up unpacked ones, and 4 neighbours of x are multiplied with 8 rows
 *          at once
 *   panel  NR = H registers of LANES rows; per group: d f32 [NR] | m f32 [NR] where there are
 *          minima | q u8 [8][NR][4] (4 neighbours of each row)
 *   tile   NR rows x T rows of x: 4 bytes of x broadcast; the accumulators start from -z sum(x), z
 *          being the zero point
 *   y = fma(d dx, sum q x, y), groups ascending; with m: ymin = fma(m dx, sum x, ymin); y + ymin
 *   a scale for each 16: two integer sums for each group
 *   arithmetic, bytes per flop, limits: ref/mm_q32.c
 *   A folder that includes this file defines ROWS_TYPES(X), the types whose kernels in place are instances
 *     of this one: X(type, name of its functions) */
#include "kern/x86/words.h"

/* Return the sums of 4 products.  The signs are moved to the operand without -128, because -128
 * cannot be negated. */
INLINE __m256i dot32(enum infer_type type, __m256i q, __m256i x, __m256i abs_x)
{
	if (!q_signed(type))
		return dot_us(q, x);
	return q_full_range(type) ? dot_us(_mm256_abs_epi8(q), _mm256_sign_epi8(x, q))
	                          : dot_us(abs_x, _mm256_sign_epi8(q, x));
}

/* 1 if the packed bytes are transposed.  The codes are used as unsigned bytes, plus a zero point;
 * types with a lookup table are transposed only if -128 ... 127 can be shifted to unsigned
 * bytes. */
INLINE int q_transposes(enum infer_type t)
{
	return t == INFER_Q4_0 || t == INFER_Q4_1 || t == INFER_Q4_F || t == INFER_NVFP4_F ||
	       (FLIP != 0 && (t == INFER_IQ4_NL || t == INFER_MXFP4));
}
INLINE __m256i nibble_value(enum infer_type t, __m256i n)
{
	const __m128i iq4 = _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90,
	                                  -75, -59, -39, -15),
		      fp4 = _mm_setr_epi8(-128, -127, -126, -125, -124, -122, -120, -116, -128, 127,
	                                  126, 125, 124, 122, 120, 116);

	return t == INFER_IQ4_NL    ? _mm256_shuffle_epi8(dup128(iq4), n)
	       : t == INFER_MXFP4   ? _mm256_shuffle_epi8(dup128(fp4), n)
	       : t == INFER_NVFP4_F ? fp4_16(n)
	                            : n;
}
/* Load the packed bytes of a block of 8 rows: dword i of all rows to v[i]. */
INLINE void words8(enum infer_type t, __m256i v[8], const uint8_t *w, size_t stride)
{
	transpose16_at(v, w + block_bytes(t) - 16 * q_groups(t), stride);
	if (q_groups(t) == 2)
		transpose16_at(v + 4, w + block_bytes(t) - 16, stride);
}
/* Unpack the weights of group g: 4 neighbours of each row in q[i]. */
INLINE void nibbles8(enum infer_type t, __m256i q[8], const __m256i v[8], int g)
{
	UNROLL
	for (int i = 0; i < 8; i++) {
		const int high = q_halves(t)        ? i / 2 % 2
		                 : q_groups(t) == 2 ? g
		                                    : i / 4,
			  at = q_halves(t)        ? 4 * g + i / 4 * 2 + i % 2
		               : q_groups(t) == 2 ? i
		                                  : i % 4;
		q[i] = nibble_value(t, high ? shr4(v[at]) : low4(v[at]));
	}
}
INLINE __m256i transposed_dots(enum infer_type t, const __m256i q[8], const struct kern_q8 *x)
{
	__m256i a = _mm256_setzero_si256(), b = a;

	if (q_signed(t))
		a = _mm256_slli_epi32(_mm256_set1_epi32(x->neg_sum), 7);
	else if (q_zero(t))
		a = times_zero(t, _mm256_set1_epi32(x->neg_sum));
	UNROLL
	for (int i = 0; i < 8; i += 2) {
		a = dot_add(a, q[i], _mm256_set1_epi32((int)num_u32(x->q + 4 * i)));
		b = dot_add(b, q[i + 1], _mm256_set1_epi32((int)num_u32(x->q + 4 * i + 4)));
	}
	return _mm256_add_epi32(a, b);
}

INLINE __m256i dots8(enum infer_type type, const __m256i q[8], const struct kern_q8 *x)
{
	__m256i a[8], xv = load32(x->q), is;

	if (q_transposes(type))
		return transposed_dots(type, q, x);
	UNROLL
	for (int r = 0; r < 8; r++)
		a[r] = dot32(type, q[r], xv, _mm256_abs_epi8(xv));
	is = hsum8(a);
	return q_zero(type) ? _mm256_add_epi32(is, times_zero(type, _mm256_set1_epi32(x->neg_sum)))
	                    : is;
}

/* Return d[0] isum0 + d[1] isum1, where isum0 and isum1 are the sums of the halves of a group. */
INLINE __m256 halves8(const __m256i q[8], const struct kern_q8 *x, const __m256 d[2])
{
	const __m256i zero = _mm256_setzero_si256(), z = _mm256_set1_epi8(16);
	__m256i a = zero, b = _mm256_slli_epi32(_mm256_set1_epi32(x->neg_sum), 4), x16 = zero;

	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i v = _mm256_set1_epi32((int)num_u32(x->q + 4 * i));
		a = dot_add(a, q[i], v);
		x16 = dot_add(x16, z, v);
		b = dot_add(b, q[i + 4], _mm256_set1_epi32((int)num_u32(x->q + 4 * i + 16)));
	}
	a = _mm256_sub_epi32(a, x16);
	b = _mm256_add_epi32(b, x16);
	return _mm256_fmadd_ps(d[1], _mm256_cvtepi32_ps(b),
	                       _mm256_mul_ps(d[0], _mm256_cvtepi32_ps(a)));
}

/* Add group g of a block of 8 rows to the sums of a row of x.  d: from headers32. */
INLINE void group_add(enum infer_type type, __m256 *sum, __m256 *min, const __m256i q[8],
                      const __m256 d[4], int g, const struct kern_q8 *x)
{
	const __m256 dx = _mm256_set1_ps(x->d);

	if (q_halves(type)) {
		*sum = _mm256_fmadd_ps(dx, halves8(q, x, d + 2 * g), *sum);
		return;
	}
	*sum = _mm256_fmadd_ps(_mm256_mul_ps(d[0], dx), _mm256_cvtepi32_ps(dots8(type, q, x)),
	                       *sum);
	if (q_minima(type))
		*min = _mm256_fnmadd_ps(_mm256_mul_ps(d[1], dx),
		                        _mm256_cvtepi32_ps(_mm256_set1_epi32(x->neg_sum)), *min);
}

INLINE void rows32(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                   const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type), groups = q_groups(type);
	const struct kern_q8 *xb = act_q8(x, x_row);
	const uint8_t *w = s->w;
	__m256 sum[4], min[4];

	UNROLL
	for (int t = 0; t < tn; t++)
		sum[t] = min[t] = _mm256_setzero_ps();
	for (int b = 0; b < k / 32 / groups; b++, w += bytes) {
		const struct rows8 e = rows8_at(w, s->stride);
		__m256i q[8], v[8];
		__m256 d[4];
		headers32(type, d, &e, 0);
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		if (q_transposes(type))
			words8(type, v, w, s->stride);
		UNROLL
		for (int g = 0; g < groups; g++, xb++) {
			if (q_transposes(type)) {
				nibbles8(type, q, v, g);
			} else {
				UNROLL
				for (int r = 0; r < 8; r++)
					q[r] = unpack32(type, w + (size_t)r * s->stride, g);
			}
			UNROLL
			for (int t = 0; t < tn; t++)
				group_add(type, &sum[t], &min[t], q, d, g, row_of(xb, x->q_row, t));
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, q_minima(type) ? _mm256_add_ps(sum[t], min[t]) : sum[t],
		     s);
}

/* Return the number of float vectors of a group: d, and m or the scales of the last 16. */
INLINE int fields32(enum infer_type type) { return q_minima(type) || q_halves(type) ? 2 : 1; }
INLINE int panel32(enum infer_type type) { return NR * 4 * (8 + fields32(type)); }

/* Pack n of eight rows at dst in a panel. */
INLINE void pack8(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                  int k)
{
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(type) ? FLIP : 0));
	const struct rows8 e = rows8_clamped(w, row_bytes, n);
	const int groups = q_groups(type), bytes = block_bytes(type);
	uint8_t *q = dst + NR * 4 * fields32(type);

	for (int b = 0; b < k / 32 / groups; b++) {
		const size_t at = (size_t)b * (size_t)bytes;
		__m256 d[4];
		headers32(type, d, &e, at);
		UNROLL
		for (int g = 0; g < groups; g++, dst += panel32(type), q += panel32(type)) {
			__m256i v[8];
			UNROLL
			for (int r = 0; r < 8; r++)
				v[r] = _mm256_xor_si256(unpack32(type, e.p[r] + at, g), flip);
			transpose8(v);
			UNROLL
			for (int i = 0; i < 8; i++)
				_mm256_storeu_si256((__m256i *)(void *)(q + i * NR * 4), v[i]);
			UNROLL
			for (int i = 0; i < fields32(type); i++)
				_mm256_storeu_ps((float *)(void *)(dst + i * NR * 4),
				                 d[q_halves(type) ? 2 * g + i : i]);
		}
	}
}

/* Pack some blocks of all rows, then the next blocks: eight rows fill a cache line of the panel
 * only in part, and the other rows complete it while it is in L1. */
INLINE void pack32(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                   int k)
{
	enum { SOME = 8 * 32 };

	for (; k > 0; k -= SOME, w += SOME / 32 / q_groups(type) * block_bytes(type),
	              dst += SOME / 32 * panel32(type))
		for (int h = 0; h < NR; h += 8) {
			int from = h < n ? h : n - 1;
			pack8(type, dst + h * 4, w + (size_t)from * row_bytes, row_bytes,
			      h < n ? n - h : 1, k < SOME ? k : SOME);
		}
}

INLINE const struct kern_q8 *x_q8(const struct x_rows *l, int t) { return x_row_at(l, t); }

/* Return the start value of the accumulators: the zero point times -sum(x). */
INLINE wi start32(enum infer_type type, int32_t neg_sum)
{
	switch (q_signed(type) ? FLIP : q_zero(type)) {
	case 0:
		return wi_set(0);
	case 8:
		return wi_shl(wi_set(neg_sum), 3);
	case 16:
		return wi_shl(wi_set(neg_sum), 4);
	case 128:
		return wi_shl(wi_set(neg_sum), 7);
	default:
		kern_no_case();
	}
}

/* isum[t][h] += the products of words [from, to) of one group. */
INLINE void dots_add(enum infer_type type, int tn, wi *is, const uint8_t *q, const struct x_rows *x,
                     int from, int to)
{
	UNROLL
	for (int i = from; i < to; i++) {
		wi w[H];
		UNROLL
		for (int h = 0; h < H; h++)
			w[h] = wi_load(q + i * NR * 4 + h * LANES * 4);
		UNROLL
		for (int t = 0; t < tn; t++) {
			wi xv = wi_set((int32_t)num_u32(x_q8(x, t)->q + 4 * i));
			UNROLL
			for (int h = 0; h < H; h++)
				is[t * H + h] = q_signed(type) ? wi_dot_ws(is[t * H + h], w[h], xv)
				                               : wi_dot(is[t * H + h], w[h], xv);
		}
	}
}
/* Compute isum[t][h] of one group. */
INLINE void dots32(enum infer_type type, int tn, wi *is, const uint8_t *q, const struct x_rows *x)
{
	UNROLL
	for (int t = 0; t < tn; t++) {
		wi start = start32(type, x_q8(x, t)->neg_sum);
		UNROLL
		for (int h = 0; h < H; h++)
			is[t * H + h] = start;
	}
	dots_add(type, tn, is, q, x, 0, 8);
}

/* Return 16 times the sum of the first 16 bytes of a row of x. */
INLINE wi sum16(const struct kern_q8 *x)
{
	wi a = wi_set(0);

	UNROLL
	for (int i = 0; i < 4; i++)
		a = wi_dot(a, wi_set(0x10101010), wi_set((int32_t)num_u32(x->q + 4 * i)));
	return a;
}
INLINE void tile16(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                   const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8 *xb = act_q8(x, x_row);
	wf sum[TILE_T * H];

	UNROLL
	for (int i = 0; i < tn * H; i++)
		sum[i] = wf_set(0);
	for (int b = 0; b < k / 32; b++, p += panel32(type), xb++) {
		const struct x_rows at = x_rows_at(xb, x->q_row);
		const uint8_t *q = p + NR * 4 * fields32(type);
		wi first[TILE_T * H], last[TILE_T * H];
		prefetch_next(x, 8);
		UNROLL
		for (int t = 0; t < tn; t++) {
			wi x16 = sum16(x_q8(&at, t)), x32 = start32(type, x_q8(&at, t)->neg_sum);
			UNROLL
			for (int h = 0; h < H; h++) {
				first[t * H + h] = wi_sub(wi_set(0), x16);
				last[t * H + h] = wi_add(x32, x16);
			}
		}
		dots_add(type, tn, first, q, &at, 0, 4);
		dots_add(type, tn, last, q, &at, 4, 8);
		UNROLL
		for (int i = 0; i < tn * H; i++) {
			wf both = wf_mul(wf_load(p + i % H * LANES * 4), wf_from(first[i]));
			both = wf_fma(wf_load(p + NR * 4 + i % H * LANES * 4), wf_from(last[i]),
			              both);
			sum[i] = wf_fma(wf_set(x_q8(&at, i / H)->d), both, sum[i]);
		}
	}
	UNROLL
	for (int i = 0; i < tn * H; i++)
		wf_put(y + (size_t)(i / H) * ldy + i % H * LANES, sum[i], n - i % H * LANES);
}

INLINE void tile32(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                   const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8 *xb = act_q8(x, x_row);
	wf sum[TILE_T * H], min[TILE_T * H];

	UNROLL
	for (int i = 0; i < tn * H; i++)
		sum[i] = min[i] = wf_set(0);
	for (int b = 0; b < k / 32; b++, p += panel32(type), xb++) {
		const struct x_rows at = x_rows_at(xb, x->q_row);
		wi is[TILE_T * H];
		prefetch_next(x, 8);
		dots32(type, tn, is, p + NR * 4 * fields32(type), &at);
		UNROLL
		for (int i = 0; i < tn * H; i++) {
			const struct kern_q8 *xt = x_q8(&at, i / H);
			wf dx = wf_set(xt->d);
			sum[i] = wf_fma(wf_mul(wf_load(p + i % H * LANES * 4), dx), wf_from(is[i]),
			                sum[i]);
			if (q_minima(type))
				min[i] =
					wf_fnma(wf_mul(wf_load(p + NR * 4 + i % H * LANES * 4), dx),
				                wf_from(wi_set(xt->neg_sum)), min[i]);
		}
	}
	UNROLL
	for (int i = 0; i < tn * H; i++)
		wf_put(y + (size_t)(i / H) * ldy + i % H * LANES,
		       q_minima(type) ? wf_add(sum[i], min[i]) : sum[i], n - i % H * LANES);
}

#define ROW(TYPE, name) ROWS_OF(rows32, TYPE, name)
ROWS_TYPES(ROW)
#undef ROW
#define PACK_OF(TYPE, name) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack32(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 32) * (size_t)panel32(INFER_##TYPE); \
	}
#define ROW(TYPE, name) PACK_OF(TYPE, name) TILE_OF(tile32, TYPE, name, TILE_T)
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
#undef ROW
#define ROW(TYPE, name) PACK_OF(TYPE, name) TILE_OF(tile16, TYPE, name, TILE_T)
KERN_ROWS_16(ROW)
#undef ROW
