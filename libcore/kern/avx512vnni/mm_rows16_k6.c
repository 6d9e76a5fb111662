/* kern/avx512vnni/mm_rows16_k6.c - products in place of Q6_K with several rows of x, sixteen weight rows
 * to a register (rows16.h).
 *
 *   rows   a block of 16 rows is unpacked into L1, a quarter at a time, while the previous block is
 *            multiplied with up to 16 rows of x, 8 at a time.  Streams continue from one row to the next,
 *            so only the first block of a call is unpacked without a product
 *   isum = sum of S ((q + 32) . x - 32 sum(x)), exact; y = fma(d dx, isum, y)
 *   The sums of two neighbouring groups of 16 share a lane, 16 bits each, and one instruction
 *   multiplies both with their scales (k46.h).  If 16 bits may be too few for a row of x, the
 *   row is multiplied again with sums of 32 bits.
 *   layouts, bytes per flop, limits: ref/mm_q256.c;  up to 3 rows of x: mm_q256.c */
#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/k46.h"
#include "kern/avx512vnni/rows16.h"
#include "kern/avx512vnni/rows4.h"

/* most rows of x of a call; rows of x of a pass */
enum { X_MOST = 16, PASS_LEAST = 4, PASS_MOST = 8 };
/* a quarter of a block: dwords of 16 rows, pairs of groups */
enum { DWORDS = 16, PAIRS = 2, COUNT = 4 };

/* A block of 16 rows: weights plus 32, S of pairs as words (of the second group, then of the first) */
struct block16 {
	wi q[4 * DWORDS];
	wi s[4 * PAIRS];
	wf d;
};

INLINE struct rows16 rows16_plus(const struct rows16 *w, size_t n)
{
	struct rows16 r = *w;

	UNROLL
	for (int i = 0; i < 4; i++)
		r.p[i] += n;
	__asm__("" : "+r"(r.p[0]), "+r"(r.p[1]), "+r"(r.p[2]), "+r"(r.p[3]), "+r"(r.s), "+r"(r.s3));
	return r;
}

/* Load 16 bytes of each row from offset n on, as load_by16. */
INLINE void load_at(wi y[4], const struct rows16 *from, size_t n)
{
	const struct rows16 w = rows16_plus(from, n);

	load_by16(y, &w, 0);
}

INLINE void scales_get(struct block16 *to, const struct rows16 *from)
{
	const wi first = _mm512_set4_epi32(0x0c800d80, 0x08800980, 0x04800580, 0x00800180),
		 second = _mm512_set4_epi32(0x0e800f80, 0x0a800b80, 0x06800780, 0x02800380);
	wi y[4];

	load_at(y, from, 192);
	UNROLL
	for (int i = 0; i < 4; i++) {
		to->s[2 * i] = _mm512_srai_epi16(_mm512_shuffle_epi8(y[i], first), 8);
		to->s[2 * i + 1] = _mm512_srai_epi16(_mm512_shuffle_epi8(y[i], second), 8);
	}
	to->d = f16_by16(from, 208);
}

/* Return the bits of a where mask is set, else of b. */
INLINE wi bits_of(wi mask, wi a, wi b) { return _mm512_ternarylogic_epi32(mask, a, b, 0xca); }

/* Unpack 64 weights of each row: quarter i of the block holds dwords 4 (i % 2) ... of the four groups of
 * 32 of half i / 2. */
INLINE void quarter_get(struct block16 *to, const struct rows16 *from, int i)
{
	const wi low = _mm512_set1_epi8(15), six = _mm512_set1_epi8(63);
	const size_t at = (size_t)(64 * (i / 2) + 16 * (i % 2));
	wi a[4], b[4], h[4], *q = to->q + 32 * (i / 2) + 4 * (i % 2);

	load_at(a, from, at);
	load_at(b, from, at + 32);
	load_at(h, from, (size_t)(128 + 16 * i));
	UNROLL
	for (int j = 0; j < 4; j++) {
		q[j] = _mm512_and_si512(six, bits_of(low, a[j], wi_shl(h[j], 4)));
		q[8 + j] = _mm512_and_si512(six, bits_of(low, b[j], wi_shl(h[j], 2)));
		q[16 + j] = _mm512_and_si512(six, bits_of(low, _mm512_srli_epi32(a[j], 4), h[j]));
		q[24 + j] = _mm512_and_si512(
			six, bits_of(low, _mm512_srli_epi32(b[j], 4), _mm512_srli_epi32(h[j], 2)));
	}
}
INLINE void block_get(struct block16 *to, const struct rows16 *w)
{
	scales_get(to, w);
	for (int i = 0; i < 4; i++)
		quarter_get(to, w, i);
}

