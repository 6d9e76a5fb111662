/* type/round.h - (private) what the types share that round single elements of a block under scales
 * that stay: see struct type. */
#ifndef TYPE_ROUND_H
#define TYPE_ROUND_H
#include "type/block.h"

/* The integer nearest to t, within its range. */
static inline int round_int(float t, int lo, int hi)
{
	return t <= (float)lo ? lo : t >= (float)hi ? hi : (int)lrintf(t);
}

/* The code for x = a q + c; the least where nothing is multiplied. */
static inline int round_line(float x, float a, float c, int lo, int hi)
{
	return a != 0 ? round_int((x - c) / a, lo, hi) : lo;
}

/* Which of 16 values times a is nearest to x; of two, the first. */
static inline int round_table(float x, float a, const int8_t values[16])
{
	int best = 0;

	for (int k = 1; k < 16; k++)
		if (fabsf(x - a * (float)values[k]) < fabsf(x - a * (float)values[best]))
			best = k;
	return best;
}

/* Write v into the bits of mask << shift. */
static inline void round_put(uint8_t *at, int shift, int mask, int v)
{
	*at = (uint8_t)((*at & ~(mask << shift)) | v << shift);
}

/* The inverse of block_nibble. */
static inline void round_put_nibble(uint8_t *qs, int i, int v)
{
	round_put(qs + i % 16, i / 16 * 4, 15, v);
}

/* A codebook, of points with 4 or 8 coordinates. */
struct round_grid {
	const int8_t *points;
	int dims, count;
};
/* The point nearest to x under scale a, weights w; cost: its error. */
int round_point(const struct round_grid *g, float a, const float *x, const float *w, float *cost);
/* The points nearest to 8 values with signs: *signs is a mask, with even an even number of bits.  x
 * becomes what they stand for.  q [8 / dims] */
void round_signed(const struct round_grid *g, float a, int even, float *x, const float *w, int *q,
                  int *signs);
#endif
