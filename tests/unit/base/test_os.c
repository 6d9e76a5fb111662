/* tests/unit/base/test_os.c - files, mappings and limits: os.c and os_limits.c. */
#include "../left_out.h"
#include "../nth.h"
#include "base/os.h"
#include "put.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/test_os.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	return system(cmd);
}

/* Write a file below the directory; its path. */
static char *put(const char *name, const char *text)
{
	static char path[512];

	put_file(path, dir, name, text);
	return path;
}

/* Whether the kernel keeps the advice `flag` (proc_pid_smaps(5)) for the mapping at `at`; -1: it
 * tells nothing of the mapping. */
static int has_advice(const void *at, const char *flag)
{
	char line[4096];
	unsigned long from, to;
	int inside = 0, has = -1;
	FILE *f = fopen("/proc/self/smaps", "r");

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = (unsigned long)at >= from && (unsigned long)at < to;
		else if (inside && !strncmp(line, "VmFlags:", 8))
			has = strstr(line, flag) != NULL;
	}
	if (f)
		fclose(f);
	return has;
}

/* True if the kernel takes the advice to use huge pages.  It is asked itself: /sys is not mounted
 * everywhere. */
static int takes_huge_pages(void)
{
	size_t page = os_page();
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int takes;

	assert_true(at != MAP_FAILED);
	takes = !madvise(at, page, MADV_HUGEPAGE);
	munmap(at, page);
	return takes;
}

/* If the kernel has huge pages, a fault in a mapped file may read as much as one of them holds. */
static void test_map_ahead(void **state)
{
	struct os_file f;
	int has;

	(void)state;
	assert_int_equal(os_file_map(&f, put("ahead", "hello"), NULL), 0);
	has = has_advice(f.at, " hg");
	os_file_unmap(&f);
	if (has < 0)
		left_out("needs /proc/self/smaps");
	assert_int_equal(has, takes_huge_pages());
}

/* Whole pages of a sparse part lose the advice, their neighbours keep it. */
static void test_map_sparse(void **state)
{
	enum { PAGES = 4 };
	size_t page = os_page();
	char *text = calloc(PAGES * page + 1, 1);
	struct os_file f;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', PAGES * page);
	assert_int_equal(os_file_map(&f, put("sparse", text), NULL), 0);
	os_sparse(f.at + 1, 3 * page);
	if (!takes_huge_pages()) {
		assert_int_not_equal(has_advice(f.at + page, " hg"), 1);
	} else {
		assert_int_equal(has_advice(f.at, " hg"), 1);
		assert_int_equal(has_advice(f.at + page, " nh"), 1);
		assert_int_equal(has_advice(f.at + 2 * page, " nh"), 1);
		assert_int_equal(has_advice(f.at + 3 * page, " hg"), 1);
	}
	os_sparse(f.at, 1); /* no whole page */
	assert_int_not_equal(has_advice(f.at, " nh"), 1);
	os_file_unmap(&f);
	free(text);
}

