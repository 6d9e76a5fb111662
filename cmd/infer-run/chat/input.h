/* infer-run/chat/input.h - the input of a conversation: a terminal, or lines from a file or pipe.
 * Confined to one thread. */
#ifndef INFER_RUN_CHAT_INPUT_H
#define INFER_RUN_CHAT_INPUT_H
#include <infer/status.h>
#include "editor.h"
#include "line_parser.h"
#include "infer-run/lines.h"
#include "history.h"
#include "signals.h"

struct chat_input {
	int is_open, terminal; /* terminal: standard input is a terminal */
	struct signals signals;
	struct chat_history history;
	struct editor *editor; /* NULL: no libedit, or no terminal */
	struct lines lines;
	struct line_parser parser; /* the input that chat_input_read has read */
	struct buf quoted;
};

/* Open the input. On a terminal, use libedit and the history of earlier conversations; if one of them is
 * not available, print a warning. commands: those that Tab completes
 * INFER_EIO INFER_ENOMEM */
int chat_input_open(struct chat_input *in, tab_command *commands, infer_error *err);
void chat_input_close(struct chat_input *in); /* a zeroed *in is fine */

enum chat_input_got {
	CHAT_INPUT_TEXT,
	CHAT_INPUT_CLEARED, /* SIGINT cleared the line */
	CHAT_INPUT_END,     /* end of input */
};
/* Read the next input into in->parser. fill: the initial text of the editor, or NULL
 * INFER_EINVAL  the input is not UTF-8; in->parser is then empty
 * INFER_EIO INFER_ENOMEM */
int chat_input_read(struct chat_input *in, const char *fill, enum chat_input_got *got,
                    infer_error *err);

/* Ask a question on a terminal. *yes: 1 if the line begins with y or Y; 0 otherwise, at SIGINT, or at the
 * end of input.
 * INFER_EIO INFER_ENOMEM */
int chat_input_ask(struct chat_input *in, const char *question, int *yes, infer_error *err);

/* Call these before and after an answer is computed. In between, SIGINT at a terminal makes
 * chat_input_stopped true. */
void chat_input_busy(struct chat_input *in);
int chat_input_stopped(struct chat_input *in);
void chat_input_idle(struct chat_input *in);
#endif
