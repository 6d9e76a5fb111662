/* base/clock.h - CLOCK_MONOTONIC in nanoseconds.  Any thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stdint.h>
int64_t clock_now_ns(void);
int64_t clock_process_ns(void); /* processor time of all threads of the process */
int64_t clock_thread_ns(void);  /* processor time of this thread */
double clock_ms(int64_t from_ns, int64_t to_ns);
/* Return the start time of the process on the same clock (from /proc/self/stat, resolution 10 ms);
 * 0 if unknown. */
int64_t clock_exec_ns(void);
#endif
