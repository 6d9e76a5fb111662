/* kern/x86/q.h - unpack quantised blocks in 256-bit registers (x86); layouts: ref/mm_q32.c and
 * ref/mm_q256.c.  The folder's int.h includes this after <immintrin.h> and KERN_FN, and adds its
 * own dot products. */
#ifndef KERN_X86_Q_H
#define KERN_X86_Q_H
#include "kern/tmpl/q.h"

/* Return x times q_zero, a power of two.  q_zero must not be 0. */
INLINE __m256i times_zero(enum infer_type t, __m256i x)
{
	switch (q_zero(t)) {
	case 4:
		return _mm256_slli_epi32(x, 2);
	case 8:
		return _mm256_slli_epi32(x, 3);
	case 16:
		return _mm256_slli_epi32(x, 4);
	case 32:
		return _mm256_slli_epi32(x, 5);
	default:
		kern_no_case();
	}
}
INLINE __m128i load16(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
INLINE __m256i load32(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE __m256i dup128(__m128i x) { return _mm256_broadcastsi128_si256(x); }
INLINE __m256i shr4(__m256i x)
{
	return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
}
INLINE __m256i low4(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
/* Return the low halves of 16 bytes, then the high halves. */
INLINE __m256i nibbles(const uint8_t *p)
{
	return low4(
		_mm256_srlv_epi32(dup128(load16(p)), _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4)));
}
/* Return byte i = 16 if bit i of the 32 bits at p is set, else 0. */
INLINE __m256i fifth(const uint8_t *p)
{
	const __m256i byte =
		_mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
	const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
	__m256i x = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)num_u32(p)), byte),
	                             bit);

	return _mm256_and_si256(_mm256_cmpeq_epi8(x, bit), _mm256_set1_epi8(16));
}
INLINE __m256i nl4(__m256i n)
{
	const __m128i t = _mm_setr_epi8(GRID_IQ4);

	return _mm256_shuffle_epi8(dup128(t), n);
}

/* Return twice 16 weights: the low halves of 8 bytes, then the high halves. */
INLINE __m256i nibbles16(const uint8_t *p)
{
	const __m256i x = _mm256_permute4x64_epi64(_mm256_castsi128_si256(load16(p)), 0x50);

	return low4(_mm256_srlv_epi64(x, _mm256_setr_epi64x(0, 4, 0, 4)));
}
/* Return twice the E2M1 values, plus 16. */
INLINE __m256i fp4_16(__m256i n)
{
	const __m128i t =
		_mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4);

	return _mm256_shuffle_epi8(dup128(t), n);
}

/* Unpack the 32 weights of group g of a block; g is 0 in blocks of 32. */
INLINE __m256i unpack32(enum infer_type t, const uint8_t *p, int g)
{
	const __m128i fp4x2 = _mm_setr_epi8(GRID_FP4);

	switch (t) {
	case INFER_Q8_0:
		return load32(p + 2);
	case INFER_Q8_F:
		return load32(p + 8 + 32 * g);
	case INFER_NVFP4_F:
		return fp4_16(nibbles16(p + 8 + 16 * g));
	case INFER_Q4_F:
		return low4(_mm256_srl_epi16(load32(p + 8), _mm_cvtsi32_si128(4 * g)));
	case INFER_Q4_0:
		return nibbles(p + 2);
	case INFER_Q4_1:
		return nibbles(p + 4);
	case INFER_Q5_0:
		return _mm256_or_si256(nibbles(p + 6), fifth(p + 2));
	case INFER_Q5_1:
		return _mm256_or_si256(nibbles(p + 8), fifth(p + 4));
	case INFER_IQ4_NL:
		return nl4(nibbles(p + 2));
	case INFER_MXFP4:
		return _mm256_shuffle_epi8(dup128(fp4x2), nibbles(p + 1));
	default:
		kern_no_case();
	}
}

/* Eight consecutive rows.  If only n < 8 exist, the others repeat the last. */
struct rows8 {
	const uint8_t *p[8];
};
INLINE struct rows8 rows8_clamped(const uint8_t *w, size_t row_bytes, int n)
{
	struct rows8 e;

	UNROLL
	for (int r = 0; r < 8; r++)
		e.p[r] = w + (size_t)(r < n ? r : n - 1) * row_bytes;
	return e;
}
INLINE struct rows8 rows8_at(const uint8_t *p, size_t stride)
{
	struct rows8 e;

	UNROLL
	for (int r = 0; r < 8; r++)
		e.p[r] = p + (size_t)r * stride;
	return e;
}

