/* kern/arm/tile.h - products with panels of quantised weights, by the operations of int.h (neon
 * folders).  A panel holds NR = 8 weight rows.  Their products with one row of x are 8 sums, which
 * fill two registers.
 *
 *   panel of 32    per group: d f32 [8] | m f32 [8] where there are minima, or the scales of the last 16 | q
 *   panel of 256   per block: d f32 [8] | dmin f32 [8] and M i16 [8 or 16][8] where there are minima, M
 *                  in the order of the sums in kern_q8k | S i32 [8 or 16][WIDE][4] | q
 *   q              i8 [k / 16][128]: 16 weights of each row, in the order of chain16
 *   WIDE           registers that one step of chain16 updates: 2, of the 8 rows for one row of x; or 4,
 *                  of pairs of weight rows and pairs of rows of x, which unpair_rows separates
 *   Q2_K and Q3_K store S q and -S q, which fit 8 bits: there is no S, and a block is one chain of dots;
 *   ternary types have no S either
 *   y, bytes per flop and limits: arm/rows.h */
#include "kern/arm/words.h"

_Static_assert(WIDE == 2 || WIDE == 4, "WIDE: registers of one turn of chain16");
WORD(transpose16, void, int8_t *, const int8x16_t *);
WORD(chain16, void, int, int32x4_t *, const int8_t *, const struct x_rows *, int);
WORD(unpair_rows, void, int, int32x4_t *);

enum { NR = 8, CHUNK = 16 * NR };

/* Return the registers of sums of tn rows of x. */
INLINE int regs(int tn) { return (tn * 2 + WIDE - 1) / WIDE * WIDE; }

INLINE int k_minima(enum infer_type t) { return !q_minima(t) ? 0 : by16(t) ? 16 : 8; }
INLINE int k_scales(enum infer_type t)
{
	return t == INFER_Q3_K || t == INFER_Q2_K || is_ternary(t) ? 0 : by16(t) ? 16 : 8;
}
/* Return the number of float vectors of a group: d, and m or the scales of the last 16. */
INLINE int fields32(enum infer_type t) { return q_minima(t) || q_halves(t) ? 2 : 1; }
INLINE size_t panel32(enum infer_type t) { return (size_t)(NR * 4 * fields32(t)) + 2 * CHUNK; }
INLINE size_t panel256(enum infer_type t)
{
	return (size_t)NR * 4 * (q_minima(t) ? 2 : 1) + (size_t)k_minima(t) * NR * 2 +
	       (size_t)k_scales(t) * WIDE * 16 + 16 * CHUNK;
}

/* Return the address of row r of n; rows past the end repeat the last. */
INLINE const uint8_t *row_at(const uint8_t *w, size_t row_bytes, int r, int n)
{
	return w + (size_t)(r < n ? r : n - 1) * row_bytes;
}

INLINE void pack32(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                   int k)
{
	const int groups = q_groups(type);

	for (int b = 0; b < k / 32; b++, dst += panel32(type)) {
		float *d = (float *)(void *)dst;
		int8_t *q = (int8_t *)(d + NR * fields32(type));
		int8x16_t u[2][NR];
		UNROLL
		for (int r = 0; r < NR; r++) {
			const uint8_t *p = row_at(w, row_bytes, r, n);
			int8x16_t both[2];
			unpack32(type, both, p, b % groups);
			u[0][r] = both[0];
			u[1][r] = both[1];
			UNROLL
			for (int i = 0; i < fields32(type); i++)
				d[NR * i + r] = field_at(type, p, b % groups, i);
		}
		transpose16(q, u[0]);
		transpose16(q + CHUNK, u[1]);
		w += (b + 1) % groups == 0 ? block_bytes(type) : 0;
	}
}

/* Store the fields of row r before q.  Returns the address of q. */
INLINE int8_t *header_put(enum infer_type t, uint8_t *dst, const struct header *h, const uint8_t *p,
                          int r)
{
	float *d = (float *)(void *)dst;
	int16_t *m = (int16_t *)(void *)(d + NR * (q_minima(t) ? 2 : 1));
	int32_t *s = (int32_t *)(void *)(m + k_minima(t) * NR);

	d[r] = scale256(t, p);
	if (q_minima(t))
		d[NR + r] = num_f16(num_u16(p + q_scale_at(t) + 2));
	for (int i = 0; i < k_minima(t); i++)
		m[i * NR + r] = h->m[i];
	for (int i = 0; i < k_scales(t); i++)
		for (int j = 0; j < WIDE / 2; j++)
			s[i * WIDE * 4 + r * (WIDE / 2) + j] = h->s[i];
	return (int8_t *)(s + k_scales(t) * WIDE * 4);
}

