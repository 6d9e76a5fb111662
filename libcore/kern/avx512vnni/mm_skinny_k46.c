/* kern/avx512vnni/mm_skinny_k46.c - products of a skinny x with weights of Q4_K and Q6_K, read in
 * place, by pairs of groups of weights like the tiles of mm_k46.c.
 *
 *   x      struct kern_q8kx16: 16 rows; 64 registers for each block, four neighbours of a row in a
 *          lane
 *   buffer a block of each weight row of a part, unpacked in L1 while the previous block is multiplied.
 *          If a sum of one of the rows of x may not fit 16 bits, each group has a lane and a product
 *          of 32 bits of its own
 *   y, bytes per flop, limits: ref/mm_q256.c */
#include "kern/avx512vnni/skinny.h"
#include "kern/avx512vnni/k46.h"

/* Return the registers of sums of a part: those of a pair and of the block must fit. */
INLINE int sums_of(enum infer_type t)
{
	(void)t;
	return SUMS;
}

/* prefetch distance of a stream that is unpacked one block before it is multiplied */
enum { AHEAD = KERN_AHEAD + 256 };

/* a block of each weight row: weights with their zero point still added; scales and minima as
 * words, one pair per dword */
struct unpacked {
	_Alignas(64) uint8_t q[STREAMS][256];
	int32_t s[8][STREAMS], m[4][STREAMS];
	float d[STREAMS], dmin[STREAMS];
};
INLINE void unpack_header(enum infer_type t, struct unpacked *to, int first, int rn,
                          const uint8_t *w, size_t stride)
{
	struct rows8 e;
	struct header h;

	UNROLL
	for (int r = 0; r < 8; r++)
		e.p[r] = w + (size_t)(first + r < rn ? first + r : rn - 1) * stride;
	header_get(t, &h, &e, 0);
	UNROLL
	for (int i = 0; i < n_pairs(t); i++)
		put32(to->s[i] + first, pair_scales(&h, i));
	_mm256_storeu_ps(to->d + first, h.d);
	if (!q_minima(t))
		return;
	_mm256_storeu_ps(to->dmin + first, h.dmin);
	UNROLL
	for (int i = 0; i < 4; i++)
		put32(to->m[i] + first, byte_pair(h.m[i / 2], i % 2));
}
INLINE void unpack_headers(enum infer_type t, struct unpacked *to, int rn, const uint8_t *w,
                           size_t stride)
{
	UNROLL
	for (int first = 0; first < rn; first += 8)
		unpack_header(t, to, first, rn, w, stride);
}
/* Q6_K: unpack pair j of a row, 32 weights. */
INLINE __m256i unpack_k6_pair(const uint8_t *w, int j)
{
	const __m256i nibble = _mm256_set1_epi32(j / 2 % 2 * 4), two = _mm256_set1_epi32(j % 4 * 2);
	__m256i l = low4(_mm256_srlv_epi32(load32(w + j / 4 * 64 + j % 2 * 32), nibble)),
		h = _mm256_and_si256(_mm256_srlv_epi32(load32(w + 128 + j / 4 * 32), two),
	                             _mm256_set1_epi8(3));

	return _mm256_or_si256(l, _mm256_slli_epi32(h, 4));
}
/* Unpack pair j of each row: 64 weights; Q6_K: 32. */
INLINE void unpack_pair(enum infer_type t, int xn, struct unpacked *to, const uint8_t *w,
                        size_t stride, int j)
{
	UNROLL
	for (int r = 0; r < w_rows_of_part(SUMS, xn); r += 2) {
		__m256i v[2], u[2];
		UNROLL
		for (int i = 0; i < 2; i++) {
			const uint8_t *p = w + (size_t)(r + i) * stride;
			if (t == INFER_Q6_K) {
				v[i] = unpack_k6_pair(p, j);
				continue;
			}
			v[i] = load32(p + 16 + 32 * j);
			u[i] = shr4(v[i]);
			v[i] = low4(v[i]);
		}
		words_put(xn, to->q[r], 256, 256 / n_pairs(t) * j, v);
		if (t == INFER_Q4_K)
			words_put(xn, to->q[r], 256, 64 * j + 32, u);
	}
}

/* Source and destination of the next block, which is unpacked pair by pair while this one is
 * multiplied: all its stores at once would overflow the store buffer. */
struct next_block {
	struct unpacked *to;
	const uint8_t *w;
	size_t stride;
};

/* Return the start value of the sum of group j of a block. */
INLINE wi group_start(enum infer_type t, int xn, const struct kern_q8kx16 *x, int j)
{
	return t == INFER_Q6_K ? lane_x(xn, x->start[j]) : wi_set(j % 2 ? KERN_BIT15 : 0);
}

