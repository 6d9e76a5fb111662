/* infer-run/plain.h - answers as text: what standard output carries unless records are asked for. */
#ifndef INFER_RUN_PLAIN_H
#define INFER_RUN_PLAIN_H
#include <infer/api.h>
#include "base/buf.h"

/* Append text, with U+FFFD for each part of it that is not UTF-8. */
void plain_put(struct buf *to, const char *at, size_t n);
/* Append the calls of an answer: each a line of its name, a space and its arguments, and a newline
 * before each that has text before it; follows: there is some before *to, too.  r: or NULL */
void plain_calls(struct buf *to, const infer_reply *r, int follows);
/* Append an answer as one line, calls and all: a newline in it is \n, a carriage return \r, and a
 * backslash \\.  scratch: cleared. */
void plain_line(struct buf *to, struct buf *scratch, const struct infer_choice *c);
#endif
