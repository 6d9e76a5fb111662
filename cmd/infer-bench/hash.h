/* infer-bench/hash.h - what identifies the files of a model in records. */
#ifndef INFER_BENCH_HASH_H
#define INFER_BENCH_HASH_H
#include <infer/file.h>
#include "base/arena.h"

/* sha256 of each of the model's files, read whole, with progress: *at [*n] in mem. */
int hash_files(const infer_file *f, struct arena *mem, const char *const **at, int *n,
               infer_error *err);
#endif
