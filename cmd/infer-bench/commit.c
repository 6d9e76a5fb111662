/* infer-bench/commit.c - the commit of the source, which the makefile knows. */
#include "bench.h"

#ifndef BENCH_COMMIT
#define BENCH_COMMIT ""
#endif

const char *bench_commit(void) { return *BENCH_COMMIT ? BENCH_COMMIT : NULL; }
