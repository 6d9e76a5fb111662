/* infer-run/lines.h - read lines from a descriptor, in bounded memory. Confined to one thread. */
#ifndef INFER_RUN_LINES_H
#define INFER_RUN_LINES_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

enum { LINES_LONGEST = 64 << 20 };

struct lines {
	int fd;
	const char *name; /* for messages; borrowed */
	/* The caller may change these after lines_init. */
	char end;       /* character that ends a line */
	size_t longest; /* bytes; a longer line is reported as LINES_LONG */
	int as_is;      /* 1: keep a byte order mark and a final CR */
	/* Private. */
	struct buf b;        /* bytes read; those before `from` were returned */
	size_t from, looked; /* looked: bytes after `from` known to have no end of line */
	int64_t number;      /* number of the line returned last, from 1 */
	int eof, cutting;    /* cutting: inside a line that is too long */
	int begun;           /* 1: a line of this descriptor was returned */
};

enum lines_got {
	LINES_NONE, /* no complete line within wait_ms */
	LINES_LINE,
	LINES_LONG, /* a line that is too long; its text is not returned */
	LINES_END,
};

/* Begin to read lines that end with a newline and have at most LINES_LONGEST bytes. */
void lines_init(struct lines *l, int fd, const char *name);
void lines_fini(struct lines *l);
/* After LINES_END: continue with another descriptor. Line numbers continue. */
void lines_continue(struct lines *l, int fd, const char *name);
/* Read the next line: *at, *n, borrowed until the next call. The end, a CR before it, and a byte order
 * mark before the first line are removed. Waits at most wait_ms (-1: for ever).
 * INFER_EIO INFER_ENOMEM */
int lines_next(struct lines *l, int wait_ms, enum lines_got *got, const char **at, size_t *n,
               infer_error *err);
int lines_blank(const char *at, size_t n); /* True if a line is empty or white space. */
#endif
