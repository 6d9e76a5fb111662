/* kern/avx512vnni/mm_k46.c - tiles of Q4_K and Q6_K.  The sums of two neighbouring groups of weights
 * (of 32, or of 16 of Q6_K) share one chain of dots, 16 bits of a lane each: the first sum is shifted
 * up before the second is added.  One instruction multiplies both with their scales and adds them.
 *
 *   panel  NR rows; per block, each field [NR]: d f32 | dmin f32, M i16[2] x 4 (Q4_K; in the
 *          order of kern_q8k.s32) | S i16[2] x 4, or 8 of Q6_K: of the second group, then of the
 *          first | q u8 [64][NR][4]
 *   tile   NR rows x T rows of x: 4 bytes of x broadcast.  A sum fits 16 bits unless x is large in
 *          too many places (struct kern_q8k_pairs); in blocks where it is, each sum has a lane
 *   y, bytes per flop, limits: ref/mm_q256.c */
#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/k46.h"

enum { FIELD = NR * 4 };

/* fields before S, and before q */
INLINE int scales_at(enum infer_type t) { return q_minima(t) ? 6 : 1; }
INLINE int k_fields(enum infer_type t) { return scales_at(t) + n_pairs(t); }
INLINE size_t panel256(enum infer_type t) { return (size_t)FIELD * (size_t)(k_fields(t) + 64); }

/* Store the fields before q of eight rows at dst. */
INLINE void header_put(enum infer_type t, uint8_t *dst, const struct header *h)
{
	_mm256_storeu_ps((float *)(void *)dst, h->d);
	dst += FIELD;
	if (q_minima(t)) {
		_mm256_storeu_ps((float *)(void *)dst, h->dmin);
		dst += FIELD;
		UNROLL
		for (int i = 0; i < 4; i++, dst += FIELD)
			put32(dst, byte_pair(h->m[i / 2], i % 2));
	}
	UNROLL
	for (int i = 0; i < n_pairs(t); i++, dst += FIELD)
		put32(dst, pair_scales(h, i));
}

INLINE void unpack_for_tile(enum infer_type t, __m256i u[8], const uint8_t *p)
{
	unpack256(t, u, p);
}
#include "kern/x86/pack256.h"

INLINE int fits16_row(enum infer_type t, const struct kern_q8k *x)
{
	return fits16(t, x->pairs.max32, x->pairs.max16);
}

/* a[t][h] += the products of 4 count weights of each row, from q on, with x from byte `at` on. */
INLINE void chain(int tn, wi *a, const uint8_t *q, const struct x_rows *x, int at, int count)
{
	UNROLL
	for (int i = 0; i < count; i++) {
		wi w[H];
		UNROLL
		for (int h = 0; h < H; h++)
			w[h] = wi_load(q + i * FIELD + h * LANES * 4);
		UNROLL
		for (int t = 0; t < tn; t++) {
			wi xv = wi_set((int32_t)num_u32((const char *)x_row_at(x, t) + at + 4 * i));
			UNROLL
			for (int h = 0; h < H; h++)
				a[t * H + h] = wi_dot(a[t * H + h], w[h], xv);
		}
	}
}

/* Return the start value of the sum of the first or the second group of a pair.  x: the pair in
 * kern_q8k_pairs.start. */
INLINE wi start(enum infer_type t, const struct x_rows *x, int token, int second)
{
	const struct kern_q8k *b = x_row_at(x, token);

	return t == INFER_Q6_K ? wi_set(b->pairs.start[second]) : wi_set(second ? KERN_BIT15 : 0);
}

/* Compute isum[t][h] of one block.  sc: scales, q: weights of the block. */
INLINE void isum_pairs(enum infer_type type, int tn, wi *isum, const uint8_t *sc, const uint8_t *q,
                       const struct x_rows *x)
{
	const int count = 32 / n_pairs(type);
	struct x_rows xq = *x, xs = *x;

	UNROLL
	for (int i = 0; i < tn * H; i++)
		isum[i] = wi_set(0);
	for (int j = 0; j < n_pairs(type); j++, q += 2 * count * FIELD, sc += FIELD) {
		wi a[TILE_T * H];
		UNROLL
		for (int i = 0; i < tn * H; i++)
			a[i] = start(type, &xs, i / H, 0);
		chain(tn, a, q, &xq, 0, count);
		/* bit 15 is set, so the lower sum does not borrow from the upper one */
		UNROLL
		for (int i = 0; i < tn * H; i++)
			a[i] = wi_add(wi_shl(a[i], 16), start(type, &xs, i / H, 1));
		chain(tn, a, q + count * FIELD, &xq, 4 * count, count);
		UNROLL
		for (int i = 0; i < tn * H; i++)
			isum[i] = wi_mac16(isum[i], _mm512_xor_si512(a[i], wi_set(KERN_BIT15)),
			                   wi_load(sc + i % H * LANES * 4));
		x_rows_advance(&xq, 8 * count);
		x_rows_advance(&xs, 8);
	}
}

