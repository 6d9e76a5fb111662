/* infer-bench/still.h - how much of the machine a measurement had: the clock of the core, and the time for which
 * its threads waited for a processor. */
#ifndef INFER_BENCH_STILL_H
#define INFER_BENCH_STILL_H
#include <stdint.h>

/* Return 10^9 multiplications of 64 bits per second, each of the result of the one before: their rate is in
 * proportion to the clock of the core. Best of several tries; takes about a millisecond. */
double still_core_clock(void);

/* Sums over the threads of this process, ns. */
struct still_time {
	int64_t ran, waited; /* waited: ready to run, while other threads had the processors */
};
/* Read the sums from /proc. Returns 0 if the kernel does not provide them. */
int still_read(struct still_time *t);
/* Return the share of the time between two readings that was waited; 0 if there was none. */
double still_share(const struct still_time *from, const struct still_time *to);
/* Return the time since 1970 in milliseconds, 0 if unknown. */
int64_t still_unix_ms(void);
#endif
