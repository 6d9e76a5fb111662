/* infer-bench/cases.h - records of measurements, grouped by what was measured. */
#ifndef INFER_BENCH_CASES_H
#define INFER_BENCH_CASES_H
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* A case: all records that measured the same. */
struct bench_case {
	const char *key; /* "decode tokens=128 depth=0 batch=1 clock=wall" */
	const struct json **records;
	size_t n, cap;
	struct bench_case *next;
};
struct cases {
	const char *name;
	struct bench_case *first, *last;
	size_t n, records;
	struct arena mem;
};
/* Read the records of kind bench from a file; path "-": standard input. Records of other kinds are skipped.
 * The caller calls cases_fini, on failure too.
 * INFER_EFORMAT  a line is not a record, or the file has no record of kind bench; INFER_EIO, INFER_ENOMEM */
int cases_read(struct cases *c, const char *path, infer_error *err);
/* Read several files into *c; standard input if n is 0. */
int cases_read_all(struct cases *c, char *const *paths, int n, infer_error *err);
void cases_fini(struct cases *c);
/* Return the case with this key, or NULL. */
struct bench_case *cases_find(const struct cases *c, const char *key);

/* Return the measurements of a metric, f64 [*n] in mem. quantile: "p50", "p95" or "p99", to take that of each
 * record that has it; NULL: all values, and the median of a record without any. Returns NULL if out of
 * memory. */
double *case_values(const struct bench_case *c, const char *metric, const char *quantile, size_t *n,
                    struct arena *mem);
/* Return metric i of the first record that has metrics; NULL if i is beyond the last metric. */
const struct json *case_metric(const struct bench_case *c, size_t i);
#endif
