/* base/numa.h - memory nodes (NUMA): which processors are close to which memory.  Any thread. */
#ifndef BASE_NUMA_H
#define BASE_NUMA_H
#include <stddef.h>
#include <stdint.h>

enum { NUMA_NODES = 64, NUMA_WORDS = 1024 /* of a mask, 64 CPUs each */ };

/* Memory nodes with processors that this process may use.  n is 1 if the system reports none; then
 * the functions below have no effect. */
struct numa {
	int n;
	int32_t id[NUMA_NODES];   /* the system's number of the node */
	int32_t cpus[NUMA_NODES]; /* processors of the node that this process may use */
	const char *root;
};

/* Find the nodes.  root: "", or a directory with a copy of sys/devices/system/node; borrowed while
 * *t is used. */
void numa_find(struct numa *t, const char *root);
/* Return the node of thread i of `threads`: each node gets consecutive threads, in proportion to
 * its processors. */
int numa_node_of(const struct numa *t, int i, int threads);
/* Set mask to the processors of a node that this process may use, as for sched_setaffinity(2).
 * Returns their number, 0 if they cannot be read. */
int numa_mask(const struct numa *t, int node, uint64_t mask[NUMA_WORDS]);
/* Interleave the pages of [at, at + bytes) over all nodes when they are first touched; a hint.
 * at: a multiple of the page size. */
void numa_interleave(const struct numa *t, void *at, size_t bytes);
#endif
