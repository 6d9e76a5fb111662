/* infer-bench/seen.h - what a plan predicts for the rates that the machine has during a run. */
#ifndef INFER_BENCH_SEEN_H
#define INFER_BENCH_SEEN_H
#include "forecast.h"

struct seen {
	const struct forecast *plan; /* NULL: nothing is measured, the other members are not used */
	const struct forecast_step *step;
	infer_probe *probe;
	const infer_file *file; /* NULL: the rate of memory does not matter */
	double planned_tok_s;
	int64_t last_ns;
	/* of this turn: the number of looks, the sums of 1 / rate */
	int n;
	double read, dot;
	double *of[4]; /* [repeat]: the members of infer_adjusted, turn by turn */
};
/* plan may be NULL; decode: of its steps, otherwise of a prompt.  room: f64 [4][repeat] */
void seen_begin(struct seen *s, const struct forecast *plan, int decode, infer_probe *probe,
                const infer_file *file, double *room, size_t repeat);
void seen_turn(struct seen *s);
/* Called between two steps: measure the rates if the last look is 20 ms ago, or if `now` is set. */
int seen_look(struct seen *s, int now, infer_error *err);
/* Turn `at` had this rate. */
void seen_put(struct seen *s, int64_t at, double tok_s);
/* Fill *out and sort the lists of `of`; returns 0 if the plan lacks the rates that it was made from. */
int seen_end(struct infer_adjusted *out, struct seen *s, int64_t repeat);
#endif