/* Rows of x from `x` on, multiplied with a block; in the first pass of a block, the next is unpacked and
 * [from, to) of each stream is prefetched. */
struct pass {
	const struct block16 *block;
	const struct kern_q8k *x;
	size_t x_step;
	wf *sum;
	struct block16 *next;
	struct rows16 w;
	int first, from, to;
};

INLINE int fits16_row(const struct kern_q8k *x)
{
	return fits16(INFER_Q6_K, x->pairs.max32, x->pairs.max16);
}

/* Compute isum of one row of x with any values. */
NOINLINE void isum_any(wi *isum, const struct block16 *h, const struct kern_q8k *x)
{
	*isum = wi_set(0);
	for (int g = 0; g < 16; g++) {
		wi a = wi_set(x->pairs.start[g] - g % 2 * KERN_BIT15), s = h->s[g / 2];
		for (int i = g * COUNT; i < (g + 1) * COUNT; i++)
			a = wi_dot(a, h->q[i], wi_set((int32_t)num_u32(x->q + 4 * i)));
		s = _mm512_srai_epi32(g % 2 ? wi_shl(s, 16) : s, 16);
		*isum = wi_add(*isum, wi_mul(a, s));
	}
}

/* Compute the sums of a group.  Advances x past its bytes, and start past its start values. */
INLINE void group_sums(wi *a, int tn, const wi *q, struct rows16 *x, struct rows16 *start)
{
	UNROLL
	for (int t = 0; t < tn; t++)
		a[t] = wi_set((int32_t)num_u32(row16(start, t)));
	rows16_advance(start, tn, sizeof(int32_t));
	UNROLL
	for (int j = 0; j < COUNT; j++) {
		wi w = q[j];
		UNROLL
		for (int t = 0; t < tn; t++)
			a[t] = dot_at(a[t], w, row16(x, t));
		rows16_advance(x, tn, 4);
	}
}

/* isum += the products of quarter i of the block. */
INLINE void isum_quarter(wi *isum, int tn, const struct block16 *h, int i, struct rows16 *x,
                         struct rows16 *start)
{
	const wi up = _mm512_set4_epi32(0x0d0c0000, 0x09080000, 0x05040000, 0x01000000);
	const __mmask64 upper = 0xcccccccccccccccc;
	const wi *q = h->q + DWORDS * i, *s = h->s + PAIRS * i;

	UNROLL
	for (int p = 0; p < PAIRS; p++) {
		wi a[PASS_MOST], b[PASS_MOST];
		group_sums(a, tn, q + 2 * COUNT * p, x, start);
		group_sums(b, tn, q + 2 * COUNT * p + COUNT, x, start);
		UNROLL
		for (int t = 0; t < tn; t++) {
			b[t] = _mm512_xor_si512(b[t], wi_set(KERN_BIT15));
			isum[t] = wi_mac16(isum[t], _mm512_mask_shuffle_epi8(b[t], upper, a[t], up),
			                   s[p]);
		}
	}
}

