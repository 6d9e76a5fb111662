/* infer-run/chat/screen.h - the output of a conversation: answers on standard output, all else on
 * standard error. Confined to one thread.
 *
 * On a terminal, control characters in an answer are printed as text such as \x1b, colours are
 * used unless NO_COLOR or TERM forbids it, and lines are wrapped between words. Without a terminal an answer
 * is written unchanged, but with U+FFFD for bytes that are not UTF-8. */
#ifndef INFER_RUN_CHAT_SCREEN_H
#define INFER_RUN_CHAT_SCREEN_H
#include <infer/status.h>
#include "base/buf.h"
#include "wrap.h"
#include <locale.h>

struct screen {
	unsigned err; /* flags of standard error: ENV_ESCAPES, ENV_COLOURS */
	int out_terminal, err_terminal;
	int thinking;      /* the last piece was reasoning */
	locale_t utf8;     /* for the width of characters; 0: not available */
	struct wrap wrap;  /* wraps the answer, or the reasoning before it */
	struct buf b, raw; /* scratch: output to write; text to wrap */
};

void screen_init(struct screen *s);
void screen_fini(struct screen *s);

void screen_begin(struct screen *s); /* Begin an answer, at the start of a line. */
enum screen_style { SCREEN_ANSWER, SCREEN_THOUGHT };
/* Write a piece of an answer. On a terminal the last word is held back until it is complete. Reasoning is
 * printed on a terminal only.
 * INFER_EIO INFER_ENOMEM */
int screen_text(struct screen *s, enum screen_style style, const char *at, size_t n,
                infer_error *err);
/* End an answer: write the text held back, and a newline. INFER_EIO INFER_ENOMEM */
int screen_end(struct screen *s, infer_error *err);
/* Append text to *out, with U+FFFD for bytes that are not UTF-8. */
void screen_clean(struct buf *out, const char *at, size_t n);
/* Print a notice of one or more lines on standard error; the newline is added. */
void screen_note(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print lines on standard error, unchanged. */
void screen_lines(struct screen *s, const char *at, size_t n);
#endif
