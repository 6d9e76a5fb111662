/* stat/stat.h (private) - shared by the files of stat. */
#ifndef STAT_STAT_H
#define STAT_STAT_H
#include <stddef.h>
#include <stdint.h>

double stat_normal(double z);    /* standard normal distribution function: P(N <= z) */
double stat_normal_at(double p); /* inverse of stat_normal, 0 < p < 1 */

/* Student's t with n > 0 degrees of freedom: the probability of at least |t| on either side. */
double stat_student(double t, size_t n);
double stat_student_at(double p, size_t n); /* inverse of stat_student: t >= 0, 0 < p < 1 */

/* The values of all pairs (i, j) of two ascending sequences, or i <= j of one sequence. */
struct stat_pairs {
	const double *a, *b; /* values: b[j] - a[i], or if b is NULL, (a[i] + a[j]) / 2 */
	size_t na, nb;
};
/* Return the k-th smallest of the values, k from 1. */
double stat_pairs_at(const struct stat_pairs *p, uint64_t k);
#endif