INLINE void pack256(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                    int k)
{
	for (int b = 0; b < k / 256; b++, w += block_bytes(type), dst += panel256(type)) {
		struct header h[NR];
		int8_t *q = NULL;
		for (int r = 0; r < NR; r++) {
			const uint8_t *p = row_at(w, row_bytes, r, n);
			header_get(type, &h[r], p);
			q = header_put(type, dst, &h[r], p, r);
		}
		for (int i = 0; i < 4; i++) {
			int8x16_t v[4][NR];
			for (int r = 0; r < NR; r++) {
				int8x16_t u[4];
				unpack256(type, u, row_at(w, row_bytes, r, n), i);
				UNROLL
				for (int j = 0; j < 4; j++) {
					int8_t s = (int8_t)h[r].s[4 * i + j];
					v[j][r] = u[j];
					if (type == INFER_Q2_K)
						v[j][r] = vmulq_s8(u[j], vdupq_n_s8(s));
					if (type == INFER_Q3_K)
						v[j][r] = vmulq_s8(u[j], vdupq_n_s8((int8_t)-s));
				}
			}
			UNROLL
			for (int j = 0; j < 4; j++, q += CHUNK)
				transpose16(q, v[j]);
		}
	}
}

INLINE void put_rows(float *y, float32x4_t a, float32x4_t b, int n)
{
	float t[NR];

	if (n >= NR) {
		vst1q_f32(y, a);
		vst1q_f32(y + 4, b);
		return;
	}
	vst1q_f32(t, a);
	vst1q_f32(t + 4, b);
	memcpy(y, t, (size_t)n * 4);
}

INLINE const struct kern_q8 *x_q8(const struct x_rows *l, int t) { return x_row_at(l, t); }
INLINE const struct kern_q8k *x_q8k(const struct x_rows *l, int t) { return x_row_at(l, t); }

/* Add the products of a group of 32 with tn rows of x.  d: its floats, then its weights. */
INLINE void group_add(enum infer_type type, int tn, float32x4_t *sum, float32x4_t *min,
                      const float *d, const struct x_rows *x)
{
	const int xq = (int)offsetof(struct kern_q8, q);
	const int8_t *q = (const int8_t *)(d + NR * fields32(type));
	int32x4_t is[2 * TILE_T];

	UNROLL
	for (int i = 0; i < regs(tn); i++)
		is[i] = vdupq_n_s32(0);
	chain16(tn, is, q, x, xq);
	chain16(tn, is, q + CHUNK, x, xq + 16);
	unpair_rows(tn, is);
	UNROLL
	for (int i = 0; i < 2 * tn; i++) {
		const struct kern_q8 *xt = x_q8(x, i / 2);
		sum[i] = vfmaq_f32(sum[i], vmulq_n_f32(vld1q_f32(d + i % 2 * 4), xt->d),
		                   vcvtq_f32_s32(is[i]));
		if (q_minima(type))
			min[i] = vfmaq_n_f32(min[i],
			                     vmulq_n_f32(vld1q_f32(d + NR + i % 2 * 4), xt->d),
			                     (float)-xt->neg_sum);
	}
}

/* Likewise with a scale for each 16. */
INLINE void halves_add(int tn, float32x4_t *sum, const float *d, const struct x_rows *x)
{
	const int xq = (int)offsetof(struct kern_q8, q);
	const int8_t *q = (const int8_t *)(d + 2 * NR);
	int32x4_t is[2][2 * TILE_T];

	UNROLL
	for (int h = 0; h < 2; h++) {
		UNROLL
		for (int i = 0; i < regs(tn); i++)
			is[h][i] = vdupq_n_s32(0);
		chain16(tn, is[h], q + CHUNK * h, x, xq + 16 * h);
		unpair_rows(tn, is[h]);
	}
	UNROLL
	for (int i = 0; i < 2 * tn; i++) {
		float32x4_t both = vmulq_f32(vld1q_f32(d + i % 2 * 4), vcvtq_f32_s32(is[0][i]));
		both = vfmaq_f32(both, vld1q_f32(d + NR + i % 2 * 4), vcvtq_f32_s32(is[1][i]));
		sum[i] = vfmaq_n_f32(sum[i], both, x_q8(x, i / 2)->d);
	}
}