/* Load an f16. */
INLINE float f16_at(const uint8_t *p)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(num_u16(p))));
}
/* Return 2^(e - 128), as e8m0_of. */
INLINE float e8m0_at(const uint8_t *p)
{
	uint32_t e = *p;

	return num_float(e == 255 ? 0x7fc00000 : e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

/* Load the f16 at byte `at` of 8 rows. */
INLINE __m256 f16_of(const struct rows8 *e, size_t at)
{
	__m128i h = _mm_cvtsi32_si128(num_u16(e->p[0] + at));

	h = _mm_insert_epi16(h, num_u16(e->p[1] + at), 1);
	h = _mm_insert_epi16(h, num_u16(e->p[2] + at), 2);
	h = _mm_insert_epi16(h, num_u16(e->p[3] + at), 3);
	h = _mm_insert_epi16(h, num_u16(e->p[4] + at), 4);
	h = _mm_insert_epi16(h, num_u16(e->p[5] + at), 5);
	h = _mm_insert_epi16(h, num_u16(e->p[6] + at), 6);
	h = _mm_insert_epi16(h, num_u16(e->p[7] + at), 7);
	return _mm256_cvtph_ps(h);
}

/* Return 2^(e - 128) for byte e of 8 rows; subnormal for 0 and 1, NaN for 255. */
INLINE __m256 e8m0_of(const struct rows8 *r, size_t at)
{
	const __m256i e = _mm256_setr_epi32(r->p[0][at], r->p[1][at], r->p[2][at], r->p[3][at],
	                                    r->p[4][at], r->p[5][at], r->p[6][at], r->p[7][at]);
	__m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
	__m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
	__m256i v = _mm256_blendv_epi8(normal, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e));
	__m256i nan = _mm256_and_si256(_mm256_cmpeq_epi32(e, _mm256_set1_epi32(255)),
	                               _mm256_set1_epi32(0x7fc00000));

	return _mm256_castsi256_ps(_mm256_or_si256(v, nan));
}

/* Load the f16 at p of 8 rows, stride bytes apart. */
INLINE __m256 f16x8(const uint8_t *p, size_t stride)
{
	const struct rows8 e = rows8_at(p, stride);

	return f16_of(&e, 0);
}
/* Return the scale (then: the minimum) of one block. */
INLINE float scale_at(enum infer_type t, const uint8_t *p)
{
	return t == INFER_MXFP4 ? e8m0_at(p) : q_wide(t) ? block_f32(p) : f16_at(p);
}
INLINE float minimum_at(enum infer_type t, const uint8_t *p)
{
	return q_wide(t) ? block_f32(p + 4) : f16_at(p + 2);
}
/* Load the two dwords at byte `at` of 8 rows. */
INLINE void words_of(const struct rows8 *e, size_t at, __m256 *first, __m256 *second)
{
	__m256 v[2];

	UNROLL
	for (int i = 0; i < 2; i++) {
		__m128i lo = _mm_set_epi64x((long long)num_u64(e->p[2 * i + 1] + at),
		                            (long long)num_u64(e->p[2 * i] + at)),
			hi = _mm_set_epi64x((long long)num_u64(e->p[2 * i + 5] + at),
		                            (long long)num_u64(e->p[2 * i + 4] + at));
		v[i] = _mm256_castsi256_ps(_mm256_set_m128i(hi, lo));
	}
	*first = _mm256_shuffle_ps(v[0], v[1], 0x88);
	*second = _mm256_shuffle_ps(v[0], v[1], 0xdd);
}
/* NVFP4_F: set d16 to d times half of the scales of 16 in s, four in a lane.  A scale is read as f16,
 * which makes it 2^8 times too small. */
INLINE void scales_e4m3(__m256 d16[4], __m256 d, __m256i s)
{
	const __m256i seven = _mm256_set1_epi8(127), bits = _mm256_set1_epi32(0x3f80);

	d = _mm256_mul_ps(d, _mm256_set1_ps(128));
	s = _mm256_and_si256(s, seven);
	s = _mm256_andnot_si256(_mm256_cmpeq_epi8(s, seven), s);
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m256i even = i ? _mm256_srli_epi32(s, 9) : _mm256_slli_epi32(s, 7),
			odd = _mm256_srli_epi32(s, i ? 17 : 1);
		__m256i h = _mm256_packus_epi32(_mm256_and_si256(even, bits),
		                                _mm256_and_si256(odd, bits));
		h = _mm256_permute4x64_epi64(h, 0xd8);
		d16[2 * i] = _mm256_mul_ps(d, _mm256_cvtph_ps(_mm256_castsi256_si128(h)));
		d16[2 * i + 1] = _mm256_mul_ps(d, _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1)));
	}
}
/* Load the headers of a block of 8 rows: d[0] scales, d[1] minima if there are any; or all scales
 * of 16. */
