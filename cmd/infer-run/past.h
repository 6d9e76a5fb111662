/* infer-run/past.h - what was typed before: a bounded list, and the file it is kept in from one run
 * to the next.  Confined.
 *
 * The file has an entry a line: a newline is written \n and a backslash \\.  It is its owner's
 * alone (0600).  Entries are appended with one write(2) each, so that several runs may share it; it
 * is cut back, through a temporary file, when it has grown to twice its bound. */
#ifndef INFER_RUN_PAST_H
#define INFER_RUN_PAST_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"

/* bytes of an entry that is kept; of a file */
enum { PAST_ENTRIES = 1000, PAST_LONGEST = 16 << 10, PAST_FILE = 16 << 20 };

struct past {
	struct buf at;   /* char *[]; oldest first */
	size_t n, added; /* added: so far, those that went again too */
	struct buf path; /* empty: kept in memory only */
};

void past_init(struct past *p);
void past_fini(struct past *p);
/* Read the file, cut it back if need be; what is added goes there from now on.  One that is not
 * there is empty.
 * INFER_EIO  not a file of ours to read and write; INFER_EFORMAT  longer than PAST_FILE;
 * INFER_ENOMEM */
int past_open(struct past *p, const char *path, infer_error *err);
/* Add an entry, unless it is the last one again, or too long.   INFER_EIO INFER_ENOMEM: it may be
 * in the list nevertheless */
int past_add(struct past *p, const char *entry, infer_error *err);
const char *past_get(const struct past *p, size_t i);
#endif
