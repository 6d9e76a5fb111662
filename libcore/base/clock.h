/* base/clock.h - CLOCK_MONOTONIC in nanoseconds.  Any thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stdint.h>
int64_t clock_now_ns(void);
int64_t clock_process_ns(void); /* what all threads of the process have been on processors */
int64_t clock_thread_ns(void);  /* what this thread has been on a processor */
double clock_ms(int64_t from_ns, int64_t to_ns);
/* when the process was started, on the same clock (from /proc/self/stat, 10 ms steps); 0:
 * unknown */
int64_t clock_exec_ns(void);
#endif
