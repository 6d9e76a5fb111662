/* kern/ref/mm_q32.c - reference products of weights in blocks of 32, and of 64 with two groups of 32.
 * n: half-byte of qs; first the low halves of 16 bytes, then the high halves.
 *
 *   Q8_0    d f16 | q i8[32]                  d q
 *   Q4_0    d f16 | qs[16]                    d (n - 8)
 *   Q4_1    d f16 | m f16 | qs[16]            d n + m
 *   Q5_0    d f16 | qh u32 | qs[16]           d ((n | bit << 4) - 16)
 *   Q5_1    d f16 | m f16 | qh u32 | qs[16]   d (n | bit << 4) + m
 *   IQ4_NL  d f16 | qs[16]                    d NL[n]
 *   MXFP4   e u8 | qs[16]                     2^(e-128) FP4x2[n]
 *   Q4_F    d f32 | m f32 | qs[32]            d (n - 8) + m;  n: the low nibbles of 32 bytes, then the high
 *   Q8_F    d f32 | m f32 | q i8[64]          d q + m
 *   NVFP4_F d f32 | s u8[4] | qs[4][8]        d E4M3(s) / 2 FP4x2[n];  n, s: for each 16
 *
 *   y = fma(d dx, sum q x, y), groups of 32 ascending
 *   with m: ymin = fma(m dx, sum x, ymin); y + ymin at the end
 *   NVFP4_F: y = fma(dx, fma(d1, sum1 q x, d0 (sum0 q x)), y), d0, d1: scales of each 16 of a group
 *   bytes per flop: 34, 18, 20, 22, 24, 18, 17 per 64; 40, 72, 40 per 128;  limits: k % 32 == 0, k % 64 == 0 */
#include "kern/ref/mm.h"
#include "type/block.h"
#include "type/grids.h"

/* a group of 32 weights; a block of 64 has two groups */
struct block {
	float d, m; /* NVFP4_F: d, m are the scales of the first and the last 16 */
	int q[32];
};
static void nibbles(int *q, const uint8_t *qs)
{
	for (int i = 0; i < 16; i++) {
		q[i] = qs[i] & 15;
		q[i + 16] = qs[i] >> 4;
	}
}

static void fifth(int *q, const uint8_t *qh)
{
	for (int i = 0; i < 32; i++)
		q[i] |= (int)(num_u32(qh) >> i & 1) << 4;
}

static void q8_0(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	for (int i = 0; i < 32; i++)
		b->q[i] = (int8_t)p[2 + i];
}

static void q4_0(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	nibbles(b->q, p + 2);
	for (int i = 0; i < 32; i++)
		b->q[i] -= 8;
}

static void q4_1(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	b->m = num_f16(num_u16(p + 2));
	nibbles(b->q, p + 4);
}

static void q5_0(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	nibbles(b->q, p + 6);
	fifth(b->q, p + 2);
	for (int i = 0; i < 32; i++)
		b->q[i] -= 16;
}

static void q5_1(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	b->m = num_f16(num_u16(p + 2));
	nibbles(b->q, p + 8);
	fifth(b->q, p + 4);
}

static void iq4_nl(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	nibbles(b->q, p + 2);
	for (int i = 0; i < 32; i++)
		b->q[i] = grid_iq4[b->q[i]];
}

static void mxfp4(struct block *b, const uint8_t *p)
{
	b->d = num_e8m0(p[0]) * 0.5f;
	nibbles(b->q, p + 1);
	for (int i = 0; i < 32; i++)
		b->q[i] = grid_fp4[b->q[i]];
}

static void wide(struct block b[2], const uint8_t *p)
{
	b[0].d = b[1].d = block_f32(p);
	b[0].m = b[1].m = block_f32(p + 4);
}

static void q4_f(struct block b[2], const uint8_t *p)
{
	wide(b, p);
	for (int i = 0; i < 64; i++)
		b[i / 32].q[i % 32] = block_nibble64(p + 8, i) - 8;
}

static void q8_f(struct block b[2], const uint8_t *p)
{
	wide(b, p);
	for (int i = 0; i < 64; i++)
		b[i / 32].q[i % 32] = (int8_t)p[8 + i];
}

