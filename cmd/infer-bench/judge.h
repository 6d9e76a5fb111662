/* infer-bench/judge.h - test if two series of measurements differ, and by how much. */
#ifndef INFER_BENCH_JUDGE_H
#define INFER_BENCH_JUDGE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"

enum verdict { VERDICT_SAME, VERDICT_BETTER, VERDICT_WORSE, VERDICT_UNCLEAR };
enum pairing { PAIR_NONE, PAIR_REQUESTS, PAIR_ROUNDS };
/* Confidence level of intervals; a p-value below 1 - JUDGE_LEVEL is significant. */
#define JUDGE_LEVEL 0.99

struct judged {
	int higher;          /* 1: more is better */
	enum pairing paired; /* how value i of base and of now are paired */
	size_t n_base, n_new;
	double base, now;      /* medians */
	double change, lo, hi; /* now / base - 1; its confidence interval */
	double p;              /* p-value; judge_verdicts adjusts it for multiple comparisons */
	double drift;          /* change of the machine's ceilings, a ratio minus 1 */
	int bounded;           /* 1: lo and hi are valid */
	enum verdict verdict;
};
/* Compare two series. Sets all members but higher, drift and verdict. If all values are positive, their ratio
 * is estimated; otherwise there is no interval.
 * base, now  f64 [n_base], [n_new]; of equal length if paired
 * INFER_ENOMEM */
int judge(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
          enum pairing paired, struct arena *mem, infer_error *err);
/* True if n measurements suffice for the quantile q: all are positive, and enough are greater than it. */
int judge_has_tail(const double *v, size_t n, double q);
/* Compare the quantiles q of two series, in the order of measurement. j->base and j->now become the
 * quantiles. INFER_ENOMEM */
int judge_tail(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
               double q, enum pairing paired, struct arena *mem, infer_error *err);
/* Set the verdicts of a comparison. A metric is better or worse if its change exceeds the tolerance and the
 * drift, and is significant after adjustment for all n metrics. tolerance: a ratio minus 1 */
void judge_verdicts(struct judged *const *all, size_t n, double tolerance, struct arena *mem);
/* Return the word for a verdict. */
const char *judge_name(enum verdict v);
#endif