/* a += the products of group j of the weights. */
INLINE void group_dots(enum infer_type t, int xn, wi *a, const struct unpacked *q,
                       const struct kern_q8kx16 *const x[2], int j)
{
	const int gn = x_regs(xn), rows = SUMS / gn, count = 32 / n_pairs(t);
	const uint8_t *buf = q->q[0] + j * count / 8 * 32 * w_rows_of_reg(xn);

	/* otherwise the compiler keeps an address for each word, most of them on the stack */
	__asm__("" : "+r"(buf));
	UNROLL
	for (int i = 0; i < count; i++) {
		wi xv[2];
		UNROLL
		for (int g = 0; g < gn; g++)
			xv[g] = lane_x(xn, x[g]->q[j * count + i]);
		UNROLL
		for (int r = 0; r < rows; r++) {
			wi w = lane_word(xn, word_at(xn, buf, 256, r, j * count % 8 + i));
			UNROLL
			for (int g = 0; g < gn; g++)
				a[r * gn + g] = lane_dot(a[r * gn + g], w, xv[g]);
		}
	}
}

/* Compute isum of one block in which all sums fit 16 bits. */
INLINE void isum_pairs(enum infer_type t, int xn, wi *isum, const struct unpacked *q,
                       const struct kern_q8kx16 *const x[2], const struct next_block *f)
{
	const int gn = x_regs(xn), wn = w_rows_of_reg(xn);

	UNROLL
	for (int i = 0; i < SUMS; i++)
		isum[i] = wi_set(0);
	for (int j = 0; j < n_pairs(t); j++) {
		wi a[SUMS];
		unpack_pair(t, xn, f->to, f->w, f->stride, j);
		UNROLL
		for (int i = 0; i < SUMS; i++)
			a[i] = group_start(t, xn, x[i % gn], 2 * j);
		group_dots(t, xn, a, q, x, 2 * j);
		/* bit 15 is set, so the lower sum does not borrow from the upper one */
		UNROLL
		for (int i = 0; i < SUMS; i++)
			a[i] = wi_add(wi_shl(a[i], 16), group_start(t, xn, x[i % gn], 2 * j + 1));
		group_dots(t, xn, a, q, x, 2 * j + 1);
		UNROLL
		for (int i = 0; i < SUMS; i++)
			isum[i] = lane_mac(isum[i], _mm512_xor_si512(a[i], wi_set(KERN_BIT15)),
			                   lane_word(xn, &q->s[j][i / gn * wn]));
	}
}

/* Likewise for any block. */
INLINE void isum_any(enum infer_type t, int xn, wi *isum, const struct unpacked *q,
                     const struct kern_q8kx16 *const x[2], const struct next_block *f)
{
	const int gn = x_regs(xn), wn = w_rows_of_reg(xn);

	UNROLL
	for (int i = 0; i < SUMS; i++)
		isum[i] = wi_set(0);
	for (int j = 0; j < 2 * n_pairs(t); j++) {
		wi a[SUMS], up = wi_set(j % 2 ? KERN_BIT15 : 0);
		if (j % 2)
			unpack_pair(t, xn, f->to, f->w, f->stride, j / 2);
		UNROLL
		for (int i = 0; i < SUMS; i++)
			a[i] = t == INFER_Q6_K ? wi_sub(group_start(t, xn, x[i % gn], j), up)
			                       : wi_set(0);
		group_dots(t, xn, a, q, x, j);
		UNROLL
		for (int i = 0; i < SUMS; i++) {
			wi s = lane_word(xn, &q->s[j / 2][i / gn * wn]);
			s = _mm512_srai_epi32(j % 2 ? wi_shl(s, 16) : s, 16);
			isum[i] = wi_add(isum[i], wi_mul(a[i], s));
		}
	}
}

/* Return the minima of the weight rows from r on, times the sums of x. */
INLINE wi imin(int xn, const struct unpacked *q, int r, const struct kern_q8kx16 *x)
{
	wi sum = wi_set(0);

	UNROLL
	for (int i = 0; i < 4; i++)
		sum = lane_mac(sum, lane_x(xn, x->s32[i]), lane_word(xn, &q->m[i][r]));
	return sum;
}

