/* infer-run/lines.h - lines from a descriptor, as they come, in bounded memory. */
#ifndef INFER_RUN_LINES_H
#define INFER_RUN_LINES_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

enum { LINES_LONGEST = 64 << 20 };

struct lines {
	int fd;
	const char *name;    /* for messages; borrowed */
	struct buf b;        /* what was read; from `from` on not given out */
	size_t from, looked; /* looked: bytes behind `from` that hold no newline */
	int64_t number;      /* of the line given out last, from 1 */
	int eof, cutting;    /* cutting: inside a line that is too long */
};

enum lines_got { LINES_NONE, LINES_LINE, LINES_LONG, LINES_END };

void lines_init(struct lines *l, int fd, const char *name);
void lines_fini(struct lines *l);
/* The next line, without its newline, borrowed until the next call.  Waits at most wait_ms (-1: for
 * ever).
 * *got: NONE where none came in that time, LONG for a line of more than LINES_LONGEST, which is not
 * given out. */
int lines_next(struct lines *l, int wait_ms, enum lines_got *got, const char **at, size_t *n,
               infer_error *err);
#endif
