/* type/search_points.h - (private) the encoders of types with a codebook: a block has 256 values in
 * groups, each with the scale d (2 sc + 1).  Coordinates are positive, with signs beside
 * them, or ternary, with a shift. */
#ifndef TYPE_SEARCH_POINTS_H
#define TYPE_SEARCH_POINTS_H
#include "type/search.h"

/* A type, and its codebook by halves of the points: lo and hi number the coordinates of the low and
 * of the high half, and the points are in ascending order of hi, then lo. */
struct search_points {
	int dims;   /* of a point: 8, with coordinates of 3 values, or 4, of 8 values */
	int n;      /* vectors of a group */
	int most;   /* the greatest sc */
	int even;   /* 8 values have an even number of minus signs */
	int shift;  /* so many points share a shift; 0: none, coordinates are positive */
	int refits; /* how many more times a group's scale is fitted to its points */
	int louder; /* d is above that of the least error: see search_points.c */
	float unit; /* value = unit d (2 sc + 1) coordinate; a power of two */
	/* The values of a coordinate, ascending, about equally far apart: v[0] is followed by v[1],
	 * or with shifts, v[0] are those shifted up, v[1] down. */
	search_v4 v[2];
	const int8_t *grid; /* the points' coordinates; with shifts, an eighth */
	int count;
	uint16_t first[145]; /* the first point of hi or more */
	uint8_t lo[2048], hi[2048];
};

/* What a block becomes: signs are masks for 8 values, or whether they are shifted down; q are the
 * points. */
struct search_chosen {
	uint16_t d;
	uint8_t sc[16], signs[32];
	uint16_t q[64];
};

/* codes as in type/grids.h, NULL if ternary; the fields up to grid are set. */
void search_points_init(struct search_points *p, const uint16_t *codes, int count);
/* s is used up. */
void search_points(struct search *s, const struct search_points *p, struct search_chosen *b);
#endif
