/* infer-bench/unclear.h - say why verdicts are unclear, and what would settle them. */
#ifndef INFER_BENCH_UNCLEAR_H
#define INFER_BENCH_UNCLEAR_H
#include "judge.h"
#include "base/buf.h"

/* The unclear verdicts of a table, one entry for each reason. */
struct unclear {
	struct {
		const struct judged *of; /* the one that needs most measurements; NULL: none */
		char names[200];         /* of metrics, separated by commas */
	} why[DOUBT_COUNT];
};
/* Add a metric, if its verdict is unclear. */
void unclear_add(struct unclear *u, const char *metric, const struct judged *j);
/* Append the lines that explain the unclear verdicts. rounds: 1 if they are those of ab */
void unclear_put(struct buf *to, const struct unclear *u, int rounds);
/* Append a sentence without a full stop: why the verdict is unclear. */
void unclear_reason(struct buf *to, const struct judged *j);
/* Append what would settle it: a command or an option. */
void unclear_remedy(struct buf *to, const struct judged *j, int rounds);
#endif