INLINE void pass16(int tn, struct pass *f)
{
	const struct kern_q8k *xb = f->x;
	struct rows16 x = rows16_at(xb, f->x_step), start = rows16_at(xb->pairs.start, f->x_step);
	wi isum[PASS_MOST], any[PASS_MOST];
	int fit = 1;

	UNROLL
	for (int t = 0; t < tn; t++) {
		fit &= fits16_row((const void *)row16(&x, t));
		isum[t] = wi_set(0);
	}
	for (int i = 0; i < 4; i++) {
		if (f->first && f->from < f->to) {
			const struct rows16 ahead = rows16_plus(&f->w, (size_t)f->from);
			UNROLL
			for (int r = 0; r < 16; r++)
				__builtin_prefetch(row16(&ahead, r), 0, 3);
			f->from += 64;
		}
		if (f->first && i == 0)
			scales_get(f->next, &f->w);
		if (f->first)
			quarter_get(f->next, &f->w, i);
		isum_quarter(isum, tn, f->block, i, &x, &start);
	}
	if (!fit) {
		UNROLL
		for (int t = 0; t < tn; t++)
			any[t] = isum[t];
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *xt = row_of(xb, f->x_step, t);
			if (!fits16_row(xt))
				isum_any(any + t, f->block, xt);
		}
		UNROLL
		for (int t = 0; t < tn; t++)
			isum[t] = any[t];
	}
	x = rows16_at(xb, f->x_step);
	UNROLL
	for (int t = 0; t < tn; t++) {
		const struct kern_q8k *xt = (const void *)row16(&x, t);
		f->sum[t] = wf_fma(wf_mul(f->block->d, wf_set(xt->d)), wf_from(isum[t]), f->sum[t]);
	}
}

typedef void pass_fn(struct pass *f);
#define PASS(by) \
	NOINLINE void pass_by##by(struct pass *f) { pass16(by, f); }
PASS(4)
PASS(5)
PASS(6)
PASS(7)
PASS(8)

/* Multiply one block of 16 rows with m rows of x, in passes of about equal size. */
static void block_add(struct pass *f, int m)
{
	static pass_fn *const pass[] = { pass_by4, pass_by5, pass_by6, pass_by7, pass_by8 };

	f->first = 1;
	for (int left = (m + PASS_MOST - 1) / PASS_MOST, by; m > 0; m -= by, left--) {
		by = m / left;
		pass[by - PASS_LEAST](f);
		f->x = row_of(f->x, f->x_step, by);
		f->sum += by;
		f->first = 0;
	}
}

/* Multiply 16 streams of n / 16 rows, stride bytes apart, with m <= X_MOST rows of x. */
static void streams16(float *y, size_t ldy, const void *w, size_t row_bytes, size_t stride,
                      const struct kern_act *x, int x_row, int m, int n, int k)
{
	const int bytes = block_bytes(INFER_Q6_K), each = n / 16, blocks = k / 256;
	const struct kern_q8k *x0 = act_q8k(x, x_row);
	struct block16 block[2];
	struct rows16 at = rows16_at(w, stride);
	wf sum[X_MOST];
	int turn = 0, ahead = 0;

	block_get(&block[0], &at);
	for (int i = 0; i < each; i++) {
		for (int t = 0; t < m; t++)
			sum[t] = wf_set(0);
		for (int b = 0; b < blocks; b++, turn ^= 1) {
			size_t to_next = b + 1 < blocks
			                         ? (size_t)bytes
			                         : row_bytes - (size_t)((blocks - 1) * bytes);
			if (b + 1 < blocks || i + 1 < each)
				rows16_advance(&at, 16, to_next);
			struct pass f = { &block[turn],   x0 + b, x->q_row, sum,
				          &block[!turn],  at,     0,        ahead + AHEAD16,
				          bytes + AHEAD16 };
			ahead += (bytes - ahead + 63) / 64 * 64 - bytes;
			block_add(&f, m);
		}
		for (int t = 0; t < m; t++)
			put16(y + i + (size_t)t * ldy, sum[t], (size_t)each);
	}
}

/* The last n % 16 rows are part of a group of the last 16 rows. */
void KERN_FN(q6_k_rows)(float *y, size_t ldy, const void *w, size_t row_bytes,
                        const struct kern_act *x, int x_row, int m, int n, int k)
{
	const int each = n / 16;

	if (m < PASS_LEAST || n < 16) {
		KERN_FN(q6_k_by8_rows)(y, ldy, w, row_bytes, x, x_row, m, n, k);
		return;
	}
	for (int left = (m + X_MOST - 1) / X_MOST, by; m > 0; m -= by, left--) {
		by = m / left;
		streams16(y, ldy, w, row_bytes, row_bytes * (size_t)each, x, x_row, by, n, k);
		if (n % 16)
			streams16(y + n - 16, ldy, row_of(w, row_bytes, n - 16), row_bytes,
			          row_bytes, x, x_row, by, 16, k);
		y += (size_t)by * ldy;
		x_row += by;
	}
}
