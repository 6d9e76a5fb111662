/* type/search.h - (private) what the encoders share: a block made ready for a search, sums over
 * codes, and the searches for scales.
 *
 * All arithmetic is IEEE single precision in vectors of four lanes, which every compiler turns
 * into the same operations in the same order: the bytes are the same on every machine.  A sum over
 * values adds value i to lane i % 4 in turn, then (0 + 2) + (1 + 3). */
#ifndef TYPE_SEARCH_H
#define TYPE_SEARCH_H
#include "type/block.h"
#if defined __SSE2__
#include <emmintrin.h>
#endif

/* Values of this weight and less do not set the range of a search. */
#define SEARCH_UNHEARD 0x1p-30f
/* A group of smaller values is all zeros. */
#define SEARCH_LEAST 0x1p-60f

typedef float search_v4 __attribute__((vector_size(16)));
typedef int32_t search_i4 __attribute__((vector_size(16)));

/* Values divided by a power of two, unit, so that the largest lies between 1 and 2 (smaller where
 * all are subnormal), and weights likewise: no square and no sum of the search overflows. */
struct search {
	search_v4 x[64], w[64];
	float unit, per_unit;
	int width; /* type_width() */
	int plain; /* the range says the scales: nothing is searched */
};

/* The values that a code stands for, before the scale: all integers from lo to hi, or those of a
 * table. */
struct search_grid {
	float lo, hi;
	/* NULL, or the value nearest to t in [-128, 128) at 2 (t + 128) rounded down */
	const int8_t *nearest;
	/* With a table whose values are the same on both sides of 0, or NULL: the value nearest to
	 * t in [0, 16) at 2 t rounded down.  A negative t has the negative of what -t has, and ties
	 * go up. */
	const float *half;
	/* What the largest |x| of a group stands for under the scales tried first */
	const float *tries;
	int n_tries;
	/* The same for the only scale without a search; above 0, its magnitude. */
	float plain;
};

/* For a grid of 16 ascending values: .nearest of the grid, and the codes, at value + 128. */
struct search_table {
	int8_t nearest[512];
	uint8_t code[256];
};
void search_table_init(struct search_table *t, const int8_t values[16]);

/* -1, 0, 1 */
extern const struct search_grid search_ternary;
/* The grid of IQ4_NL and IQ4_XS; *t is filled and borrowed. */
struct search_grid search_iq4(struct search_table *t);
/* Of MXFP4 and NVFP4: twice the E2M1 values; no tries. */
struct search_grid search_fp4(struct search_table *t);

/* The value whose error matters and that is farthest from 0. */
float search_farthest(const search_v4 *x, const search_v4 *w, int n);

/* How well codes q do: sums of w x q and w q q. */
struct search_fit {
	float xq, qq;
};

/* src, f32 [n], n a multiple of 4 up to 256; importance and how as in struct type's encode */
void search_load(struct search *s, const float *src, const float *importance, int n, int how);
/* Set only unit and per_unit, for values up to top. */
void search_units(struct search *s, float top);
/* The nearest F16 to x that is finite */
uint16_t search_f16(float x);
/* The nearest F16 to x * unit as bits, *x becomes what it stands for */
uint16_t search_round(const struct search *s, float *x);
/* The same, but a number that is not 0 stays so. */
uint16_t search_round_up(const struct search *s, float *x);
void search_put(uint8_t to[2], uint16_t h);

static inline float search_sum(search_v4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

static inline search_v4 search_get(const float *from)
{
	search_v4 v;

	memcpy(&v, from, sizeof v);
	return v;
}

static inline search_v4 search_abs(search_v4 v) { return (search_v4)((search_i4)v & 0x7fffffff); }

/* a > b ? a : b and a < b ? a : b in each lane */
static inline search_v4 search_greater(search_v4 a, search_v4 b)
{
#if defined __SSE2__
	return _mm_max_ps(a, b);
#else
	search_i4 m = a > b;

	return (search_v4)((m & (search_i4)a) | (~m & (search_i4)b));
#endif
}

static inline search_v4 search_less(search_v4 a, search_v4 b)
{
#if defined __SSE2__
	return _mm_min_ps(a, b);
#else
	search_i4 m = a < b;

	return (search_v4)((m & (search_i4)a) | (~m & (search_i4)b));
#endif
}

static inline search_v4 search_pick(search_i4 m, search_v4 a, search_v4 b)
{
	return (search_v4)((m & (search_i4)a) | (~m & (search_i4)b));
}

static inline search_v4 search_clamp(search_v4 t, float lo, float hi)
{
	const search_v4 none = { 0 };

	return search_less(none + hi, search_greater(none + lo, t));
}

/* To the nearest integer, ties to even; |t| < 2^22. */
static inline search_v4 search_rint(search_v4 t) { return (t + 0x1.8p23f) - 0x1.8p23f; }

/* The grid's value nearest to t. */
static inline search_v4 search_nearest(search_v4 t, const struct search_grid *g)
{
	t = search_clamp(t, g->lo, g->hi);
	if (!g->nearest)
		return search_rint(t);
	search_i4 i = __builtin_convertvector(t * 2.0f + 256.0f, search_i4);
	return (search_v4){ g->nearest[i[0]], g->nearest[i[1]], g->nearest[i[2]],
		            g->nearest[i[3]] };
}

/* The codes of n vectors under the scale 1 / inv. */
static inline struct search_fit search_try(const search_v4 *x, const search_v4 *w, int n, float inv,
                                           const struct search_grid *g)
{
	search_v4 xq = { 0 }, qq = { 0 };

	for (int i = 0; i < n; i++) {
		search_v4 q = search_nearest(x[i] * inv, g), wq = w[i] * q;
		xq += wq * x[i];
		qq += wq * q;
	}
	return (struct search_fit){ search_sum(xq), search_sum(qq) };
}

/* Value nearest under scale a as integers; a 0: all the grid's nearest to 0. */
void search_codes(int8_t *q, const search_v4 *x, int n, float a, const struct search_grid *g);

/* Small integers in n vectors as bytes. */
void search_put_codes(int8_t *to, const search_v4 *v, int n);

/* The scale of a group of n vectors without a search. */
float search_plain(const search_v4 *x, const search_v4 *w, int n, const struct search_grid *g);

/* 256 values in groups of n vectors whose scales are integers times d: value = d sc[g] q. */
struct search_levels {
	struct search_grid grid;
	int n, lo, hi; /* of a group's scale */
	int steps;     /* how many d are tried for each end of a scale's range */
	int rounds;    /* of codes and d in turn, after the first codes */
	int wide;      /* a round tries integers so far from a group's */
};
/* sc [64 / n], q [256]; returns d */
uint16_t search_levels(const struct search *s, const struct search_levels *l, int8_t *sc,
                       int8_t *q);
#endif
