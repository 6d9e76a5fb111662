/* infer-bench/judge.h - whether two series of measurements differ, and by how much. */
#ifndef INFER_BENCH_JUDGE_H
#define INFER_BENCH_JUDGE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"

enum verdict { VERDICT_SAME, VERDICT_BETTER, VERDICT_WORSE, VERDICT_UNCLEAR };
enum pairing { PAIR_NONE, PAIR_REQUESTS, PAIR_ROUNDS };
/* The level of intervals, and what probabilities are compared with 1 less. */
#define JUDGE_LEVEL 0.99

struct judged {
	int higher; /* 1: more is better */
	enum pairing paired;
	size_t n_base, n_new;
	double base, now;      /* medians */
	double change, lo, hi; /* ratio to base, less 1, and its interval */
	double p;              /* adjusted for all that are judged together, by judge_verdicts */
	double drift;          /* by how much the machine itself differs, as a ratio less 1 */
	int bounded;           /* there is an interval */
	enum verdict verdict;
};
/* Fills all but higher, drift and verdict.  Values above 0 are compared by their ratios; others give
 * no interval.
 * base, now  f64; of equal length where they are paired */
int judge(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
          enum pairing paired, struct arena *mem, infer_error *err);
/* Whether n measurements say something about a high quantile: all are above 0, and enough beyond it. */
int judge_has_tail(const double *v, size_t n, double q);
/* As judge, of the quantile q; the measurements are in the order they were taken.  base and now of the
 * judged are the quantiles. */
int judge_tail(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
               double q, enum pairing paired, struct arena *mem, infer_error *err);
/* All of a comparison.  Worse or better is what is so by more than the tolerance and the drift, and
 * would not be found in measurements of one thing with the probability of the level. */
void judge_verdicts(struct judged *const *all, size_t n, double tolerance, struct arena *mem);
const char *judge_name(enum verdict v);
#endif