INLINE void tile32(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                   const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8 *xb = act_q8(x, x_row);
	float32x4_t sum[2 * TILE_T], min[2 * TILE_T];

	UNROLL
	for (int i = 0; i < 2 * tn; i++)
		sum[i] = min[i] = vdupq_n_f32(0);
	for (int b = 0; b < k / 32; b++, p += panel32(type), xb++) {
		const struct x_rows at = x_rows_at(xb, x->q_row);
		if (q_halves(type))
			halves_add(tn, sum, (const float *)(const void *)p, &at);
		else
			group_add(type, tn, sum, min, (const float *)(const void *)p, &at);
	}
	if (q_minima(type)) {
		UNROLL
		for (int i = 0; i < 2 * tn; i++)
			sum[i] = vaddq_f32(sum[i], min[i]);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put_rows(y + (size_t)t * ldy, sum[2 * t], sum[2 * t + 1], n);
}

/* Compute isum of one block.  s: scales, q: weights of the block. */
INLINE void tile_isum(enum infer_type type, int tn, int32x4_t *isum, const int32_t *s,
                      const int8_t *q, const struct x_rows *x)
{
	UNROLL
	for (int i = 0; i < regs(tn); i++)
		isum[i] = vdupq_n_s32(0);
	if (!k_scales(type))
		for (int j = 0; j < 16; j++, q += CHUNK)
			chain16(tn, isum, q, x, 16 * j);
	for (int j = 0; j < k_scales(type); j++, s += WIDE * 4) {
		const int at = j * (256 / k_scales(type));
		int32x4_t sub[2 * TILE_T];
		UNROLL
		for (int i = 0; i < regs(tn); i++)
			sub[i] = vdupq_n_s32(0);
		chain16(tn, sub, q, x, at);
		q += CHUNK;
		if (k_scales(type) == 8) {
			chain16(tn, sub, q, x, at + 16);
			q += CHUNK;
		}
		UNROLL
		for (int i = 0; i < regs(tn); i++)
			isum[i] = vmlaq_s32(isum[i], sub[i], vld1q_s32(s + i % WIDE * 4));
	}
	unpair_rows(tn, isum);
	if (type == INFER_Q3_K) {
		UNROLL
		for (int i = 0; i < 2 * tn; i++)
			isum[i] = vnegq_s32(isum[i]);
	}
}

INLINE int32x4_t tile_imin(enum infer_type type, const int16_t *m, const struct kern_q8k *x)
{
	const int16_t *of = by16(type) ? x->s16 : x->s32;
	int32x4_t r = vdupq_n_s32(0);

	UNROLL
	for (int i = 0; i < k_minima(type); i++)
		r = vmlal_n_s16(r, vld1_s16(m + i * NR), of[i]);
	return r;
}

INLINE void tile256(enum infer_type type, int tn, float *y, size_t ldy, const uint8_t *p,
                    const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8k *xb = act_q8k(x, x_row);
	float32x4_t sum[2 * TILE_T], min[2 * TILE_T];

	UNROLL
	for (int i = 0; i < 2 * tn; i++)
		sum[i] = min[i] = vdupq_n_f32(0);
	for (int b = 0; b < k / 256; b++, p += panel256(type), xb++) {
		const struct x_rows at = x_rows_at(xb, x->q_row);
		const float *d = (const float *)(const void *)p;
		const int16_t *m =
			(const int16_t *)(const void *)(d + NR * (q_minima(type) ? 2 : 1));
		const int32_t *s = (const int32_t *)(const void *)(m + k_minima(type) * NR);
		int32x4_t isum[2 * TILE_T];
		tile_isum(type, tn, isum, s, (const int8_t *)(s + k_scales(type) * WIDE * 4), &at);
		UNROLL
		for (int i = 0; i < 2 * tn; i++) {
			const struct kern_q8k *xt = x_q8k(&at, i / 2);
			sum[i] = vfmaq_f32(sum[i], vmulq_n_f32(vld1q_f32(d + i % 2 * 4), xt->d),
			                   vcvtq_f32_s32(isum[i]));
			if (q_minima(type))
				min[i] = vfmaq_f32(
					min[i], vmulq_n_f32(vld1q_f32(d + NR + i % 2 * 4), xt->d),
					vcvtq_f32_s32(tile_imin(type, m + i % 2 * 4, xt)));
		}
	}
	if (q_minima(type)) {
		UNROLL
		for (int i = 0; i < 2 * tn; i++)
			sum[i] = vsubq_f32(sum[i], min[i]);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put_rows(y + (size_t)t * ldy, sum[2 * t], sum[2 * t + 1], n);
}

#define PACK_OF(by, TYPE, name) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack##by(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / by) * panel##by(INFER_##TYPE); \
	}
#define ROW(TYPE, name) PACK_OF(32, TYPE, name) TILE_OF(tile32, TYPE, name, TILE_T)
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
KERN_ROWS_16(ROW)
#undef ROW
#define ROW(TYPE, name) PACK_OF(256, TYPE, name) TILE_OF(tile256, TYPE, name, TILE_T)
KERN_ROWS_256(ROW)
KERN_ROWS_GRID(ROW)
KERN_ROWS_TERNARY(ROW)
#undef ROW
