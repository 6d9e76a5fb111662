/* infer-run/chat/screen.h - the output of a conversation: answers on standard output, everything
 * else on standard error.  Confined.
 *
 * On a terminal, control characters in an answer are shown as \x1b instead of being obeyed, and
 * colours are used unless NO_COLOR or TERM forbids it; lines are broken between words.  Elsewhere an
 * answer is written as it is, with U+FFFD for bytes that are not UTF-8. */
#ifndef INFER_RUN_CHAT_SCREEN_H
#define INFER_RUN_CHAT_SCREEN_H
#include <infer/status.h>
#include "base/buf.h"
#include "wrap.h"
#include <locale.h>

struct screen {
	unsigned err; /* ENV_ESCAPES, ENV_COLOURS of standard error */
	int out_terminal, err_terminal;
	int thinking;      /* 1: the last piece shown was reasoning */
	locale_t utf8;     /* for the width of characters; 0: there is none */
	struct wrap wrap;  /* of the answer, or of the reasoning before it */
	struct buf b, raw; /* scratch for the next output: as written, as given */
};

void screen_init(struct screen *s);
void screen_fini(struct screen *s);

void screen_begin(struct screen *s); /* an answer begins, at the beginning of a line */
enum screen_style { SCREEN_ANSWER, SCREEN_THOUGHT };
/* Write a piece of an answer, on a terminal up to its last whole word; reasoning is shown only at a
 * terminal, separated from the text that follows.
 * INFER_EIO INFER_ENOMEM */
int screen_text(struct screen *s, enum screen_style style, const char *at, size_t n,
                infer_error *err);
/* End an answer: what is held back, and with a newline.  INFER_EIO INFER_ENOMEM */
int screen_end(struct screen *s, infer_error *err);
/* Append text to *out, with U+FFFD for bytes that are not UTF-8. */
void screen_clean(struct buf *out, const char *at, size_t n);
/* Print a notice of one or more lines on standard error; the newline is added. */
void screen_note(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print lines as they are. */
void screen_lines(struct screen *s, const char *at, size_t n);
#endif
