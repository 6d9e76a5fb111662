/* infer-bench/hash.h - digests of the files of a model, for records. */
#ifndef INFER_BENCH_HASH_H
#define INFER_BENCH_HASH_H
#include <infer/file.h>
#include "base/arena.h"

/* Compute the sha256 of each file of the model, with progress: *at [*n], in hexadecimal, in mem.
 * INFER_EIO INFER_ENOMEM */
int hash_files(const infer_file *f, struct arena *mem, const char *const **at, int *n,
               infer_error *err);
#endif