static void nvfp4_f(struct block b[2], const uint8_t *p)
{
	for (int g = 0; g < 4; g++) {
		float d = block_f32(p) * block_half_e4m3(p[4 + g] & 127);
		*(g % 2 ? &b[g / 2].m : &b[g / 2].d) = d;
		for (int i = 0; i < 16; i++)
			b[g / 2].q[g % 2 * 16 + i] =
				grid_fp4[p[8 + 8 * g + i % 8] >> i / 8 * 4 & 15];
	}
}

enum {
	MIN_q8_0 = 0,
	MIN_q4_0 = 0,
	MIN_q4_1 = 1,
	MIN_q5_0 = 0,
	MIN_q5_1 = 1,
	MIN_iq4_nl = 0,
	MIN_mxfp4 = 0,
	MIN_q4_f = 1,
	MIN_q8_f = 1
};
typedef void unpack(struct block b[2], const uint8_t *p);

/* Multiply one row of weights with tn <= TOKENS rows of x. */
static void row_part(float *y, size_t ldy, unpack *un, int bytes, int groups, int has_min,
                     const uint8_t *w, const struct kern_act *x, int x_row, int tn, int k)
{
	float sum[TOKENS] = { 0 }, min[TOKENS] = { 0 };
	struct block both[2];

	for (int b = 0; b < k / 32; b++) {
		const struct block *blk = &both[b % groups];
		if (b % groups == 0)
			un(both, w + (size_t)(b / groups) * (size_t)bytes);
		for (int t = 0; t < tn; t++) {
			const struct kern_q8 *a = act_q8(x, x_row + t) + b;
			int32_t isum = 0;
			for (int i = 0; i < 32; i++)
				isum += blk->q[i] * a->q[i];
			sum[t] = fmaf(blk->d * a->d, (float)isum, sum[t]);
			if (has_min)
				min[t] = fmaf(blk->m * a->d, (float)-a->neg_sum, min[t]);
		}
	}
	for (int t = 0; t < tn; t++)
		y[(size_t)t * ldy] = has_min ? sum[t] + min[t] : sum[t];
}

/* Likewise for blocks of 64 with a scale for each 16. */
static void row_part16(float *y, size_t ldy, unpack *un, int bytes, const uint8_t *w,
                       const struct kern_act *x, int x_row, int tn, int k)
{
	float sum[TOKENS] = { 0 };
	struct block both[2];

	for (int b = 0; b < k / 32; b++) {
		const struct block *blk = &both[b % 2];
		if (b % 2 == 0)
			un(both, w + (size_t)(b / 2) * (size_t)bytes);
		for (int t = 0; t < tn; t++) {
			const struct kern_q8 *a = act_q8(x, x_row + t) + b;
			int32_t isum[2] = { 0 };
			for (int i = 0; i < 32; i++)
				isum[i / 16] += blk->q[i] * a->q[i];
			float both16 = fmaf(blk->m, (float)isum[1], blk->d * (float)isum[0]);
			sum[t] = fmaf(a->d, both16, sum[t]);
		}
	}
	for (int t = 0; t < tn; t++)
		y[(size_t)t * ldy] = sum[t];
}

#define PART(name, block) \
	static void name##_part(float *y, size_t ldy, const uint8_t *w, const struct kern_act *x, \
	                        int x_row, int tn, int k) \
	{ \
		row_part(y, ldy, name, (int)sizeof(struct name), (block) / 32, MIN_##name, w, x, \
		         x_row, tn, k); \
	} \
	PLAIN_OF(name, block)
#define ROW(TYPE, name) PART(name, 32)
KERN_ROWS_32(ROW)
#undef ROW
#define ROW(TYPE, name) PART(name, 64)
KERN_ROWS_64(ROW)
#undef ROW
#define ROW(TYPE, name) \
	static void name##_part(float *y, size_t ldy, const uint8_t *w, const struct kern_act *x, \
	                        int x_row, int tn, int k) \
	{ \
		row_part16(y, ldy, name, (int)sizeof(struct name), w, x, x_row, tn, k); \
	} \
	PLAIN_OF(name, 64)
KERN_ROWS_16(ROW)