INLINE void headers32(enum infer_type t, __m256 d[4], const struct rows8 *e, size_t at)
{
	if (q_halves(t)) {
		__m256 s;
		words_of(e, at, d, &s);
		scales_e4m3(d, d[0], _mm256_castps_si256(s));
	} else if (q_wide(t)) {
		words_of(e, at, d, d + 1);
	} else {
		d[0] = t == INFER_MXFP4 ? e8m0_of(e, at) : f16_of(e, at);
		if (q_minima(t))
			d[1] = f16_of(e, at + 2);
	}
}

/* Return the horizontal sums of 8 registers. */
INLINE __m256i hsum8(const __m256i a[8])
{
	__m256i s[4], t[2];

	UNROLL
	for (int i = 0; i < 4; i++)
		s[i] = _mm256_add_epi32(_mm256_unpacklo_epi32(a[2 * i], a[2 * i + 1]),
		                        _mm256_unpackhi_epi32(a[2 * i], a[2 * i + 1]));
	UNROLL
	for (int i = 0; i < 2; i++)
		t[i] = _mm256_add_epi32(_mm256_unpacklo_epi64(s[2 * i], s[2 * i + 1]),
		                        _mm256_unpackhi_epi64(s[2 * i], s[2 * i + 1]));
	return _mm256_add_epi32(_mm256_permute2x128_si256(t[0], t[1], 0x20),
	                        _mm256_permute2x128_si256(t[0], t[1], 0x31));
}

/* Transpose 16 bytes of each of 8 rows: dword j of all rows to y[j]. */
INLINE void transpose16(__m256i y[4], const __m128i x[8])
{
	__m256i r[4], a[4];

	UNROLL
	for (int i = 0; i < 4; i++)
		r[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(x[i]), x[i + 4], 1);
	a[0] = _mm256_unpacklo_epi32(r[0], r[1]);
	a[1] = _mm256_unpackhi_epi32(r[0], r[1]);
	a[2] = _mm256_unpacklo_epi32(r[2], r[3]);
	a[3] = _mm256_unpackhi_epi32(r[2], r[3]);
	y[0] = _mm256_unpacklo_epi64(a[0], a[2]);
	y[1] = _mm256_unpackhi_epi64(a[0], a[2]);
	y[2] = _mm256_unpacklo_epi64(a[1], a[3]);
	y[3] = _mm256_unpackhi_epi64(a[1], a[3]);
}

/* Likewise for 16 bytes at p of 8 rows, stride bytes apart. */
INLINE void transpose16_at(__m256i y[4], const uint8_t *p, size_t stride)
{
	const struct rows8 e = rows8_at(p, stride);
	__m128i x[8];

	UNROLL
	for (int r = 0; r < 8; r++)
		x[r] = load16(e.p[r]);
	transpose16(y, x);
}

/* Transpose: dword i of x[r] to dword r of x[i]. */
INLINE void transpose8(__m256i x[8])
{
	__m256i a[8], b[8];

	UNROLL
	for (int i = 0; i < 8; i += 2) {
		a[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
		a[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
	}
	UNROLL
	for (int i = 0; i < 8; i += 4) {
		b[i] = _mm256_unpacklo_epi64(a[i], a[i + 2]);
		b[i + 1] = _mm256_unpackhi_epi64(a[i], a[i + 2]);
		b[i + 2] = _mm256_unpacklo_epi64(a[i + 1], a[i + 3]);
		b[i + 3] = _mm256_unpackhi_epi64(a[i + 1], a[i + 3]);
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		x[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
		x[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
	}
}

INLINE void put8(float *y, __m256 v, const struct row_group *s)
{
	float t[8];

	_mm256_storeu_ps(t, v);
	for (int r = 0; r < s->n_out; r++)
		y[(size_t)r * s->y_step] = t[r];
}
/* Return sum + d dx isum for eight rows. */
INLINE __m256 sum_add(__m256 sum, __m256 d, float dx, __m256i isum)
{
	return _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(dx)), _mm256_cvtepi32_ps(isum), sum);
}
/* Store the sums of tn rows of x (blocks of 256), minus the sums of minima. */
INLINE void sums_put(enum infer_type type, int tn, float *y, size_t ldy, const __m256 *sum,
                     const __m256 *min, const struct row_group *s)
{
	UNROLL
	for (int t = 0; t < tn; t++)
		put8(y + (size_t)t * ldy, q_minima(type) ? _mm256_sub_ps(sum[t], min[t]) : sum[t],
		     s);
}
#endif
