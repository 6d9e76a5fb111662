/* infer-run/edit.h - a line editor on a terminal: libedit, loaded when it is first wanted.
 * Confined.
 *
 * What is typed is taken as UTF-8, whatever the locale.  Pastes come whole, newlines and all, where
 * the terminal marks them (bracketed paste); Alt-Enter adds a newline; ~/.editrc is followed. */
#ifndef INFER_RUN_EDIT_H
#define INFER_RUN_EDIT_H
#include <infer/status.h>
#include "past.h"
#include "watch.h"

struct edit;
enum edit_got { EDIT_LINE, EDIT_CLEARED, EDIT_END };

/* Keys from standard input, the line on standard error.  terminal: ENV_ESCAPES, ENV_COLOURS.  past,
 * w: borrowed.
 * INFER_EUNSUP  there is no libedit; INFER_ENOMEM */
int edit_open(struct edit **out, const struct past *past, struct watch *w, unsigned terminal,
              infer_error *err);
void edit_close(struct edit **e);
/* One line.   prompt: one of printable ASCII, behind it a space   fill: NULL, or what stands there
 * to begin with *line: without its newline, *n bytes, borrowed until the next call.  CLEARED: by
 * SIGINT; END: of input.
 * INFER_EIO */
int edit_read(struct edit *e, const char *prompt, const char *fill, enum edit_got *got,
              const char **line, size_t *n, infer_error *err);
void edit_added(struct edit *e); /* to past: one more, at the end */
#endif
