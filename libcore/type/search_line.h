/* type/search_line.h - (private) searches for a scale and an offset: value = a q + c. */
#ifndef TYPE_SEARCH_LINE_H
#define TYPE_SEARCH_LINE_H
#include "type/search_four.h"

/* Sums of w q, w q q, w x q, with q less zero. */
struct line_sums {
	float q, qq, xq;
};
/* The best lines of four groups, a lane each: scale, offset; weighted mean of the values, sum of
 * weights, weighted mean of the codes, and how fast the error grows with the square of a change of
 * a. */
struct line4 {
	search_v4 a, c, mean, sw, q, curve;
};

struct line_sums line_try(const search_v4 *x, const search_v4 *w, int n, float inv, float base,
                          float zero, float top);
/* Up to four line_try in one pass, one to a lane.  width: type_width(); the sums are the same for
 * every width. */
struct line_place {
	search_v4 inv, base, zero;
};
struct line_sums4 {
	search_v4 q, qq, xq;
};
void line_try4(const search_v4 *x, const search_v4 *w, int n, const struct line_place *at,
               float top, int tries, int width, struct line_sums4 *f);
/* line_try of each of four groups at its own place. */
void line_groups4(const struct search_four *at, int n, const struct line_place *to, float top,
                  int width, struct line_sums4 *f);
void line_codes(int8_t *q, const search_v4 *x, int n, float a, float c, float top);
/* The least and the greatest of the values that matter; the next vector is `step` further on. */
void line_range(const search_v4 *x, const search_v4 *w, int n, int step, float *lo, float *hi);
/* width: type_width(); the lines are the same for every width. */
struct line4 line_search4(const struct search_four *at, int n, float top, int width);

/* Blocks of 32 values, value = d q + m, 0 <= q <= top: the encoder of a type whose blocks are that. */
struct search_line {
	float top;
	size_t bytes; /* of a block */
	void (*put)(void *block, uint16_t d, uint16_t m, const int8_t *q);
};
void search_line(const struct search_line *t, void *dst, const float *src, const float *importance,
                 size_t blocks, int how);

/* 256 values in groups of n vectors: value = d sc q - dmin mn, 0 <= q <= top, 0 <= sc and mn <=
 * most. */
struct search_block {
	uint16_t d, dmin;
	uint8_t sc[16], mn[16];
	int8_t q[256];
};
/* s is used up. */
void search_minima(struct search *s, int n, int top, int most, struct search_block *out);

/* The inverse of block_scale_min, for k = 0 ... 7 in turn. */
static inline void search_put_scale_min(uint8_t sc[12], int k, int scale, int min)
{
	if (k < 4) {
		sc[k] = (uint8_t)((sc[k] & 0xc0) | scale);
		sc[k + 4] = (uint8_t)((sc[k + 4] & 0xc0) | min);
	} else {
		sc[k + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
		sc[k - 4] = (uint8_t)((sc[k - 4] & 63) | scale >> 4 << 6);
		sc[k] = (uint8_t)((sc[k] & 63) | min >> 4 << 6);
	}
}
#endif
