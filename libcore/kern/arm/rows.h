/* kern/arm/rows.h - quantised products with the weights in place, over the operations of int.h (neon
 * folders).  Eight rows at a time, by fours: unpack a row, dot with x; a tree of pairwise adds makes 4
 * sums, one fma.
 *
 *   of 32, 64  y = fma(d dx, sum q x, y), groups of 32 ascending; with m: ymin = fma(m dx, sum x, ymin),
 *            added at the end
 *   of 256   isum = sum of S (q . x), exact; y = fma(d dx, isum, y); imin = sum of M sum(x), exact;
 *            ymin = fma(dmin dx, imin, ymin); y - ymin at the end
 *   bytes per flop and limits: ref/mm_q32.c, ref/mm_q256.c */
#include "kern/arm/words.h"

WORD(dot16, int32x4_t, int32x4_t, int8x16_t, int8x16_t);

INLINE int32x4_t sums4(const int32x4_t a[4])
{
	return vpaddq_s32(vpaddq_s32(a[0], a[1]), vpaddq_s32(a[2], a[3]));
}

INLINE void put8(float *y, float32x4_t a, float32x4_t b, const struct row_group *s)
{
	float t[8];

	vst1q_f32(t, a);
	vst1q_f32(t + 4, b);
	for (int r = 0; r < s->n_out; r++)
		y[(size_t)r * s->y_step] = t[r];
}

/* Add group g of the blocks at p of four rows to the sums of each row of x (two registers
 * apart). */
INLINE void rows32_by4(enum infer_type type, int tn, float32x4_t *sum, float32x4_t *min,
                       const uint8_t *p, size_t stride, int g, const struct kern_q8 *xb,
                       size_t x_row)
{
	float32x4_t d = scales32(type, p, stride), m = d;
	int32x4_t a[4][4];

	if (q_minima(type))
		m = minima32(type, p, stride);
	UNROLL
	for (int r = 0; r < 4; r++) {
		int8x16_t q[2];
		unpack32(type, q, p + (size_t)r * stride, g);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8 *xt = row_of(xb, x_row, t);
			a[t][r] = dot16(vdupq_n_s32(0), q[0], vld1q_s8(xt->q));
			a[t][r] = dot16(a[t][r], q[1], vld1q_s8(xt->q + 16));
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8 *xt = row_of(xb, x_row, t);
		sum[2 * t] =
			vfmaq_f32(sum[2 * t], vmulq_n_f32(d, xt->d), vcvtq_f32_s32(sums4(a[t])));
		if (q_minima(type))
			min[2 * t] =
				vfmaq_n_f32(min[2 * t], vmulq_n_f32(m, xt->d), (float)-xt->neg_sum);
	}
}

/* Likewise for blocks with a scale for each 16. */
INLINE void rows16_by4(enum infer_type type, int tn, float32x4_t *sum, const uint8_t *p,
                       size_t stride, int g, const struct kern_q8 *xb, size_t x_row)
{
	const float32x4_t d0 = scales16(p, stride, 2 * g), d1 = scales16(p, stride, 2 * g + 1);
	int32x4_t a[4][4], b[4][4];

	UNROLL
	for (int r = 0; r < 4; r++) {
		int8x16_t q[2];
		unpack32(type, q, p + (size_t)r * stride, g);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8 *xt = row_of(xb, x_row, t);
			a[t][r] = dot16(vdupq_n_s32(0), q[0], vld1q_s8(xt->q));
			b[t][r] = dot16(vdupq_n_s32(0), q[1], vld1q_s8(xt->q + 16));
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8 *xt = row_of(xb, x_row, t);
		float32x4_t both = vmulq_f32(d0, vcvtq_f32_s32(sums4(a[t])));
		both = vfmaq_f32(both, d1, vcvtq_f32_s32(sums4(b[t])));
		sum[2 * t] = vfmaq_n_f32(sum[2 * t], both, xt->d);
	}
}

INLINE void rows32(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                   const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type), groups = q_groups(type);
	const struct kern_q8 *xb = act_q8(x, x_row);
	const uint8_t *w = s->w;
	float32x4_t sum[8], min[8];

	UNROLL
	for (int i = 0; i < 2 * tn; i++)
		sum[i] = min[i] = vdupq_n_f32(0);
	for (int b = 0; b < k / 32 / groups; b++, w += bytes) {
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		UNROLL
		for (int g = 0; g < groups; g++, xb++) {
			UNROLL
			for (int h = 0; h < 2; h++) {
				const uint8_t *p = w + (size_t)(4 * h) * s->stride;
				if (q_halves(type))
					rows16_by4(type, tn, sum + h, p, s->stride, g, xb,
					           x->q_row);
				else
					rows32_by4(type, tn, sum + h, min + h, p, s->stride, g, xb,
					           x->q_row);
			}
		}
	}
	if (q_minima(type)) {
		UNROLL
		for (int i = 0; i < 2 * tn; i++)
			sum[i] = vaddq_f32(sum[i], min[i]);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, sum[2 * t], sum[2 * t + 1], s);
}