/* Likewise for one row of x with any values. */
INLINE void isum_any(enum infer_type type, wi *isum, const uint8_t *sc, const uint8_t *q,
                     const void *x)
{
	const int count = 32 / n_pairs(type);
	struct x_rows xq = x_rows_at(x, 0), xs = xq;

	UNROLL
	for (int h = 0; h < H; h++)
		isum[h] = wi_set(0);
	for (int j = 0; j < n_pairs(type); j++, sc += FIELD) {
		UNROLL
		for (int second = 0; second < 2; second++, q += count * FIELD) {
			wi a[H];
			UNROLL
			for (int h = 0; h < H; h++)
				a[h] = wi_sub(start(type, &xs, 0, second),
				              wi_set(second ? KERN_BIT15 : 0));
			chain(1, a, q, &xq, 4 * count * second, count);
			UNROLL
			for (int h = 0; h < H; h++) {
				wi s = wi_load(sc + h * LANES * 4);
				s = _mm512_srai_epi32(second ? wi_shl(s, 16) : s, 16);
				isum[h] = wi_add(isum[h], wi_mul(a[h], s));
			}
		}
		x_rows_advance(&xq, 8 * count);
		x_rows_advance(&xs, 8);
	}
}

/* Compute isum again for the rows of x whose sums may not fit 16 bits. */
INLINE void isum_fix(enum infer_type type, int tn, wi *isum, const uint8_t *sc, const uint8_t *q,
                     const struct kern_q8k *x, size_t x_stride)
{
	for (int t = 0; t < tn; t++) {
		const struct kern_q8k *xt = row_of(x, x_stride, t);
		if (!fits16_row(type, xt))
			isum_any(type, isum + t * H, sc, q, xt);
	}
}
typedef void fix_fn(int tn, wi *isum, const uint8_t *sc, const uint8_t *q, const struct kern_q8k *x,
                    size_t x_stride);

/* Return the minima of one block times the sums of x. */
INLINE wi imin(const uint8_t *m, const struct kern_q8k *x)
{
	wi r = wi_set(0);

	UNROLL
	for (int i = 0; i < 4; i++)
		r = wi_mac16(r, wi_load(m + i * FIELD), wi_set((int32_t)num_u32(x->s32 + 2 * i)));
	return r;
}

INLINE void tile46(enum infer_type type, int tn, fix_fn *fix, float *y, size_t ldy,
                   const uint8_t *p, const struct kern_act *x, int x_row, int n, int k)
{
	const struct kern_q8k *xb = act_q8k(x, x_row);
	wf sum[TILE_T * H], min[TILE_T * H];

	UNROLL
	for (int i = 0; i < tn * H; i++)
		sum[i] = min[i] = wf_set(0);
	for (int b = 0; b < k / 256; b++, p += panel256(type), xb++) {
		const struct x_rows at = x_rows_at(xb, x->q_row);
		const uint8_t *sc = p + FIELD * scales_at(type), *q = p + FIELD * k_fields(type);
		wi isum[TILE_T * H];
		int fit = 1;
		prefetch_next(x, 1);
		UNROLL
		for (int t = 0; t < tn; t++)
			fit &= fits16_row(type, x_row_at(&at, t));
		isum_pairs(type, tn, isum, sc, q, &at);
		if (!fit) {
			wi all[TILE_T * H];
			UNROLL
			for (int i = 0; i < tn * H; i++)
				all[i] = isum[i];
			fix(tn, all, sc, q, xb, x->q_row);
			UNROLL
			for (int i = 0; i < tn * H; i++)
				isum[i] = all[i];
		}
		UNROLL
		for (int i = 0; i < tn * H; i++) {
			const struct kern_q8k *xt = x_row_at(&at, i / H);
			const uint8_t *rows = p + i % H * LANES * 4;
			wf dx = wf_set(xt->d);
			sum[i] = wf_fma(wf_mul(wf_load(rows), dx), wf_from(isum[i]), sum[i]);
			if (q_minima(type))
				min[i] = wf_fma(wf_mul(wf_load(rows + FIELD), dx),
				                wf_from(imin(rows + 2 * FIELD, xt)), min[i]);
		}
	}
	UNROLL
	for (int i = 0; i < tn * H; i++)
		wf_put(y + (size_t)(i / H) * ldy + i % H * LANES,
		       q_minima(type) ? wf_sub(sum[i], min[i]) : sum[i], n - i % H * LANES);
}

#define ROW(TYPE, name) \
	NOINLINE void name##_fix(int tn, wi *isum, const uint8_t *sc, const uint8_t *q, \
	                         const struct kern_q8k *x, size_t x_stride) \
	{ \
		isum_fix(INFER_##TYPE, tn, isum, sc, q, x, x_stride); \
	}
KERN_ROWS_K46(ROW)
#undef ROW

INLINE fix_fn *fix_of(enum infer_type t) { return t == INFER_Q4_K ? q4_k_fix : q6_k_fix; }

#define LOOP(type, tn, ...) tile46(type, tn, fix_of(type), __VA_ARGS__)
#define ROW(TYPE, name) \
	TILE_OF(LOOP, TYPE, name, TILE_T) \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack256(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) \
	{ \
		return (size_t)(k / 256) * panel256(INFER_##TYPE); \
	}
KERN_ROWS_K46(ROW)