/* Multiply a part of xn rows of x. */
INLINE void skinny46(enum infer_type t, int xn, float *out, size_t out_step, const uint8_t *w,
                     size_t stride, const void *x, size_t x_step, int k)
{
	const int rn = w_rows_of_part(SUMS, xn), gn = x_regs(xn), wn = w_rows_of_reg(xn),
		  bytes = block_bytes(t);
	struct unpacked buf[2];
	wf sum[SUMS], min[SUMS];

	UNROLL
	for (int i = 0; i < SUMS; i++)
		sum[i] = min[i] = wf_set(0);
	unpack_headers(t, &buf[0], rn, w, stride);
	for (int j = 0; j < n_pairs(t); j++)
		unpack_pair(t, xn, &buf[0], w, stride, j);
	for (int b = 0, at = 0; b < k / 256; b++) {
		const struct kern_q8kx16 *x0 = (const struct kern_q8kx16 *)x + b, *const at_x[2] = {
			x0, row_of(x0, x_step, 1)
		};
		const struct unpacked *q = &buf[b % 2];
		wi isum[SUMS];
		skinny_prefetch(w + AHEAD, stride, rn, at, bytes);
		at += b + 1 < k / 256 ? bytes : 0;
		const struct next_block f = { &buf[(b + 1) % 2], w + at, stride };
		unpack_headers(t, f.to, rn, f.w, stride);
		if (fits16(t, x0->max32, x0->max16) &&
		    (gn == 1 || fits16(t, at_x[1]->max32, at_x[1]->max16)))
			isum_pairs(t, xn, isum, q, at_x, &f);
		else
			isum_any(t, xn, isum, q, at_x, &f);
		UNROLL
		for (int i = 0; i < SUMS; i++) {
			const struct kern_q8kx16 *xg = at_x[i % gn];
			const int r = i / gn * wn;
			wf dx = lane_dx(xn, xg->d);
			sum[i] = wf_fma(wf_mul(lane_scale(xn, q->d + r), dx), wf_from(isum[i]),
			                sum[i]);
			if (q_minima(t))
				min[i] = wf_fma(wf_mul(lane_scale(xn, q->dmin + r), dx),
				                wf_from(imin(xn, q, r, xg)), min[i]);
		}
	}
	if (q_minima(t)) {
		UNROLL
		for (int i = 0; i < SUMS; i++)
			sum[i] = wf_sub(sum[i], min[i]);
	}
	skinny_store(xn, out, out_step, sum, SUMS);
}

/* store dwords [i][r] of 8 rows to [i][first + r] of lines of KERN_LANES */
INLINE void store_lines(void *to, const __m256i v[8])
{
	UNROLL
	for (int i = 0; i < 8; i++)
		_mm256_store_si256((__m256i *)to + 2 * i, v[i]);
}
/* Return the sums of 16 as two bf16 in a dword: a multiple of 64, and a remainder of 0 to 63. */
INLINE __m256i sums_bf16(__m128i sums)
{
	const __m256i low = _mm256_set1_epi32(63), up = _mm256_set1_epi32((int32_t)0xffff0000);
	__m256i s = _mm256_cvtepi16_epi32(sums);
	__m256i a = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_andnot_si256(low, s))),
		b = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_and_si256(low, s)));

	return _mm256_or_si256(_mm256_srli_epi32(a, 16), _mm256_and_si256(b, up));
}
INLINE void transpose_sums(struct kern_q8kx16 *out, int first, const struct kern_q8k *const q[8])
{
	for (int odd = 0; odd < 2; odd++) {
		__m256i v[8];
		UNROLL
		for (int r = 0; r < 8; r++)
			v[r] = sums_bf16(load16(q[r]->s16 + 8 * odd));
		transpose8(v);
		UNROLL
		for (int i = 0; i < 8; i++)
			_mm256_store_si256((__m256i *)(void *)out->s16[2 * i + odd][first], v[i]);
	}
}
INLINE void transpose_rows8(struct kern_q8kx16 *out, int first, const struct kern_q8k *const q[8])
{
	__m256i v[8];

	for (int i = 0; i < 8; i++) {
		UNROLL
		for (int r = 0; r < 8; r++)
			v[r] = load32(q[r]->q + 32 * i);
		transpose8(v);
		store_lines(out->q[8 * i][first], v);
	}
	for (int i = 0; i < 2; i++) {
		UNROLL
		for (int r = 0; r < 8; r++)
			v[r] = load32(q[r]->pairs.start + 8 * i);
		transpose8(v);
		store_lines(out->start[8 * i] + first, v);
	}
	transpose_sums(out, first, q);
	for (int r = 0; r < 8; r++) {
		out->d[first + r] = q[r]->d;
		for (int i = 0; i < 4; i++)
			memcpy(out->s32[i][first + r], q[r]->s32 + 2 * i, 2 * sizeof(int16_t));
		const struct kern_q8k_pairs *p = &q[r]->pairs;
		out->max32 = p->max32 > out->max32 ? p->max32 : out->max32;
		out->max16 = p->max16 > out->max16 ? p->max16 : out->max16;
	}
}
/* If fewer than 16 rows exist, the others repeat the last. */
void KERN_FN(transpose_q8k)(struct kern_act *x, int row, int m, int k, int from, int to)
{
	for (int b = from / 256; b < to / 256; b++) {
		struct kern_q8kx16 *out = (struct kern_q8kx16 *)act_transposed(x, row, k) + b;
		out->max32 = out->max16 = 0;
		for (int first = 0; first < WIDE; first += 8) {
			const struct kern_q8k *q[8];
			for (int r = 0; r < 8; r++)
				q[r] = act_q8k(x, row + (first + r < m ? first + r : m - 1)) + b;
			transpose_rows8(out, first, q);
		}
	}
}

#define ROW(TYPE, name) SKINNY_OF(skinny46, TYPE, name)
KERN_ROWS_K46(ROW)
