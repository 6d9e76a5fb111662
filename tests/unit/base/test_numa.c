/* tests/unit/base/test_numa.c - memory nodes read from made-up machines, and workers that stay on
 * them. */
#include "../nth.h"
#include "base/ahead.h"
#include "base/mem.h"
#include "base/numa.h"
#include "base/os.h"
#include "base/pool.h"
#include "put.h"

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char root[] = "/tmp/test_numa.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[512], below[64];

	snprintf(below, sizeof below, "sys/devices/system/node/%s", name);
	put_file(path, root, below, text);
}

static void clear(void)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s/sys", root);
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	clear();
	return rmdir(root);
}

/* The processors that this process may use, as a mask and as a list. */
static int allowed(uint64_t mask[NUMA_WORDS], char *list, size_t size)
{
	int n = 0;
	size_t at = 0;

	memset(mask, 0, NUMA_WORDS * sizeof *mask);
	assert_int_equal(sched_getaffinity(0, NUMA_WORDS * 8, (cpu_set_t *)(void *)mask), 0);
	list[0] = 0;
	for (int i = 0; i < NUMA_WORDS * 64; i++)
		if (mask[i / 64] >> i % 64 & 1 && at + 16 < size) {
			at += (size_t)snprintf(list + at, size - at, "%s%d", n ? "," : "", i);
			n++;
		}
	return n;
}

static void test_find(void **state)
{
	uint64_t all[NUMA_WORDS], mask[NUMA_WORDS];
	char list[4000];
	int cpus = allowed(all, list, sizeof list);
	struct numa t;

	(void)state;
	clear();
	numa_find(&t, root); /* nothing there */
	assert_int_equal(t.n, 1);
	assert_int_equal(numa_mask(&t, 0, mask), 0);
	put("online", "0-1,3\n");
	put("node0/cpulist", list);
	numa_find(&t, root); /* one node alone has processors */
	assert_int_equal(t.n, 1);
	put("node1/cpulist", "\n");
	put("node3/cpulist", list);
	numa_find(&t, root);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.id[0], 0);
	assert_int_equal(t.id[1], 3);
	assert_int_equal(t.cpus[1], cpus);
	assert_int_equal(numa_mask(&t, 1, mask), cpus);
	assert_memory_equal(mask, all, sizeof mask);
	put("node3/cpulist", "60000-65535\n"); /* not ours */
	numa_find(&t, root);
	assert_int_equal(t.n, sysconf(_SC_NPROCESSORS_CONF) > 60000 ? 2 : 1);
}

/* Descriptions that make no sense count as none. */
static void test_damaged(void **state)
{
	static const char *const lists[] = {
		"",         "x",    "-1", "3-1", "0-99999999999999999999",
		"99999999", "0-\n", ",",  ",,",  "1 2 3",
	};
	struct numa t;

	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		clear();
		put("online", "0-1");
		put("node0/cpulist", lists[i]);
		put("node1/cpulist", lists[i]);
		numa_find(&t, root);
		assert_in_range(t.n, 1, 2);
		put("online", lists[i]);
		numa_find(&t, root);
		assert_int_equal(t.n, 1);
	}
}

