/* type/search_affine.h - (private) searches for a scale and an offset: value = a q + c. */
#ifndef TYPE_SEARCH_LINE_H
#define TYPE_SEARCH_LINE_H
#include "type/search_scale.h"

/* Sums over a group: q = sum w q, qq = sum w q q, xq = sum w x q, for weights w, values x, codes q
 * minus the map's zero. */
struct affine_sums {
	float q, qq, xq;
};
/* Best fits of four groups, one per lane: scale a, offset c, weighted means of the values (mean)
 * and codes (q), sum of weights sw.  A change e of a adds the error curve e^2. */
struct affine4 {
	search_v4 a, c, mean, sw, q, curve;
};

/* Encode n vectors, q = round(x inv + base) clamped to 0 ... top, and return the sums of q - zero. */
struct affine_sums affine_fit_codes(const search_v4 *x, const search_v4 *w, int n, float inv,
                                    float base, float zero, float top);
/* Compute affine_fit_codes of one group for up to four maps in one pass, one per lane.  width:
 * type_width(); the sums are the same for every width. */
struct affine_map {
	search_v4 inv, base, zero;
};
struct affine_sums4 {
	search_v4 q, qq, xq;
};
void affine_fit_codes4(const search_v4 *x, const search_v4 *w, int n, const struct affine_map *at,
                       float top, int tries, int width, struct affine_sums4 *f);
/* Compute affine_fit_codes of each of four groups for its own map. */
void affine_fit_groups4(const struct search_interleaved *at, int n, const struct affine_map *to,
                        float top, int width, struct affine_sums4 *f);
void affine_codes(int8_t *q, const search_v4 *x, int n, float a, float c, float top);
/* Find the least and the greatest value among those of weight above SEARCH_MIN_WEIGHT.  step:
 * distance of the vectors. */
void affine_range(const search_v4 *x, const search_v4 *w, int n, int step, float *lo, float *hi);
/* Find the best fit of each of four groups.  width: type_width(); the result is the same for every
 * width. */
struct affine4 affine_search4(const struct search_interleaved *at, int n, float top, int width);

/* Format of blocks of 32 values, value = d q + m, 0 <= q <= top. */
struct search_affine_format {
	float top;
	size_t bytes; /* bytes of a block */
	void (*put)(void *block, uint16_t d, uint16_t m, const int8_t *q);
};
void search_encode_affine(const struct search_affine_format *t, void *dst, const float *src,
                          const float *importance, size_t blocks, int how);

/* A block of 256 values in groups of n vectors: value = d sc q - dmin mn, 0 <= q <= top, 0 <= sc,
 * mn <= most. */
struct search_block {
	uint16_t d, dmin;
	uint8_t sc[16], mn[16];
	int8_t q[256];
};
/* Encode a block.  Overwrites s. */
void search_subscales_min(struct search *s, int n, int top, int most, struct search_block *out);

/* Store a scale and a minimum, the inverse of block_scale_min.  Call it for k = 0 ... 7 in
 * order. */
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
