/* base/ahead.h - threads that read the pages of mapped files ahead of a computation that uses them
 * in a known order.
 *
 * The threads read pages into memory in large, sequential reads, so the disk is busy while the
 * computation uses the pages that are there; otherwise each of its threads would wait for its own
 * page faults.  They read at most AHEAD_MOST bytes beyond the current step: of a file larger than
 * memory, pages would otherwise be dropped before they are used.  They end after one pass.  Reading
 * ahead is a hint: the computation handles errors itself. */
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

/* Start the threads; they wait until the first ahead_reach.  Each memory node of a pool of
 * `threads` workers has one, which reads the share of every step that the workers on its node use
 * (base/pool.h), so that the pages are allocated there.  parts is copied; the bytes are borrowed.
 * most: AHEAD_MOST, or less in tests.
 * NULL: nothing to read, or no memory; the functions below accept NULL. */
struct ahead *ahead_new(const struct ahead_part *parts, int n, uint64_t most,
                        const struct numa *nodes, int threads);
/* Report that the computation begins a step.  From one thread; cheap once everything has been read.
 * */
void ahead_reach(struct ahead *a, int step);
/* Wait until the threads have ended by themselves; a seam of tests. */
void ahead_wait(struct ahead *a);
uint64_t ahead_bytes(const struct ahead *a); /* read so far; a seam of tests */
void ahead_free(struct ahead *a);            /* stops the threads, within one read */
#endif
