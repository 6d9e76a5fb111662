/* infer-run/chat/editor.h - a line editor for terminals: libedit, loaded on first use. Confined
 * to one thread.
 *
 * Input is read as UTF-8, whatever the locale.  If the terminal marks pastes (bracketed paste), a
 * paste is inserted as a whole, with its newlines. Alt-Enter inserts a newline. Tab completes commands and
 * file names after a slash, and is a plain character elsewhere. ~/.editrc is read. */
#ifndef INFER_RUN_CHAT_EDITOR_H
#define INFER_RUN_CHAT_EDITOR_H
#include <infer/status.h>
#include "history.h"
#include "signals.h"
#include "tab.h"

struct editor;
enum editor_got {
	EDITOR_LINE,
	EDITOR_CLEARED, /* SIGINT cleared the line */
	EDITOR_END,     /* end of input */
};

/* Open an editor that reads keys from standard input and draws the line on standard error.
 * terminal: ENV_ESCAPES, ENV_COLOURS; history, signals: borrowed; commands: those that Tab completes
 * INFER_EUNSUP  libedit is not installed; INFER_ENOMEM */
int editor_open(struct editor **out, const struct chat_history *history, struct signals *signals,
                unsigned terminal, tab_command *commands, infer_error *err);
void editor_close(struct editor **e);
/* Read one line.
 * prompt  printable ASCII; the editor adds a space
 * fill    NULL, or the initial text of the line
 * *line   without its newline, *n bytes, borrowed until the next call
 * INFER_EIO */
int editor_read(struct editor *e, const char *prompt, const char *fill, enum editor_got *got,
                const char **line, size_t *n, infer_error *err);
void editor_added(struct editor *e); /* Call it after adding an entry to the history. */
#endif
