/* infer-bench/still.c - how much of the machine a measurement had. */
#include "still.h"
#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <time.h>

enum { STEPS = 1 << 14, TRIES = 16 };

double still_core_clock(void)
{
	uint64_t x = 3;
	int64_t least = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		int64_t from = clock_now_ns(), ns;

		for (int k = 0; k < STEPS; k++) {
			x *= 0x9e3779b97f4a7c15u;
			__asm__ volatile("" : "+r"(x)); /* keep each multiplication */
		}
		ns = clock_now_ns() - from;
		least = ns < least ? ns : least;
	}
	return least > 0 ? (double)STEPS / (double)least : 0;
}

static int add_thread(struct still_time *t, const char *name)
{
	char path[300];
	long long ran, waited;
	FILE *f;
	int n;

	snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fscanf(f, "%lld %lld", &ran, &waited); /* NOLINT: the kernel's own numbers */
	fclose(f);
	if (n != 2)
		return 0;
	t->ran += ran;
	t->waited += waited;
	return 1;
}

int still_read(struct still_time *t)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	*t = (struct still_time){ 0 };
	if (!d)
		return 0;
	for (struct dirent *e; (e = readdir(d));)
		if (*e->d_name != '.')
			n += add_thread(t, e->d_name);
	closedir(d);
	return n > 0 && t->ran > 0;
}

double still_share(const struct still_time *from, const struct still_time *to)
{
	double ran = (double)(to->ran - from->ran), waited = (double)(to->waited - from->waited);

	return ran > 0 && waited > 0 ? waited / (ran + waited) : 0;
}

int64_t still_unix_ms(void)
{
	struct timespec t;

	return timespec_get(&t, TIME_UTC) ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 : 0;
}
