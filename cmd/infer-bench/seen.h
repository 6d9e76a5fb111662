/* infer-bench/seen.h - adjust the prediction of a plan to the rates of the machine during a run. */
#ifndef INFER_BENCH_SEEN_H
#define INFER_BENCH_SEEN_H
#include "forecast.h"

struct seen {
	const struct forecast *plan; /* NULL: no plan; the other members are unused */
	const struct forecast_step *step;
	infer_probe *probe;
	const infer_file *file; /* NULL: the memory rate is not measured */
	double planned_tok_s;
	int64_t last_ns;
	/* This turn's number of samples, and sums of 1 / rate for memory reads and dot products. */
	int n;
	double read, dot;
	double *of[4]; /* f64 [repeat] each: values of infer_adjusted by turn */
};
/* Begin a test. plan: may be NULL; decode: 1 for the plan's decode step, 0 for prefill. room: f64
 * [4][repeat] */
void seen_begin(struct seen *s, const struct forecast *plan, int decode, infer_probe *probe,
                const infer_file *file, double *room, size_t repeat);
/* Begin a turn. */
void seen_turn(struct seen *s);
/* Measure the rates if the last sample is 20 ms ago, or if `now` is 1. Call it between two steps. */
int seen_sample(struct seen *s, int now, infer_error *err);
/* End turn `at`, whose measured rate was tok_s. */
void seen_put(struct seen *s, int64_t at, double tok_s);
/* Compute *out from all turns. Returns 0 if the plan contains no rates. */
int seen_end(struct infer_adjusted *out, struct seen *s, int64_t repeat);
#endif
