/* kern/x86/grid_plain.h - unpack a codebook or ternary block of 256 to integers in plain C;
 * layouts: ref/mm_grid.c. */
#ifndef KERN_X86_GRID_PLAIN_H
#define KERN_X86_GRID_PLAIN_H
#include <string.h>
#include "base/num.h"
#include "type/grids.h"

struct grid_block {
	float d;       /* d' of ref/mm_grid.c */
	int16_t s[16]; /* S of each 16 weights */
	int8_t q[256];
};
typedef void grid_unpack(struct grid_block *b, const uint8_t *p);

static inline int16_t twice_plus1(int s) { return (int16_t)(2 * s + 1); }

/* Store eight weights: the bytes of a point with its signs. */
static inline void put8(int8_t *q, uint64_t point, int signs)
{
	for (int j = 0; j < 8; j++)
		q[j] = (int8_t)((int)(point >> 8 * j & 255) * (signs >> j & 1 ? -1 : 1));
}
static inline void put4x2(int8_t *q, uint32_t a, uint32_t b, int signs)
{
	put8(q, a | (uint64_t)b << 32, signs);
}
static inline void put_shifted(int8_t *q, uint64_t point, int minus)
{
	for (int j = 0; j < 8; j++)
		q[j] = (int8_t)(8 * (int8_t)(point >> 8 * j & 255) + (minus ? -1 : 1));
}

static inline void scales4(struct grid_block *b, const uint8_t *sc)
{
	for (int s = 0; s < 16; s++)
		b->s[s] = twice_plus1(sc[s / 2] >> 4 * (s & 1) & 15);
}

static inline void iq2_xxs(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	for (int g = 0; g < 32; g++) {
		const uint8_t *at = p + 2 + 8 * (g / 4);
		uint32_t aux = num_u32(at + 4);
		put8(b->q + 8 * g, grid_iq2_xxs[at[g % 4]], grid_signs(aux >> 7 * (g % 4) & 127));
		b->s[g / 2] = twice_plus1((int)(aux >> 28));
	}
}

static inline void iq2_xs(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	scales4(b, p + 66);
	for (int g = 0; g < 32; g++) {
		uint16_t q = num_u16(p + 2 + 2 * g);
		put8(b->q + 8 * g, grid_iq2_xs[q & 511], grid_signs(q >> 9));
	}
}

static inline void iq2_s(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	scales4(b, p + 74);
	for (int g = 0; g < 32; g++) {
		int hi = p[66 + g / 4] >> 2 * (g % 4) & 3;
		put8(b->q + 8 * g, grid_iq2_s[p[2 + g] | hi << 8], p[34 + g]);
	}
}

static inline void iq3_xxs(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.25f;
	for (int g = 0; g < 32; g++) {
		const uint8_t *at = p + 2 + 2 * g;
		uint32_t aux = num_u32(p + 66 + 4 * (g / 4));
		put4x2(b->q + 8 * g, grid_iq3_xxs[at[0]], grid_iq3_xxs[at[1]],
		       grid_signs(aux >> 7 * (g % 4) & 127));
		b->s[g / 2] = twice_plus1((int)(aux >> 28));
	}
}

static inline void iq3_s(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p));
	for (int s = 0; s < 16; s++)
		b->s[s] = twice_plus1(p[106 + s / 4] >> 4 * (s / 2 & 1) & 15);
	for (int g = 0; g < 32; g++) {
		int at[2];
		for (int j = 0; j < 2; j++)
			at[j] = p[2 + 2 * g + j] | (p[66 + g / 4] >> (2 * g + j) % 8 & 1) << 8;
		put4x2(b->q + 8 * g, grid_iq3_s[at[0]], grid_iq3_s[at[1]], p[74 + g]);
	}
}

static inline void iq1_s(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p)) * 0.125f;
	for (int g = 0; g < 32; g++) {
		uint16_t qh = num_u16(p + 34 + 2 * (g / 4));
		put_shifted(b->q + 8 * g, grid_iq1[p[2 + g] | (qh >> 3 * (g % 4) & 7) << 8],
		            qh >> 15);
		b->s[g / 2] = twice_plus1(qh >> 12 & 7);
	}
}

static inline void iq1_m(struct grid_block *b, const uint8_t *p)
{
	uint16_t d = 0;

	for (int i = 0; i < 4; i++)
		d |= (uint16_t)(num_u16(p + 48 + 2 * i) >> 12 << 4 * i);
	b->d = num_f16(d) * 0.125f;
	for (int s = 0; s < 16; s++)
		b->s[s] = twice_plus1(num_u16(p + 48 + 2 * (s / 4)) >> 3 * (s % 4) & 7);
	for (int g = 0; g < 32; g++) {
		int n = p[32 + g / 2] >> 4 * (g & 1) & 15;
		put_shifted(b->q + 8 * g, grid_iq1[p[g] | (n & 7) << 8], n >> 3);
	}
}

static inline void ones(struct grid_block *b)
{
	for (int s = 0; s < 16; s++)
		b->s[s] = 1;
}

static inline void tq2_0(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p + 64));
	ones(b);
	for (int i = 0; i < 256; i++)
		b->q[i] = (int8_t)((p[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3) - 1);
}

static inline void tq1_0(struct grid_block *b, const uint8_t *p)
{
	b->d = num_f16(num_u16(p + 52));
	ones(b);
	for (int i = 0; i < 256; i++) {
		int byte = i < 160 ? p[i % 32] : i < 240 ? p[32 + i % 16] : p[48 + i % 4];
		int n = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
		while (n--)
			byte = byte * 3 & 255;
		b->q[i] = (int8_t)((byte * 3 >> 8) - 1);
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
#endif
