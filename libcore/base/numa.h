/* base/numa.h - the memory nodes of a machine with several: which processors are close to which
 * memory.  Any thread. */
#ifndef BASE_NUMA_H
#define BASE_NUMA_H
#include <stddef.h>
#include <stdint.h>

enum { NUMA_NODES = 64, NUMA_WORDS = 1024 /* of 64 processors in a mask */ };

/* Nodes that have processors which this process may use.  n is 1 where the system says nothing, and
 * then nothing below has an effect. */
struct numa {
	int n;
	int32_t id[NUMA_NODES];   /* the system's number of the node */
	int32_t cpus[NUMA_NODES]; /* how many of these processors it has */
	const char *root;
};

/* root: "", or a folder with a copy of sys/devices/system/node; borrowed as long as *t is used */
void numa_find(struct numa *t, const char *root);
/* The node of thread i of `threads`: every node has a run of threads, in proportion to its
 * processors. */
int numa_node_of(const struct numa *t, int i, int threads);
/* The processors of a node that this process may use, as sched_setaffinity(2) takes them.  Returns
 * their number, 0 if they cannot be read. */
int numa_mask(const struct numa *t, int node, uint64_t mask[NUMA_WORDS]);
/* Allocate pages of [at, at + bytes) on all nodes in turn when they are touched; a hint.  at: a
 * multiple of the page size. */
void numa_interleave(const struct numa *t, void *at, size_t bytes);
#endif
