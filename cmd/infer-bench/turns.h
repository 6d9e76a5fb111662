/* infer-bench/turns.h - find out from records if two cases were measured in turns, and how far the machine
 * moved between them. */
#ifndef INFER_BENCH_TURNS_H
#define INFER_BENCH_TURNS_H
#include "cases.h"
#include "judge.h"

/* Pairs of records, one of each side, that follow each other in time. */
struct turns {
	size_t *base, *now; /* [n], indices of records */
	size_t n;
};
/* Pair the records of two cases by their times. t->n is 0 if they were not taken in turns: if fewer than two
 * records of a side, or less than 4 of 5, would be in a pair. INFER_ENOMEM */
int turns_find(struct turns *t, const struct bench_case *a, const struct bench_case *b,
               struct arena *mem, infer_error *err);
/* Set what the records of both cases contain about the machine. With one record on either side, the extremes
 * of its turns count; with more, the medians of the records. */
void turns_machine(struct judge_machine *m, const struct bench_case *a, const struct bench_case *b);
#endif
