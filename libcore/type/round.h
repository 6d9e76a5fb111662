/* type/round.h - (private) round single elements of a block with fixed scales (struct type). */
#ifndef TYPE_ROUND_H
#define TYPE_ROUND_H
#include "type/block.h"

/* Return the integer of lo ... hi nearest to t. */
static inline int round_int(float t, int lo, int hi)
{
	return t <= (float)lo ? lo : t >= (float)hi ? hi : (int)lrintf(t);
}

/* Return the code q for which a q + c is nearest to x; lo if a is 0. */
static inline int round_line(float x, float a, float c, int lo, int hi)
{
	return a != 0 ? round_int((x - c) / a, lo, hi) : lo;
}

/* Return the index of the value nearest to x / a, the first if several are equally near. */
static inline int round_table(float x, float a, const int8_t values[16])
{
	int best = 0;

	for (int k = 1; k < 16; k++)
		if (fabsf(x - a * (float)values[k]) < fabsf(x - a * (float)values[best]))
			best = k;
	return best;
}

/* Write v to the bits mask << shift of *at. */
static inline void round_put(uint8_t *at, int shift, int mask, int v)
{
	*at = (uint8_t)((*at & ~(mask << shift)) | v << shift);
}

/* Store v so that block_nibble returns it. */
static inline void round_put_nibble(uint8_t *qs, int i, int v)
{
	round_put(qs + i % 16, i / 16 * 4, 15, v);
}

/* A codebook of points with 4 or 8 coordinates. */
struct round_grid {
	const int8_t *points;
	int dims, count;
};
/* Return the index of the point nearest to x with scale a and weights w.  *cost: its error. */
int round_point(const struct round_grid *g, float a, const float *x, const float *w, float *cost);
/* Find the points q [8 / dims] nearest to 8 signed values x.  *signs: bit mask of minus signs;
 * even: 1 if their number must be even.  x is replaced by the decoded values. */
void round_signed(const struct round_grid *g, float a, int even, float *x, const float *w, int *q,
                  int *signs);
#endif
