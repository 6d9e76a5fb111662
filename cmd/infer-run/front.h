/* infer-run/front.h - who speaks to a conversation: a person at a terminal, or lines from a file or
 * pipe.  Confined. */
#ifndef INFER_RUN_FRONT_H
#define INFER_RUN_FRONT_H
#include <infer/status.h>
#include "edit.h"
#include "entry.h"
#include "lines.h"
#include "past.h"
#include "watch.h"

struct front {
	int is_open, terminal; /* terminal: standard input is one */
	struct watch w;
	struct past past;
	struct edit *edit; /* NULL: the terminal's own editing, or no terminal */
	struct lines lines;
	struct entry entry; /* what front_read has read */
	struct buf quoted;
};

/* On a terminal with libedit, and with the history of earlier conversations; where there is none of
 * them, a warning says so.
 * INFER_EIO INFER_ENOMEM */
int front_open(struct front *f, infer_error *err);
void front_close(struct front *f); /* a zeroed *f is fine */

enum front_got { FRONT_ENTRY, FRONT_CLEARED, FRONT_END };
/* Read what is said next into f->entry.   fill: NULL, or the text to begin with, where there is an
 * editor
 * CLEARED: SIGINT; END: no more comes.   INFER_EIO INFER_ENOMEM INFER_EINVAL: not UTF-8, and
 * f->entry is empty */
int front_read(struct front *f, const char *fill, enum front_got *got, infer_error *err);

/* While an answer is computed: SIGINT at a terminal asks for its end. */
void front_busy(struct front *f);
int front_stopped(struct front *f);
void front_idle(struct front *f);
#endif
