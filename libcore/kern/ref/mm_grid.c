/* Products of weights in blocks of 256 whose values stand in a codebook, and of ternary ones, the
 * plain way.  Of weight i: g = i / 8, k = i / 32; G: the point of the type's grid (type/grids.h).
 *
 *   IQ2_XXS  d | 8 times { u8 at[4], u32 aux }                d/8 S G[at[g % 4]]
 *            signs 7 bits 7 (g % 4) of aux, S of its bits 28
 *   IQ2_XS   d | u16 q[32] | sc[8]                            d/8 S G[9 bits of q[g]]
 *            signs 7 bits 9 of q[g], S of nibble i / 16
 *   IQ2_S    d | qs[32] | signs[32] | qh[8] | sc[8]           d/8 S G[qs[g] | 2 bits 2 g of qh << 8]
 *   IQ3_XXS  d | qs[64] | u32 aux[8]                          d/4 S G[qs[i / 4]], aux as IQ2_XXS
 *   IQ3_S    d | qs[64] | qh[8] | signs[32] | sc[4]           d S G[qs[i / 4] | bit i / 4 of qh << 8]
 *   IQ1_S    d | qs[32] | u16 qh[8]                           d/8 S (8 G + 1 or - 1)
 *            point qs[g] | 3 bits 3 (g % 4) of qh[k] << 8, S of its bits 12, bit 15 is -1
 *   IQ1_M    qs[32] | qh[16] | u16 sc[4]                      d/8 S (8 G + 1 or - 1)
 *            point qs[g] | 3 bits 4 g of qh << 8, the fourth is -1; S of the 3 bits 3 (i / 16 % 4) of
 *            sc[i / 64]; d of the highest 4 bits of all sc
 *   TQ2_0    qs[64] | d                                       d (q - 1), q as Q2_K
 *   TQ1_0    qs[48] | qh[4] | d                               d (q - 1), five digits in base 3 a byte
 *   S = 2 s + 1 of the bits s; seven signs: the eighth makes their number even
 *
 *   isum = sum of S (q . x), q the value beside S (G times its signs);  y = fma(d' dx, isum, y), d'
 *   the factor before S, blocks ascending
 *   bytes per flop: 66, 74, 82, 98, 110, 50, 56, 66, 54 per 512;  limits: k % 256 == 0 */
#include "kern/act.h"
#include "kern/ref/simd.h"
#include <string.h>
#include "type/grids.h"

struct block {
	float d;
	int q[256], sc[16];
};
enum { TOKENS = 8, PANEL = 4 };

static int odd(int s) { return 2 * s + 1; }

/* eight weights from 64 bits */
static void put8(int *q, uint64_t point, int signs)
{
	for (int j = 0; j < 8; j++)
		q[j] = (int)(point >> 8 * j & 255) * (signs >> j & 1 ? -1 : 1);
}
static void put4x2(int *q, uint32_t a, uint32_t b, int signs)
{
	put8(q, a | (uint64_t)b << 32, signs);
}
static void put_shifted(int *q, uint64_t point, int minus)
{
	for (int j = 0; j < 8; j++)
		q[j] = 8 * (int8_t)(point >> 8 * j & 255) + (minus ? -1 : 1);
}

static void scales4(struct block *b, const uint8_t *sc)
{
	for (int s = 0; s < 16; s++)
		b->sc[s] = odd(sc[s / 2] >> 4 * (s & 1) & 15);
}

static void iq2_xxs(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	for (int g = 0; g < 32; g++) {
		const uint8_t *at = p + 2 + 8 * (g / 4);
		uint32_t aux = num_u32(at + 4);
		put8(b->q + 8 * g, grid_iq2_xxs[at[g % 4]], grid_signs(aux >> 7 * (g % 4) & 127));
		b->sc[g / 2] = odd((int)(aux >> 28));
	}
}

static void iq2_xs(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	scales4(b, p + 66);
	for (int g = 0; g < 32; g++) {
		uint16_t q = num_u16(p + 2 + 2 * g);
		put8(b->q + 8 * g, grid_iq2_xs[q & 511], grid_signs(q >> 9));
	}
}

static void iq2_s(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	scales4(b, p + 74);
	for (int g = 0; g < 32; g++) {
		int hi = p[66 + g / 4] >> 2 * (g % 4) & 3;
		put8(b->q + 8 * g, grid_iq2_s[p[2 + g] | hi << 8], p[34 + g]);
	}
}

static void iq3_xxs(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.25f;
	for (int g = 0; g < 32; g++) {
		const uint8_t *at = p + 2 + 2 * g;
		uint32_t aux = num_u32(p + 66 + 4 * (g / 4));
		put4x2(b->q + 8 * g, grid_iq3_xxs[at[0]], grid_iq3_xxs[at[1]],
		       grid_signs(aux >> 7 * (g % 4) & 127));
		b->sc[g / 2] = odd((int)(aux >> 28));
	}
}

