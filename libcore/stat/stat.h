/* stat/stat.h (private) - what the files of statistics share. */
#ifndef STAT_STAT_H
#define STAT_STAT_H
#include <stddef.h>
#include <stdint.h>

double stat_normal(double z);    /* the probability below z of the standard normal distribution */
double stat_normal_at(double p); /* its inverse, 0 < p < 1 */

/* How many pairs (i, j) of two ascending sequences, or of one with i <= j, have a value of at most
 * x. */
struct stat_pairs {
	const double *a, *b; /* b NULL: means of two of a; else differences b - a */
	size_t na, nb;
};
/* The k-th smallest value of the pairs, k from 1. */
double stat_pairs_at(const struct stat_pairs *p, uint64_t k);
#endif
