/* base/clock.c - clocks in nanoseconds. */
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec t = { 0, 0 };

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now_ns(void) { return read_clock(CLOCK_MONOTONIC); }

int64_t clock_process_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

int64_t clock_thread_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

double clock_ms(int64_t from_ns, int64_t to_ns) { return (double)(to_ns - from_ns) * 1e-6; }

int64_t clock_exec_ns(void)
{
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	long hz = sysconf(_SC_CLK_TCK);
	unsigned long long ticks = 0;
	char text[1024], *p;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0 || hz <= 0)
		return 0;
	text[n] = 0;
	/* field 22; field 2 is a name in brackets, which may contain anything */
	p = strrchr(text, ')');
	if (!p ||
	    sscanf(p + 1,
	           " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
	           " %*s %*s %llu",
	           &ticks) != 1 ||
	    !ticks)
		return 0;
	/* the kernel counts from boot, including suspended time */
	return read_clock(CLOCK_MONOTONIC) - read_clock(CLOCK_BOOTTIME) +
	       (int64_t)(ticks / (unsigned long)hz * 1000000000 +
	                 ticks % (unsigned long)hz * 1000000000 / (unsigned long)hz);
}