/* Set acc[t] to partial sums of isum of a block of one row. */
INLINE void isum256(enum infer_type type, int tn, int32x4_t *acc, const struct header *h,
                    const uint8_t *p, const struct kern_q8k *xb, size_t x_row)
{
	UNROLL
	for (int t = 0; t < tn; t++)
		acc[t] = vdupq_n_s32(0);
	UNROLL
	for (int i = 0; i < 4; i++) {
		int8x16_t q[4];
		unpack256(type, q, p, i);
		UNROLL
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = row_of(xb, x_row, t);
			int32x4_t a[4];
			UNROLL
			for (int j = 0; j < 4; j++) {
				int carry = !by16(type) && !is_ternary(type) && j & 1;
				a[j] = dot16(carry ? a[j - 1] : vdupq_n_s32(0), q[j],
				             vld1q_s8(xt->q + 64 * i + 16 * j));
				if (is_ternary(type))
					acc[t] = vaddq_s32(acc[t], a[j]);
				else if (by16(type))
					acc[t] = vmlaq_n_s32(acc[t], a[j], h->s[4 * i + j]);
				else if (j & 1)
					acc[t] = vmlaq_n_s32(acc[t], a[j], h->s[2 * i + j / 2]);
			}
		}
	}
}

/* Return partial sums of imin. */
INLINE int32x4_t imin256(enum infer_type type, const struct header *h, const struct kern_q8k *x)
{
	const int16_t *of = by16(type) ? x->s16 : x->s32;
	int16x8_t m = vld1q_s16(h->m), s = vld1q_s16(of);
	int32x4_t r = vmull_high_s16(m, s);

	r = vmlal_s16(r, vget_low_s16(m), vget_low_s16(s));
	if (by16(type)) {
		m = vld1q_s16(h->m + 8);
		s = vld1q_s16(of + 8);
		r = vmlal_s16(vmlal_high_s16(r, m, s), vget_low_s16(m), vget_low_s16(s));
	}
	return r;
}

INLINE float32x4_t scales256(enum infer_type type, const uint8_t *p, size_t stride)
{
	if (!is_grid(type))
		return f16x4(p + q_scale_at(type), stride);
	const float d[4] = { scale256(type, p), scale256(type, p + stride),
		             scale256(type, p + 2 * stride), scale256(type, p + 3 * stride) };
	return vld1q_f32(d);
}

/* Add a block of four rows to the sums of each row of x (two registers apart). */
INLINE void rows256_by4(enum infer_type type, int tn, float32x4_t *sum, float32x4_t *min,
                        const uint8_t *p, size_t stride, const struct kern_q8k *xb, size_t x_row)
{
	float32x4_t d = scales256(type, p, stride), dmin = d;
	int32x4_t a[4][4], m[4][4];

	if (q_minima(type))
		dmin = f16x4(p + q_scale_at(type) + 2, stride);
	for (int r = 0; r < 4; r++, p += stride) {
		struct header h;
		int32x4_t acc[4];
		header_get(type, &h, p);
		isum256(type, tn, acc, &h, p, xb, x_row);
		UNROLL
		for (int t = 0; t < tn; t++) {
			a[t][r] = acc[t];
			if (q_minima(type))
				m[t][r] = imin256(type, &h, row_of(xb, x_row, t));
		}
	}
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8k *xt = row_of(xb, x_row, t);
		sum[2 * t] =
			vfmaq_f32(sum[2 * t], vmulq_n_f32(d, xt->d), vcvtq_f32_s32(sums4(a[t])));
		if (q_minima(type))
			min[2 * t] = vfmaq_f32(min[2 * t], vmulq_n_f32(dmin, xt->d),
			                       vcvtq_f32_s32(sums4(m[t])));
	}
}

INLINE void rows256(enum infer_type type, int tn, float *y, size_t ldy, const struct row_group *s,
                    const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(type);
	const uint8_t *w = s->w;
	float32x4_t sum[8], min[8];

	UNROLL
	for (int i = 0; i < 2 * tn; i++)
		sum[i] = min[i] = vdupq_n_f32(0);
	for (int b = 0; b < k / 256; b++, w += bytes) {
		prefetch8(s->w, s->stride, b * bytes, (b + 1) * bytes);
		UNROLL
		for (int h = 0; h < 2; h++)
			rows256_by4(type, tn, sum + h, min + h, w + (size_t)(4 * h) * s->stride,
			            s->stride, act_q8k(x, x_row) + b, x->q_row);
	}
	if (q_minima(type)) {
		UNROLL
		for (int i = 0; i < 2 * tn; i++)
			sum[i] = vsubq_f32(sum[i], min[i]);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, sum[2 * t], sum[2 * t + 1], s);
}

#define ROW(TYPE, name) ROWS_OF(rows32, TYPE, name)
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
KERN_ROWS_16(ROW)
#undef ROW
#define ROW(TYPE, name) ROWS_OF(rows256, TYPE, name)
KERN_ROWS_256(ROW)
KERN_ROWS_GRID(ROW)
KERN_ROWS_TERNARY(ROW)
#undef ROW
