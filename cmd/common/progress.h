/* common/progress.h - the progress line on a terminal.
 *
 * A thread redraws one line on stderr five times a second; working threads only store counters. The line
 * is shown if stderr is a terminal with escape sequences, the process is in the foreground, and -q is not
 * given. Messages of say.h erase it first, and say_fail ends it. All functions but progress_at are for
 * the main thread. */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H
#include <stdint.h>
#include <infer/watch.h>
#include "common/progress_line.h"

/* Start the thread, if the line can be shown at all. progress_begin calls it; call it earlier only before
 * entering the sandbox, which forbids new threads. */
void progress_open(void);

/* Begin work of `all` units (0: not known). what: name of the work, ASCII, copied */
void progress_begin(const char *what, enum progress_unit unit, uint64_t all);
/* Change the name of the work. */
void progress_name(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Let the following calls of progress_at report the units [from, to) of the work. */
void progress_part(uint64_t from, uint64_t to);
/* Store that `done` of `all` units are done; user is unused. Any thread, one at a time. */
infer_watch_fn progress_at;
/* Store the numbers of failed requests and of computed tokens; the line then shows tokens per second. */
void progress_requests(uint64_t failed, uint64_t tokens);
/* End the work and erase the line. */
void progress_end(void);

/* Erase the line before other output to the terminal. It is drawn again later. */
void progress_wipe(void);
void progress_wipe_for(int fd); /* progress_wipe, if fd is a terminal */
/* Return the bytes that erase the line; "" if none is shown. For signal handlers. */
const char *progress_wiper(void);
#endif
