/* infer-bench/judge.h - test if two series of measurements differ, and by how much. */
#ifndef INFER_BENCH_JUDGE_H
#define INFER_BENCH_JUDGE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"

enum verdict { VERDICT_SAME, VERDICT_BETTER, VERDICT_WORSE, VERDICT_UNCLEAR };
enum pairing { PAIR_NONE, PAIR_REQUESTS, PAIR_ROUNDS };
/* Why a verdict is unclear. */
enum doubt {
	DOUBT_NONE,
	DOUBT_RATIO,   /* a value is 0 or less, so there is no ratio */
	DOUBT_FEW,     /* too few measurements for an interval */
	DOUBT_UNKNOWN, /* not in turns, and the records do not contain how fast the machine was */
	DOUBT_WAITED,  /* not in turns, and other programs used the processors */
	DOUBT_MOVED,   /* not in turns, and the change is no greater than that of the machine */
	DOUBT_WIDE,    /* the interval is neither within the tolerance nor beyond 0 */
	DOUBT_EDGE,    /* the change is about as large as the tolerance */
	DOUBT_COUNT
};
/* Confidence level of intervals. A p-value of at most 1 - JUDGE_LEVEL is significant; of at most JUDGE_STRICT, if
 * the interval is wider than JUDGE_WIDE tolerances: such measurements can show only large changes, and a chance
 * one among them would look large. */
#define JUDGE_LEVEL 0.99
#define JUDGE_STRICT 0.001
#define JUDGE_WIDE 4
/* Other programs may use this share of the time before they are a reason for doubt. */
#define JUDGE_WAITED 0.05

/* How the machine changed between two series that were measured one after the other. Zeros: they were measured
 * in turns, so that both had the same machine. */
struct judge_machine {
	int lone;      /* 1: one run on either side, whose turns do not show how runs differ */
	double drift;  /* change of the machine's ceilings, a ratio minus 1; INFINITY: unknown */
	double waited; /* share of time for which threads waited for a processor; below 0: unknown */
};
struct judged {
	int higher;          /* 1: more is better */
	enum pairing paired; /* how value i of base and of now are paired */
	struct judge_machine machine;
	size_t n_base, n_new;
	double base, now; /* typical values: now / base - 1 is `change`, if it is known */
	double change, lo,
		hi;  /* estimate of the change, a ratio minus 1; its confidence interval */
	double p;    /* p-value; judge_verdicts adjusts it for multiple comparisons */
	int bounded; /* 1: lo and hi are valid */
	int ratio;   /* 1: change is valid */
	enum verdict verdict;
	enum doubt doubt; /* DOUBT_NONE if the verdict is not unclear */
	size_t needed; /* if it is: measurements of each side that would probably do; 0: unknown */
};
/* Compare two series. Sets all members but higher, machine, verdict, doubt and needed. If all values are
 * positive, their ratio is estimated; otherwise base and now are medians, and there is no interval.
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
/* Set the verdicts of a comparison. A metric is better or worse if its change exceeds the tolerance, its
 * interval exceeds the drift of the machine, and it is significant after adjustment for all n metrics. It is
 * the same if its whole interval is within the tolerance. tolerance: a ratio minus 1 */
void judge_verdicts(struct judged *const *all, size_t n, double tolerance, struct arena *mem);
/* Return the word for a verdict. */
const char *judge_name(enum verdict v);
#endif
