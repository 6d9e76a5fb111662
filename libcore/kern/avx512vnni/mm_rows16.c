/* kern/avx512vnni/mm_rows16.c - products in place of Q4_K with several rows of x, sixteen weight rows
 * to a register.
 *
 *   rows   16 rows in place, one to a lane: 16 packed bytes of each are loaded into lanes of 128 bits
 *          and transposed there, so that a dword holds 4 neighbours of its row.  They are unpacked
 *          once for up to 8 rows of x.  The products read the bytes of x from memory
 *   isum = sum of S (q . x), exact; y = fma(d dx, isum, y)
 *   imin = sum of M sum(x), exact; ymin = fma(dmin dx, imin, ymin); y - ymin at the end
 *   A block of 16 rows takes 64 products and 17 more multiplications for each row of x, one a cycle on
 *   a processor whose 512-bit products take two pipes, and about 45 ns to unpack.
 *   layouts, bytes per flop, limits: ref/mm_q256.c;  one row of x: mm_rows4.c */
#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/rows4.h"
#include "kern/x86/q256.h"

/* rows of x in a part; prefetch distance of each of 16 streams */
enum { X_MOST = 8, AHEAD16 = KERN_AHEAD };

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
/* advance n bytes in each of the first `rows` rows; hidden again, because compilers would store the sums
 * of strides and offsets */
INLINE void rows16_advance(struct rows16 *l, int rows, size_t n)
{
	UNROLL
	for (int i = 0; 4 * i < rows; i++) {
		l->p[i] += n;
		__asm__("" : "+r"(l->p[i]));
	}
}

/* 16 bytes of each row: dword j of all of them to y[j] */
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

/* The header of a block: S, the even ones times 16, because the odd codes are 16 times too large; M
 * as words in the order of kern_q8k.s32. */
struct block16 {
	wi s[8], m[4];
	wf d, dmin;
};
INLINE wf f16_words(wi x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
INLINE void block16_get(struct block16 *h, const struct rows16 *w)
{
	const wi low = wi_set(0x0f0f0f0f), two = wi_set(0x30303030), six = wi_set(0x3f3f3f3f),
		 byte = wi_set(255), bytes = wi_set(0x00ff00ff);
	wi y[4], s[2], m[2];

	load_by16(y, w, 0);
	h->d = f16_words(y[0]);
	h->dmin = f16_words(_mm512_srli_epi32(y[0], 16));
	s[0] = _mm512_and_si512(y[1], six);
	s[1] = _mm512_or_si512(_mm512_and_si512(y[3], low),
	                       _mm512_and_si512(_mm512_srli_epi32(y[1], 2), two));
	m[0] = _mm512_and_si512(y[2], six);
	m[1] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(y[3], 4), low),
	                       _mm512_and_si512(_mm512_srli_epi32(y[2], 2), two));
	UNROLL
	for (int i = 0; i < 2; i++) {
		h->s[4 * i] = wi_shl(_mm512_and_si512(s[i], byte), 4);
		h->s[4 * i + 1] = _mm512_and_si512(_mm512_srli_epi32(s[i], 8), byte);
		h->s[4 * i + 2] = wi_shl(_mm512_and_si512(_mm512_srli_epi32(s[i], 16), byte), 4);
		h->s[4 * i + 3] = _mm512_srli_epi32(s[i], 24);
		h->m[2 * i] = _mm512_and_si512(m[i], bytes);
		h->m[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(m[i], 8), bytes);
	}
}

/* the sums of each row of x, in memory */
struct sums16 {
	wf sum[X_MOST], min[X_MOST];
};

/* acc + sums of 4 products; x: a dword in memory.  Assembly, because compilers would load it first */
INLINE wi dot_at(wi acc, wi u, const uint8_t *x)
{
	__asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(u), "m"(*(const uint8_t(*)[4])x));
	return acc;
}

/* isum += 64 weights, at `at` in the block; s: their scales; x advances past theirs */
INLINE void isum64(wi *isum, int tn, const struct rows16 *w, int at, const wi *s, struct rows16 *x)
{
	const wi low = _mm512_set1_epi8(15);
	wi y[8];

	load_by16(y, w, at);
	load_by16(y + 4, w, at + 16);
	UNROLL
	for (int odd = 0; odd < 2; odd++) {
		wi sub[X_MOST];
		UNROLL
		for (int t = 0; t < tn; t++)
			sub[t] = wi_set(0);
		UNROLL
		for (int j = 0; j < 8; j++) {
			wi q = odd ? _mm512_andnot_si512(low, y[j]) : _mm512_and_si512(low, y[j]);
			UNROLL
			for (int t = 0; t < tn; t++)
				sub[t] = dot_at(sub[t], q, row16(x, t));
			rows16_advance(x, tn, 4);
		}
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = wi_add(isum[t], wi_mul(sub[t], s[odd]));
	}
}

