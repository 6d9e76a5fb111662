/* stat/stat.h (private) - shared by the files of stat. */
#ifndef STAT_STAT_H
#define STAT_STAT_H
#include <stddef.h>
#include <stdint.h>

double stat_normal(double z);    /* standard normal distribution function: P(N <= z) */
double stat_normal_at(double p); /* its inverse, 0 < p < 1 */

/* The values of all pairs (i, j) of two ascending sequences, or of one with i <= j. */
struct stat_pairs {
	const double *a, *b; /* b NULL: means of two values of a; else differences b - a */
	size_t na, nb;
};
/* Return the k-th smallest of the values, k from 1. */
double stat_pairs_at(const struct stat_pairs *p, uint64_t k);
#endif
