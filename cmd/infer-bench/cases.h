/* infer-bench/cases.h - records of measurements, by what was measured. */
#ifndef INFER_BENCH_CASES_H
#define INFER_BENCH_CASES_H
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* All records of one case: the same was measured. */
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
/* Read the records of kind bench; path "-": standard input.  Other kinds are passed over.  On failure
 * too *c is the caller's.
 * INFER_EFORMAT  a line that is no JSON, or no record at all; INFER_EIO, INFER_ENOMEM */
int cases_read(struct cases *c, const char *path, infer_error *err);
/* The records of several files together; of standard input, if there is none. */
int cases_read_all(struct cases *c, char *const *paths, int n, infer_error *err);
void cases_fini(struct cases *c);
struct bench_case *cases_find(const struct cases *c, const char *key);

/* The measurements of a metric: the values of a few records, or the median of each of `MANY` records
 * or more.  *one_each: the latter.  NULL: none, or no memory. */
enum { CASES_MANY = 5 };
double *case_values(const struct bench_case *c, const char *metric, size_t *n, int *one_each,
                    struct arena *mem);
/* Metric i of the first record that has metrics; NULL: past the last. */
const struct json *case_metric(const struct bench_case *c, size_t i);
#endif
