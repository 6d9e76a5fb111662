/* base/os_limits.c - the resources that the process may use: affinity, control groups of both
 * versions, RLIMIT_AS. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 1024, TEXT = 8192 };

/* Read the small file root/a/b/name as a string; empty if it cannot be read completely, because a
 * truncated number is a wrong one.  Returns 0 if it is empty. */
static int slurp(char out[TEXT], const char *root, const char *a, const char *b, const char *name)
{
	char path[PATH];
	int fd, n = snprintf(path, sizeof path, "%s%s%s/%s", root, a, b, name);
	ssize_t got = 0;
	size_t len = 0;

	out[0] = 0;
	if (n < 0 || n >= (int)sizeof path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	do {
		got = read(fd, out + len, TEXT - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	} while (len < TEXT - 1 && (got > 0 || (got < 0 && errno == EINTR)));
	close(fd);
	out[got < 0 ? 0 : len] = 0;
	return out[0] != 0;
}

/* Return the number after a key at the beginning of a line; 0 if there is none. */
static uint64_t value_of_key(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, key, n) && (p[n] == ' ' || p[n] == ':'))
			return strtoull(p + n + 1, NULL, 10);
	}
	return 0;
}

/* Limit the cores to quota / period, rounded up. */
static void limit_cpu(struct os_limits *l, long long quota, long long period)
{
	long long n;

	if (quota <= 0 || period <= 0)
		return;
	n = (quota + period - 1) / period;
	if (n < l->threads)
		l->threads = (int)n;
}

/* Limit the memory. The usage includes the page cache, which can be reclaimed. */
static void limit_memory(struct os_limits *l, uint64_t max, uint64_t used, uint64_t cache)
{
	uint64_t left;

	used -= used < cache ? used : cache;
	left = max > used ? max - used : 0;
	if (max < l->memory_bytes)
		l->memory_bytes = max;
	if (left < l->available_bytes)
		l->available_bytes = left;
}

/* Apply the limits of one control group, version 2. */
static void apply_v2(struct os_limits *l, const char *root, const char *mount, const char *group)
{
	char text[TEXT];
	long long quota, period;
	uint64_t max, used = 0;

	if (slurp(text, root, mount, group, "cpu.max") &&
	    sscanf(text, "%lld %lld", &quota, &period) == 2)
		limit_cpu(l, quota, period);
	if (!slurp(text, root, mount, group, "memory.max") || text[0] < '0' || text[0] > '9')
		return; /* "max": no limit */
	max = strtoull(text, NULL, 10);
	if (slurp(text, root, mount, group, "memory.current"))
		used = strtoull(text, NULL, 10);
	slurp(text, root, mount, group, "memory.stat");
	limit_memory(l, max, used,
	             value_of_key(text, "inactive_file") + value_of_key(text, "active_file"));
}

static void apply_v1_cpu(struct os_limits *l, const char *root, const char *mount,
                         const char *group)
{
	char quota[TEXT], period[TEXT];

	if (slurp(quota, root, mount, group, "cpu.cfs_quota_us") &&
	    slurp(period, root, mount, group, "cpu.cfs_period_us"))
		limit_cpu(l, atoll(quota), atoll(period));
}

static void apply_v1_memory(struct os_limits *l, const char *root, const char *mount,
                            const char *group)
{
	char text[TEXT];
	uint64_t max, used = 0;

	if (!slurp(text, root, mount, group, "memory.limit_in_bytes"))
		return;
	max = strtoull(text, NULL, 10);
	if (!max || max > INT64_MAX / 2) /* version 1 has a huge value for no limit */
		return;
	if (slurp(text, root, mount, group, "memory.usage_in_bytes"))
		used = strtoull(text, NULL, 10);
	slurp(text, root, mount, group, "memory.stat");
	limit_memory(l, max, used,
	             value_of_key(text, "total_inactive_file") +
	                     value_of_key(text, "total_active_file"));
}

