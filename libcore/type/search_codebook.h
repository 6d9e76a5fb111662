/* type/search_codebook.h - (private) encode types with a codebook: a block has 256 values in
 * groups, each with the scale d (2 sc + 1).  Coordinates of points are positive, with separate
 * signs, or ternary, with a shift. */
#ifndef TYPE_SEARCH_POINTS_H
#define TYPE_SEARCH_POINTS_H
#include "type/search.h"

/* A type and its codebook, indexed by halves of the points: lo and hi number the coordinates of the
 * low and the high half.  Points are in ascending order of hi, then lo. */
struct search_codebook {
	int dims;      /* coordinates of a point: 8 with 3 values each, or 4 with 8 values each */
	int n;         /* number of vectors of a group */
	int most;      /* greatest sc */
	int even;      /* 1: the number of minus signs of 8 values must be even */
	int shift;     /* number of points that share a shift; 0: no shifts, coordinates are
	                * positive */
	int refits;    /* number of times that a group's scale is refitted to its points */
	int keep_norm; /* 1: d is raised to restore the norm of the block, see search_codebook.c */
	float unit;    /* value = unit d (2 sc + 1) coordinate; a power of two */
	/* Possible values of a coordinate, ascending, about equally spaced.  Without shifts v[1]
	 * continues v[0]; with shifts v[0] has the values shifted up, v[1] down. */
	search_v4 v[2];
	const int8_t *grid; /* coordinates of the points; with shifts, divided by 8 */
	int count;
	uint16_t first[145]; /* first[h]: first point with hi >= h */
	uint8_t lo[2048], hi[2048];
};

/* An encoded block.  signs: bit masks of minus signs of 8 values each, or 1 if a vector is shifted
 * down; q: indices of points. */
struct search_codebook_block {
	uint16_t d;
	uint8_t sc[16], signs[32];
	uint16_t q[64];
};

/* Build the index of a codebook.  codes: as in type/grids.h, NULL if ternary.  The members up to
 * `grid` must be set before. */
void search_codebook_init(struct search_codebook *p, const uint16_t *codes, int count);
/* Encode a block.  Overwrites s. */
void search_codebook(struct search *s, const struct search_codebook *p,
                     struct search_codebook_block *b);
#endif
