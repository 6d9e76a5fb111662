/* common/progress.h - how far work is, for those who look at a terminal.
 *
 * One line on stderr, which a thread of its own writes over five times a second: it shows within a
 * second, however long a part of the work takes, and whoever works only stores how far it is.  Only
 * where stderr is a terminal that knows escape sequences, without -q, and in the foreground.  What
 * say.h says wipes it first, and say_fail ends it.  All but progress_at is for the main thread. */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H
#include <stdint.h>
#include <infer/watch.h>
#include "common/progress_line.h"

/* Start the thread, where there is somebody to look; before the sandbox, which lets none start.
 * progress_begin does it otherwise. */
void progress_open(void);

/* Work begins, of which `all` is to be done (0: not known).   what: its name, ASCII, copied */
void progress_begin(const char *what, enum progress_unit unit, uint64_t all);
/* Another name for what is done now, of the same work. */
void progress_name(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From here on progress_at is told of a part of the work: of the units [from, to). */
void progress_part(uint64_t from, uint64_t to);
/* done of all; user is unused.  Any thread, one at a time. */
infer_watch_fn progress_at;
/* Of requests: how many failed, and the tokens computed for them so far, which give the rate. */
void progress_requests(uint64_t failed, uint64_t tokens);
/* It is over: the line is wiped, and does not come back. */
void progress_end(void);

/* Wipe the line for something else that is written to the terminal; it comes back. */
void progress_wipe(void);
void progress_wipe_for(int fd); /* the same, where fd is a terminal */
/* The bytes that wipe the line, or none; for a handler of signals. */
const char *progress_wiper(void);
#endif
