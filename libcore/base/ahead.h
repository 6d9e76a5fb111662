/* base/ahead.h - threads that read the pages of mapped files ahead of a computation that uses them
 * in a known order.
 *
 * The threads read pages in large, sequential reads while the computation runs, which would
 * otherwise wait for single page faults.  They read at most AHEAD_MOST bytes beyond the current
 * step, because pages of a file larger than memory could be dropped before use.  They end after one
 * pass.  They ignore read errors, which the computation handles. */
#ifndef BASE_AHEAD_H
#define BASE_AHEAD_H
#include <stddef.h>
#include <stdint.h>
#include "base/numa.h"

#define AHEAD_MOST ((uint64_t)512 << 20)

/* Bytes that one step of the computation uses; parts are in order of step. */
struct ahead_part {
	const unsigned char *at;
	size_t bytes;
	int step;
};
struct ahead;

/* Start one thread for each memory node that has workers of a pool of `threads` threads
 * (base/pool.h).  It reads the parts of each step for these workers, so that the pages are
 * allocated on their node.  Reading begins with the first ahead_reach.  parts is copied, the bytes
 * are not. most: AHEAD_MOST, or less in tests.
 * NULL: nothing to read, or no memory; the functions below accept NULL. */
struct ahead *ahead_new(const struct ahead_part *parts, int n, uint64_t most,
                        const struct numa *nodes, int threads);
/* Report that the computation begins `step`.  Always from the same thread. */
void ahead_reach(struct ahead *a, int step);
/* Wait until the threads have ended by themselves; for tests. */
void ahead_wait(struct ahead *a);
uint64_t ahead_bytes(const struct ahead *a); /* bytes read so far; for tests */
void ahead_free(struct ahead *a);            /* stops each thread after its current read */
#endif
