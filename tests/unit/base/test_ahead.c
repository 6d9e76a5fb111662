/* tests/unit/base/test_ahead.c - threads that read a mapped file ahead of its use. */
#include "../left_out.h"
#include "../nth.h"
#include "base/ahead.h"
#include "base/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, STEPS = 6, STEP = 10 * MIB, BYTES = STEPS * STEP, READ = 8 * MIB };
static const struct numa one = { .n = 1 };
static char path[4096];
static struct os_file file;
static struct ahead_part parts[2 * STEPS];
static int drops; /* the kernel drops pages of the file if asked */

/* Create a file of holes with one byte in front, which the kernel must write to a disk.  Returns its
 * descriptor, or -1. */
static int create(const char *dir)
{
	snprintf(path, sizeof path, "%s/test_ahead.XXXXXX", dir);
	int fd = mkstemp(path);

	if (fd >= 0 && (write(fd, "x", 1) != 1 || ftruncate(fd, BYTES) || fsync(fd))) {
		close(fd);
		unlink(path);
		fd = -1;
	}
	return fd;
}

/* True if the kernel drops pages of the file: it does not if the file system is in memory. */
static int can_drop(int fd)
{
	unsigned char there = 1;
	void *at = mmap(NULL, os_page(), PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return 0;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (mincore(at, os_page(), &there))
		there = 1;
	munmap(at, os_page());
	return !(there & 1);
}

/* Map a file, in parts of unequal size, two for each step.  It is in /tmp, or next to this program if
 * /tmp is in memory. */
static int set_up(void **state)
{
	char own[4000];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	int fd = create("/tmp");

	(void)state;
	if (n > 0 && fd >= 0 && !can_drop(fd)) {
		close(fd);
		unlink(path);
		own[n] = 0;
		*strrchr(own, '/') = 0;
		fd = create(own);
	}
	if (fd < 0)
		return -1;
	drops = can_drop(fd);
	if (close(fd) || os_file_map(&file, path, NULL))
		return -1;
	for (int i = 0; i < STEPS; i++) {
		parts[2 * i] = (struct ahead_part){ file.at + (size_t)i * STEP, 3 * MIB + 5, i };
		parts[2 * i + 1] = (struct ahead_part){ file.at + (size_t)i * STEP + 3 * MIB + 5,
			                                STEP - 3 * MIB - 5, i };
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	os_file_unmap(&file);
	return unlink(path);
}

/* Megabytes of the file, from `from` to `to`, that are wholly in memory. */
static int resident(int from, int to)
{
	static unsigned char pages[MIB];
	size_t per = MIB / os_page();
	int n = 0;

	assert_int_equal(mincore((void *)(size_t)file.at, BYTES, pages), 0);
	for (int i = from; i < to; i++) {
		size_t k = 0;

		while (k < per && pages[(size_t)i * per + k] & 1)
			k++;
		n += k == per;
	}
	return n;
}

/* Let the kernel drop the file's pages.  Returns 0 if it does not. */
static int make_cold(void)
{
	madvise((void *)(size_t)file.at, BYTES, MADV_DONTNEED);
	posix_fadvise(file.above - 1, 0, 0, POSIX_FADV_DONTNEED);
	return drops && !resident(0, BYTES / MIB);
}

/* Wait until the threads have read all they may, or for a minute. */
static void settle(int to)
{
	for (int i = 0; i < 60000 && resident(0, to) < to; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static void test_ahead(void **state)
{
	struct ahead *a;

	(void)state;
	if (!make_cold())
		left_out("needs a file system whose pages can be dropped from memory");
	a = ahead_new(parts, 2 * STEPS, STEP, &one, 1);
	assert_non_null(a);
	nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	assert_int_equal(resident(0, BYTES / MIB), 0); /* nothing before the first step */
	assert_int_equal(ahead_bytes(a), 0);
	ahead_reach(a, 0);
	settle(STEP / MIB);
	assert_int_equal(resident(0, STEP / MIB), STEP / MIB);
	assert_in_range(ahead_bytes(a), 1, STEP + READ); /* a read may begin before the limit */
	ahead_reach(a, 1);
	settle(2 * STEP / MIB);
	assert_int_equal(resident(0, 2 * STEP / MIB), 2 * STEP / MIB);
	assert_in_range(ahead_bytes(a), 1, 2 * STEP + READ);
	ahead_reach(a, STEPS - 1); /* what lies between needs no reading any more */
	ahead_wait(a);
	assert_int_equal(resident((STEPS - 1) * STEP / MIB, BYTES / MIB), STEP / MIB);
	assert_in_range(ahead_bytes(a), 1, 3 * STEP + READ);
	assert_true(resident(0, BYTES / MIB) < BYTES / MIB);
	ahead_reach(a, 0); /* over: nothing happens */
	ahead_free(a);
}

/* However the workers are spread over nodes, everything is read. */
static void test_nodes(void **state)
{
	static const struct {
		int n, cpus[3], threads;
	} rows[] = { { 2, { 1, 1 }, 2 },    { 2, { 1, 3 }, 4 },   { 3, { 7, 1, 5 }, 13 },
		     { 3, { 1, 1, 1 }, 2 }, { 2, { 64, 64 }, 1 }, { 1, { 1 }, 5 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct numa t = { .n = rows[i].n, .root = path }; /* no masks to be had */
		struct ahead *a;

		for (int k = 0; k < t.n; k++)
			t.cpus[k] = rows[i].cpus[k];
		if (!make_cold())
			left_out("needs a file system whose pages can be dropped from memory");
		a = ahead_new(parts, 2 * STEPS, BYTES, &t, rows[i].threads);
		assert_non_null(a);
		ahead_reach(a, 0);
		ahead_wait(a);
		assert_int_equal(resident(0, BYTES / MIB), BYTES / MIB);
		assert_true(ahead_bytes(a) <= BYTES);
		ahead_free(a);
	}
}

/* What is in memory is looked at, not read. */
static void test_warm(void **state)
{
	struct ahead *a = ahead_new(parts, 2 * STEPS, BYTES, &one, 2);

	(void)state;
	for (size_t i = 0; i < BYTES; i += 4096)
		(void)*(volatile const unsigned char *)&file.at[i];
	ahead_reach(a, 0);
	ahead_wait(a);
	assert_int_equal(ahead_bytes(a), 0);
	ahead_free(a);
}

static void test_stopped(void **state)
{
	(void)state;
	(void)make_cold();
	for (int i = 0; i < 20; i++) { /* before the first step, at any moment after it */
		struct ahead *a = ahead_new(parts, 2 * STEPS, STEP, &one, 1);

		if (i)
			ahead_reach(a, 0);
		if (i > 1)
			nanosleep(&(struct timespec){ 0, i * 50000 }, NULL);
		ahead_free(a);
	}
	assert_null(ahead_new(parts, 0, STEP, &one, 1));
	ahead_reach(NULL, 0);
	ahead_wait(NULL);
	ahead_free(NULL);
	assert_int_equal(ahead_bytes(NULL), 0);
}

/* The end of the file is gone: the thread ends, and no signal comes. */
static void test_cut(void **state)
{
	struct ahead *a;

	(void)state;
	assert_int_equal(truncate(path, STEP), 0);
	a = ahead_new(parts, 2 * STEPS, BYTES, &one, 1);
	ahead_reach(a, 0);
	ahead_wait(a);
	assert_true(ahead_bytes(a) <= STEP + READ);
	ahead_free(a);
	assert_int_equal(truncate(path, BYTES), 0);
}

static int case_new(void)
{
	struct ahead *a = ahead_new(parts, 2 * STEPS, BYTES, &one, 1);
	int rc = a ? INFER_OK : INFER_ENOMEM;

	ahead_reach(a, STEPS);
	ahead_free(a);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead), cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_warm),  cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_cut),   nth_case(case_new),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
