/* common/input.h - texts that programs take: arguments, files and standard input. */
#ifndef COMMON_INPUT_H
#define COMMON_INPUT_H
#include <infer/status.h>
#include "base/buf.h"
#include "common/opt.h"

enum {
	INPUT_NO_STDIN = 1 << 0,
	INPUT_RAW = 1 << 1,
	INPUT_MAYBE = 1 << 2 /* an empty input is allowed */
};

/* The words joined by spaces, then each file ("-": standard input), then standard input if it is
 * not a terminal, has not been read and INPUT_NO_STDIN is not set; parts that are not empty are
 * separated by a blank line.  One final newline of standard input and of each file is dropped.
 * out: initialised by the caller, its to buf_fini.
 * INFER_EINVAL  there is no part at all (but with INPUT_MAYBE); a part is not UTF-8 (any bytes with
 * INPUT_RAW) INFER_EIO INFER_ENOMEM */
int input_read(struct buf *out, const struct opt_rest *words, const struct opt_list *files,
               unsigned flags, infer_error *err);
#endif
