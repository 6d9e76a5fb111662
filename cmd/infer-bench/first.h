/* infer-bench/first.h - --first-token: the time from opening a model to its first token. */
#ifndef INFER_BENCH_FIRST_H
#define INFER_BENCH_FIRST_H
#include "bench.h"

struct first {
	int cold;                     /* 1: the file was evicted from memory before each turn */
	double *ms, *room;            /* f64 [repeat]: time of each turn; scratch for sorting */
	double file_bytes, disk_gb_s; /* disk_gb_s: uncached read rate; 0: unknown */
	int64_t created_ms;           /* when the last turn had ended, since 1970 */
	double limit_ms; /* cold: time to read the weights of one token at disk_gb_s; 0: unknown */
};
/* Open the model at path with the engine of o, generate a token, and close both, o->repeat times. If not
 * cold, run an uncounted turn first.
 * weight_bytes   bytes of weights that a token reads
 * INFER_EIO      cold, and the file stays in memory because another program uses it
 * INFER_EUNSUP   cold, and the model is several files or none
 * and the errors of opening and running a model */
int first_measure(struct first *f, const struct bench_opts *o, const char *path,
                  double weight_bytes, infer_error *err);
/* Write the record. */
int first_write(infer_records *out, const struct first *f, const struct bench_opts *o,
                const infer_model *m, const char *const *sha256, int n_sha256, infer_error *err);
/* Print the result as text. */
int first_show(const struct first *f, const struct bench_opts *o, infer_error *err);
#endif
