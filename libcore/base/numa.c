/* base/numa.c - memory nodes, as Linux describes them in /sys/devices/system/node. */
#include "base/numa.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH = 512, TEXT = 4096, INTERLEAVE = 3 /* MPOL_INTERLEAVE of linux/mempolicy.h */ };

/* Read a small file of the node descriptions.  0: it cannot be read, or is too long. */
static int read_text(char out[TEXT], const char *root, const char *name)
{
	char path[PATH];
	int fd, n = snprintf(path, sizeof path, "%s/sys/devices/system/node/%s", root, name);
	ssize_t got;

	if (n < 0 || n >= PATH)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, out, TEXT - 1);
	close(fd);
	if (got < 1 || got == TEXT - 1)
		return 0;
	out[got] = 0;
	return 1;
}

/* Read the next range of a list such as "0-3,8,10-11".  0: none is left, or it is malformed. */
static int next_range(const char **p, long *lo, long *hi)
{
	char *end;

	*p += **p == ',';
	if (**p < '0' || **p > '9')
		return 0;
	*lo = *hi = strtol(*p, &end, 10);
	if (*end == '-')
		*hi = strtol(end + 1, &end, 10);
	*p = end;
	return *lo <= *hi && *hi < NUMA_WORDS * 64;
}

/* Set mask to the processors of node `id` (the system's number) that are also in `all`. */
static int read_mask(const char *root, int id, const uint64_t all[NUMA_WORDS],
                     uint64_t mask[NUMA_WORDS])
{
	char name[48], text[TEXT];
	const char *p = text;
	int n = 0;
	long lo, hi;

	memset(mask, 0, NUMA_WORDS * sizeof *mask);
	snprintf(name, sizeof name, "node%d/cpulist", id);
	if (!read_text(text, root, name))
		return 0;
	while (next_range(&p, &lo, &hi))
		for (long i = lo; i <= hi; i++)
			if (all[i / 64] >> i % 64 & 1) {
				mask[i / 64] |= UINT64_C(1) << i % 64;
				n++;
			}
	return n;
}

static int read_affinity(uint64_t mask[NUMA_WORDS])
{
	memset(mask, 0, NUMA_WORDS * sizeof *mask);
	return !sched_getaffinity(0, NUMA_WORDS * sizeof *mask, (cpu_set_t *)(void *)mask);
}

void numa_find(struct numa *t, const char *root)
{
	uint64_t all[NUMA_WORDS], mask[NUMA_WORDS];
	char text[TEXT];
	const char *p = text;
	int n = 0;
	long lo, hi;

	*t = (struct numa){ .n = 1, .root = root };
	if (!read_affinity(all) || !read_text(text, root, "online"))
		return;
	while (next_range(&p, &lo, &hi))
		for (long id = lo; id <= hi; id++) {
			int cpus = read_mask(root, (int)id, all, mask);

			if (!cpus) /* a node without processors that we may use */
				continue;
			if (n == NUMA_NODES) /* further nodes are ignored */
				return;
			t->id[n] = (int32_t)id;
			t->cpus[n++] = cpus;
		}
	if (n > 1)
		t->n = n;
}

int numa_node_of(const struct numa *t, int i, int threads)
{
	int64_t all = 0, before = 0;

	for (int k = 0; k < t->n; k++)
		all += t->cpus[k];
	for (int k = 0; k < t->n - 1; k++) {
		before += t->cpus[k];
		if ((int64_t)i * all < before * threads)
			return k;
	}
	return t->n - 1;
}

int numa_mask(const struct numa *t, int node, uint64_t mask[NUMA_WORDS])
{
	uint64_t all[NUMA_WORDS];

	return t->n > 1 && read_affinity(all) ? read_mask(t->root, t->id[node], all, mask) : 0;
}

void numa_interleave(const struct numa *t, void *at, size_t bytes)
{
	unsigned long nodes[NUMA_WORDS / 64] = { 0 };
	enum { BITS = 8 * sizeof nodes[0] };

	if (t->n < 2)
		return;
	for (int k = 0; k < t->n; k++)
		if ((size_t)t->id[k] < 8 * sizeof nodes)
			nodes[(size_t)t->id[k] / BITS] |= 1UL << (size_t)t->id[k] % BITS;
	syscall(SYS_mbind, at, bytes, INTERLEAVE, nodes, 8 * sizeof nodes, 0);
}
