/* type/round.c - round to points of a codebook with fixed scales. */
#include "type/round.h"
#include "type/search.h"

static search_v4 points4(const int8_t *p)
{
	typedef int8_t four __attribute__((vector_size(4)));
	four c;

	memcpy(&c, p, 4);
	return __builtin_convertvector(c, search_v4);
}

int round_point(const struct round_grid *g, float a, const float *x, const float *w, float *cost)
{
	search_v4 square[2] = { { 0 } }, line[2] = { { 0 } };
	float best = HUGE_VALF;
	int at = 0;

	for (int j = 0; j < g->dims; j++) {
		square[j / 4][j % 4] = w[j] * a * a;
		line[j / 4][j % 4] = 2 * w[j] * a * x[j];
	}
	for (int i = 0; i < g->count; i++) {
		const int8_t *p = g->points + i * g->dims;
		search_v4 c = points4(p), sum = (square[0] * c - line[0]) * c;

		if (g->dims == 8) {
			c = points4(p + 4);
			sum += (square[1] * c - line[1]) * c;
		}
		float e = search_sum(sum);
		if (e < best) {
			best = e;
			at = i;
		}
	}
	*cost = best;
	return at;
}

/* Find the points nearest to 8 values y >= 0, and write their values to v.  Returns the error. */
static float nearest_points8(const struct round_grid *g, float a, const float *y, const float *w,
                             int *q, float *v)
{
	float sum = 0;

	for (int k = 0; k < 8 / g->dims; k++) {
		float cost;

		q[k] = round_point(g, a, y + k * g->dims, w + k * g->dims, &cost);
		sum += cost;
		for (int j = 0; j < g->dims; j++)
			v[k * g->dims + j] = a * (float)g->points[q[k] * g->dims + j];
	}
	return sum;
}

/* Change the sign of the element of y that adds the least error.  Returns its index. */
static int flip_best_sign(const struct round_grid *g, float a, float *y, const float *w, int *q,
                          float *v)
{
	float least = HUGE_VALF;
	int best = 0;

	for (int j = 0; j < 8; j++) {
		y[j] = -y[j];
		float e = nearest_points8(g, a, y, w, q, v);
		y[j] = -y[j];
		if (e < least) {
			least = e;
			best = j;
		}
	}
	y[best] = -y[best];
	nearest_points8(g, a, y, w, q, v);
	return best;
}

void round_signed(const struct round_grid *g, float a, int even, float *x, const float *w, int *q,
                  int *signs)
{
	float y[8], v[8];
	int s = 0;

	for (int j = 0; j < 8; j++) {
		y[j] = a < 0 ? -x[j] : x[j];
		s |= (y[j] < 0) << j;
		y[j] = fabsf(y[j]);
	}
	if (even && __builtin_parity((unsigned)s))
		s ^= 1 << flip_best_sign(g, fabsf(a), y, w, q, v);
	else
		nearest_points8(g, fabsf(a), y, w, q, v);
	for (int j = 0; j < 8; j++)
		x[j] = ((s >> j & 1) != (a < 0)) ? -v[j] : v[j];
	*signs = s;
}
