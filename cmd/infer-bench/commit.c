/* infer-bench/commit.c - the commit of the source, from the makefile. */
#include "bench.h"

#ifndef BENCH_COMMIT
#define BENCH_COMMIT ""
#endif

const char *bench_commit(void) { return *BENCH_COMMIT ? BENCH_COMMIT : NULL; }
