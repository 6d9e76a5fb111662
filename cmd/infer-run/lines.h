/* infer-run/lines.h - lines from a descriptor, as they come, in bounded memory. */
#ifndef INFER_RUN_LINES_H
#define INFER_RUN_LINES_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

enum { LINES_LONGEST = 64 << 20 };

struct lines {
	int fd;
	const char *name; /* for messages; borrowed */
	/* how they are read, the caller's to change after lines_init: what ends a line; more bytes
	 * are too long; only the end is taken off, and neither a byte order mark nor a CR */
	char end;
	size_t longest;
	int as_is;
	struct buf b;        /* what was read; from `from` on not given out */
	size_t from, looked; /* looked: bytes behind `from` that hold no end */
	int64_t number;      /* of the line given out last, from 1 */
	int eof, cutting;    /* cutting: inside a line that is too long */
	int begun;           /* a line of this descriptor was given out */
};

enum lines_got { LINES_NONE, LINES_LINE, LINES_LONG, LINES_END };

/* Lines that end with a newline, none longer than LINES_LONGEST. */
void lines_init(struct lines *l, int fd, const char *name);
void lines_fini(struct lines *l);
/* Behind LINES_END: the lines of another descriptor; numbers go on. */
void lines_go_on(struct lines *l, int fd, const char *name);
/* The next line, borrowed until the next call, without its newline, a CR before that, and a byte
 * order mark before the first line.  Waits at most wait_ms (-1: for ever).
 * *got: NONE where none came in that time, LONG for a line that is too long, which is not given
 * out. */
int lines_next(struct lines *l, int wait_ms, enum lines_got *got, const char **at, size_t *n,
               infer_error *err);
int lines_blank(const char *at, size_t n); /* nothing but white space */
#endif
