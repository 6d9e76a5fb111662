/* base/ahead.h - threads that read the pages of mapped files ahead of a computation that goes
 * through them in a known order.
 *
 * The threads bring pages into memory in large reads, one after the other, so the disk is kept busy
 * while the computation works on what is there already; otherwise each of its threads would wait
 * for its own faults.  They read at most AHEAD_MOST bytes beyond the part that is being used: of a
 * file larger than memory, pages would otherwise be given up before they are used.  They end after
 * one pass.  Reading ahead is a hint: errors are left to the computation to find. */
#ifndef BASE_AHEAD_H
#define BASE_AHEAD_H
#include <stddef.h>
#include <stdint.h>
#include "base/numa.h"

#define AHEAD_MOST ((uint64_t)512 << 20)

/* Bytes that belong to a step of the computation; parts are in the order of their steps. */
struct ahead_part {
	const unsigned char *at;
	size_t bytes;
	int step;
};
struct ahead;

/* The threads wait until the first ahead_reach.  Each memory node of a pool of `threads` workers has
 * one, which reads a share of every step: that of the workers on its node (base/pool.h), so that
 * they find the pages there.  parts is copied, what they point to is borrowed.  most: AHEAD_MOST, or
 * less in tests.  NULL: nothing to read, or no memory for it; the functions below take that too. */
struct ahead *ahead_new(const struct ahead_part *parts, int n, uint64_t most,
                        const struct numa *nodes, int threads);
/* The computation begins a step.  From one thread; cheap once everything has been read. */
void ahead_reach(struct ahead *a, int step);
/* Wait until the threads have ended by themselves; for tests. */
void ahead_wait(struct ahead *a);
uint64_t ahead_bytes(const struct ahead *a); /* read so far */
void ahead_free(struct ahead *a);            /* stops the threads, within one read */
#endif
