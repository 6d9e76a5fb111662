/* type/search.h - (private) shared by the encoders: loading a block, sums over codes, and searches
 * for scales.
 *
 * All arithmetic is IEEE single precision in vectors of four lanes, which every compiler turns into
 * the same operations in the same order: the bytes are the same on every machine.  A sum over
 * values adds value i to lane i % 4 in turn, then computes (lane 0 + lane 2) + (lane 1 + lane 3).
 * All functions: any thread; they use only their arguments, allocate nothing and cannot fail.
 *
 *   search_scale.h      value = d q: one scale per block
 *   search_affine.h     value = a q + c: a scale and an offset
 *   search_subscales.c  value = d sc[g] q: groups with integer scales
 *   search_subscales_min.c  value = d sc[g] q - dmin mn[g]
 *   search_codebook.h   points of a codebook
 *   *_simd.h            the same sums in wider registers */
#ifndef TYPE_SEARCH_H
#define TYPE_SEARCH_H
#include "type/block.h"
#if defined __SSE2__
#include <emmintrin.h>
#endif

/* Values of at most this weight are ignored when the range of a search is found. */
#define SEARCH_MIN_WEIGHT 0x1p-30f
/* A group whose magnitudes are all smaller than this is encoded as zeros. */
#define SEARCH_MIN_VALUE 0x1p-60f

typedef float search_v4 __attribute__((vector_size(16)));
typedef int32_t search_i4 __attribute__((vector_size(16)));

/* A block prepared for a search: values divided by `unit`, a power of two, so that the largest is
 * between 1 and 2 (smaller if all are subnormal), and weights scaled likewise.  So no square and no
 * sum overflows. */
struct search {
	search_v4 x[64], w[64];
	float unit, per_unit;
	int width; /* type_width() */
	int plain; /* ENCODE_PLAIN: scales are computed from the range, without a search */
};

/* The values of codes before scaling: all integers from lo to hi, or those of a table. */
struct search_grid {
	float lo, hi;
	/* NULL: integers.  Else nearest[k]: table value nearest to t, k = floor(2 (t + 128)), t in
	 * [-128, 128) */
	const int8_t *nearest;
	/* NULL, or for a symmetric table: half[k] is the value nearest to t, k = floor(2 t), t in
	 * [0, 16).  For negative t use -half of -t; ties go up. */
	const float *half;
	/* Table values to which the scales tried first map the largest magnitude of a group. */
	const float *tries;
	int n_tries;
	/* Table value to which ENCODE_PLAIN maps the largest value (if > 0: magnitude). */
	float plain;
};

/* Lookup tables of a grid of 16 ascending values: search_grid.nearest, and code[value + 128]. */
struct search_table {
	int8_t nearest[512];
	uint8_t code[256];
};
/* Fill *t; code[] of values that are not in the table is unchanged. */
void search_table_init(struct search_table *t, const int8_t values[16]);

/* The grid -1, 0, 1. */
extern const struct search_grid search_ternary;
/* Return the grid of IQ4_NL and IQ4_XS.  *t is filled and borrowed. */
struct search_grid search_iq4(struct search_table *t);
/* Return the grid of MXFP4 and NVFP4, twice the E2M1 values, without tries.  *t is filled and
 * borrowed. */
struct search_grid search_fp4(struct search_table *t);

/* Return the first value of largest magnitude in n vectors among those of weight above
 * SEARCH_MIN_WEIGHT; if it is below SEARCH_MIN_VALUE, among all. */
float search_farthest(const search_v4 *x, const search_v4 *w, int n);

/* Sums over values x with weights w and codes q: xq = sum w x q, qq = sum w q q. */
struct search_fit {
	float xq, qq;
};

/* Load a block.  src: f32 [n], n a multiple of 4 up to 256.  importance (NULL: all weights are 1),
 * how: as in struct type's encode. */
void search_load(struct search *s, const float *src, const float *importance, int n, int how);
/* Set only unit and per_unit, for values of magnitude up to top. */
void search_set_unit(struct search *s, float top);
/* Return the finite F16 nearest to x; NaN stays NaN. */
uint16_t search_nearest_f16(float x);
/* Return the F16 nearest to *x * unit, and set *x to its value / unit. */
uint16_t search_round_f16(const struct search *s, float *x);
/* As search_round_f16, but never rounds a nonzero number to 0. */
uint16_t search_round_f16_nonzero(const struct search *s, float *x);
void search_put_f16(uint8_t to[2], uint16_t h); /* store h little-endian, as in files */

static inline float search_sum(search_v4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

static inline search_v4 search_load4(const float *from)
{
	search_v4 v;

	memcpy(&v, from, sizeof v);
	return v;
}

static inline search_v4 search_abs(search_v4 v) { return (search_v4)((search_i4)v & 0x7fffffff); }

/* Return a > b ? a : b per lane; search_min: a < b ? a : b. */
static inline search_v4 search_max(search_v4 a, search_v4 b)
{
#if defined __SSE2__
	return _mm_max_ps(a, b);
#else
	search_i4 m = a > b;

	return (search_v4)((m & (search_i4)a) | (~m & (search_i4)b));
#endif
}

static inline search_v4 search_min(search_v4 a, search_v4 b)
{
#if defined __SSE2__
	return _mm_min_ps(a, b);
#else
	search_i4 m = a < b;

	return (search_v4)((m & (search_i4)a) | (~m & (search_i4)b));
#endif
}

static inline search_v4 search_select(search_i4 m, search_v4 a, search_v4 b)
{
	return (search_v4)((m & (search_i4)a) | (~m & (search_i4)b));
}

static inline search_v4 search_clamp(search_v4 t, float lo, float hi)
{
	const search_v4 none = { 0 };

	return search_min(none + hi, search_max(none + lo, t));
}

/* Round to the nearest integer, ties to even; |t| < 2^22. */
static inline search_v4 search_rint(search_v4 t) { return (t + 0x1.8p23f) - 0x1.8p23f; }

/* Return the grid value nearest to t, per lane. */
static inline search_v4 search_nearest(search_v4 t, const struct search_grid *g)
{
	t = search_clamp(t, g->lo, g->hi);
	if (!g->nearest)
		return search_rint(t);
	search_i4 i = __builtin_convertvector(t * 2.0f + 256.0f, search_i4);
	return (search_v4){ g->nearest[i[0]], g->nearest[i[1]], g->nearest[i[2]],
		            g->nearest[i[3]] };
}

/* Write to q [4 n] the grid values nearest to x / a for n vectors x (a 0: the one nearest to 0). */
void search_codes(int8_t *q, const search_v4 *x, int n, float a, const struct search_grid *g);

/* Write the small integers in n vectors as bytes to[4 n]. */
void search_put_codes(int8_t *to, const search_v4 *v, int n);

/* Return the scale of n vectors without a search: it maps the largest value to g->plain. */
float search_absmax_scale(const search_v4 *x, const search_v4 *w, int n,
                          const struct search_grid *g);

/* Format of 256 values in groups of n vectors with integer scales times d: value = d sc[g] q. */
struct search_subscales {
	struct search_grid grid;
	int n, lo, hi; /* range of sc */
	int steps;     /* number of values of d tried for each end of sc's range */
	int rounds;    /* number of refinements of codes and d after the first codes */
	int wide;      /* a refinement tries sc - wide ... sc + wide */
};
/* Find scales and codes of a block: sc [64 / n], q [256].  Returns d. */
uint16_t search_subscales(const struct search *s, const struct search_subscales *l, int8_t *sc,
                          int8_t *q);
#endif