static void iq3_s(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	for (int s = 0; s < 16; s++)
		b->sc[s] = odd(p[106 + s / 4] >> 4 * (s / 2 & 1) & 15);
	for (int g = 0; g < 32; g++) {
		int at[2];
		for (int j = 0; j < 2; j++)
			at[j] = p[2 + 2 * g + j] | (p[66 + g / 4] >> (2 * g + j) % 8 & 1) << 8;
		put4x2(b->q + 8 * g, grid_iq3_s[at[0]], grid_iq3_s[at[1]], p[74 + g]);
	}
}

static void iq1_s(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	for (int g = 0; g < 32; g++) {
		uint16_t qh = num_u16(p + 34 + 2 * (g / 4));
		put_shifted(b->q + 8 * g, grid_iq1[p[2 + g] | (qh >> 3 * (g % 4) & 7) << 8],
		            qh >> 15);
		b->sc[g / 2] = odd(qh >> 12 & 7);
	}
}

static void iq1_m(struct block *b, const uint8_t *p)
{
	uint16_t d = 0;

	for (int i = 0; i < 4; i++)
		d |= (uint16_t)(num_u16(p + 48 + 2 * i) >> 12 << 4 * i);
	b->d = num_f16(d) * 0.125f;
	for (int s = 0; s < 16; s++)
		b->sc[s] = odd(num_u16(p + 48 + 2 * (s / 4)) >> 3 * (s % 4) & 7);
	for (int g = 0; g < 32; g++) {
		int n = p[32 + g / 2] >> 4 * (g & 1) & 15;
		put_shifted(b->q + 8 * g, grid_iq1[p[g] | (n & 7) << 8], n >> 3);
	}
}

static void ones(struct block *b)
{
	for (int s = 0; s < 16; s++)
		b->sc[s] = 1;
}

static void tq2_0(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p + 64));
	ones(b);
	for (int i = 0; i < 256; i++)
		b->q[i] = (p[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3) - 1;
}

static void tq1_0(struct block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p + 52));
	ones(b);
	for (int i = 0; i < 256; i++) {
		int byte = i < 160   ? p[i % 32]
		           : i < 240 ? p[32 + i % 16]
		                     : p[48 + i % 4];
		int n = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
		while (n--)
			byte = byte * 3 & 255;
		b->q[i] = (byte * 3 >> 8) - 1;
	}
}

enum {
	BYTES_iq2_xxs = 66,
	BYTES_iq2_xs = 74,
	BYTES_iq2_s = 82,
	BYTES_iq3_xxs = 98,
	BYTES_iq3_s = 110,
	BYTES_iq1_s = 50,
	BYTES_iq1_m = 56,
	BYTES_tq2_0 = 66,
	BYTES_tq1_0 = 54
};
typedef void unpack(struct block *b, const uint8_t *p);

/* one row of weights against tn <= TOKENS rows of x */
static void row_part(float *y, size_t ldy, unpack *un, int bytes, const uint8_t *w,
                     const struct kern_act *x, int x_row, int tn, int k)
{
	float sum[TOKENS] = {0};

	for (int b = 0; b < k / 256; b++) {
		struct block blk;
		un(&blk, w + (size_t)b * (size_t)bytes);
		for (int t = 0; t < tn; t++) {
			const struct kern_q8k *a = act_q8k(x, x_row + t) + b;
			int32_t isum = 0;
			for (int s = 0; s < 16; s++) {
				int32_t dot = 0;
				for (int i = 0; i < 16; i++)
					dot += blk.q[16 * s + i] * a->q[16 * s + i];
				isum += blk.sc[s] * dot;
			}
			sum[t] = fmaf(blk.d * a->d, (float)isum, sum[t]);
		}
	}
	for (int t = 0; t < tn; t++)
		y[(size_t)t * ldy] = sum[t];
}

static void rows(float *y, size_t ldy, unpack *un, int bytes, const void *w, size_t row_bytes,
                 const struct kern_act *x, int x_row, int m, int n, int k)
{
	for (int r = 0; r < n; r++)
		for (int t = 0; t < m; t += TOKENS)
			row_part(y + (size_t)t * ldy + r, ldy, un, bytes,
			         (const uint8_t *)w + (size_t)r * row_bytes, x, x_row + t,
			         m - t < TOKENS ? m - t : TOKENS, k);
}

/* The plain set keeps the file's order: a panel is PANEL rows side by side. */
static void pack(void *dst, const void *w, size_t row_bytes, int n, size_t bytes)
{
	for (int r = 0; r < PANEL; r++) {
		uint8_t *d = (uint8_t *)dst + (size_t)r * bytes;
		if (r < n)
			memcpy(d, (const uint8_t *)w + (size_t)r * row_bytes, bytes);
		else
			memset(d, 0, bytes);
	}
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		rows(y, ldy, name, BYTES_##name, w, row_bytes, x, x_row, m, n, k); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack(dst, w, row_bytes, n, (size_t)k / 256 * BYTES_##name); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		KERN_FN(name##_rows) \
		(y, ldy, packed, (size_t)k / 256 * BYTES_##name, x, x_row, m, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) { return (size_t)k / 256 * BYTES_##name * PANEL; }
KERN_ROWS_GRID(ROW) KERN_ROWS_TERNARY(ROW)