static void test_node_of(void **state)
{
	const struct numa even = { .n = 2, .cpus = { 32, 32 } }, odd = { .n = 2, .cpus = { 2, 6 } },
			  one = { .n = 1 };

	(void)state;
	for (int i = 0; i < 64; i++) {
		assert_int_equal(numa_node_of(&even, i, 64), i / 32);
		assert_int_equal(numa_node_of(&one, i, 64), 0);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(numa_node_of(&odd, i, 8), i >= 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(numa_node_of(&odd, i, 4), i >= 1);
	assert_int_equal(numa_node_of(&even, 0, 1), 0);
}

/* Two nodes that both have all processors of this machine. */
static void two_nodes(struct numa *t, int first, int second)
{
	uint64_t all[NUMA_WORDS];
	char list[4000];

	clear();
	allowed(all, list, sizeof list);
	put("online", "0-1");
	put("node0/cpulist", list);
	put("node1/cpulist", list);
	numa_find(t, root);
	assert_int_equal(t->n, 2);
	t->cpus[0] = first;
	t->cpus[1] = second;
}

struct chase {
	_Atomic int64_t first; /* the first item that the caller took from another share; 0: none */
	_Atomic int begun;     /* workers that have an item */
	_Atomic int strange;
	uint64_t all[NUMA_WORDS];
};

/* The caller waits until each worker holds its first item, or the lengths of the shares would be
 * a matter of chance; workers do not get on before the caller has taken an item of theirs. */
static void chase_item(void *user, int64_t i, int worker)
{
	struct chase *c = user;
	uint64_t mask[NUMA_WORDS] = { 0 };

	if (!worker) {
		int64_t none = 0;

		while (c->begun < 2)
			sched_yield();
		if (i > 2)
			atomic_compare_exchange_strong(&c->first, &none, i);
		return;
	}
	c->begun++;
	while (!c->first)
		sched_yield();
	sched_getaffinity(0, sizeof mask, (cpu_set_t *)(void *)mask);
	c->strange += memcmp(mask, c->all, sizeof mask) != 0;
}

/* Who has nothing left takes from its own node first, even if another share is longer. */
static void test_near_first(void **state)
{
	static const struct {
		int first, second;
		int64_t item;
	} cases[] = {
		{ 2, 1, 5 }, /* workers 0 and 1 | 2 */
		{ 1, 2, 9 }, /* 0 | 1 and 2: the longest of the others */
	};
	char list[4000];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct chase c = { 0 };
		struct numa t;
		struct pool *p;

		allowed(c.all, list, sizeof list);
		two_nodes(&t, cases[i].first, cases[i].second);
		assert_int_equal(pool_new_on(&p, 3, &t, NULL), INFER_OK);
		assert_int_equal(pool_nodes(p)->n, 2);
		pool_run(p, 10, chase_item, &c); /* shares of 3, 3 and 4 */
		assert_int_equal(c.first, cases[i].item);
		assert_int_equal(c.strange, 0);
		pool_free(p);
	}
}

enum { STAY = 4 };
struct stay {
	_Atomic int begun; /* workers that have an item */
	uint64_t masks[STAY][NUMA_WORDS];
};

/* Nobody takes a second item before each worker has its first. */
static void where(void *user, int64_t i, int worker)
{
	struct stay *s = user;

	(void)i;
	if (worker) {
		sched_getaffinity(0, NUMA_WORDS * 8, (cpu_set_t *)(void *)s->masks[worker]);
		s->begun++;
	}
	while (s->begun < STAY - 1)
		sched_yield();
}

/* Two nodes: the first processor, and the others. */
static void cut_nodes(struct numa *t)
{
	uint64_t all[NUMA_WORDS];
	char list[4000], *half;
	int cpus = allowed(all, list, sizeof list);

	clear();
	half = strchr(list, ',');
	put("online", "0-1");
	put("node1/cpulist", half ? half + 1 : list);
	if (half)
		*half = 0;
	put("node0/cpulist", list);
	numa_find(t, root);
	assert_int_equal(t->n, 2);
	assert_int_equal(t->cpus[0], 1);
	assert_int_equal(t->cpus[1], cpus > 1 ? cpus - 1 : 1);
}

/* Workers of a node run on its processors alone; on a machine with one processor, on that. */
static void test_stay(void **state)
{
	uint64_t want[NUMA_WORDS];
	struct stay *s;
	struct numa t;
	struct pool *p;

	(void)state;
	cut_nodes(&t);
	s = mem_zalloc(MEM_BASE, 1, sizeof *s);
	assert_non_null(s);
	assert_int_equal(pool_new_on(&p, STAY, &t, NULL), INFER_OK);
	pool_run(p, 64, where, s);
	for (int i = 1; i < STAY; i++) {
		assert_true(numa_mask(&t, numa_node_of(&t, i, STAY), want) > 0);
		assert_memory_equal(s->masks[i], want, sizeof want);
	}
	pool_free(p);
	mem_free(s);
}

/* Threads of the process, but for the caller, that may run on exactly these processors; *all: those
 * there are. */
static int threads_on(const uint64_t want[NUMA_WORDS], int *all)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	assert_non_null(d);
	*all = 0;
	for (struct dirent *e; (e = readdir(d));) {
		uint64_t mask[NUMA_WORDS] = { 0 };
		int id = atoi(e->d_name);

		if (!id || id == getpid())
			continue;
		++*all;
		sched_getaffinity(id, sizeof mask, (cpu_set_t *)(void *)mask);
		n += !memcmp(mask, want, sizeof mask);
	}
	closedir(d);
	return n;
}

/* Wait until the process has `want` threads beside the caller: one that has been joined is listed a
 * moment longer. */
static int settled(int want)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t none[NUMA_WORDS] = { 0 };
	int all;

	for (int i = 0; threads_on(none, &all), i < 2000 && all != want; i++)
		nanosleep(&pause, NULL);
	return all == want;
}

/* The thread that reads a file ahead runs on the node whose workers use those pages. */
static void test_ahead(void **state)
{
	/* each has a share and waits to begin: a thread without one would have ended by itself */
	static const unsigned char bytes[64];
	uint64_t mask[NUMA_WORDS];
	struct ahead *a;
	struct numa t;
	int before, all;

	(void)state;
	cut_nodes(&t);
	settled(0);
	threads_on(mask, &before); /* a sanitizer has threads of its own */
	a = ahead_new(&(struct ahead_part){ bytes, sizeof bytes, 0 }, 1, AHEAD_MOST, &t, 2);
	for (int k = 0; k < 2; k++) {
		assert_true(numa_mask(&t, k, mask) > 0);
		assert_true(threads_on(mask, &all) >= 1);
		assert_true(settled(before + 2));
	}
	ahead_free(a);
	t.cpus[0] = 0; /* no worker there */
	a = ahead_new(&(struct ahead_part){ bytes, sizeof bytes, 0 }, 1, AHEAD_MOST, &t, 2);
	assert_true(threads_on(mask, &all) >= 1);
	assert_true(settled(before + 1));
	ahead_free(a);
}

/* Memory spread over nodes is memory as any other; the kernel knows its policy where it has any. */
static void test_interleave(void **state)
{
	struct numa t = { .n = 2 }; /* both are node 0, which every machine has */
	size_t bytes = 64 * os_page();
	int mode = -1;
	void *at;

	(void)state;
	assert_int_equal(os_reserve(&at, bytes, NULL), INFER_OK);
	numa_interleave(&t, at, bytes);
	memset(at, 1, bytes);
	if (!syscall(SYS_get_mempolicy, &mode, NULL, 0, at, 2 /* MPOL_F_ADDR */))
		assert_int_equal(mode, 3 /* MPOL_INTERLEAVE */);
	os_release(at, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),       cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_node_of),    cmocka_unit_test(test_near_first),
		cmocka_unit_test(test_stay),       cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_interleave),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
