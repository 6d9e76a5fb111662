/* infer-run/plain.h - answers as text, the output without -o. */
#ifndef INFER_RUN_PLAIN_H
#define INFER_RUN_PLAIN_H
#include <infer/api.h>
#include "base/buf.h"

/* Append text, with U+FFFD for each part of it that is not UTF-8. */
void plain_put(struct buf *to, const char *at, size_t n);
/* Append the tool calls of an answer, one per line: name, space, arguments. The first call begins a new line
 * if *to is not empty, or if `follows` is 1 (text was printed before). A call that was cut before its
 * arguments is left out. r: may be NULL */
void plain_calls(struct buf *to, const infer_reply *r, int follows);
/* Append an answer with its tool calls as one line; newline, carriage return and backslash are written as
 * \n, \r and \\. scratch: overwritten */
void plain_line(struct buf *to, struct buf *scratch, const struct infer_choice *c);
#endif
