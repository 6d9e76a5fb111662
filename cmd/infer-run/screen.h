/* infer-run/screen.h - what a conversation shows: answers on standard output, all else on standard
 * error.  Confined.
 *
 * On a terminal, control characters that a model writes are shown (\x1b), not obeyed, and there are
 * colours unless NO_COLOR or TERM says otherwise.  Elsewhere an answer comes as it is, with U+FFFD
 * for what is not UTF-8. */
#ifndef INFER_RUN_SCREEN_H
#define INFER_RUN_SCREEN_H
#include <infer/status.h>
#include "base/buf.h"

struct screen {
	unsigned err; /* ENV_ESCAPES, ENV_COLOURS of standard error */
	int out_terminal, err_terminal;
	int thinking; /* the last that was shown is a thought */
	struct buf b; /* scratch of what is written next */
};

void screen_init(struct screen *s);
void screen_fini(struct screen *s);

enum screen_style { SCREEN_ANSWER, SCREEN_THOUGHT };
/* A piece of an answer; a thought is shown to people only, at a terminal, and stands apart from
 * what follows.
 * INFER_EIO INFER_ENOMEM */
int screen_text(struct screen *s, enum screen_style style, const char *at, size_t n,
                infer_error *err);
/* Text with U+FFFD for what is not UTF-8, behind what is in *out. */
void screen_clean(struct buf *out, const char *at, size_t n);
/* A remark to who types, one line or more; the newline is added. */
void screen_note(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As they are. */
void screen_lines(struct screen *s, const char *at, size_t n);
#endif
