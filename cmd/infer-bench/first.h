/* infer-bench/first.h - how long a model takes from its opening to its first token. */
#ifndef INFER_BENCH_FIRST_H
#define INFER_BENCH_FIRST_H
#include "bench.h"

struct first {
	int cold;                     /* 1: nothing of the file was in memory before each turn */
	double *ms, *room;            /* [repeat], in order; for sorting */
	double file_bytes, disk_gb_s; /* disk: past the page cache, in the same call; 0: not read */
	double limit_ms; /* of a cold file: what a token needs, at that rate; 0: unknown */
};
/* Open the model at path with o's engine, produce a token and close both, o->repeat times, and once
 * before that which is not counted.
 * weight_bytes   that a token reads
 * INFER_EIO      cold, and the file stays in memory: another program has it open
 * INFER_EUNSUP   cold, and path is one part of several, or is no file */
int first_measure(struct first *f, const struct bench_opts *o, const char *path,
                  double weight_bytes, infer_error *err);
int first_write(infer_records *out, const struct first *f, const struct bench_opts *o,
                const infer_model *m, const char *const *sha256, int n_sha256, infer_error *err);
int first_show(const struct first *f, const struct bench_opts *o, infer_error *err);
#endif