/* y of one row of x */
INLINE void put16(float *y, wf v, const struct row_group *s)
{
	float t[16];

	_mm512_storeu_ps(t, v);
	for (int r = 0; r < 16; r++)
		y[(size_t)r * s->y_step] = t[r];
}

INLINE void prefetch16(const struct rows16 *w, int at)
{
	UNROLL
	for (int r = 0; r < 16; r++)
		__builtin_prefetch(row16(w, r) + at, 0, 3);
}

INLINE void block_add(int tn, struct sums16 *a, const wi *isum, const struct block16 *h,
                      const struct rows16 *x)
{
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8k *xt = (const void *)row16(x, t);
		wf dx = wf_set(xt->d);
		wi imin = wi_set(0);
		UNROLL
		for (int i = 0; i < 4; i++)
			imin = wi_mac16(imin, h->m[i], wi_set((int32_t)num_u32(xt->s32 + 2 * i)));
		a->sum[t] =
			wf_fma(wf_mul(h->d, dx), wf_from(_mm512_srai_epi32(isum[t], 4)), a->sum[t]);
		a->min[t] = wf_fma(wf_mul(h->dmin, dx), wf_from(imin), a->min[t]);
	}
}

INLINE void part16(int tn, float *y, size_t ldy, const struct row_group *s,
                   const struct kern_act *x, int x_row, int k)
{
	const int bytes = block_bytes(INFER_Q4_K);
	const struct kern_q8k *xb = act_q8k(x, x_row);
	struct sums16 sums, *a = &sums;
	struct rows16 w = rows16_at(s->w, s->stride);

	__asm__("" : "+r"(a)); /* or the compiler moves all sums between registers and the stack */
	UNROLL
	for (int t = 0; t < tn; t++)
		a->sum[t] = a->min[t] = wf_set(0);
	for (int b = 0, ahead = 0; b < k / 256; b++, xb++) {
		struct block16 head, *h = &head;
		struct rows16 xq = rows16_at(xb, x->q_row);
		wi isum[X_MOST];
		for (; ahead < bytes; ahead += 64)
			prefetch16(&w, ahead + AHEAD16);
		ahead -= bytes;
		__asm__("" : "+r"(h));
		block16_get(h, &w);
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = wi_set(0);
		for (int i = 0; i < 4; i++)
			isum64(isum, tn, &w, 16 + 32 * i, h->s + 2 * i, &xq);
		xq = rows16_at(xb, x->q_row);
		block_add(tn, a, isum, h, &xq);
		rows16_advance(&w, 16, (size_t)bytes);
	}
	UNROLL
	for (int t = 0; t < tn; t++)
		put16(y + (size_t)t * ldy, wf_sub(a->sum[t], a->min[t]), s);
}

#define PART(by) \
	NOINLINE void q4_k_by##by(float *y, size_t ldy, const struct row_group *s, \
	                          const struct kern_act *x, int x_row, int k) \
	{ \
		part16(by, y, ldy, s, x, x_row, k); \
	}
PART(2)
PART(3)
PART(4)
PART(5)
PART(6)
PART(7)
PART(8)

/* Sixteen streams of n / 16 rows; the rows left over are part of a group of the last 16 rows. One row
 * of x, and too few weight rows, are multiplied four rows to a register. */
void KERN_FN(q4_k_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                        const struct kern_act *x, int x_row, int m, int n, int k)
{
	static rows_part *const part[] = { q4_k_by2, q4_k_by3, q4_k_by4, q4_k_by5,
		                           q4_k_by6, q4_k_by7, q4_k_by8 };
	const int each = n / 16;

	if (m == 1 || n < 16) {
		KERN_FN(q4_k_by4_rows)(y, ldy, w, row_bytes, x, x_row, m, n, k);
		return;
	}
	for (int i = 0; i < each + (n % 16 != 0); i++) {
		struct row_group s = { .stride = row_bytes * (size_t)each,
			               .y_step = (size_t)each,
			               .row = i };
		if (i == each)
			s.stride = row_bytes, s.y_step = 1, s.row = n - 16;
		s.w = (const uint8_t *)w + (size_t)s.row * row_bytes;
		for (int t = 0, by; t < m; t += by) {
			by = m - t == X_MOST + 1 ? X_MOST - 1 : m - t < X_MOST ? m - t : X_MOST;
			part[by - 2](y + s.row + (size_t)t * ldy, ldy, &s, x, x_row + t, k);
		}
	}
}
