/* kern/ref/mm_q256.c - reference products of weights in blocks of 256.
 * For weight i: H = i / 128, j = (i % 128) / 32, l = i % 32, s = i / 16, c = i / 32.
 *
 *   Q4_K    d | dmin | sc[12] | qs[128]            d S q - dmin M
 *           q = nibble (c & 1) of qs[32 (c / 2) + l]
 *   Q5_K    d | dmin | sc[12] | qh[32] | qs[128]   d S q - dmin M
 *           q = as Q4_K | bit c of qh[l] << 4
 *   Q6_K    ql[128] | qh[64] | sc i8[16] | d       d sc[s] q
 *           q = (nibble (j / 2) of ql[64 H + l + 32 (j & 1)] | 2 bits 2j of qh[32 H + l] << 4) - 32
 *   Q2_K    sc[16] | qs[64] | d | dmin             d S q - dmin M
 *           q = 2 bits 2j of qs[32 H + l]; S, M low and high nibble of sc[s]
 *   Q3_K    hm[32] | qs[64] | sc[12] | d           d (S - 32) q
 *           q = as Q2_K - (bit 4 H + j of hm[l] ? 0 : 4)
 *   IQ4_XS  d | sh u16 | sl[4] | qs[128]           d (L - 32) NL[n]
 *           n = nibble of qs[16 c + i % 16]
 *   S, M of Q4_K, Q5_K: 6 bits each.  c < 4: sc[c] & 63, sc[c + 4] & 63;
 *           else (sc[c + 4] & 15) | sc[c - 4] >> 6 << 4, (sc[c + 4] >> 4) | sc[c] >> 6 << 4
 *
 *   isum = sum of S (q . x);  y = fma(d dx, isum, y), blocks ascending
 *   imin = sum of M sum(x);  ymin = fma(dmin dx, imin, ymin);  y - ymin at the end
 *   bytes per flop: 144, 176, 210, 84, 110, 136 per 512;  limits: k % 256 == 0 */
#include "kern/ref/mm.h"
#include "type/block.h"
#include "type/grids.h"

struct block {
	float d, dmin;
	int q[256], sc[16], mn[16];
}; /* sc, mn: scale and minimum of each 16 weights */
static void scales_k4(struct block *b, const uint8_t *sc)
{
	for (int c = 0; c < 8; c++) {
		int s, m;
		block_scale_min(sc, c, &s, &m);
		b->sc[2 * c] = b->sc[2 * c + 1] = s;
		b->mn[2 * c] = b->mn[2 * c + 1] = m;
	}
}

static void q4_k(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	b->dmin = num_f16(num_u16(p + 2));
	scales_k4(b, p + 4);
	for (int i = 0; i < 256; i++)
		b->q[i] = p[16 + 32 * (i / 64) + i % 32] >> 4 * (i / 32 & 1) & 15;
}

static void q5_k(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	b->dmin = num_f16(num_u16(p + 2));
	scales_k4(b, p + 4);
	for (int i = 0; i < 256; i++)
		b->q[i] = (p[48 + 32 * (i / 64) + i % 32] >> 4 * (i / 32 & 1) & 15) |
		          (p[16 + i % 32] >> i / 32 & 1) << 4;
}

static void q6_k(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p + 208));
	for (int i = 0; i < 16; i++)
		b->sc[i] = (int8_t)p[192 + i];
	for (int i = 0; i < 256; i++) {
		int h = i / 128, j = i % 128 / 32, l = i % 32;
		int lo = p[64 * h + l + 32 * (j & 1)] >> 4 * (j / 2) & 15,
		    hi = p[128 + 32 * h + l] >> 2 * j & 3;
		b->q[i] = (lo | hi << 4) - 32;
	}
}

static void q2_k(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p + 80));
	b->dmin = num_f16(num_u16(p + 82));
	for (int i = 0; i < 16; i++) {
		b->sc[i] = p[i] & 15;
		b->mn[i] = p[i] >> 4;
	}
	for (int i = 0; i < 256; i++)
		b->q[i] = p[16 + 32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
}

static void q3_k(struct block *b, const uint8_t *p)
{
	const uint8_t *sc = p + 96;

	b->d = num_f16(num_u16(p + 108));
	for (int s = 0; s < 16; s++) {
		int lo = s < 8 ? sc[s] & 15 : sc[s - 8] >> 4, hi = sc[8 + s % 4] >> 2 * (s / 4) & 3;
		b->sc[s] = (lo | hi << 4) - 32;
	}
	for (int i = 0; i < 256; i++) {
		int h = i / 128, j = i % 128 / 32, l = i % 32;
		b->q[i] = (p[32 + 32 * h + l] >> 2 * j & 3) - (p[l] >> (4 * h + j) & 1 ? 0 : 4);
	}
}

static void iq4_xs(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	for (int c = 0; c < 8; c++) {
		int l = (p[4 + c / 2] >> 4 * (c & 1) & 15) | (num_u16(p + 2) >> 2 * c & 3) << 4;
		b->sc[2 * c] = b->sc[2 * c + 1] = l - 32;
	}
	for (int i = 0; i < 256; i++)
		b->q[i] = grid_iq4[p[8 + 16 * (i / 32) + i % 16] >> 4 * (i / 16 & 1) & 15];
}

enum { MIN_q4_k = 1, MIN_q5_k = 1, MIN_q6_k = 0, MIN_q2_k = 1, MIN_q3_k = 0, MIN_iq4_xs = 0 };
typedef void unpack(struct block *b, const uint8_t *p);

/* Multiply one row of weights with tn <= TOKENS rows of x. */
static void row_part(float *y, size_t ldy, unpack *un, int bytes, int has_min, const uint8_t *w,
                     const struct kern_act *x, int x_row, int tn, int k)
{
	float sum[TOKENS] = { 0 }, min[TOKENS] = { 0 };

	for (int b = 0; b < k / 256; b++) {
		struct block blk;
		un(&blk, w + (size_t)b * (size_t)bytes);
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *a = act_q8k(x, x_row + t) + b;
			int32_t isum = 0, imin = 0;
			for (int s = 0; s < 16; s++) {
				int32_t dot = 0;
				for (int i = 0; i < 16; i++)
					dot += blk.q[16 * s + i] * a->q[16 * s + i];
				isum += blk.sc[s] * dot;
				if (has_min)
					imin += blk.mn[s] * a->s16[s / 2 + 8 * (s & 1)];
			}
			sum[t] = fmaf(blk.d * a->d, (float)isum, sum[t]);
			if (has_min)
				min[t] = fmaf(blk.dmin * a->d, (float)imin, min[t]);
		}
	}
	for (int t = 0; t < tn; t++)
		y[(size_t)t * ldy] = has_min ? sum[t] - min[t] : sum[t];
}

#define ROW(TYPE, name) \
	static void name##_part(float *y, size_t ldy, const uint8_t *w, const struct kern_act *x, \
	                        int x_row, int tn, int k) \
	{ \
		row_part(y, ldy, name, (int)sizeof(struct name), MIN_##name, w, x, x_row, tn, k); \
	} \
	PLAIN_OF(name, 256)
KERN_ROWS_256(ROW)