typedef void take_fn(struct os_limits *l, const char *root, const char *mount, const char *group);

/* Call `take` for the group and all its parents.  In a container the path may be that of the host
 * and not exist; then the root is used, which is the container's own group. */
static void apply_parents(struct os_limits *l, const char *root, const char *mount,
                          const char *group, take_fn *take)
{
	char path[PATH];
	size_t n = strlen(group);

	if (n >= sizeof path)
		n = 0;
	memcpy(path, group, n);
	for (;;) {
		while (n && path[n - 1] == '/')
			n--;
		path[n] = 0;
		take(l, root, mount, path);
		if (!n)
			return;
		while (n && path[n - 1] != '/')
			n--;
	}
}

/* True if name is in a comma-separated list. */
static int is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return 1;
	}
	return 0;
}

void os_limits_cgroup(struct os_limits *l, const char *root)
{
	char text[TEXT], *line, *next;

	if (!slurp(text, root, "/proc", "/self", "cgroup"))
		return;
	for (line = text; line; line = next) { /* id:controllers:path */
		char *list, *path;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		list++;
		*path++ = 0;
		if (!*list) {
			apply_parents(l, root, "/sys/fs/cgroup", path, apply_v2);
			apply_parents(l, root, "/sys/fs/cgroup/unified", path, apply_v2);
		}
		if (is_listed(list, "cpu")) {
			apply_parents(l, root, "/sys/fs/cgroup/cpu", path, apply_v1_cpu);
			apply_parents(l, root, "/sys/fs/cgroup/cpu,cpuacct", path, apply_v1_cpu);
		}
		if (is_listed(list, "memory"))
			apply_parents(l, root, "/sys/fs/cgroup/memory", path, apply_v1_memory);
	}
}

size_t os_stack_left(void)
{
	const char *here = __builtin_frame_address(0);
	size_t bytes = 0, guard = 0;
	pthread_attr_t attr;
	void *low = NULL;

	if (pthread_getattr_np(pthread_self(), &attr))
		return 0;
	if (pthread_attr_getstack(&attr, &low, &bytes) || pthread_attr_getguardsize(&attr, &guard))
		low = NULL;
	pthread_attr_destroy(&attr);
	return !low || here < (const char *)low || here - (const char *)low <= (ptrdiff_t)guard
	               ? 0
	               : (size_t)(here - (const char *)low) - guard;
}

/* Count the cores of the affinity mask; on a large machine it does not fit a cpu_set_t. */
static int count_cores(void)
{
	unsigned long mask[1024]; /* 65536 cores */
	int n = 0, all;

	memset(mask, 0, sizeof mask);
	if (!sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask))
		for (size_t i = 0; i < sizeof mask / sizeof *mask; i++)
			n += __builtin_popcountl(mask[i]);
	all = (int)sysconf(_SC_NPROCESSORS_ONLN);
	return n ? n : all > 1 ? all : 1;
}

void os_limits(struct os_limits *l)
{
	char text[TEXT];
	struct rlimit r;
	uint64_t pages = 0, mapped;

	*l = (struct os_limits){ .threads = count_cores(), .address_bytes = UINT64_MAX };
	slurp(text, "", "/proc", "", "meminfo");
	l->memory_bytes = value_of_key(text, "MemTotal") * 1024;
	l->available_bytes = value_of_key(text, "MemAvailable") * 1024;
	if (!l->memory_bytes) {
		l->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * os_page();
		l->available_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * os_page();
	}
	os_limits_cgroup(l, "");
	if (l->available_bytes > l->memory_bytes)
		l->available_bytes = l->memory_bytes;
	if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY)
		return;
	if (slurp(text, "", "/proc", "/self", "statm"))
		pages = strtoull(text, NULL, 10);
	mapped = pages * os_page();
	l->address_bytes = r.rlim_cur > mapped ? r.rlim_cur - mapped : 0;
}