static void test_map(void **state)
{
	struct os_file f;
	struct stat st;
	char *path = put("file", "hello");

	(void)state;
	assert_int_equal(os_file_map(&f, path, NULL), 0);
	assert_int_equal(f.bytes, 5);
	assert_memory_equal(f.at, "hello", 5);
	assert_int_equal(stat(path, &st), 0);
	assert_true(f.inode == st.st_ino && f.device == st.st_dev);
	assert_true(f.mtime_ns == (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	os_file_want(&f, 0, 5);
	os_file_want(&f, 3, SIZE_MAX);
	os_file_want(&f, 99, 1);
	os_file_unmap(&f);
	assert_null(f.at);
	os_file_unmap(&f);
	assert_int_equal(os_file_map(&f, put("empty", ""), NULL), 0);
	assert_null(f.at);
	assert_int_equal(f.bytes, 0);
	assert_true(f.inode != 0);
	os_file_want(&f, 0, 1);
	os_file_unmap(&f);
}

/* What lies at a path: a file with its first bytes, a directory, nothing else. */
static void test_look(void **state)
{
	struct os_stat st;
	infer_error err;
	char head[4], path[128];
	size_t n;

	(void)state;
	assert_int_equal(os_look(&st, put("file", "hello"), head, sizeof head, &n, NULL), 0);
	assert_int_equal(st.kind, OS_REGULAR);
	assert_int_equal(st.bytes, 5);
	assert_int_equal(n, 4);
	assert_memory_equal(head, "hell", 4);
	assert_int_equal(os_look(&st, put("short", "hi"), head, sizeof head, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(os_look(&st, dir, head, sizeof head, &n, NULL), 0);
	assert_int_equal(st.kind, OS_DIRECTORY);
	assert_int_equal(n, 0);
	snprintf(path, sizeof path, "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(os_look(&st, path, head, sizeof head, &n, &err), INFER_EIO);
	assert_non_null(strstr(err.message, "pipe: not a regular file"));
	snprintf(path, sizeof path, "%s/absent", dir);
	assert_int_equal(os_look(&st, path, head, sizeof head, &n, &err), INFER_EIO);
	assert_non_null(strstr(err.message, "absent: No such file"));
}

/* What is no regular file is refused by name, and a pipe without a writer does not block. */
static void test_map_refused(void **state)
{
	struct os_file f = { .bytes = 7 };
	infer_error err;
	char path[128];

	(void)state;
	assert_int_equal(os_file_map(&f, dir, &err), INFER_EIO);
	assert_non_null(strstr(err.message, dir));
	assert_non_null(strstr(err.message, "not a regular file"));
	assert_true(!f.at && !f.bytes);
	snprintf(path, sizeof path, "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(os_file_map(&f, path, &err), INFER_EIO);
	snprintf(path, sizeof path, "%s/absent", dir);
	assert_int_equal(os_file_map(&f, path, &err), INFER_EIO);
	assert_non_null(strstr(err.message, "absent: No such file"));
	assert_int_equal(os_file_map(&f, path, NULL), INFER_EIO);
}

static void test_reserve(void **state)
{
	size_t bytes = (size_t)1 << 36, page = os_page(); /* more than there is memory, perhaps */
	struct os_usage before, after;
	unsigned char *p;
	void *at;

	(void)state;
	os_usage(&before);
	assert_int_equal(os_reserve(&at, bytes, NULL), 0);
	p = at;
	assert_int_equal((uintptr_t)p % page, 0);
	for (size_t i = 0; i < 64; i++) {
		assert_int_equal(p[i * page], 0);
		p[i * page] = 1;
	}
	os_usage(&after);
	assert_true(after.minor_faults > before.minor_faults);
	assert_true(after.peak_rss_bytes >= before.peak_rss_bytes &&
	            after.peak_rss_bytes > 1 << 18);
	assert_true(after.user_ms >= before.user_ms && after.system_ms >= before.system_ms);
	os_forget(p, 32 * page);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(p[i * page], i >= 32);
	os_forget(p, 0);
	os_release(at, bytes);
	os_release(NULL, 0);
	assert_int_equal(os_reserve(&at, 0, NULL), INFER_EINVAL);
	assert_null(at);
}

static void test_file_memory(void **state)
{
	size_t bytes = 16 * os_page();
	unsigned char *p;
	void *at;

	(void)state;
	assert_int_equal(os_file_memory(&at, bytes, NULL), 0);
	p = at;
	for (size_t i = 0; i < bytes; i++) {
		assert_int_equal(p[i], 0);
		p[i] = (unsigned char)i;
	}
	assert_int_equal(p[bytes - 1], (bytes - 1) & 255);
	os_release(at, bytes);
	assert_int_not_equal(os_file_memory(&at, SIZE_MAX / 2, NULL), INFER_OK);
	assert_null(at);
}

/* A byte appears in every repeat, also in the last, which is not whole. */
static void test_repeated(void **state)
{
	size_t period = 3 * os_page(), bytes = 8 * os_page();
	unsigned char *p;
	void *at;

	(void)state;
	assert_int_equal(os_repeated(&at, period, bytes, NULL), 0);
	p = at;
	for (size_t i = 0; i < period; i++) {
		assert_int_equal(p[i], 0);
		p[i] = (unsigned char)(i * 7);
	}
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(p[i], (i % period * 7) & 255);
	os_release(at, bytes);
	assert_int_not_equal(os_repeated(&at, period, SIZE_MAX / 2, NULL), INFER_OK);
	assert_null(at);
}

static void test_reserve_refused(void **state)
{
	struct os_limits l;
	struct rlimit r;
	infer_error err;
	void *at;
	int status;
	pid_t pid;

	(void)state;
	if (NTH_SANITIZED)
		left_out("needs a build without sanitizers, which take all address space");
	pid = fork();
	if (!pid) {
		r.rlim_cur = r.rlim_max = (rlim_t)1 << 30;
		setrlimit(RLIMIT_AS, &r);
		os_limits(&l);
		if (l.address_bytes >= (uint64_t)1 << 30 || l.address_bytes < (uint64_t)900 << 20)
			_exit(1);
		if (os_reserve(&at, (size_t)1 << 31, &err) != INFER_ENOMEM || at)
			_exit(2);
		if (!strstr(err.message, "2147483648") || !strstr(err.message, "RLIMIT_AS"))
			_exit(3);
		_exit(os_reserve(&at, (size_t)1 << 29, &err) ? 4 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(os_reserve(&at, SIZE_MAX / 2, &err), INFER_ENOMEM);
	assert_int_equal(err.code, INFER_ENOMEM);
}

/* Affinity lowers the threads. */
static void test_limits(void **state)
{
	struct os_limits l;
	cpu_set_t one, old;

	(void)state;
	os_limits(&l);
	assert_in_range(l.threads, 1, sysconf(_SC_NPROCESSORS_CONF));
	assert_true(l.memory_bytes > 1 << 24);
	assert_true(l.available_bytes > 0 && l.available_bytes <= l.memory_bytes);
	assert_true(l.memory_bytes <= (uint64_t)sysconf(_SC_PHYS_PAGES) * os_page());
	assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &old))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	os_limits(&l);
	sched_setaffinity(0, sizeof old, &old);
	assert_int_equal(l.threads, 1);
}

static struct os_limits plenty(void)
{
	return (struct os_limits){ .threads = 64,
		                   .memory_bytes = (uint64_t)1 << 40,
		                   .available_bytes = (uint64_t)1 << 39,
		                   .address_bytes = UINT64_MAX };
}

/* A tree of version 2: the least of the group's limits and those above it. */
static void test_cgroup_v2(void **state)
{
	struct os_limits l = plenty();
	char root[64];

	(void)state;
	snprintf(root, sizeof root, "%s/v2", dir);
	os_limits_cgroup(&l, root); /* nothing there yet */
	assert_int_equal(l.threads, 64);
	put("v2/proc/self/cgroup", "0::/a.slice/b.scope\n");
	put("v2/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n");
	put("v2/sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
	os_limits_cgroup(&l, root);
	assert_int_equal(l.threads, 64);
	assert_true(l.memory_bytes == (uint64_t)1 << 40);
	put("v2/sys/fs/cgroup/a.slice/cpu.max", "250000 100000\n");
	put("v2/sys/fs/cgroup/a.slice/memory.max", "1000000\n");
	put("v2/sys/fs/cgroup/a.slice/memory.current", "700000\n");
	put("v2/sys/fs/cgroup/a.slice/memory.stat",
	    "anon 1\nfile 500000\ninactive_file 300000\nactive_file 200000\n");
	os_limits_cgroup(&l, root);
	assert_int_equal(l.threads, 3); /* 2.5, rounded up */
	assert_int_equal(l.memory_bytes, 1000000);
	assert_int_equal(l.available_bytes, 800000); /* of 700000 used, 500000 are the page cache */
	put("v2/sys/fs/cgroup/a.slice/b.scope/cpu.max", "50000 100000\n");
	put("v2/sys/fs/cgroup/a.slice/b.scope/memory.max", "600000\n");
	put("v2/sys/fs/cgroup/a.slice/b.scope/memory.current", "900000\n");
	os_limits_cgroup(&l, root);
	assert_int_equal(l.threads, 1);
	assert_int_equal(l.memory_bytes, 600000);
	assert_int_equal(l.available_bytes, 0);
}

/* Inside a container the path may be the host's: the top counts. */
static void test_cgroup_container(void **state)
{
	struct os_limits l = plenty();
	char root[64];

	(void)state;
	snprintf(root, sizeof root, "%s/in", dir);
	put("in/proc/self/cgroup", "0::/docker/0123456789abcdef\n");
	put("in/sys/fs/cgroup/cpu.max", "400000 100000\n");
	os_limits_cgroup(&l, root);
	assert_int_equal(l.threads, 4);
}

static void test_cgroup_v1(void **state)
{
	struct os_limits l = plenty();
	char root[64];

	(void)state;
	snprintf(root, sizeof root, "%s/v1", dir);
	put("v1/proc/self/cgroup",
	    "12:cpuset:/x\n5:cpu,cpuacct:/jobs/7\n4:memory:/jobs/7\n1:name=systemd:/y\n");
	put("v1/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "-1\n");
	put("v1/sys/fs/cgroup/cpu,cpuacct/jobs/7/cpu.cfs_period_us", "100000\n");
	put("v1/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	os_limits_cgroup(&l, root);
	assert_int_equal(l.threads, 64);
	assert_true(l.memory_bytes == (uint64_t)1 << 40);
	put("v1/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "150000\n");
	put("v1/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "50000\n");
	put("v1/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "5000\n");
	put("v1/sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "4000\n");
	put("v1/sys/fs/cgroup/memory/jobs/7/memory.stat",
	    "cache 9\ninactive_file 1\ntotal_inactive_file 2000\ntotal_active_file 500\n");
	os_limits_cgroup(&l, root);
	assert_int_equal(l.threads, 3);
	assert_int_equal(l.memory_bytes, 5000);
	assert_int_equal(l.available_bytes, 3500);
}

/* A file that is held is read, and no longer mapped. */
static void test_hold(void **state)
{
	const char *path = put("held", "hello");
	struct os_file f;
	char text[8];
	size_t n;

	(void)state;
	assert_int_equal(os_file_map(&f, path, NULL), 0);
	os_file_hold(&f);
	assert_null(f.at);
	assert_int_equal(f.bytes, 5);
	assert_int_equal(os_file_read(&f, path, 1, text, 3, &n, NULL), INFER_OK);
	assert_int_equal(n, 3);
	assert_memory_equal(text, "ell", 3);
	assert_int_equal(os_file_read(&f, path, 3, text, sizeof text, &n, NULL), INFER_OK);
	assert_int_equal(n, 2);
	assert_int_equal(os_file_read(&f, path, 9, text, sizeof text, &n, NULL), INFER_OK);
	assert_int_equal(n, 0);
	os_file_want(&f, 0, 5);
	assert_false(os_file_changed(&f));
	assert_int_equal(truncate(path, 4), 0);
	assert_true(os_file_changed(&f));
	os_file_unmap(&f);
	assert_int_equal(os_file_read(&f, path, 0, text, 1, &n, NULL), INFER_EIO);
}

/* A reservation keeps its contents when it grows or shrinks. */
static void test_again(void **state)
{
	infer_error err;
	void *at, *was;

	(void)state;
	assert_int_equal(os_reserve(&at, 1 << 16, NULL), INFER_OK);
	memset(at, 7, 1 << 16);
	assert_int_equal(os_reserve_again(&at, 1 << 16, 1 << 26, NULL), INFER_OK);
	for (int i = 0; i < 1 << 16; i++)
		assert_int_equal(((unsigned char *)at)[i], 7);
	assert_int_equal(((unsigned char *)at)[1 << 16], 0);
	assert_int_equal(((unsigned char *)at)[(1 << 26) - 1], 0);
	was = at;
	assert_int_equal(os_reserve_again(&at, 1 << 26, SIZE_MAX / 2, &err), INFER_ENOMEM);
	assert_ptr_equal(at, was);
	assert_int_equal(os_reserve_again(&at, 1 << 26, 1 << 16, NULL), INFER_OK);
	assert_int_equal(((unsigned char *)at)[9], 7);
	os_release(at, 1 << 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_sparse),      cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_ahead),       cmocka_unit_test(test_hold),
		cmocka_unit_test(test_again),           cmocka_unit_test(test_look),
		cmocka_unit_test(test_map_refused),     cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_file_memory),     cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_reserve_refused), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_cgroup_v2),       cmocka_unit_test(test_cgroup_container),
		cmocka_unit_test(test_cgroup_v1),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
