/* infer-bench/compare.h - write a verdict as JSON or as a line of a table. */
#ifndef INFER_BENCH_COMPARE_H
#define INFER_BENCH_COMPARE_H
#include "judge.h"
#include "base/buf.h"
#include "base/jwrite.h"

/* Write a verdict as an object. key: the case that was measured; rounds: 1 if by ab */
void compare_put(struct jwrite *w, const char *key, const char *metric, const char *unit,
                 const struct judged *j, int rounds);
/* Append the heading of a table of verdicts, and what its values are. */
void compare_head(struct buf *t);
/* Append a verdict as a line of a table. */
void compare_line(struct buf *t, const char *metric, const struct judged *j);
#endif
