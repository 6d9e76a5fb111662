/* infer-run/chat/input.h - the input of a conversation: a person at a terminal, or lines from a
 * file or pipe.  Confined. */
#ifndef INFER_RUN_CHAT_INPUT_H
#define INFER_RUN_CHAT_INPUT_H
#include <infer/status.h>
#include "editor.h"
#include "line_parser.h"
#include "infer-run/lines.h"
#include "history.h"
#include "signals.h"

struct chat_input {
	int is_open, terminal; /* terminal: 1: standard input is a terminal */
	struct signals signals;
	struct chat_history history;
	struct editor *editor; /* NULL: the terminal's own editing, or no terminal */
	struct lines lines;
	struct line_parser parser; /* what chat_input_read has read */
	struct buf quoted;
};

/* On a terminal, use libedit and the history of earlier conversations; if one is not available,
 * print a warning.  commands: those that Tab completes
 * INFER_EIO INFER_ENOMEM */
int chat_input_open(struct chat_input *in, tab_command *commands, infer_error *err);
void chat_input_close(struct chat_input *in); /* a zeroed *in is fine */

enum chat_input_got { CHAT_INPUT_TEXT, CHAT_INPUT_CLEARED, CHAT_INPUT_END };
/* Read the next input into in->parser.   fill: NULL, or the initial text of the editor CLEARED:
 * SIGINT; END: end of input.   INFER_EIO INFER_ENOMEM INFER_EINVAL: not UTF-8, and in->parser is
 * empty */
int chat_input_read(struct chat_input *in, const char *fill, enum chat_input_got *got,
                    infer_error *err);

/* Ask on a terminal: *yes is 1 after a line that begins with y or Y, 0 after any other, SIGINT or
 * the end of input.
 * INFER_EIO INFER_ENOMEM */
int chat_input_ask(struct chat_input *in, const char *question, int *yes, infer_error *err);

/* While an answer is computed, SIGINT at a terminal asks to stop it. */
void chat_input_busy(struct chat_input *in);
int chat_input_stopped(struct chat_input *in);
void chat_input_idle(struct chat_input *in);
#endif
